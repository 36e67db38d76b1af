"""Lets a draw whose batch stands elsewhere draw it first, and puts it back where it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import input_of
from onnx_philox._rewriting.in_onnx.rows.batch import reshape
from onnx_philox._rewriting.places import Place

_INT64 = ir.DataType.INT64
_IN_PLACE = "in_place"


def stand_first(
    emitter: Emitter,
    node: ir.Node,
    place: Place,
    new: list[ir.Value],
) -> list[ir.Value]:
    """Puts nodes around one that `emitter` has made.

    Args:
        emitter: It gains the nodes.
        node: The node of this package.
        place: Where the batch stands in what it draws.
        new: Values that may be its outputs.

    Returns:
        The same values, with the batch in its place.
    """
    op = OPERATORS[node.op_type]
    before, after = emitter.again(), emitter.again()
    size = input_of(node, op.inputs.index(op.size_input))
    shape = size if op.has_shape else before.shape(size)
    turn = _Turn.of(before, place, shape, input_of(node, len(op.inputs) - 1))
    for i, declared in enumerate(op.inputs):
        if declared.role is Role.SHAPE:
            node.replace_input_with(i, turn.drawn(before))
        elif declared.role in (Role.DATA, Role.NUMBERS) and not _is_one(input_of(node, i)):
            node.replace_input_with(i, turn.first(before, input_of(node, i)))
    casts = []
    for declared_output, drawn in zip(op.outputs, node.outputs, strict=False):
        if declared_output.is_state:
            continue
        is_given = any(value is drawn for value in new)
        cast = None if is_given else _only_cast(emitter, drawn)
        output = drawn if cast is None else cast.outputs[0]
        uses = list(output.uses())
        if not (uses or any(value is output for value in new)):
            continue
        if cast is not None:
            casts.append(cast)
            drawn.shape = None
        put = turn.back(after, output)
        # What is declared of it is true of what is put back.
        put.shape, output.shape = output.shape, None
        for use in uses:
            use.node.replace_input_with(use.idx, put)
        new = [put if value is output else value for value in new]
    for cast in casts:
        emitter.nodes.remove(cast)
    at = emitter.nodes.index(node)
    emitter.nodes[at : at + 1] = [*before.nodes, node, *casts, *after.nodes]
    return new


def _only_cast(emitter: Emitter, drawn: ir.Value) -> ir.Node | None:
    """The Cast of the emitter's that alone reads a value.

    It stays before the Transpose: behind it, ONNX Runtime 1.32's fusions may end the process when
    they optimise what reads it.
    """
    readers = [use.node for use in drawn.uses()]
    if len(readers) == 1 and readers[0].op_type == "Cast" and readers[0] in emitter.nodes:
        return readers[0]
    return None


def _is_one(numbers: ir.Value) -> bool:
    """Whether it is one number for all elements."""
    array, shape = constant(numbers), numbers.shape
    if array is not None:
        return array.size == 1
    return shape is not None and all(isinstance(d, int) for d in shape) and math.prod(shape) == 1


@dataclass(frozen=True)
class _Turn:
    """A turn of tensors."""

    place: Place
    shape: ir.Value
    """That of the draw."""
    view: ir.Value
    """The same, with the batch as a dimension of its own."""

    @classmethod
    def of(
        cls,
        emitter: Emitter,
        place: Place,
        shape: ir.Value,
        state: ir.Value,
    ) -> _Turn:
        """That of a draw of a shape, from states as many as the rows."""
        if shape.dtype is not _INT64:
            shape = emitter.cast("shape", shape, _INT64)
        if not place.is_factor:
            return cls(place, shape, shape)
        # As many as states, since a division by no rows ends some processes.
        rows = _gathered(emitter, "rows", emitter.shape(state), [0])
        one = emitter.constant("one", np.array([1]))
        least = emitter.emit("Max", "least", [rows, one], _INT64, [1])
        whole = _gathered(emitter, "whole", shape, [place.axis])
        each = emitter.emit("Div", "each", [whole, least], _INT64, [1])
        parts = [rows, each]
        if place.axis > 0:
            before = range(place.axis)
            parts.insert(0, _gathered(emitter, "before", shape, before))
        behind = range(place.axis + 1, place.rank)
        if behind:
            parts.append(_gathered(emitter, "behind", shape, behind))
        view = emitter.emit("Concat", "view", parts, _INT64, [place.rank + 1], {"axis": 0})
        return cls(place, shape, view)

    def drawn(self, emitter: Emitter) -> ir.Value:
        """The shape to draw, with the batch first."""
        order = self.place.order
        return _gathered(emitter, "drawn", self.view, order) if self.place.axis else self.view

    def first(self, emitter: Emitter, value: ir.Value) -> ir.Value:
        """A tensor of the draw's shape, or one that is broadcast to it, with the batch first."""
        if value.shape is None or len(value.shape) != self.place.rank:
            value = emitter.like("Expand", "whole", value, self.shape)
        if self.place.is_factor:
            value = reshape(emitter, "apart", value, self.view)
        return self._transposed(emitter, "batch_first", value, self.place.order)

    def back(self, emitter: Emitter, value: ir.Value) -> ir.Value:
        """What was drawn, with the batch in its place."""
        value = self._transposed(emitter, _IN_PLACE, value, self.place.back)
        return reshape(emitter, "merged", value, self.shape) if self.place.is_factor else value

    def _transposed(
        self,
        emitter: Emitter,
        what: str,
        value: ir.Value,
        order: Sequence[int],
    ) -> ir.Value:
        if not self.place.axis:
            return value
        return emitter.like("Transpose", what, value, attributes={"perm": order})


def is_put_back(node: ir.Node) -> bool:
    """Whether a node puts the batch of a draw where it stands."""
    return (node.name or "").startswith(DOMAIN) and f".{_IN_PLACE}" in (node.name or "")


def _gathered(
    emitter: Emitter,
    what: str,
    vector: ir.Value,
    indices: Sequence[int],
) -> ir.Value:
    chosen = emitter.constant(f"dimensions_{what}", np.array(indices, np.int64))
    inputs = [vector, chosen]
    return emitter.emit("Gather", what, inputs, _INT64, [len(indices)], {"axis": 0})
