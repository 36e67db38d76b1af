"""Turns words of the generator into exponential values.

The rule: docs/specification.md, "Exponential values".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_EXPONENTIAL
from onnx_philox._contract.types import BF16, F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words
from onnx_philox._numbers.fused import BELOW_F32


@dataclass(frozen=True)
class Exponential(Distribution):
    """Exponential values of the mean `scale`, of rank 0 and the values' type."""

    operator = RANDOM_EXPONENTIAL
    scale: Values

    def converter(self, values: ElementType) -> Convert:
        """The function from words to values."""
        unit = uniform.unit(F64)
        half = np.float64(0.5)

        def convert(_: int, words: Words) -> Values:
            # In the middle of its step, so never 0 or 1: both sums are exact.
            if values is F64:
                u = unit(words) + half * 2.0**-52
            else:
                u = (words + half) * 2.0**-32
            wide = elementary.minus_two_ln(u) * half
            standard = _rounded(wide, values)
            np.multiply(standard, self.scale, out=standard)
            return standard

        return convert


def _rounded(x: Values, values: ElementType) -> Values:
    """Positive f64 values in another type, rounded once.

    On the way to 16 bits, ml_dtypes rounds to f32 first. So the bits that an f32 lacks are cut off
    here, and leave a 1 in the last place if one of them was 1: then that rounding does nothing.
    """
    if values is BF16:
        cut = np.uint64(BELOW_F32)
        bits = x.view(np.uint64)
        # Whatever is cut off leaves its last bit set.
        is_inexact = (bits & cut) + cut
        x = ((bits | is_inexact) & ~cut).view(np.float64)
    return x.astype(values.dtype)
