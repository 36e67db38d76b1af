"""`PhiloxState`: 128-bit and 64-bit arithmetic, and the six words."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnx_philox
from onnx_philox import (
    PhiloxState,
    TorchState,
    diffusers,
    graphs,
    reference,
    row_states,
    split_states,
)
from tests.common.cases import assert_refused, assert_same_bits

pytestmark = pytest.mark.lowest
COUNTERS = st.integers(0, 2**128 - 1)
KEYS = st.integers(0, 2**64 - 1)
SEEDS = st.integers(0, 2**63 - 1)


@given(COUNTERS, KEYS)
def test_a_state_comes_back_from_its_six_words_of_which_the_least_is_first(
    counter: int, key: int
) -> None:
    state = PhiloxState(counter, key)
    array = state.to_array()
    expected = np.array(
        [(key << 128 | counter) >> 32 * i & 0xFFFFFFFF for i in range(6)], np.uint32
    )
    assert_same_bits(array, expected)
    assert PhiloxState.from_array(array) == state


@given(COUNTERS, KEYS, st.integers(0, 2**70))
def test_advance_adds_the_blocks_of_the_words_and_wraps(counter: int, key: int, words: int) -> None:
    after = PhiloxState(counter, key).advance(words)
    expected = PhiloxState((counter + -(-words // 4)) % 2**128, key)
    assert after == expected


@given(COUNTERS, KEYS, SEEDS, SEEDS)
def test_seeds_add_to_the_key_and_to_the_upper_half_of_the_counter(
    counter: int, key: int, global_seed: int, op_seed: int
) -> None:
    state = PhiloxState(counter, key).with_seeds(global_seed, op_seed)
    expected = (counter + op_seed * 2**64) % 2**128
    assert state.counter == expected
    assert state.key == (key + global_seed) % 2**64
    seeds_alone = PhiloxState.from_seeds(global_seed, op_seed)
    assert seeds_alone == PhiloxState().with_seeds(global_seed, op_seed)


@given(
    SEEDS,
    SEEDS,
    st.integers(0, 2**40),
    st.integers(0, 2**30),
)
def test_openvino_run_skips_256_blocks_an_element_and_never_carries_into_the_seed(
    global_seed: int, op_seed: int, run: int, elements: int
) -> None:
    state = PhiloxState.openvino_run(global_seed, op_seed, run, elements)
    skipped = run * elements * 256 % 2**64
    expected = PhiloxState(op_seed * 2**64 + skipped, global_seed)
    assert state == expected
    for before in ({"run": run}, {"elements": elements}):
        assert PhiloxState.openvino_run(global_seed, op_seed, **before) == PhiloxState.from_seeds(
            global_seed, op_seed
        )


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_a_run_is_counter_word_3_and_the_seed_is_the_key(seed: int, run: int) -> None:
    expected = PhiloxState(run * 2**96, seed)
    assert PhiloxState.for_run(seed, run) == expected
    assert PhiloxState.for_run(seed) == PhiloxState.from_seed(seed)


def test_a_state_is_frozen_and_hashable() -> None:
    state = PhiloxState(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.counter = 3  # type: ignore[misc]
    assert {state: "found"}[PhiloxState(np.uint64(1), np.int32(2))] == "found"


def test_a_seed_is_the_key_and_entropy_differs() -> None:
    expected = PhiloxState(0, 2**64 - 1)
    assert PhiloxState.from_seed(2**64 - 1) == expected
    assert PhiloxState.from_entropy() != PhiloxState.from_entropy()
    assert PhiloxState.from_entropy().counter == 0


@pytest.mark.parametrize(
    "shape",
    [
        (6,),
        (1, 6),
        (1, 1, 1, 6),
        (1,) * 7 + (6,),
    ],
)
def test_a_state_has_rank_1_to_8(shape: tuple[int, ...]) -> None:
    array = PhiloxState(2**100, 3).to_array().reshape(shape)
    assert PhiloxState.from_array(array) == PhiloxState(2**100, 3)


# Not only of states: what else takes seeds, numbers of rows and sizes.
REFUSED = [
    (
        lambda: PhiloxState(-1, 0),
        "PhiloxState: counter INT 2^128-1: got -1",
    ),
    (
        lambda: PhiloxState(2**128, 0),
        "from 0 to 2^128-1",
    ),
    (lambda: PhiloxState(1.5, 0), "TypeError: counter INT 2^128-1: got 1.5"),
    (lambda: PhiloxState("1", 0), "TypeError: Pass an int"),
    (lambda: PhiloxState(0, True), "TypeError: key INT 2^64-1: got True"),
    (
        lambda: PhiloxState(0, 2**64),
        "key INT 2^64-1: got 18446744073709551616",
    ),
    (
        lambda: PhiloxState.from_seed(-1),
        "from_seed: seed INT 2^64-1: got -1",
    ),
    (lambda: PhiloxState.from_seed(False), "TypeError: seed INT 2^64-1: got False"),
    (
        lambda: PhiloxState.from_seeds(2**63, 0),
        "global_seed",
    ),
    (
        lambda: PhiloxState.from_seeds(0, -3),
        "op_seed INT 2^63-1: got -3",
    ),
    (
        lambda: PhiloxState.from_seeds(True, 0),
        "TypeError: global_seed INT 2^63-1: got True",
    ),
    (
        lambda: PhiloxState.from_seeds(0, True),
        "TypeError: op_seed INT 2^63-1: got True",
    ),
    (
        lambda: PhiloxState().with_seeds(True, 0),
        "TypeError: global_seed INT 2^63-1: got True",
    ),
    (
        lambda: PhiloxState.openvino_run(0, 0, run=-1),
        "-1: got -1",
    ),
    (
        lambda: PhiloxState.for_run(-1),
        "for_run: seed INT 2^64-1: got -1",
    ),
    (
        lambda: PhiloxState.for_run(2**64),
        "from 0 to 2^64-1",
    ),
    (lambda: PhiloxState.for_run(1.5), "TypeError: seed INT 2^64-1: got 1.5"),
    (lambda: PhiloxState.for_run(True), "TypeError: seed INT 2^64-1: got True"),
    (
        lambda: PhiloxState.for_run(1, -1),
        "-1: got -1",
    ),
    (
        lambda: PhiloxState.for_run(1, 2**32),
        "from 0 to 2^32-1",
    ),
    (
        lambda: PhiloxState.for_run(1, run=True),
        "TypeError: run INT 2^32-1: got True",
    ),
    (
        lambda: PhiloxState().advance(-1),
        "words INT 2^130-1: got -1",
    ),
    (
        lambda: PhiloxState.from_array(np.zeros(5, np.uint32)),
        "shape must be RANK [5]",
    ),
    (
        lambda: PhiloxState.from_array(np.zeros((2, 6), np.uint32)),
        "RANK [2, 6]",
    ),
    (
        lambda: PhiloxState.from_array(np.zeros((1,) * 8 + (6,), np.uint32)),
        "RANK [1, 1, 1, 1, 1, 1, 1, 1, 6]",
    ),
    (
        lambda: PhiloxState.from_array(np.uint32(3)),
        "shape must be RANK []",
    ),
    (
        lambda: PhiloxState.from_array([0] * 6),
        "TypeError: must be uint32: got int64",
    ),
    (
        lambda: PhiloxState().__array__(copy=False),
        "PhiloxState: copy must be None or True...: got False",
    ),
    (
        lambda: PhiloxState(1, 2).split(-1),
        "PhiloxState.split: n INT 2^63-1: got -1",
    ),
    (
        lambda: PhiloxState(1, 2).split(2.0),
        "TypeError: split: n INT 2^63-1: got 2.0",
    ),
    (
        lambda: PhiloxState(1, 2).split(2**62),
        "the memory that is free: got 4611686018427387904. Make an",
    ),
    (
        lambda: PhiloxState(1, 2).fold_in(2**64),
        "fold_in: i INT 2^64-1: got 18446744073709551616",
    ),
    (
        lambda: PhiloxState(1, 2).fold_in("a"),
        "TypeError: PhiloxState.fold_in: i INT 2^64-1: got 'a'",
    ),
    (
        lambda: split_states(PhiloxState(1, 2), -1),
        "split_states: n INT 2^58-1: got -1",
    ),
    (
        lambda: split_states(PhiloxState(1, 2), 10**15),
        "must be small enough for the memory that is free",
    ),
    (
        lambda: split_states(np.zeros((2, 6), np.uint32), 3),
        "split_states: state's shape must be RANK [2, 6]",
    ),
    (
        lambda: split_states(np.zeros(6), 3),
        "TypeError: state must be uint32: got float64",
    ),
    (lambda: row_states(-1), "row_states: seeds INT 2^64-1: got -1"),
    (
        lambda: row_states([3, -1]),
        "row_states: seeds[1] INT 2^64-1: got -1",
    ),
    (
        lambda: row_states([2**63, -1]),
        "row_states: seeds[1] INT 2^64-1: got -1",
    ),
    (
        lambda: row_states(2**64),
        "seeds INT 2^64-1: got 18446744073709551616",
    ),
    (
        lambda: row_states([0, 2**64]),
        "seeds[1] INT 2^64-1: got 18446744073709551616",
    ),
    (
        lambda: row_states(np.ones((2, 6), int)),
        "an integer, or a 1-D array of them: got shape [2, 6]",
    ),
    (
        lambda: row_states(1, 2**32),
        "rows INT 2^32-1: got 4294967296",
    ),
    (
        lambda: row_states(1, range(-1, 3)),
        "rows[0] INT 2^32-1: got -1",
    ),
    (
        lambda: row_states(1, run=np.array([0, 2**32])),
        "run[1] INT 2^32-1: got 4294967296",
    ),
    (
        lambda: row_states([1, 2, 3], range(4)),
        "the lengths of seeds, rows and run must be equal, or 1: got 3, 4 and 1. Pass",
    ),
    (lambda: row_states(1.0), "TypeError: SEVERAL 1.0"),
    (
        lambda: row_states([1, 2.0]),
        "TypeError: seeds[1] INT 2^64-1: got 2.0",
    ),
    (
        lambda: row_states(np.ones(2)),
        "TypeError: seeds[0] INT 2^64-1: got ...1.0",
    ),
    (lambda: row_states(None), "TypeError: SEVERAL None"),
    (lambda: row_states("17"), "TypeError: SEVERAL '17'"),
    (
        lambda: row_states([1, True]),
        "TypeError: seeds[1] INT 2^64-1: got True",
    ),
    (lambda: row_states(False), "TypeError: got False"),
    (
        lambda: row_states(np.array([True])),
        "TypeError: seeds[0] must be an integer",
    ),
    (
        lambda: row_states(1, np.array([True])),
        "TypeError: rows[0] must be an integer",
    ),
    (
        lambda: row_states([[1], [2, 3]]),
        "TypeError: seeds[0] INT 2^64-1: got [1]",
    ),
    (
        lambda: row_states(PhiloxState(0, 1)),
        "TypeError: SEVERAL PhiloxState(counter=0, key=1)",
    ),
    (
        lambda: reference.random_normal([2], 0.0, 1.0, "f32", global_seed=True),
        "TypeError: integer...: got True",
    ),
    (
        lambda: graphs.random_normal([2], 0.0, 1.0, "f32", op_seed=True),
        "TypeError: integer...: got True",
    ),
    (
        lambda: onnx_philox.openvino.random_uniform([2], 0.0, 1.0, "f32", global_seed=True),
        "TypeError: ...True",
    ),
    (
        lambda: onnx_philox.make_reproducible(MODEL, seed=True),
        "TypeError: an integer from 0 to ...: got True",
    ),
    (lambda: TorchState.from_seed(True), "TypeError: INT ...: got True"),
    (
        lambda: onnx_philox.torch_noise(True, [4]),
        "TypeError: INT ...: got True",
    ),
    (
        lambda: onnx_philox.torch_cuda_states(1, 0, True),
        "TypeError: must be an integer ...: got True",
    ),
    (
        lambda: diffusers.generator(-1),
        "seed INT 2^64-1: got -1",
    ),
    (
        lambda: diffusers.generator([1.5]),
        "TypeError: diffusers.generator: seeds[0] must be",
    ),
    (lambda: diffusers.generator(True), "TypeError: INT ...: got True"),
    (
        lambda: diffusers.generator([1, True]),
        "TypeError: INT ...: got True",
    ),
    (
        lambda: diffusers.generator(True, like="torch"),
        "TypeError: INT ...: got True",
    ),
    (
        lambda: diffusers.generator(1, like="torch_cuda", gpu=(True, 5)),
        "TypeError: an integer ...: got True",
    ),
    (
        lambda: diffusers.generator([1, 2]).randn(3, 4),
        "a row for each seed",
    ),
    (
        lambda: diffusers.latents(-1, (4, 4)),
        "diffusers.latents: seeds[0] must be",
    ),
    (
        lambda: diffusers.latents([3, True], (4,)),
        "TypeError: INT ...: got True",
    ),
    (
        lambda: diffusers.latents([3, True], (4,), like="torch"),
        "TypeError: INT ...: got True",
    ),
    (
        lambda: diffusers.latents([1, 2], (4, "8")),
        "TypeError: SIZES",
    ),
    (
        lambda: diffusers.latents([1, 2], (4, -8)),
        "diffusers.latents: input 'shape' must be dimensions of 0 or more",
    ),
    (
        lambda: diffusers.latents([1], (True, 4)),
        "TypeError: SIZES",
    ),
    (
        lambda: diffusers.latents([1], 4),
        "TypeError: SIZES",
    ),
    (
        lambda: diffusers.generator(1).randn(True, 3),
        "TypeError: SIZES",
    ),
    (
        lambda: diffusers.generator(1, like="torch").randn(np.True_, 3),
        "TypeError: SIZES",
    ),
    (
        lambda: onnx_philox.torch_noise(1, [True, 3]),
        "TypeError: SIZES",
    ),
    (
        lambda: reference.random_uniform([True, 2], 0, 1, "f32", global_seed=1),
        "TypeError: SIZES",
    ),
    (
        lambda: graphs.random_uniform([True, 2], 0, 1, "f32", global_seed=1),
        "TypeError: SIZES",
    ),
]
WORDS = {
    "INT": "must be an integer from 0 to",
    "RANK": "[6], or [1, ..., 1, 6] up to rank 8: got",
    "SEVERAL": "seeds must be an integer from 0 to 2^64-1, or a list of such integers: got",
    "SIZES": "input 'shape' must be a sequence of integers: got",
}
MODEL = graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True)


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_a_wrong_argument_is_named(call: Callable[[], Any], words: str) -> None:
    for name, said in WORDS.items():
        words = words.replace(name, said)
    assert_refused(call, words)


@pytest.mark.parametrize("dtype", [None, np.uint32, np.int64, np.float64])
@pytest.mark.parametrize("copy", [None, True])
def test_a_state_goes_wherever_an_array_does(dtype, copy: bool | None) -> None:
    state = PhiloxState(2**127 + 3, 2**64 - 7)
    # As NumPy 2 calls it; NumPy 1 knows no copy of None.
    array = state.__array__(dtype, copy=copy)
    expected = state.to_array().astype(dtype or np.uint32)
    assert_same_bits(array, expected)
    array[0] = 9
    assert np.array(state)[0] == np.asarray(state, np.uint32)[0] == 3


def test_a_pickled_state_names_no_private_module() -> None:
    data = pickle.dumps(PhiloxState(5, 7))
    assert b"onnx_philox._" not in data
    assert pickle.loads(data) == PhiloxState(5, 7)
