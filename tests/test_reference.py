"""The operators in NumPy: the rules of the contract, against a model in plain Python integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from cases import EDGE_COUNTERS, SEED
from hypothesis import given
from hypothesis import strategies as st

from onnx_philox import PhiloxState, reference
from onnx_philox import _philox as philox

CHUNK_WORDS = philox._CHUNK_BLOCKS * 4


def plain_words(counter: int, key: int, count: int) -> Iterator[int]:
    """Philox4x32-10 as the paper states it, a block at a time in Python integers."""
    for i in range(-(-count // 4)):
        block = (counter + i) % 2**128
        c = [block >> 32 * w & 0xFFFFFFFF for w in range(4)]
        k0, k1 = key & 0xFFFFFFFF, key >> 32
        for _ in range(10):
            p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
            k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
        yield from c[: min(4, count - 4 * i)]


def bits(state: PhiloxState, count: int) -> np.ndarray:
    return reference.random_generator(state.to_array(), [count])[0]


@pytest.mark.parametrize("counter", EDGE_COUNTERS)
def test_words_are_right_where_the_counter_carries(counter: int) -> None:
    key = 0xFEDCBA9876543210
    expected = list(plain_words(counter, key, 45))
    assert bits(PhiloxState(counter, key), 45).tolist() == expected


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**64 - 1), st.integers(0, 70))
def test_words_are_those_of_the_paper(counter: int, key: int, count: int) -> None:
    assert bits(PhiloxState(counter, key), count).tolist() == list(plain_words(counter, key, count))


def test_seeds_shift_a_state_and_are_not_folded_into_the_next() -> None:
    state = PhiloxState(2**128 - 1, 2**64 - 1)
    shifted = state.with_seeds(7, 3)
    drawn, after = reference.random_generator(state.to_array(), [6], global_seed=7, op_seed=3)
    assert drawn.tolist() == list(plain_words(shifted.counter, shifted.key, 6))
    assert PhiloxState.from_array(after) == state.advance(6)


def test_rounding_can_reach_maxval() -> None:
    values, _ = reference.random_uniform([4096], 100, 101, "bf16", **SEED)
    assert 0.2 < (values == 101).mean() < 0.3


def test_what_is_no_array_is_shown_as_it_was_given() -> None:
    words = r"input 'state' must be an array of numbers: got {}\. Pass an array\."
    for state in (None, "abc", {}):
        with pytest.raises(TypeError, match=words.format(repr(state))):
            reference.random_generator(state, [3])  # type: ignore[arg-type]
