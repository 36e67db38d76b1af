"""Calls of `generate` that are like an earlier one: what was kept of that one changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from onnx_philox import PhiloxState, generate, reference

STATE = PhiloxState(2**64 - 1, key=42)
LOGITS = np.log(np.arange(1, 13, dtype=np.float32).reshape(2, 6))


def probabilities(count: int) -> np.ndarray:
    return np.linspace(0.1, 0.9, count, dtype=np.float32)


def refused(**given: Any) -> str:
    """What a call is refused with; the memory is as it was."""
    out = given["out"]
    before = out.copy()
    with pytest.raises((TypeError, ValueError)) as error:
        generate(STATE, **given)
    np.testing.assert_array_equal(out, before)
    return str(error.value)


def wrong_probability() -> dict[str, Any]:
    p = probabilities(5)
    p[3] = 2
    return {"out": np.zeros(5, bool), "p": p}


def wrong_rate() -> dict[str, Any]:
    rate = np.array([1, 2, -3], np.float32)
    return {"out": np.zeros(3, np.int64), "operator": "RandomPoisson", "rate": rate}


def memory_that_is_read_only() -> dict[str, Any]:
    out = np.zeros(5, bool)
    out.flags.writeable = False
    return {"out": out, "p": probabilities(5)}


def memory_of_the_mask_that_is_read_only() -> dict[str, Any]:
    mask = np.zeros(4, bool)
    mask.flags.writeable = False
    return {**dropped(), "mask": mask}


def dropped() -> dict[str, Any]:
    return {
        "out": np.zeros(4, np.float32),
        "operator": "RandomDropout",
        "data": np.arange(4, dtype=np.float32),
        "ratio": np.array(0.5, np.float32),
        "mask": np.zeros(4, bool),
    }


def rates() -> dict[str, Any]:
    rate = np.array([1, 2, 3], np.float32)
    return {"out": np.zeros(3, np.int64), "operator": "RandomPoisson", "rate": rate}


def permutations() -> dict[str, Any]:
    return {"out": np.zeros((2, 4), np.int64), "operator": "RandomPermutation"}


def permutations_of_permutations() -> dict[str, Any]:
    return {"out": np.zeros((3, 2, 4), np.int64), "operator": "RandomPermutation"}


def memory_with_gaps() -> dict[str, Any]:
    return {**booleans(), "out": np.zeros(10, bool)[::2]}


def booleans() -> dict[str, Any]:
    return {"out": np.zeros(5, bool), "p": probabilities(5)}


def test_an_alignment_that_is_an_array_is_refused_in_words() -> None:
    alignments = np.array(["tensorflow", "pytorch"])
    words = refused(out=np.zeros(3, np.float32), alignment=alignments)
    assert words.startswith("generate: alignment must be"), words


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (booleans, wrong_probability),
        (booleans, memory_that_is_read_only),
        (rates, wrong_rate),
        (dropped, memory_of_the_mask_that_is_read_only),
        (booleans, memory_with_gaps),
        (permutations, permutations_of_permutations),
    ],
)
def test_a_wrong_call_is_refused_as_if_it_were_the_first(
    right: Callable[[], dict[str, Any]],
    wrong: Callable[[], dict[str, Any]],
) -> None:
    before = refused(**wrong())
    for _ in range(2):
        generate(STATE, **right())
    assert refused(**wrong()) == before
    generate(STATE, **right())


def test_arrays_are_read_in_each_call() -> None:
    p = probabilities(64)
    out = np.zeros(64, bool)
    for _ in range(3):
        generate(STATE, out=out, p=p)
        expected, _ = reference.random_bernoulli([64], p, state=STATE)
        np.testing.assert_array_equal(out, expected)
        p[:] = p[::-1].copy()
        p[0] /= 2


def test_one_array_given_twice_is_not_taken_for_two() -> None:
    """Equal arrays in a first call, others in later ones."""
    numbers = np.full(1, 0.5, np.float32)
    out = np.zeros(8, np.float32)
    given = {"operator": "RandomNormal", "mean": numbers, "scale": numbers}
    generate(STATE, out=out, **given)
    for scale in (2.0, 3.0):
        given = {"mean": np.full(1, 7, np.float32), "scale": np.full(1, scale, np.float32)}
        generate(STATE, out=out, operator="RandomNormal", **given)
        expected, _ = reference.random_normal([8], 7, scale, "f32", state=STATE)
        np.testing.assert_array_equal(out, expected)


def test_memory_of_an_input_is_drawn_into_as_if_it_were_a_copy() -> None:
    for _ in range(3):
        data = np.arange(1000, dtype=np.float32)
        given = {"operator": "RandomDropout", "ratio": np.array(0.5, np.float32)}
        expected, _, _ = reference.random_dropout(data.copy(), 0.5, state=STATE)
        apart = np.zeros_like(data)
        generate(STATE, out=apart, data=data.copy(), **given)
        generate(STATE, out=data, data=data, **given)
        np.testing.assert_array_equal(apart, expected)
        np.testing.assert_array_equal(data, expected)


def test_arrays_that_need_a_copy_are_read_too() -> None:
    """No call takes the memory of the call before it."""
    for start in (0.1, 0.3, 0.5):
        p = np.linspace(start, 0.9, 32, dtype=np.float32)
        of_another_order = p[::2].astype(">f4")
        beside_words = np.zeros(65, np.uint8)[1:].view(np.float32)
        beside_words[:] = p[::2]
        expected, _ = reference.random_bernoulli([16], p[::2], state=STATE)
        for given in (p[::2].copy(), p[::2], of_another_order, beside_words):
            out = np.zeros(16, bool)
            generate(STATE, out=out, p=given)
            np.testing.assert_array_equal(out, expected)


def test_permutations_of_rows_of_one_length_are_prepared_once() -> None:
    for shape in ((5,), (2, 5), (3, 5), (1, 5), (0, 5), (5, 0), (0,)):
        out = np.zeros(shape, np.int32)
        after = generate(STATE, out=out, operator="RandomPermutation")
        expected, after_words = reference.random_permutation(shape, "i32", state=STATE)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(after.to_array(), after_words)


def test_a_state_that_wraps_around_is_followed() -> None:
    last = PhiloxState(2**128 - 1, key=2**64 - 1)
    for _ in range(3):
        out = np.zeros(8, np.int64)
        after = generate(last, out=out, operator="RandomPermutation")
        assert after == PhiloxState(after.counter, key=2**64 - 1)
        expected, after_words = reference.random_permutation([8], state=last)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(after.to_array(), after_words)


def test_threads_draw_at_the_same_time() -> None:
    def draw(key: int) -> None:
        state = PhiloxState(0, key=key)
        out = np.zeros((2, 100), np.int64)
        given = {"operator": "RandomCategorical", "logits": LOGITS, "sample_size": 100}
        expected, _ = reference.random_categorical(LOGITS, 100, state=state)
        for _ in range(200):
            generate(state, out=out, **given)
            np.testing.assert_array_equal(out, expected)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(draw, range(16)))
