"""A state for each row: a row draws what it would draw alone, in every runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_refused, assert_same_bits
from foreign import parse
from operators import Shape, every_operator, named, plain, some_states, words
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, reference, row_states
from onnx_philox.onnxruntime import InferenceSession

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
