"""The sentence of a runtime's error, out of errors that the runtimes raised."""

from __future__ import annotations

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import parser
from runtimes import DEFAULT, ONE_THREAD, infer

import onnx_philox
from onnx_philox import graphs
from onnx_philox._runtime_errors import sentence


def openvino_says(model: onnx.ModelProto, backend: str = "native") -> str:
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)
    with pytest.raises(RuntimeError) as raised:
        core.read_model(model.SerializeToString())
    return sentence(str(raised.value))


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("Dropout(x, ratio, training)", "Training mode is not supported for Dropout op"),
        ("other.Unknown(x)", "No conversion rule found for operations: other.Unknown"),
    ],
)
def test_openvino_says_why_a_node_is_not_converted(node, said):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "other": 1]> g (float[4] x) => (float[4] y) '
        f"<float ratio = {{0.5}}, bool training = {{1}}> {{ y = {node} }}"
    )
    assert openvino_says(model) == said


@pytest.mark.parametrize("backend", ["native", "python"])
def test_an_operator_of_ours_speaks_for_itself_when_it_is_loaded(backend):
    model = graphs.random_uniform([2], None, 1, "f64", stateful=True)
    said = openvino_says(model, backend)
    assert said.startswith("RandomUniform: input 'minval' must be ")
    assert said.endswith("Make minval a constant, or scale in the graph.")


@pytest.mark.parametrize("config", [DEFAULT, ONE_THREAD])
@pytest.mark.parametrize("backend", ["native", "python"])
def test_an_operator_of_ours_speaks_for_itself_when_it_is_run(backend, config):
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)
    model = graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=1)
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", config)
    with pytest.raises(RuntimeError) as raised:
        infer(compiled, {"shape": np.array([-3]), "state": np.zeros(6, np.uint32)})
    assert sentence(str(raised.value)) == (
        "RandomUniform: input 'shape' must be dimensions of 0 or more: got [-3]. Give the size "
        "itself."
    )


LOAD = "Load model from a failed:Fatal error"
STATUS = "Non-zero status code returned while running X node. Name:'x' Status Message: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[ONNXRuntimeError] : 1 : FAIL : {LOAD}", LOAD),
        *(("", ""), ("plain", "plain"), ("Exception from a.cpp:1:\n", "Exception from a.cpp:1:")),
        (f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : {STATUS}X: shape is 1", "X: shape is 1"),
    ],
)
def test_what_is_not_wrapped_stays(text, said):
    assert sentence(text) == said
