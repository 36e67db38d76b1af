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
_LEVELS = (1 / 128, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2)
_BELOW_MEDIAN = _LEVELS[:-1]
LEVELS = np.array(_LEVELS + tuple(1 - level for level in reversed(_BELOW_MEDIAN)))
"""At these quantiles a distribution function is compared."""
_UNITS = 16 * float(np.finfo(np.float32).eps)
_ROWS = 32
"""So many pooled runs say how far each element lies from its mean; fewer, how far all do."""


def spread(shape: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """At most so many places of a tensor, evenly in each dimension.

    Their numbers are powers of two, so that tensors of equally many rows share some.
    """
    each = 1
    while each < max(shape, default=0) and math.prod(min(2 * each, n) for n in shape) <= most:
        each *= 2
    counts = [min(each, size) for size in shape]
    axes = [[i * n // count for i in range(count)] for n, count in zip(shape, counts, strict=True)]
    return [*itertools.product(*axes)]


def reaches(known: Floats, values: Floats, by: Tolerances) -> Floats:
    """How near to each frequent value a float must be to count as it.

    Within tolerances, and no more than a small part of what the values vary by. Where there are no
    more than two values, within tolerances of each other, they are one value that was rounded.
    """
    finite = values[np.isfinite(values)]
    # Nothing is near an infinity.
    is_finite = np.isfinite(known)
    sizes = np.where(is_finite, np.abs(known), 0.0)
    within = np.where(is_finite, by.atol + by.rtol * sizes, 0.0)
    if not len(finite):
        return within
    lowest, highest = finite.min(), finite.max()
    is_rounded = ((finite == lowest) | (finite == highest)).all()
    if is_rounded and highest - lowest <= by.atol + by.rtol * abs(lowest):
        return within
    largest = max(abs(lowest), abs(highest))
    varies = float((finite / largest).std() * largest)
    return np.minimum(within, _PART * varies)


def frequent(values: Floats, by: Tolerances, *, is_float: bool) -> Floats:
    """The values that came often, the most frequent one first; of floats that are near one.

    An infinity is a value as any other; NaN is none.
    """
    known = values[~np.isnan(values)]
    found, counts = np.unique(known, return_counts=True)
    is_often = (counts >= _FREQUENT * len(values)) & (counts >= _REPEATED)
    order = np.argsort(-counts[is_often], kind="stable")
    found = found[is_often][order]
    if not is_float:
        return found
    kept: list[float] = []
    for value, reach in zip(found.tolist(), reaches(found, values, by), strict=True):
        if not any(abs(value - other) <= reach for other in kept):
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
    def of(cls, values: Floats, by: Tolerances, *, is_float: bool, is_bool: bool) -> Column:
        """That of the pooled values of an element."""
        known = frequent(values, by, is_float=is_float)
        reach = reaches(known, values, by) if is_float else np.zeros(len(known))
        moved = near(values, known, reach)
        distinct = np.unique(moved[~np.isnan(moved)])
        is_few = len(distinct) <= _MOST_VALUES
        if is_float and is_few:
            # A rare float may be one of many that did not come yet; an infinity is not.
            is_few = bool(np.isin(distinct[np.isfinite(distinct)], known).all())
        if is_bool:
            edges, is_few = np.ones(1), True
        elif is_few:
            edges = distinct
        else:
            ordered = np.sort(moved)
            edges = ordered[np.minimum(LEVELS * len(ordered), len(ordered) - 1).astype(int)]
        counts = np.bincount(classes(moved, edges, is_few=is_few), minlength=len(edges) + 1)
        order = np.arange(len(counts))
        if is_bool:
            # False is no value of its own: it lies below.
            order = order[::-1]
        ranks = np.empty(len(counts))
        ranks[order] = 2 * np.cumsum(counts[order]) - counts[order]
        ranks /= len(values)
        ranks -= (ranks * counts).sum() / len(values)
        mode = math.nan
        if is_bool:
            mode = 1.0
        elif len(known) and (moved == known[0]).mean() >= _MODE:
            mode = float(known[0])
        return cls(edges, is_few, known, reach, ranks, mode)

    def reach_of(self, value: float) -> float:
        """How near to a frequent value another counts as it."""
        return float(self.reach[self.known == value].sum())

    @property
    def tests(self) -> int:
        """How many shares are compared."""
        return len(self.edges)


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
            found[values == value] = number
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
        lowest, highest = finite.min(0), finite.max(0)
        reach = by.atol + by.rtol * np.abs(lowest)
        is_end = (finite == lowest) | (finite == highest)
        is_still = is_end.all(0) & (highest - lowest <= reach)
        centre = (finite / len(finite)).sum(0)
        # The square of the largest must be finite, too.
        largest = np.abs(finite).max(initial=0) or 1.0
        scale = np.where(is_still, reach, (finite / largest).std(0) * largest)
        scale = np.where(scale > 0, scale, 1.0)
        dead = np.where(is_still, reach / scale, 0.0)
        kept = np.float64 if pooled.dtype == np.float64 else np.float32
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
    if all(array.size == size for array in arrays):
        stacked = np.stack([array.reshape(-1) for array in arrays])
    else:
        kind = arrays[0].dtype
        stacked = np.full((len(arrays), size), np.nan, _kind_of(kind))
        for row, array in zip(stacked, arrays, strict=True):
            if array.size:
                row[:] = array.reshape(-1)[np.arange(size) * array.size // max(size, 1)]
    return stacked.astype(_kind_of(stacked.dtype), copy=False)


def _kind_of(given: np.dtype[Any]) -> type[np.floating]:
    """A float that holds the numbers of a type, or of the widest nearly."""
    is_narrow = given.itemsize <= np.dtype(np.float32).itemsize and given.kind not in "iu"
    return np.float32 if is_narrow or given.itemsize < 4 else np.float64


def repeats(arrays: list[NDArray[Any]], before: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Whether each run is, to the last bit, the one before it; the first one has none."""
    texts = [None if before is None else _bytes(before), *map(_bytes, arrays)]
    pairs = itertools.pairwise(texts)
    return np.array([one == other for one, other in pairs])


def are_rounded(arrays: list[NDArray[Any]]) -> bool:
    """Whether all runs are one, but for a few units in the last place of the largest value."""
    first = arrays[0].astype(np.float64)
    finite = first[np.isfinite(first)]
    reach = _UNITS * float(np.abs(finite).max(initial=0))
    return all(_is_rounded(each.astype(np.float64), first, reach) for each in arrays[1:])


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
