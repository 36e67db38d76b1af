"""The smallest differences that so many runs show, and what they cannot judge."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law import least
from onnx_philox._command.compare.law.bounds import Floats
from onnx_philox._command.compare.law.first_runs import Column
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.statistics import Family
from onnx_philox._command.compare.law.watched import BELOW, MEAN, SHARE, SPREAD, Watched
from onnx_philox._command.wanted import MOST_RUNS_OF_A_LAW

_GRID = 1024
"""At so many quantiles the values of an element are read to find what they could correlate by."""


_USEFUL_SHIFT = 1.0
_USEFUL_SHARE = 0.5


@dataclass(frozen=True)
class Least:
    """The smallest differences of an output that are seen in nine of ten tries; None of none."""

    output: str
    shift: float | None
    """Of its mean, in standard deviations."""
    scale: float | None
    """Of its spread: a factor."""
    share: float | None
    """Of the share of a value in the whole output, or of what lies below one."""
    share_of_one: float | None
    """The same of one element alone."""
    is_few: bool
    """Whether each value has a share of its own; else shares are of what lies below quantiles."""
    is_constant: bool
    """Whether it was one and the same in all runs of both models."""

    @property
    def is_useful(self) -> bool:
        """Whether a difference is seen of which anybody would say that it is not small.

        That is a shift of at most 1 standard deviation, or a share that is off by 0.5 at most. An
        output that never varies has none.
        """
        if self.is_constant:
            return True
        if self.shift is not None and self.shift <= _USEFUL_SHIFT:
            return True
        shares = [share for share in (self.share, self.share_of_one) if share is not None]
        return any(share <= _USEFUL_SHARE for share in shares)


def of_output(output: Watched, look: Verdicts) -> Least:
    """Those of an output, for the variances and the shares that are there."""
    return Least(
        output.name,
        shift=_least_shift(output, look),
        scale=_least_scale(output, look),
        share=_least_share(output, look),
        share_of_one=_least_share_of_one(output, look),
        is_few=output.has_few_values,
        is_constant=output.is_still and output.always_repeats,
    )


def _place_of(output: Watched, kind: str) -> int | None:
    """Which statistic of a whole output is of a kind, if it varies; else None.

    Where a statistic does not vary, there is nothing to measure a difference by.
    """
    squares = output.whole.squares()
    for place, each in enumerate(output.statistics):
        if each.kind == kind and squares[place] > 0:
            return place
    return None


def _least_shift(output: Watched, look: Verdicts) -> float | None:
    place = _place_of(output, MEAN)
    if place is None:
        return None
    square = output.whole.squares()[place]
    return _known(least.least_shift(square, output.whole.runs, look.needed[Family.WHOLE]))


def _least_scale(output: Watched, look: Verdicts) -> float | None:
    place = _place_of(output, SPREAD)
    if place is None:
        return None
    square = output.whole.squares()[place]
    moment = _mean_square(output, place)
    found = least.least_scale(square, moment, output.whole.runs, look.needed[Family.WHOLE])
    return _known(found)


def _mean_square(output: Watched, place: int) -> Floats:
    """Of the deviations of an output in both models, by the place of that statistic."""
    whole = output.whole
    in_both = whole.was[place] + whole.now[place]
    return np.asarray(in_both / (2 * whole.runs))


def _least_share(output: Watched, look: Verdicts) -> float | None:
    whole = output.whole
    of_shares = [each.kind in (SHARE, BELOW) for each in output.statistics]
    is_share = np.array(of_shares, bool)
    in_both = (whole.was + whole.now)[is_share]
    shares = in_both / (2 * whole.runs)
    squares = whole.squares()[is_share]
    return _most(least.least_share(shares, squares, whole.runs, look.needed[Family.WHOLE]))


def _least_share_of_one(output: Watched, look: Verdicts) -> float | None:
    elements = output.elements
    runs = output.whole.runs
    in_both = (elements.was + elements.now)[elements.has_test]
    shares = in_both / (2 * runs)
    squares = 2 * shares * (1 - shares)
    return _most(least.least_share(shares, squares, runs, look.needed[Family.ELEMENT]))


def _most(found: Floats) -> float | None:
    """The largest; None of none, and where one is not seen at all."""
    return _known(found.max()) if found.size else None


def _known(value: float | Floats) -> float | None:
    return float(value) if math.isfinite(value) else None


def _largest(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known, default=None)


def largest_correlations(runs: PairedRuns) -> Floats:
    """By how much the ranks of two columns can correlate at most, for the shares that are there.

    Of a value with a share of 0.01 and a continuous one it is 0.17: rising values that go together
    as far as they can (Hoeffding's and Frechet's bounds). Means of outputs are not looked at: 1.
    """
    of_elements = np.concatenate([_rank_quantiles(output) for output in runs.outputs])
    centred = of_elements - of_elements.mean(axis=1, keepdims=True)
    variances = np.square(centred).mean(axis=1, keepdims=True)
    sizes = np.sqrt(variances)
    # A value that is rarer than the grid is fine has no size, and goes with nothing.
    scaled = np.divide(centred, sizes, where=sizes > 0, out=np.zeros_like(centred))
    rising = scaled @ scaled.T / _GRID
    falling = scaled @ scaled[:, ::-1].T / _GRID
    elements = len(of_elements)
    columns = len(runs.together.owners)
    found = np.ones((columns, columns))
    together = np.abs(rising)
    against = np.abs(falling)
    found[:elements, :elements] = np.maximum(together, against)
    return found


def _rank_quantiles(output: Watched) -> Floats:
    """The ranks of each element's values in rising order, at evenly spaced quantiles."""
    elements = output.elements
    shares = (elements.was + elements.now) / (2 * output.whole.runs)
    quantiles = (np.arange(_GRID) + 0.5) / _GRID
    found = []
    for column, of_tests in zip(elements.columns, shares, strict=True):
        of_classes = _shares_of_classes(column, of_tests[: column.tests])
        order = np.argsort(column.ranks, kind="stable")
        up_to = np.cumsum(of_classes[order])
        which = np.searchsorted(up_to, quantiles)
        # What float64 rounds may leave the last class below 1.
        which = np.minimum(which, len(order) - 1)
        found.append(column.ranks[order][which])
    return np.array(found)


def _shares_of_classes(column: Column, of_tests: Floats) -> Floats:
    if column.is_few:
        others = 1 - of_tests.sum()
        return np.append(of_tests, others)
    # What lies below the edges, one within the other.
    return np.diff(of_tests, prepend=0, append=1)


class Correlations:
    """The smallest correlation of each pair of elements that so many runs show.

    Args:
        runs: The runs.
        needed: The exponent that a test needs.
    """

    def __init__(self, runs: PairedRuns, needed: float) -> None:
        together = runs.together
        was_varies, now_varies = together.varies()
        varies = was_varies | now_varies
        is_judged = together.is_pair & varies[:, None] & varies
        # The means of whole outputs are compared, too, but are no values of theirs.
        is_judged &= ~(together.is_mean[:, None] | together.is_mean)
        ones, others = np.nonzero(is_judged)
        self._ones = ones
        self._others = others
        self._owners = together.owners
        kurtoses = np.sqrt(together.kurtoses())
        self._kurtosis = kurtoses[ones] * kurtoses[others]
        share = together.frequent_shares()
        one = share[ones]
        other = share[others]
        apart = one * (1 - other) + other * (1 - one)
        self._disagreement = np.where(together.has_modes[ones, others], apart, 0)
        self._largest = largest_correlations(runs)[ones, others]
        self._needed = needed
        found = least.least_correlation(self._kurtosis, self._disagreement, runs.runs, needed)
        can_be = found <= self._largest
        self._found = np.where(can_be, found, math.inf)
        self._of_pairs = np.full(is_judged.shape, math.inf)
        self._of_pairs[ones, others] = self._found

    def of(self, one: int, other: int) -> float:
        """That of two columns; infinite where none is seen, and of means."""
        return float(self._of_pairs[one, other])

    def largest(self) -> float | None:
        """That of the pair of which a correlation must be largest; None where none is seen."""
        is_seen = np.isfinite(self._found)
        return float(self._found[is_seen].max()) if is_seen.any() else None

    def unseen(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        """The pairs of which no correlation is seen, by the numbers of their outputs."""
        found: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
        for pair in np.flatnonzero(np.isinf(self._found)).tolist():
            one = int(self._owners[self._ones[pair]])
            other = int(self._owners[self._others[pair]])
            found[one, other].append(pair)
        return {outputs: np.array(pairs) for outputs, pairs in found.items()}

    def are_seen(self, pairs: NDArray[np.intp], runs: int) -> bool:
        """Whether so many runs show of each of these pairs the largest correlation it can have."""
        is_seen = least.is_correlation_seen(
            self._largest[pairs],
            self._kurtosis[pairs],
            self._disagreement[pairs],
            runs,
            self._needed,
        )
        return bool(is_seen.all())


def _unknown_event(output: Watched, first: int) -> str:
    """That an element has no known value, in words."""
    is_new = f"it has a value that its first {first} runs had not"
    has_all = all(side.shape is not None for side in output.sides)
    return is_new if has_all else f"it is too short for an element, or {is_new}"


class Shown:
    """What so many runs show.

    Args:
        runs: The runs.
        look: What a test of each family needs.
    """

    def __init__(self, runs: PairedRuns, look: Verdicts) -> None:
        self._runs = runs
        self._look = look
        self.outputs = [of_output(each, look) for each in runs.outputs]
        self._correlations = Correlations(runs, look.needed[Family.TOGETHER])
        self.correlation = self._correlations.largest()
        """The largest of all pairs that are judged; None without any."""
        self.shift = _largest(each.shift for each in self.outputs)
        self.scale = _largest(each.scale for each in self.outputs)
        self.share = _largest(each.share for each in self.outputs)
        self.share_of_one = _largest(each.share_of_one for each in self.outputs)
        few = [each for each in self.outputs if each.is_few]
        others = [each for each in self.outputs if not each.is_few]
        self.share_of_values = _largest(each.share for each in few)
        self.share_below = _largest(each.share for each in others)
        self.element = _largest(each.share_of_one for each in few)
        """Of the share of an element alone."""
        self.element_below = _largest(each.share_of_one for each in others)
        """Of what lies below a quantile of an element."""

    def correlation_of(self, one: int, other: int) -> float:
        """The smallest correlation that is seen of two columns; infinite where none is."""
        return self._correlations.of(one, other)

    def not_judged(self) -> list[str]:
        """What the tests could not judge, a sentence each; and how many runs would be enough."""
        return [*self._still(), *self._wide(), *self._unknown(), *self._rare()]

    def _still(self) -> Iterator[str]:
        for output in self._runs.outputs:
            if output.is_still and output.always_repeats:
                yield f"{output.name!r} is the same in each run of both"
                continue
            if output.is_still:
                yield f"{output.name!r} is in each run of one model what it is in the other's"
                continue
            has_parted = (output.elements.more + output.elements.fewer).any(axis=1)
            still = int((~has_parted).sum())
            if still:
                verb = "is" if still == 1 else "are"
                of = f"{still} of {len(output.places)} values of {output.name!r}"
                yield f"{of} {verb} the same in each run of both"

    def _wide(self) -> Iterator[str]:
        """Outputs of which no scale is seen, since few values decide how far all lie out."""
        needed = self._look.needed[Family.WHOLE]
        for output, shown in zip(self._runs.outputs, self.outputs, strict=True):
            place = _place_of(output, SPREAD)
            if place is None or shown.scale is not None:
                continue
            square = output.whole.squares()[place]
            moment = _mean_square(output, place)

            def is_seen(runs: int, square: Floats = square, moment: Floats = moment) -> bool:
                largest = np.array(least.LARGEST_SCALE)
                return bool(least.is_scale_seen(largest, square, moment, runs, needed))

            enough = self._enough(is_seen)
            yield f"the scale of {output.name!r}: its values lie too far out {enough}"

    def _unknown(self) -> Iterator[str]:
        """Integers of few values, of which some came that the first runs had not."""
        for output in self._runs.outputs:
            elements = output.elements
            # Of floats NaN is among the others, and has a test of its own.
            if output.is_bool or output.is_float or not elements.is_few.any():
                continue
            known = (elements.was + elements.now)[elements.is_few].sum(axis=1)
            share = 1 - float(known.min()) / (2 * output.whole.runs)
            if share > 0:
                first = self._runs.first
                yield (
                    f"what {output.name!r} is where {_unknown_event(output, first)}: one of its "
                    f"elements in {share:.1%} of all runs"
                )

    def _rare(self) -> Iterator[str]:
        """Pairs of values of which no correlation is seen."""
        for (one, other), pairs in self._correlations.unseen().items():
            which = repr(self._runs.outputs[one].name)
            if one != other:
                which += f" and {self._runs.outputs[other].name!r}"
            count = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"

            def is_seen(runs: int, pairs: NDArray[np.intp] = pairs) -> bool:
                return self._correlations.are_seen(pairs, runs)

            enough = self._enough(is_seen)
            yield f"whether {count} of values of {which} go together: too rare {enough}"

    def _enough(self, is_seen: Callable[[int], bool]) -> str:
        """That so many runs are too few, and how many are enough."""
        few = self._runs.runs
        found = least.enough_runs(is_seen, few, MOST_RUNS_OF_A_LAW)
        if found is None:
            return f"in {few} runs, and in {max(few, MOST_RUNS_OF_A_LAW)}"
        return f"in {few} runs; about {found} are enough"
