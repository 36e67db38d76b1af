"""Turns words of the generator into the next token of each row.

The rule: docs/specification.md, "Tokens".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_philox._contract.operators import RANDOM_TOKEN
from onnx_philox._contract.types import F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


@dataclass(frozen=True)
class Token(Distribution):
    """A token for each row of `logits` [batch, classes]; None is a filter that is left out."""

    operator = RANDOM_TOKEN
    logits: Values
    temperature: Values | None = None
    top_k: Values | None = None
    top_p: Values | None = None
    min_p: Values | None = None

    def converter(self, values: ElementType) -> Convert:
        """The function from words to tokens."""
        unit = uniform.unit(F64)

        def convert(position: int, words: Words) -> Values:
            u = unit(words)
            drawn = (self._token(position + i, number) for i, number in enumerate(u))
            return np.fromiter(drawn, values.dtype, u.size)

        return convert

    def _token(self, row: int, u: np.float64) -> int:
        logits = self.logits[row].astype(np.float64)
        temperature = _of_row(self.temperature, row, np.float64(1))
        if temperature == 0:
            return int(logits.argmax())
        exponents = (logits - logits.max()) / temperature
        weights = elementary.exp_nonpositive(exponents)
        is_kept = self._is_kept(row, weights)
        weights[~is_kept] = 0
        # accumulate, unlike a sum, adds one after the other; the zeros change no sum.
        sums = np.add.accumulate(weights)
        token = np.searchsorted(sums, u * sums[-1], side="right")
        return int(token)

    def _is_kept(self, row: int, weights: Values) -> Values:
        """Which weights of a row pass the filters."""
        top_k = int(_of_row(self.top_k, row, np.int64(0)))
        top_p = _of_row(self.top_p, row, np.float64(1))
        min_p = _of_row(self.min_p, row, np.float64(0))
        is_kept: Values = weights >= min_p
        if top_k or top_p < 1:
            order = np.argsort(-weights, kind="stable")
            if top_k:
                order = order[:top_k]
            if top_p < 1:
                sums = np.add.accumulate(weights[order])
                last = np.searchsorted(sums, top_p * sums[-1], side="left")
                order = order[: last + 1]
            is_first = np.zeros(weights.size, bool)
            is_first[order] = True
            is_kept &= is_first
        return is_kept


def _of_row(numbers: Values | None, row: int, absent: Any) -> Any:
    """The number of a row, exactly in a type of 64 bits."""
    if numbers is None:
        return absent
    number = numbers[row] if numbers.ndim else numbers[()]
    return type(absent)(number)
