"""Turns words of the generator into indices of classes (docs/specification.md, "Classes")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    replacement: int
    """0: a class is drawn at most once from a row."""

    def words(self, values: ElementType, elements: int) -> int:
        """As every distribution; but without replacement each class takes them, and no sample."""
        if not self.replacement:
            rows = elements // self.sample_size
            elements = rows * self.logits.shape[1]
        return super().words(values, elements)

    @property
    def words_together(self) -> int:
        """The words of a row, if its classes are compared."""
        if self.replacement:
            return 1
        classes = self.logits.shape[1]
        return self.operator.words.of(F64, classes)

    def converter(self, values: ElementType) -> Convert:
        """The function from words to indices."""
        if self.replacement:
            return self._independent(values)
        return self._once(values)

    def _once(self, values: ElementType) -> Convert:
        """Each class has an arrival time, -ln(1 - u) / w; the first to arrive are drawn."""
        unit = uniform.unit(F64)
        classes = self.logits.shape[1]

        def convert(position: int, words: Words) -> Values:
            u = unit(words).reshape(-1, classes)
            first = position // self.sample_size
            result = np.empty((len(u), self.sample_size), values.dtype)
            for row, weights in self._weights(first, first + len(u)):
                row = row - first
                waiting = elementary.minus_two_ln(1 - u[row]) * 0.5
                # A weight of 0 comes after all others, also after times that are infinite.
                times = np.where(weights > 0, waiting / weights, np.nan)
                by_time = np.argsort(times, kind="stable")
                result[row] = by_time[: self.sample_size]
            return result.reshape(-1)

        return convert

    def _independent(self, values: ElementType) -> Convert:
        unit = uniform.unit(F64)

        def convert(position: int, words: Words) -> Values:
            u = unit(words)
            first, drawn = divmod(position, self.sample_size)
            ends = range(self.sample_size - drawn, u.size, self.sample_size)
            of_rows = np.split(u, ends)
            rows = self._weights(first, first + len(of_rows))
            found = []
            for of_row, (_, weights) in zip(of_rows, rows, strict=True):
                # accumulate, unlike a sum, adds one after the other.
                sums = np.add.accumulate(weights)
                # u < 1, so the product is below the last sum: some sum is always greater.
                thresholds = of_row * sums[-1]
                indices = np.searchsorted(sums, thresholds, side="right")
                found.append(indices)
            return np.concatenate(found).astype(values.dtype)

        return convert

    def _weights(self, first: int, end: int) -> Iterator[tuple[int, Values]]:
        """The weights of each of these rows, with its number."""
        classes = self.logits.shape[1]
        at_once = max(1, _WEIGHTS_AT_ONCE // classes)
        for start in range(first, end, at_once):
            last = min(start + at_once, end)
            rows = self.logits[start:last].astype(np.float64)
            largest = rows.max(axis=1, keepdims=True)
            weights = elementary.exp_nonpositive(rows - largest)
            yield from enumerate(weights, start)
