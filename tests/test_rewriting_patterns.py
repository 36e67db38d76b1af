"""Uniform floats of which a model makes booleans or integers: these are drawn, exactly.

What torch's exporters write for `bernoulli_` and `randint`, and TensorFlow's for dropout. The
expected numbers are made of the reference's, by the rules that the graph's own nodes have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cases import assert_same_bits
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession

STATE = PhiloxState.for_run(42, run=7).to_array()
ROWS, COLUMNS = 200, 48
X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32)
SIGMOID_OF_X = (1 / (1 + np.exp(-X.astype(np.float64)))).astype(np.float32)
P = np.random.default_rng(1).random(COLUMNS).astype(np.float32)
ODD = np.resize(np.float32([-1, 0.5, 7, np.nan, np.inf, -np.inf]), COLUMNS)
P[:4] = 0, 1, np.float32(2**-23), np.nextafter(np.float32(0.5), np.float32(1))


@dataclass(frozen=True)
class Pattern:
    """Nodes that make `y` from uniform floats of the shape of x, and what y must be."""

    nodes: str
    operator: str
    """The operator that draws afterwards."""
    expected: np.ndarray
    inputs: str = ""
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    """The operators that must be gone."""

    def model(self, *, is_read_further: bool = True) -> onnx.ModelProto:
        """The nodes, and a MatMul behind them: OpenVINO computes what is before it in bf16."""
        dtype = helper.np_dtype_to_tensor_dtype(self.expected.dtype)
        name = TensorProto.DataType.Name(dtype).lower().replace("float32", "float")
        name = "double" if dtype == TensorProto.DOUBLE else name
        tail = "numbers = Cast <to = 1> (y)  z = MatMul (numbers, w)" if is_read_further else ""
        outputs = f"{name}[n, {COLUMNS}] y" + ", float[n, 2] z" * is_read_further
        model = parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": 18]>
            g (float[n, {COLUMNS}] x{self.inputs}) => ({outputs}) {{ {self.nodes} {tail} }}"""
        )
        weights = {"w": np.ones((COLUMNS, 2), np.float32)} if is_read_further else {}
        constants = {**self.constants, **weights}.items()
        model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in constants)
        return model

    @property
    def fed(self) -> dict[str, np.ndarray]:
        return {"x": X, "random_state": STATE, **self.feeds}


def uniform(output_type: str = "f32") -> np.ndarray:
    return reference.random_uniform(X.shape, 0, 1, output_type, state=STATE)[0]


def integers(low: int, high: int) -> np.ndarray:
    return reference.random_uniform(X.shape, low, high, "i32", state=STATE)[0]


LIKE = "u = RandomUniformLike (x)"
DOUBLE = "u = RandomUniformLike <dtype = 11> (x)"
BELOW = uniform() < np.float32(0.3)
SCALAR = {"p": np.array(0.3, np.float32)}
FLOATS = ("RandomUniformLike", "Floor", "Mul")
GONE = ("RandomUniformLike",)


def fed(type_: str, p: np.ndarray) -> dict[str, Any]:
    """What the floats are compared with as an input of the model."""
    return {"inputs": f", {type_} p", "feeds": {"p": p}}


def booleans(node: str, expected: np.ndarray, *gone: str, **given: Any) -> Pattern:
    """A comparison that draws booleans, with a constant if nothing else is given."""
    given = given or {"constants": SCALAR}
    return Pattern(f"{LIKE} {node}", "RandomBernoulli", expected, gone=gone, **given)


def compared(node: str, p: np.ndarray, expected: np.ndarray) -> Pattern:
    """A comparison with constants that stays what it is."""
    return Pattern(node, "RandomUniform", expected, constants={"p": p})


def whole(nodes: str, expected: np.ndarray, *gone: str, **constants: np.ndarray) -> Pattern:
    """Nodes that make integers."""
    return Pattern(nodes, "RandomUniform", expected, constants=constants, gone=gone or FLOATS)


F32 = np.float32
STATIC = f"u = RandomUniform <shape = [{ROWS}, {COLUMNS}]> ()"
COLUMN = f"float[{COLUMNS}]"
EACH = np.abs(np.tanh(X))
THOUSAND, TEN = np.array(1000, F32), np.array(10, F32)
PATTERNS = {
    "torch's bernoulli_ with a number": booleans(
        "less = Less (u, p) y = Cast <to = 1> (less)", BELOW.astype(F32), *GONE, "Less"
    ),
    "of a static shape": Pattern(
        f"{STATIC} y = Less (u, p)", "RandomBernoulli", BELOW, constants=SCALAR, gone=("Less",)
    ),
    "Greater the other way round": booleans("y = Greater (p, u)", BELOW, "Greater"),
    "TensorFlow's dropout, which keeps where u >= rate": booleans(
        "y = GreaterOrEqual (u, p)", ~BELOW, "GreaterOrEqual"
    ),
    "rate <= u": booleans("y = LessOrEqual (p, u)", ~BELOW, "LessOrEqual"),
    "torch's bernoulli of probabilities": Pattern(
        "p = Sigmoid (x) u = RandomUniformLike (p) y = Less (u, p)",
        "RandomBernoulli",
        uniform() < SIGMOID_OF_X,
    ),
    "of an input": booleans("y = Less (u, p)", BELOW, *GONE, **fed("float", SCALAR["p"])),
    "of an input of one element": booleans(
        "y = Less (u, p)", BELOW, *GONE, **fed("float[1, 1]", np.array([[0.3]], F32))
    ),
    "of an input for each column": booleans(
        "y = Less (u, p)", uniform() < P, *GONE, **fed(COLUMN, P)
    ),
    "of an input for each element": booleans(
        "y = Less (u, p)", uniform() < EACH, *GONE, **fed(f"float[n, {COLUMNS}]", EACH)
    ),
    "of an input for each column that is no probability": booleans(
        "y = GreaterOrEqual (u, p)", uniform() >= ODD, "GreaterOrEqual", **fed(COLUMN, ODD)
    ),
    "of an input of one NaN": booleans(
        "y = GreaterOrEqual (u, p)",
        uniform() >= F32(np.nan),
        "GreaterOrEqual",
        **fed("float", np.array(np.nan, F32)),
    ),
    "of constants for each column": compared(f"{LIKE} y = Less (u, p)", P, uniform() < P),
    "of constants that are no probabilities": compared(
        f"{LIKE} y = Less (u, p)", ODD, uniform() < ODD
    ),
    "at least what is no probability": compared(
        f"{LIKE} y = GreaterOrEqual (u, p)", ODD, uniform() >= ODD
    ),
    "what is no probability, or more": compared(
        f"{LIKE} y = LessOrEqual (p, u)", ODD, uniform() >= ODD
    ),
    "of f16": compared(
        "u = RandomUniformLike <dtype = 10> (x) y = Less (u, p)",
        np.array(0.3, np.float16),
        uniform("f16") < np.float16(0.3),
    ),
    "of f64": Pattern(
        f"{DOUBLE} y = Less (u, p)",
        "RandomBernoulli",
        uniform("f64") < 0.3,
        constants={"p": np.array(0.3)},
        gone=("Less",),
    ),
    "torch's randint": whole(
        f"{LIKE} m = Mul (u, n) f = Floor (m) y = Cast <to = 7> (f)",
        integers(0, 1000).astype(np.int64),
        n=THOUSAND,
    ),
    "torch's randint with a low bound": whole(
        f"{LIKE} m = Mul (n, u) a = Add (m, low) f = Floor (a) y = Cast <to = 6> (f)",
        integers(-3, 7),
        n=TEN,
        low=np.array([-3], F32),
    ),
    "a low bound after Floor": whole(
        f"{LIKE} m = Mul (n, u) f = Floor (m) s = Sub (f, low) y = Cast <to = 7> (s)",
        integers(-3, 7).astype(np.int64),
        *(*FLOATS, "Sub"),
        n=TEN,
        low=np.array(3, F32),
    ),
    "TorchScript's randint": whole(
        "u = RandomUniformLike <low = 5.0, high = 17.0> (x) y = Cast <to = 7> (u)",
        integers(5, 17).astype(np.int64),
        *GONE,
    ),
    "randint as floats": whole(
        f"{LIKE} m = Mul (u, n) f = Floor (m) y = Cast <to = 11> (f)",
        integers(0, 1000).astype(np.float64),
        n=THOUSAND,
    ),
    "randint of f64, as bytes": whole(
        f"{DOUBLE} m = Mul (u, n) f = Floor (m) y = Cast <to = 2> (f)",
        integers(0, 256).astype(np.uint8),
        n=np.array(256, np.float64),
    ),
}


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def reference_run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS).run(None, feeds)


@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_made_of_the_floats_is_drawn(name: str) -> None:
    pattern = PATTERNS[name]
    model = make_reproducible(pattern.model(is_read_further=False))
    onnx.checker.check_model(model, full_check=False)
    assert [n.op_type for n in model.graph.node if n.domain == "onnx_philox"] == [pattern.operator]
    assert not {*pattern.gone} & {*operators(model)}
    assert_same_bits(reference_run(model, pattern.fed)[0], pattern.expected)


@pytest.mark.parametrize("level", ["DISABLE", "ENABLE"])
@pytest.mark.parametrize("name", PATTERNS)
def test_onnx_runtime_draws_it(name: str, level: str, ort_backend: str) -> None:
    pattern = PATTERNS[name]
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}_ALL")
    session = InferenceSession(make_reproducible(pattern.model()), options, backend=ort_backend)
    assert_same_bits(session.run(["y"], pattern.fed)[0], pattern.expected)


@pytest.mark.parametrize("precision", [None, "f32", "bf16"])
@pytest.mark.parametrize("name", PATTERNS)
def test_openvino_draws_it_at_every_precision(
    name: str, precision: str | None, openvino: OpenVino
) -> None:
    pattern = PATTERNS[name]
    model = make_reproducible(pattern.model())
    # OpenVINO drops inputs that no node reads.
    read = {name for node in model.graph.node for name in node.input}
    feeds = {name: value for name, value in pattern.fed.items() if name in read}
    if "Sigmoid" in operators(model):
        # The runtime computes these probabilities: they are drawn by, whatever they are.
        model.graph.output.append(helper.make_tensor_value_info("p", 1, ["n", COLUMNS]))
        y, _, _, p = openvino(model, feeds, precision)
        assert_same_bits(y, uniform() < p)
        return
    assert_same_bits(openvino(model, feeds, precision)[0], pattern.expected)


# ------------------------------------------------------------------ in subgraphs

IN_A_LOOP = """<ir_version: 8, opset_import: ["": 18]>
g (int64 trips, bool c, float[4] start, float threshold)
    => (bool[3, 4] masks, int64[3, 4] integers, bool[4] first) {
    u0 = RandomUniformLike (start)
    first = Less (u0, threshold)
    end, masks, integers = Loop (trips, c, start) <body = b (int64 i, bool ci, float[4] v)
        => (bool co, float[4] w, bool[4] mask, int64[4] integer) {
        u = RandomUniformLike (v)
        n = RandomUniform <shape = [4], high = 9.0> ()
        p = Sigmoid (v)
        mask = Less (u, p)
        f = Floor (n)
        integer = Cast <to = 7> (f)
        w = Identity (v)
        co = Identity (ci)
    }>
}"""


def in_a_loop() -> tuple[onnx.ModelProto, dict[str, np.ndarray], list[np.ndarray]]:
    """A rewritten model, what it is fed, and its outputs: each node draws on from its own state."""
    feeds = {
        "trips": np.array(3),
        "c": np.array(True),
        "start": np.zeros(4, np.float32),
        "threshold": np.array(0.4, np.float32),
        "random_state": STATE,
    }
    masks, integers = [], []
    mask_state = integer_state = STATE
    for _ in range(3):
        drawn, mask_state = reference.random_bernoulli([4], 0.5, op_seed=1, state=mask_state)
        masks.append(drawn)
        drawn, integer_state = reference.random_uniform(
            [4], 0, 9, "i32", op_seed=2, state=integer_state
        )
        integers.append(drawn.astype(np.int64))
    first = reference.random_bernoulli([4], 0.4, state=STATE)[0]
    model = make_reproducible(parser.parse_model(IN_A_LOOP))
    return model, feeds, [np.stack(masks), np.stack(integers), first]


def test_in_a_loop_each_iteration_draws_on(ort_backend: str) -> None:
    model, feeds, expected = in_a_loop()
    onnx.checker.check_model(model)
    session = InferenceSession(model, backend=ort_backend)
    for outputs in (reference_run(model, feeds), session.run(None, feeds)):
        for actual, wanted in zip(outputs, expected, strict=False):
            assert_same_bits(actual, wanted)


def test_in_a_loop_each_iteration_draws_on_in_openvino(openvino: OpenVino) -> None:
    model, feeds, expected = in_a_loop()
    for actual, wanted in zip(openvino(model, feeds), expected, strict=False):
        assert_same_bits(actual, wanted)


def test_a_comparison_in_another_graph_stays() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        g (bool c, float[4] x, float p) => (bool[4] y) {
            u = RandomUniformLike (x)
            y = If (c) <then_branch = t () => (bool[4] a) { a = Less (u, p) },
                        else_branch = e () => (bool[4] b) { b = Cast <to = 9> (x) }>
        }""")
    rewritten = make_reproducible(model)
    assert "RandomUniform" in operators(rewritten)
    assert "RandomBernoulli" not in operators(rewritten)


# ------------------------------------------------------------------ what stays


STAYS = {
    "floats that another node reads": f"{LIKE} y = Less (u, p) v = Relu (u)",
    "a low bound that is not 0": "u = RandomUniformLike <low = 0.1> (x) y = Less (u, p)",
    "a high bound that is not 1": "u = RandomUniformLike <high = 2.0> (x) y = Less (u, p)",
    "u > p, which is not the opposite of u < p": f"{LIKE} y = Greater (u, p)",
    "a ratio that may be over 1": f"e = Exp (x) {LIKE} y = Less (u, e)",
    "an input that was changed by arithmetic": f"e = Mul (q, q) {LIKE} y = Less (u, e)",
    "integers taken for probabilities": f"e = Cast <to = 1> (k) {LIKE} y = Less (u, e)",
    "more probabilities than numbers": "u = RandomUniform <shape = [1, 48]> () y = Less (u, q)",
    "probabilities of more dimensions": "u = RandomUniform <shape = [48]> () y = Less (u, q)",
    "numbers compared with other numbers": f"{LIKE} v = RandomUniformLike (x) y = Less (u, v)",
    "f64 probabilities of a run": f"{DOUBLE} e = Cast <to = 11> (q) y = Less (u, e)",
    "a scale that is no integer": f"{LIKE} m = Mul (u, half) f = Floor (m) y = Cast <to = 9> (f)",
    "negative numbers rounded to 0": (
        "u = RandomUniformLike <low = -4.0, high = 4.0> (x) y = Cast <to = 7> (u)"
    ),
    "integers that the type does not hold": (
        f"{LIKE} m = Mul (u, n) f = Floor (m) y = Cast <to = 3> (f)"
    ),
    "more integers than floats": f"{LIKE} m = Mul (u, huge) f = Floor (m) y = Cast <to = 7> (f)",
    "floats that are not rounded": f"{LIKE} m = Mul (u, n) y = Cast <to = 11> (m)",
    "a scale that a run tells": f"{LIKE} m = Mul (u, q) f = Floor (m) y = Cast <to = 7> (f)",
    "floats rounded to the nearest by a large number": (
        f"{LIKE} m = Mul (u, n) a = Add (m, huge) s = Sub (a, huge) f = Floor (s) "
        "y = Cast <to = 7> (f)"
    ),
    "floats moved before they are scaled": (
        f"{LIKE} a = Add (u, n) m = Mul (a, n) f = Floor (m) y = Cast <to = 7> (f)"
    ),
    "floats scaled twice": (
        f"{LIKE} a = Mul (u, huge) m = Mul (a, small) f = Floor (m) y = Cast <to = 7> (f)"
    ),
    "floats moved so far that they are rounded": (
        f"{LIKE} a = Add (u, far) f = Floor (a) y = Cast <to = 7> (f)"
    ),
    "half precision scaled": (
        "u = RandomUniformLike <dtype = 10> (x) m = Mul (u, t) f = Floor (m) y = Cast <to = 7> (f)"
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_patterns_that_would_change_their_meaning_stay(name: str) -> None:
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[n, {COLUMNS}] x, float[n, {COLUMNS}] q, int32[n, {COLUMNS}] k)
            => (float y) {{ {STAYS[name]} }}"""
    )
    model.graph.output[0].ClearField("type")
    constants = {
        "p": np.array(0.3, np.float32),
        "half": np.array(0.5, np.float32),
        "n": np.array(1000, np.float32),
        "t": np.array(10, np.float16),
        "huge": np.array(2**24, np.float32),
        "small": np.array(2**-20, np.float32),
        "far": np.array(2**23 - 1, np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in constants.items())
    kept = [o for o in operators(model) if not o.startswith("Random")]
    rewritten = operators(make_reproducible(model))
    assert [o for o in rewritten if o in ("RandomUniform", "RandomBernoulli")] == [
        "RandomUniform" for o in operators(model) if o.startswith("Random")
    ]
    for operator in kept:
        assert rewritten.count(operator) >= kept.count(operator)
