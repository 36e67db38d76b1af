"""The operators in NumPy: the rules of the contract, against a model in plain Python integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_philox import PhiloxState, reference
from tests.common import specification as spec
from tests.common.cases import EDGE_COUNTERS, SEED

pytestmark = pytest.mark.lowest


@pytest.mark.parametrize("counter", EDGE_COUNTERS)
def test_words_are_right_where_the_counter_carries(counter: int) -> None:
    assert_are_the_rule_s(PhiloxState(counter, 0xFEDCBA9876543210), 45)


def assert_are_the_rule_s(state: PhiloxState, count: int) -> None:
    drawn, after = reference.random_generator(state.to_array(), [count])
    stream = spec.Stream(state.to_array())
    assert drawn.tolist() == list(spec.random_generator(stream, count))
    assert after.tolist() == stream.next_state()


@given(
    st.integers(0, 2**128 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(0, 70),
)
def test_words_are_those_of_the_paper(counter: int, key: int, count: int) -> None:
    assert_are_the_rule_s(PhiloxState(counter, key), count)


def test_seeds_shift_a_state_and_are_not_folded_into_the_next() -> None:
    state = PhiloxState(2**128 - 1, 2**64 - 1)
    drawn, after = reference.random_generator(
        state.to_array(),
        [6],
        global_seed=7,
        op_seed=3,
    )
    shifted = spec.Stream(state.to_array(), 7, 3)
    assert drawn.tolist() == list(spec.random_generator(shifted, 6))
    assert PhiloxState.from_array(after) == state.advance(6)


def test_rounding_can_reach_maxval() -> None:
    values, _ = reference.random_uniform([4096], 100, 101, "bf16", **SEED)
    assert 0.2 < (values == 101).mean() < 0.3


def test_what_is_no_array_is_shown_as_it_was_given() -> None:
    words = r"input 'state' must be an array of numbers: got {}\. Pass an array\."
    for state in (None, "abc", {}):
        with pytest.raises(TypeError, match=words.format(repr(state))):
            reference.random_generator(state, [3])  # type: ignore[arg-type]
