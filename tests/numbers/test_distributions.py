"""The distributions in NumPy: docs/specification.md, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common import specification as spec
from tests.common.cases import SEED, assert_all_same, assert_refused, assert_same_bits
from tests.common.operators import CHUNK_WORDS, ZERO_FIRST
from tests.common.runtimes import OpenVino

F32 = np.float32
F64 = np.float64
STATES = st.builds(
    PhiloxState,
    st.integers(0, 2**128 - 1),
    st.integers(0, 2**64 - 1),
)


# RandomNormal


def test_a_product_or_sum_too_large_is_infinite_without_a_warning() -> None:
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for type_, largest in (("f16", 6e4), ("bf16", 3e38), ("f32", 3e38), ("f64", 1.7e308)):
            for mean, scale, is_infinite in (
                (0, largest, np.isinf),
                (largest, largest / 2, np.isposinf),
            ):
                values = reference.random_normal([100], mean, scale, type_, **SEED)[0].astype(F64)
                assert is_infinite(values).any()
                assert not np.isnan(values).any()


# RandomBernoulli


def test_p_0_is_never_and_p_1_is_always() -> None:
    for zero, one in ((0, 1), (0.0, 1.0), (-0.0, 1), (F64(0), F64(1))):
        assert not reference.random_bernoulli([5000], zero, **SEED)[0].any()
        assert reference.random_bernoulli([5000], one, **SEED)[0].all()


def test_a_uniform_of_0_is_below_the_smallest_p_and_not_below_0() -> None:
    for p, expected in ((1e-45, True), (0.0, False), (-0.0, False)):
        values, _ = reference.random_bernoulli([1], F32(p), state=ZERO_FIRST)
        assert values.tolist() == [expected]


def test_the_kind_of_p_says_its_type() -> None:
    state = PhiloxState(1, 2).to_array()

    def words(p: Any) -> int:
        return 4 * (int(reference.random_bernoulli([8], p, state=state)[1][0]) - 1)

    assert [words(p) for p in (0.3, 1, True, F32(0.3), np.full(8, 0.3, F32))] == [8] * 5
    assert [words(p) for p in (F64(0.3), np.full(1, 0.3), np.array(0.3), np.full(8, 0.3))] == [
        16
    ] * 4


def test_one_element_is_for_all_values() -> None:
    for p in (F32(0.5), np.array([0.5], F32)):
        for shape in ([], [1], [2, 3], [1, 1]):
            expected = reference.random_bernoulli(shape, 0.5, **SEED)[0]
            assert_same_bits(reference.random_bernoulli(shape, p, **SEED)[0], expected)
    reference.random_bernoulli(
        [1, 1],
        np.full((1, 1), 0.5, F32),
        **SEED,
    )
    reference.random_bernoulli(
        [2, 0],
        np.zeros((2, 0), F32),
        **SEED,
    )


# RandomCategorical


LOGITS = hnp.arrays(
    st.sampled_from([np.float16, F32, F64]),
    st.tuples(st.integers(0, 5), st.integers(1, 9)),
    # Also below -708, where the exponential ends.
    elements=st.floats(-800, 800, width=16),
)


@given(
    LOGITS,
    st.integers(1, 7),
    STATES,
    st.sampled_from(["i32", "i64"]),
)
def test_an_index_is_the_first_whose_running_sum_is_greater(
    logits: np.ndarray, sample_size: int, state: PhiloxState, output_type: str
) -> None:
    values, after = reference.random_categorical(
        logits, sample_size, output_type, state=state.to_array()
    )
    expected = {"i32": np.int32, "i64": np.int64}[output_type]
    assert values.dtype == expected
    assert values.shape == (len(logits), sample_size)
    rule = spec.random_categorical(spec.Stream(state.to_array()), logits, sample_size)
    assert values.reshape(-1).tolist() == list(rule)
    expected = state.advance(2 * values.size)
    assert PhiloxState.from_array(after) == expected


def test_rows_and_samples_may_be_more_than_fit_a_chunk() -> None:
    generator = np.random.default_rng(1)
    state = PhiloxState(2**32 - 5, 3)
    for batch, classes, sample_size in (
        (3, 11, CHUNK_WORDS // 2 - 1),
        (CHUNK_WORDS // 2 + 7, 3, 1),
        (5, 2**16 + 3, 4),
        (2**13 + 1, 17, 5),
    ):
        logits = generator.normal(size=(batch, classes)).astype(F32)
        values, _ = reference.random_categorical(logits, sample_size, state=state.to_array())
        for row in (0, batch // 2, batch - 1):
            u = reference.random_uniform(values.shape, 0, 1, "f64", state=state.to_array())[0][row]
            w = np.exp(logits[row].astype(F64) - logits[row].max().astype(F64))
            sums = np.add.accumulate(w)
            expected = np.searchsorted(sums, u * sums[-1], "right").tolist()
            assert values[row].tolist() == expected


@pytest.mark.parametrize(
    ("logits", "drawn"),
    [
        (
            [-np.inf, 0, -np.inf, 0, -np.inf],
            {1, 3},
        ),
        (
            [-np.inf] * 4 + [-3],
            {4},
        ),
        ([0, 6e4, -6e4], {1}),
        (
            [-1e4, -2e4, 0],
            {2},
        ),
        (
            [1e4, 1e4 - 8, -1e4],
            {0, 1},
        ),
        (
            [6e4] * 4,
            {0, 1, 2, 3},
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, F32, F64])
def test_classes_that_are_infinitely_or_far_below_are_never_drawn(
    logits: list[float], drawn: set[int], dtype: Any
) -> None:
    values, _ = reference.random_categorical(np.array([logits], dtype), 40_000, **SEED)
    assert set(values[0].tolist()) == drawn
    if len(set(logits)) == 1:
        assert np.bincount(values[0]).min() > 9700


def test_no_rows_draw_nothing_with_or_without_classes(ort_backend: str, openvino: OpenVino) -> None:
    model = graphs.random_categorical(None, 5, stateful=True)
    for classes in (0, 3):
        feeds = {"logits": np.zeros((0, classes), F32), "state": ZERO_FIRST}
        values, after = reference.random_categorical(feeds["logits"], 5, state=ZERO_FIRST)
        assert values.shape == (0, 5)
        assert_same_bits(after, ZERO_FIRST)
        session = InferenceSession(model, backend=ort_backend)
        assert_all_same(session.run(None, feeds), [values, after])
        assert_all_same(openvino(model, feeds), [values, after])


REFUSED = [
    (
        lambda: reference.random_bernoulli([2], "half"),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2], [0.5]),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2], None),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2], np.float16(0.5)),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2], np.int64(1)),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2], np.array([True])),
        "TypeError: input 'p' must be",
    ),
    (
        lambda: reference.random_bernoulli([2, 3], np.full(3, F32(0.5))),
        "OF_P",
    ),
    (
        lambda: reference.random_bernoulli([2, 3], np.full((1, 1), F32(0.5))),
        "OF_P",
    ),
    (
        lambda: reference.random_bernoulli([3, 2], np.full((2, 3), F32(0.5))),
        "OF_P",
    ),
    (
        lambda: reference.random_bernoulli([], np.full((1, 1), F32(0.5))),
        "OF_P",
    ),
    (
        lambda: reference.random_categorical(np.zeros((1, 2), np.int32)),
        "TypeError: 'logits' must be f32 or f16 or f64",
    ),
    (
        lambda: reference.random_categorical(np.zeros((1, 2), bool)),
        "TypeError: 'logits' must be f32 or f16 or f64",
    ),
    (
        lambda: reference.random_categorical(np.zeros((1, 2), "bfloat16")),
        "TypeError: must be f32 or f16 or f64",
    ),
    (
        lambda: reference.random_categorical(np.zeros((1, 2), np.longdouble)),
        "TypeError: 'logits' must be f32 or f16 or f64",
    ),
    (
        lambda: reference.random_categorical(np.zeros((2, 2)), 1.5),
        "TypeError: 'sample_size' must be SIZE: got 1.5",
    ),
    (
        lambda: reference.random_categorical(np.zeros((2, 2)), 2**63),
        "'sample_size' must be SIZE: got 9223372036854775808",
    ),
]
WORDS = {
    "OF_P": "must be a scalar, 1-D of one element, or the output",
    "SIZE": "an integer from 1 to 2^63-1",
}


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_is_no_number_of_a_draw_is_refused(call: Callable[..., Any], words: str) -> None:
    for name, said in WORDS.items():
        words = words.replace(name, said)
    assert_refused(call, words)
