"""Turns words of the generator into normal values (docs/specification.md, "Normal values")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_NORMAL
from onnx_philox._contract.types import F32, F64, ElementType
from onnx_philox._numbers import elementary, uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


@dataclass(frozen=True)
class Affine(Distribution):
    """Values around or from `mean`, `scale` wide; both of rank 0 and the values' type."""

    mean: Values
    scale: Values

    def affine(self, values: ElementType, standard: Values) -> Values:
        """Standard values in the values' type, times `scale`, plus `mean`, each step rounded."""
        result: Values = standard.astype(values.dtype, copy=False)
        np.multiply(result, self.scale, out=result)
        np.add(result, self.mean, out=result)
        return result


@dataclass(frozen=True)
class Normal(Affine):
    """Normal values: `scale` is their standard deviation."""

    operator = RANDOM_NORMAL

    def converter(self, values: ElementType) -> Convert:
        """The function from words to values, two at a time."""
        # f16 and bf16 are f32 normals, rounded.
        computed = F64 if values is F64 else F32
        unit = uniform.unit(computed)

        def convert(_: int, words: Words) -> Values:
            u = unit(words)
            # r * sin first, r * cos after it.
            pairs = elementary.normal_pairs(u[0::2], u[1::2])
            standard = np.stack(pairs, axis=-1).reshape(-1)
            return self.affine(values, standard)

        return convert
