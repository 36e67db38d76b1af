"""Turns words into booleans that are true with a given probability.

The rule: docs/specification.md, "Booleans".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_BERNOULLI
from onnx_philox._contract.types import BY_DTYPE, ElementType
from onnx_philox._numbers import uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


@dataclass(frozen=True)
class Bernoulli(Distribution):
    """True with probability `p`: f32 or f64, of rank 0, or of rank 1 with one for each element."""

    operator = RANDOM_BERNOULLI
    p: Values

    def converter(self, values: ElementType) -> Convert:  # noqa: ARG002
        """The function from words to booleans."""
        unit = uniform.unit(BY_DTYPE[self.p.dtype])

        def convert(position: int, words: Words) -> Values:
            u = unit(words)
            p = self.p
            if p.ndim:
                p = p[position : position + u.size]
            return np.less(u, p)

        return convert
