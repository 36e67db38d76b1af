"""Fills memory with a draw by NumPy, from the generator's words: every backend must agree."""

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
    # What overflows or underflows is what IEEE 754 says it is, whatever NumPy was told to do then.
    with np.errstate(all="ignore"):
        for words in philox.word_chunks(draw.state.counter, draw.state.key, draw.words(out.size)):
            # The second value of a last pair may be one too many.
            values = convert(position, words)[: out.size - position]
            out[position : position + values.size] = values
            position += values.size
