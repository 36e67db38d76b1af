"""What is compared of the runs of two models: each statistic, its bound and its share of the error.

A statistic gives one number of a run. What is tested is its difference `d` in a pair of runs, which
under one law has a random sign (`bounds`). All tests together err with `ERROR`: each family has a
share of it, and each test of a family an equal part of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law import bounds
from onnx_philox._command.compare.law.bounds import Floats
from onnx_philox._command.compare.law.first_runs import Column, Values, are_near, classes, near

ERROR = 1e-6
"""The probability that anything is told of two models of one law, at most."""

_ROUNDING = 1e-6
"""In standard deviations; a difference of two runs that is smaller counts as none."""
_STILL = 1e-9
"""Of ranks between -1 and 1; a smaller variance is none."""
_TINY = 1e-12
"""A divisor in the place of 0."""
_CLOSE = 0.6
"""Where Efron's bound reaches this part of what is needed, Chernoff's is computed, too."""


class Family(Enum):
    """A kind of tests."""

    WHOLE = "whole"
    """Of a whole output in each run: its mean, its spread, shares, whether it repeats the last."""
    ELEMENT = "element"
    """Of an element: the shares of its values, or its distribution function."""
    TOGETHER = "together"
    """Of two elements, or of the means of two outputs: whether they go together."""
    PLACES = "places"
    """Of two outputs of one shape: whether equal places go together."""


SHARES = {Family.WHOLE: 0.4, Family.ELEMENT: 0.2, Family.TOGETHER: 0.2, Family.PLACES: 0.2}
"""Of the error. A whole output has few tests, and sees the smallest differences."""


def means(deviations: Values) -> Floats:
    """The mean of each run, in standard deviations. A shift moves it. Bound: Efron's."""
    return np.asarray(deviations.mean(axis=1, dtype=np.float64))


def spreads(deviations: Values) -> Floats:
    """The mean square of each run. A scale s makes it s^2 times as large. Bound: Efron's."""
    return np.asarray(np.square(deviations).mean(axis=1, dtype=np.float64))


def shares(values: Values, value: float, reach: float) -> Floats:
    """The share of a value in each run. Bound: Chernoff's, also where it is rare."""
    return np.asarray(are_near(values, value, reach).mean(axis=1))


def below(sorted_into: NDArray[np.intp], level: int) -> Floats:
    """The share of elements up to their quantile of a level, in each run. Bound: Chernoff's.

    The distribution function of a whole output, at fixed thresholds. A bound of all thresholds at
    once would be that of P. Massart, Annals of Probability 18 (1990), for two samples that of F.
    Wei and R. Dudley, Statistics and Probability Letters 82 (2012): at the median the same to a
    hundredth, and in the tails, where shares vary less, worse.
    """
    return np.asarray((sorted_into <= level).mean(axis=1))


def not_numbers(values: Values) -> Floats:
    """The share of NaN in each run, which no other statistic counts. Bound: Chernoff's."""
    return np.asarray(np.isnan(values).mean(axis=1))


def products(one: Values, other: Values) -> Floats:
    """The mean product of equal places of two outputs in each run. Bound: Efron's."""
    return np.asarray((one * other).mean(axis=1, dtype=np.float64))


def agreements(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> Floats:
    """How often equal places of two outputs both have their frequent value, or both have not.

    Two rare masks that fell alike and no longer do differ in this most. Bound: Chernoff's.
    """
    return np.asarray((one == other).mean(axis=1))


class Paired:
    """Statistics of runs in pairs: their sums in each model, and their differences.

    Args:
        count: How many statistics there are.
    """

    def __init__(self, count: int) -> None:
        self.runs = 0
        self.was = np.zeros(count)
        self.now = np.zeros(count)
        self._differences: list[NDArray[np.float32]] = []

    def add(self, was: Sequence[Floats], now: Sequence[Floats]) -> None:
        """Adds a block of runs; each statistic is a vector."""
        olds = np.stack(was, axis=1)
        news = np.stack(now, axis=1)
        self.runs += len(olds)
        self.was += olds.sum(0)
        self.now += news.sum(0)
        difference = olds - news
        is_rounding = np.abs(difference) <= _ROUNDING
        difference[is_rounding] = 0
        self._differences.append(difference.astype(np.float32))

    def differences(self) -> NDArray[np.float32]:
        """Each row is a pair of runs."""
        joined = np.concatenate(self._differences)
        self._differences = [joined]
        return joined

    def exponents(self, needed: float) -> Floats:
        """The bound of each statistic."""
        if not self.runs:
            return np.zeros(len(self.was))
        given = self.differences()
        sums = given.sum(0, dtype=np.float64)
        found = bounds.of_sums(sums, self.squares() * self.runs)
        is_close = (found > _CLOSE * needed) & (found < needed)
        for column in np.flatnonzero(is_close):
            found[column] = bounds.of_values(given[:, column])
        return found

    def squares(self) -> Floats:
        """The mean square of each difference."""
        return np.asarray(np.square(self.differences(), dtype=np.float64).mean(0))


class Elements:
    """The elements of an output: how often each is in each class.

    A difference in a pair of runs is 1, -1 or 0. Bound: Chernoff's of counts.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.runs = 0
        self.is_few = np.array([column.is_few for column in columns], bool)
        self._modes = np.array([column.mode for column in columns])
        counts = np.array([column.tests for column in columns])
        widest = int(counts.max())
        self._numbers = np.arange(widest)
        self.has_test = self._numbers < counts[:, None]
        shape = (len(columns), widest)
        self.was = np.zeros(shape)
        self.now = np.zeros(shape)
        self.more = np.zeros(shape)
        self.fewer = np.zeros(shape)
        self._ranks = np.zeros((len(columns), widest + 1))
        for row, column in zip(self._ranks, columns, strict=True):
            row[: len(column.ranks)] = column.ranks

    @property
    def tests(self) -> int:
        """How many there are."""
        return int(self.has_test.sum())

    def moved(self, values: Floats) -> Floats:
        """Values of the elements, each moved to a frequent one that is so near."""
        found = np.empty(values.shape)
        for i, column in enumerate(self.columns):
            found[:, i] = near(values[:, i], column.known, column.reach)
        return found

    def sort(self, moved: Floats) -> NDArray[np.intp]:
        """The class of each value."""
        found = np.empty(moved.shape, np.intp)
        for i, column in enumerate(self.columns):
            found[:, i] = classes(moved[:, i], column.edges, is_few=column.is_few)
        return found

    def add(self, was: NDArray[np.intp], now: NDArray[np.intp]) -> None:
        """Counts a block of pairs of runs."""
        self.runs += len(was)
        in_was = self._in_test(was)
        in_now = self._in_test(now)
        self.was += in_was.sum(0)
        self.now += in_now.sum(0)
        self.more += (in_now & ~in_was).sum(0)
        self.fewer += (in_was & ~in_now).sum(0)

    def _in_test(self, sorted_into: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether a value is one of those whose share a test compares."""
        given = sorted_into[:, :, None]
        of_value = given == self._numbers
        up_to_edge = given <= self._numbers
        return np.where(self.is_few[:, None], of_value, up_to_edge)

    def exponents(self) -> Floats:
        """The bound of each test of each element."""
        found = bounds.of_counts(self.more, self.fewer)
        return np.where(self.has_test, found, 0)

    def inverted_exponents(self) -> Floats:
        """The bound of each test, as if the original had each value where it had it not."""
        # In so many pairs of runs both have it, and in so many neither has.
        both = self.was - self.fewer
        neither = self.runs - both - self.more - self.fewer
        found = bounds.of_counts(both, neither)
        return np.where(self.has_test, found, 0)

    def ranks(self, sorted_into: NDArray[np.intp]) -> Floats:
        """The mean rank of each value's class."""
        numbers = np.arange(len(self.columns))
        return np.asarray(self._ranks[numbers, sorted_into])

    def signs(self, moved: Floats) -> Floats:
        """1 where an element has its frequent value, -1 where not, 0 where it has none."""
        is_it = np.where(moved == self._modes, 1.0, -1.0)
        return np.where(np.isnan(self._modes), 0.0, is_it)


class Together:
    """Which columns go together: their rank correlations, and how often two agree.

    A column is an element, or the mean of an output; the mean stands beside other means alone,
    since an element is a part of the mean of its output. Bound of the products of ranks: Efron's.
    Bound of the agreement of frequent values, where both have one: Chernoff's of counts.

    Args:
        is_mean: Whether each column is the mean of an output.
        owners: The number of the output of each column.
    """

    def __init__(self, is_mean: NDArray[np.bool_], owners: NDArray[np.intp]) -> None:
        self.is_mean = is_mean
        self.owners = owners
        count = len(is_mean)
        is_above_diagonal = np.triu(np.ones((count, count), bool), 1)
        self.is_pair = is_above_diagonal & (is_mean[:, None] == is_mean)
        self.runs = 0
        self._products = np.zeros((2, count, count))
        self._sums = np.zeros((2, count))
        self._fourth = np.zeros(count)
        """The sum of the fourth powers of ranks, of both models."""
        self._squares = np.zeros((count, count))
        """The sum of the squared differences of the products of two columns."""
        self._lowest = np.full((2, count), np.inf)
        self._highest = np.full((2, count), -np.inf)
        self._agreements = np.zeros((2, count, count))
        self._disagreeing = np.zeros((count, count))
        """In how many pairs of runs two columns agree in one model alone."""
        self._has_mode = np.zeros(count, bool)
        self._is_frequent = np.zeros(count)

    def add(self, ranks: tuple[Floats, Floats], signs: tuple[Floats, Floats]) -> None:
        """Adds a block of runs: of each model, a row of all columns for each run."""
        was, now = (each.astype(np.float32) for each in ranks)
        self.runs += len(was)
        for side, each in enumerate((was, now)):
            self._products[side] += each.T @ each
            self._sums[side] += each.sum(0, dtype=np.float64)
            self._fourth += (each**4).sum(0, dtype=np.float64)
            self._lowest[side] = np.minimum(self._lowest[side], each.min(0))
            self._highest[side] = np.maximum(self._highest[side], each.max(0))
        self._squares += _squared_differences(was, now)
        self._add_agreements(*signs)

    def _add_agreements(self, was: Floats, now: Floats) -> None:
        self._has_mode |= was.any(0)
        which = np.flatnonzero(self._has_mode)
        if not len(which):
            return
        place = np.ix_(which, which)
        olds = was[:, which].astype(np.float32)
        news = now[:, which].astype(np.float32)
        for side, each in enumerate((olds, news)):
            self._agreements[side][place] += each.T @ each
            self._is_frequent[which] += (each > 0).sum(0)
        # A product is 1 or -1, so the square of a difference is 4 or 0.
        self._disagreeing[place] += _squared_differences(olds, news) / 4

    @property
    def has_modes(self) -> NDArray[np.bool_]:
        """Of which pairs the agreement is tested."""
        both_have = self._has_mode[:, None] & self._has_mode
        return np.asarray(self.is_pair & both_have)

    @property
    def tests(self) -> int:
        """How many there are."""
        return int(self.is_pair.sum() + self.has_modes.sum())

    def exponents(self) -> Floats:
        """The bound of each pair, of its products or of its agreement."""
        was, now = self._products
        of_products = bounds.of_sums(was - now, self._squares)
        agreed, agree = self._agreements
        surplus = (agree - agreed) / 2
        more = (self._disagreeing + surplus) / 2
        fewer = (self._disagreeing - surplus) / 2
        of_agreement = bounds.of_counts(np.maximum(more, 0), np.maximum(fewer, 0))
        larger = np.maximum(of_products, of_agreement)
        found = np.where(self.has_modes, larger, of_products)
        return np.where(self.is_pair, found, 0)

    def correlations(self) -> tuple[Floats, Floats]:
        """The rank correlations in the original, and in the model; 0 of what does not vary."""
        was, now = self.varies()
        return self._correlations(0, was), self._correlations(1, now)

    def _correlations(self, side: int, varies: NDArray[np.bool_]) -> Floats:
        means = self._sums[side] / max(self.runs, 1)
        mean_products = self._products[side] / max(self.runs, 1)
        covariances = mean_products - np.outer(means, means)
        variances = np.maximum(np.diagonal(covariances), _STILL)
        correlations = covariances / np.sqrt(np.outer(variances, variances))
        both_vary = np.outer(varies, varies)
        return np.where(both_vary, np.clip(correlations, -1, 1), 0)

    def varies(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns vary in the original, and which in the model."""
        was, now = self._highest > self._lowest
        return was, now

    def kurtoses(self) -> Floats:
        """Of the ranks of each column, in both models: the mean fourth power by the square's."""
        runs = 2 * max(self.runs, 1)
        squares_of_both = np.diagonal(self._products, axis1=1, axis2=2)
        mean_squares = squares_of_both.sum(0) / runs
        mean_fourths = self._fourth / runs
        divisors = np.square(np.maximum(mean_squares, _TINY))
        return np.asarray(mean_fourths / divisors)

    def frequent_shares(self) -> Floats:
        """How often each column has its most frequent value, in both models."""
        return np.asarray(self._is_frequent / (2 * max(self.runs, 1)))


def _squared_differences(was: NDArray[np.float32], now: NDArray[np.float32]) -> Floats:
    """For each pair of columns, the sum of (was_i was_j - now_i now_j)^2."""
    of_was = np.square(was)
    of_now = np.square(now)
    of_both = was * now
    own = of_was.T @ of_was + of_now.T @ of_now
    shared = of_both.T @ of_both
    found = own - 2 * shared
    # What float32 rounds may fall below 0.
    return np.asarray(np.maximum(found.astype(np.float64), 0))
