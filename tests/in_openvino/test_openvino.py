"""The OpenVINO extension on the CPU: the same bits as NumPy, whatever the plugin does to inputs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from openvino import opset8

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._contract import checks, float_environment
from onnx_philox.openvino import random_generator, random_uniform
from tests.common import child
from tests.common.cases import SEED, assert_all_same, assert_same_bits, parse
from tests.common.openvino_models import parameter, uniform
from tests.common.operators import OPERATORS, cases, every_operator
from tests.common.runtimes import OpenVino, array_of, infer

STATE = PhiloxState(2**128 - 2, 2**64 - 12345)


def test_many_requests_at_once_each_get_their_own_answer(openvino: OpenVino) -> None:
    model = openvino.read(graphs.random_generator(None, rank=1))
    compiled = openvino.core.compile_model(model, "CPU", {"NUM_STREAMS": 2})

    def work(i: int) -> None:
        state = PhiloxState(i << 90, i).to_array()
        request = compiled.create_infer_request()
        shape = np.array([100 * i])
        infer(request, {"state": state, "shape": shape})
        expected, _ = reference.random_generator(state, [100 * i])
        assert_same_bits(request.get_output_tensor(0).data, expected)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(60)))


def model_of(node: ov.Node, *parameters: ov.Node) -> ov.Model:
    outputs = list(parameters)
    return ov.Model(list(node.outputs()), outputs, "m")


LAST = PhiloxState(2**128 - 1, 2**64 - 1)
HIGH = LAST.to_array()


@pytest.mark.usefixtures("factories")
def test_a_node_that_draws_new_numbers_is_not_a_constant() -> None:
    """OpenVINO's own unseeded generator, as a bound, must not be frozen when it is first seen."""
    low = opset8.random_uniform(opset8.constant([1]), 0.0, 0.5, "f64")
    with pytest.raises(ValueError, match="input 'minval' must be a constant"):
        random_uniform([3], low, 1.0, "f64", **SEED)


@pytest.mark.usefixtures("factories")
def test_a_constant_whose_memory_changes_is_read_anew() -> None:
    numbers = np.array([0.5], np.float32)
    low = ov.op.Constant(numbers, shared_memory=True)
    # The second is read through a node that OpenVINO computes.
    for minimum in (low, opset8.squeeze(low, 0)):
        numbers[0] = 0.5
        node = random_uniform([9], minimum, 0.75, "f32", **SEED)
        assert captured_minimum(node) == (0.5).hex()
        numbers[0] = 0.25
        node.constructor_validate_and_infer_types()
        assert captured_minimum(node) == (0.25).hex()


def captured_minimum(node: ov.Node) -> str:
    return str(node.get_attributes()["const_minval"])


def test_python_checks_a_node_few_times_when_a_model_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenVINO validates it some twenty times, and nearly always nothing has changed."""
    calls = []
    check = checks.check_node
    monkeypatch.setattr(checks, "check_node", lambda *given: calls.append(0) or check(*given))
    model = graphs.random_uniform([2, 3], 50, 100, "i32", stateful=True)
    OpenVino("python")(model, {"state": STATE.to_array()})
    assert 1 <= len(calls) <= 6, len(calls)


@pytest.mark.usefixtures("factories")
def test_a_constant_that_is_replaced_by_one_of_another_type_is_refused() -> None:
    node = random_uniform([9], 0.1, 0.7, "f64", **SEED)
    half = np.array(0.5, np.float32)
    node.set_argument(1, ov.op.Constant(half).output(0))
    with pytest.raises(Exception, match=r"input 'minval' must be (f64, as|a constant in)"):
        node.constructor_validate_and_infer_types()


def test_a_constant_dimension_over_int32_is_kept_or_refused(
    openvino: OpenVino, openvino_backend: str
) -> None:
    for size in (2**31 - 1, 2**31):
        model = graphs.random_generator([size, 0])
        if openvino_backend == "python" and size == 2**31:
            said = r"must be dimensions of at most.*: got .2147483648, 0\]"
            with pytest.raises(RuntimeError, match=said):
                openvino(model, {"state": HIGH})
            continue
        bits, after = openvino(model, {"state": HIGH})
        assert bits.shape == (size, 0)
        assert_same_bits(after, HIGH)


def test_flushing_of_subnormals_in_openvino_changes_no_bit(openvino: OpenVino) -> None:
    bounds = (1e-40, 3e-39)

    def run() -> list[np.ndarray]:
        model = openvino.read(graphs.random_uniform([64], *bounds, "f32", stateful=True))
        config = {"CPU_DENORMALS_OPTIMIZATION": True}
        compiled = openvino.core.compile_model(model, "CPU", config)
        values = compiled({"state": HIGH})[0].copy()
        assert float_environment.are_flushed(), "OpenVINO did not do what the test is about"
        # Built, read and captured by a thread that flushes.
        again = openvino(
            graphs.random_uniform([64], *bounds, "f32", stateful=True), {"state": HIGH}
        )
        node = random_uniform([64], *bounds, "f32", state=HIGH)
        factory = openvino(model_of(node))
        return [values, again[0], factory[0]]

    # It sets the thread that compiles, and leaves it so: not the tests' own.
    with ThreadPoolExecutor(1) as thread:
        drawn = thread.submit(run).result()
    expected, _ = reference.random_uniform([64], *bounds, "f32", state=HIGH)
    for values in drawn:
        assert_same_bits(values, expected)


def test_a_model_s_own_attributes_are_read_and_have_defaults(openvino: OpenVino) -> None:
    text = """g (uint32[6] state, float[2, 3] x) =>
        (uint32[3] y, int32[3] z, int32[2, 1] a, int64[2, 4] b, bool[3] c)
    <int64[1] n = {3}, int32[1] m = {3}, int32 lo = {-4}, int32 hi = {9}, double p = {0.1}> {
        y = onnx_philox.RandomGenerator
            <type = "philox4x32_10", global_seed = 9223372036854775807, op_seed = 5> (state, n)
        z, s = onnx_philox.RandomUniform <output_type = "i32", op_seed = 1> (n, lo, hi, "")
        a = onnx_philox.RandomCategorical (x, state)
        b, t = onnx_philox.RandomCategorical
            <sample_size = 4, output_type = "i64", global_seed = 9223372036854775807> (x, "")
        c = onnx_philox.RandomBernoulli <op_seed = 5> (m, p, state)
    }"""
    state = STATE.to_array()
    numbers = np.linspace(-1, 1, 6, dtype=np.float32)
    x = numbers.reshape(2, 3)
    largest = {"global_seed": 2**63 - 1}
    wanted = (
        reference.random_generator(state, [3], **largest, op_seed=5),
        reference.random_uniform([3], -4, 9, "i32", op_seed=1),
        reference.random_categorical(x, state=state),
        reference.random_categorical(x, 4, "i64", **largest),
        reference.random_bernoulli([3], np.float64(0.1), op_seed=5, state=state),
    )
    outputs = openvino(parse(text), {"state": state, "x": x})
    assert_all_same(outputs, [values for values, _ in wanted])


def test_factories_take_nodes_arrays_numbers_and_states(openvino: OpenVino) -> None:
    expected = reference.random_uniform([2, 3], 0.5, 2, "f32", state=STATE.to_array(), **SEED)
    shape = parameter("shape", [2], np.int32)
    forms = (STATE, STATE.to_array(), opset8.constant(STATE.to_array()))
    for state in forms:
        node = random_uniform(
            shape, 0.5, np.array([2], np.float32), "f32", state=state, **SEED, name="x"
        )
        assert node.get_friendly_name() == "x"
        feeds = {"shape": np.array([2, 3], np.int32)}
        outputs = openvino(model_of(node, shape), feeds)
        assert_all_same(outputs, expected)


@pytest.mark.usefixtures("factories")
def test_a_shape_that_a_front_end_gives_as_one_0_is_a_scalar_s() -> None:
    node = random_uniform([9], 0.1, 0.7, "f32", **SEED)
    zero = np.array(0)
    node.set_argument(0, ov.op.Constant(zero).output(0))
    node.constructor_validate_and_infer_types()
    assert node.output(0).shape == ov.Shape([])


@pytest.mark.usefixtures("factories")
def test_states_of_rows_say_how_many_are_drawn() -> None:
    states = [
        ([3, 6], "[3,?]"),
        ([1, 6], "[?,?]"),
        ([-1, 6], "[?,?]"),
        ([6], "[?,?]"),
    ]
    known = [(state, [2], said) for state, said in states]
    all_known = (*known, ([3, 6], [-1], "[...]"))
    for state, shape, said in all_known:
        given = parameter("shape", shape, np.int32)
        rows = parameter("state", state, np.uint32)
        node = random_uniform(given, 0.5, 2, "f32", state=rows)
        drawn = node.output(0)
        assert drawn.get_partial_shape().to_string() == said


@pytest.mark.parametrize("rank", [2, 4, 8])
def test_the_next_state_has_the_state_s_shape_in_a_file_too(
    openvino: OpenVino, rank: int, tmp_path: Path
) -> None:
    """Also where the state is what another node of ours makes of a constant one."""
    ones = (1,) * (rank - 1)
    state = STATE.to_array().reshape((*ones, 6))
    source = parameter("state", list(state.shape), np.uint32)
    expected = reference.random_generator(state, [5])
    wanted = reference.random_uniform([6], 0, 1, "f64", state=expected[1])
    both = ((source, {"state": state}), (state, {}))
    for start, feeds in both:
        first = random_generator(start, [5])
        second = random_uniform([6], 0, 1, "f64", state=first.output(1))
        outputs = [*first.outputs(), *second.outputs()]
        model = ov.Model(outputs, [source] if feeds else [])
        ov.save_model(model, tmp_path / "m.xml")
        for each in (model, tmp_path / "m.xml"):
            assert_all_same(openvino(each, feeds), [*expected, *wanted])


_FIRST_READ = """
import sys
import numpy as np, openvino as ov, onnx_philox
{door}
read = lambda: ov.Tensor(ov.Type.f16, ov.Shape([1])).data and None
before = sys.getrefcount(np.dtype("float16"))
read()
print(sys.getrefcount(np.dtype("float16")) - before)
"""
_EMPTY = "ov.Model([x := ov.opset8.parameter([1], np.float32)], [x])"
_DRAW = "onnx_philox.graphs.random_generator([4])"


@pytest.mark.parametrize(
    ("door", "looked_up"),
    [
        ("", 2),  # Without us: a float16 for f16 and one for bf16.
        ("onnx_philox.openvino", 0),
        (f"onnx_philox.rewriting.find_random_nodes({_EMPTY})", 0),
        (f"onnx_philox.Pipeline({_DRAW}, runtime='openvino')", 0),
        ("onnx_philox.diffusers.generator(1, like='torch')", 2),
    ],
)
def test_a_door_to_openvino_looks_numpy_s_types_up_before_two_threads_can(
    door: str, looked_up: int
) -> None:
    done = child.forked(_FIRST_READ.format(door=door))
    assert int(done.stdout) == looked_up


def test_a_dimension_of_a_node_in_python_has_31_bits() -> None:
    openvino = OpenVino("python")
    model = graphs.random_generator([2**31 - 1, 0])
    assert openvino.read(model).output(0).shape[0] == 2**31 - 1
    with pytest.raises(
        RuntimeError, match=r"at most 2\^31-1 for backend='python' in OpenVINO: got"
    ):
        openvino.read(graphs.random_generator([2**31, 0]))


def test_what_is_no_core_model_or_backend_is_refused() -> None:
    core = ov.Core()
    for _ in range(2):
        assert onnx_philox.openvino.register(core) is core
    with pytest.raises(ValueError, match=r"backend must be one of 'auto', .*'python': got 'gpu'"):
        onnx_philox.openvino.register(core, backend="gpu")
    with pytest.raises(TypeError, match=r"^openvino.register: core must be .*Core: got 3\."):
        onnx_philox.openvino.register(3)
    with pytest.raises(TypeError, match=r"make_stateful: the model must be .*Model: got 3\."):
        onnx_philox.openvino.make_stateful(3)


def test_the_built_in_operator_of_the_same_name_lives_beside_ours(openvino: OpenVino) -> None:
    ours = random_uniform([5], 0, 1, "f64", **SEED)
    shape = parameter("shape", [1], np.int64)
    built_in = opset8.random_uniform(shape, np.float32(0), np.float32(1), "f32", 7, 3)
    outputs = [ours.output(0), built_in.output(0)]
    model = ov.Model(outputs, [shape])
    feeds = {"shape": np.array([5])}
    values, theirs = openvino(model, feeds)
    drawn_and_next = reference.random_uniform([5], 0, 1, "f64", **SEED)
    expected = drawn_and_next[0]
    assert_same_bits(values, expected)
    expected = reference.random_uniform([5], 0, 1, "f32", **SEED)[0]
    assert_same_bits(theirs, expected)


# A live peer: OpenVINO's own reference code, through Model.evaluate.


def by_openvino(output_type: str, low, high, count: int, global_seed: int, op_seed: int):
    node = uniform([count], low, high, output_type, (global_seed, op_seed))
    type_ = getattr(ov.Type, output_type)
    result = ov.Tensor(type_, ov.Shape([count]))
    model = ov.Model([node.output(0)], [])
    assert model.evaluate([result], [])
    return array_of(result)


INTEGERS = {"i32": 2**31, "i64": 2**63}


@st.composite
def draws(draw) -> tuple:
    output_type = draw(st.sampled_from(["f32", "f64", "f16", "bf16", "i32", "i64"]))
    if output_type in INTEGERS:
        limit = INTEGERS[output_type]
        low = draw(st.integers(-limit, limit - 2))
        high = draw(st.integers(low + 1, limit - 1))
        # OpenVINO compares bounds as doubles, and refuses those that are equal then.
        assume(float(low) < float(high))
    elif output_type == "bf16":
        # OpenVINO rounds scaled bf16 otherwise than TensorFlow and the contract.
        low, high = 0.0, 1.0
    else:
        width = {"f32": 32, "f64": 64, "f16": 16}[output_type]
        limits = {"f32": 2.0**120, "f64": 2.0**1000, "f16": 2.0**14}
        largest = limits[output_type]
        numbers = st.floats(-largest, largest, width=width, allow_subnormal=False)
        # OpenVINO refuses an empty range.
        low, high = sorted(
            draw(
                st.lists(
                    numbers,
                    min_size=2,
                    max_size=2,
                    unique=True,
                )
            )
        )
    seeds = st.integers(0, 2**63 - 1)
    count = draw(st.integers(1, 40))
    return output_type, low, high, count, draw(seeds), draw(seeds.filter(bool))


@settings(max_examples=300)
@given(draws())
def test_openvino_s_reference_code_draws_the_same(case: tuple) -> None:
    output_type, low, high, count, global_seed, op_seed = case
    ours, _ = reference.random_uniform(
        [count], low, high, output_type, global_seed=global_seed, op_seed=op_seed
    )
    assert_same_bits(by_openvino(output_type, low, high, count, global_seed, op_seed), ours)


@pytest.mark.parametrize("share_inputs", [False, True])
def test_a_compiled_model_takes_a_state_as_it_is(openvino: OpenVino, share_inputs: bool) -> None:
    state = PhiloxState(2**64 - 2, 2**64 - 12345)
    model = graphs.random_generator([5])
    compiled = openvino.core.compile_model(openvino.read(model), "CPU")
    request = compiled.create_infer_request()
    for outputs in (
        compiled({"state": state}, share_inputs=share_inputs),
        request.infer([state], share_inputs=share_inputs),
    ):
        expected = reference.random_generator(state.to_array(), [5])
        assert_all_same(outputs.values(), expected)


@every_operator
def test_a_shape_of_a_model_input_arrives_whole(openvino: OpenVino, operator: str) -> None:
    """Its low 32 bits are 1, 1: a single value, drawn in silence."""
    if (operator, openvino.backend) == ("RandomBernoulli", "python"):
        return  # a limit that docs/limits.md states
    if not OPERATORS[operator].has_shape:
        return
    case = next(c for c in cases(operator) if not any(map(callable, c.setting.values())))
    shape = (2**32 + 1,) * 2
    inputs = case.inputs((1, 1))
    model = case.model(shape, inputs, constant=inputs)
    with pytest.raises(RuntimeError, match=r"'shape' must be .*: got \[4294967297, 4294967297\]"):
        openvino(model, case.feeds(shape, HIGH, {}))
