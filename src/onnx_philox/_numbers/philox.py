"""Philox4x32-10: turns a 128-bit counter and a 64-bit key into blocks of four 32-bit words.

The generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11), vectorised
over blocks. It knows nothing of types, shapes, seeds or runtimes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ROUNDS = 10
WORDS_PER_BLOCK = 4

# Row 0 works on counter word 0 and key word 0, row 1 on counter word 2 and key word 1.
_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HIGH_SHIFT = np.uint64(32)

_MASK32 = 2**32 - 1
_MASK64 = 2**64 - 1
_MASK128 = 2**128 - 1

# Fewer blocks at a time cost more NumPy calls: 4096 are half as fast. More gain 2% at the most
# (benchmarks/python_backends.py), and memory.
_CHUNK_BLOCKS = 16384


def word_chunks(counter: int, key: int, count: int) -> Iterator[NDArray[np.uint32]]:
    """Draws `count` words in order, some thousands at a time.

    Args:
        counter: The 128-bit counter of the first block; later blocks add 1 each and wrap.
        key: The 64-bit key.
        count: How many words, 0 or more.

    Yields:
        The next words, whole blocks of them but at the end. The array is overwritten by the next
        chunk.
    """
    blocks = -(-count // WORDS_PER_BLOCK)
    size = min(blocks, _CHUNK_BLOCKS)
    position = np.arange(size, dtype=np.uint64)
    work = np.empty((3, 2, size), np.uint64)
    words = np.empty((size, WORDS_PER_BLOCK), np.uint32)
    keys = _round_keys(key)
    start = 0
    while start < blocks:
        counter_low, counter_high = counter & _MASK64, counter >> 64
        # The upper half of the counter is one number within a chunk: cut where it carries.
        n = min(size, blocks - start, 2**64 - counter_low)
        even, odd, product = work[:, :, :n]
        np.add(position[:n], np.uint64(counter_low), out=product[0])
        np.bitwise_and(product[0], _LOW, out=even[0])
        np.right_shift(product[0], _HIGH_SHIFT, out=odd[0])
        even[1], odd[1] = counter_high & _MASK32, counter_high >> 32
        _rounds(even, odd, product, keys, words[:n])
        yield words.reshape(-1)[: min(n * WORDS_PER_BLOCK, count - start * WORDS_PER_BLOCK)]
        start += n
        counter = (counter + n) & _MASK128


def _round_keys(key: int) -> NDArray[np.uint64]:
    """The key words of each round, `[round, word, 1]`."""
    low, high = key & _MASK32, key >> 32
    return np.array(
        [
            [[(low + r * _WEYL[0]) & _MASK32], [(high + r * _WEYL[1]) & _MASK32]]
            for r in range(ROUNDS)
        ],
        np.uint64,
    )


def _rounds(
    even: NDArray[np.uint64],
    odd: NDArray[np.uint64],
    product: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    words: NDArray[np.uint32],
) -> None:
    """Ten rounds over counter words 0 and 2 (`even`) and 1 and 3 (`odd`), `[2, blocks]` each.

    One round: `even` becomes the other product's high half ^ `odd` ^ key, `odd` the other
    product's low half. The upper 32 bits of `odd` stay as they are; the code cuts them off where
    they would count, before a multiplication and in the last store.
    """
    for round_key in keys:
        np.multiply(even, _MULTIPLIERS, out=product)
        crossed = product[::-1]
        np.right_shift(crossed, _HIGH_SHIFT, out=even)
        np.bitwise_xor(even, odd, out=even)
        np.bitwise_xor(even, round_key, out=even)
        np.bitwise_and(even, _LOW, out=even)
        odd, product = crossed, odd[::-1]
    words[:, 0::2] = even.T
    # astype keeps the low 32 bits.
    words[:, 1::2] = odd.T.astype(np.uint32)
