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
