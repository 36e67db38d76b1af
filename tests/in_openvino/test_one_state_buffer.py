"""The state and the outputs in one piece of memory, which a runtime may write before it is read."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from onnx import parser

import onnx_philox
from onnx_philox import PhiloxState, graphs, make_reproducible, reference, row_states
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import assert_all_same, assert_same_bits, parse
from tests.common.openvino_models import parameter
from tests.common.runtimes import OpenVino, infer

# A run whose number carries into nothing: it wraps after the second one.
STATE = PhiloxState.for_run(2**64 - 5, run=2**32 - 2)
X = np.full((3, 5), 0.5, np.float32)

MODELS = {
    "several nodes": """g (float[3, 5] x) => (float[3, 5] a, bool[3, 5] b, float[2] c) {
        a = RandomUniformLike (x)
        n = RandomNormalLike (x)
        p = Sigmoid (n)
        d = Bernoulli <dtype = 9> (x)
        e = Less (p, a)
        b = Xor (d, e)
        c = RandomUniform <shape = [2]> ()
    }""",
    "a Loop and an If": """g (float[3, 5] x) => (float[3, 5] a, float[4, 5] b, float[5] c) {
        trips = Constant <value_int = 4> ()
        go = Constant <value = bool {1}> ()
        start = Constant <value_floats = [0.0, 0.0, 0.0, 0.0, 0.0]> ()
        end, b = Loop (trips, go, start) <body = body (int64 i, bool ci, float[5] v)
            => (bool co, float[5] w, float[5] u) {
            co = Identity (ci)
            u = RandomUniformLike (v)
            w = Add (v, u)
        }>
        one = Constant <value_int = 1> ()
        odd = Cast <to = 9> (one)
        c = If (odd) <then_branch = t () => (float[5] r) { r = RandomNormalLike (start) },
                      else_branch = e () => (float[5] s) { s = Identity (start) }>
        a = RandomUniformLike (x)
    }""",
    "rows": """g (float[n, 5] x) => (float[n, 5] y) {
        three = Constant <value_int = 3> () go = Constant <value = bool {1}> ()
        a = RandomUniformLike (x) b = Bernoulli (x)
        c = Loop (three, go, x) <body = body (int64 i, bool ci, float[r, c] v)
            => (bool co, float[p, q] w) {
            co = Identity (ci) noise = RandomNormalLike (v) w = Add (v, noise) }>
        y = Sum (a, b, c)
    }""",
}
RUNS = 3


def begin(name: str) -> np.ndarray:
    """The state of the first run, or the states of its rows."""
    return row_states(range(3)) if name == "rows" else STATE.to_array()


def rewritten(name: str) -> onnx.ModelProto:
    return make_reproducible(parse(MODELS[name]), per_row=name == "rows")


def separate(name: str) -> list[list[np.ndarray]]:
    """The outputs of each run, with memory of its own for each state."""
    session = InferenceSession(rewritten(name))
    state = begin(name)
    runs = []
    for _ in range(RUNS):
        *outputs, state = session.run(None, {"x": X, "random_state": state})
        runs.append([*outputs, state])
    return runs


@pytest.mark.parametrize("level", ["DISABLE", "ENABLE"])
@pytest.mark.parametrize("mode", ["SEQUENTIAL", "PARALLEL"])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_runtime_draws_each_run_from_its_own_state(
    name: str, level: str, mode: str, ort_backend: str
) -> None:
    model = rewritten(name)
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}_ALL")
    options.execution_mode = getattr(ort.ExecutionMode, f"ORT_{mode}")
    session = InferenceSession(model, options, backend=ort_backend)
    state = ort.OrtValue.ortvalue_from_numpy(begin(name))
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_input("random_state", state)
    *names, next_state = [output.name for output in session.get_outputs()]
    for output in names:
        binding.bind_output(output)
    binding.bind_ortvalue_output(next_state, state)
    for expected in separate(name):
        session.run_with_iobinding(binding)
        actual = [value.numpy() for value in binding.get_outputs()]
        assert_all_same(actual, expected)


@pytest.mark.parametrize("name", MODELS)
def test_openvino_draws_each_run_from_its_own_state(name: str, openvino: OpenVino) -> None:
    model = rewritten(name)
    runs = []
    for is_shared in (False, True):
        compiled = openvino.core.compile_model(
            openvino.read(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
        )
        request = compiled.create_infer_request()
        state = ov.Tensor(begin(name))
        request.set_tensor("x", ov.Tensor(X))
        request.set_tensor("random_state", state)
        if is_shared:
            request.set_tensor("next_random_state", state)
        runs.append([])
        for _ in range(RUNS):
            infer(request)
            outputs = [output.any_name for output in compiled.outputs]
            runs[-1].append([request.get_tensor(name).data.copy() for name in outputs])
            if not is_shared:
                state.data[...] = request.get_tensor("next_random_state").data
    for alone, shared in zip(*runs, strict=True):
        assert_all_same(alone, shared)


@pytest.mark.parametrize("name", list(MODELS)[:2])
def test_a_node_that_is_added_later_reads_the_copy_too(name: str) -> None:
    model = rewritten(name)
    for node in ("late = RandomUniform <shape = [4]> ()", "later = RandomNormalLike (late)"):
        model.graph.node.append(parser.parse_node(node))
        model = make_reproducible(model)
    readers = [node.op_type for node in model.graph.node if "random_state" in node.input]
    assert readers == ["Cast"]
    onnx.checker.check_model(model)
    feed = {"x": X, "random_state": begin(name)}
    (node,) = (node for node in model.graph.node if "late" in node.output)
    stream = {a.name: a.i for a in node.attribute}["op_seed"]
    state = STATE.to_array()
    late, _ = reference.random_uniform([4], 0, 1, "f32", op_seed=stream, state=state)
    model.graph.output.append(onnx.helper.make_tensor_value_info("late", 1, [4]))
    assert_same_bits(InferenceSession(model).run(["late"], feed)[0], late)


# One state; then rows that are drawn many at once, and rows that are drawn one after the other.
SHAPES = [
    (6,),
    (4, 6),
    (500, 3),
    (40, 300),
]
OVERLAPS = list(
    itertools.product(
        SHAPES,
        (0, 3),
        ("bits", "next_state"),
    )
)
"""What is drawn, how far after the states an output begins, and which one it is."""


class Overlap:
    """States, and memory for both outputs; one of these lies on the states."""

    def __init__(
        self,
        shape: tuple[int, ...],
        words_after: int,
        output: str,
    ) -> None:
        states = STATE.to_array() if len(shape) == 1 else row_states(np.arange(shape[0]))
        self.expected = reference.random_generator(states, shape)
        self.onto = ["bits", "next_state"].index(output)
        size = self.expected[self.onto].size
        memory = np.zeros(states.size + words_after + size, np.uint32)
        self.states = memory[: states.size].reshape(states.shape)
        self.states[...] = states
        self.outputs = [np.zeros_like(values) for values in self.expected]
        over = memory[words_after : words_after + size]
        self.outputs[self.onto] = over.reshape(self.expected[self.onto].shape)


def test_onnx_runtime_reads_states_before_it_writes_an_output_onto_them(ort_backend: str) -> None:
    for shape, words_after, output in OVERLAPS:
        case = Overlap(shape, words_after, output)
        model = graphs.random_generator(shape, per_row=len(shape) > 1)
        session = InferenceSession(model, backend=ort_backend)
        binding = session.io_binding()
        binding.bind_ortvalue_input("state", ort.OrtValue.ortvalue_from_numpy(case.states))
        for name, memory in zip(("bits", "next_state"), case.outputs, strict=True):
            binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(memory))
        session.run_with_iobinding(binding)
        assert_all_same(case.outputs, case.expected)


# OpenVINO copies u32 to i32, and hands an operator i32 as it is.
@pytest.mark.parametrize("type_", ["u32", "i32"])
def test_openvino_reads_states_before_it_writes_an_output_onto_them(
    type_: str, factories: str
) -> None:
    core = onnx_philox.openvino.register(ov.Core(), backend=factories)
    cases = [Overlap(*each) for each in OVERLAPS]
    inputs = [
        parameter(
            "state",
            list(c.states.shape),
            getattr(ov.Type, type_),
        )
        for c in cases
    ]
    nodes = map(onnx_philox.openvino.random_generator, inputs, (shape for shape, *_ in OVERLAPS))
    outputs = [output for node in nodes for output in node.outputs()]
    compiled = core.compile_model(ov.Model(outputs, inputs), "CPU")
    request = compiled.create_infer_request()
    for i, case in enumerate(cases):
        request.set_input_tensor(i, shared(case.states, compiled.input(i)))
        at = 2 * i + case.onto
        request.set_output_tensor(at, shared(case.outputs[case.onto], compiled.output(at)))
    infer(request)
    for at, expected in enumerate(array for case in cases for array in case.expected):
        drawn = request.get_output_tensor(at).data
        assert_same_bits(drawn.view(np.uint32), expected)


def shared(words: np.ndarray, port: ov.ConstOutput) -> ov.Tensor:
    return ov.Tensor(words.view(port.get_element_type().to_dtype()), shared_memory=True)
