"""The element types and ranks that a rewrite needs: through operators that ONNX does not know."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from cases import assert_same_bits
from make_onnxruntime_types import DOMAINS, rules
from onnx import parser

from onnx_philox import PhiloxState, make_reproducible, reference
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
    ours, theirs = types._rules()[domain], rules(domain)
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
