"""A call of an operator, from its arguments to its results: checks, allocates, fills, advances.

`copies` is how many copies of the output the caller will hold, for the check of memory.
How memory is filled with a draw is the caller's choice: by NumPy (`reference.fill`) or by the
native core (`_native_core.fill`), with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _checks, _operators, _subnormals, _uniform
from onnx_philox._arguments import bound_array, shape_array
from onnx_philox._checks import Known
from onnx_philox._element_types import U32, ElementType
from onnx_philox._operators import Operator
from onnx_philox._state import PhiloxState


@dataclass(frozen=True)
class Draw:
    """What to fill memory with."""

    values: ElementType
    state: PhiloxState
    """Where to draw: the seeds are in it."""
    minval: NDArray[Any] | None = None
    maxval: NDArray[Any] | None = None
    """Bounds of rank 0 and the values' type; None for random bits."""


Fill = Callable[[Draw, NDArray[Any]], None]
"""Fills a contiguous array of rank 1 with a draw."""

Result = tuple[NDArray[Any], NDArray[np.uint32]]


def random_generator(
    fill: Fill, state: Any, shape: Any, *, copies: int = 1, **given: Any
) -> Result:
    """See `onnx_philox.reference.random_generator`."""
    op = _operators.RANDOM_GENERATOR
    state = np.asarray(state)
    dimensions = _shape_array(op, shape)
    inputs = {"state": Known.array(state), "shape": Known.array(dimensions)}
    attributes = _checks.check_node(op, inputs, given)
    return _draw(op, fill, state, dimensions, attributes, U32, copies)


@_subnormals.kept()
def random_uniform(
    fill: Fill,
    shape: Any,
    minval: Any,
    maxval: Any,
    *,
    state: Any = None,
    copies: int = 1,
    **given: Any,
) -> Result:
    """See `onnx_philox.reference.random_uniform`."""
    op = _operators.RANDOM_UNIFORM
    values = _checks.output_type(op, _checks.check_attributes(op, given))
    low = bound_array(op, "minval", minval, values)
    high = bound_array(op, "maxval", maxval, values)
    dimensions = _shape_array(op, shape)
    state = None if state is None else np.asarray(state)
    inputs = {
        "shape": Known.array(dimensions),
        "minval": Known.array(low),
        "maxval": Known.array(high),
        "state": None if state is None else Known.array(state),
    }
    attributes = _checks.check_node(op, inputs, given)
    bounds = (low.reshape(()), high.reshape(()))
    return _draw(op, fill, state, dimensions, attributes, values, copies, *bounds)


def _draw(
    op: Operator,
    fill: Fill,
    state: NDArray[np.uint32] | None,
    dimensions: NDArray[Any],
    attributes: dict[str, Any],
    values: ElementType,
    copies: int,
    *bounds: NDArray[Any],
) -> Result:
    output = _allocate(op, tuple(dimensions.tolist()), values, copies)
    before = PhiloxState() if state is None else PhiloxState.from_array(state)
    start = before.with_seeds(attributes["global_seed"], attributes["op_seed"])
    fill(Draw(values, start, *bounds), output.reshape(-1))
    after = before.advance(output.size * _uniform.words_per_element(values)).to_array()
    return output, after if state is None else after.reshape(state.shape)


def _allocate(
    op: Operator, shape: tuple[int, ...], values: ElementType, copies: int
) -> NDArray[Any]:
    _checks.check_memory(op, shape, values, copies=copies)
    try:
        return np.empty(shape, values.dtype)
    except MemoryError:
        size = math.prod(shape) * values.dtype.itemsize
        _checks.refuse(
            op,
            "input 'shape'",
            f"{list(shape)}, {size:,} bytes of {values.name}",
            "what memory can hold now",
            "Draw it in parts, from state to next_state.",
        )


def _shape_array(op: Operator, shape: Any) -> NDArray[Any]:
    if isinstance(shape, np.ndarray):
        return shape
    return shape_array(op, shape)
