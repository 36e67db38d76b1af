"""Distributions of a location and a scale: standard values, multiplied and moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.types import ElementType
from onnx_philox._numbers.draw import Distribution, Values


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
