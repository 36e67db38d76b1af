"""Turns words of the generator into Poisson counts (docs/specification.md, "Poisson counts")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_POISSON, REJECTION_BLOCKS
from onnx_philox._contract.types import F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words, rejecting

ATTEMPTS = REJECTION_BLOCKS
SMALLEST_LARGE = 10
MOST_TERMS = 1000


@dataclass(frozen=True)
class Poisson(Distribution):
    """Poisson counts: `rate` f32 or f64, of rank 0, or of rank 1 with one for each element."""

    operator = RANDOM_POISSON
    rate: Values

    def converter(self, values: ElementType) -> Convert:
        """The function from words to counts."""
        return rejecting(self.rate, counts, values)


def counts(rate: Values, blocks: Words, attempts: int = ATTEMPTS) -> Values:
    """A count of each rate and its blocks, as f64; large rates in so many attempts."""
    result = np.empty_like(rate)
    is_small = rate < SMALLEST_LARGE
    small = np.flatnonzero(is_small)
    large = np.flatnonzero(~is_small)
    first_words = blocks[small, 0, :2]
    unit = uniform.unit(F64)
    u = unit(first_words.reshape(-1))
    result[small] = _small(rate[small], u)
    result[large] = _large(rate[large], blocks[large], attempts)
    return result


def _small(rate: Values, u: Values) -> Values:
    """Counts up the running sum of the probabilities."""
    p = elementary.exp_nonpositive(-rate)
    total = p.copy()
    count = np.zeros_like(rate)
    left = np.flatnonzero(total <= u)
    for k in range(1, MOST_TERMS + 1):
        if not left.size:
            break
        # The probability of k is that of k - 1, times rate / k.
        term = p[left] * rate[left] / np.float64(k)
        p[left] = term
        total[left] += term
        count[left] = k
        is_left = total[left] <= u[left]
        left = left[is_left]
    return count


def _large(rate: Values, blocks: Words, attempts: int) -> Values:
    """Hoermann's transformed rejection with squeeze."""
    unit = uniform.unit(F64)
    half = np.float64(0.5)
    ln = elementary.ln
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    ln_i = ln(1.1239 + 1.1328 / (b - 3.4))
    q = 0.9277 - 3.6224 / (b - 2.0)
    ln_rate = ln(rate)
    result = np.floor(rate)
    left = np.arange(rate.size)
    for attempt in range(attempts):
        words = blocks[left, attempt]
        pairs = unit(words.reshape(-1))
        u = pairs[0::2] - half
        v = np.float64(1) - pairs[1::2]
        s = half - np.abs(u)
        rate_left = rate[left]
        a_left = a[left]
        b_left = b[left]
        slope = 2.0 * a_left / s + b_left
        k = np.floor(slope * u + rate_left + 0.43)
        is_inside = (s >= 0.07) & (v <= q[left])
        is_in_corner = (s < 0.013) & (v > s)
        is_outside = (k < 0) | is_in_corner
        # What is outside already must not be computed with.
        tried = np.where(is_outside, 0.0, k)
        ln_power = tried * ln_rate[left]
        density = -rate_left + ln_power - elementary.ln_factorial(tried)
        width = a_left / (s * s) + b_left
        bound = ln(v) + ln_i[left] - ln(width)
        is_below = ~is_outside & (bound <= density)
        is_accepted = is_inside | is_below
        accepted = left[is_accepted]
        result[accepted] = k[is_accepted]
        left = left[~is_accepted]
        if not left.size:
            break
    return result
