"""The runs of both models: gathered in blocks, counted, and judged at a look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law import bounds, statistics
from onnx_philox._command.compare.law.bounds import Floats
from onnx_philox._command.compare.law.reference import (
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
from onnx_philox._command.compare.law.statistics import (
    SHARES,
    Elements,
    Family,
    Paired,
    Together,
)

_BLOCK = 250
"""Pairs of runs that are counted together; the first ones are the reference."""
_BLOCK_ELEMENTS = 2**22
_LEAST_BLOCK = 4
_MOST, _MOST_IN_ALL = 64, 512
"""So many elements of an output are looked at, and of all outputs together."""
_MOST_PAIRS = 64
"""So many pairs of outputs of one shape are compared at all their places; neighbours first."""
_BINS = 40


@dataclass(frozen=True)
class Statistic:
    """One of a whole output."""

    kind: str
    """One of those below."""
    value: float = math.nan
    """Whose share it is."""
    level: int = 0
    """Which quantile's share of what lies below it."""
    reach: float = 0.0


MEAN, SPREAD, SHARE, BELOW = "mean", "spread", "share", "below"
INFINITE, NOT_A_NUMBER, SIZE = "infinite", "not a number", "size"


@dataclass
class Block:
    """A block of runs of an output in one model."""

    values: Values
    sizes: Floats
    """How many elements each run has, of those of the first one."""
    deviations: Values
    moved: Floats
    """Of the elements that are looked at."""
    sorted_into: NDArray[np.intp]


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

    def __init__(self, name: str, first: NDArray[Any], most: int, by: Tolerances) -> None:
        self.name, self.type, self.shape = name, first.dtype, first.shape
        # An output without elements has one, which is no number.
        self.size = max(int(first.size), 1)
        self.places = spread(first.shape, most) or [(0,) * first.ndim]
        strides = [math.prod(first.shape[axis + 1 :]) for axis in range(first.ndim)]
        places = np.array(self.places, np.intp).reshape(len(self.places), first.ndim)
        self._at = places @ np.array(strides, np.intp)
        self._by = by
        self.is_float = first.dtype.kind not in "biu"
        self.is_bool = first.dtype.kind == "b"
        self.gathered: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
        self._last: list[NDArray[Any] | None] = [None, None]
        self._runs = 0
        self.always_repeats = [True, True]
        """Whether each run of a model was the one before it, but for how threads round."""
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

    def begin(self, was: Values, now: Values) -> None:
        """Takes what is measured by from the first runs, pooled."""
        pooled = np.concatenate([was, now])
        self.measure = Measure.of(pooled, self._by)
        taken = np.asarray(pooled[:, self._at], np.float64)
        kinds = {"is_float": self.is_float, "is_bool": self.is_bool}
        self.elements = Elements([Column.of(each, self._by, **kinds) for each in taken.T])
        of_means = Column.of(_means(pooled), self._by, is_float=True, is_bool=False)
        self.mean_column = Elements([of_means])
        self.every = every = Column.of(taken.reshape(-1), self._by, **kinds)
        self.mode, self.reach = every.mode, every.reach_of(every.mode)
        self.statistics = [*_statistics(self, every)]
        self.whole = Paired(len(self.statistics))
        self.bins = _bins(taken, every)
        self.heights = np.zeros((2, len(self.bins) - 1))
        self.first_run = was[0, self._at], now[0, self._at]
        """What the elements were in the first run of each."""

    def take(self) -> tuple[Values, Values]:
        """The runs that were gathered, each a row; and counts those that repeat one another."""
        flags = []
        found: list[Values] = []
        sizes: list[Floats] = []
        for side, arrays in enumerate(self.gathered):
            is_same = repeats(arrays, self._last[side])
            known = is_same[1:] if self._last[side] is None else is_same
            if self.always_repeats[side] and not known.all():
                before = self._last[side]
                arrays_in_order = arrays if before is None else [before, *arrays]
                self.always_repeats[side] = are_rounded(arrays_in_order)
            self._last[side] = arrays[-1]
            flags.append(is_same)
            found.append(rows(arrays, self.size))
            sizes.append(np.array([array.size for array in arrays]) / self.size)
            arrays.clear()
        # A run is in one pair of neighbours alone, so that pairs are independent.
        second = np.arange(self._runs, self._runs + len(flags[0])) % 2 == 1
        was, now = (each[second] for each in flags)
        self.pairs += len(was)
        in_each = [was.sum(), now.sum()]
        in_one_alone = [(was & ~now).sum(), (now & ~was).sum()]
        self.repeating += [in_each, in_one_alone]
        self._runs += len(flags[0])
        self._sizes = sizes
        return found[0], found[1]

    def add(self, was: Values, now: Values) -> tuple[Block, Block]:
        """Counts a block of runs."""
        both = self._block(was, self._sizes[0]), self._block(now, self._sizes[1])
        for side, block in enumerate(both):
            self.sums[side] += block.deviations.sum(0, dtype=np.float64)
            self.squares[side] += np.square(block.deviations).sum(0, dtype=np.float64)
            self.raw[side] += _means(block.values).sum()
            self.heights[side] += self._heights(block)
        self.elements.add(both[0].sorted_into, both[1].sorted_into)
        values = [[self._value(each, block) for each in self.statistics] for block in both]
        self.whole.add(*values)
        return both

    def _block(self, values: Values, sizes: Floats) -> Block:
        moved = self.elements.moved(np.asarray(values[:, self._at], np.float64))
        sorted_into = self.elements.sort(moved)
        return Block(values, sizes, self.measure.standardised(values), moved, sorted_into)

    def _heights(self, block: Block) -> NDArray[np.intp]:
        """How many of the elements' values are in each bar of a picture."""
        every = self.every
        if every.is_few:
            moved = near(block.moved, every.known, every.reach)
            inside = classes(moved, every.edges, is_few=True)
        else:
            finite = block.moved[np.isfinite(block.moved)]
            inside = np.clip(finite, self.bins[0], self.bins[-1])
        return np.histogram(inside, self.bins)[0]

    def _value(self, which: Statistic, block: Block) -> Floats:
        match which.kind:
            case "mean":
                return statistics.means(block.deviations)
            case "spread":
                return statistics.spreads(block.deviations)
            case "share":
                return statistics.shares(block.values, which.value, which.reach)
            case "below":
                continuous = block.sorted_into[:, ~self.elements.is_few]
                return statistics.below(continuous, which.level)
            case "infinite":
                return statistics.shares(block.values, which.value, 0)
            case "not a number":
                return statistics.not_numbers(block.values)
            case _:
                return block.sizes

    def places_of(self, which: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Where in the whole output some of the elements are that are looked at."""
        return self._at[which]

    def is_frequent(self, block: Block) -> NDArray[np.bool_]:
        """Where the whole output has its most frequent value."""
        return are_near(block.values, self.mode, self.reach)

    def mean_ranks(self, block: Block) -> tuple[Floats, Floats]:
        """The ranks of the means of runs, and the signs of their frequent values."""
        moved = self.mean_column.moved(_means(block.values)[:, None])
        ranks = self.mean_column.ranks(self.mean_column.sort(moved))
        return ranks, self.mean_column.signs(moved)

    def repeat_exponent(self) -> float:
        """The bound of how often a run repeats the one before it: Chernoff's of counts."""
        more, fewer = self.repeating[1]
        return float(bounds.of_counts(np.array(more), np.array(fewer)))


def _means(values: Values) -> Floats:
    """The mean of what is finite in each run; 0 of nothing."""
    is_finite = np.isfinite(values)
    counts = np.maximum(is_finite.sum(axis=1), 1)
    # Divided before, so that the sum of large ones is finite.
    parts = np.where(is_finite, values, 0).astype(np.float64) / counts[:, None]
    return np.asarray(parts.sum(axis=1))


def _statistics(of: Watched, every: Column) -> list[Statistic]:
    """What is compared of a whole output."""
    found: list[Statistic] = []
    if not of.is_bool:
        found += [Statistic(MEAN), Statistic(SPREAD)]
    if every.is_few:
        for value in every.edges[np.isfinite(every.edges)].tolist():
            found.append(Statistic(SHARE, value, reach=every.reach_of(value)))
    elif not math.isnan(every.mode):
        found.append(Statistic(SHARE, every.mode, reach=of.reach))
    if not of.elements.is_few.all():
        found += [Statistic(BELOW, level=level) for level in range(len(LEVELS))]
    if of.is_float:
        found += [Statistic(INFINITE, math.inf), Statistic(INFINITE, -math.inf)]
        found.append(Statistic(NOT_A_NUMBER))
    found.append(Statistic(SIZE))
    return found


def _bins(taken: Floats, every: Column) -> Floats:
    """The edges of the bars of a picture; of few values, one bar for each, and one for others."""
    if every.is_few:
        return np.arange(len(every.edges) + 2, dtype=np.float64) - 0.5
    finite = taken[np.isfinite(taken)]
    low, high = (float(np.quantile(finite, level)) for level in (0.002, 0.998))
    margin = (high - low) / 20 or 0.5
    return np.linspace(low - margin, high + margin, _BINS + 1)


class PairedRuns:
    """All runs of two models.

    Args:
        first: Each output in the original's first run, by its name.
        by: A float so near to a frequent value counts as it.
    """

    def __init__(self, first: dict[str, NDArray[Any]], by: Tolerances) -> None:
        most = min(_MOST, max(_MOST_IN_ALL // len(first), 1))
        self.outputs = [Watched(name, array, most, by) for name, array in first.items()]
        size = max(sum(output.size for output in self.outputs), 1)
        self._block = min(_BLOCK, max(_BLOCK_ELEMENTS // size, _LEAST_BLOCK))
        self.runs = 0
        """Those that are counted."""
        self._waiting = 0
        self.places: Paired | None = None
        self._pairs = _neighbours(self.outputs)
        self.together: Together
        self._is_begun = False

    def add(self, was: Sequence[NDArray[Any]], now: Sequence[NDArray[Any]]) -> None:
        """Takes a run of the original and one of the model: their outputs in order."""
        for output, old, new in zip(self.outputs, was, now, strict=True):
            output.gathered[0].append(old)
            output.gathered[1].append(new)
        self._waiting += 1
        if self._waiting == self._block:
            self.count()

    def count(self) -> None:
        """Counts the runs that wait."""
        if not self._waiting:
            return
        taken = [output.take() for output in self.outputs]
        self.runs += self._waiting
        self._waiting = 0
        if not self._is_begun:
            for output, (was, now) in zip(self.outputs, taken, strict=True):
                output.begin(was, now)
            self._begin()
        blocks = [output.add(*each) for output, each in zip(self.outputs, taken, strict=True)]
        of_was, of_now = (self._columns([each[i] for each in blocks]) for i in (0, 1))
        self.together.add(ranks=(of_was[0], of_now[0]), signs=(of_was[1], of_now[1]))
        if self.places is not None:
            both = [self._at_places([each[i] for each in blocks]) for i in (0, 1)]
            self.places.add(*both)

    def _begin(self) -> None:
        self._is_begun = True
        counts = [len(output.places) for output in self.outputs]
        numbers = np.arange(len(self.outputs))
        is_mean = np.repeat([False, True], [sum(counts), len(self.outputs)])
        self.together = Together(is_mean, np.concatenate([np.repeat(numbers, counts), numbers]))
        count = sum(len(self._kinds(pair)) for pair in self._pairs)
        self.place_pairs = [pair for pair in self._pairs for _ in self._kinds(pair)]
        if count:
            self.places = Paired(count)

    def _columns(self, blocks: list[Block]) -> tuple[Floats, Floats]:
        """Ranks and signs of all elements, then of the means of the outputs."""
        pairs = [*zip(self.outputs, blocks, strict=True)]
        ranks = [output.elements.ranks(block.sorted_into) for output, block in pairs]
        signs = [output.elements.signs(block.moved) for output, block in pairs]
        means = [output.mean_ranks(block) for output, block in pairs]
        ranks += [each[0] for each in means]
        signs += [each[1] for each in means]
        return np.concatenate(ranks, axis=1), np.concatenate(signs, axis=1)

    def _kinds(self, pair: tuple[int, int]) -> tuple[str, ...]:
        has_modes = not any(math.isnan(self.outputs[i].mode) for i in pair)
        return ("products", "agreements") if has_modes else ("products",)

    def _at_places(self, blocks: list[Block]) -> list[Floats]:
        found = []
        for pair in self._pairs:
            one, other = (blocks[i] for i in pair)
            found.append(statistics.products(one.deviations, other.deviations))
            if "agreements" in self._kinds(pair):
                frequent = [self.outputs[i].is_frequent(blocks[i]) for i in pair]
                found.append(statistics.agreements(*frequent))
        return found

    def tests(self, family: Family) -> int:
        """How many tests there are of a family."""
        match family:
            case Family.WHOLE:
                return sum(len(output.statistics) + 1 for output in self.outputs)
            case Family.ELEMENT:
                return sum(output.elements.tests for output in self.outputs)
            case Family.TOGETHER:
                return self.together.tests
            case _:
                return len(self.place_pairs)

    def needed(self, family: Family, error: float) -> float:
        """The exponent that a test of a family needs, where all tests together err with this."""
        return bounds.needed(error * SHARES[family], self.tests(family))

    def look(self, error: float) -> Verdicts:
        """What differs, where all tests together err with this."""
        self.count()
        need = {family: self.needed(family, error) for family in Family}
        together = self.together.exponents() >= need[Family.TOGETHER]
        places = np.zeros(0, bool)
        if self.places is not None:
            places = self.places.exponents(need[Family.PLACES]) >= need[Family.PLACES]
        of_whole, of_element = need[Family.WHOLE], need[Family.ELEMENT]
        strengths = [output.whole.exponents(of_whole) for output in self.outputs]
        return Verdicts(
            needed=need,
            strengths=strengths,
            whole=[each >= of_whole for each in strengths],
            elements=[each.elements.exponents() >= of_element for each in self.outputs],
            repeats=[each.repeat_exponent() >= of_whole for each in self.outputs],
            together=together,
            places=places,
        )


@dataclass(frozen=True)
class Verdicts:
    """Which tests say that two laws differ."""

    needed: dict[Family, float]
    strengths: list[Floats]
    """The bound of each output's statistics."""
    whole: list[NDArray[np.bool_]]
    """Of each output, each statistic."""
    elements: list[NDArray[np.bool_]]
    """Of each output, each element and test."""
    repeats: list[bool]
    together: NDArray[np.bool_]
    places: NDArray[np.bool_]

    @property
    def is_any(self) -> bool:
        """Whether anything differs."""
        of_outputs = any(each.any() for each in (*self.whole, *self.elements))
        return bool(of_outputs or any(self.repeats) or self.together.any() or self.places.any())


def _neighbours(outputs: Sequence[Watched]) -> list[tuple[int, int]]:
    """Pairs of outputs of one shape, neighbours first."""
    found = [
        (i, i + step)
        for step in range(1, len(outputs))
        for i in range(len(outputs) - step)
        if outputs[i].shape == outputs[i + step].shape and outputs[i].size
    ]
    return found[:_MOST_PAIRS]
