"""How surely a test of two laws says that they differ, and the smallest difference that it sees.

Runs are paired: run k of one model stands beside run k of the other. If both draw by one law, each
pair could as well stand the other way round, whatever that law is. So the difference `d` of a
statistic in a pair has a random sign, and that is all that these bounds assume. They hold for
statistics of any distribution, also where thresholds and scales were taken from the pooled runs,
which do not change when a pair is turned round.

Each bound is an exponent `e`: a difference as large has, in either direction and under one law, a
probability of at most 2 exp(-e).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TENTH = 1.2816
"""So many standard deviations below its mean lies one try of ten."""
_RARE = 0.2
"""With fewer events in a run than this, hardly a run has two of them."""
_HALVINGS = 40
_SMALLEST = 1e-9
# What the exponent of Chernoff's bound is tried at, beside where Efron's has its maximum.
_TILTS = 1.2 ** np.arange(0, 20)


def needed(error: float, tests: int) -> float:
    """The exponent that one of so many tests must reach, so that all of them err with `error`.

    Each test errs with 2 exp(-exponent) at most. The probability that any of them does is at most
    the sum (Boole's inequality), however they depend on each other.
    """
    return math.log(2 * max(tests, 1) / error)


def of_sums(sums: Floats, squares: Floats) -> Floats:
    """Efron's bound for the sum of differences of any size, by the sum of their squares.

    P(|sum d| >= t sqrt(sum d^2)) <= 2 exp(-t^2 / 2).

    Source: B. Efron, Student's t-test under symmetry conditions, JASA 64 (1969); V. de la Pena,
    T. Lai, Q. Shao, Self-Normalized Processes (2009), theorem 2.14.
    """
    squares = np.asarray(squares)
    is_nothing = squares <= 0
    return np.where(is_nothing, 0.0, np.square(sums) / (2 * np.where(is_nothing, 1.0, squares)))


def of_counts(more: Floats, fewer: Floats) -> Floats:
    """Chernoff's bound for differences that are 1, -1 or 0, by how many are 1 and how many -1.

    The pairs that differ are tosses of a fair coin: n KL(more / n, 1 / 2) for n of them.

    Source: H. Chernoff, Annals of Mathematical Statistics 23 (1952). It is the test of Q. McNemar,
    Psychometrika 12 (1947), with a bound in the place of the exact tail.
    """
    together = np.maximum(more + fewer, 1)
    divergence = np.full(np.shape(together), math.log(2))
    for part in (more, fewer):
        share = part / together
        divergence = divergence + share * np.log(np.where(share > 0, share, 1))
    return np.where(more + fewer > 0, together * divergence, 0.0)


def of_values(differences: NDArray[np.floating]) -> float:
    """Chernoff's bound for the differences themselves: max of t |sum d| - sum ln cosh(t d).

    Never less than Efron's, and for differences of one size that of counts. Any `t` gives a bound,
    so a few are tried.

    Source: as in `of_counts`; cosh(t d) is the mean of exp(t d) over both signs.
    """
    given = np.asarray(differences, np.float64)
    total, squares = abs(float(given.sum())), float(np.square(given).sum())
    if squares == 0:
        return 0.0
    best = 0.0
    for tilt in total / squares * _TILTS:
        scaled = np.abs(tilt * given)
        # ln cosh x, without an overflow.
        logs = scaled + np.log1p(np.exp(-2 * scaled)) - math.log(2)
        best = max(best, tilt * total - float(logs.sum()))
    return best


def least_shift(square: Floats, runs: int, exponent: float) -> Floats:
    """The smallest shift of a mean that is seen in nine of ten tries.

    Args:
        square: The mean of d^2, which is the variance of the difference where there is no shift.
        runs: How many pairs there are.
        exponent: What a test needs.

    Returns:
        The shift, in the units of the mean; infinite where none is seen.
    """
    return _smallest(lambda shift: _is_seen(shift, square, runs, exponent), np.shape(square), 1e6)


def least_scale(square: Floats, moment: Floats, runs: int, exponent: float) -> Floats:
    """The smallest factor above 1 of the deviations that is seen in nine of ten tries.

    Args:
        square: The mean of d^2 of the mean squared deviation of a run.
        moment: The mean squared deviation.
        runs: How many pairs there are.
        exponent: What a test needs.
    """

    def is_seen(more: Floats) -> NDArray[np.bool_]:
        ratio = np.square(1 + more)
        # A model whose values are wider has a statistic that is as much wider.
        return _is_seen((ratio - 1) * moment, square * (1 + ratio**2) / 2, runs, exponent)

    return 1 + _smallest(is_seen, np.shape(square), 1e3)


def least_share(share: Floats, square: Floats, runs: int, exponent: float) -> Floats:
    """The smallest difference of a share that is seen in nine of ten tries.

    Args:
        share: The share that is there.
        square: The mean of d^2 of the share of a run; it says how many elements of a run are as
            good as independent. Where nothing differed, one.
        runs: How many pairs there are.
        exponent: What a test needs.

    Returns:
        The difference in the direction of a half; infinite where none is seen.
    """
    rare = np.minimum(share, 1 - share)
    variance = rare * (1 - rare)
    independent = np.where(square > 0, 2 * variance / np.where(square > 0, square, 1), 1.0)

    def is_seen(more: Floats) -> NDArray[np.bool_]:
        other = np.minimum(rare + more, 1)
        spread = (variance + other * (1 - other)) / np.maximum(independent, 1e-9)
        by_sums = _is_seen(more, spread, runs, exponent)
        events = runs * independent
        by_counts = _is_counted(events * other * (1 - rare), events * rare * (1 - other), exponent)
        return by_sums | (by_counts & (independent * other < _RARE))

    found = _smallest(is_seen, np.shape(share), 1.0)
    return np.where(rare + found <= 1, found, np.inf)


def least_correlation(kurtosis: Floats, disagreement: Floats, runs: int, exponent: float) -> Floats:
    """The smallest correlation of two columns, now without one, that is seen in nine of ten tries.

    Args:
        kurtosis: The mean product of both columns' squares were they one column: the root of the
            product of their kurtoses. Rare values have a large one.
        disagreement: How often one of them has its most frequent value and the other has not, were
            they independent; 0 of columns without such a value.
        runs: How many pairs there are.
        exponent: What a test needs.

    Returns:
        At most 1; infinite where even 1 is not seen.
    """

    def is_seen(correlation: Floats) -> NDArray[np.bool_]:
        spread = 2 + correlation * (kurtosis - 1)
        by_products = _is_seen(correlation, spread, runs, exponent)
        left = disagreement * (1 - correlation)
        events = runs * disagreement, runs * left
        more, fewer = events[0] * (1 - left), events[1] * (1 - disagreement)
        return by_products | _is_counted(more, fewer, exponent)

    return _smallest(is_seen, np.shape(kurtosis), 1.0)


def _is_seen(mean: Floats, variance: Floats, runs: int, exponent: float) -> NDArray[np.bool_]:
    """Whether nine of ten sums of differences of this mean and variance reach an exponent."""
    unlucky = runs * mean - _TENTH * np.sqrt(runs * variance)
    squares = runs * (variance + np.square(mean))
    return (unlucky > 0) & (of_sums(unlucky, squares) >= exponent)


def _is_counted(more: Floats, fewer: Floats, exponent: float) -> NDArray[np.bool_]:
    """Whether nine of ten counts with these means reach an exponent."""
    deviation = _TENTH * np.sqrt(more + fewer) / 2
    unlucky, lucky = more - deviation, fewer + deviation
    return (unlucky > lucky) & (of_counts(unlucky, lucky) >= exponent)


def _smallest(
    is_seen: Callable[[Floats], NDArray[np.bool_]], shape: tuple[int, ...], largest: float
) -> Floats:
    """The smallest number up to a largest one that is seen, by halving; else infinite."""
    low, high = np.full(shape, math.log(_SMALLEST)), np.full(shape, math.log(largest))
    never = ~is_seen(np.exp(high))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        seen = is_seen(np.exp(middle))
        low, high = np.where(seen, low, middle), np.where(seen, middle, high)
    return np.where(never, np.inf, np.exp(high))
