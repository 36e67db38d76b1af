"""Lets a draw whose batch stands elsewhere draw it first, and puts it back where it stands.

The nodes are those of `in_onnx/rows/stand.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.openvino_graphs import constant, state_of
from onnx_philox._rewriting.places import Place


def stand_first(node: ov.Node, place: Place) -> None:
    """Puts nodes around one of this package, given where the batch stands in what it draws."""
    op = OPERATORS[node.get_type_name()]
    size = node.input_value(op.inputs.index(op.size_input))
    shape = opset8.convert(size, "i64") if op.has_shape else opset8.shape_of(size)
    view = _view(node, shape, place) if place.is_factor else shape
    for i, declared in enumerate(op.inputs):
        given = node.input_value(i)
        if declared.role is Role.SHAPE:
            node.set_argument(i, _gathered(view, place.order).output(0))
        elif declared.role in (Role.DATA, Role.NUMBERS) and not _is_one(given):
            whole = given
            if given.get_partial_shape().rank != ov.Dimension(place.rank):
                whole = opset8.broadcast(given, shape).output(0)
            if place.is_factor:
                whole = opset8.reshape(whole, view, special_zero=False).output(0)
            node.set_argument(i, _transposed(whole, place, place.order))
    node.validate_and_infer_types()
    for i in range(node.get_output_size() - 1):
        drawn = node.output(i)
        readers = list(drawn.get_target_inputs())
        put = _transposed(drawn, place, place.back)
        if place.is_factor:
            put = opset8.reshape(put, shape, special_zero=False).output(0)
        put.add_names(drawn.get_names())
        drawn.set_names(set())
        for reader in readers:
            reader.replace_source_output(put)


def _view(node: ov.Node, shape: ov.Node, place: Place) -> ov.Node:
    """A shape with the batch as a dimension of its own: as many as there are states."""
    state = state_of(node)
    assert state is not None, "it has rows"
    rows = _gathered(opset8.shape_of(state), [0])
    whole = _gathered(shape, [place.axis])
    # No rows would be divided by.
    least = opset8.maximum(rows, np.array([1]))
    parts = [rows, opset8.divide(whole, least)]
    before = range(place.axis)
    behind = range(place.axis + 1, place.rank)
    if before:
        parts.insert(0, _gathered(shape, before))
    if behind:
        parts.append(_gathered(shape, behind))
    return opset8.concat(parts, 0)


def _gathered(vector: ov.Node, indices: Sequence[int]) -> ov.Node:
    return opset8.gather(vector, np.array(indices, np.int64), np.int64(0))


def _transposed(value: ov.Output, place: Place, order: Sequence[int]) -> ov.Output:
    return opset8.transpose(value, np.array(order)).output(0) if place.axis else value


def _is_one(numbers: ov.Output) -> bool:
    """Whether it is one number for all elements."""
    array = constant(numbers)
    shape = numbers.get_partial_shape()
    if array is not None:
        return array.size == 1
    return bool(shape.is_static and np.prod(list(shape.to_shape())) == 1)
