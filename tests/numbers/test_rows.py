"""A state for each row: which states are made, and that a row draws what it would draw alone."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, reference, row_states, split_states
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits
from tests.common.foreign import parse
from tests.common.operators import Shape, every_operator, named, plain, some_states, words
from tests.common.runtimes import OpenVino

SEEDS = st.integers(0, 2**64 - 1)
ROWS = st.integers(0, 2**32 - 1)
STATES = st.builds(PhiloxState, st.integers(0, 2**128 - 1), SEEDS)


@given(st.lists(st.tuples(SEEDS, ROWS, ROWS), max_size=5))
def test_a_row_s_state_is_made_of_its_seed_row_and_run(numbers: list[tuple[int, int, int]]) -> None:
    seeds, rows, runs = ([row[i] for row in numbers] for i in range(3))
    states = row_states(seeds, rows=rows, run=runs)
    assert states.dtype == np.uint32
    assert states.shape == (len(numbers), 6)
    for state, (seed, row, run) in zip(states, numbers, strict=True):
        assert PhiloxState.from_array(state) == PhiloxState(row << 32 | run << 96, seed)


def test_golden_states_of_rows() -> None:
    assert row_states([17, 4, 99]).tolist() == [[0, 0, 0, 0, seed, 0] for seed in (17, 4, 99)]
    assert row_states(2**64 - 2, rows=[0, 2**32 - 1], run=7).tolist() == [
        [0, 0, 0, 7, 0xFFFFFFFE, 0xFFFFFFFF],
        [0, 2**32 - 1, 0, 7, 0xFFFFFFFE, 0xFFFFFFFF],
    ]
    assert row_states(5).tolist() == [[0, 0, 0, 0, 5, 0]]


SOME = range(1000, 1016)


@pytest.mark.parametrize(
    "rows",
    [
        *(SOME, list(SOME), tuple(SOME), np.array(SOME), np.array(SOME, np.uint16)),
        *(np.array(SOME, object), [np.int32(row) for row in SOME]),
        *(range(10, 0, -3), range(0, 10, 4), range(2**32 - 1, 2**32)),
        *(range(5, 5), [], np.empty(0, np.int64)),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_numbers_may_be_any_integers_and_ranges_have_steps_and_go_down(rows: Any) -> None:
    wanted = [PhiloxState(int(row) << 32, 42).to_array() for row in rows]
    expected = np.array(wanted, np.uint32).reshape(-1, 6)
    assert_same_bits(row_states(42, rows=rows), expected)
    assert_same_bits(row_states([42], rows=rows), expected)
    assert_same_bits(row_states([42] * len(rows), rows=rows, run=[0]), expected)
    assert row_states(rows)[:, 4].tolist() == list(rows)
    assert len(row_states([], rows=5)) == 0
    assert_same_bits(row_states(9, run=3)[0], PhiloxState.for_run(9, 3).to_array())


def test_golden_children() -> None:
    first, second = PhiloxState(0, key=42).split(2)
    assert first == PhiloxState(6287785766076502189, 8643895580192075859)
    assert second == PhiloxState(8380643633896839790, 6033254488940945703)
    # Beyond torch: a counter of more than 64 bits, and one that wraps.
    far = PhiloxState(2**127 + 5, 3).fold_in(2**64 - 1)
    assert far == PhiloxState(2352539668517669395, 9148203880178525231)
    assert PhiloxState(2**128 - 1, 2**64 - 1).fold_in(1) == PhiloxState(0, 2**64 - 1).split(1)[0]


@given(STATES, st.integers(0, 50))
def test_child_i_is_block_i_of_the_state(state: PhiloxState, n: int) -> None:
    children = state.split(n)
    words, _ = reference.random_generator(state.to_array(), [n, 4])
    for words_of_child, made in zip(words.tolist(), children, strict=True):
        w0, w1, w2, w3 = words_of_child
        assert made == PhiloxState(w2 | w3 << 32, w0 | w1 << 32)
    assert_same_bits(
        split_states(state, n),
        np.stack([c.to_array() for c in children]) if n else np.empty((0, 6), np.uint32),
    )
    assert_same_bits(split_states(state.to_array(), n), split_states(state, n))
    if n:
        assert state.fold_in(n - 1) == children[-1]


@given(STATES, st.integers(0, 2**64 - 1))
def test_fold_in_counts_on(state: PhiloxState, i: int) -> None:
    assert state.fold_in(i) == state.advance(4 * i).split(1)[0]


def test_a_child_of_millions_takes_a_hundredth_of_the_time_of_one_alone() -> None:
    state, n, alone = PhiloxState(2**64 - 5, 11), 10_000_000, 1000
    # Of this process: others may be busy meanwhile.
    start = time.process_time()
    states = split_states(state, n)
    middle = time.process_time()
    one_by_one = [state.fold_in(i) for i in range(alone)]
    end = time.process_time()
    assert (middle - start) / n < (end - middle) / alone / 100
    for i in (0, 1, 65535, 65536, n - 1):
        assert_same_bits(states[i], state.fold_in(i).to_array())
    assert_same_bits(states[alone - 1], one_by_one[-1].to_array())


EDGES = (0, 1, 2, 2**31, 2**32 - 1)


def blocks_of(state: np.ndarray, after: np.ndarray, op_seed: int) -> tuple[int, int, int]:
    """The key, and the counters from the first to behind the last, of what a node has drawn."""
    begin, end = (PhiloxState.from_array(s).with_seeds(0, op_seed) for s in (state, after))
    assert begin.key == end.key
    return begin.key, begin.counter, end.counter


def test_rows_runs_and_nodes_draw_from_disjoint_blocks() -> None:
    """Every row, run and node at the edges, by the counters that the operators have advanced."""
    runs = [row_states(42, rows=EDGES, run=run) for run in EDGES]
    drawn = []
    for states, op_seed in itertools.product(runs, EDGES):
        _, after = reference.random_normal(
            [len(EDGES), 4001], 0, 1, "f64", op_seed=op_seed, state=states
        )
        drawn += [blocks_of(*pair, op_seed) for pair in zip(states, after, strict=True)]
    drawn.sort()
    assert len(drawn) == len(EDGES) ** 3
    for (key, begin, end), (other_key, next_begin, _) in itertools.pairwise(drawn):
        assert end - begin == 2001  # two words for each of 4002
        assert key == other_key
        assert end <= next_begin


def test_a_row_ends_where_the_next_begins_after_2_34_words() -> None:
    rows = [PhiloxState.from_array(s) for s in row_states(7, rows=[0, 1, 2**32 - 2, 2**32 - 1])]
    assert rows[0].advance(2**34) == rows[1]
    assert rows[2].advance(2**34) == rows[3]
    # The last row of a node ends where the next node's first begins, and likewise with runs.
    assert rows[3].advance(2**34) == rows[0].with_seeds(0, 1)
    last = rows[3].with_seeds(0, 2**32 - 1)
    assert last.advance(2**34) == PhiloxState.for_run(7, 1)


# States of rows of more than 2^16 words, which NumPy computes in several chunks, of both parities.
LONG = (70_003,)


@every_operator
def test_the_reference_draws_long_rows_as_if_alone(operator: str) -> None:
    for case in plain(operator):
        shape = case.shape(2, (1_003,) if words(case, (1,)) == 128 else LONG)
        states, inputs = some_states(shape[0]), case.inputs(shape)
        assert_all_same(case.oracle(shape, states, inputs), case.alone(shape, states, inputs))


def test_a_state_may_be_any_memory_and_stays_as_it_was() -> None:
    states = np.asfortranarray(some_states(9))[::2]
    before = states.copy()
    values, _ = reference.random_generator(states, [5, 3])
    assert_same_bits(values, reference.random_generator(before, [5, 3])[0])
    assert_same_bits(states, before)


THREADED = ("RandomUniform f32", "RandomNormal f64", "RandomBernoulli bool f32")


@pytest.mark.parametrize("name", THREADED)
@pytest.mark.parametrize(("rows", "row"), [(3, (2**17 + 3,)), (50_001, (3,))])
def test_threads_share_rows_of_any_length(
    name: str, rows: int, row: Shape, ort_backend: str, openvino: OpenVino
) -> None:
    case, shape = named(name), (rows, *row)
    states, inputs = some_states(rows), case.inputs(shape)
    expected = case.oracle(shape, states, inputs)
    held = case.constant_in_openvino
    model = case.model(shape, inputs, per_row=True, constant=held)
    feeds = {k: x for k, x in case.feeds(shape, states, inputs).items() if k not in held}
    for results in (
        InferenceSession(model, backend=ort_backend).run(None, feeds),
        openvino(model, feeds),
    ):
        assert_all_same(results, expected)


def test_generate_fills_the_very_array_that_holds_the_states() -> None:
    states = some_states(4)
    expected, after = reference.random_generator(states, [4, 6])
    assert_same_bits(generate(states, out=states), after)
    assert_same_bits(states, expected)


def test_generate_returns_what_it_was_given() -> None:
    out = np.empty((1, 4), np.float32)
    state = PhiloxState(3, 4)
    assert generate(state, out=out) == state.advance(4)
    assert generate(state.to_array(), out=out) == state.advance(4)
    assert_same_bits(
        np.asarray(generate(state.to_array()[np.newaxis], out=out)),
        state.advance(4).to_array()[np.newaxis],
    )
    got = "got 3 states (shape [3, 6]) for 1 row (output shape [1, 4])"
    words = f"generate: state must be one state for all...: {got}"
    assert_refused(lambda: generate(row_states([1, 2, 3]), out=out), words)


def dimensions(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_builders_name_the_batch() -> None:
    onnx_philox.register_schemas()
    for model, batch, other in (
        (graphs.random_uniform([None, 3], 0, 1, "f32", per_row=True), "batch", 3),
        (graphs.random_normal(None, 0, 1, "f32", per_row=True, rank=2), "batch", "values_1"),
        (graphs.random_bernoulli([4, 3], 0.5, per_row=True), 4, 3),
        (graphs.random_categorical(per_row=True), "batch", 1),
    ):
        onnx.checker.check_model(model, full_check=True)
        (state,) = (dimensions(value) for value in model.graph.input if value.name == "state")
        outputs = [dimensions(value) for value in model.graph.output]
        assert [state, *outputs] == [[batch, 6], [batch, other], [batch, 6]]


def test_as_many_rows_are_drawn_as_there_are_states(ort_backend: str, openvino: OpenVino) -> None:
    model = graphs.random_normal([None, 3], 0, 1, "f32", per_row=True)
    session, run = InferenceSession(model, backend=ort_backend), openvino.loaded(model)
    for rows in (1, 2, 17, 0):
        states = some_states(rows)
        expected = reference.random_normal([rows, 3], 0, 1, "f32", state=states)
        feeds = {"state": states}
        for results in (session.run(None, feeds), run(feeds)):
            assert_all_same(results, expected)


def inferred(state: str, shape: str) -> list[list[int | str]]:
    onnx_philox.register_schemas()
    model = parse(f"""generator (uint32[{state}] state, int64[2] given)
        => (uint32[p, q] bits, uint32[r, s] after) <int64[2] constant = {{4, 3}}> {{
        bits, after = onnx_philox.RandomGenerator (state, {shape}) }}""")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    made = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    # What nothing is known of gets a name of ONNX's own.
    return [
        [0 if str(d).startswith("unk__") else d for d in dimensions(value)]
        for value in made.graph.output
    ]


@pytest.mark.parametrize(
    ("state", "shape", "wanted"),
    [
        ("5, 6", "given", [[5, 0], [5, 6]]),
        # A batch may be 1, which is one state for an output of any shape.
        ("batch, 6", "given", [[0, 0], ["batch", 6]]),
        ("1, 6", "given", [[0, 0], [1, 6]]),
        ("batch, 6", "constant", [[4, 3], ["batch", 6]]),
        ("4, 6", "constant", [[4, 3], [4, 6]]),
        ("6", "given", [[0, 0], [6]]),
    ],
)
def test_inference_takes_the_rows_from_the_states(
    state: str, shape: str, wanted: list[list[int | str]]
) -> None:
    assert inferred(state, shape) == wanted


OTHER_ROWS = r"got 3 states \(shape \[3, 6\]\) for 4 rows \(output shape \[4{}\]\)"


def test_states_are_refused_as_soon_as_both_shapes_are_known(ort_backend: str) -> None:
    with pytest.raises(onnx.shape_inference.InferenceError, match=OTHER_ROWS.format(", 3")):
        inferred("3, 6", "constant")
    model = graphs.random_uniform(None, 0, 1, "f32", per_row=True, rank=1)
    session, states = InferenceSession(model, backend=ort_backend), row_states([1, 2, 3])
    with pytest.raises(Exception, match=OTHER_ROWS.format("")):
        session.run(None, {"state": states, "shape": np.array([4])})
    values, _ = session.run(None, {"state": states, "shape": np.array([3])})
    assert_same_bits(values, reference.random_uniform([3], 0, 1, "f32", state=states)[0])
    # Known at load: the number of states, and the classes' rows or the constant shape.
    model = graphs.random_uniform([4], 0, 1, "f32", stateful=True)
    del model.graph.input[0].type.tensor_type.shape.dim[:]
    for size in (3, 6):
        model.graph.input[0].type.tensor_type.shape.dim.add(dim_value=size)
    with pytest.raises(Exception, match=OTHER_ROWS.format("")):
        InferenceSession(model, backend=ort_backend)
