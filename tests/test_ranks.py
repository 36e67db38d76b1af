"""No input has more than eight dimensions: refused when a model is loaded, in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from onnx.helper import make_node, make_tensor_value_info, np_dtype_to_tensor_dtype
from runtimes import infer

import onnx_philox
from onnx_philox import PhiloxState, onnx_reference, reference
from onnx_philox._contract import checks
from onnx_philox._contract.known import Known
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._runtime_errors import sentence

GOOD: dict[str, dict[str, Any]] = {
    "RandomGenerator": {"state": PhiloxState(1, 2).to_array(), "shape": np.array([2, 3])},
    "RandomUniform": {
        "shape": np.array([2, 3]),
        "minval": np.zeros(1, np.float32),
        "maxval": np.ones(1, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomNormal": {
        "shape": np.array([2, 3]),
        "mean": np.zeros(1, np.float32),
        "scale": np.ones(1, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomBernoulli": {
        "shape": np.array([2, 3]),
        "p": np.full((2, 3), 0.5, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomGamma": {
        "shape": np.array([2, 3]),
        "alpha": np.full((2, 3), 0.5, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomPoisson": {
        "shape": np.array([2, 3]),
        "rate": np.full((2, 3), 0.5, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomPermutation": {
        "shape": np.array([2, 3]),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomExponential": {
        "shape": np.array([2, 3]),
        "scale": np.ones(1, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomDropout": {
        "data": np.zeros((2, 3), np.float32),
        "ratio": np.full(1, 0.5, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomToken": {
        "logits": np.zeros((2, 3), np.float32),
        "temperature": np.ones(2, np.float32),
        "top_k": np.ones(2, np.int64),
        "top_p": np.ones(1, np.float32),
        "min_p": np.ones(2, np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
    "RandomCategorical": {
        "logits": np.zeros((2, 3), np.float32),
        "state": PhiloxState(1, 2).to_array(),
    },
}
CASES = [(op, name, rank) for op, inputs in GOOD.items() for name in inputs for rank in (9, 12, 70)]


def attributes_of(op: str) -> dict[str, str]:
    types = [a for a in OPERATORS[op].attributes if a.name == "output_type"]
    if not types or types[0].default is not None:
        return {}
    return {"output_type": "i32" if op == "RandomPoisson" else "f32"}


def deep(op: str, name: str, rank: int) -> onnx.TensorProto:
    """The good value with leading dimensions of 1. NumPy has no arrays of rank 70."""
    array = GOOD[op][name]
    tensor = onnx.numpy_helper.from_array(array, name)
    del tensor.dims[:]
    tensor.dims.extend([1] * (rank - array.ndim) + list(array.shape))
    return tensor


def model_of(op: str, name: str, rank: int, *, constant: bool) -> onnx.ModelProto:
    """One input of a high rank, a constant or declared; the others, `shape` too, are inputs."""
    tensor = deep(op, name, rank)
    infos = [
        make_tensor_value_info(
            other,
            np_dtype_to_tensor_dtype(array.dtype),
            list(tensor.dims) if other == name else list(array.shape),
        )
        for other, array in GOOD[op].items()
        if not (constant and other == name)
    ]
    node = make_node(op, list(GOOD[op]), ["values"], domain="onnx_philox", **attributes_of(op))
    values = OPERATORS[op].outputs[0].type
    kinds = {"RandomCategorical": 6, "RandomPoisson": 6, "RandomPermutation": 7, "RandomToken": 7}
    kind = values.onnx if values else kinds.get(op, 1)
    output = make_tensor_value_info("values", kind, [None, None])
    graph = onnx.helper.make_graph([node], "g", infos, [output], [tensor] if constant else [])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


def refusal(op: str, name: str, rank: int) -> str:
    """What the checks say when a model is loaded."""
    known = {n: Known(None, array.shape) for n, array in GOOD[op].items()}
    known[name] = Known(None, tuple(deep(op, name, rank).dims))
    with pytest.raises(ValueError, match=r"must be .*: got ") as raised:
        checks.check_node(OPERATORS[op], known, attributes_of(op))
    return str(raised.value)


@pytest.mark.parametrize(("op", "name", "rank"), CASES)
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("backend", ["native", "python"])
def test_our_session_refuses_too_many_dimensions(
    op: str, name: str, rank: int, constant: bool, backend: str
):
    model = model_of(op, name, rank, constant=constant)
    with pytest.raises(Exception, match=r"must be .*: got ") as raised:
        onnx_philox.onnxruntime.InferenceSession(model, backend=backend)
    assert type(raised.value).__name__ == "InvalidArgument"
    assert str(raised.value) == refusal(op, name, rank)


@pytest.mark.parametrize(("op", "name", "rank"), CASES)
@pytest.mark.parametrize("constant", [True, False])
def test_the_native_library_refuses_too_many_dimensions(
    op: str, name: str, rank: int, constant: bool
):
    model = model_of(op, name, rank, constant=constant)
    options = onnx_philox.onnxruntime.register(onnxruntime.SessionOptions())
    with pytest.raises(Exception, match=r"must be .*: got ") as raised:
        onnxruntime.InferenceSession(model.SerializeToString(), options)
    assert refusal(op, name, rank) in str(raised.value)


@pytest.mark.parametrize(("op", "name", "rank"), CASES)
@pytest.mark.parametrize("constant", [True, False])
def test_openvino_refuses_too_many_dimensions(
    op: str, name: str, rank: int, constant: bool, openvino_backend: str
):
    core = onnx_philox.openvino.register(ov.Core(), backend=openvino_backend)
    model = model_of(op, name, rank, constant=constant)
    with pytest.raises(RuntimeError) as raised:
        core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    assert sentence(str(raised.value)) == refusal(op, name, rank)


@pytest.mark.parametrize(("op", "name", "rank"), CASES)
def test_the_schemas_refuse_too_many_dimensions(op: str, name: str, rank: int):
    onnx_philox.register_schemas()
    with pytest.raises(onnx.shape_inference.InferenceError) as raised:
        onnx.checker.check_model(model_of(op, name, rank, constant=True), full_check=True)
    assert refusal(op, name, rank) in str(raised.value)


@pytest.mark.parametrize(("op", "name", "rank"), [case for case in CASES if case[2] < 30])
def test_the_reference_refuses_too_many_dimensions(op: str, name: str, rank: int):
    arrays = dict(GOOD[op])
    arrays[name] = arrays[name].reshape((1,) * (rank - arrays[name].ndim) + arrays[name].shape)
    with pytest.raises(ValueError, match=r"must be .*: got ") as raised:
        getattr(reference, OPERATORS[op].function)(**arrays, **attributes_of(op))
    # Before a run, the checks do not know the output's shape.
    assert str(raised.value) == refusal(op, name, rank).replace("[?, ?]", "[2, 3]")
    model = model_of(op, name, rank, constant=False)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    with pytest.raises(ValueError, match=r"must be .*: got "):
        evaluator.run(None, arrays)


def test_eight_dimensions_are_drawn(ort_backend: str, openvino_backend: str):
    """The most that is allowed, with p a constant and `shape` an input."""
    p = np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 1, 1, 1, 1, 1, 3, 4)
    state = PhiloxState(5, 6).to_array()
    shape = np.array(p.shape)
    nodes = [make_node("RandomBernoulli", ["shape", "p", "state"], ["v"], domain="onnx_philox")]
    infos = [
        make_tensor_value_info("shape", onnx.TensorProto.INT64, [8]),
        make_tensor_value_info("state", onnx.TensorProto.UINT32, [6]),
    ]
    output = make_tensor_value_info("v", onnx.TensorProto.BOOL, [None] * 8)
    constants = [onnx.numpy_helper.from_array(p, "p")]
    graph = onnx.helper.make_graph(nodes, "g", infos, [output], constants)
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    expected, _ = reference.random_bernoulli(shape, p, state=state)
    feeds = {"shape": shape, "state": state}
    session = onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    np.testing.assert_array_equal(session.run(None, feeds)[0], expected)
    core = onnx_philox.openvino.register(ov.Core(), backend=openvino_backend)
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    np.testing.assert_array_equal(infer(compiled, feeds)[0], expected)
