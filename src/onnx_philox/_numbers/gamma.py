"""Turns words of the generator into gamma values (docs/specification.md, "Gamma values")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_GAMMA, REJECTION_BLOCKS
from onnx_philox._contract.types import F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words, rejecting

ATTEMPTS = REJECTION_BLOCKS // 2


@dataclass(frozen=True)
class Gamma(Distribution):
    """Gamma values: `alpha` f32 or f64, of rank 0, or of rank 1 with one for each element."""

    operator = RANDOM_GAMMA
    alpha: Values

    def converter(self, values: ElementType) -> Convert:
        """The function from words to values."""
        return rejecting(self.alpha, gammas, values)


def gammas(alpha: Values, blocks: Words, attempts: int = ATTEMPTS) -> Values:
    """An f64 gamma of each alpha and its blocks, in so many attempts."""
    unit = uniform.unit(F64)
    one = np.float64(1)
    half = np.float64(0.5)
    is_small = alpha < one
    raised = np.where(is_small, alpha + one, alpha)
    d = raised - one / np.float64(3)
    c = one / np.sqrt(np.float64(9) * d)
    result = np.empty_like(d)
    left = np.arange(d.size)
    for attempt in range(attempts):
        # A normal is made of one block, what decides on it of half of the next.
        block = 2 * attempt
        first = blocks[left, block]
        second = blocks[left, block + 1, :2]
        pairs = unit(first.reshape(-1))
        radii = pairs[0::2]
        angles = pairs[1::2]
        _, x = elementary.normal_pairs(radii, angles)
        w = unit(second.reshape(-1))
        z = one + c[left] * x
        y = z * z * z
        is_positive = y > 0
        d_left = d[left]
        result[left] = np.where(is_positive, d_left * y, d_left)
        # ln of what is not positive is not asked for.
        ln_y = elementary.ln(np.where(is_positive, y, one))
        slack = d_left * (one - y + ln_y)
        limit = x * x * half + slack
        is_below = elementary.ln(one - w) < limit
        is_accepted = is_positive & is_below
        left = left[~is_accepted]
        if not left.size:
            break
    small = np.flatnonzero(is_small)
    last = blocks[small, 1, 2:]
    w = unit(last.reshape(-1))
    # A gamma of alpha + 1 becomes one of alpha.
    factor = elementary.ln(one - w) / alpha[small]
    result[small] *= elementary.exp_nonpositive(factor)
    return result
