"""No input has more than eight dimensions: refused when a model is loaded, in the same words."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx.helper import make_node, make_tensor_value_info, np_dtype_to_tensor_dtype
from operators import OPERATORS, plain
from runtimes import bare_session

import onnx_philox
from onnx_philox import PhiloxState, onnx_reference, reference
from onnx_philox._contract import checks
from onnx_philox._contract.known import Known
from onnx_philox._runtime_errors import sentence

PLAIN = {op: plain(op)[0] for op in OPERATORS}
STATE = PhiloxState(1, 2).to_array()


@cache
def good(op: str) -> dict[str, Any]:
    """All inputs of an operator; single numbers are 1-D."""
    shape = PLAIN[op].shape(2, (3,))
    given = PLAIN[op].feeds(shape, STATE, PLAIN[op].inputs(shape))
    return {i.name: np.atleast_1d(given[i.name]) for i in OPERATORS[op].inputs}


every_input = pytest.mark.parametrize(
    ("op", "name"), [(op, i.name) for op in PLAIN for i in OPERATORS[op].inputs]
)
too_many = pytest.mark.parametrize("rank", [9, 12, 70])


def attributes_of(op: str) -> dict[str, Any]:
    return PLAIN[op].attributes


def deep(op: str, name: str, rank: int) -> onnx.TensorProto:
    """The good value with leading dimensions of 1. NumPy has no arrays of rank 70."""
    array = good(op)[name]
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
        for other, array in good(op).items()
        if not (constant and other == name)
    ]
    node = make_node(op, list(good(op)), ["values"], domain="onnx_philox", **attributes_of(op))
    output = make_tensor_value_info("values", PLAIN[op].values.onnx, [None, None])
    graph = onnx.helper.make_graph([node], "g", infos, [output], [tensor] if constant else [])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


def refusal(op: str, name: str, rank: int) -> str:
    """What the checks say when a model is loaded."""
    known = {n: Known(None, array.shape) for n, array in good(op).items()}
    known[name] = Known(None, tuple(deep(op, name, rank).dims))
    with pytest.raises(ValueError, match=r"must be .*: got ") as raised:
        checks.check_node(OPERATORS[op], known, attributes_of(op))
    return str(raised.value)


@every_input
@too_many
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("backend", ["native", "python", "bare"])
def test_onnx_runtime_refuses_too_many_dimensions(
    op: str, name: str, rank: int, constant: bool, backend: str
):
    """In our session, and in its own with the native library."""
    model = model_of(op, name, rank, constant=constant)
    ours = onnx_philox.onnxruntime.InferenceSession
    load = bare_session if backend == "bare" else partial(ours, backend=backend)
    with pytest.raises(Exception, match=r"must be .*: got ") as raised:
        load(model)
    if backend == "bare":
        assert refusal(op, name, rank) in str(raised.value)
        return
    assert type(raised.value).__name__ == "InvalidArgument"
    assert str(raised.value) == refusal(op, name, rank)


@every_input
@too_many
@pytest.mark.parametrize("constant", [True, False])
def test_openvino_refuses_too_many_dimensions(
    op: str, name: str, rank: int, constant: bool, openvino_backend: str
):
    core = onnx_philox.openvino.register(ov.Core(), backend=openvino_backend)
    model = model_of(op, name, rank, constant=constant)
    with pytest.raises(RuntimeError) as raised:
        core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    assert sentence(str(raised.value)) == refusal(op, name, rank)


@every_input
@too_many
def test_the_schemas_refuse_too_many_dimensions(op: str, name: str, rank: int):
    onnx_philox.register_schemas()
    with pytest.raises(onnx.shape_inference.InferenceError) as raised:
        onnx.checker.check_model(model_of(op, name, rank, constant=True), full_check=True)
    assert refusal(op, name, rank) in str(raised.value)


@every_input
@pytest.mark.parametrize("rank", [9, 12])
def test_the_reference_refuses_too_many_dimensions(op: str, name: str, rank: int):
    arrays = dict(good(op))
    arrays[name] = arrays[name].reshape((1,) * (rank - arrays[name].ndim) + arrays[name].shape)
    with pytest.raises(ValueError, match=r"must be .*: got ") as raised:
        getattr(reference, OPERATORS[op].function)(**arrays, **attributes_of(op))
    # Before a run, the checks do not know the output's shape.
    assert str(raised.value) == refusal(op, name, rank).replace("[?, ?]", "[2, 3]")
    model = model_of(op, name, rank, constant=False)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    with pytest.raises(ValueError, match=r"must be .*: got "):
        evaluator.run(None, arrays)
