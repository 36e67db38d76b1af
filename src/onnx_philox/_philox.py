"""Philox4x32-10: turns a 128-bit counter and a 64-bit key into blocks of four 32-bit words.

The generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11), vectorised
over blocks. It knows nothing of types, shapes, seeds or runtimes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

ROUNDS = 10
WORDS_PER_BLOCK = 4

# Row 0 works on counter word 0 and key word 0, row 1 on counter word 2 and key word 1.
MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
WEYL = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)
_LOW = np.uint64(0xFFFFFFFF)
_HIGH_SHIFT = np.uint64(32)

_MASK32 = 2**32 - 1
_MASK64 = 2**64 - 1
_MASK128 = 2**128 - 1

# Fewer blocks at a time cost more NumPy calls: 4096 are half as fast. More gain 2% at the most
# (benchmarks/python_backends.py), and memory.
_CHUNK_BLOCKS = 2**14


def word_chunks(counter: int, key: int, count: int) -> Iterator[NDArray[np.uint32]]:
    """Draws `count` words in order, some thousands at a time.

    Args:
        counter: The 128-bit counter of the first block; later blocks add 1 each and wrap.
        key: The 64-bit key.
        count: How many words, 0 or more.

    Yields:
        The next words: of 2^14 blocks, fewer at the end. So what takes a power of two of blocks is
        never cut. The array is overwritten by the next chunk.
    """
    blocks = -(-count // WORDS_PER_BLOCK)
    size = min(blocks, _CHUNK_BLOCKS)
    position = np.arange(size, dtype=np.uint64)
    work = np.empty((3, 2, size), np.uint64)
    words = np.empty((size, WORDS_PER_BLOCK), np.uint32)
    low_key = key & _MASK32
    key_words = np.array([[low_key], [key >> 32]], np.uint64)
    keys = list(_round_keys(key_words))
    start = 0
    while start < blocks:
        counter_low = counter & _MASK64
        counter_high = counter >> 64
        n = min(size, blocks - start)
        even, odd, product = work[:, :, :n]
        np.add(position[:n], np.uint64(counter_low), out=product[0])
        np.bitwise_and(product[0], _LOW, out=even[0])
        np.right_shift(product[0], _HIGH_SHIFT, out=odd[0])
        even[1] = counter_high & _MASK32
        odd[1] = counter_high >> 32
        # From this block on, which most chunks have not, the low half has wrapped.
        carry = 2**64 - counter_low
        after = (counter_high + 1) & _MASK64
        even[1, carry:] = after & _MASK32
        odd[1, carry:] = after >> 32
        _rounds(even, odd, product, keys, words[:n])
        left = count - start * WORDS_PER_BLOCK
        yield words.reshape(-1)[:left]
        start += n
        counter = (counter + n) & _MASK128


def row_chunks(
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    count: int,
) -> Iterator[NDArray[np.uint32]]:
    """Draws `count` words for each of several rows, in order.

    Args:
        low: The low halves of the counters of the rows' first blocks, `[rows]`.
        high: Their high halves.
        keys: The rows' 64-bit keys.
        count: How many words a row, 1 or more.

    Yields:
        The words of the next rows, `[rows, count]`; or, of a long row, the next words of one, whole
        blocks of them but at the end, `[1, words]`. The array is overwritten by the next one.
    """
    blocks = -(-count // WORDS_PER_BLOCK)
    at_once = min(_CHUNK_BLOCKS // blocks, len(keys))
    if not at_once:
        rows = zip(low.tolist(), high.tolist(), keys.tolist(), strict=True)
        for low_half, high_half, key in rows:
            counter = low_half | high_half << 64
            for words in word_chunks(counter, key, count):
                yield words[np.newaxis]
        return
    positions = np.arange(blocks, dtype=np.uint64)
    most = at_once * blocks
    work = np.empty((3, 2, most), np.uint64)
    words = np.empty((most, WORDS_PER_BLOCK), np.uint32)
    for start in range(0, len(keys), at_once):
        part = slice(start, start + at_once)
        n = len(keys[part])
        even, odd, product = work[:, :, : n * blocks]
        counters_low = np.add.outer(low[part], positions)
        carries = counters_low < low[part, np.newaxis]
        counters_high = np.add(high[part, np.newaxis], carries)
        for half, counter in enumerate((counters_low, counters_high)):
            flat = counter.reshape(-1)
            np.bitwise_and(flat, _LOW, out=even[half])
            np.right_shift(flat, _HIGH_SHIFT, out=odd[half])
        low_keys = keys[part] & _LOW
        key_words = np.stack([low_keys, keys[part] >> _HIGH_SHIFT])
        drawn = words[: n * blocks]
        of_blocks = np.repeat(key_words, blocks, axis=1)
        round_keys = _round_keys(of_blocks)
        _rounds(even, odd, product, round_keys, drawn)
        by_row = drawn.reshape(n, -1)
        yield by_row[:, :count]


def _round_keys(key_words: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    """The key words of each round, from those of the first: of one key, or of one for each block.

    Their shape is `[2, 1]` or `[2, blocks]`.
    """
    for _ in range(ROUNDS):
        yield key_words
        key_words = (key_words + WEYL) & _LOW


def _rounds(
    even: NDArray[np.uint64],
    odd: NDArray[np.uint64],
    product: NDArray[np.uint64],
    keys: Iterable[NDArray[np.uint64]],
    words: NDArray[np.uint32],
) -> None:
    """Ten rounds over counter words 0 and 2 (`even`) and 1 and 3 (`odd`), `[2, blocks]` each.

    One round: `even` becomes the other product's high half ^ `odd` ^ key, `odd` the other
    product's low half. The upper 32 bits of `odd` stay as they are; the code cuts them off where
    they would count, before a multiplication and in the last store.
    """
    for round_key in keys:
        np.multiply(even, MULTIPLIERS, out=product)
        crossed = product[::-1]
        np.right_shift(crossed, _HIGH_SHIFT, out=even)
        np.bitwise_xor(even, odd, out=even)
        np.bitwise_xor(even, round_key, out=even)
        np.bitwise_and(even, _LOW, out=even)
        # The two arrays change places: what was the product is the next `odd`.
        product = odd[::-1]
        odd = crossed
    words[:, 0::2] = even.T
    # astype keeps the low 32 bits.
    words[:, 1::2] = odd.T.astype(np.uint32)
