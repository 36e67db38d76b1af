"""Fills memory with a draw in NumPy, word by word; every backend must agree with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._numbers import philox
from onnx_philox._numbers.draw import Draw


def fill(draw: Draw, out: NDArray[Any]) -> None:
    """Fills an array of rank 1 chunk by chunk, so that working memory does not grow with it."""
    convert = draw.distribution.converter(draw.values)
    position = 0
    # Overflow and underflow follow IEEE 754, whatever NumPy's error settings are.
    with np.errstate(all="ignore"):
        for words in philox.word_chunks(draw.state.counter, draw.state.key, draw.words(out.size)):
            # The last pair may have one value too many.
            values = convert(position, words)[: out.size - position]
            out[position : position + values.size] = values
            position += values.size
