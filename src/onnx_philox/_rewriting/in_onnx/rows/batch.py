"""The batch of a per-row model: the first dimension of every draw, with a state for each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._models.emitter import Emitter

# From this opset on Split takes sizes as an input.
OLDEST_OPSET = 13
# From this opset on a Reshape may mean 0 as 0.
_ALLOWS_ZERO = 14


@dataclass(frozen=True)
class Batch:
    """The dimension that gives a model its rows."""

    input: ir.Value
    """The input of the model whose first dimension it is."""
    name: str
    """What symbolic shapes call it."""
    unproved: frozenset[ir.Node] = frozenset()
    """The random nodes that are only said to draw its rows."""
    words: int = STATE_WORDS
    """How many words a state has."""

    @property
    def state_shape(self) -> ir.Shape:
        """The shape of a state for each row; its first dimension is named like the input's."""
        assert self.input.shape is not None
        return ir.Shape([self.input.shape[0], self.words])

    def check(self, emitter: Emitter, what: str, words: ir.Value, dimensions: ir.Value) -> ir.Value:
        """Emits a check that a state has as many rows as a tensor; a run fails where it does not.

        The operators take a single state for any shape, so they cannot refuse it. The check is a
        Reshape to that size and a Split into one part of it: whoever refuses another size names the
        node and both numbers. OpenVINO removes the Reshape, since it keeps the rank, and
        `onnx.reference` takes a Split of any size. ONNX Runtime needs the Split where the size is 0
        before opset 14.

        Returns:
            The state.
        """
        int64 = ir.DataType.INT64
        first = emitter.constant(f"first_of_{what}", np.array([0]))
        rows = emitter.emit("Gather", f"rows_of_{what}", [dimensions, first], int64, [1])
        last = emitter.constant(f"words_of_{what}", np.array([self.words]))
        shape = emitter.emit("Concat", f"shape_of_{what}", [rows, last], int64, [2], {"axis": 0})
        # A size of 0 would mean the size that there is.
        as_said = {"allowzero": 1} if emitter.opset >= _ALLOWS_ZERO else {}
        words = emitter.emit("Reshape", what, [words, shape], int64, words.shape, as_said)
        return emitter.emit("Split", what, [words, rows], int64, words.shape, {"axis": 0})
