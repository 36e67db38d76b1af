"""The operators in NumPy: their executable meaning, which every other backend is compared with.

`random_generator` and `random_uniform` take arrays and numbers, and return the output and the
next state. The rules are those of the contract: Philox4x32-10 with a 128-bit counter and a
64-bit key, drawn in order, the seeds added to the state before drawing.

    >>> from onnx_philox import PhiloxState, reference
    >>> bits, state = reference.random_generator(PhiloxState(0, 0).to_array(), [4])
    >>> [hex(word) for word in bits.tolist()]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    >>> values, _ = reference.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    >>> values
    array([[65, 70, 56],
           [59, 82, 92]], dtype=int32)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnx_philox import _checks, _operators, _philox, _subnormals, _uniform
from onnx_philox._checks import Known
from onnx_philox._element_types import U32, ElementType
from onnx_philox._operators import Operator
from onnx_philox._state import PhiloxState

__all__ = ["random_generator", "random_uniform"]

Shape = Sequence[SupportsIndex] | NDArray[np.int64] | NDArray[np.int32]
Result = tuple[NDArray[Any], NDArray[np.uint32]]


def random_generator(
    state: NDArray[np.uint32],
    shape: Shape,
    *,
    type: str = "philox4x32_10",
    global_seed: int = 0,
    op_seed: int = 0,
) -> Result:
    """Draws random bits, as DirectML's DML_RANDOM_GENERATOR_OPERATOR_DESC does.

    Args:
        state: uint32, last dimension 6, all others 1, rank 1 to 8.
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        type: The generator; philox4x32_10 is the only one.
        global_seed: 0 to 2^63-1, added to the key.
        op_seed: 0 to 2^63-1, added to the counter's upper 64 bits.

    Returns:
        The bits, uint32 of that shape, and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, or an output that memory cannot hold.
    """
    op = _operators.RANDOM_GENERATOR
    state = np.asarray(state)
    dimensions = _shape_array(op, shape)
    attributes = _checks.check_node(
        op,
        {"state": Known.array(state), "shape": Known.array(dimensions)},
        {"type": type, "global_seed": global_seed, "op_seed": op_seed},
    )
    return _draw(op, state, dimensions, attributes, U32, lambda words: words)


@_subnormals.kept()
def random_uniform(
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
) -> Result:
    """Draws uniform values in [minval, maxval), as OpenVINO's RandomUniform-8 does.

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        minval: A number, or an array of one element and of the output's type.
        maxval: Likewise. Rounding can make a float equal it.
        output_type: One of i32, i64, f16, bf16, f32, f64.
        global_seed: 0 to 2^63-1, added to the key.
        op_seed: 0 to 2^63-1, added to the counter's upper 64 bits.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; None is a state of zeros.

    Returns:
        The values (bf16 as `ml_dtypes.bfloat16`), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.
    """
    op = _operators.RANDOM_UNIFORM
    given = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = _checks.output_type(op, _checks.check_attributes(op, given))
    low = bound_array(op, "minval", minval, values)
    high = bound_array(op, "maxval", maxval, values)
    dimensions = _shape_array(op, shape)
    state = None if state is None else np.asarray(state)
    attributes = _checks.check_node(
        op,
        {
            "shape": Known.array(dimensions),
            "minval": Known.array(low),
            "maxval": Known.array(high),
            "state": None if state is None else Known.array(state),
        },
        given,
    )
    convert = _uniform.converter(values, low.reshape(()), high.reshape(()))
    return _draw(op, state, dimensions, attributes, values, convert)


def _draw(
    op: Operator,
    state: NDArray[np.uint32] | None,
    dimensions: NDArray[Any],
    attributes: dict[str, Any],
    values: ElementType,
    convert: Callable[[NDArray[np.uint32]], NDArray[Any]],
) -> Result:
    """Fills the output chunk by chunk, so that working memory does not grow with it."""
    shape = tuple(dimensions.tolist())
    output = _allocate(op, shape, values)
    before = PhiloxState() if state is None else PhiloxState.from_array(state)
    start = before.with_seeds(attributes["global_seed"], attributes["op_seed"])
    per_element = _uniform.words_per_element(values)
    flat = output.reshape(-1)
    count = flat.size * per_element
    for first, words in _philox.word_chunks(start.counter, start.key, count):
        position = first // per_element
        flat[position : position + words.size // per_element] = convert(words)
    after = before.advance(count).to_array()
    return output, after if state is None else after.reshape(state.shape)


def _allocate(op: Operator, shape: tuple[int, ...], values: ElementType) -> NDArray[Any]:
    _checks.check_memory(op, shape, values)
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


def shape_array(op: Operator | str, shape: Any) -> NDArray[np.int64]:
    """A sequence of ints as the int64 tensor of the input `shape`."""
    try:
        return np.array([int(d.__index__()) for d in shape], np.int64)
    except (TypeError, AttributeError):
        remedy = "Pass a list of ints."
        _checks.refuse(
            op, "input 'shape'", repr(shape), "a sequence of integers", remedy, TypeError
        )
    except OverflowError:
        remedy = "Draw it in parts."
        _checks.refuse(op, "input 'shape'", repr(shape), "dimensions within int64", remedy)


@_subnormals.kept()
def bound_array(op: Operator, name: str, bound: Any, values: ElementType) -> NDArray[Any]:
    """A bound as an array of the output's type.

    A number is converted, as long as that type can hold it; an array is left as it is, to be
    checked like the input of a node.
    """
    if isinstance(bound, np.ndarray):
        return bound
    what = f"input {name!r}"
    number: Any
    try:
        number = float(bound) if values.is_float else bound.__index__()
    except (TypeError, AttributeError, ValueError):
        allowed = "a number" if values.is_float else "an integer"
        remedy = f"Pass {allowed} for {values.name}."
        _checks.refuse(op, what, repr(bound), allowed, remedy, TypeError)
    except OverflowError:
        number = math.inf
    if not values.is_float:
        limits = np.iinfo(values.dtype)
        if not limits.min <= number <= limits.max:
            allowed = f"{limits.min} to {limits.max}"
            _checks.refuse(op, what, number, allowed, f"Pass a bound within {values.name}.")
        return np.array(number, values.dtype)
    with np.errstate(over="ignore"):
        array = np.array(number, values.dtype)
    if np.isinf(array) and math.isfinite(number):
        allowed = f"a number within {values.name}"
        _checks.refuse(op, what, number, allowed, "Pass a smaller bound.")
    return array
