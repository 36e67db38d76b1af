"""A state for each row: a row draws what it would draw alone, in every runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_same_bits
from onnx import parser
from operators import Case, Shape, every_operator, named, plain, some_states, words
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, reference, row_states
from onnx_philox.onnxruntime import InferenceSession

# States of rows of more than 2^16 words, which NumPy computes in several chunks, of both parities.
LONG = (70_003,)


def drawn_alone(case: Case, shape: Shape) -> tuple[Any, Any, list[np.ndarray]]:
    states, inputs = some_states(shape[0]), case.inputs(shape)
    return states, inputs, case.alone(shape, states, inputs)


@every_operator
def test_the_reference_draws_long_rows_as_if_alone(operator: str) -> None:
    for case in plain(operator):
        shape = case.shape(2, (1_003,) if words(case, (1,)) == 128 else LONG)
        states, inputs, expected = drawn_alone(case, shape)
        assert_all_same(case.oracle(shape, states, inputs), expected)


@every_operator
def test_one_state_in_a_row_of_states_is_the_plain_state(operator: str) -> None:
    for case in plain(operator):
        shape = case.shape(4, (3, 2))
        inputs, states = case.inputs(shape), some_states(1)
        *values, next_state = case.oracle(shape, states, inputs)
        *plain_values, plain_next = case.oracle(shape, states[0], inputs)
        assert_all_same(values, plain_values)
        assert_same_bits(next_state, plain_next[np.newaxis])


def test_rows_do_not_depend_on_one_another() -> None:
    states = some_states(5)
    values, after = reference.random_normal([5, 7], 0, 1, "f32", state=states)
    states[2] += 1
    changed, changed_after = reference.random_normal([5, 7], 0, 1, "f32", state=states)
    is_same = (values == changed).all(axis=1) & (after == changed_after).all(axis=1)
    assert is_same.tolist() == [True, True, False, True, True]


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
    with pytest.raises(
        ValueError,
        match=r"generate: state must be one state for all.*: got 3 states \(shape \[3, 6\]\)"
        r" for 1 row \(output shape \[1, 4\]\)",
    ):
        generate(row_states([1, 2, 3]), out=out)


# Where states come from: constants, graphs in graphs, files.


FLOWS = {
    "Loop": """
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        flow (uint32[batch, 6] state, int64[2] shape)
            => (float[steps, batch, 3] drawn, uint32[batch, 6] next_state)
            <int64 trips = {3}, bool on = {1}, float low = {0.1}, float high = {0.7}> {
          wide = Cast <to = 7> (state)
          after, drawn = Loop (trips, on, wide) <body = body (int64 i, bool c, int64[b, 6] s)
              => (bool c2, int64[b, 6] s2, float[b, 3] x) {
            c2 = Identity (c)
            s_words = Cast <to = 12> (s)
            x, next = onnx_philox.RandomUniform <output_type = "f32"> (shape, low, high, s_words)
            s2 = Cast <to = 7> (next)
          }>
          next_state = Cast <to = 12> (after)
        }""",
    # OpenVINO runs a Scan once only if nothing that is used comes of what it scans.
    "Scan": """
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        flow (uint32[batch, 6] state, int64[3] steps)
            => (float[s, batch, 3] drawn, uint32[batch, 6] next_state, int64[t] same) {
          wide = Cast <to = 7> (state)
          after, drawn, same = Scan <num_scan_inputs = 1, body = body (int64[b, 6] s, int64 t)
              => (int64[b, 6] s2, float[b, 3] x, int64 t2)
              <float low = {0.1}, float high = {0.7}, int64[1] three = {3}> {
            s_words = Cast <to = 12> (s)
            rows = Shape <start = 0, end = 1> (s)
            shape = Concat <axis = 0> (rows, three)
            x, next = onnx_philox.RandomUniform <output_type = "f32"> (shape, low, high, s_words)
            s2 = Cast <to = 7> (next)
            t2 = Identity (t)
          }> (wide, steps)
          next_state = Cast <to = 12> (after)
        }""",
}


@pytest.mark.parametrize("flow", FLOWS)
def test_rows_carry_their_states_through_loops(
    flow: str, ort_backend: str, openvino: OpenVino
) -> None:
    model = parser.parse_model(FLOWS[flow])
    onnx.checker.check_model(model)
    states, shape = some_states(4), np.array([4, 3])
    expected, state = [], states
    for _ in range(3):
        values, state = reference.random_uniform(shape, 0.1, 0.7, "f32", state=state)
        expected.append(values)
    others = {"shape": shape} if flow == "Loop" else {"steps": np.arange(3)}
    feeds = {"state": states, **others}
    for results in (
        InferenceSession(model, backend=ort_backend).run(None, feeds),
        openvino(model, feeds),
    ):
        assert_same_bits(results[0], np.stack(expected))
        assert_same_bits(results[1], state)


IF = """
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    branches (bool c, uint32[batch, 6] state, int64[2] shape)
        => (float[batch, 3] drawn, uint32[batch, 6] next_state)
        <float zero = {0}, float one = {1}> {
      wide = Cast <to = 7> (state)
      drawn, after = If (c) <
        then_branch = a () => (float[b, 3] x, int64[b, 6] s) {
          words = Cast <to = 12> (wide)
          x, next = onnx_philox.RandomNormal <output_type = "f32"> (shape, zero, one, words)
          s = Cast <to = 7> (next)
        }, else_branch = b () => (float[b, 3] x2, int64[b, 6] s2) {
          words2 = Cast <to = 12> (wide)
          x2, next2 = onnx_philox.RandomUniform <output_type = "f32"> (shape, zero, one, words2)
          s2 = Cast <to = 7> (next2)
        }>
      next_state = Cast <to = 12> (after)
    }"""


@pytest.mark.parametrize("is_normal", [True, False])
def test_rows_are_drawn_in_branches(is_normal: bool, ort_backend: str, openvino: OpenVino) -> None:
    model, states, shape = parser.parse_model(IF), some_states(4), np.array([4, 3])
    draw = reference.random_normal if is_normal else reference.random_uniform
    expected = draw(shape, 0, 1, "f32", state=states)
    feeds = {"c": np.array(is_normal), "state": states, "shape": shape}
    for results in (
        InferenceSession(model, backend=ort_backend).run(None, feeds),
        openvino(model, feeds),
    ):
        assert_all_same(results, expected)


# Builders, and what is known of a shape before a run.


def dimensions(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_builders_name_the_batch() -> None:
    onnx_philox.register_schemas()
    open_shape = graphs.random_uniform([None, 3], 0, 1, "f32", per_row=True)
    shape_input = graphs.random_normal(None, 0, 1, "f32", per_row=True, rank=2)
    fixed = graphs.random_bernoulli([4, 3], 0.5, per_row=True)
    classes = graphs.random_categorical(per_row=True)
    for model, batch, other in (
        (open_shape, "batch", 3),
        (shape_input, "batch", "values_1"),
        (fixed, 4, 3),
        (classes, "batch", 1),
    ):
        onnx.checker.check_model(model, full_check=True)
        by_name = {value.name: dimensions(value) for value in model.graph.input}
        assert by_name["state"] == [batch, 6]
        assert [dimensions(value) for value in model.graph.output] == [[batch, other], [batch, 6]]
    with pytest.raises(
        ValueError, match=r"the output must be of 1 dimension or more.*: got a scalar"
    ):
        graphs.random_generator([], per_row=True)
    with pytest.raises(TypeError, match="a sequence of integers"):
        graphs.random_generator([None, 3])
    with pytest.raises(ValueError, match=r"'shape' must be dimensions of 0 or more: got \[-3\]"):
        graphs.random_generator([None, -3], per_row=True)


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
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        generator (uint32[{state}] state, int64[2] given) => (uint32[p, q] bits, uint32[r, s] after)
            <int64[2] constant = {{4, 3}}> {{
          bits, after = onnx_philox.RandomGenerator (state, {shape})
        }}""")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    made = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    # What nothing is known of gets a name of ONNX's own.
    return [
        [0 if str(d).startswith("unk__") else d for d in dimensions(value)]
        for value in made.graph.output
    ]


def test_inference_takes_the_rows_from_the_states() -> None:
    assert inferred("5, 6", "given") == [[5, 0], [5, 6]]
    # A batch may be 1, which is one state for an output of any shape.
    assert inferred("batch, 6", "given") == [[0, 0], ["batch", 6]]
    assert inferred("1, 6", "given") == [[0, 0], [1, 6]]
    assert inferred("batch, 6", "constant") == [[4, 3], ["batch", 6]]
    assert inferred("4, 6", "constant") == [[4, 3], [4, 6]]
    assert inferred("6", "given") == [[0, 0], [6]]
    with pytest.raises(
        onnx.shape_inference.InferenceError,
        match=r"got 3 states \(shape \[3, 6\]\) for 4 rows \(output shape \[4, 3\]\)",
    ):
        inferred("3, 6", "constant")


def test_states_are_refused_as_soon_as_both_shapes_are_known(ort_backend: str) -> None:
    model = graphs.random_uniform(None, 0, 1, "f32", per_row=True, rank=1)
    session = InferenceSession(model, backend=ort_backend)
    states = row_states([1, 2, 3])
    with pytest.raises(
        Exception,
        match=r"must be .*: got 3 states \(shape \[3, 6\]\) for 4 rows \(output shape \[4\]\)",
    ):
        session.run(None, {"state": states, "shape": np.array([4])})
    values, _ = session.run(None, {"state": states, "shape": np.array([3])})
    assert_same_bits(values, reference.random_uniform([3], 0, 1, "f32", state=states)[0])
    # Known at load: the number of states, and the classes' rows or the constant shape.
    model = graphs.random_uniform([4], 0, 1, "f32", stateful=True)
    del model.graph.input[0].type.tensor_type.shape.dim[:]
    for size in (3, 6):
        model.graph.input[0].type.tensor_type.shape.dim.add(dim_value=size)
    with pytest.raises(
        Exception,
        match=r"must be .*: got 3 states \(shape \[3, 6\]\) for 4 rows \(output shape \[4\]\)",
    ):
        InferenceSession(model, backend=ort_backend)
