"""Whether runs of two models are of one law: what each value is, and which values go together.

Each test compares a share or a mean in two halves of the pooled runs, which under one law could be
parted in any other way. So it holds for any distribution, and bounds the error from above.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.differences import Tolerances

ERROR = 1e-6
"""The probability that anything is told of two models of one law."""
# Of values so few, each has a share of its own.
_FEW = 16
# Less than what ranks vary by, but those of rare values.
_LEAST_VARIANCE = 1e-6
# So many values of an output, and of all outputs together.
_MOST, _MOST_IN_ALL = 64, 1024

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Apart:
    """Where the values of two models differ most."""

    bound: float
    """What the probability of such a difference does not exceed, under one law."""
    value: float
    is_up_to: bool
    """Whether the shares are of all values up to this one, not of it alone."""

    def share(self, values: Floats) -> float:
        """The share that differs."""
        is_it = values <= self.value if self.is_up_to else values == self.value
        return float((is_it | (np.isnan(values) & np.isnan(self.value))).mean())


def needed(tests: int) -> float:
    """What the bound of one of so many tests must be less than. Half is left to the other kind."""
    return ERROR / 2 / tests


def least(runs: int, tests: int) -> float:
    """The difference of two shares that so many runs show; of correlations, twice that."""
    return math.sqrt(math.log(math.e / needed(tests)) / runs)


def near(known: Floats, values: Floats, rtol: float, atol: float) -> Floats:
    """Values, each moved to the nearest known one if that is as near as rounding."""
    ordered = np.sort(known[np.isfinite(known)])
    if not len(ordered):
        return values
    after = np.searchsorted(ordered, values)
    below, above = ordered[np.maximum(after - 1, 0)], ordered[after.clip(max=len(ordered) - 1)]
    nearest = np.where(values - below <= above - values, below, above)
    return np.where(np.abs(values - nearest) <= atol + rtol * np.abs(nearest), nearest, values)


def apart(one: Floats, other: Floats) -> Apart:
    """Compares two samples of one value: by Kolmogorov and Smirnov, or of few values by shares.

    A NaN is a value as any other, the greatest.
    """
    runs = len(one)
    values, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    halves = places.reshape(2, runs)
    shares = np.stack([np.bincount(half, minlength=len(values)) for half in halves]) / runs
    is_up_to = len(values) > _FEW
    if is_up_to:
        shares = np.cumsum(shares, axis=1)
    differences = np.abs(shares[0] - shares[1])
    most = differences.max()
    bound = math.e * math.exp(-runs * most**2)
    if not is_up_to:
        variances = np.maximum(shares.mean(0) * (1 - shares.mean(0)), 1 / runs**2)
        bound = 2 * len(values) * math.exp(-runs * (differences**2 / variances).max() / 4)
    # Of several that differ by as much a zero, which is what a mask leaves.
    at = max(np.flatnonzero(np.isclose(differences, most)), key=lambda i: values[i] == 0)
    return Apart(bound, float(values[at]), is_up_to)


def ranks(values: Floats) -> Floats:
    """The ranks of values, from 0 to 1; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[places] / len(values))


def together(one: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    """Compares which columns go together in two samples of runs, by rank correlations.

    Returns:
        For each pair of columns the bound of its difference, and the correlation in each sample.
    """
    runs = len(one)
    pooled = np.apply_along_axis(ranks, 0, np.concatenate([one, other])).reshape(2, runs, -1)
    centred = pooled - pooled.mean(1, keepdims=True)
    products, squares = (np.stack([x.T @ x for x in each]) / runs for each in (centred, centred**2))
    variance = np.maximum((squares - products**2).mean(0), _LEAST_VARIANCE)
    bound = 2 * np.exp(-runs * (products[0] - products[1]) ** 2 / (4 * variance))
    sizes = np.sqrt(np.maximum(np.diagonal(products, axis1=1, axis2=2), _LEAST_VARIANCE))
    correlations = products / (sizes[:, :, None] * sizes[:, None, :])
    return bound, correlations[0], correlations[1]


class Sample:
    """An output in all runs of the original, `was`, and of the model, `now`.

    Each run is a row: the values at `places`, the mean of all, and 1 where it repeats the run
    before it. In a run of another shape than the original's first, the values are NaN.

    Args:
        name: The output's name.
        first: It in the original's first run.
        outputs: How many there are.
    """

    was: Floats
    now: Floats

    def __init__(self, name: str, first: NDArray[Any], outputs: int) -> None:
        self.name, self.type, self._shape = name, first.dtype, first.shape
        self.places = spread(first.shape, min(_MOST, max(_MOST_IN_ALL // outputs, 1)))
        self._rows: list[list[list[float]]] = [[], []]
        self._before = [b"", b""]

    def add(self, *runs: NDArray[Any]) -> None:
        """Keeps a run of the original and one of the model."""
        for i, array in enumerate(runs):
            numbers, now = array.astype(np.float64), array.tobytes()
            is_alike = array.shape == self._shape
            row = [float(numbers[at]) if is_alike else math.nan for at in self.places]
            mean = float(numbers.mean()) if numbers.size else math.nan
            self._rows[i].append([*row, mean, float(now == self._before[i])])
            self._before[i] = now

    def finish(self, by: Tolerances) -> None:
        """Ends the runs; a float of the model's may be rounded otherwise than the original's."""
        self.was, self.now = map(np.array, self._rows)
        for i in range(len(self.places) + 1) if self.type.kind not in "biu" else ():
            self.now[:, i] = near(self.was[:, i], self.now[:, i], by.rtol, by.atol)
        self.repeats, self.now_repeats = (x[1:, -1].all() for x in (self.was, self.now))


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
