"""Compares what a model computes with torch's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.types import BF16, F16

RTOL, ATOL = 1e-3, 1e-4
"""How far an output may be from torch's `y`: ATOL + RTOL * |y|."""
_ROUNDINGS = {F16.dtype: 2.0**-8, BF16.dtype: 2.0**-5}
"""What a few roundings of a type of 16 bits make of a number."""


def outputs(
    computed: Mapping[str, NDArray[Any]], expected: Sequence[NDArray[Any]], rtol: float, atol: float
) -> str | None:
    """The first output that differs, in words."""
    if len(computed) != len(expected):
        return f"The model has {len(computed)} outputs, and the module {len(expected)}."
    for (name, ours), torchs in zip(computed.items(), expected, strict=True):
        if ours.shape != torchs.shape:
            shapes = f"{list(ours.shape)}, and torch's {list(torchs.shape)}"
            return f"The output {name!r} has the shape {shapes}."
        one, other = ours.astype(np.float64), torchs.astype(np.float64)
        rounding = _ROUNDINGS.get(ours.dtype, 0.0)
        if not np.allclose(
            one, other, rtol=max(rtol, rounding), atol=max(atol, rounding), equal_nan=True
        ):
            with np.errstate(invalid="ignore"):
                most = np.nanmax(np.abs(one - other))
            said = f"{most:.2g}, beyond rtol {rtol:g}, atol {atol:g}"
            if np.array_equal(np.sort(one, axis=None), np.sort(other, axis=None)):
                said += "; its numbers are torch's in another order, as by other strides of a draw"
            return f"The output {name!r} differs by up to {said}."
    return None
