"""`row_states`, `split_states`, `split` and `fold_in`: which states they make."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import assert_all_same, assert_same_bits
from hypothesis import given
from hypothesis import strategies as st
from runtimes import OpenVino

from onnx_philox import PhiloxState, graphs, reference, row_states, split_states
from onnx_philox.onnxruntime import InferenceSession

SEEDS = st.integers(0, 2**64 - 1)
ROWS = st.integers(0, 2**32 - 1)
STATES = st.builds(PhiloxState, st.integers(0, 2**128 - 1), SEEDS)
STATELESS = Path(__file__).parent / "torch_vectors" / "stateless.json"
TORCH = json.loads(STATELESS.read_text())["cases"]


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


def child(words: list[str]) -> PhiloxState:
    """torch's key of a seed and an offset, as a state."""
    seed, offset = (int(word) for word in words)
    return PhiloxState(offset, seed)


@pytest.mark.parametrize("case", TORCH, ids=lambda case: f"{case['seed']}-{case['offset']}")
def test_children_are_torch_s(case: dict[str, Any]) -> None:
    state = child([case["seed"], case["offset"]])
    # Our counters carry over 128 bits; where torch's wrap at 64, the two differ.
    whole = 2**64 - state.counter
    expected = [child(words) for words in case["split"]][:whole]
    assert expected
    assert state.split(3)[:whole] == expected
    for i, words in case["fold_in"].items():
        if int(i) < whole:
            assert state.fold_in(int(i)) == child(words), i
    bits = case["bits"][: 4 * whole]
    assert reference.random_generator(state.to_array(), [len(bits)])[0].tolist() == bits


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


def test_millions_of_children_take_no_longer_than_a_second() -> None:
    # Of the processor: other processes may be busy meanwhile.
    state, n = PhiloxState(2**64 - 5, 11), 10_000_000
    for _ in range(3):
        start = time.process_time()
        states = split_states(state, n)
        if (seconds := time.process_time() - start) < 1:
            break
    for i in (0, 1, 65535, 65536, n - 1):
        assert_same_bits(states[i], state.fold_in(i).to_array())
    assert seconds < 1


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


def test_sessions_take_a_state_as_it_is(ort_backend: str, openvino: OpenVino) -> None:
    model = graphs.random_uniform([3], 0, 1, "f32", stateful=True)
    state = PhiloxState(5, 6)
    expected = reference.random_uniform([3], 0, 1, "f32", state=state)
    session = InferenceSession(model, backend=ort_backend)
    compiled = openvino.core.compile_model(openvino.read(model), "CPU")
    for results in (
        session.run(None, {"state": state}),
        compiled({"state": state}),
        compiled.create_infer_request().infer([state]),
    ):
        assert_all_same((results[0], results[1]), expected)
