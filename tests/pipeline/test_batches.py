"""A request draws the same numbers in every batch, whatever its place and the size of the batch."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

import onnx_philox
from onnx_philox import reference, row_states, split_states
from tests.common.cases import assert_same_bits
from tests.common.foreign import Arrays, evaluate, parse
from tests.common.real_models import LOADERS, Load

REQUESTS = 24
RUNS = 2
Run = Callable[[Arrays], list[np.ndarray]]

# Each node draws on where the one before has stopped; the last shares the first's state.
MODEL = parse("""batches (uint32[batch, 6] state, float[batch, 7] p, float[batch, 5] logits)
    => (float[batch, 3] noise, bool[batch, 7] kept, int64[batch, 2] classes,
        int32[batch, 4, 2] whole, uint32[batch, 6] next_state)
    <int64[1] three = {3}, int64[1] seven = {7}, int64[2] four_two = {4, 2},
     float mean = {-1}, float scale = {0.5}, int32 low = {-5}, int32 high = {2147483647}> {
    rows = Shape <start = 0, end = 1> (state)
    of_noise = Concat <axis = 0> (rows, three) of_kept = Concat <axis = 0> (rows, seven)
    of_whole = Concat <axis = 0> (rows, four_two)
    noise, a = onnx_philox.RandomNormal <output_type = "f32"> (of_noise, mean, scale, state)
    kept, b = onnx_philox.RandomBernoulli (of_kept, p, a)
    classes, next_state = onnx_philox.RandomCategorical <
        sample_size = 2, output_type = "i64"> (logits, b)
    whole = onnx_philox.RandomUniform <output_type = "i32", op_seed = 1> (
        of_whole, low, high, state) }""")
RNG = np.random.default_rng(64)
PROBABILITIES = RNG.random((REQUESTS, 7)).astype(np.float32)
LOGITS = RNG.normal(0, 2, (REQUESTS, 5)).astype(np.float32)
# Seeds of requests, rows of a data set, and children of one state.
STATES = {
    "seeds": row_states(RNG.integers(0, 2**63, REQUESTS)),
    "rows": row_states(
        42,
        rows=range(2**32 - REQUESTS, 2**32),
        run=3,
    ),
    "children": split_states(row_states(7)[0], REQUESTS),
}


@functools.cache
def alone(kind: str) -> list[list[np.ndarray]]:
    """What each request draws in each run if it is served alone, from a plain state."""
    served = []
    for i, state in enumerate(STATES[kind]):
        outputs: list[np.ndarray] = []
        for _ in range(RUNS):
            noise, a = reference.random_normal([1, 3], -1, 0.5, "f32", state=state)
            kept, b = reference.random_bernoulli(
                [1, 7],
                PROBABILITIES[i : i + 1],
                state=a,
            )
            classes, after = reference.random_categorical(LOGITS[i : i + 1], 2, "i64", state=b)
            whole, _ = reference.random_uniform(
                [1, 4, 2], -5, 2**31 - 1, "i32", op_seed=1, state=state
            )
            outputs += [noise, kept, classes, whole, after[np.newaxis]]
            state = after
        served.append(outputs)
    return served


@st.composite
def batches(draw: st.DrawFn) -> list[list[int]]:
    """All requests in any order, cut into batches of any sizes."""
    order = draw(st.permutations(range(REQUESTS)))
    cuts = draw(st.sets(st.integers(1, REQUESTS - 1)))
    edges = [0, *sorted(cuts), REQUESTS]
    return [order[a:b] for a, b in itertools.pairwise(edges)]


ORDERED = list(range(REQUESTS))
EDGES = [
    [[i] for i in ORDERED],
    [ORDERED],
    [ORDERED[::-1]],
    [
        ORDERED[:1],
        ORDERED[1:],
    ],
]


def assert_served_as_alone(
    run: Run,
    kind: str,
    cut: list[list[int]],
) -> None:
    for batch in cut:
        state = STATES[kind][batch]
        made: list[np.ndarray] = []
        for _ in range(RUNS):
            feeds = {"state": state, "p": PROBABILITIES[batch], "logits": LOGITS[batch]}
            made += run(feeds)
            state = made[-1]
        expected = zip(*(alone(kind)[request] for request in batch), strict=True)
        for output, rows in zip(made, expected, strict=True):
            assert_same_bits(output, np.concatenate(rows))


def meets_every_cut(
    run: Run,
    kinds: tuple[str, ...] = tuple(STATES),
    examples: int = 15,
) -> None:
    """Runs the edges for each kind of states, then whatever hypothesis comes up with."""
    for kind in kinds:
        for cut in EDGES:
            assert_served_as_alone(run, kind, cut)

    @hypothesis.settings(max_examples=examples)
    @given(batches(), st.sampled_from(kinds))
    def any_cut(cut: list[list[int]], kind: str) -> None:
        assert_served_as_alone(run, kind, cut)

    any_cut()


def test_onnx_reference_serves_a_request_the_same_in_every_batch() -> None:
    evaluator = ReferenceEvaluator(MODEL, new_ops=onnx_philox.onnx_reference.OPS)
    meets_every_cut(lambda feeds: [np.asarray(x) for x in evaluator.run(None, feeds)])


def test_a_runtime_serves_a_request_the_same_in_every_batch(load: Load) -> None:
    run = load(MODEL)
    # In OpenVINO each call of an operator in Python takes a millisecond.
    few = (("rows",), 3) if load is LOADERS["openvino python"] else ()
    meets_every_cut(lambda feeds: list(run(feeds).values()), *few)


@pytest.mark.parametrize("request_", [0, REQUESTS - 1])
def test_a_batch_that_draws_another_request_s_numbers_is_noticed(request_: int) -> None:
    def swapped(feeds: Arrays) -> list[np.ndarray]:
        # As a draw by place would do: every batch from the states of the first requests.
        wrong = STATES["seeds"][: len(feeds["state"])]
        return evaluate(MODEL, {**feeds, "state": wrong})

    for states in STATES.values():
        assert len(np.unique(states, axis=0)) == REQUESTS
    with pytest.raises(AssertionError):
        assert_served_as_alone(swapped, "seeds", [[REQUESTS - 1 - request_, request_]])
