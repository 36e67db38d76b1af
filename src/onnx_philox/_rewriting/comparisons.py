"""What is known of a uniform number compared or made an integer, in a model of any format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
    is_one = (p >= 0) & (p <= 1)
    return bool(is_one.all())


def just_above(p: NDArray[Any], values: ElementType) -> NDArray[Any]:
    """The numbers q from 0 to 1, of the type of the values, for which u < q is u <= p."""
    bits = BITS | {F64: 52}
    whole = 2.0 ** bits[values]
    wide = np.clip(p.astype(np.float64), -1, 1)
    steps = np.floor(wide * whole) + 1
    above = np.clip(steps / whole, 0, 1)
    return above.astype(values.dtype)


def thresholds_of(p: NDArray[Any], values: ElementType, *, is_negated: bool) -> NDArray[np.int32]:
    """The integers t for which k < t is k / 2^bits < p, for any p.

    A comparison with NaN is never true, so k < t must be true where it is negated.
    """
    whole = 1 << BITS[values]
    wide = p.astype(np.float64)
    below = np.clip(wide, 0, 1)
    below = np.where(np.isnan(wide), float(is_negated), below)
    thresholds: NDArray[np.int32] = np.ceil(below * whole).astype(np.int32)
    return thresholds


# f32 holds every integer up to here, and a uniform number times as much reaches every one below.
_MOST = 2**23

# Adding an offset rounds a float before Floor rounds it down: up to here by less than 1/256.
_MOST_MOVED = 2**16

# So many integers are the words of the generator.
WORDS = 2**32
_BYTES_OF_A_WORD = 4

MOST_OF_I32 = 2**31
"""Integers below this one are drawn as i32."""
FURTHER_DOWN = 2**30
"""By so much less are those drawn that end at it, since i32 has no such bound."""

# Each type holds every integer up to this one, and the two last up to more.
_LARGEST_INTEGER = {
    "float16": 2**11,
    "bfloat16": 2**8,
    "float32": _MOST,
    "float64": _MOST,
}


@dataclass(frozen=True)
class Scaled:
    """What a model makes of a uniform number u: floor(u * scale + offset) + after."""

    scale: Fraction
    offset: Fraction
    after: Fraction = Fraction(0)
    is_floored: bool = False

    def then(self, op_type: str, number: Fraction | None) -> Scaled | None:
        """The formula after one more node; None where the node does not fit it.

        Each kind of node may come once, in this order. In any other order the rounding of floats
        decides the result, as where adding and subtracting a large number rounds to nearest.
        """
        if op_type == "Floor":
            if self.is_floored:
                return None
            return replace(self, is_floored=True)
        if number is None:
            return None
        if op_type == "Div":
            if not is_power_of_two(number):
                return None
            op_type = "Mul"
            number = 1 / number
        if op_type == "Mul":
            is_fresh = self.scale == 1 and self.offset == 0 and not self.is_floored
            if not is_fresh:
                return None
            return replace(self, scale=number)
        if op_type not in ("Add", "Sub"):
            return None
        moved = number if op_type == "Add" else -number
        if self.is_floored:
            if self.after != 0:
                return None
            return replace(self, after=moved)
        if self.offset != 0:
            return None
        return replace(self, offset=moved)

    def integers(self, cast: DTypeLike) -> tuple[int, int] | None:
        """The lowest integer after a cast and how many there are, each equally likely.

        None where a model may draw others.
        """
        numbers = (self.scale, self.offset, self.after)
        if any(number.denominator != 1 for number in numbers):
            return None
        scale, offset, after = map(int, numbers)
        lowest = offset + after
        count = scale
        dtype = np.dtype(cast)
        if self._are_words(dtype):
            return lowest, count
        is_unsigned = dtype.kind == "u" and lowest == offset == 0
        largest: float = MOST_OF_I32 if is_unsigned else _MOST
        end = lowest + count
        if count < 1 or max(abs(lowest), abs(end)) > largest:
            return None
        furthest = max(abs(offset), abs(offset + count))
        if offset != 0 and furthest > _MOST_MOVED:
            return None
        is_integer = dtype.kind in "iu"
        # A cast rounds towards zero, which is down unless the number is negative.
        if not self.is_floored and (not is_integer or lowest < 0):
            return None
        if is_integer:
            limits = np.iinfo(dtype)
            holds = limits.min <= lowest and end - 1 <= limits.max
        else:
            most = _LARGEST_INTEGER.get(dtype.name, -np.inf)
            holds = max(abs(lowest), abs(end - 1)) <= most
        if not holds:
            return None
        return lowest, count

    def _are_words(self, dtype: np.dtype[Any]) -> bool:
        """Whether the integers after a cast are all of 32 bits: the words of the generator."""
        lowest = self.offset + self.after
        if self.scale != WORDS or dtype.kind not in "iu":
            return False
        if dtype.kind == "u":
            return self.offset == self.after == 0 and dtype.itemsize >= _BYTES_OF_A_WORD
        is_of_a_word = dtype.itemsize == _BYTES_OF_A_WORD
        return is_of_a_word and self.is_floored and lowest == -WORDS // 2


def is_power_of_two(number: Fraction | None) -> bool:
    """Whether a number is a power of two, also one below 1: to multiply by it rounds nothing."""
    if number is None or number <= 0:
        return False
    up = number.numerator
    down = number.denominator
    is_whole_power = up & (up - 1) == 0
    return is_whole_power and down & (down - 1) == 0
