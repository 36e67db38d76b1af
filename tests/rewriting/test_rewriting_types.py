"""The types that a rewrite needs: through unknown operators, beside what is no tensor."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

import onnx_philox as op
from onnx_philox._rewriting.in_onnx import inferred_types
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes
from tests.common.cases import assert_same_bits
from tests.common.foreign import in_onnxruntime, parse, uniform
from tests.rewriting.make_onnxruntime_types import DOMAINS, rules

STATE = op.PhiloxState.for_run(3).to_array()
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def test_the_type_passes_through_onnx_runtime_s_own_operators() -> None:
    model = parse("""g (float[N, 4] x) => (y, p) {
        q = com.microsoft.QuickGelu <alpha = 1.0> (x) p = Sigmoid (q) y = Bernoulli (p) }""")
    y, p, _ = in_onnxruntime()(op.make_reproducible(model), {"x": X, "random_state": STATE})
    expected = op.reference.random_bernoulli([3, 4], p, state=STATE)[0].astype(np.float32)
    assert_same_bits(y, expected)


@pytest.mark.parametrize("dtype", ["float", "float16"])
def test_the_type_of_a_second_output_passes_too_and_into_branches(dtype: str) -> None:
    model = parse(f"""g ({dtype}[N, 4] x, {dtype}[4] b, bool c) => (y) {{
        q = com.microsoft.BiasGelu (x, b)
        s, mean, inverse, sum = com.microsoft.SkipLayerNormalization (q, x, b)
        y = If (c) <then_branch = t () => (a) {{
                r = com.microsoft.FastGelu (sum) a = RandomNormalLike (r) }},
            else_branch = e () => (d) {{ d = Identity (x) }}> }}""")
    (found,) = find_random_nodes(model)
    expected = (None, "f32" if dtype == "float" else "f16")
    assert (found.problem, found.output_type) == expected
    type_ = np.float32 if dtype == "float" else np.float16
    feeds = {
        "x": X.astype(type_),
        "b": np.ones(4, type_),
        "c": np.array(True),
    }
    y, _ = in_onnxruntime()(op.make_reproducible(model), feeds | {"random_state": STATE})
    expected = op.reference.random_normal([3, 4], 0, 1, found.output_type, state=STATE)[0]
    assert_same_bits(y, expected)


def test_a_dropout_has_the_type_that_a_rewrite_declared_where_onnx_infers_none(
    ort_backend: str,
) -> None:
    model = parse("""g (float16[N, 4] x) => (q, d) <float h = {0.5}, bool on = {1}> {
        q = com.microsoft.QuickGelu <alpha = 1.0> (x) o = Dropout (q, h, on) d = Neg (o) }""")
    feeds = {"x": X.astype(np.float16), "random_state": STATE}
    q, d, _ = in_onnxruntime(ort_backend)(op.make_reproducible(model), feeds)
    expected = -op.reference.random_dropout(q, 0.5, state=STATE)[0]
    assert_same_bits(d, expected)


def test_operators_that_onnx_got_later_pass_their_type() -> None:
    model = parse(
        """g (float[N, 4] x, float[4] b) => (y) { l = LayerNormalization (x, b)
        s = SimplifiedLayerNormalization (l, b) y = RandomUniformLike (s) }""",
        14,
    )
    feeds = {
        "x": X,
        "b": np.ones(4, np.float32),
        "random_state": STATE,
    }
    y, _ = in_onnxruntime()(op.make_reproducible(model), feeds)
    assert_same_bits(y, uniform([3, 4], 0, STATE))


def test_the_type_of_a_draw_of_tensorflow_is_known() -> None:
    model = parse("""g (int32[1] s) => (y) {
        n = RandomStandardNormal <dtype = 1> (s) p = Sigmoid (n) y = Bernoulli (p) }""")
    assert [node.problem for node in find_random_nodes(model)] == [None, None]


def test_states_of_a_scan_keep_types_of_their_own() -> None:
    model = parse("""g (float16[2] a, float[2] b, float[3, 2] x) => (y) {
        i, j, k = Scan <num_scan_inputs = 1, body = s (float16[2] p, float[2] q, float[2] r)
            => (float16[2] t, float[2] u, float[2] v) {
                t = Neg (p)  u = Add (q, r)  v = Neg (r) }> (a, b, x)
        y = RandomNormalLike (j) }""")
    assert [found.output_type for found in find_random_nodes(model)] == ["f32"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_rules_are_those_of_onnx_runtime_s_schemas(domain: str) -> None:
    ours = inferred_types.rules()[domain]
    theirs = rules(domain)
    both = ours.keys() & theirs.keys()
    assert len(both) > 0.9 * len(ours)
    # Releases add inputs and outputs at the end.
    for name in both:
        for like, now in zip(ours[name], theirs[name], strict=False):
            assert set(like) <= set(now) or set(now) <= set(like), name


def tensor_type(element: int) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(element, [2])


MAP = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, []))
SPARSE = helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3])
OPAQUE = onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d", name="n"))
KINDS = {
    **{
        name: tensor_type(TensorProto.DataType.Value(name))
        for name in ("STRING", "INT4", "UINT4", "COMPLEX64", "FLOAT4E2M1", "FLOAT8E5M2")
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

BRANCH = "h = Neg (x)  n = RandomUniformLike (h)"
COPIED = f"{BRANCH}  w = Identity (v)"
PLACES = {
    "an input": f"g (float[N] x, float[2] v) => (n) {{ {BRANCH} }}",
    "an output": f"g (float[N] x, float[2] v) => (n, w) {{ {COPIED} }}",
    "in a body": f"""g (float[N] x, float[2] v, bool c) => (n, w) {{ n, w = If (c) <
        then_branch = t () => (float[N] n, float[2] w) {{ {COPIED} }},
        else_branch = e () => (float[N] i, float[2] j) {{
            i = Identity (x)  j = Identity (v) }}> }}""",
}


def beside(kind: str, place: str) -> onnx.ModelProto:
    """A model in which a value of a kind goes beside a draw whose type must be inferred."""
    model = parse(PLACES[place], 21)
    of_nodes = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    for graph in (model.graph, *of_nodes):
        for info in (*graph.input, *graph.output):
            if info.name in "vwj":
                info.type.CopyFrom(KINDS[kind])
    return model


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_values_of_every_kind_stand_beside_a_draw(kind: str, place: str) -> None:
    model = beside(kind, place)
    (found,) = find_random_nodes(model)
    assert (found.problem, found.output_type) == (None, "f32")
    for per_row in (False, True):
        rewritten = op.make_reproducible(model, per_row=per_row)
        expected = [model.graph.input[1]]
        assert [i for i in rewritten.graph.input if i.name == "v"] == expected
        for info in model.graph.output[1:]:
            assert info in rewritten.graph.output
        op.to_standard_nodes(rewritten)
    quiet = ort.SessionOptions()
    quiet.log_severity_level = 4
    try:
        ort.InferenceSession(model.SerializeToString(), quiet)
    except Exception as error:
        # What ONNX Runtime does not load, it does not load rewritten, in the same words.
        with pytest.raises(type(error)):
            op.Pipeline(model, sess_options=quiet)
        return
    InferenceSession(op.make_reproducible(model))
    assert "v" in op.Pipeline(model).inputs


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
    drawn = op.Pipeline(beside(kind, "an input"))({"x": X[0], "v": FED[kind]}, seed=3)["n"]
    assert_same_bits(drawn, uniform([4], 0, STATE))


def test_an_array_that_onnx_runtime_takes_as_a_value_alone_is_refused_with_the_way() -> None:
    feed = {"x": X[0], "v": np.zeros(2, ml_dtypes.int4)}
    with pytest.raises(op.RefusedInputError, match=r"'v' must be a value of int4.*with_onnx_type"):
        op.Pipeline(beside("INT4", "an input"))(feed, seed=3)


def sparse_tensor() -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.float32([1, 2]), "v")
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.int64([0, 2]), "i"), [3])


@pytest.mark.parametrize("place", ["an initializer", "a constant", "maps that a node makes"])
def test_what_onnx_ir_cannot_read_stays_and_hides_no_type(place: str) -> None:
    model = parse("""g (float[N, 3] x) => (n, w) {
        h = Neg (x)  n = RandomUniformLike (h)  w = Identity (v) }""")
    if place == "an initializer":
        model.graph.sparse_initializer.append(sparse_tensor())
    elif place == "a constant":
        node = helper.make_node("Constant", [], ["v"], sparse_value=sparse_tensor())
        model.graph.node.insert(0, node)
    else:
        labels = {"domain": "ai.onnx.ml", "classlabels_int64s": [0, 1, 2]}
        model.graph.node[2].CopyFrom(helper.make_node("ZipMap", ["h"], ["w"], **labels))
        # Whose type ONNX infers, as it is not its input's.
        model.graph.node[0].CopyFrom(helper.make_node("Cast", ["x"], ["h"], to=1))
        model.opset_import.add(domain="ai.onnx.ml", version=1)
        model.graph.output[1].type.CopyFrom(KINDS["maps"])
    rewritten = op.make_reproducible(model)
    assert rewritten.graph.sparse_initializer == model.graph.sparse_initializer
    kept = [n for n in model.graph.node if n.op_type in ("Constant", "ZipMap")]
    assert all(node in rewritten.graph.node for node in kept)
    if place != "maps that a node makes":
        with pytest.raises(ort_state.NotImplemented, match=r"with backend='python': got .*native"):
            InferenceSession(rewritten, backend="python")
    result = op.Pipeline(model)({"x": X[:, :3]}, seed=3)
    expected = uniform([3, 3], 0, STATE)
    assert_same_bits(result["n"], expected)
    if place == "maps that a node makes":
        expected = dict(enumerate(X[1, :3]))
        assert result["w"][1] == expected
    else:
        expected = np.float32([1, 0, 2])
        assert_same_bits(result["w"], expected)
