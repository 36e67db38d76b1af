"""An output in all runs of both models: what is taken of each run, and counted."""

from __future__ import annotations

import collections
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law import bounds, statistics
from onnx_philox._command.compare.law.bounds import Floats
from onnx_philox._command.compare.law.first_runs import (
    LEVELS,
    Column,
    Measure,
    Values,
    are_near,
    are_rounded,
    classes,
    near,
    repeats,
    rows,
    spread,
)
from onnx_philox._command.compare.law.statistics import Elements, Paired

_BINS = 40
_OUTER = (0.002, 0.998)
"""A picture shows what lies between these quantiles; the rest is in its outer bars."""

MEAN, SPREAD, SHARE, BELOW = "mean", "spread", "share", "below"
INFINITE, NOT_A_NUMBER, SIZE, SHAPE = "infinite", "not a number", "size", "shape"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Statistic:
    """One of a whole output."""

    kind: str
    """One of those above."""
    value: float = math.nan
    """Whose share it is."""
    level: int = 0
    """Which quantile's share of what lies below it."""
    reach: float = 0.0
    """How near to the value a float counts as it."""


@dataclass(frozen=True)
class Taken:
    """Runs of an output in one model, as the model gave them."""

    values: Values
    """Each run is a row."""
    sizes: Floats
    """How many elements each run has, of those of the first one."""
    shapes: list[Shape]


@dataclass(frozen=True)
class Block:
    """A block of runs of an output in one model, with what is computed of it."""

    values: Values
    sizes: Floats
    has_usual_shape: Floats
    """1 for each run with the most frequent shape of the first runs, else 0."""
    deviations: Values
    moved: Floats
    """The elements that are looked at, each moved to a frequent value that is so near."""
    sorted_into: NDArray[np.intp]
    """The classes of these."""


class Side:
    """One model's runs of an output, as they come."""

    def __init__(self) -> None:
        self.gathered: list[NDArray[Any]] = []
        """The runs that wait."""
        self.always_repeats = True
        """Whether each run was the one before it, but for how threads round."""
        self.shape: Shape | None = None
        """That of all runs; None where they have several."""
        self._last: NDArray[Any] | None = None

    def take(self, size: int) -> tuple[Taken, NDArray[np.bool_]]:
        """The runs that wait, and whether each repeats the one before it.

        Args:
            size: How many elements a run has.
        """
        arrays = self.gathered
        is_same = repeats(arrays, self._last)
        known = is_same
        if self._last is None:
            # The first run has none before it.
            known = is_same[1:]
        if self.always_repeats and not known.all():
            in_order = arrays
            if self._last is not None:
                in_order = [self._last, *arrays]
            self.always_repeats = are_rounded(in_order)
        shapes = [array.shape for array in arrays]
        if self._last is None:
            self.shape = shapes[0]
        if any(shape != self.shape for shape in shapes):
            self.shape = None
        self._last = arrays[-1]
        sizes = np.array([array.size for array in arrays]) / size
        taken = Taken(rows(arrays, size), sizes, shapes)
        self.gathered = []
        return taken, is_same


class Watched:
    """An output in all runs of both models.

    Args:
        name: Its name, which is the original's.
        first: It in the original's first run.
        most: How many of its elements are looked at, at most.
        by: A float so near to a frequent value counts as it.
    """

    measure: Measure
    elements: Elements
    first_run: tuple[Values, Values]
    every: Column
    """All elements that are looked at, as if they were one."""
    mean_column: Elements
    """The mean of all values, as if it were an element."""
    whole: Paired
    statistics: list[Statistic]
    inverted: Paired
    """Of zeros and ones the share of 1, beside what the original's would be if it were inverted."""
    usual_shape: Shape
    """The most frequent one of the first runs."""

    def __init__(
        self,
        name: str,
        first: NDArray[Any],
        most: int,
        by: Tolerances,
    ) -> None:
        self.name = name
        self.type = first.dtype
        self.shape = first.shape
        # An output without elements has one, which is no number.
        self.size = max(int(first.size), 1)
        self.places = spread(first.shape, most) or [(0,) * first.ndim]
        strides = []
        for axis in range(first.ndim):
            behind = first.shape[axis + 1 :]
            strides.append(math.prod(behind))
        places = np.array(self.places, np.intp)
        of_each_axis = places.reshape(len(self.places), first.ndim)
        self._at = of_each_axis @ np.array(strides, np.intp)
        self._by = by
        self.is_float = first.dtype.kind not in "biu"
        self.is_bool = first.dtype.kind == "b"
        self.sides = (Side(), Side())
        """The original's, and the model's."""
        self._runs = 0
        self.repeating = np.zeros((2, 2))
        """Of disjoint pairs of runs: in how many the second is the first, in the original, and in
        the model; then in how many in it alone."""
        self.pairs = 0
        self.sums = np.zeros((2, self.size))
        self.squares = np.zeros((2, self.size))
        self.raw = np.zeros(2)
        """The sums of the means of runs, of what is finite."""
        self.mode = math.nan

    @property
    def is_still(self) -> bool:
        """Whether both models give one and the same in each run."""
        has_parted = (self.elements.more + self.elements.fewer).any()
        return not (has_parted or self.whole.squares().any())

    @property
    def always_repeats(self) -> bool:
        """Whether both models give in each run what they gave in the one before."""
        return all(side.always_repeats for side in self.sides)

    @property
    def has_few_values(self) -> bool:
        """Whether each value has a share of its own, in each element that is looked at."""
        return bool(self.elements.is_few.all())

    def begin(self, was: Taken, now: Taken) -> None:
        """Takes what is measured by from the first runs, pooled."""
        pooled = np.concatenate([was.values, now.values])
        self.measure = Measure.of(pooled, self._by)
        taken = np.asarray(pooled[:, self._at], np.float64)
        columns = [self._column(values) for values in taken.T]
        self.elements = Elements(columns)
        of_means = Column.of(means_of_finite(pooled), self._by, is_float=True, is_bool=False)
        self.mean_column = Elements([of_means])
        self.every = self._column(taken.reshape(-1))
        self.mode = self.every.mode
        self.reach = self.every.reach_of(self.mode)
        self.usual_shape = _most_frequent(was.shapes + now.shapes)
        self.statistics = _statistics(self)
        self.whole = Paired(len(self.statistics))
        values = set(self.every.edges.tolist())
        self.is_of_coins = self.every.is_few and values <= {0, 1}
        """Whether it has zeros and ones alone, as far as the first runs say."""
        self.inverted = Paired(1)
        self.bins = _bins(taken, self.every)
        self.heights = np.zeros((2, len(self.bins) - 1))
        of_original = was.values[0, self._at]
        of_model = now.values[0, self._at]
        self.first_run = of_original, of_model
        """What the elements were in the first run of each."""

    def _column(self, values: Floats) -> Column:
        return Column.of(values, self._by, is_float=self.is_float, is_bool=self.is_bool)

    def take(self) -> tuple[Taken, Taken]:
        """The runs of both models that wait; and counts those that repeat one another."""
        was, was_same = self.sides[0].take(self.size)
        now, now_same = self.sides[1].take(self.size)
        # A run is in one pair of neighbours alone, so that pairs are independent.
        end = self._runs + len(was_same)
        numbers = np.arange(self._runs, end)
        is_second = numbers % 2 == 1
        was_repeats = was_same[is_second]
        now_repeats = now_same[is_second]
        self.pairs += len(was_repeats)
        was_alone = was_repeats & ~now_repeats
        now_alone = now_repeats & ~was_repeats
        in_each = [was_repeats.sum(), now_repeats.sum()]
        in_it_alone = [was_alone.sum(), now_alone.sum()]
        self.repeating += [in_each, in_it_alone]
        self._runs = end
        return was, now

    def add(self, was: Taken, now: Taken) -> tuple[Block, Block]:
        """Counts a block of runs."""
        old = self._block(was)
        new = self._block(now)
        for side, block in enumerate((old, new)):
            self.sums[side] += block.deviations.sum(0, dtype=np.float64)
            self.squares[side] += np.square(block.deviations).sum(0, dtype=np.float64)
            self.raw[side] += means_of_finite(block.values).sum()
            self.heights[side] += self._heights(block)
        self.elements.add(old.sorted_into, new.sorted_into)
        of_old = [self._value(each, old) for each in self.statistics]
        of_new = [self._value(each, new) for each in self.statistics]
        self.whole.add(of_old, of_new)
        if self.is_of_coins:
            was_true = statistics.shares(old.values, 1, 0)
            is_true = statistics.shares(new.values, 1, 0)
            self.inverted.add([1 - was_true], [is_true])
        return old, new

    def _block(self, taken: Taken) -> Block:
        values = taken.values
        of_places = np.asarray(values[:, self._at], np.float64)
        moved = self.elements.moved(of_places)
        is_usual = [shape == self.usual_shape for shape in taken.shapes]
        return Block(
            values=values,
            sizes=taken.sizes,
            has_usual_shape=np.array(is_usual, np.float64),
            deviations=self.measure.standardised(values),
            moved=moved,
            sorted_into=self.elements.sort(moved),
        )

    def _heights(self, block: Block) -> NDArray[np.intp]:
        """How many of the elements' values are in each bar of a picture."""
        every = self.every
        if every.is_few:
            moved = near(block.moved, every.known, every.reach)
            inside = classes(moved, every.edges, is_few=True)
        else:
            finite = block.moved[np.isfinite(block.moved)]
            inside = np.clip(finite, self.bins[0], self.bins[-1])
        heights, _ = np.histogram(inside, self.bins)
        return heights

    def _value(self, which: Statistic, block: Block) -> Floats:
        """A statistic of each run."""
        if which.kind == MEAN:
            return statistics.means(block.deviations)
        if which.kind == SPREAD:
            return statistics.spreads(block.deviations)
        if which.kind in (SHARE, INFINITE):
            return statistics.shares(block.values, which.value, which.reach)
        if which.kind == BELOW:
            continuous = block.sorted_into[:, ~self.elements.is_few]
            return statistics.below(continuous, which.level)
        if which.kind == NOT_A_NUMBER:
            return statistics.not_numbers(block.values)
        if which.kind == SHAPE:
            return block.has_usual_shape
        return block.sizes

    def places_of(self, which: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Where in the whole output some of the elements are that are looked at."""
        return self._at[which]

    def number_of(self, element: int) -> int:
        """Where in the whole output an element is that is looked at."""
        return int(self._at[element])

    def moments_of(self, element: int) -> tuple[Floats, Floats]:
        """The means and the standard deviations of an element: the original's, and the model's."""
        place = self._at[element]
        means = self.sums[:, place] / self.whole.runs
        squares = self.squares[:, place] / self.whole.runs
        deviations = np.sqrt(np.maximum(squares - np.square(means), 0))
        # Few runs have one measure for all elements.
        centre = np.broadcast_to(self.measure.centre, self.size)[place]
        scale = np.broadcast_to(self.measure.scale, self.size)[place]
        return centre + scale * means, scale * deviations

    @property
    def is_finite(self) -> bool:
        """Whether neither model gave an infinity or NaN, in the whole output."""
        is_none = [each.kind in (INFINITE, NOT_A_NUMBER) for each in self.statistics]
        return not (self.whole.was + self.whole.now)[is_none].any()

    def is_frequent(self, block: Block) -> NDArray[np.bool_]:
        """Where the whole output has its most frequent value."""
        return are_near(block.values, self.mode, self.reach)

    def mean_ranks(self, block: Block) -> tuple[Floats, Floats]:
        """The ranks of the means of runs, and the signs of their frequent values."""
        of_runs = means_of_finite(block.values)[:, None]
        moved = self.mean_column.moved(of_runs)
        ranks = self.mean_column.ranks(self.mean_column.sort(moved))
        return ranks, self.mean_column.signs(moved)

    def may_be_inverted(self, of_whole: float, of_element: float) -> bool:
        """Whether it may be what the original has, with 0 and 1 swapped.

        If it is, the shares of 1 add up to 1 in the mean, and a pair of runs could as well be the
        other way round: 1 less the original's share has the law of the model's. So the tests are
        those of shares that differ, at the error of one of them.

        Args:
            of_whole: The exponent that refutes it of the whole output.
            of_element: That of an element.
        """
        if not self.is_of_coins:
            return False
        if (self.inverted.exponents(of_whole) >= of_whole).any():
            return False
        return not (self.elements.inverted_exponents() >= of_element).any()

    def repeat_exponent(self) -> float:
        """The bound of how often a run repeats the one before it: Chernoff's of counts."""
        more, fewer = self.repeating[1]
        return float(bounds.of_counts(np.array(more), np.array(fewer)))


def means_of_finite(values: Values) -> Floats:
    """The mean of what is finite in each run; 0 of nothing."""
    is_finite = np.isfinite(values)
    counts = np.maximum(is_finite.sum(axis=1), 1)
    # Divided before, so that the sum of large ones is finite.
    finite = np.where(is_finite, values, 0).astype(np.float64)
    parts = finite / counts[:, None]
    return np.asarray(parts.sum(axis=1))


def _most_frequent(shapes: list[Shape]) -> Shape:
    """The shape that came most often; of several the largest, whosever they are."""
    counts = collections.Counter(shapes)
    return max(counts, key=lambda shape: (counts[shape], shape))


def _statistics(of: Watched) -> list[Statistic]:
    """What is compared of a whole output."""
    every = of.every
    found: list[Statistic] = []
    if not of.is_bool:
        found.append(Statistic(MEAN))
        found.append(Statistic(SPREAD))
    if every.is_few:
        finite = every.edges[np.isfinite(every.edges)].tolist()
        found += [Statistic(SHARE, value, reach=every.reach_of(value)) for value in finite]
    elif not math.isnan(every.mode):
        found.append(Statistic(SHARE, every.mode, reach=of.reach))
    if not of.has_few_values:
        found += [Statistic(BELOW, level=level) for level in range(len(LEVELS))]
    if of.is_float:
        found.append(Statistic(INFINITE, math.inf))
        found.append(Statistic(INFINITE, -math.inf))
        found.append(Statistic(NOT_A_NUMBER))
    found.append(Statistic(SIZE))
    found.append(Statistic(SHAPE))
    return found


def _bins(taken: Floats, every: Column) -> Floats:
    """The edges of the bars of a picture; of few values, one bar for each, and one for others."""
    if every.is_few:
        return np.arange(len(every.edges) + 2, dtype=np.float64) - 0.5
    finite = taken[np.isfinite(taken)]
    lowest, highest = np.quantile(finite, _OUTER).tolist()
    margin = (highest - lowest) / 20
    if margin == 0:
        margin = 0.5
    return np.linspace(lowest - margin, highest + margin, _BINS + 1)
