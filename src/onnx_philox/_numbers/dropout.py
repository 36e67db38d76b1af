"""Turns words into what dropout keeps of the data (docs/specification.md, "Dropout")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnx_philox._contract.operators import RANDOM_DROPOUT
from onnx_philox._contract.types import BF16, BY_DTYPE, F64, ElementType
from onnx_philox._numbers import uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


def scale_of(ratio: Values, values: ElementType) -> Values:
    """What data that are kept are multiplied by, for a ratio of rank 0 and data of this type."""
    # In f64 only where the data have as many bits.
    dtype = np.float64 if values is F64 else np.float32
    work = ratio.astype(dtype)
    one = np.ones_like(work)
    with np.errstate(all="ignore"):
        scale = one / (one - work)
        return np.asarray(scale.astype(values.dtype))


@dataclass(frozen=True)
class Dropout(Distribution):
    """`data`, of rank 1, with each element dropped by the probability `ratio`, of rank 0."""

    operator = RANDOM_DROPOUT
    data: Values
    ratio: Values

    def converter(self, values: ElementType) -> Convert:
        """The function from words to the data that is kept, and to which that is."""
        unit = uniform.unit(BY_DTYPE[self.ratio.dtype])
        scale = scale_of(self.ratio, values)

        def convert(position: int, words: Words) -> tuple[Values, Values]:
            is_kept = ~np.less(unit(words), self.ratio)
            data = self.data[position : position + is_kept.size]
            scaled = data * scale
            if values is BF16:
                # ml_dtypes has one NaN of bfloat16; the core keeps the payload of each.
                is_nan = np.isnan(data)
                payload = data.view(np.uint16)[is_nan]
                scaled.view(np.uint16)[is_nan] = payload | 0x0040
            zero = values.dtype.type(0)
            return np.where(is_kept, scaled, zero), is_kept

        return convert
