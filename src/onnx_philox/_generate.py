"""`generate`: random numbers straight into an array, without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnx_philox import _checks, _subnormals
from onnx_philox._arguments import number_array
from onnx_philox._draws import Bits, Draw, Uniform
from onnx_philox._element_types import BOOL, BY_DTYPE, U32, ElementType
from onnx_philox._native_core import fastest_fill
from onnx_philox._state import PhiloxState

_NAME = "generate"


@_subnormals.kept()
def generate(
    state: PhiloxState | NDArray[np.uint32],
    *,
    out: NDArray[Any],
    minval: ArrayLike | None = None,
    maxval: ArrayLike | None = None,
) -> PhiloxState:
    """Fills an array with what the operators would draw from a state; returns the next state.

    One thread, at the speed of the native core where the package has it. Other threads run
    meanwhile: cut an array into parts of whole blocks, `state.advance` to each, and fill them at
    once.

    Args:
        state: A state, or its six words.
        out: A C-contiguous, writable array of any shape. Its type says what is drawn: uint32 the
            bits of RandomGenerator; float16, `ml_dtypes.bfloat16`, float32, float64, int32 and
            int64 the values of RandomUniform.
        minval: The lower bound, included; 0 for floats if left out. Integers need it.
        maxval: The upper bound, not included; 1 for floats if left out. Integers need it.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: Memory that cannot be filled, or wrong bounds.

    Example:
        >>> values = np.empty(4, np.float32)
        >>> generate(PhiloxState(0, key=42), out=values)
        PhiloxState(counter=1, key=42)
        >>> values
        array([0.8354591 , 0.9162973 , 0.49464953, 0.5211133 ], dtype=float32)
    """
    if not isinstance(state, PhiloxState):
        state = PhiloxState.from_array(state)
    values = BY_DTYPE.get(getattr(out, "dtype", None))  # type: ignore[arg-type]
    if not isinstance(out, np.ndarray) or values in (BOOL, None):
        allowed = "an array of " + ", ".join(str(d) for d, t in BY_DTYPE.items() if t is not BOOL)
        given = getattr(out, "dtype", type(out).__name__)
        _checks.refuse(_NAME, "out", given, allowed, "Pass such an array.", TypeError)
    if not (out.flags.c_contiguous and out.flags.writeable):
        given = "not contiguous" if out.flags.writeable else "read-only"
        remedy = "Fill a copy, then assign it."
        _checks.refuse(_NAME, "out", given, "C-contiguous and writable memory", remedy)
    flat = np.asarray(out).reshape(-1)
    draw = Draw(values, state, _distribution(values, minval, maxval))
    fastest_fill(draw, flat)
    return state.advance(draw.words(flat.size))


def _distribution(
    values: ElementType, minval: ArrayLike | None, maxval: ArrayLike | None
) -> Bits | Uniform:
    """What to draw, its bounds checked."""
    if values is U32:
        if minval is not None or maxval is not None:
            allowed = "none for uint32, which holds random bits"
            _checks.refuse(_NAME, "a bound", "given", allowed, "Leave it out.")
        return Bits()
    if minval is None and maxval is None and values.is_float:
        return _UNIT[values]
    if not values.is_float and (minval is None or maxval is None):
        allowed = "minval and maxval for integers"
        _checks.refuse(_NAME, "a bound", "missing", allowed, "Pass both.")
    bounds = {
        name: number_array(_NAME, name, default if bound is None else bound, values)
        for name, bound, default in (("minval", minval, 0), ("maxval", maxval, 1))
    }
    _checks.check_bounds(_NAME, bounds, values)
    return Uniform(*(bound.reshape(()) for bound in bounds.values()))


_UNIT = {
    t: Uniform(np.zeros((), t.dtype), np.ones((), t.dtype)) for t in BY_DTYPE.values() if t.is_float
}
