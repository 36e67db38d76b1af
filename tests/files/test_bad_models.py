"""Models that are broken around our nodes: ONNX Runtime's own error, a sentence, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto

import onnx_philox
from onnx_philox import graphs, onnx_reference
from onnx_philox._runtime_errors import sentence
from tests.common import cli
from tests.common.cases import assert_refused
from tests.common.foreign import TF2ONNX, evaluate, parse
from tests.common.runtimes import DEFAULT, ONE_THREAD, OpenVino, bare_session, compiled, infer

CONSTANTS = "<int64[1] shape = {3}, float low = {0}, float high = {1}, bool on = {1}"
CONSTANTS += ", float[2, 3] logits = {0, 0, 0, 0, 0, 0}>"
SEEDS = ("op_seed", "global_seed")
OURS = {
    "RandomUniform": 'RandomUniform <output_type = "f32", op_seed = 3> (shape, low, high)',
    "RandomCategorical": "RandomCategorical <op_seed = 3> (logits)",
}
UNIFORM = f"onnx_philox.{OURS['RandomUniform']}"


def model_of(nodes: str, outputs: str = "float[] v", inputs: str = "") -> onnx.ModelProto:
    return parse(f"g ({inputs}) => ({outputs}) {CONSTANTS} {{ {nodes} }}")


WRONG = {
    **{
        "a float": "2.0",
        "a text": '"7"',
        "integers": "[1, 2]",
        "floats": "[1.0, 2.0]",
    },
    **{"texts": '["a"]', "a tensor": "int64[1] {3}"},
}
CASES = [(op, seed, wrong) for op in OURS for seed in SEEDS for wrong in WRONG]


def wrongly_seeded(op: str, seed: str, wrong: str) -> onnx.ModelProto:
    seeds = f"{seed} = {WRONG[wrong]}, {SEEDS[1 - SEEDS.index(seed)]} = 3"
    kind = "float" if op == "RandomUniform" else "int32"
    node = OURS[op].replace("op_seed = 3", seeds)
    return model_of(f"v = onnx_philox.{node}", f"{kind}[] v")


@pytest.mark.parametrize(("op", "seed", "wrong"), CASES)
def test_a_seed_of_a_wrong_type_is_refused_in_each_runtime_and_elsewhere(
    op: str, seed: str, wrong: str
):
    model = wrongly_seeded(op, seed, wrong)
    refusal = f"{op}: attribute '{seed}' must be "
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
    "RandomNormal <shape = [2], seed = 1> ()": "'seed' must be ...: got INT",
    'RandomUniform <shape = [2], seed = "x"> ()': "'seed' must be ...: got STRING",
    "RandomNormalLike <mean = [1.0, 2.0]> (logits)": "'mean' must be ...: got FLOATS",
    "Bernoulli <seed = [1.0]> (logits)": "'seed' must be ...: got FLOATS",
    "Multinomial <sample_size = 1.5> (logits)": "'sample_size' must be ...: got FLOAT",
}


@pytest.mark.parametrize(("node", "said"), STANDARD.items())
def test_an_attribute_of_a_wrong_type_of_a_standard_node_is_refused_when_rewriting(
    node: str, said: str
):
    words = f"TypeError: attribute {said}. Give it that type, or remove it."
    assert_refused(lambda: onnx_philox.make_reproducible(model_of(f"v = {node}")), words)


OF_TENSORFLOW = f"{TF2ONNX}.RandomStandardNormal (shape)"


@pytest.mark.parametrize("outputs", ["", "v, w, x"])
@pytest.mark.parametrize("node", [*STANDARD, "Dropout (logits, high, on)", OF_TENSORFLOW])
def test_a_number_of_outputs_that_a_node_cannot_have_is_refused(node: str, outputs: str):
    model = model_of(f"{outputs} = {node}", "")
    del model.graph.node[0].attribute[int("shape" in node) :]
    words = f"number of outputs must be ...: got {len(outputs.split())}"
    assert_refused(lambda: onnx_philox.make_reproducible(model), words)


BEYOND_SCHEMAS = {
    'a = Shape <start = "1"> (x)': "TypeError: attribute 'start' must be INT: got STRING",
    "a = Cast (x)": "attribute 'to' must be INT: got nothing. Give it.",
    "= Shape (x)": "number of outputs must be ...: got 0",
    "a = Concat <axis = 0> ()": "input 0 must be connected: got nothing",
    "a = Clip (, x)": "input 0 must be connected: got nothing",
    "a = Range (x, x, x, x)": "number of inputs must be at least 0 and at most 3: got 4",
}


@pytest.mark.parametrize(("node", "said"), BEYOND_SCHEMAS.items())
def test_no_rows_are_proved_beside_a_node_that_its_schema_does_not_allow(node: str, said: str):
    text = "g (float[batch, 2] x) => (float[batch, 2] y) {{ {} y = RandomNormalLike (x) }}"
    model = parse(text.format(node))
    assert_refused(lambda: onnx_philox.make_reproducible(model, per_row=True), said)
    assert [each.problem for each in onnx_philox.rewriting.find_random_nodes(model)] == [None]


BAD_FILES = {
    "a seed of a wrong type": wrongly_seeded("RandomUniform", "op_seed", "a text"),
    "a global seed of a wrong type": wrongly_seeded("RandomUniform", "global_seed", "a float"),
    "a seed of a standard node": model_of('v = RandomNormal <shape = [2], seed = "x"> ()'),
    "two values of one name": model_of(f"v = {UNIFORM}  v = {UNIFORM}"),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_the_commands_report_a_bad_model_in_a_line_and_write_nothing(what: str, tmp_path: Path):
    path = tmp_path / "m.onnx"
    out = tmp_path / "out.onnx"
    onnx.save(BAD_FILES[what], path)
    # Inspect shows a standard node as it is.
    inspect = [("inspect",)] * (what != "a seed of a standard node")
    for command, *options in (("rewrite", "-o", out), ("run", "-o", tmp_path / "out"), *inspect):
        result = cli.invoke(command, path, *options)
        assert isinstance(result.exception, SystemExit), result.exception
        assert (result.exit_code in (1, 2), result.stdout) == (True, "")
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]


# A node without outputs draws for nobody.


@pytest.mark.parametrize("outputs", ["", '""'])
@pytest.mark.parametrize("op", OURS)
def test_a_node_without_outputs_harms_nothing(
    op: str, outputs: str, ort_backend: str, openvino_backend: str, tmp_path: Path
):
    model = model_of(f"{outputs} = onnx_philox.{OURS[op]}  y = Identity (shape)", "int64[] y")
    ours = onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    for outputs_ in (
        *(session.run(None, {}) for session in (ours, bare_session(model))),
        infer(compiled(model, backend=openvino_backend)),
        evaluate(model, {}),
    ):
        np.testing.assert_array_equal(outputs_[0], [3])
    onnx_philox.make_reproducible(model)
    onnx.save(model, tmp_path / "m.onnx")
    for command in ("inspect", "run"):
        cli.text(command, tmp_path / "m.onnx")


# What is wrong with names is ONNX Runtime's to say.

NAMED_TWICE = {
    "by two nodes": model_of(f"v = {UNIFORM}  v = {UNIFORM}"),
    "by a node and an input": model_of(f"x = {UNIFORM}", "float[] x", "float[3] x"),
    "by a node and an initializer": model_of(f"low = {UNIFORM}", "float[] low"),
    "by two inputs": model_of(f"v = {UNIFORM}", inputs="float[3] x, float[3] x"),
    "by nodes that are not ours": model_of(
        f"v = {UNIFORM}  a = Neg (v)  a = Identity (v)", "float[] a"
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
    expected = (type(own.value), str(own.value))
    assert (type(raised.value), str(raised.value)) == expected


def test_an_attribute_without_a_type_is_refused_and_not_read():
    model = wrongly_seeded("RandomUniform", "op_seed", "a float")
    (seed,) = (a for a in model.graph.node[0].attribute if a.name == "op_seed")
    seed.type = AttributeProto.UNDEFINED
    words = r"attribute 'op_seed' must be an integer from 0 to 2\^63-1: got None"
    for backend in ("native", "python"):
        with pytest.raises(Exception, match=words):
            onnx_philox.onnxruntime.InferenceSession(model, backend=backend)


WITHOUT_A_COUNT = model_of(f"v = {TF2ONNX}.StatelessMultinomial (logits)", "int64[] v")
FLOATS_IN_A_FIELD_FOR_INTEGERS = model_of("v = Dropout (logits, low, on)")
(ratio,) = (t for t in FLOATS_IN_A_FIELD_FOR_INTEGERS.graph.initializer if t.name == "low")
ratio.CopyFrom(
    TensorProto(
        name="low",
        data_type=TensorProto.FLOAT,
        int32_data=[1],
    )
)
OF_NO_TYPE = model_of("v = RandomNormal <shape = [4]> ()")
OF_NO_TYPE.graph.node[0].attribute.add(
    name="mean",
    type=AttributeProto.UNDEFINED,
)
DAMAGED = {
    "input 1 must be connected: got nothing": WITHOUT_A_COUNT,
    "the constant 'low' must be a tensor that ONNX can read: got a damaged one (": (
        FLOATS_IN_A_FIELD_FOR_INTEGERS
    ),
    "attribute 'mean' must be FLOAT: got UNDEFINED": OF_NO_TYPE,
}


@pytest.mark.parametrize("said", DAMAGED)
def test_the_commands_say_what_is_damaged_and_print_no_traceback(tmp_path, said):
    onnx.save(DAMAGED[said], tmp_path / "m.onnx")
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
    head = "g (float[4] x) => (float[4] y) <float ratio = {0.5}, bool training = {1}>"
    model = parse(f"{head} {{ y = {node} }}", other=1)
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
    words = "input 'shape' must be dimensions of 0 or more: got [-3]. Give the size itself."
    assert openvino_says(lambda: infer(loaded, feed)) == f"RandomUniform: {words}"


LOAD = "Load model from a failed:Fatal error"
STATUS = "Non-zero status code returned while running X node. Name:'x' Status Message: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[ONNXRuntimeError] : 1 : FAIL : {LOAD}", LOAD),
        ("", ""),
        ("plain", "plain"),
        ("Exception from a.cpp:1:\n", "Exception from a.cpp:1:"),
        (f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : {STATUS}X: shape is 1", "X: shape is 1"),
    ],
)
def test_a_message_without_a_wrapper_is_unchanged(text, said):
    assert sentence(text) == said
