"""Operators as functions of a model: backends without our kernels expand them to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from cases import assert_all_same, assert_same_bits
from onnx import inliner, parser
from onnx.reference import ReferenceEvaluator
from runtimes import infer
from standard_targets import in_onnxruntime

import onnx_philox
from onnx_philox import PhiloxState, graphs, onnx_reference, reference, to_standard_nodes
from onnx_philox.rewriting import add_functions, function_of

STATE = PhiloxState(2**64 - 3, 2**64 - 1).to_array()
OF_ONE_OPERATOR = """
    <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    g (uint32[6] state) => (float[9] a, double[9] b, float[9] c, float[9] d)
    <int64[1] shape = {9}, float low = {0}, float high = {1}, double dl = {-1}, double dh = {2}> {
        a, next = onnx_philox.RandomUniform <output_type = "f32", op_seed = 7>
            (shape, low, high, state)
        b = onnx_philox.RandomUniform <output_type = "f64"> (shape, dl, dh, next)
        c = onnx_philox.RandomUniform <output_type = "f32", op_seed = 8> (shape, low, high, state)
        d = onnx_philox.RandomUniform <output_type = "f32", global_seed = 8> (shape, low, high)
    }
"""


def expected() -> list[np.ndarray]:
    a, following = reference.random_uniform([9], 0, 1, "f32", op_seed=7, state=STATE)
    return [
        a,
        reference.random_uniform([9], -1, 2, "f64", state=following)[0],
        reference.random_uniform([9], 0, 1, "f32", op_seed=8, state=STATE)[0],
        reference.random_uniform([9], 0, 1, "f32", global_seed=8)[0],
    ]


def test_nodes_that_need_several_bodies_get_overloads() -> None:
    model = add_functions(parser.parse_model(OF_ONE_OPERATOR))
    assert [f.overload for f in model.functions] == ["", "f64", "f32_no_state"]
    assert [node.overload for node in model.graph.node] == ["", "f64", "", "f32_no_state"]
    assert model.ir_version >= 10
    assert_all_same(in_onnxruntime(model, {"state": STATE}, optimised=True), expected())


def test_the_inliner_of_onnx_expands_them() -> None:
    model = inliner.inline_local_functions(add_functions(parser.parse_model(OF_ONE_OPERATOR)))
    assert {node.domain for node in model.graph.node} == {""}
    assert_all_same(in_onnxruntime(model, {"state": STATE}, optimised=True), expected())
    assert_all_same(ReferenceEvaluator(model).run(None, {"state": STATE}), expected())


def test_a_runtime_with_our_kernels_uses_them(tmp_path: Any) -> None:
    model = add_functions(parser.parse_model(OF_ONE_OPERATOR))
    options = onnx_philox.onnxruntime.register(ort.SessionOptions())
    options.optimized_model_filepath = str(tmp_path / "kept.onnx")
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    kept = onnx.load(tmp_path / "kept.onnx").graph.node
    assert [n.op_type for n in kept if n.domain == "onnx_philox"] == ["RandomUniform"] * 4
    assert_all_same(session.run(None, {"state": STATE}), expected())
    core = onnx_philox.openvino.register(ov.Core())
    read = core.read_model(model.SerializeToString())
    assert [op.get_type_name() for op in read.get_ops()].count("RandomUniform") == 4
    found = infer(core.compile_model(read, "CPU"), {"state": STATE})
    assert_all_same([found[i] for i in range(4)], expected())
    evaluator = ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    assert_all_same(evaluator.run(None, {"state": STATE}), expected())


@pytest.mark.parametrize("backend", ["native", "python"])
def test_our_session_takes_it(backend: str) -> None:
    model = add_functions(parser.parse_model(OF_ONE_OPERATOR))
    session = onnx_philox.onnxruntime.InferenceSession(model.SerializeToString(), backend=backend)
    assert_all_same(session.run(None, {"state": STATE}), expected())


def test_standard_nodes_are_made_of_the_operators_not_of_these_functions() -> None:
    """OpenVINO would draw wrong bits by 64-bit integers."""
    model = add_functions(graphs.random_generator([9], op_seed=3))
    standard = to_standard_nodes(model, target="openvino")
    plain = to_standard_nodes(graphs.random_generator([9], op_seed=3), target="openvino")
    assert standard.graph.node == plain.graph.node
    assert not standard.functions


def test_onnx_s_reference_needs_them_inlined() -> None:
    """It takes RandomUniform for ONNX's own, whatever the domain."""
    model = add_functions(parser.parse_model(OF_ONE_OPERATOR))
    with pytest.raises(RuntimeError, match="Attribute 'shape' is expected"):
        ReferenceEvaluator(model)


def test_a_function_serves_every_seed() -> None:
    one, other = (graphs.random_normal([3], 0, 1, "f32", op_seed=s).graph.node[0] for s in (7, 8))
    assert function_of(one) == function_of(other)
    assert (
        function_of(one)
        == add_functions(graphs.random_normal([3], 0, 1, "f32", op_seed=7)).functions[0]
    )


def test_a_draw_in_a_function_of_the_model_and_in_a_loop() -> None:
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 18, "own": 1]>
        g (uint32[6] state, int64 count, bool keep) => (uint32[n, 2] stacked) {
            last, stacked = Loop (count, keep, state) <body = body (
                int64 i, bool c, uint32[6] before) => (bool c_out, uint32[6] after, uint32[2] bits)
            {
                c_out = Identity (c)
                bits, after = own.noise (before)
            }>
        }
        <domain: "own", opset_import: ["": 18, "onnx_philox": 1]>
        noise (s) => (bits, next) {
            shape = Constant <value = int64[1] {2}> ()
            bits, next = onnx_philox.RandomGenerator <op_seed = 4> (s, shape)
        }
    """)
    feeds = {"state": STATE, "count": np.array(3), "keep": np.array(True)}
    (stacked,) = in_onnxruntime(add_functions(model), feeds, optimised=True)
    state = STATE
    for row in stacked:
        bits, state = reference.random_generator(state, [2], op_seed=4)
        assert_same_bits(row, bits)


def test_a_model_without_our_nodes_is_the_very_same_object() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 12]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    )
    assert add_functions(model) is model


def test_what_is_no_node_of_ours_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"the node must be one of RandomGen.*: got ai\.onnx::RandomUniform"
    ):
        function_of(onnx.helper.make_node("RandomUniform", [], ["y"], shape=[3]))
    bernoulli = graphs.random_bernoulli([3], 0.5, op_seed=1).graph.node[0]
    with pytest.raises(
        ValueError, match=r"RandomBernoulli: p_type must be f32 or f64.*: got 'f16'"
    ):
        function_of(bernoulli, p_type="f16")
    with pytest.raises(
        TypeError, match=r"function_of: the node must be an onnx\.NodeProto: got int\. Pass"
    ):
        function_of(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("ratio_type", ["f32", "f64"])
def test_a_ratio_of_the_run_scales_as_the_reference_does(ratio_type: str) -> None:
    """ONNX Runtime's optimiser makes x / y of x * (1 / y), which rounds otherwise."""
    model = add_functions(
        graphs.random_dropout(None, None, ratio_type=ratio_type, rank=1, stateful=True)
    )
    data = np.random.default_rng(3).normal(0, 1, 1000).astype(np.float32)
    ratio = {"f32": np.float32, "f64": np.float64}[ratio_type](0.3)
    outputs = in_onnxruntime(
        model, {"data": data, "ratio": np.array(ratio), "state": STATE}, optimised=True
    )
    assert_all_same(outputs, reference.random_dropout(data, ratio, state=STATE))


def test_the_body_of_a_dropout_is_for_the_type_of_its_ratio() -> None:
    (node,) = graphs.random_dropout(None, None, rank=1, stateful=True).graph.node
    bodies = [function_of(node, p_type=p_type) for p_type in ("f32", "f64")]
    assert bodies[0] != bodies[1]
