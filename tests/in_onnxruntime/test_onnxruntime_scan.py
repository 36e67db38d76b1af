"""A session reads in a model's bytes what the library does not see; the library has the rest."""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import make_reproducible
from onnx_philox._contract.types import BY_NAME
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.onnxruntime._source import source_of
from tests.common.cases import parse

ort_state = ort.capi.onnxruntime_pybind11_state
InvalidArgument = ort_state.InvalidArgument

ROOT = Path(__file__).parents[2]
GOLDEN = sorted(ROOT.glob("graphs/golden/v*/*.onnx"))
EXPORTED = sorted(ROOT.glob("tests/models/*.onnx"))


@pytest.mark.filterwarnings("ignore:the input 'seed' is gone")
def test_golden_and_rewritten_models_are_loaded_without_onnx_ir() -> None:
    models = [onnx.load(path) for path in GOLDEN] + [
        make_reproducible(onnx.load(path)) for path in EXPORTED
    ]
    assert len(models) > 30
    read = [m.graph.name for m in models if not m.functions and source_of(m).checked()]
    assert read == []


# The way in which a shape stands in a model, of the initializer and the node that may give it.
DRAW = 'values = onnx_philox.RandomUniform <output_type = "f32", op_seed = 1> (shape, low, high)'
BRANCHES = f"""values = If (yes) <then_branch = a () => (float[n] values) {{ {DRAW} }},
    else_branch = b () => (float[n] values) {{ {DRAW} }}>"""
NUMBERS = "float low = {0}, float high = {1}"
TYPED = f"<int64[1] shape = {{N}}, {NUMBERS}>"
PUTS = {
    "typed data": f"g () => (float[n] values) {TYPED} {{ {DRAW} }}",
    "raw data": f"g () => (float[n] values) {TYPED} {{ {DRAW} }}",
    "around a branch": f"g (bool yes) => (float[n] values) {TYPED} {{ {BRANCHES} }}",
    "a Constant": f"""g () => (float[n] values) <{NUMBERS}>
        {{ shape = Constant <value = int64[1] {{N}}> () {DRAW} }}""",
    "a Constant of integers": f"""g () => (float[n] values) <{NUMBERS}>
        {{ shape = Constant <value_ints = [N]> () {DRAW} }}""",
}


def drawing(put: str, size: int) -> onnx.ModelProto:
    """A model whose shape stands in it in one of the ways."""
    model = parse(PUTS[put].replace("N}", f"{size}}}").replace("[N]", f"[{size}]"))
    if put in ("raw data", "around a branch"):
        shape = model.graph.initializer[0]
        shape.CopyFrom(numpy_helper.from_array(np.array([size]), "shape"))
    return model


@pytest.mark.parametrize("put", PUTS)
def test_a_constant_is_read_wherever_it_stands(put: str) -> None:
    wrong = drawing(put, -2)
    feeds = {i.name: np.array(True) for i in wrong.graph.input}
    with pytest.raises(InvalidArgument, match=r"input 'shape' must be dimensions.*: got \[-2\]"):
        # ONNX Runtime 1.19 shows a branch no constant of the graph around it before a run.
        InferenceSession(wrong, backend="native").run(None, feeds)


def test_the_default_of_an_input_is_no_constant() -> None:
    model = drawing("raw data", -2)
    model.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [1]))
    session = InferenceSession(model, backend="native")
    assert session.run(None, {"shape": np.array([3])})[0].shape == (3,)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("int64[1]", None),
        ("int64[]", None),
        ("int64[n]", None),
        ("float[1]", "input 'shape' must be i64 or i32: got f32"),
        ("int64[1, 1]", "input 'shape' must be 1-D, with one entry for each dimension: got"),
        ("int8[1]", "input 'shape' must be i64 or i32: got"),
    ],
)
def test_a_shape_input_is_judged_by_its_declared_dimensions(
    declared: str, said: str | None
) -> None:
    model = parse(f"g ({declared} shape) => (float[n] values) <{NUMBERS}> {{ {DRAW} }}")
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
    wholes = [drawing(put, 2).SerializeToString() for put in ("raw data", "around a branch")]
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


def test_what_is_damaged_within_a_function_or_an_import_is_onnx_runtime_s_to_report(
    ort_backend: str,
) -> None:
    model = drawing("raw data", 2)
    node = helper.make_node("Neg", ["a"], ["b"])
    model.functions.append(helper.make_function("d", "F", ["a"], ["b"], [node], []))
    whole = model.SerializeToString()
    part = node.SerializeToString()
    # A node that ends before its input's name does; a version of four bytes.
    for damaged in (
        whole.replace(part, b"\x0a\x7f" + part[2:]),
        whole + b"\x42\x12\x0a\x0bonnx_philox\x15\x01\0\0\0",
    ):
        with pytest.raises((ort_state.InvalidProtobuf, ort_state.Fail)):
            InferenceSession(damaged, backend=ort_backend)
    assert not source_of(whole * 2).is_ours, "which has two graphs"
