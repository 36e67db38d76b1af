"""Turns words of the generator into permutations (docs/specification.md, "Permutations")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_PERMUTATION
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


@dataclass(frozen=True)
class Permutation(Distribution):
    """Permutations of the integers below the last entry of `shape`, [n] or [m, n]."""

    operator = RANDOM_PERMUTATION
    shape: Values

    @property
    def words_together(self) -> int:
        """The words of a row."""
        elements = int(self.shape[-1])
        return max(1, self.operator.words.of(None, elements))

    def converter(self, values: ElementType) -> Convert:
        """The function from words to permutations."""

        def convert(_: int, words: Words) -> Values:
            elements = int(self.shape[-1])
            pairs = words.reshape(-1, elements, 2).astype(np.uint64)
            high = pairs[..., 1] << np.uint64(32)
            keys = high | pairs[..., 0]
            order = np.argsort(keys, axis=1, kind="stable")
            return order.astype(values.dtype).reshape(-1)

        return convert
