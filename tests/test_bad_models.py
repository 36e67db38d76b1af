"""Models that are broken around our nodes: ONNX Runtime's own error, a sentence, no traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import pytest
from cases import assert_refused
from foreign import evaluate, parse
from onnx import AttributeProto, TensorProto, helper
from runtimes import DEFAULT, ONE_THREAD, OpenVino, bare_session, compiled, infer

import onnx_philox
from onnx_philox import graphs, onnx_reference
from onnx_philox._runtime_errors import sentence

SHAPE = onnx.numpy_helper.from_array(np.array([3]), "shape")
LOW = onnx.numpy_helper.from_array(np.float32(0), "low")
HIGH = onnx.numpy_helper.from_array(np.float32(1), "high")
LOGITS = onnx.numpy_helper.from_array(np.zeros((2, 3), np.float32), "logits")
SEEDS = ("op_seed", "global_seed")


def model_of(
    nodes: Sequence[onnx.NodeProto], outputs: Iterable[tuple[str, int]], inputs: Any = ()
) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    graph = helper.make_graph(nodes, "g", list(inputs), infos, [SHAPE, LOW, HIGH, LOGITS])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("onnx_philox", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def uniform(outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    given = {"output_type": "f32", "op_seed": 3} | attributes
    inputs = ["shape", "low", "high"]
    return helper.make_node("RandomUniform", inputs, outputs, domain="onnx_philox", **given)


def categorical(outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    given = {"op_seed": 3} | attributes
    return helper.make_node("RandomCategorical", ["logits"], outputs, domain="onnx_philox", **given)


WRONG: dict[str, Any] = {"a float": 2.0, "a text": "7", "integers": [1, 2]}
WRONG |= {"floats": [1.0, 2.0], "texts": ["a"], "a tensor": SHAPE}
MAKE = {"RandomUniform": uniform, "RandomCategorical": categorical}
KINDS = {"RandomUniform": TensorProto.FLOAT, "RandomCategorical": TensorProto.INT32}
CASES = [(op, seed, wrong) for op in MAKE for seed in SEEDS for wrong in WRONG]


def wrongly_seeded(op: str, seed: str, wrong: str) -> onnx.ModelProto:
    attributes = {name: WRONG[wrong] if name == seed else 3 for name in SEEDS}
    return model_of([MAKE[op](["v"], **attributes)], [("v", KINDS[op])])


@pytest.mark.parametrize(("op", "seed", "wrong"), CASES)
def test_a_seed_of_a_wrong_type_is_refused_in_each_runtime_and_elsewhere(
    op: str, seed: str, wrong: str
):
    model, refusal = wrongly_seeded(op, seed, wrong), f"{op}: attribute '{seed}' must be "
    for backend in onnx_philox.onnxruntime.BACKENDS:
        session = partial(onnx_philox.onnxruntime.InferenceSession, backend=backend)
        for load in (session, bare_session):
            with pytest.raises(Exception, match="Pass an int") as raised:
                load(model)
            assert load is bare_session or type(raised.value).__name__ == "InvalidArgument"
            assert refusal in str(raised.value)
    for backend in onnx_philox.openvino.BACKENDS:
        said = openvino_says(lambda backend=backend: OpenVino(backend).read(model))
        # Of a tensor its front end says so by itself.
        assert said.startswith(refusal) or wrong == "a tensor", said
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    words = f"{refusal}an integer from 0 to"
    assert_refused(lambda: evaluator.run(None, {}), words)
    assert_refused(lambda: onnx_philox.make_reproducible(model), f"TypeError: {words}")


STANDARD = {
    "RandomNormal": ({"seed": 1}, "INT"),
    "RandomUniform": ({"seed": "x"}, "STRING"),
    "RandomNormalLike": ({"mean": [1.0, 2.0]}, "FLOATS"),
    "Bernoulli": ({"seed": [1.0]}, "FLOATS"),
    "Multinomial": ({"sample_size": 1.5}, "FLOAT"),
}


def standard(op: str, outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    inputs = [] if op in ("RandomNormal", "RandomUniform") else ["logits"]
    given = attributes if inputs else {"shape": [2]} | attributes
    return helper.make_node(op, inputs, outputs, **given)


@pytest.mark.parametrize("op", STANDARD)
def test_an_attribute_of_a_wrong_type_of_a_standard_node_is_refused_when_rewriting(op: str):
    wrong, given = STANDARD[op]
    (name,) = wrong
    model = model_of([standard(op, ["v"], **wrong)], [("v", TensorProto.FLOAT)])
    words = f"attribute '{name}' must be ...: got {given}. Give it that type, or remove it."
    assert_refused(lambda: onnx_philox.make_reproducible(model), f"TypeError: {words}")


@pytest.mark.parametrize("outputs", [[], ["v", "w", "x"]])
@pytest.mark.parametrize("op", [*STANDARD, "Dropout"])
def test_a_number_of_outputs_that_a_standard_node_cannot_have_is_refused(
    op: str, outputs: list[str]
):
    if op == "Dropout":
        node = helper.make_node(op, ["logits", "high", "on"], outputs)
        on = helper.make_node("Constant", [], ["on"], value=onnx.numpy_helper.from_array(np.True_))
        model = model_of([on, node], [])
    else:
        model = model_of([standard(op, outputs)], [])
    words = f"number of outputs must be ...: got {len(outputs)}"
    assert_refused(lambda: onnx_philox.make_reproducible(model), words)


def assert_one_line(result: Any) -> None:
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr


BAD_FILES = {
    "a seed of a wrong type": wrongly_seeded("RandomUniform", "op_seed", "a text"),
    "a global seed of a wrong type": wrongly_seeded("RandomUniform", "global_seed", "a float"),
    "a seed of a standard node": model_of(
        [standard("RandomNormal", ["v"], seed="x")], [("v", TensorProto.FLOAT)]
    ),
    "two values of one name": model_of([uniform(["v"]), uniform(["v"])], [("v", 1)]),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_the_commands_report_a_bad_model_in_a_line_and_write_nothing(what: str, tmp_path: Path):
    path = tmp_path / "m.onnx"
    onnx.save(BAD_FILES[what], path)
    target = tmp_path / "out.onnx"
    assert_one_line(cli.invoke(*["rewrite", path, "-o", target]))
    assert_one_line(cli.invoke(*["run", path, "-o", f"{tmp_path}/out"]))
    if what != "a seed of a standard node":  # which inspect shows as it is
        assert_one_line(cli.invoke(*["inspect", path]))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]


# A node without outputs draws for nobody.


@pytest.mark.parametrize("outputs", [[], [""]])
@pytest.mark.parametrize("op", MAKE)
def test_a_node_without_outputs_harms_nothing(
    op: str, outputs: list[str], ort_backend: str, openvino_backend: str, tmp_path: Path
):
    nodes = [MAKE[op](outputs), helper.make_node("Identity", ["shape"], ["y"])]
    model = model_of(nodes, [("y", TensorProto.INT64)])
    session = onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    np.testing.assert_array_equal(session.run(None, {})[0], [3])
    np.testing.assert_array_equal(bare_session(model).run(None, {})[0], [3])
    np.testing.assert_array_equal(infer(compiled(model, backend=openvino_backend))[0], [3])
    np.testing.assert_array_equal(evaluate(model, {})[0], [3])
    onnx_philox.make_reproducible(model)
    onnx.save(model, tmp_path / "m.onnx")
    assert cli.invoke(*["inspect", tmp_path / "m.onnx"]).exit_code == 0
    assert cli.invoke(*["run", tmp_path / "m.onnx"]).exit_code == 0


# What is wrong with names is ONNX Runtime's to say.

INPUT = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
NAMED_TWICE = {
    "by two nodes": model_of([uniform(["v"]), uniform(["v"])], [("v", 1)]),
    "by a node and an input": model_of([uniform(["x"])], [("x", 1)], [INPUT]),
    "by a node and an initializer": model_of([uniform(["low"])], [("low", 1)]),
    "by two inputs": model_of([uniform(["v"])], [("v", 1)], [INPUT, INPUT]),
    "by nodes that are not ours": model_of(
        [uniform(["v"]), *[helper.make_node(op, ["v"], ["a"]) for op in ("Neg", "Identity")]],
        [("a", 1)],
    ),
}


@pytest.mark.parametrize("what", NAMED_TWICE)
def test_a_model_with_a_name_given_twice_raises_onnxruntime_s_own_error(
    what: str, ort_backend: str
):
    model = NAMED_TWICE[what]
    with pytest.raises(Exception, match="Duplicate definition") as own:
        bare_session(model)
    with pytest.raises(Exception, match="Duplicate definition") as raised:
        onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    assert (type(raised.value), str(raised.value)) == (type(own.value), str(own.value))


def test_an_attribute_without_a_type_is_refused_and_not_read():
    model = wrongly_seeded("RandomUniform", "op_seed", "a float")
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "op_seed":
            attribute.type = AttributeProto.UNDEFINED
    for backend in ("native", "python"):
        with pytest.raises(
            Exception, match=r"attribute 'op_seed' must be an integer from 0 to 2\^63-1: got None"
        ):
            onnx_philox.onnxruntime.InferenceSession(model, backend=backend)


def dropout_of_floats_in_a_field_for_integers() -> onnx.ModelProto:
    model = parse("""g (float[4] x) => (float[4] y) <float ratio = {0.5}, bool yes = {1}> {
        y = Dropout (x, ratio, yes) }""")
    (ratio,) = (tensor for tensor in model.graph.initializer if tensor.name == "ratio")
    ratio.CopyFrom(onnx.TensorProto(name="ratio", data_type=TensorProto.FLOAT, int32_data=[1]))
    return model


def normal_with_an_attribute_of_no_type() -> onnx.ModelProto:
    model = parse("g () => (float[4] y) { y = RandomNormal <shape = [4]> () }")
    attribute = AttributeProto(name="mean", type=AttributeProto.UNDEFINED)
    model.graph.node[0].attribute.append(attribute)
    return model


DAMAGED = {
    dropout_of_floats_in_a_field_for_integers: "the constant 'ratio' must be a tensor that ONNX "
    "can read: got a damaged one (",
    normal_with_an_attribute_of_no_type: "attribute 'mean' must be FLOAT: got UNDEFINED",
}


@pytest.mark.parametrize(("make", "said"), DAMAGED.items())
def test_the_commands_say_what_is_damaged_and_print_no_traceback(tmp_path, make, said):
    onnx.save(make(), tmp_path / "m.onnx")
    for command, code in ((["inspect"], 0), (["rewrite", "-o", tmp_path / "out.onnx"], 2)):
        done = cli.invoke(*command, tmp_path / "m.onnx", catch_exceptions=False)
        assert done.exit_code == code, done.output
        assert said in " ".join(done.output.split())


def openvino_says(load: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as raised:
        load()
    return sentence(str(raised.value))


NODES = {
    "Dropout(x, ratio, training)": "Training mode is not supported for Dropout op",
    "other.Unknown(x)": "No conversion rule found for operations: other.Unknown",
}


@pytest.mark.parametrize(("node", "said"), NODES.items())
def test_openvino_says_why_a_node_is_not_converted(node, said):
    model = parse(
        "g (float[4] x) => (float[4] y) <float ratio = {0.5}, bool training = {1}> "
        f"{{ y = {node} }}",
        other=1,
    )
    assert openvino_says(lambda: OpenVino("native").read(model)) == said


@pytest.mark.parametrize("config", [DEFAULT, ONE_THREAD])
def test_an_operator_of_ours_speaks_for_itself_when_it_is_loaded_and_when_it_is_run(
    openvino_backend: str, config: dict[str, Any]
):
    model = graphs.random_uniform([2], None, 1, "f64", stateful=True)
    said = openvino_says(lambda: OpenVino(openvino_backend).read(model))
    assert said.startswith("RandomUniform: input 'minval' must be ")
    assert said.endswith("Make minval a constant, or scale in the graph.")
    model = graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=1)
    loaded = compiled(model, config, openvino_backend)
    feed = {"shape": np.array([-3]), "state": np.zeros(6, np.uint32)}
    assert openvino_says(lambda: infer(loaded, feed)) == (
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
