"""`TorchState`: torch's CPU generator as words, bytes and JSON; against torch with `-m engines`."""

from __future__ import annotations

import copy
import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onnx_philox
from onnx_philox import TorchState, _native
from onnx_philox._torch.numbers import torch_state as torch_state
from tests.common.cases import assert_refused, assert_same_bits

STATE = TorchState.from_seed(2**64 - 42)
GOOD = STATE.to_torch().tobytes()


def drawn() -> TorchState:
    """A state with a cached normal, in the middle of a block."""
    generator = onnx_philox.diffusers.generator(42, like="torch")
    generator.randn(700)
    generator.randn(3)
    return TorchState.from_array(generator.state)


def changed(place: int, form: str, value: float, of: bytes = GOOD) -> bytes:
    data = bytearray(of)
    struct.pack_into(form, data, place, value)
    return bytes(data)


@pytest.mark.parametrize("is_there", [True, False], ids=["the core's", "Python's"])
def test_the_words_of_seeds_are_those_of_numpy_in_the_contract_s_order(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = [0, 1, 42, 2**31, 2**32 - 1, 2**32 + 7, 5 << 32 | 7, 2**63 - 1, 2**64 - 1]
    seeds = np.array(seeds, np.uint64)
    if is_there:
        assert _native.HAS_TORCH_STATES
    monkeypatch.setattr(_native, "HAS_TORCH_STATES", is_there)
    for of in (seeds, seeds[::-1], seeds[:3].astype(np.int64), seeds[:0]):
        states = torch_state.words_of_seeds(of)
        assert states.shape == (len(of), 632)
        for words, seed in zip(states, of.tolist(), strict=True):
            expected = np.random.RandomState(seed % 2**32).get_state()[1]
            assert_same_bits(words[5:629], expected)
            assert words[:5].tolist() == [seed % 2**32, seed >> 32, 1, 1, 0]
            assert words[629:].tolist() == [0, 0, 0]
            assert_same_bits(TorchState.from_seed(seed).to_array(), words)
            assert TorchState.from_seed(seed).seed == seed


def test_a_cached_normal_and_the_place_in_a_block_are_words_too() -> None:
    array = drawn().to_array()
    expected = [42, 0, 525, 1, 100]
    assert array[:5].tolist() == expected
    assert array[631] == 1
    assert array[629:631].view(np.float64)[0] == drawn().normal


def test_a_state_comes_back_from_words_bytes_json_pickles_and_copies() -> None:
    for state in (STATE, drawn()):
        for back in (
            TorchState.from_array(state.to_array()),
            TorchState.from_array(state.to_array().reshape(1, 1, 632)),
            TorchState.from_array(state),
            TorchState.from_torch(state.to_torch()),
            TorchState.from_torch(state.to_torch().tobytes()),
            TorchState.from_torch(memoryview(state.to_torch().tobytes())),
            TorchState.from_json(state.to_json()),
            TorchState.from_json(state.to_json().encode()),
            TorchState.from_json(json.loads(state.to_json())),
            pickle.loads(pickle.dumps(state)),
            copy.deepcopy(state),
        ):
            assert back == state
            assert hash(back) == hash(state)
            assert_same_bits(back.to_torch(), state.to_torch())
    assert drawn() != STATE
    assert STATE != 3
    assert b"onnx_philox._" not in pickle.dumps(STATE)


def test_a_state_is_immutable() -> None:
    state = TorchState.from_seed(1)
    with pytest.raises(AttributeError, match="immutable: 'seed'"):
        state.seed = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del state._array
    state.to_array()[0] = 9
    np.asarray(state)[0] = 9
    state.to_torch()[0] = 9
    assert state == TorchState.from_seed(1)
    given = state.to_array()
    taken = TorchState.from_array(given)
    given[0] = 9
    assert taken == state
    with pytest.raises(
        ValueError, match="copy must be None or True, since a state is immutable: got False"
    ):
        state.__array__(copy=False)


def test_a_state_shows_where_it_is() -> None:
    assert repr(TorchState.from_seed(42)) == "TorchState(seed=42, left=1, next=0)"
    assert repr(drawn()).startswith("TorchState(seed=42, left=525, next=100, normal=")


REFUSED = [
    (
        lambda: TorchState(),
        "TypeError: made from a source: got no source. Call TorchState.from_seed(seed)",
    ),
    (
        lambda: TorchState.from_seed(1.5),
        "TypeError: seed must be an integer from 0 to 2^64-1: got 1.5",
    ),
    (
        lambda: TorchState.from_array(np.zeros(632)),
        "TypeError: must be uint32: got float64",
    ),
    (
        lambda: TorchState.from_torch(np.zeros(5056)),
        "TypeError: must be uint8: got float64",
    ),
    (
        lambda: TorchState.from_seed(-1),
        "TorchState.from_seed: seed must be an integer from 0 to 2^64-1: got -1. torch takes "
        "it for 18446744073709551615: pass that.",
    ),
    (
        lambda: TorchState.from_seed(2**64),
        "from 0 to 2^64-1",
    ),
    (
        lambda: TorchState.from_array(np.zeros(6, np.uint32)),
        "are a PhiloxState",
    ),
    (
        lambda: TorchState.from_array(np.zeros((2, 632), np.uint32)),
        "must be [632], or [1, ..., 1, 632] up to rank 8: got [2, 632]",
    ),
    (
        lambda: onnx_philox.PhiloxState.from_array(STATE.to_array()),
        "shape must be [6], or [1, ..., 1, 6] up to rank 8: got [632]",
    ),
    (
        lambda: TorchState.from_array(np.zeros(632, np.uint32)),
        "left must be 1, or 625 less its next of 0: got 0",
    ),
    (
        lambda: TorchState.from_torch(bytes(16)),
        "must be the 5,056 bytes of a CPU generator's get_state(): got 16 bytes, the state "
        "of a CUDA generator",
    ),
    (
        lambda: TorchState.from_torch(GOOD[:-8]),
        "got 5048 bytes",
    ),
    (
        lambda: TorchState.from_torch(changed(8, "<i", -3)),
        "left must be 1, or 625 less its next of 0: got -3",
    ),
    (
        lambda: TorchState.from_torch(changed(8, "<i", 600)),
        "must be 1, or 625 less",
    ),
    (
        lambda: TorchState.from_torch(changed(12, "<i", 0)),
        "seeded must be 1: got 0",
    ),
    (
        lambda: TorchState.from_torch(changed(12, "<i", 7)),
        "seeded must be 0 or 1: got 7",
    ),
    (
        lambda: TorchState.from_torch(changed(16, "<Q", 625)),
        "next must be from 0 to 624: got 625",
    ),
    (
        lambda: TorchState.from_torch(changed(16, "<Q", 2**40)),
        "must be from 0 to 624",
    ),
    (
        lambda: TorchState.from_torch(changed(24, "<Q", 2**32)),
        "less than 2^32",
    ),
    (
        lambda: TorchState.from_torch(changed(5040, "<i", 2)),
        "is_cached must be 0 or 1: got 2",
    ),
    (
        lambda: TorchState.from_torch(
            changed(
                5024,
                "<d",
                float("nan"),
                changed(5040, "<i", 1),
            )
        ),
        "cached normal must be a finite number: got nan",
    ),
    (
        lambda: TorchState.from_torch(changed(5052, "<i", 1)),
        "cached float32 normal",
    ),
    (lambda: TorchState.from_json("{"), "no JSON"),
    (lambda: TorchState.from_json("[]"), "the text must be a state of alignment 'pytorch': got []"),
    (lambda: TorchState.from_json('{"onnx_philox": true}'), "version must be 1: got True"),
    (
        lambda: TorchState.from_json({"onnx_philox": 1, "alignment": "tensorflow"}),
        "alignment must be 'pytorch': got 'tensorflow'",
    ),
    (
        lambda: TorchState.from_json(
            {
                "onnx_philox": 1,
                "alignment": "pytorch",
                "state": [1] * 6,
            }
        ),
        "632 words of 32 bits",
    ),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_no_state_is_named(make: Callable[[], Any], words: str) -> None:
    assert_refused(make, words)


@pytest.mark.engines
def test_torch_s_generator_gives_its_state_and_goes_on_from_ours() -> None:
    import torch

    for seed in (0, 42, 2**63 - 1, 2**64 - 1):
        generator = torch.Generator().manual_seed(seed)
        assert_same_bits(TorchState.from_seed(seed).to_torch(), generator.get_state().numpy())
        torch.rand(700, generator=generator)
        torch.randn(3, generator=generator)
        state = TorchState.from_torch(generator.get_state())
        assert state.seed == generator.initial_seed()
        assert state.normal is not None
        other = torch.Generator()
        other.set_state(torch.from_numpy(state.to_torch()))
        assert_same_bits(other.get_state().numpy(), state.to_torch())
        for _ in range(2):
            expected = torch.randn(5, generator=generator)
            assert torch.equal(torch.randn(5, generator=other), expected)


@pytest.mark.engines
def test_a_negative_seed_is_to_torch_what_the_message_says() -> None:
    import torch

    assert torch.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
