"""What is known of a uniform number compared with a probability, in a model of any format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.types import BF16, F16, F32, F64, ElementType

# A uniform number of such a type is an integer below 2^bits, divided by 2^bits. RandomUniform
# draws that same integer as i32 below 2^bits. (An f64 has 52 bits: too many for an i32.)
BITS = {F32: 23, F16: 10, BF16: 7}

# The operators that compare a uniform number u with p: which input u is, and whether the result is
# u < p, or its negation.
COMPARISONS = {
    ("Less", 0): True,
    ("Greater", 1): True,
    ("GreaterOrEqual", 0): False,
    ("LessOrEqual", 1): False,
}

# Those that compare it with p itself included: whether the result is u <= p, or its negation. With
# `just_above` p they are those of above.
CLOSED_COMPARISONS = {
    ("LessOrEqual", 0): True,
    ("GreaterOrEqual", 1): True,
    ("Greater", 0): False,
    ("Less", 1): False,
}

# The operators whose outputs lie from 0 to 1, or are NaN where an input is.
GIVES_PROBABILITIES = {"Sigmoid", "Softmax", "HardSigmoid"}


def are_probabilities(p: NDArray[Any]) -> bool:
    """Whether RandomBernoulli takes all of these numbers."""
    return bool(np.all((p >= 0) & (p <= 1)))


def just_above(p: NDArray[Any], values: ElementType) -> NDArray[Any]:
    """The numbers q from 0 to 1, of the type of the values, for which u < q is u <= p."""
    whole = 2.0 ** (BITS | {F64: 52})[values]
    steps = np.floor(np.clip(p.astype(np.float64), -1, 1) * whole) + 1
    return np.clip(steps / whole, 0, 1).astype(values.dtype)


def thresholds_of(p: NDArray[Any], values: ElementType, *, is_negated: bool) -> NDArray[np.int32]:
    """The integers t for which k < t is k / 2^bits < p, for any p.

    A comparison with NaN is never true, so k < t must be true where it is negated.
    """
    whole = 1 << BITS[values]
    wide = p.astype(np.float64)
    below = np.where(np.isnan(wide), float(is_negated), np.clip(wide, 0, 1))
    thresholds: NDArray[np.int32] = np.ceil(below * whole).astype(np.int32)
    return thresholds
