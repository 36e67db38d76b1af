"""`PhiloxState`: 128-bit and 64-bit arithmetic, and the six words."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from cases import assert_same_bits, each_raises
from hypothesis import given
from hypothesis import strategies as st

import onnx_philox
from onnx_philox import PhiloxState

COUNTERS = st.integers(0, 2**128 - 1)
KEYS = st.integers(0, 2**64 - 1)
SEEDS = st.integers(0, 2**63 - 1)


@given(COUNTERS, KEYS)
def test_a_state_comes_back_from_its_six_words_of_which_the_least_is_first(
    counter: int, key: int
) -> None:
    state = PhiloxState(counter, key)
    array = state.to_array()
    assert_same_bits(
        array,
        np.array([(key << 128 | counter) >> 32 * i & 0xFFFFFFFF for i in range(6)], np.uint32),
    )
    assert PhiloxState.from_array(array) == state


@given(COUNTERS, KEYS, st.integers(0, 2**70))
def test_advance_adds_the_blocks_of_the_words_and_wraps(counter: int, key: int, words: int) -> None:
    after = PhiloxState(counter, key).advance(words)
    assert after == PhiloxState((counter + -(-words // 4)) % 2**128, key)


@given(COUNTERS, KEYS, SEEDS, SEEDS)
def test_seeds_add_to_the_key_and_to_the_upper_half_of_the_counter(
    counter: int, key: int, global_seed: int, op_seed: int
) -> None:
    state = PhiloxState(counter, key).with_seeds(global_seed, op_seed)
    assert state.counter == (counter + op_seed * 2**64) % 2**128
    assert state.key == (key + global_seed) % 2**64
    seeds_alone = PhiloxState.from_seeds(global_seed, op_seed)
    assert seeds_alone == PhiloxState().with_seeds(global_seed, op_seed)


@given(SEEDS, SEEDS, st.integers(0, 2**40), st.integers(0, 2**30))
def test_openvino_run_skips_256_blocks_an_element_and_never_carries_into_the_seed(
    global_seed: int, op_seed: int, run: int, elements: int
) -> None:
    state = PhiloxState.openvino_run(global_seed, op_seed, run, elements)
    skipped = run * elements * 256 % 2**64
    assert state == PhiloxState(op_seed * 2**64 + skipped, global_seed)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_a_run_is_counter_word_3_and_the_seed_is_the_key(seed: int, run: int) -> None:
    assert PhiloxState.for_run(seed, run) == PhiloxState(run * 2**96, seed)
    assert PhiloxState.for_run(seed) == PhiloxState.from_seed(seed)


def test_a_state_is_frozen_and_hashable() -> None:
    state = PhiloxState(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.counter = 3  # type: ignore[misc]
    assert {state: "found"}[PhiloxState(np.uint64(1), np.int32(2))] == "found"


def test_a_seed_is_the_key_and_entropy_differs() -> None:
    assert PhiloxState.from_seed(2**64 - 1) == PhiloxState(0, 2**64 - 1)
    assert PhiloxState.from_entropy() != PhiloxState.from_entropy()
    assert PhiloxState.from_entropy().counter == 0


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 1, 6), (1,) * 7 + (6,)])
def test_a_state_has_rank_1_to_8(shape: tuple[int, ...]) -> None:
    array = PhiloxState(2**100, 3).to_array().reshape(shape)
    assert PhiloxState.from_array(array) == PhiloxState(2**100, 3)


AN_INTEGER, RANK = "must be an integer from 0 to", "[6], or [1, ..., 1, 6] up to rank 8: got"
WRONG = [
    *each_raises(
        ValueError,
        (lambda: PhiloxState(-1, 0), f"PhiloxState: counter {AN_INTEGER} 2^128-1: got -1"),
        (lambda: PhiloxState(2**128, 0), "from 0 to 2^128-1"),
        (lambda: PhiloxState(0, 2**64), f"key {AN_INTEGER} 2^64-1: got 18446744073709551616"),
        (lambda: PhiloxState.from_seed(-1), f"from_seed: seed {AN_INTEGER} 2^64-1: got -1"),
        (lambda: PhiloxState.from_seeds(2**63, 0), "global_seed"),
        (lambda: PhiloxState.from_seeds(0, -3), f"op_seed {AN_INTEGER} 2^63-1: got -3"),
        (lambda: PhiloxState.openvino_run(0, 0, run=-1), "-1: got -1"),
        (lambda: PhiloxState.for_run(-1), f"for_run: seed {AN_INTEGER} 2^64-1: got -1"),
        (lambda: PhiloxState.for_run(2**64), "from 0 to 2^64-1"),
        (lambda: PhiloxState.for_run(1, -1), "-1: got -1"),
        (lambda: PhiloxState.for_run(1, 2**32), "from 0 to 2^32-1"),
        (lambda: PhiloxState().advance(-1), f"words {AN_INTEGER} 2^130-1: got -1"),
        (lambda: PhiloxState.from_array(np.zeros(5, np.uint32)), f"shape must be {RANK} [5]"),
        (lambda: PhiloxState.from_array(np.zeros((2, 6), np.uint32)), f"{RANK} [2, 6]"),
        (
            lambda: PhiloxState.from_array(np.zeros((1,) * 8 + (6,), np.uint32)),
            f"{RANK} [1, 1, 1, 1, 1, 1, 1, 1, 6]",
        ),
        (lambda: PhiloxState.from_array(np.uint32(3)), f"shape must be {RANK} []"),
    ),
    *each_raises(
        TypeError,
        (lambda: PhiloxState(1.5, 0), f"counter {AN_INTEGER} 2^128-1: got 1.5"),
        (lambda: PhiloxState("1", 0), "Pass an int"),
        (lambda: PhiloxState.for_run(1.5), f"seed {AN_INTEGER} 2^64-1: got 1.5"),
        (lambda: PhiloxState.from_array([0] * 6), "must be uint32: got int64"),
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), WRONG)
def test_a_wrong_argument_is_named(make, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert text in str(raised.value)


@pytest.mark.parametrize("dtype", [None, np.uint32, np.int64, np.float64])
@pytest.mark.parametrize("copy", [None, True])
def test_a_state_goes_wherever_an_array_does(dtype, copy: bool | None) -> None:
    state = PhiloxState(2**127 + 3, 2**64 - 7)
    # As NumPy 2 calls it; NumPy 1 knows no copy of None.
    array = state.__array__(dtype, copy=copy)
    assert_same_bits(array, state.to_array().astype(dtype or np.uint32))
    array[0] = 9
    assert np.array(state)[0] == np.asarray(state, np.uint32)[0] == 3


def test_a_state_has_no_array_to_share() -> None:
    with pytest.raises(ValueError, match=r"PhiloxState: copy must be None or True.*: got False"):
        PhiloxState().__array__(copy=False)


def test_a_pickled_state_names_no_private_module() -> None:
    data = pickle.dumps(PhiloxState(5, 7))
    assert b"onnx_philox._" not in data
    assert pickle.loads(data) == PhiloxState(5, 7)


class _Called:
    """What a pipeline is called with, made when a test needs it."""

    def __init__(self, **how: Any) -> None:
        self._how = how

    @property
    def pipeline(self) -> onnx_philox.Pipeline:
        text = """<ir_version: 8, opset_import: ["": 17]>
            g (float[N, 2] x) => (float[N, 2] y) { y = RandomNormalLike (x) }"""
        return onnx_philox.Pipeline(onnx.parser.parse_model(text), **self._how)


FEED = {"x": np.zeros((2, 2), np.float32)}
MODEL = onnx_philox.graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PhiloxState(key=True),
        lambda: PhiloxState.from_seed(True),
        lambda: PhiloxState.from_seeds(True, 1),
        lambda: PhiloxState.for_run(True),
        lambda: PhiloxState.openvino_run(1, True),
        lambda: onnx_philox.TorchState.from_seed(True),
        lambda: onnx_philox.row_states(True),
        lambda: onnx_philox.row_states([3, True]),
        lambda: onnx_philox.row_states(np.array([True])),
        lambda: onnx_philox.reference.random_normal([2], 0.0, 1.0, "f32", global_seed=True),
        lambda: onnx_philox.graphs.random_normal([2], 0.0, 1.0, "f32", op_seed=True),
        lambda: onnx_philox.openvino.random_uniform([2], 0.0, 1.0, "f32", global_seed=True),
        lambda: onnx_philox.make_reproducible(MODEL, seed=True),
        lambda: onnx_philox.torch_noise(True, [2]),
        lambda: onnx_philox.diffusers.generator(True),
        lambda: onnx_philox.diffusers.latents([3, True], (2,)),
        lambda: onnx_philox.diffusers.latents([3, True], (2,), like="torch"),
        lambda: _Called().pipeline(FEED, seed=True),
        lambda: _Called().pipeline.request(seed=True),
        lambda: _Called(per_row=True).pipeline(FEED, seed=True),
        lambda: _Called(per_row=True).pipeline(FEED, seeds=[3, True]),
        lambda: _Called(per_row=True).pipeline.map([FEED], seed=True),
        lambda: _Called(per_row=True, alignment="pytorch").pipeline(FEED, seeds=[3, True]),
    ],
)
def test_a_bool_is_no_seed(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"must be .*integer.*: got .*True"):
        call()
