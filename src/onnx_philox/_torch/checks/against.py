"""Compares what a model computes with torch's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.types import BF16, F16

RTOL, ATOL = 1e-3, 1e-4
"""How far an output may be from torch's `y`: ATOL + RTOL * |y|."""
_ROUNDINGS = {F16.dtype: 2.0**-8, BF16.dtype: 2.0**-5}
"""What a few roundings of a type of 16 bits make of a number."""


@dataclass(frozen=True)
class OutputTolerances:
    """How far an output may be from torch's.

    Attributes:
        rtol: Relative to that.
        atol: In any case.
        narrow: The types of 16 bits that outputs of wider types are computed in, by their names.
    """

    rtol: float
    atol: float
    narrow: Mapping[str, Any]

    def rounding(self, name: str, dtype: Any) -> float:
        """How far a few roundings may take an output."""
        narrow = self.narrow.get(name, dtype)
        return max(_ROUNDINGS.get(each, 0.0) for each in (dtype, narrow))


def outputs(
    computed: Mapping[str, NDArray[Any]],
    expected: Sequence[NDArray[Any]],
    tolerances: OutputTolerances,
) -> str | None:
    """The first output that differs, in words."""
    if len(computed) != len(expected):
        return f"The model has {len(computed)} outputs, and the module {len(expected)}."
    for (name, ours), torchs in zip(computed.items(), expected, strict=True):
        if ours.shape != torchs.shape:
            shapes = f"{list(ours.shape)}, and torch's {list(torchs.shape)}"
            return f"The output {name!r} has the shape {shapes}."
        problem = _difference(name, ours, torchs, tolerances)
        if problem is not None:
            return f"The output {name!r} differs by up to {problem}."
    return None


def _difference(
    name: str,
    ours: NDArray[Any],
    torchs: NDArray[Any],
    tolerances: OutputTolerances,
) -> str | None:
    """By how much an output differs, and beyond what; None where it does not."""
    one = ours.astype(np.float64)
    other = torchs.astype(np.float64)
    rtol = tolerances.rtol
    atol = tolerances.atol
    rounding = tolerances.rounding(name, ours.dtype)
    room = rounding
    if name in tolerances.narrow:
        # A sum that is small may be one of large numbers, each of which was rounded.
        finite = np.abs(other[np.isfinite(other)])
        largest = float(finite.max(initial=0))
        room *= max(1.0, largest)
    widest_rtol = max(rtol, rounding)
    widest_atol = max(atol, room)
    if np.allclose(one, other, rtol=widest_rtol, atol=widest_atol, equal_nan=True):
        return None
    with np.errstate(invalid="ignore"):
        distances = np.abs(one - other)
        most = np.nanmax(distances)
    said = f"{most:.2g}, beyond rtol {rtol:g}, atol {atol:g}"
    one_sorted = np.sort(one, axis=None)
    other_sorted = np.sort(other, axis=None)
    if np.array_equal(one_sorted, other_sorted):
        said += "; its numbers are torch's in another order, as by other strides of a draw"
    return said
