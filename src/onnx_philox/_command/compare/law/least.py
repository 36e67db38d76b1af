"""The smallest differences that a test of `bounds` sees in nine of ten tries, and in which runs.

Each question is asked of a difference and a number of runs: would nine of ten tries reach what the
test needs? The statistic is taken for normal here, which decides nothing but what is promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law.bounds import Floats, of_counts, of_sums

Seen = NDArray[np.bool_]

_TENTH = 1.2816
"""So many standard deviations below its mean lies one try of ten."""
_RARE = 0.2
"""With fewer events in a run than this, hardly a run has two of them."""
_HALVINGS = 25
_SMALLEST = 1e-9
_LARGEST_SHIFT = 1e6
LARGEST_SCALE = 1e3
_STEP = 1.05
"""Numbers of runs are tried in such steps."""


def is_shift_seen(
    shift: Floats,
    square: Floats,
    runs: int,
    exponent: float,
) -> Seen:
    """Whether a shift of a mean is seen in nine of ten tries.

    Args:
        shift: It, in the units of the mean.
        square: The mean of d^2, which is the variance of the difference where there is no shift.
        runs: How many pairs there are.
        exponent: What a test needs.
    """
    return _is_sum_seen(shift, square, runs, exponent)


def is_scale_seen(
    more: Floats,
    square: Floats,
    moment: Floats,
    runs: int,
    exponent: float,
) -> Seen:
    """Whether a factor of the deviations is seen in nine of ten tries.

    Args:
        more: The factor, less 1.
        square: The mean of d^2 of the mean squared deviation of a run.
        moment: The mean squared deviation.
        runs: How many pairs there are.
        exponent: What a test needs.
    """
    ratio = np.square(1 + more)
    apart = (ratio - 1) * moment
    # A model whose values are wider has a statistic that is as much wider.
    variance = square * (1 + ratio**2) / 2
    return _is_sum_seen(apart, variance, runs, exponent)


def is_share_seen(
    more: Floats,
    share: Floats,
    square: Floats,
    runs: int,
    exponent: float,
) -> Seen:
    """Whether a difference of a share, in the direction of a half, is seen in nine of ten tries.

    Args:
        more: The difference.
        share: The share that is there.
        square: The mean of d^2 of the share of a run; it says how many elements of a run are as
            good as independent. Where nothing differed, one.
        runs: How many pairs there are.
        exponent: What a test needs.
    """
    rare = np.minimum(share, 1 - share)
    other = np.minimum(rare + more, 1)
    variance = rare * (1 - rare)
    other_variance = other * (1 - other)
    divisor = np.where(square > 0, square, 1)
    independent = np.where(square > 0, 2 * variance / divisor, 1.0)
    spread = (variance + other_variance) / np.maximum(independent, _SMALLEST)
    by_sums = _is_sum_seen(more, spread, runs, exponent)
    events = runs * independent
    in_other_alone = events * other * (1 - rare)
    in_this_alone = events * rare * (1 - other)
    by_counts = _is_count_seen(in_other_alone, in_this_alone, exponent)
    is_one_at_a_time = independent * other < _RARE
    return by_sums | (by_counts & is_one_at_a_time)


def is_correlation_seen(
    correlation: Floats,
    kurtosis: Floats,
    disagreement: Floats,
    runs: int,
    exponent: float,
) -> Seen:
    """Whether a correlation of two columns, now without one, is seen in nine of ten tries.

    Args:
        correlation: Of ranks.
        kurtosis: The mean product of both columns' squares were they one column: the root of the
            product of their kurtoses. Rare values have a large one.
        disagreement: How often one of them has its most frequent value and the other has not, were
            they independent; 0 of columns without such a value.
        runs: How many pairs there are.
        exponent: What a test needs.
    """
    variance = 2 + correlation * (kurtosis - 1)
    by_products = _is_sum_seen(correlation, variance, runs, exponent)
    left = disagreement * (1 - correlation)
    in_this_alone = runs * disagreement * (1 - left)
    in_other_alone = runs * left * (1 - disagreement)
    return by_products | _is_count_seen(in_this_alone, in_other_alone, exponent)


def least_shift(square: Floats, runs: int, exponent: float) -> Floats:
    """The smallest shift that is seen; infinite where none is. See `is_shift_seen`."""

    def is_seen(shift: Floats) -> Seen:
        return is_shift_seen(shift, square, runs, exponent)

    return _smallest(is_seen, np.shape(square), _LARGEST_SHIFT)


def least_scale(
    square: Floats,
    moment: Floats,
    runs: int,
    exponent: float,
) -> Floats:
    """The smallest factor above 1 that is seen; infinite where none is. See `is_scale_seen`."""

    def is_seen(more: Floats) -> Seen:
        return is_scale_seen(more, square, moment, runs, exponent)

    return 1 + _smallest(is_seen, np.shape(square), LARGEST_SCALE)


def least_share(
    share: Floats,
    square: Floats,
    runs: int,
    exponent: float,
) -> Floats:
    """The smallest difference of a share that is seen; infinite where none is.

    See `is_share_seen`.
    """

    def is_seen(more: Floats) -> Seen:
        return is_share_seen(more, share, square, runs, exponent)

    found = _smallest(is_seen, np.shape(share), 1.0)
    rare = np.minimum(share, 1 - share)
    return np.where(rare + found <= 1, found, np.inf)


def least_correlation(
    kurtosis: Floats,
    disagreement: Floats,
    runs: int,
    exponent: float,
) -> Floats:
    """The smallest correlation that is seen, at most 1; infinite where even 1 is not.

    See `is_correlation_seen`.
    """

    def is_seen(correlation: Floats) -> Seen:
        return is_correlation_seen(correlation, kurtosis, disagreement, runs, exponent)

    return _smallest(is_seen, np.shape(kurtosis), 1.0)


def enough_runs(
    is_seen: Callable[[int], bool],
    few: int,
    most: int,
) -> int | None:
    """About how many runs are enough to see something: the first of growing numbers.

    Args:
        is_seen: Whether so many are.
        few: So many are not.
        most: No more are tried.

    Returns:
        The number, rounded up to two digits; None where not even the most are enough.
    """
    runs = few
    while runs < most:
        runs = min(max(runs + 1, int(runs * _STEP)), most)
        if is_seen(runs):
            digits = len(str(runs))
            unit: int = 10 ** max(digits - 2, 0)
            return math.ceil(runs / unit) * unit
    return None


def _is_sum_seen(
    mean: Floats,
    variance: Floats,
    runs: int,
    exponent: float,
) -> Seen:
    """Whether nine of ten sums of differences of this mean and variance reach an exponent."""
    unlucky = runs * mean - _TENTH * np.sqrt(runs * variance)
    squares = runs * (variance + np.square(mean))
    return (unlucky > 0) & (of_sums(unlucky, squares) >= exponent)


def _is_count_seen(more: Floats, fewer: Floats, exponent: float) -> Seen:
    """Whether nine of ten counts with these means reach an exponent."""
    deviation = _TENTH * np.sqrt(more + fewer) / 2
    unlucky = more - deviation
    lucky = fewer + deviation
    return (unlucky > lucky) & (of_counts(unlucky, lucky) >= exponent)


def _smallest(
    is_seen: Callable[[Floats], Seen],
    shape: tuple[int, ...],
    largest: float,
) -> Floats:
    """The smallest number up to a largest one that is seen, by halving; else infinite."""
    low = np.full(shape, math.log(_SMALLEST))
    high = np.full(shape, math.log(largest))
    is_never_seen = ~is_seen(np.exp(high))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_middle_seen = is_seen(np.exp(middle))
        low = np.where(is_middle_seen, low, middle)
        high = np.where(is_middle_seen, middle, high)
    return np.where(is_never_seen, np.inf, np.exp(high))
