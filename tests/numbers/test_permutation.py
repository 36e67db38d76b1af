"""RandomPermutation: the rule, its distribution, and every runtime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._contract.operators import RANDOM_PERMUTATION
from onnx_philox._numbers.permutation import Permutation
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import assert_all_same, assert_same_bits, parse
from tests.common.operators import STATE, by_core
from tests.common.runtimes import OpenVino

TYPES = ["i32", "i64"]
# One block or less, odd rows, rows that share a block, rows that are sorted on the stack, and
# rows that are dealt out first.
SHAPES = [
    [1],
    [2],
    [5],
    [3, 5],
    [40, 3],
    [2, 1023],
    [1024],
    [3, 1025],
    [20_011],
    [2, 70_001],
]


def sorted_keys(words: np.ndarray, row: int) -> list[list[int]]:
    """The rule in Python numbers: sorted keeps the order of equal keys."""
    pairs = words.reshape(-1, row, 2).tolist()
    keys = [[high << 32 | low for low, high in pairs_of_row] for pairs_of_row in pairs]
    return [sorted(range(row), key=keys_of_row.__getitem__) for keys_of_row in keys]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    "shape",
    [
        *SHAPES,
        [0],
        [7, 0],
        [0, 7],
    ],
    ids=str,
)
def test_a_permutation_is_the_order_of_its_keys(shape: list[int], type_: str) -> None:
    values, after = reference.random_permutation(shape, type_, state=STATE)
    words, after_words = reference.random_generator(STATE, [2 * values.size])
    assert values.shape == tuple(shape)
    if values.size:
        expected = sorted_keys(words, shape[-1])
        assert values.reshape(-1, shape[-1]).tolist() == expected
    assert_same_bits(after, after_words)
    given = {"shape": np.array(shape), "state": STATE}
    assert_all_same(by_core("RandomPermutation", given, {"output_type": type_}), [values, after])


def test_parts_of_a_row_of_millions_are_sorted_in_place() -> None:
    given = {"shape": np.array([2_400_000]), "state": STATE}
    types = {"output_type": "i32"}
    expected = reference.random_permutation(**given, **types)
    assert_all_same(by_core("RandomPermutation", given, types), expected)


def test_equal_keys_keep_their_order() -> None:
    # Two values for each word: four keys, which differ in the high or in the low word.
    words = np.random.default_rng(5).integers(0, 2, 2 * 500, np.uint32)
    convert = Permutation(np.array([5, 100])).converter(RANDOM_PERMUTATION.output_types[0])
    values = np.asarray(convert(0, words)).reshape(5, 100)
    assert values.tolist() == sorted_keys(words, 100)


SHUFFLED = """shuffled (float[n, 2] x, uint32[6] state) => (float[n, 2] y, uint32[6] next_state)
    <int64[1] zero = {0}> {
  of_x = Shape (x)
  size = Gather <axis = 0> (of_x, zero)
  order, next_state = onnx_philox.RandomPermutation (size, state)
  y = Gather <axis = 0> (x, order)
}
"""


def test_rows_gathered_by_a_permutation_are_in_its_order(
    ort_backend: str, openvino: OpenVino
) -> None:
    model = parse(SHUFFLED)
    x = np.arange(4002, dtype=np.float32).reshape(-1, 2)
    order, after = reference.random_permutation([len(x)], state=STATE)
    feeds = {"x": x, "state": STATE}
    for got in (
        InferenceSession(model, backend=ort_backend).run(None, feeds),
        openvino(model, feeds),
    ):
        assert_same_bits(np.asarray(got[0]), x[order])
        assert_same_bits(np.asarray(got[1]), after)


def test_indices_that_i32_does_not_hold_are_refused() -> None:
    assert graphs.random_permutation([2**31], "i32", global_seed=1)
    with pytest.raises(ValueError, match=r"with n at most 2147483648 of i32: got \[2147483649\]"):
        graphs.random_permutation([2**31 + 1], "i32", global_seed=1)


@pytest.mark.parametrize(
    "sizes",
    [
        {"shape": [5]},
        {"shape": [None]},
        {"shape": None, "rank": 1},
    ],
)
def test_one_row_has_no_states_of_rows(sizes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be \[m, n\] with per_row, .*: got one row"):
        graphs.random_permutation(**sizes, per_row=True)


def test_all_orders_of_five_are_equally_likely() -> None:
    values = fill(np.empty((240_000, 5), np.int32))
    code = values @ np.array([625, 125, 25, 5, 1])
    codes = [np.dot(order, [625, 125, 25, 5, 1]) for order in itertools.permutations(range(5))]
    counts = np.bincount(code, minlength=3125)[codes]
    assert counts.sum() == len(values)
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_each_number_is_equally_likely_at_each_position() -> None:
    size, rows = 64, 40_000
    values = fill(np.empty((rows, size), np.int32))
    where = np.bincount((values * size + np.arange(size)).reshape(-1), minlength=size * size)
    # Rows and columns have fixed sums.
    statistic = ((where - rows / size) ** 2).sum() / (rows / size) * (size - 1) / size
    assert 1e-4 < scipy.stats.chi2.cdf(statistic, (size - 1) ** 2) < 1 - 1e-4


def fill(values: np.ndarray) -> np.ndarray:
    arguments = {"shape": np.array(values.shape), "state": PhiloxState(0, 2024).to_array()}
    attributes = {"output_type": "i32"}
    return by_core("RandomPermutation", arguments, attributes)[0]
