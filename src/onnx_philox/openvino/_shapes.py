"""The shape of an operator's values, as far as a node knows it before a run."""

from __future__ import annotations

from typing import Any

import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.operators import Operator, Role
from onnx_philox._contract.types import ElementType

# A constant shape reaches a Python operator through 32 bits.
_MAX_DIMENSION = 2**31 - 1


def values_shape(
    op: Operator,
    values: ElementType,
    sources: dict[str, ov.Output],
    shape: NDArray[Any] | None,
    samples: int,
) -> ov.PartialShape:
    """The shape of the values; `shape` is the value of that input, if it is constant.

    Raises:
        ValueError: The values are too large for this backend, or for memory, which the plugin would
            allocate when it compiles the model.
    """
    if op.has_shape:
        given = _given_shape(op, values, sources["shape"], shape)
    else:
        given = sources[op.size_input.name].get_partial_shape()
        if op.size_input.role is not Role.DATA:
            batch = given[0] if given.rank.is_static else ov.Dimension()
            given = ov.PartialShape([batch, ov.Dimension(samples)])
        if given.is_static:
            checks.check_memory(op, list(given.to_shape()), values, is_copied=True)
    if "state" in sources:
        return _with_rows(given, sources["state"].get_partial_shape())
    return given


def _given_shape(
    op: Operator,
    values: ElementType,
    source: ov.Output,
    shape: NDArray[Any] | None,
) -> ov.PartialShape:
    if shape is not None:
        dimensions = shape.tolist()
        if any(d > _MAX_DIMENSION for d in dimensions):
            allowed = "dimensions of at most 2^31-1 for backend='python' in OpenVINO"
            remedy = "Draw it in parts, or use backend='native'."
            checks.refuse(op, "input 'shape'", dimensions, allowed, remedy)
        checks.check_memory(op, dimensions, values, is_copied=True)
        return ov.PartialShape(dimensions)
    partial = source.get_partial_shape()
    if partial.is_static:
        # The plugin needs the rank.
        return ov.PartialShape([-1] * partial.to_shape()[0])
    return ov.PartialShape.dynamic()


def _with_rows(shape: ov.PartialShape, state: ov.PartialShape) -> ov.PartialShape:
    """The values' shape; if only the states tell how many rows there are, with that number."""
    if state.rank.is_dynamic or shape.rank.is_dynamic:
        return shape
    if len(state) != 2 or not len(shape):
        return shape
    if state[0].is_dynamic or state[0].get_length() == 1:
        return shape
    beyond = (shape[i] for i in range(1, len(shape)))
    return ov.PartialShape([state[0], *beyond])


def as_dimensions(array: NDArray[Any]) -> NDArray[Any]:
    """The front end turns an empty `shape` initializer into a rank-0 constant 0: a scalar's."""
    if array.shape == () and array == 0:
        return array.reshape(-1)[:0]
    return array
