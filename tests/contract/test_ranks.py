"""No input has more than eight dimensions: refused when a model is loaded, in the same words."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import make_node, make_tensor_value_info, np_dtype_to_tensor_dtype
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import onnx_philox
from onnx_philox import PhiloxState, onnx_reference, reference
from tests.common.operators import OPERATORS, plain
from tests.common.runtimes import bare_session, compiled

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
    node = make_node(
        op,
        list(good(op)),
        ["values"],
        domain="onnx_philox",
        **PLAIN[op].attributes,
    )
    output = make_tensor_value_info("values", PLAIN[op].values.onnx, [None, None])
    graph = onnx.helper.make_graph([node], "g", infos, [output], [tensor] if constant else [])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


RULES = {
    "shape": "1-D, with one entry for each dimension",
    "state": "[6], or [1, ..., 1, 6] up to rank 8, or [B, 6], a state for each row of the output",
    "logits": "2-D, [batch, classes]",
    **dict.fromkeys(
        ("p", "rate", "alpha", "data"),
        "of 0 to 8 dimensions",
    ),
    **dict.fromkeys(
        ("temperature", "top_k", "top_p", "min_p"),
        "a scalar, 1-D of one element, or 1-D with one for each row (2)",
    ),
}


def refusal(op: str, name: str, rank: int) -> str:
    rule = RULES.get(name, "a scalar, or 1-D of one element")
    got = f"{rank} dimensions" if "8 dim" in rule else f"shape {[*deep(op, name, rank).dims]}"
    return f"{op}: input '{name}' must be {rule}: got {got}. "


def by_schemas(model: onnx.ModelProto) -> None:
    onnx_philox.register_schemas()
    onnx.checker.check_model(model, full_check=True)


DOORS: dict[str, tuple[Any, type[Exception]]] = {
    "ONNX Runtime's own session": (bare_session, Exception),
    "the schemas": (by_schemas, onnx.shape_inference.InferenceError),
}
for name in ("native", "python"):
    ours = partial(onnx_philox.onnxruntime.InferenceSession, backend=name)
    DOORS[f"our session, {name}"] = ours, InvalidArgument
    DOORS[f"openvino, {name}"] = partial(compiled, backend=name), RuntimeError


@every_input
@pytest.mark.parametrize("rank", [9, 12, 70])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("door", DOORS)
def test_too_many_dimensions_are_refused_when_a_model_is_loaded(
    op: str, name: str, rank: int, constant: bool, door: str
):
    load, error = DOORS[door]
    with pytest.raises(error) as raised:
        load(model_of(op, name, rank, constant=constant))
    assert refusal(op, name, rank) in str(raised.value)


@every_input
@pytest.mark.parametrize("rank", [9, 12])
def test_the_reference_refuses_too_many_dimensions(op: str, name: str, rank: int):
    arrays = dict(good(op))
    arrays[name] = arrays[name].reshape((1,) * (rank - arrays[name].ndim) + arrays[name].shape)
    model = model_of(op, name, rank, constant=False)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    for refuse in (
        lambda: getattr(reference, OPERATORS[op].function)(**arrays, **PLAIN[op].attributes),
        lambda: evaluator.run(None, arrays),
    ):
        with pytest.raises(ValueError, match="must be") as raised:
            refuse()
        assert refusal(op, name, rank) in str(raised.value)
