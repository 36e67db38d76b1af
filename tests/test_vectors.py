"""NumPy gives what Random123, TensorFlow, OpenVINO's documentation and DirectML's rule give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import load_vectors

from onnx_philox import PhiloxState, reference
from onnx_philox._contract.types import BY_NAME

KNOWN = load_vectors("known")
TENSORFLOW = load_vectors("tensorflow")


def _number(words: list[str]) -> int:
    return sum(int(word, 16) << (32 * i) for i, word in enumerate(words))


@pytest.mark.parametrize("row", KNOWN["random123_philox4x32_10"]["rows"])
def test_a_block_is_what_random123_lists(row: list[list[str]]) -> None:
    counter, key, expected = row
    state = PhiloxState(_number(counter), _number(key))
    bits, _ = reference.random_generator(state.to_array(), [4])
    assert [f"{word:08x}" for word in bits.tolist()] == expected


@pytest.mark.parametrize("row", KNOWN["openvino_documented"]["rows"])
def test_values_are_those_that_openvino_documents(row: dict) -> None:
    values, _ = reference.random_uniform(
        row["shape"],
        row["minval"],
        row["maxval"],
        row["output_type"],
        global_seed=row["global_seed"],
        op_seed=row["op_seed"],
    )
    # As printed: the shortest decimals of f32, eight places of f64, integers.
    expected = np.array(row["output"])
    printed = np.round(values, 8) if row["output_type"] == "f64" else values
    np.testing.assert_array_equal(printed, expected.astype(values.dtype))


@pytest.mark.parametrize("row", KNOWN["openvino_documented"]["rows"])
def test_documented_values_are_made_of_random_generator_s_bits(row: dict) -> None:
    state = PhiloxState.from_seeds(row["global_seed"], row["op_seed"]).to_array()
    low, high, count = row["minval"], row["maxval"], math.prod(row["shape"])
    x, _ = reference.random_generator(state, [count * 2 if row["output_type"] == "f64" else count])
    match row["output_type"]:
        case "f32":
            values = (x & 0x7FFFFF | 0x3F800000).view(np.float32) - np.float32(1)
        case "f64":
            upper, lower = x[::2].astype(np.uint64), x[1::2].astype(np.uint64)
            u = ((upper & 0xFFFFF) << 32 | lower | 1023 << 52).view(np.float64) - 1
            values = np.round(u * (high - low) + low, 8)
        case "i32":
            values = x % np.uint32(high - low) + np.uint32(low)
    expected = np.array(row["output"]).astype(values.dtype)
    np.testing.assert_array_equal(values.reshape(row["shape"]), expected)


def _round_of_the_page(n: list[int], counter: list[int], key: list[int]) -> tuple[list[int], ...]:
    """A round as the page of RandomUniform-8 prints it; of each pair R is first, then L."""
    (rn, ln), (rc, lc), (rk, lk) = n, counter, key
    new_n, new_counter = rn * 0xD2511F53, rc * 0xCD9E8D57
    return (
        [new_n >> 32 ^ lk ^ ln, new_n & _WORD],
        [new_counter >> 32 ^ rk ^ lc, new_counter & _WORD],
        [rk + 0xBB67AE85 & _WORD, lk + 0x9E3779B9 & _WORD],
    )


def _round_that_crosses(n: list[int], counter: list[int], key: list[int]) -> tuple[list[int], ...]:
    """A round that gives the page's own examples: each pair is made of the other one's product."""
    (rn, ln), (rc, lc), (rk, lk) = n, counter, key
    of_counter, of_n = rc * 0xCD9E8D57, rn * 0xD2511F53
    return (
        [of_counter >> 32 ^ rk ^ ln, of_counter & _WORD],
        [of_n >> 32 ^ lk ^ lc, of_n & _WORD],
        [rk + 0x9E3779B9 & _WORD, lk + 0xBB67AE85 & _WORD],
    )


_WORD = 2**32 - 1


@pytest.mark.parametrize(
    ("round_", "order", "expected"),
    [
        (_round_of_the_page, (1, 0, 3, 2), [0.46484125, 0.35044253, 0.37440777, 0.83021593]),
        (_round_that_crosses, (0, 1, 2, 3), [0.7011236, 0.30539632, 0.93931055, 0.9456035]),
    ],
)
def test_openvino_s_printed_round_gives_other_numbers_than_its_first_example(
    round_, order, expected
) -> None:
    (row,) = [r for r in KNOWN["openvino_documented"]["rows"] if r["output_type"] == "f32"]
    n, counter, key = [0, 0], [row["op_seed"], 0], [row["global_seed"], 0]
    for _ in range(10):
        n, counter, key = round_(n, counter, key)
    x = np.array([*n, *counter], np.uint32)[list(order)]
    values = (x & 0x7FFFFF | 0x3F800000).view(np.float32) - np.float32(1)
    np.testing.assert_array_equal(values, np.float32(expected))
    documented = np.float32(row["output"]).ravel()[:4]
    assert np.array_equal(values, documented) == (round_ is _round_that_crosses)


def test_directml_s_counter_adds_up_by_the_rule_and_its_printed_example_backwards() -> None:
    example = KNOWN["directml_documented"]
    before = int(example["printed"]["before"], 16)
    printed_after = int(example["printed"]["after"], 16)
    by_the_rule = int(example["after_by_the_rule"], 16)
    sizes = example["printed"]["output_sizes"]

    def after(counter: int, dimensions: list[int]) -> int:
        _, state = reference.random_generator(PhiloxState(counter, 9).to_array(), dimensions)
        return PhiloxState.from_array(state).counter

    assert math.prod(sizes) // 4 == example["printed"]["blocks"]
    assert after(before, sizes) == by_the_rule == before + example["printed"]["blocks"]
    # The page's error: its "after" is "before" minus the blocks.
    assert after(printed_after, sizes) == before


@pytest.mark.parametrize("row", TENSORFLOW["bits"])
def test_bits_equal_those_of_tensorflow(row: dict) -> None:
    bits, _ = reference.random_generator(np.array(row["state"], np.uint32), [row["elements"]])
    assert bits.tolist() == row["bits"]


@pytest.mark.parametrize("row", TENSORFLOW["uniform"])
def test_uniform_values_equal_those_of_tensorflow(row: dict) -> None:
    values, _ = reference.random_uniform(
        [row["elements"]],
        row["minval"],
        row["maxval"],
        row["output_type"],
        state=np.array(row["state"], np.uint32),
    )
    assert values.tobytes().hex() == row["values_hex"]


@pytest.mark.parametrize("row", TENSORFLOW["stateful_uniform"])
def test_successive_runs_of_tensorflow_s_stateful_op_start_where_openvino_run_says(
    row: dict,
) -> None:
    limits = (0, 1) if BY_NAME[row["output_type"]].is_float else (row["minval"], row["maxval"])
    for run, expected in enumerate(row["runs_hex"]):
        state = PhiloxState.openvino_run(row["global_seed"], row["op_seed"], run, row["elements"])
        values, _ = reference.random_uniform(
            [row["elements"]], *limits, row["output_type"], state=state.to_array()
        )
        assert values.tobytes().hex() == expected
