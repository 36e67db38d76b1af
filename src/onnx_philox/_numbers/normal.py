"""Turns words of the generator into normal values (contract, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.types import F32, F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.uniform import Convert, Values, Words


@dataclass(frozen=True)
class Normal:
    """Values around `mean`, `scale` wide; both of rank 0 and the values' type."""

    mean: Values
    scale: Values

    def words(self, values: ElementType, elements: int) -> int:
        """How many words of the generator these elements take; pairs are never split."""
        return -(-elements // 2) * 2 * uniform.words_per_uniform(values)

    def converter(self, values: ElementType) -> Convert:
        """The function from words to values, two at a time."""
        # f16 and bf16 are f32 normals, rounded.
        unit = uniform.unit(F64 if values is F64 else F32)

        def convert(_: int, words: Words) -> Values:
            u = unit(words)
            # r * sin first, r * cos after it.
            standard = np.stack(elementary.normal_pairs(u[0::2], u[1::2]), axis=-1).reshape(-1)
            result = standard.astype(values.dtype, copy=False)
            np.multiply(result, self.scale, out=result)
            np.add(result, self.mean, out=result)
            return result

        return convert
