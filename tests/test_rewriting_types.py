"""The types and ranks that a rewrite needs: through unknown operators, beside what is no tensor."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from cases import assert_same_bits
from make_onnxruntime_types import DOMAINS, rules
from onnx import TensorProto, helper, numpy_helper, parser
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import (
    PhiloxState,
    Pipeline,
    RefusedInputError,
    make_reproducible,
    reference,
    to_standard_nodes,
)
from onnx_philox._rewriting.in_onnx import types
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes

STATE = PhiloxState.for_run(3).to_array()
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def parse(body: str, opset: int = 17) -> onnx.ModelProto:
    opsets = f'"": {opset}, "com.microsoft": 1'
    return parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]>\n{body}")


# ------------------------------------------------------------------ types


def test_the_type_passes_through_onnx_runtime_s_own_operators() -> None:
    model = parse(
        """g (float[N, 4] x) => (y, p) {
            q = com.microsoft.QuickGelu <alpha = 1.0> (x)
            p = Sigmoid (q)
            y = Bernoulli (p)
        }"""
    )
    rewritten = make_reproducible(model)
    session = InferenceSession(rewritten)
    y, p, _ = session.run(None, {"x": X, "random_state": STATE})
    assert_same_bits(y, reference.random_bernoulli([3, 4], p, state=STATE)[0].astype(np.float32))


@pytest.mark.parametrize("dtype", ["float", "float16"])
def test_the_type_of_a_second_output_passes_too_and_into_branches(dtype: str) -> None:
    model = parse(
        f"""g ({dtype}[N, 4] x, {dtype}[4] b, bool c) => (y) {{
            q = com.microsoft.BiasGelu (x, b)
            s, mean, inverse, sum = com.microsoft.SkipLayerNormalization (q, x, b)
            y = If (c) <
                then_branch = t () => (a) {{
                    r = com.microsoft.FastGelu (sum)  a = RandomNormalLike (r) }},
                else_branch = e () => (d) {{ d = Identity (x) }}>
        }}"""
    )
    (found,) = find_random_nodes(model)
    assert (found.problem, found.output_type) == (None, "f32" if dtype == "float" else "f16")
    type = np.float32 if dtype == "float" else np.float16
    feeds = {"x": X.astype(type), "b": np.ones(4, type), "c": np.array(True)}
    y, _ = InferenceSession(make_reproducible(model)).run(None, feeds | {"random_state": STATE})
    assert_same_bits(y, reference.random_normal([3, 4], 0, 1, found.output_type, state=STATE)[0])


def test_operators_that_onnx_got_later_pass_their_type() -> None:
    model = parse(
        """g (float[N, 4] x, float[4] b) => (y) {
            l = LayerNormalization (x, b)
            s = SimplifiedLayerNormalization (l, b)
            y = RandomUniformLike (s)
        }""",
        opset=14,
    )
    feeds = {"x": X, "b": np.ones(4, np.float32), "random_state": STATE}
    y, _ = InferenceSession(make_reproducible(model)).run(None, feeds)
    assert_same_bits(y, reference.random_uniform([3, 4], 0, 1, "f32", state=STATE)[0])


def test_the_type_of_a_draw_of_tensorflow_is_known() -> None:
    model = parse(
        """g (int32[1] s) => (y) {
            n = RandomStandardNormal <dtype = 1> (s)
            p = Sigmoid (n)
            y = Bernoulli (p)
        }"""
    )
    assert [node.problem for node in find_random_nodes(model)] == [None, None]


def test_the_types_that_nobody_knows_are_still_asked_for() -> None:
    model = parse("g (float[2] x) => (y) { q = com.microsoft.Mine (x) y = Bernoulli (q) }")
    with pytest.raises(
        TypeError,
        match=(
            "the type of input 'q' must be one that is declared "
            "or can be inferred: got an unknown one"
        ),
    ):
        make_reproducible(model)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_rules_are_those_of_onnx_runtime_s_schemas(domain: str) -> None:
    ours, theirs = types.rules()[domain], rules(domain)
    both = ours.keys() & theirs.keys()
    assert len(both) > 0.9 * len(ours)
    # Releases add inputs and outputs at the end.
    for name in both:
        for like, now in zip(ours[name], theirs[name], strict=False):
            assert set(like) <= set(now) or set(now) <= set(like), name


# ------------------------------------------------------------------ ranks

NINE = "[1, 1, 1, 1, 1, 1, 1, 1, 2]"


@pytest.mark.parametrize(
    "node",
    [
        "RandomNormalLike (x)",
        "RandomUniformLike (x)",
        "Bernoulli (x)",
        "Dropout (x, ratio, training)",
    ],
)
def test_an_input_of_nine_dimensions_is_refused_by_name(node: str) -> None:
    model = parse(
        f"""g (float{NINE} x) => (float{NINE} y) <float ratio = {{0.5}}, bool training = {{1}}>
        {{ y = {node} }}"""
    )
    model.graph.node[0].name = "culprit"
    message = (
        r"'culprit' \(opset .*the shape of input 'x' must be of 0 to 8 dimensions: got 9 dimensions"
    )
    with pytest.raises(ValueError, match=message):
        make_reproducible(model)
    del model.graph.input[0].type.tensor_type.shape.dim[0]
    assert [found.problem for found in find_random_nodes(model)] == [None]


@pytest.mark.parametrize("op_type", ["RandomNormal", "RandomUniform"])
def test_a_shape_of_nine_dimensions_is_refused_by_name(op_type: str) -> None:
    model = parse(f"g () => (float{NINE} y) {{ y = {op_type} <shape = {NINE}> () }}")
    model.graph.node[0].name = "culprit"
    with pytest.raises(
        ValueError, match=r"'culprit' \(opset .*must be of 0 to 8 dimensions: got 9 dimensions"
    ):
        make_reproducible(model)


# ------------------------------------------------------------------ declared types

OTHERWISE = {
    "RandomNormalLike <dtype = 1> (x)": "Set dtype to 10 (FLOAT16), or put 'RandomNormalLike' into",
    "RandomUniformLike <dtype = 1> (x)": "Set dtype to 10 (FLOAT16)",
    "RandomNormal <dtype = 1, shape = [4]> ()": "Set dtype to 10 (FLOAT16)",
    "RandomUniform <dtype = 1, shape = [4]> ()": "Set dtype to 10 (FLOAT16)",
    "Bernoulli <dtype = 1> (x)": "Set dtype to 10 (FLOAT16)",
}


@pytest.mark.parametrize("node", OTHERWISE)
def test_a_draw_whose_output_is_declared_otherwise_is_refused_and_no_runtime_loads_it(
    node: str,
) -> None:
    model = parse(
        f"g (float16[4] x) => (float16[4] y) <float16[4] r> {{ r = {node} y = Add (x, r) }}"
    )
    with pytest.raises(
        TypeError, match="the type of output 'r' must be FLOAT, which the node "
    ) as e:
        make_reproducible(model)
    assert "draws: got one that is declared FLOAT16. " + OTHERWISE[node] in str(e.value)
    assert find_random_nodes(model)[0].problem == str(e.value)
    with pytest.raises(Exception, match=r"does not match expected type|declare"):
        ort.InferenceSession(model.SerializeToString())
    with pytest.raises(RuntimeError):
        ov.Core().compile_model(ov.Core().read_model(model.SerializeToString()), "CPU")


def test_a_dropout_whose_output_is_declared_otherwise_is_refused() -> None:
    model = parse(
        """g (float[4] x) => (float16[4] y) <float r = {0.5}, bool on = {1}, float16[4] d> {
            d = Dropout (x, r, on)
            y = Identity (d)
        }"""
    )
    with pytest.raises(
        TypeError, match=r"must be FLOAT, which the node draws: got .* Declare it FLOAT"
    ):
        make_reproducible(model)


# ------------------------------------------------------------------ types that are no tensors


def tensor_type(element: int) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(element, [2])


MAP = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, []))
SPARSE = helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3])
OPAQUE = onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d", name="n"))
KINDS = {
    **{
        name: tensor_type(TensorProto.DataType.Value(name))
        for name in (*("STRING", "INT4", "UINT4", "COMPLEX64", "FLOAT4E2M1"), "FLOAT8E5M2")
    },
    "a sequence": helper.make_sequence_type_proto(tensor_type(1)),
    "a map": MAP,
    "maps": helper.make_sequence_type_proto(MAP),
    "an optional": helper.make_optional_type_proto(tensor_type(1)),
    "an optional map": helper.make_optional_type_proto(MAP),
    "sparse": SPARSE,
    "sparse ones": helper.make_sequence_type_proto(SPARSE),
    "opaque": OPAQUE,
    "opaque ones": helper.make_sequence_type_proto(OPAQUE),
}


def beside(kind: str, place: str) -> onnx.ModelProto:
    """A model in which a value of a kind goes beside a draw whose type must be inferred."""
    branch = "h = Neg (x)  n = RandomUniformLike (h)"
    model = parse(
        {
            "an input": f"g (float[N] x, float[2] v) => (n) {{ {branch} }}",
            "an output": f"g (float[N] x, float[2] v) => (n, w) {{ {branch}  w = Identity (v) }}",
            "in a body": f"""g (float[N] x, float[2] v, bool c) => (n, w) {{ n, w = If (c) <
                then_branch = t () => (float[N] n, float[2] w) {{ {branch}  w = Identity (v) }},
                else_branch = e () => (float[N] i, float[2] j) {{
                    i = Identity (x)  j = Identity (v) }}> }}""",
        }[place],
        opset=21,
    )
    of_nodes = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    for graph in (model.graph, *of_nodes):
        for info in (*graph.input, *graph.output):
            if info.name in "vwj":
                info.type.CopyFrom(KINDS[kind])
    return model


@pytest.mark.parametrize("place", ["an input", "an output", "in a body"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_kind_stand_beside_a_draw(kind: str, place: str) -> None:
    model = beside(kind, place)
    (found,) = find_random_nodes(model)
    assert (found.problem, found.output_type) == (None, "f32")
    for per_row in (False, True):
        rewritten = make_reproducible(model, per_row=per_row)
        assert [i for i in rewritten.graph.input if i.name == "v"] == [model.graph.input[1]]
        for info in model.graph.output[1:]:
            assert info in rewritten.graph.output
        to_standard_nodes(rewritten)
    quiet = ort.SessionOptions()
    quiet.log_severity_level = 4
    try:
        ort.InferenceSession(model.SerializeToString(), quiet)
    except Exception as error:
        # What ONNX Runtime does not load, it does not load rewritten, in the same words.
        with pytest.raises(type(error)):
            Pipeline(model, sess_options=quiet)
        return
    InferenceSession(make_reproducible(model))
    assert "v" in Pipeline(model).inputs


FED = {
    "STRING": ["a", "b"],
    "a map": {1: 2.0},
    "a sequence": [np.float32([1])],
    "FLOAT8E5M2": ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.zeros(2, ml_dtypes.float8_e5m2), TensorProto.FLOAT8E5M2
    ),
}


@pytest.mark.parametrize("kind", FED)
def test_a_pipeline_is_fed_values_that_are_no_arrays(kind: str) -> None:
    drawn = Pipeline(beside(kind, "an input"))({"x": X[0], "v": FED[kind]}, seed=3)["n"]
    assert_same_bits(drawn, reference.random_uniform([4], 0.0, 1.0, "f32", state=STATE)[0])


def test_an_array_that_onnx_runtime_takes_as_a_value_alone_is_refused_with_the_way() -> None:
    feed = {"x": X[0], "v": np.zeros(2, ml_dtypes.int4)}
    with pytest.raises(RefusedInputError, match=r"'v' must be a value of int4.*with_onnx_type"):
        Pipeline(beside("INT4", "an input"))(feed, seed=3)


def sparse_tensor() -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.float32([1, 2]), "v")
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.int64([0, 2]), "i"), [3])


@pytest.mark.parametrize("place", ["an initializer", "a constant", "maps that a node makes"])
def test_what_onnx_ir_cannot_read_stays_and_hides_no_type(place: str) -> None:
    model = parse(
        """g (float[N, 3] x) => (n, w) {
            h = Neg (x)  n = RandomUniformLike (h)  w = Identity (v)
        }"""
    )
    if place == "an initializer":
        model.graph.sparse_initializer.append(sparse_tensor())
    elif place == "a constant":
        node = helper.make_node("Constant", [], ["v"], sparse_value=sparse_tensor())
        model.graph.node.insert(0, node)
    else:
        model.graph.node[2].CopyFrom(
            helper.make_node(
                "ZipMap", ["h"], ["w"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]
            )
        )
        model.opset_import.add(domain="ai.onnx.ml", version=1)
        model.graph.output[1].type.CopyFrom(KINDS["maps"])
    rewritten = make_reproducible(model)
    assert rewritten.graph.sparse_initializer == model.graph.sparse_initializer
    assert all(
        n in rewritten.graph.node for n in model.graph.node if n.op_type[:3] in ("Con", "Zip")
    )
    if place != "maps that a node makes":
        with pytest.raises(ort_state.NotImplemented, match=r"with backend='python': got .*native"):
            InferenceSession(rewritten, backend="python")
    result = Pipeline(model)({"x": X[:, :3]}, seed=3)
    expected = reference.random_uniform([3, 3], 0.0, 1.0, "f32", state=STATE)[0]
    assert_same_bits(result["n"], expected)
    if place == "maps that a node makes":
        assert result["w"][1] == dict(enumerate(-X[1, :3]))
    else:
        assert_same_bits(result["w"], np.float32([1, 0, 2]))
