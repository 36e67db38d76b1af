"""A session proves from a model's bytes that its nodes keep the rules; onnx-ir is for the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import graphs, make_reproducible
from onnx_philox._contract.types import BY_NAME
from onnx_philox.onnxruntime import InferenceSession, _changed
from onnx_philox.onnxruntime._source import source_of

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

ROOT = Path(__file__).parents[1]
GOLDEN = sorted(ROOT.glob("graphs/golden/v*/*.onnx"))
EXPORTED = sorted(ROOT.glob("tests/models/*.onnx"))
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("onnx_philox", 1)]


def is_proved(model: onnx.ModelProto | bytes | Path) -> bool:
    return source_of(model).needs_nothing


@pytest.mark.filterwarnings("ignore:the input 'seed' is gone")
def test_golden_and_rewritten_models_are_proved() -> None:
    models = [onnx.load(path) for path in GOLDEN] + [
        make_reproducible(onnx.load(path)) for path in EXPORTED
    ]
    assert len(models) > 30
    unproved = [m.graph.name for m in models if not m.functions and not is_proved(m)]
    assert unproved == []


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
    assert is_proved(drawing(put, [2]))
    wrong = drawing(put, [-2])
    assert not is_proved(wrong)
    with pytest.raises(InvalidArgument, match=r"input 'shape' must be dimensions.*: got \[-2\]"):
        InferenceSession(wrong, backend="native")


def test_the_default_of_an_input_is_no_constant() -> None:
    model = drawing(as_raw_data, [-2])
    model.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [1]))
    assert is_proved(model)
    session = InferenceSession(model, backend="native")
    assert session.run(None, {"shape": np.array([3])})[0].shape == (3,)


def test_what_is_declared_of_a_value_counts() -> None:
    for kind, dims, proved in (
        (TensorProto.INT64, [1], True),
        (TensorProto.INT64, None, True),
        (TensorProto.INT64, ["n"], True),
        (TensorProto.FLOAT, [1], False),
        (TensorProto.INT64, [1, 1], False),
        (TensorProto.INT8, [1], False),
    ):
        model = graphs.random_uniform(None, 0, 1, "f32", op_seed=1, rank=1)
        (shape,) = model.graph.input
        shape.CopyFrom(helper.make_tensor_value_info("shape", kind, dims))
        assert is_proved(model) is proved, (kind, dims)


def test_types_are_numbered_and_named_as_in_onnx() -> None:
    """They stand in the package as numbers, so that nothing imports onnx for them."""
    for ours in BY_NAME.values():
        assert helper.tensor_dtype_to_np_dtype(ours.onnx) == ours.dtype
        name = TensorProto.DataType.Name(ours.onnx).lower()
        assert ours.onnx_name == f"tensor({name})"


def test_a_model_is_proved_only_if_onnx_ir_finds_nothing_wrong_either() -> None:
    """Models with some bytes changed: most are damaged, some mean something else.

    Names stay UTF-8, in which onnx-ir reads them.
    """
    rng = random.Random(17)
    wholes = [drawing(put, [2]).SerializeToString() for put in (as_raw_data, around_a_branch)]
    proved = 0
    for i in range(600):
        data = bytearray(wholes[i % 2])
        for _ in range(rng.randint(1, 2)):
            data[rng.randrange(len(data))] = rng.randrange(128)
        if rng.random() < 0.1:
            del data[rng.randrange(len(data)) :]
        try:
            source = source_of(bytes(data))
        except InvalidArgument:  # a newer opset of the domain
            continue
        if source.is_ours and source.needs_nothing:
            proved += 1
            assert _changed.model(source) is None
    assert proved > 50
