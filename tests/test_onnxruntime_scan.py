"""A session reads in a model's bytes what the library does not see; the library has the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import graphs, make_reproducible
from onnx_philox._contract.types import BY_NAME
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.onnxruntime._source import source_of

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

ROOT = Path(__file__).parents[1]
GOLDEN = sorted(ROOT.glob("graphs/golden/v*/*.onnx"))
EXPORTED = sorted(ROOT.glob("tests/models/*.onnx"))
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("onnx_philox", 1)]


@pytest.mark.filterwarnings("ignore:the input 'seed' is gone")
def test_golden_and_rewritten_models_are_loaded_without_onnx_ir() -> None:
    models = [onnx.load(path) for path in GOLDEN] + [
        make_reproducible(onnx.load(path)) for path in EXPORTED
    ]
    assert len(models) > 30
    read = [m.graph.name for m in models if not m.functions and source_of(m).checked()]
    assert read == []


Put = Callable[[onnx.GraphProto, np.ndarray], None]


def as_typed_data(graph: onnx.GraphProto, shape: np.ndarray) -> None:
    graph.initializer.append(helper.make_tensor("shape", TensorProto.INT64, shape.shape, shape))


def as_raw_data(graph: onnx.GraphProto, shape: np.ndarray) -> None:
    graph.initializer.append(numpy_helper.from_array(shape, "shape"))


def as_constant(graph: onnx.GraphProto, shape: np.ndarray) -> None:
    value = numpy_helper.from_array(shape)
    graph.node.insert(0, helper.make_node("Constant", [], ["shape"], value=value))


def as_constant_of_integers(graph: onnx.GraphProto, shape: np.ndarray) -> None:
    node = helper.make_node("Constant", [], ["shape"], value_ints=shape.tolist())
    graph.node.insert(0, node)


def around_a_branch(graph: onnx.GraphProto, shape: np.ndarray) -> None:
    inner = onnx.GraphProto()
    inner.CopyFrom(graph)
    inner.name = "branch"
    del graph.node[:], graph.initializer[:]
    node = helper.make_node("If", ["yes"], ["values"], then_branch=inner, else_branch=inner)
    graph.node.append(node)
    graph.input.append(helper.make_tensor_value_info("yes", TensorProto.BOOL, []))
    as_raw_data(graph, shape)


PUTS = pytest.mark.parametrize(
    "put", [as_typed_data, as_raw_data, as_constant, as_constant_of_integers, around_a_branch]
)


def drawing(put: Put, shape: list[int]) -> onnx.ModelProto:
    """A model whose shape stands in it in one of the ways."""
    model = graphs.random_uniform([2], 0, 1, "f32", op_seed=1)
    (given,) = (t for t in model.graph.initializer if t.name == "shape")
    model.graph.initializer.remove(given)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.shape.dim.add()
    put(model.graph, np.array(shape, np.int64))
    return model


@PUTS
def test_a_constant_is_read_wherever_it_stands(put: Put) -> None:
    wrong = drawing(put, [-2])
    feeds = {i.name: np.array(True) for i in wrong.graph.input}
    with pytest.raises(InvalidArgument, match=r"input 'shape' must be dimensions.*: got \[-2\]"):
        # ONNX Runtime 1.19 shows a branch no constant of the graph around it before a run.
        InferenceSession(wrong, backend="native").run(None, feeds)


def test_the_default_of_an_input_is_no_constant() -> None:
    model = drawing(as_raw_data, [-2])
    model.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [1]))
    session = InferenceSession(model, backend="native")
    assert session.run(None, {"shape": np.array([3])})[0].shape == (3,)


@pytest.mark.parametrize(
    ("kind", "dims", "said"),
    [
        (TensorProto.INT64, [1], None),
        (TensorProto.INT64, None, None),
        (TensorProto.INT64, ["n"], None),
        (TensorProto.FLOAT, [1], "input 'shape' must be i64 or i32: got f32"),
        (
            TensorProto.INT64,
            [1, 1],
            "input 'shape' must be 1-D, with one entry for each dimension: got",
        ),
        (TensorProto.INT8, [1], "input 'shape' must be i64 or i32: got"),
    ],
)
def test_what_is_declared_of_a_value_counts(kind: int, dims: Any, said: str | None) -> None:
    model = graphs.random_uniform(None, 0, 1, "f32", op_seed=1, rank=1)
    (shape,) = model.graph.input
    shape.CopyFrom(helper.make_tensor_value_info("shape", kind, dims))
    with pytest.raises(InvalidArgument, match=said) if said else nullcontext():
        InferenceSession(model, backend="native")


def test_types_are_numbered_and_named_as_in_onnx() -> None:
    """They stand in the package as numbers, so that nothing imports onnx for them."""
    for ours in BY_NAME.values():
        assert helper.tensor_dtype_to_np_dtype(ours.onnx) == ours.dtype
        name = TensorProto.DataType.Name(ours.onnx).lower()
        assert ours.onnx_name == f"tensor({name})"


def test_of_a_damaged_model_nothing_but_refusals_is_raised() -> None:
    rng = random.Random(17)
    wholes = [drawing(put, [2]).SerializeToString() for put in (as_raw_data, around_a_branch)]
    refused = 0
    for i in range(600):
        data = bytearray(wholes[i % 2])
        for _ in range(rng.randint(1, 2)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.1:
            del data[rng.randrange(len(data)) :]
        try:
            source_of(bytes(data)).checked()
        except InvalidArgument:
            refused += 1
    assert refused > 10
