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
from onnx_philox._command.compare.law.statistics import SHARES, Family, Paired, Together
from onnx_philox._command.compare.law.watched import Block, Watched

_BLOCK = 250
"""Pairs of runs that are counted together; the first ones are the reference."""
_BLOCK_ELEMENTS = 2**22
_LEAST_BLOCK = 4
_MOST = 64
"""So many elements of an output are looked at."""
_MOST_IN_ALL = 512
"""And of all outputs together."""
_MOST_PAIRS = 64
"""So many pairs of outputs of one shape are compared at all their places; neighbours first."""


@dataclass(frozen=True)
class AtPlaces:
    """A statistic of the equal places of two outputs."""

    outputs: tuple[int, int]
    """Their numbers."""
    is_agreement: bool
    """Whether it says how often both have their frequent value; else it is the mean product."""


@dataclass(frozen=True)
class Verdicts:
    """Which tests say that two laws differ."""

    needed: dict[Family, float]
    """The exponent that a test of each family needs."""
    strengths: list[Floats]
    """The bound of each output's statistics."""
    whole: list[NDArray[np.bool_]]
    """Of each output, each statistic."""
    elements: list[NDArray[np.bool_]]
    """Of each output, each element and test."""
    repeats: list[bool]
    is_inverted: list[bool]
    """Of each output, whether no test says that it is not the original's with 0 and 1 swapped."""
    together: NDArray[np.bool_]
    places: NDArray[np.bool_]

    @property
    def is_any(self) -> bool:
        """Whether anything differs."""
        if any(each.any() for each in self.whole):
            return True
        if any(each.any() for each in self.elements):
            return True
        if any(self.repeats):
            return True
        return bool(self.together.any() or self.places.any())


class PairedRuns:
    """All runs of two models.

    Args:
        first: Each output in the original's first run, by its name.
        by: A float so near to a frequent value counts as it.
    """

    def __init__(self, first: dict[str, NDArray[Any]], by: Tolerances) -> None:
        self._first = first
        self._by = by
        most = min(_MOST, max(_MOST_IN_ALL // len(first), 1))
        self.outputs = [Watched(name, array, most, by) for name, array in first.items()]
        size = sum(output.size for output in self.outputs)
        self._block = min(_BLOCK, max(_BLOCK_ELEMENTS // size, _LEAST_BLOCK))
        self.runs = 0
        """Those that are counted."""
        self.waiting = 0
        """Those that are not yet."""
        self._pairs = _neighbours(self.outputs)
        self.at_places: list[AtPlaces] = []
        self.places = Paired(0)
        """Their sums and differences."""
        self.together: Together
        self._is_begun = False

    def add(self, was: Sequence[NDArray[Any]], now: Sequence[NDArray[Any]]) -> None:
        """Takes a run of the original and one of the model: their outputs in order."""
        for output, old, new in zip(self.outputs, was, now, strict=True):
            of_original, of_model = output.sides
            of_original.gathered.append(old)
            of_model.gathered.append(new)
        self.waiting += 1
        if self.waiting == self._block:
            self.count()

    def rehearsal(self) -> PairedRuns:
        """The same runs that wait, of which none is counted yet."""
        again = PairedRuns(self._first, self._by)
        again.waiting = self.waiting
        for output, own in zip(again.outputs, self.outputs, strict=True):
            for side, own_side in zip(output.sides, own.sides, strict=True):
                side.gathered = [*own_side.gathered]
        return again

    def count(self) -> None:
        """Counts the runs that wait."""
        if not self.waiting:
            return
        taken = [output.take() for output in self.outputs]
        self.runs += self.waiting
        self.waiting = 0
        if not self._is_begun:
            for output, (was, now) in zip(self.outputs, taken, strict=True):
                output.begin(was, now)
            self._begin()
        olds: list[Block] = []
        news: list[Block] = []
        for output, (was, now) in zip(self.outputs, taken, strict=True):
            old, new = output.add(was, now)
            olds.append(old)
            news.append(new)
        old_ranks, old_signs = self._columns(olds)
        new_ranks, new_signs = self._columns(news)
        self.together.add(ranks=(old_ranks, new_ranks), signs=(old_signs, new_signs))
        if self.at_places:
            self.places.add(self._at_places(olds), self._at_places(news))

    @property
    def first(self) -> int:
        """How many runs of each model say by what the others are measured."""
        return min(self._block, self.runs)

    def _begin(self) -> None:
        self._is_begun = True
        counts = [len(output.places) for output in self.outputs]
        numbers = np.arange(len(self.outputs))
        is_mean = np.repeat([False, True], [sum(counts), len(self.outputs)])
        owners = np.concatenate([np.repeat(numbers, counts), numbers])
        self.together = Together(is_mean, owners)
        for pair in self._pairs:
            self.at_places.append(AtPlaces(pair, is_agreement=False))
            have_modes = all(not math.isnan(self.outputs[i].mode) for i in pair)
            if have_modes:
                self.at_places.append(AtPlaces(pair, is_agreement=True))
        self.places = Paired(len(self.at_places))

    def _columns(self, blocks: list[Block]) -> tuple[Floats, Floats]:
        """Ranks and signs of all elements, then of the means of the outputs."""
        ranks: list[Floats] = []
        signs: list[Floats] = []
        of_means: list[Floats] = []
        signs_of_means: list[Floats] = []
        for output, block in zip(self.outputs, blocks, strict=True):
            ranks.append(output.elements.ranks(block.sorted_into))
            signs.append(output.elements.signs(block.moved))
            mean_ranks, mean_signs = output.mean_ranks(block)
            of_means.append(mean_ranks)
            signs_of_means.append(mean_signs)
        all_ranks = np.concatenate(ranks + of_means, axis=1)
        all_signs = np.concatenate(signs + signs_of_means, axis=1)
        return all_ranks, all_signs

    def _at_places(self, blocks: list[Block]) -> list[Floats]:
        """The statistics of equal places in each run."""
        found = []
        for each in self.at_places:
            one, other = each.outputs
            if each.is_agreement:
                is_frequent = self.outputs[one].is_frequent(blocks[one])
                is_other_frequent = self.outputs[other].is_frequent(blocks[other])
                found.append(statistics.agreements(is_frequent, is_other_frequent))
            else:
                deviations = blocks[one].deviations
                found.append(statistics.products(deviations, blocks[other].deviations))
        return found

    def tests(self, family: Family) -> int:
        """How many tests there are of a family."""
        if family is Family.WHOLE:
            # And whether a run repeats the one before it.
            return sum(len(output.statistics) + 1 for output in self.outputs)
        if family is Family.ELEMENT:
            return sum(output.elements.tests for output in self.outputs)
        if family is Family.TOGETHER:
            return self.together.tests
        return len(self.at_places)

    def needed(self, family: Family, error: float) -> float:
        """The exponent that a test of a family needs, where all tests together err with this."""
        return bounds.needed(error * SHARES[family], self.tests(family))

    def look(self, error: float) -> Verdicts:
        """What differs, where all tests together err with this."""
        self.count()
        needed = {family: self.needed(family, error) for family in Family}
        of_whole = needed[Family.WHOLE]
        of_element = needed[Family.ELEMENT]
        of_places = needed[Family.PLACES]
        strengths = [output.whole.exponents(of_whole) for output in self.outputs]
        return Verdicts(
            needed=needed,
            strengths=strengths,
            whole=[each >= of_whole for each in strengths],
            elements=[each.elements.exponents() >= of_element for each in self.outputs],
            repeats=[each.repeat_exponent() >= of_whole for each in self.outputs],
            is_inverted=[each.may_be_inverted(of_whole, of_element) for each in self.outputs],
            together=self.together.exponents() >= needed[Family.TOGETHER],
            places=self.places.exponents(of_places) >= of_places,
        )


def _neighbours(outputs: Sequence[Watched]) -> list[tuple[int, int]]:
    """Pairs of outputs of one shape, neighbours first."""
    found = []
    for step in range(1, len(outputs)):
        for one in range(len(outputs) - step):
            other = one + step
            if outputs[one].shape == outputs[other].shape:
                found.append((one, other))
    return found[:_MOST_PAIRS]
