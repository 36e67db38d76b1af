"""States in arrays, one for each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.state import PhiloxState

_SHIFT = np.uint64(32)


class RowCounters(NamedTuple):
    """A state for each row, as 64-bit numbers of rank 1."""

    low: NDArray[np.uint64]
    """The low halves of the counters."""
    high: NDArray[np.uint64]
    """Their high halves."""
    key: NDArray[np.uint64]


def counters_of(states: NDArray[np.uint32]) -> RowCounters:
    """Reads states [B, 6], least significant words first."""
    words = states.astype(np.uint64)
    numbers = []
    for i in range(0, STATE_WORDS, 2):
        low = words[:, i]
        high = words[:, i + 1] << _SHIFT
        numbers.append(low | high)
    return RowCounters(*numbers)


def states_of(rows: RowCounters) -> NDArray[np.uint32]:
    """The states [B, 6] that `counters_of` reads."""
    states = np.empty((len(rows.key), STATE_WORDS), np.uint32)
    for i, half in enumerate(rows):
        # astype keeps the low 32 bits.
        states[:, 2 * i] = half.astype(np.uint32)
        states[:, 2 * i + 1] = half >> _SHIFT
    return states


def with_seeds(rows: RowCounters, seeds: PhiloxState) -> RowCounters:
    """The states plus that of the seeds, each number modulo its size."""
    high = np.uint64(seeds.counter >> 64)
    key = np.uint64(seeds.key)
    return RowCounters(rows.low, rows.high + high, rows.key + key)


def advance(states: NDArray[np.uint32], words: int) -> NDArray[np.uint32]:
    """The states after each has drawn as many words."""
    low, high, key = counters_of(states)
    blocks = -(-words // 4)
    after = low + np.uint64(blocks)
    is_carried = after < low
    return states_of(RowCounters(after, high + is_carried, key))
