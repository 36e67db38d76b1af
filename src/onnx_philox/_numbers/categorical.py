"""Turns words of the generator into indices of classes (contract, section 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_philox._contract.operators import RANDOM_CATEGORICAL
from onnx_philox._contract.types import F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words

# Works on rows together as long as they have no more weights than this.
_WEIGHTS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Categorical(Distribution):
    """Classes drawn by log-probabilities `logits` [batch, classes], `sample_size` for each row."""

    operator = RANDOM_CATEGORICAL
    logits: Values
    sample_size: int

    def converter(self, values: ElementType) -> Convert:
        """The function from words to indices."""
        unit = uniform.unit(F64)

        def convert(position: int, words: Words) -> Values:
            u = unit(words)
            result = np.empty(u.size, values.dtype)
            first, last = position // self.sample_size, (position + u.size - 1) // self.sample_size
            for row, sums in self._running_sums(first, last + 1):
                start = max(0, row * self.sample_size - position)
                end = min(u.size, (row + 1) * self.sample_size - position)
                # u < 1, so the product is below the last sum: some sum is always greater.
                thresholds = u[start:end] * sums[-1]
                result[start:end] = np.searchsorted(sums, thresholds, side="right")
            return result

        return convert

    def _running_sums(self, first: int, end: int) -> Iterator[tuple[int, Values]]:
        """The weights of each of these rows, summed from left to right."""
        at_once = max(1, _WEIGHTS_AT_ONCE // self.logits.shape[1])
        for start in range(first, end, at_once):
            rows = self.logits[start : min(start + at_once, end)].astype(np.float64)
            weights = elementary.exp_nonpositive(rows - rows.max(axis=1, keepdims=True))
            # accumulate, unlike a sum, adds one after the other.
            yield from enumerate(np.add.accumulate(weights, axis=1), start)


def of(inputs: Mapping[str, Values], attributes: Mapping[str, Any]) -> Categorical:
    """What RandomCategorical draws by its inputs and attributes."""
    return Categorical(inputs["logits"], attributes["sample_size"])
