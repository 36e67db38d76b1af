"""The smallest differences that so many runs show, and what they cannot judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onnx_philox._command.compare.law import bounds
from onnx_philox._command.compare.law.bounds import Floats
from onnx_philox._command.compare.law.runs import (
    BELOW,
    MEAN,
    SHARE,
    SPREAD,
    PairedRuns,
    Verdicts,
    Watched,
)
from onnx_philox._command.compare.law.statistics import Family


@dataclass(frozen=True)
class Least:
    """The smallest differences of an output that are seen in nine of ten tries; None of none."""

    output: str
    shift: float | None
    """Of its mean, in standard deviations."""
    scale: float | None
    """Of its spread: a factor."""
    share: float | None
    """Of the share of a value, or of what lies below one."""
    is_few: bool
    """Whether each value has a share of its own; else shares are of what lies below quantiles."""


def of_output(output: Watched, runs: int, needed: float) -> Least:
    """Those of an output, for the variances and the shares that are there."""
    squares, found = output.whole.squares(), {MEAN: math.nan, SPREAD: math.nan}
    is_share = np.array([each.kind in (SHARE, BELOW) for each in output.statistics], bool)
    for i, each in enumerate(output.statistics):
        # Where a statistic does not vary, there is nothing to measure a difference by.
        if each.kind == MEAN and squares[i] > 0:
            found[MEAN] = float(bounds.least_shift(squares[i], runs, needed))
        elif each.kind == SPREAD and squares[i] > 0:
            moment = (output.whole.was[i] + output.whole.now[i]) / (2 * runs)
            found[SPREAD] = float(bounds.least_scale(squares[i], moment, runs, needed))
    pooled = (output.whole.was + output.whole.now)[is_share] / (2 * runs)
    of_shares = bounds.least_share(pooled, squares[is_share], runs, needed)
    shift = _known(found[MEAN])
    scale = _known(found[SPREAD])
    return Least(output.name, shift, scale, _most(of_shares), _has_few_values(output))


def of_elements_of(output: Watched, runs: int, look: Verdicts) -> float | None:
    """The smallest difference that is seen of a share of one element; None of none."""
    elements = output.elements
    share = ((elements.was + elements.now) / (2 * runs))[elements.has_test]
    squares = 2 * share * (1 - share)
    found = bounds.least_share(share, squares, runs, look.needed[Family.ELEMENT])
    return _most(found)


def _has_few_values(output: Watched) -> bool:
    return bool(output.elements.is_few.all())


def _most(found: Floats) -> float | None:
    """The largest; None of none, and where one is not seen at all."""
    return _known(float(found.max())) if found.size else None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


_GRID = 4096
"""At so many quantiles the values of an element are read to find what they could correlate by."""


def largest_correlations(runs: PairedRuns) -> Floats:
    """By how much the ranks of two columns can correlate at most, for the shares that are there.

    Of a value with a share of 0.01 and a continuous one it is 0.17: rising values that go together
    as far as they can (Hoeffding's and Frechet's bounds). Means of outputs are not looked at: 1.
    """
    of_elements = np.concatenate([_rank_quantiles(output) for output in runs.outputs])
    centred = of_elements - of_elements.mean(axis=1, keepdims=True)
    sizes = np.sqrt(np.square(centred).mean(axis=1))
    # A value that is rarer than the grid is fine has no size, and goes with nothing.
    scaled = np.divide(
        centred, sizes[:, None], where=sizes[:, None] > 0, out=np.zeros_like(centred)
    )
    rising = scaled @ scaled.T / _GRID
    falling = scaled @ scaled[:, ::-1].T / _GRID
    count = len(runs.together.owners)
    found = np.ones((count, count))
    elements = len(of_elements)
    found[:elements, :elements] = np.maximum(np.abs(rising), np.abs(falling))
    return found


def _rank_quantiles(output: Watched) -> Floats:
    """The ranks of each element's values in rising order, at evenly spaced quantiles."""
    elements = output.elements
    counted = elements.was + elements.now
    quantiles = (np.arange(_GRID) + 0.5) / _GRID
    found = []
    for column, counts in zip(elements.columns, counted, strict=True):
        of_tests = counts[: column.tests] / (2 * output.whole.runs)
        if column.is_few:
            shares = np.append(of_tests, 1 - of_tests.sum())
        else:
            # What lies below the edges, one within the other.
            shares = np.diff(of_tests, prepend=0, append=1)
        order = np.argsort(column.ranks, kind="stable")
        below = np.cumsum(shares[order])
        which = np.minimum(np.searchsorted(below, quantiles), len(order) - 1)
        found.append(column.ranks[order][which])
    return np.array(found)


class Shown:
    """What so many runs show.

    Args:
        runs: The runs.
        look: What a test of each family needs.
    """

    def __init__(self, runs: PairedRuns, look: Verdicts) -> None:
        needed = look.needed[Family.WHOLE]
        self.outputs = [of_output(each, runs.runs, needed) for each in runs.outputs]
        self._runs = runs
        of_pairs = runs.together.least(look.needed[Family.TOGETHER])
        can_be = of_pairs <= largest_correlations(runs)
        self._of_pairs = np.where(can_be, of_pairs, math.inf)
        varies = np.logical_or(*runs.together.varies())
        self._is_judged = runs.together.is_pair & varies[:, None] & varies
        # The means of whole outputs are compared, too, but are no values of theirs.
        self._is_judged &= ~(runs.together.is_mean[:, None] | runs.together.is_mean)
        found = self._of_pairs[self._is_judged & np.isfinite(self._of_pairs)]
        self.correlation = float(found.max()) if len(found) else None
        """The largest of all pairs that are judged; None without any."""
        self.shift = _largest(each.shift for each in self.outputs)
        self.scale = _largest(each.scale for each in self.outputs)
        self.share = _largest(each.share for each in self.outputs)
        self.share_of_values = _largest(each.share for each in self.outputs if each.is_few)
        self.share_below = _largest(each.share for each in self.outputs if not each.is_few)
        few = [each for each in runs.outputs if _has_few_values(each)]
        others = [each for each in runs.outputs if not _has_few_values(each)]
        self.element = _largest(of_elements_of(each, runs.runs, look) for each in few)
        """Of the share of an element alone."""
        self.element_below = _largest(of_elements_of(each, runs.runs, look) for each in others)
        """Of what lies below a quantile of an element."""

    def correlation_of(self, one: int, other: int) -> float:
        """The smallest correlation that is seen of two columns; infinite where none is."""
        return float(self._of_pairs[one, other])

    def not_judged(self) -> list[str]:
        """What the tests could not judge, a sentence each."""
        said = [*self._still(), *self._wide(), *self._unknown()]
        owners = self._runs.together.owners
        blind = self._is_judged & ~np.isfinite(self._of_pairs)
        counts: dict[tuple[int, int], int] = {}
        for one, other in np.argwhere(blind):
            pair = int(owners[one]), int(owners[other])
            counts[pair] = counts.get(pair, 0) + 1
        for (one, other), count in counts.items():
            names = self._runs.outputs[one].name, self._runs.outputs[other].name
            which = f"{names[0]!r}" if one == other else f"{names[0]!r} and {names[1]!r}"
            pairs = "1 pair of values" if count == 1 else f"{count} pairs of values"
            said.append(f"whether {pairs} of {which} go together: too rare in so many runs")
        return said

    def _still(self) -> Iterator[str]:
        for output in self._runs.outputs:
            if output.is_still and all(output.always_repeats):
                yield f"{output.name!r} is the same in each run of both"
                continue
            if output.is_still:
                yield f"{output.name!r} is in each run of one model what it is in the other's"
                continue
            elements = output.elements
            still = int((~(elements.more + elements.fewer).any(axis=1)).sum())
            if still:
                of = f"{still} of {len(output.places)} values of {output.name!r}"
                yield f"{of} {'is' if still == 1 else 'are'} the same in each run of both"

    def _wide(self) -> Iterator[str]:
        for output, least in zip(self._runs.outputs, self.outputs, strict=True):
            has_spread = SPREAD in [each.kind for each in output.statistics]
            if least.scale is None and has_spread and not output.is_still:
                yield f"the scale of {output.name!r}: its values lie too far out for so many runs"

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
                yield (
                    f"which values {output.name!r} has that the first runs had not, in up to "
                    f"{share:.2g} of the runs"
                )


def _largest(values: Iterator[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
