"""`to_standard_nodes` of older opsets: ONNX's converter raises them, and the numbers stay."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, numpy_helper

from onnx_philox import PhiloxState, make_reproducible, to_standard_nodes
from tests.common import cli
from tests.common.foreign import in_onnxruntime, parse
from tests.common.standard_targets import RUN

STATE = PhiloxState.for_run(42).to_array()
REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
# Of a y of [2, 6]: operators that changed until opset 18, as they were in an older one.
NODES = {
    (9, "slice"): "a = Slice <starts = [1], ends = [5], axes = [1]> (y)",
    (9, "clip"): "a = Clip <min = 0.3, max = 0.7> (y)",
    (9, "top"): "a, i = TopK <k = 2, axis = 1> (y)",
    (9, "scan"): """c = Clip <min = 0.3, max = 0.7> (y)
        a = Scan <num_scan_inputs = 1, body = b (float[6] row) => (float[6] out) {
            out = Neg (row) }> (c)""",
    (10, "pad"): "a = Pad <pads = [0, 1, 0, 2], value = 1.5> (y)",
    (10, "dropout"): "d = Dropout <ratio = 0.3> (y) \n a = Neg (d)",
    (11, "split"): "b, a = Split <axis = 1, split = [2, 4]> (y)",
    (11, "softmax"): "a = Softmax <axis = 0> (y)",
    (11, "last"): "a = LogSoftmax (y)",
    (11, "squeeze"): "u = Unsqueeze <axes = [0, 2]> (y) \n a = Squeeze <axes = [2]> (u)",
    (13, "half"): "c, a = Split <axis = 1> (y)",
    (13, "lstm"): "a, h, c = LSTM <hidden_size = 1> (three, w, r)",
    **{(11, r): f"a = Reduce{r} <axes = [1], keepdims = 0> (y)" for r in REDUCTIONS},
    **{(17, r): f"a = Reduce{r} <axes = [-2]> (y)" for r in REDUCTIONS if r != "Sum"},
}

W = ", ".join(f"{n / 12 - 1:.3f}" for n in range(24))


def model_of(opset: int, nodes: str) -> onnx.ModelProto:
    """A model that computes something of a random [2, 6]."""
    model = parse(
        f"""g (float[2, 6] x) => (a)
        <float[1, 4, 6] w = {{{W}}}, float[1, 4, 1] r = {{1, -1, 2, 0.5}}> {{
            y = RandomUniformLike (x) shape = Constant <value = int64[3] {{1, 2, 6}}> ()
            three = Reshape (y, shape)
            {nodes} }}""",
        opset,
    )
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return model


FEEDS = {"x": np.zeros((2, 6), np.float32), "random_state": STATE}


@pytest.mark.parametrize(("opset", "kind"), NODES)
def test_a_raised_node_computes_what_it_did(opset: int, kind: str) -> None:
    rewritten = make_reproducible(model_of(opset, NODES[opset, kind]))
    with pytest.warns(UserWarning, match=f"the opset was raised from {opset} to 18"):
        standard = to_standard_nodes(rewritten)
    output, _ = RUN["onnxruntime"](standard, FEEDS, optimised=False)
    expected, _ = in_onnxruntime()(rewritten, FEEDS)
    np.testing.assert_allclose(output, expected, rtol=1e-6)


@pytest.mark.parametrize(("opset", "type_"), [(7, "float"), (10, "bool")])
def test_the_mask_of_an_old_dropout_is_refused(opset: int, type_: str) -> None:
    model = model_of(opset, "[drop] a, mask = Dropout <ratio = 0.3> (y)")
    with pytest.warns(UserWarning, match="rewrote 1 Dropout"):
        to_standard_nodes(make_reproducible(model))  # which nothing reads
    number = TensorProto.DataType.Value(type_.upper())
    model.graph.output.append(onnx.helper.make_tensor_value_info("mask", number, [2, 6]))
    words = f"got {opset}, and onnx.version_converter would change the mask of Dropout 'drop'"
    with pytest.raises(ValueError, match=words):
        to_standard_nodes(make_reproducible(model))


def test_the_mask_of_a_dropout_of_opset_12_is_what_it_is_in_18() -> None:
    model = model_of(12, "a, mask = Dropout (y)")
    info = onnx.helper.make_tensor_value_info("mask", TensorProto.BOOL, [2, 6])
    model.graph.output.append(info)
    standard = to_standard_nodes(make_reproducible(model))
    _, mask, _ = RUN["onnxruntime"](standard, FEEDS, optimised=False)
    assert mask.all()


HELD = """g (float[2, 6] x, bool choice) => (float[2] a, float[2, 6] b, float[2, 6] c) {
    y = RandomUniformLike (x)
    a = If (choice) <
        then_branch = t () => (float[2] p) { p = ReduceSum <axes = [1], keepdims = 0> (y) },
        else_branch = e () => (float[2] q) { q = ReduceMax <axes = [1], keepdims = 0> (y) }>
    b = own.changed (y) c = own.same (b) }
    <domain: "own", opset_import: ["": 11]> changed (z) => (out) { out = Softmax <axis = 0> (z) }
    <domain: "own", opset_import: ["": 11]> same (z) => (out) { out = Elu (z) }
"""


@pytest.mark.parametrize("target", RUN)
def test_nodes_of_branches_and_functions_are_raised_too(target: str) -> None:
    rewritten = make_reproducible(parse(HELD, 11))
    with pytest.warns(UserWarning, match="rewrote 1 ReduceMax, 1 ReduceSum, 1 Softmax"):
        standard = to_standard_nodes(rewritten, target=target)
    onnx.checker.check_model(standard, full_check=True)
    kept = {f.name for f in standard.functions if f.domain == "own"}
    assert kept == ({"same"} if target == "onnxruntime" else set())
    for choice in (True, False):
        feeds = {**FEEDS, "choice": np.array(choice)}
        outputs = RUN[target](standard, feeds, optimised=True)
        for output, expected in zip(outputs, in_onnxruntime()(rewritten, feeds), strict=True):
            np.testing.assert_allclose(output, expected, rtol=1e-6)


def test_raising_the_opset_leaves_other_nodes_and_weights_as_they_are(tmp_path: Path) -> None:
    model = model_of(11, "z = Mul (y, weights) \n a = Softmax <axis = 0> (z)")
    weights = numpy_helper.from_array(np.full((2, 6), 3, np.float32), "weights")
    model.graph.initializer.append(weights)
    for node in model.graph.node:
        node.doc_string = f"of {node.op_type}"
        node.metadata_props.add(key="from", value=node.op_type)
    model.graph.value_info.add(name="of_no_value")
    expected = in_onnxruntime()(make_reproducible(model), FEEDS)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0)
    said = cli.text(
        "rewrite",
        tmp_path / "m.onnx",
        "-o",
        tmp_path / "new.onnx",
        "--standard",
    )
    assert "Warning: the opset was raised from 11 to 18" in said

    written = onnx.load(tmp_path / "new.onnx", load_external_data=False)
    before = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    assert written.graph.initializer == before.graph.initializer
    assert written.graph.initializer[-1].data_location == TensorProto.EXTERNAL
    new = {node.output[0]: node for node in written.graph.node}
    assert new["z"] == next(node for node in model.graph.node if node.op_type == "Mul")
    assert (new["a"].doc_string, new["a"].metadata_props[0].value) == ("of Softmax", "Softmax")
    assert "of_no_value" in [info.name for info in written.graph.value_info]
    session = ort.InferenceSession(tmp_path / "new.onnx")
    for output, one in zip(session.run(None, FEEDS), expected, strict=True):
        np.testing.assert_allclose(output, one, rtol=1e-6)


def test_an_opset_that_changes_no_node_is_raised_without_a_word() -> None:
    model = make_reproducible(model_of(17, "a = Softmax (y)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        standard = to_standard_nodes(model)
    expected = model.graph.node[-1]
    assert standard.graph.node[-1] == expected


RESIZE = "s = Constant <value = float[2] {1, 2}> () \n a = Resize (y, s)"
PAD_F16 = "h = Cast <to = 10> (y) \n p = Pad <pads = [0, 1, 0, 2]> (h) \n a = Cast <to = 1> (p)"


@pytest.mark.parametrize(
    ("opset", "nodes", "problem"),
    [
        (10, RESIZE, "would change what Resize of 'a' computes"),
        (12, "a = Hardmax <axis = 0> (y)", "would change what Hardmax of 'a' computes"),
        (10, PAD_F16, "cannot raise Pad of 'p' to 18"),
        (10, "a = NoSuch (y)", "cannot raise NoSuch of 'a' to 18"),
    ],
    ids=["Resize", "Hardmax", "Pad", "NoSuch"],
)
def test_what_the_converter_alters_or_cannot_raise_is_refused(
    opset: int, nodes: str, problem: str
) -> None:
    model = make_reproducible(model_of(opset, nodes))
    words = rf"opset must be 18 or.*: got {opset}, and onnx.version_converter {problem}"
    with pytest.raises(ValueError, match=words):
        to_standard_nodes(model)
