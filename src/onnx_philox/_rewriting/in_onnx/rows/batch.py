"""The batch of a per-row model, with a state for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.streams import ROWS_CHECK
from onnx_philox._models.emitter import Emitter
from onnx_philox._rewriting.batches import Beside
from onnx_philox._rewriting.places import Place, called, written_place

# From this opset on Split takes sizes as an input.
OLDEST_OPSET = 13
# From this opset on a Reshape may mean 0 as 0.
_ALLOWS_ZERO = 14


@dataclass(frozen=True)
class Batch:
    """The dimension that gives a model its rows."""

    input: ir.Value
    """The input of the model whose dimension it is."""
    name: str
    """What symbolic shapes call it."""
    axis: int
    """Which dimension of the input."""
    rivals: Sequence[str]
    """The dimensions that it could be as well."""
    beside: Beside
    """What is taken of the other inputs."""
    places: dict[ir.Node, Place] = field(default_factory=dict)
    """Where it stands in what random nodes draw."""
    unproved: frozenset[ir.Node] = frozenset()
    """The random nodes that are only said to draw its rows."""
    words: int = STATE_WORDS
    """How many words a state has."""

    @property
    def called(self) -> str:
        """The input, and which dimension of it where that is not the first."""
        return called(self.input.name or "", self.axis)

    @property
    def where(self) -> str:
        """What messages call it."""
        where = f"{self.name!r}, {written_place(self.input.name or '', self.axis)}"
        return self.beside.added(where)

    @property
    def state_shape(self) -> ir.Shape:
        """The shape of a state for each row; its first dimension is named like the input's."""
        assert self.input.shape is not None
        return ir.Shape([self.input.shape[self.axis], self.words])

    def check_all(self, emitter: Emitter, words: ir.Value) -> ir.Value:
        """Emits a check that a state has as many rows as the input; returns the state."""
        what = f"{ROWS_CHECK}{self.called}"
        return self.check(emitter, what, words, emitter.shape(self.input), self.axis)

    def check(
        self,
        emitter: Emitter,
        what: str,
        words: ir.Value,
        dimensions: ir.Value,
        axis: int = 0,
    ) -> ir.Value:
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
        index = emitter.constant(f"first_of_{what}", np.array([axis]))
        rows = emitter.emit("Gather", f"rows_of_{what}", [dimensions, index], int64, [1])
        last = emitter.constant(f"words_of_{what}", np.array([self.words]))
        shape = emitter.emit("Concat", f"shape_of_{what}", [rows, last], int64, [2], {"axis": 0})
        words = reshape(emitter, what, words, shape, words.shape)
        return emitter.emit("Split", what, [words, rows], int64, words.shape, {"axis": 0})


def reshape(
    emitter: Emitter,
    what: str,
    value: ir.Value,
    shape: ir.Value,
    known: ir.Shape | None = None,
) -> ir.Value:
    """Emits a Reshape, in which a size of 0 is that size, from the opset on that knows it."""
    as_said = {"allowzero": 1} if emitter.opset >= _ALLOWS_ZERO else {}
    return emitter.like("Reshape", what, value, shape, shape=known, attributes=as_said)
