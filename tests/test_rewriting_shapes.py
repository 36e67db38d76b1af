"""Draws of one shape read one Shape node, which follows whatever a run or another batch says."""

from __future__ import annotations

import numpy as np
import onnx
import openvino as ov
import pytest
from cases import assert_same_bits
from onnx import parser
from runtimes import ONE_THREAD

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession

STATE = PhiloxState.for_run(5).to_array()


def parse(body: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {body}')


CHAIN = parse(
    """g (float[4] x) => (float[4] y) {
    half = Constant <value = float {0.5}> ()
    a = RandomNormalLike (x) b = Add (x, a) c = Relu (b) d = Mul (half, c)
    e = RandomUniformLike (d) f = Sub (d, e) y = Dropout (f, half, yes)
}""".replace("y = Dropout", "yes = Constant <value = bool {1}> () y = Dropout")
)


def shapes(model: onnx.ModelProto) -> int:
    nodes = list(model.graph.node)
    for node in nodes:
        nodes += [inner for a in node.attribute for inner in a.g.node]
    return len([node for node in nodes if node.op_type == "Shape"])


def run(model: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    return InferenceSession(model).run(None, {**feeds, "random_state": STATE})[0]


def chain(x: np.ndarray) -> np.ndarray:
    normals = reference.random_normal(x.shape, 0, 1, "f32", op_seed=0, state=STATE)[0]
    d = np.float32(0.5) * np.maximum(x + normals, 0)
    f = d - reference.random_uniform(x.shape, 0, 1, "f32", op_seed=1, state=STATE)[0]
    dropped = reference.random_bernoulli(x.shape, np.float32(0.5), op_seed=2, state=STATE)[0]
    return np.where(dropped, np.float32(0), f * np.float32(2))


def test_draws_of_one_shape_read_one_shape_node() -> None:
    model = make_reproducible(CHAIN)
    assert shapes(model) == 1
    x = np.linspace(-1, 3, 4, dtype=np.float32)
    assert_same_bits(run(model, x=x), chain(x))


@pytest.mark.parametrize("wrong", [3, 8])
def test_a_declared_shape_that_is_wrong_decides_nothing(wrong: int) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(CHAIN)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    for name in ("b", "d", "f"):
        info = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [wrong])
        model.graph.value_info.append(info)
    declared = make_reproducible(model)
    del declared.graph.value_info[:]
    x = np.linspace(-1, 3, 6, dtype=np.float32)
    assert_same_bits(run(declared, x=x), chain(x))


def test_a_model_may_get_another_batch_later() -> None:
    model = make_reproducible(CHAIN)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = 7
    del model.graph.value_info[:]
    x = np.linspace(-1, 3, 7, dtype=np.float32)
    drawn = chain(x)
    assert_same_bits(run(model, x=x), drawn)
    core = onnx_philox.openvino.register(ov.Core())
    read = core.read_model(make_reproducible(CHAIN).SerializeToString())
    read.reshape({"x": [7]})
    compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **ONE_THREAD})
    request = compiled.create_infer_request()
    request.start_async({"x": x, "random_state": STATE})
    request.wait()
    assert_same_bits(request.get_output_tensor(0).data, drawn)


def test_what_broadcasting_may_enlarge_has_a_shape_of_its_own() -> None:
    model = make_reproducible(
        parse("""g (float[n] x, float[m, 1] y) => (float[m, n] z) {
            a = RandomNormalLike (x) b = Add (a, y) c = RandomNormalLike (b) z = Mul (b, c)
        }""")
    )
    assert shapes(model) == 2
    x, y = np.ones(3, np.float32), np.zeros((2, 1), np.float32)
    first, second = (
        reference.random_normal(shape, 0, 1, "f32", op_seed=i, state=STATE)[0]
        for i, shape in enumerate(([3], [2, 3]))
    )
    assert_same_bits(run(model, x=x, y=y), first * second)


def test_each_graph_reads_a_shape_of_its_own_and_absorbed_nodes_may_come_late() -> None:
    model = make_reproducible(
        parse("""g (float[n] x, bool t) => (float[n] y, bool[n] k) {
            p = Constant <value = float {0.5}> ()
            u = RandomUniformLike (x)
            a = RandomNormalLike (x)
            b = If (t) <then_branch = then () => (float[n] c) {
                            r = Relu (x) c = RandomNormalLike (r) },
                        else_branch = other () => (float[n] d) { d = Identity (x) }>
            k = Less (u, p)
            y = Add (a, b)
        }""")
    )
    assert shapes(model) == 2
    x = np.zeros(5, np.float32)
    a, c = (reference.random_normal([5], 0, 1, "f32", op_seed=i, state=STATE)[0] for i in (1, 2))
    assert_same_bits(run(model, x=x, t=np.array(True)), a + c)
