"""How surely a test of two laws says that they differ.

Runs are paired: run k of one model stands beside run k of the other. If both draw by one law, each
pair could as well stand the other way round, whatever that law is. So the difference `d` of a
statistic in a pair has a random sign, and that is all that these bounds assume. They hold for
statistics of any distribution, also where thresholds and scales were taken from the pooled runs,
which do not change when a pair is turned round.

Each bound is an exponent `e`: a difference as large has, in either direction and under one law, a
probability of at most 2 exp(-e). `least` says from where on such a test sees a difference.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TILTS = 1.2 ** np.arange(0, 20)
"""What the exponent of Chernoff's bound is tried at, times where Efron's has its maximum."""


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
    divisors = np.where(is_nothing, 1.0, squares)
    exponents = np.square(sums) / (2 * divisors)
    return np.where(is_nothing, 0.0, exponents)


def of_counts(more: Floats, fewer: Floats) -> Floats:
    """Chernoff's bound for differences that are 1, -1 or 0, by how many are 1 and how many -1.

    The pairs that differ are tosses of a fair coin: n KL(more / n, 1 / 2) for n of them.

    Source: H. Chernoff, Annals of Mathematical Statistics 23 (1952). It is the test of Q. McNemar,
    Psychometrika 12 (1947), with a bound in the place of the exact tail.
    """
    parted = more + fewer
    tosses = np.maximum(parted, 1)
    divergence = np.full(np.shape(tosses), math.log(2))
    for count in (more, fewer):
        share = count / tosses
        # Of a share of 0 the product is 0.
        logarithm = np.log(np.where(share > 0, share, 1))
        divergence = divergence + share * logarithm
    return np.where(parted > 0, tosses * divergence, 0.0)


def of_values(differences: NDArray[np.floating]) -> float:
    """Chernoff's bound for the differences themselves: max of t |sum d| - sum ln cosh(t d).

    Never less than Efron's, and for differences of one size that of counts. Any `t` gives a bound,
    so a few are tried.

    Source: as in `of_counts`; cosh(t d) is the mean of exp(t d) over both signs.
    """
    given = np.asarray(differences, np.float64)
    total = abs(float(given.sum()))
    squares = float(np.square(given).sum())
    if squares == 0:
        return 0.0
    best = 0.0
    of_efron = total / squares
    for tilt in of_efron * _TILTS:
        scaled = np.abs(tilt * given)
        # ln cosh x, without an overflow.
        smaller = np.exp(-2 * scaled)
        logarithms = scaled + np.log1p(smaller) - math.log(2)
        exponent = tilt * total - float(logarithms.sum())
        best = max(best, exponent)
    return best
