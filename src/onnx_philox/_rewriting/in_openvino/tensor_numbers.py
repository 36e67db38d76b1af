"""Which numbers a small tensor of OpenVINO holds, and which of them are dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._openvino_models.openvino_graphs import constant

_MOVES = {
    "Convert",
    "Gather",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "StridedSlice",
    "Unsqueeze",
    "VariadicSplit",
}
"""They put numbers of their first input elsewhere."""
_MOST_NUMBERS = 64
"""A tensor with more of them is no shape."""


def follow_numbers(node: ov.Node) -> None:
    """Says which numbers in a tensor are dimensions: OpenVINO goes on saying what they were."""
    kind = node.get_type_name()
    given = node.input_values()
    for output in node.outputs():
        # It may have followed a body as if no iteration changed a dimension.
        if kind != "Parameter" and is_small(output):
            output.get_tensor().set_value_symbol([])
    if kind == "ShapeOf" and given[0].get_partial_shape().rank.is_static:
        shape = given[0].get_partial_shape()
        own = []
        for axis in range(len(shape)):
            dimension = shape[axis]
            own.append(dimension.get_symbol() if dimension.has_symbol() else ov.Symbol())
        node.output(0).get_tensor().set_value_symbol(own)
    count = {"Concat": len(given), "Select": 2}.get(kind, int(kind in _MOVES))
    if not count:
        return
    first = int(kind == "Select")
    if node.get_output_size() and node.get_output_element_type(0) == ov.Type.boolean:
        return
    values = [*given, *node.outputs()]
    if not all(is_small(value) for value in values):
        return
    # What is moved are the indices of symbols.
    symbols: list[ov.Symbol] = []
    tensors = []
    for i, value in enumerate(given):
        numbers = known_numbers(value)
        if first <= i < first + count:
            size = int(np.prod(list(value.get_shape())))
            numbers = np.arange(len(symbols), len(symbols) + size)
            own = value.get_tensor().get_value_symbol()
            symbols += own or [ov.Symbol() for _ in range(size)]
        elif numbers is None:
            return
        as_given = numbers.astype(value.get_element_type().to_dtype())
        tensors.append(ov.Tensor(as_given.reshape(value.get_shape())))
    moved = []
    for output in node.outputs():
        moved.append(ov.Tensor(output.get_element_type(), output.get_shape()))
    if node.evaluate(moved, tensors):
        for output, tensor in zip(node.outputs(), moved, strict=True):
            own = [symbols[i] for i in tensor.data.reshape(-1)]
            output.get_tensor().set_value_symbol(own)


def hand_over(source: ov.Output, target: ov.Output) -> None:
    """Says that a tensor has the numbers of another one."""
    given = source.get_tensor()
    own = target.get_tensor()
    if not is_small(source) or not given.get_value_symbol():
        return
    # A tensor may have symbols, but no bounds.
    if bounds(source) is not None:
        own.set_lower_value(given.get_lower_value())
        own.set_upper_value(given.get_upper_value())
    own.set_value_symbol(given.get_value_symbol())


def known_numbers(value: ov.Output) -> NDArray[Any] | None:
    """The numbers that a tensor always is, as far as OpenVINO or a constant says."""
    found = bounds(value)
    if found is None:
        return constant(value)
    low, high = found
    if np.array_equal(low, high):
        return low
    return None


def bounds(value: ov.Output) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The least and the greatest numbers that a tensor may be; None where nobody says."""
    tensor = value.get_tensor()
    try:
        return tensor.get_lower_value().data, tensor.get_upper_value().data
    except RuntimeError:  # not computed
        return None


def is_small(value: ov.Output) -> bool:
    """Whether a tensor may be a shape, or a part of one."""
    is_whole = value.get_element_type() in (ov.Type.i32, ov.Type.i64, ov.Type.boolean)
    return is_whole and is_short(value)


def is_short(value: ov.Output) -> bool:
    """Whether a tensor has as few numbers as a shape."""
    shape = value.get_partial_shape()
    return bool(shape.is_static and np.prod(list(shape.to_shape())) <= _MOST_NUMBERS)
