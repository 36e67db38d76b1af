"""Fills memory with a draw in NumPy, word by word; every backend must agree with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _philox
from onnx_philox._numbers import rows
from onnx_philox._numbers.draw import Draw


def fill(draw: Draw, *outs: NDArray[Any]) -> None:
    """Fills arrays of rank 1 chunk by chunk, so that working memory does not grow with them."""
    if outs[0].size == 0:
        return
    convert = draw.distribution.converter(draw.values)
    each = draw.row_elements(outs[0].size)
    position = 0
    # Overflow and underflow follow IEEE 754, whatever NumPy's error settings are.
    with np.errstate(all="ignore"):
        chunks = _chunks(draw, draw.words(each))
        for words in _together(chunks, draw.distribution.words_together):
            made = convert(position, words.reshape(-1))
            all_values = made if isinstance(made, tuple) else (made,)
            for out, values in zip(outs, all_values, strict=True):
                # The last pair of a row may have one value too many.
                left = each - position % each
                rows_of_values = values.reshape(len(words), -1)
                rows_of_values = rows_of_values[:, :left]
                end = position + rows_of_values.size
                out[position:end] = rows_of_values.reshape(-1)
            position = end


def _together(chunks: Iterator[NDArray[np.uint32]], size: int) -> Iterator[NDArray[np.uint32]]:
    """The same words, cut only after every `size` of them."""
    kept: list[NDArray[np.uint32]] = []
    for chunk in chunks:
        if not kept and chunk.shape[1] % size == 0:
            yield chunk
            continue
        kept.append(chunk.copy())  # the next chunk overwrites it
        count = sum(part.shape[1] for part in kept)
        if count >= size:
            words = np.concatenate(kept, axis=1)
            whole = count - count % size
            yield words[:, :whole]
            kept.clear()
            if whole < count:
                kept.append(words[:, whole:])


def _chunks(draw: Draw, count: int) -> Iterator[NDArray[np.uint32]]:
    """The words of a draw, `count` for each row: several whole rows, or a part of one."""
    if draw.rows is not None:
        counters = rows.counters_of(draw.rows)
        seeded = rows.with_seeds(counters, draw.state)
        return _philox.row_chunks(*seeded, count)
    words = _philox.word_chunks(draw.state.counter, draw.state.key, count)
    return (chunk[np.newaxis] for chunk in words)
