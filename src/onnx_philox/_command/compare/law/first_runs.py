"""By what the values of an output are measured: the first runs of both models, pooled.

Everything here is taken from runs of which nobody knows any more whose they are, so it may be
looked at without any error: the bounds hold for it as for numbers that were fixed before.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.differences import Tolerances

Values = NDArray[np.floating]
Floats = NDArray[np.float64]

_MOST_VALUES = 16
"""Of values so few, each has a share of its own."""
_FREQUENT = 0.01
"""A value with this share is no accident of a continuous distribution."""
_MODE = 0.05
"""The most frequent value is looked at where it has this share."""
_PART = 1e-3
_REPEATED = 3
"""And in a few runs, it is one if it came so often."""
_BELOW_MEDIAN = [1 / 128, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8]
_ABOVE_MEDIAN = [1 - level for level in reversed(_BELOW_MEDIAN)]
LEVELS = np.array([*_BELOW_MEDIAN, 1 / 2, *_ABOVE_MEDIAN])
"""At these quantiles a distribution function is compared."""
_UNITS = 16 * float(np.finfo(np.float32).eps)
_SINGLE = np.dtype(np.float32).itemsize
_ROWS = 32
"""So many pooled runs say how far each element lies from its mean; fewer, how far all do."""


def spread(shape: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """At most so many places of a tensor, evenly in each dimension.

    Their numbers are powers of two, so that tensors of equally many rows share some.
    """
    largest = max(shape, default=0)
    each = 1
    while each < largest:
        places = math.prod(min(2 * each, size) for size in shape)
        if places > most:
            break
        each *= 2
    axes = []
    for size in shape:
        count = min(each, size)
        axes.append([i * size // count for i in range(count)])
    return list(itertools.product(*axes))


def reaches(known: Floats, values: Floats, by: Tolerances) -> Floats:
    """How near to each frequent value a float must be to count as it.

    Within tolerances, and no more than a small part of what the values vary by. Where there are no
    more than two values, within tolerances of each other, they are one value that was rounded.
    """
    # Nothing is near an infinity.
    is_finite = np.isfinite(known)
    sizes = np.where(is_finite, np.abs(known), 0.0)
    tolerated = by.atol + by.rtol * sizes
    within = np.where(is_finite, tolerated, 0.0)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return within
    lowest = finite.min()
    highest = finite.max()
    is_end = (finite == lowest) | (finite == highest)
    is_near = highest - lowest <= by.atol + by.rtol * abs(lowest)
    if is_end.all() and is_near:
        return within
    largest = max(abs(lowest), abs(highest))
    deviation = float((finite / largest).std() * largest)
    return np.minimum(within, _PART * deviation)


def frequent(values: Floats, by: Tolerances, *, is_float: bool) -> Floats:
    """The values that came often, the most frequent one first; of floats that are near one.

    An infinity is a value as any other; NaN is none.
    """
    numbers = values[~np.isnan(values)]
    distinct, counts = np.unique(numbers, return_counts=True)
    is_often = (counts >= _FREQUENT * len(values)) & (counts >= _REPEATED)
    often = distinct[is_often]
    order = np.argsort(-counts[is_often], kind="stable")
    found = often[order]
    if not is_float:
        return found
    kept: list[float] = []
    for value, reach in zip(found.tolist(), reaches(found, values, by), strict=True):
        is_known = any(abs(value - other) <= reach for other in kept)
        if not is_known:
            kept.append(value)
    return np.array(kept)


@dataclass(frozen=True)
class Column:
    """How the values of one element are put into classes.

    Where there are few, a class is a value, which may be an infinity, and the last one all others,
    NaN among them; else it is what lies between two neighbouring edges, and an edge belongs to the
    class below it.
    """

    edges: Floats
    """The values, or the edges in rising order."""
    is_few: bool
    known: Floats
    """The frequent values; a float within tolerances of one counts as it."""
    reach: Floats
    """How near that is."""
    ranks: Floats
    """The mean rank of each class, less the mean of all: between -1 and 1."""
    mode: float
    """The most frequent value; NaN where there is none."""

    @classmethod
    def of(
        cls,
        values: Floats,
        by: Tolerances,
        *,
        is_float: bool,
        is_bool: bool,
    ) -> Column:
        """That of the pooled values of an element."""
        known = frequent(values, by, is_float=is_float)
        reach = np.zeros(len(known))
        if is_float:
            reach = reaches(known, values, by)
        moved = near(values, known, reach)
        if is_bool:
            is_few = True
            edges = np.ones(1)
        else:
            distinct = np.unique(moved[~np.isnan(moved)])
            is_few = _are_few(distinct, known, is_float=is_float)
            edges = distinct if is_few else _quantiles(moved)
        sorted_into = classes(moved, edges, is_few=is_few)
        counts = np.bincount(sorted_into, minlength=len(edges) + 1)
        mode = math.nan
        if is_bool:
            mode = 1.0
        elif len(known) and (moved == known[0]).mean() >= _MODE:
            mode = float(known[0])
        ranks = _mean_ranks(counts)
        if is_bool:
            # False, the last class, is no value of its own: it lies below.
            from_below = _mean_ranks(counts[::-1])
            ranks = from_below[::-1]
        return cls(edges, is_few, known, reach, ranks, mode)

    def reach_of(self, value: float) -> float:
        """How near to a frequent value another counts as it."""
        is_it = self.known == value
        return float(self.reach[is_it].sum())

    @property
    def tests(self) -> int:
        """How many shares are compared."""
        return len(self.edges)


def _are_few(distinct: Floats, known: Floats, *, is_float: bool) -> bool:
    """Whether each of the distinct values has a share of its own."""
    if len(distinct) > _MOST_VALUES:
        return False
    if not is_float:
        return True
    # A rare float may be one of many that did not come yet; an infinity is not.
    finite = distinct[np.isfinite(distinct)]
    return bool(np.isin(finite, known).all())


def _quantiles(values: Floats) -> Floats:
    """The values at `LEVELS`."""
    ordered = np.sort(values)
    places = (LEVELS * len(ordered)).astype(int)
    return np.asarray(ordered[np.minimum(places, len(ordered) - 1)])


def _mean_ranks(counts: NDArray[np.intp]) -> Floats:
    """The mean rank of each class, from the lowest on: between -1 and 1, and 0 in the mean."""
    values = counts.sum()
    up_to = np.cumsum(counts)
    below = up_to - counts
    ranks = (below + up_to) / values
    mean = (ranks * counts).sum() / values
    return np.asarray(ranks - mean)


def near(values: Values, known: Floats, reach: Floats) -> Floats:
    """Values, each moved to the known one that is so near."""
    moved = np.asarray(values, np.float64)
    for value, distance in zip(known[::-1], reach[::-1], strict=True):
        moved = np.where(are_near(moved, value, distance), value, moved)
    return moved


def are_near(values: Values, value: float, reach: float) -> NDArray[np.bool_]:
    """Whether each is a value or as near to it; only an infinity is near that infinity."""
    if not math.isfinite(value):
        return np.asarray(values == value)
    # Infinities and NaN are near nothing.
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values - value) <= reach)


def classes(values: Floats, edges: Floats, *, is_few: bool) -> NDArray[np.intp]:
    """The number of the class of each value; a NaN is in the last one."""
    if is_few:
        found = np.full(values.shape, len(edges))
        for number, value in enumerate(edges):
            is_it = values == value
            found[is_it] = number
        return found
    return np.searchsorted(edges, values, side="left")


@dataclass(frozen=True)
class Measure:
    """How far the elements of a whole output lie from their means.

    An element that gives one number, or two that a rounding parts, stands still: there only what
    lies beyond the tolerances is a deviation.
    """

    centre: Values
    scale: Values
    dead: Values
    """Deviations up to this are none."""

    @classmethod
    def of(cls, pooled: Values, by: Tolerances) -> Measure:
        """That of pooled runs, each a row."""
        finite = np.where(np.isfinite(pooled), pooled, 0).astype(np.float64)
        if len(finite) < _ROWS:
            finite = finite.reshape(-1, 1)
        lowest = finite.min(0)
        highest = finite.max(0)
        reach = by.atol + by.rtol * np.abs(lowest)
        is_end = (finite == lowest) | (finite == highest)
        is_still = is_end.all(0) & (highest - lowest <= reach)
        centre = (finite / len(finite)).sum(0)
        # Divided by the largest, whose square may be infinite.
        largest = np.abs(finite).max(initial=0) or 1.0
        deviations = (finite / largest).std(0) * largest
        scale = np.where(is_still, reach, deviations)
        scale = np.where(scale > 0, scale, 1.0)
        dead = np.where(is_still, reach / scale, 0.0)
        is_double = pooled.dtype == np.float64
        kept = np.float64 if is_double else np.float32
        return cls(centre.astype(kept), scale.astype(kept), dead.astype(kept))

    def standardised(self, values: Values) -> Values:
        """Deviations in standard deviations; 0 for what is not finite."""
        with np.errstate(all="ignore"):
            deviations = (values - self.centre) / self.scale
            deviations = np.where(np.isfinite(deviations), deviations, 0)
        if self.dead.any():
            deviations = np.where(np.abs(deviations) <= self.dead, 0, deviations)
        # Far beyond any noise; its square must be finite.
        limit = deviations.dtype.type(1e12)
        return np.clip(deviations, -limit, limit)


def rows(arrays: list[NDArray[Any]], size: int) -> Values:
    """Runs of an output, each a row; one of another size than the first has its values spread."""
    kind = _kind_of(arrays[0].dtype)
    if all(array.size == size for array in arrays):
        stacked = np.stack([array.reshape(-1) for array in arrays])
        return stacked.astype(kind, copy=False)
    spread_out = np.full((len(arrays), size), np.nan, kind)
    for row, array in zip(spread_out, arrays, strict=True):
        if array.size:
            places = np.arange(size) * array.size // size
            row[:] = array.reshape(-1)[places]
    return spread_out


def _kind_of(given: np.dtype[Any]) -> type[np.floating]:
    """A float that holds the numbers of a type, or of the widest nearly."""
    if given.itemsize < _SINGLE:
        return np.float32
    is_integer = given.kind in "iu"
    if given.itemsize == _SINGLE and not is_integer:
        return np.float32
    return np.float64


def repeats(
    arrays: list[NDArray[Any]],
    before: NDArray[Any] | None,
) -> NDArray[np.bool_]:
    """Whether each run is, to the last bit, the one before it; the first one has none."""
    last = None if before is None else _bytes(before)
    found = []
    for array in arrays:
        this = _bytes(array)
        found.append(this == last)
        last = this
    return np.array(found)


def are_rounded(arrays: list[NDArray[Any]]) -> bool:
    """Whether all runs are one, but for a few units in the last place of the largest value."""
    first = arrays[0].astype(np.float64)
    finite = first[np.isfinite(first)]
    reach = _UNITS * float(np.abs(finite).max(initial=0))
    others = [each.astype(np.float64) for each in arrays[1:]]
    return all(_is_rounded(each, first, reach) for each in others)


def _is_rounded(array: Floats, first: Floats, reach: float) -> bool:
    """Whether an array is the first one, but for so much; infinities and NaN must be equal."""
    if array.shape != first.shape:
        return False
    is_equal = (array == first) | (np.isnan(array) & np.isnan(first))
    with np.errstate(invalid="ignore"):
        is_near = np.abs(array - first) <= reach
    return bool((is_equal | is_near).all())


def _bytes(array: NDArray[Any]) -> tuple[tuple[int, ...], bytes]:
    return array.shape, array.tobytes()
