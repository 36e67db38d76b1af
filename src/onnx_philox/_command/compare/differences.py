"""How far two runtimes are apart in an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.feeds import shape_name
from onnx_philox._record.document import COMPUTED, DRAWN, STATE
from onnx_philox._runtimes.port import Arrays


@dataclass(frozen=True)
class Tolerances:
    """How far a computed float `x` may be from the other runtime's `y`: atol + rtol * |y|."""

    rtol: float = 1e-3
    atol: float = 1e-4


@dataclass(frozen=True)
class Difference:
    """An output in both runtimes."""

    name: str
    kind: str
    """What it is: DRAWN and STATE must be equal to the last bit, COMPUTED within tolerances."""
    operator: str | None
    """That draws it."""
    type: str
    """In the first runtime that gives it."""
    shape: tuple[int, ...]
    other_type: str | None
    """In the second runtime, where it is another one."""
    other_shape: tuple[int, ...] | None
    elements: int
    unequal: int
    """Elements whose bits differ; all of them if the types or shapes do."""
    largest: float | None
    """The largest absolute difference; None where there is no number, for texts for example."""
    is_ok: bool

    @property
    def type_name(self) -> str:
        """The types in words."""
        if self.other_type is None:
            return self.type
        return f"{self.type} / {self.other_type}"

    @property
    def shape_name(self) -> str:
        """The shapes in words."""
        shapes = (self.shape, self.other_shape)
        return " / ".join(shape_name(shape) for shape in shapes if shape is not None)


def of_run(
    one: Arrays,
    other: Arrays,
    drawn: Mapping[str, str],
    by: Tolerances,
) -> list[Difference]:
    """Compares all outputs of a run in two runtimes; an output that is in one alone differs.

    `drawn` are those that must be equal, with the operators that draw them, empty for a state.
    """
    names = list(dict.fromkeys([*one, *other]))
    found = []
    for name in names:
        each = _of(name, one.get(name), other.get(name), drawn.get(name), by)
        found.append(each)
    return found


def _of(
    name: str,
    x: NDArray[Any] | None,
    y: NDArray[Any] | None,
    operator: str | None,
    by: Tolerances,
) -> Difference:
    if operator is None:
        kind = COMPUTED
    elif operator:
        kind = DRAWN
    else:
        kind = STATE
    known = [array for array in (x, y) if array is not None]
    first = known[0]
    last = known[-1]
    described = (
        name,
        kind,
        operator or None,
        first.dtype.name,
        first.shape,
        None if last.dtype == first.dtype else last.dtype.name,
        None if last.shape == first.shape else last.shape,
    )
    size = max(array.size for array in known)
    nothing_equal = Difference(*described, size, size, None, is_ok=False)
    if x is None or y is None:
        return nothing_equal
    if x.dtype != y.dtype or x.shape != y.shape:
        return nothing_equal
    unequal = int(np.count_nonzero(_differs(x, y)))
    is_float = _is_float(x)
    largest = None
    if is_float or x.dtype.kind in "iu":
        largest = _largest(x, y)
    is_ok = unequal == 0
    if kind == COMPUTED and is_float:
        is_ok = is_ok or _is_close(x, y, by)
    return Difference(*described, size, unequal, largest, is_ok)


def _is_float(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16


def _differs(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    """Where the bits differ."""
    if not _is_float(x):
        return np.asarray(x != y)
    bits = np.dtype(f"u{x.dtype.itemsize}")
    one = x.reshape(-1).view(bits)
    other = y.reshape(-1).view(bits)
    return np.asarray(one != other)


def _largest(x: NDArray[Any], y: NDArray[Any]) -> float:
    # Equal infinities, and NaN on both sides, count as equal.
    with np.errstate(invalid="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    is_same = (x == y) | ((x != x) & (y != y))
    return float(np.max(apart, initial=0.0, where=~is_same))


def _is_close(x: NDArray[Any], y: NDArray[Any], by: Tolerances) -> bool:
    wide = x.astype(np.float64)
    other = y.astype(np.float64)
    return bool(np.allclose(wide, other, rtol=by.rtol, atol=by.atol, equal_nan=True))
