"""Floats of which torch's exporters and TensorFlow make booleans or integers: these are drawn."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from onnx_philox import make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import assert_all_same, assert_same_bits, table
from tests.common.foreign import (
    STATE,
    Arrays,
    drawn,
    evaluate,
    in_onnxruntime,
    in_openvino,
    operators,
    parse,
    uniform,
)
from tests.common.runtimes import OpenVino

F32 = np.float32
ROWS, COLUMNS = 200, 48
X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(F32)
P = np.random.default_rng(1).random(COLUMNS).astype(F32)
ODD = np.resize(F32([-1, 0.5, 7, np.nan, np.inf, -np.inf]), COLUMNS)
P[:4] = (
    0,
    1,
    F32(2**-23),
    np.nextafter(F32(0.5), F32(1)),
)
P[4:] = np.nextafter(uniform([COLUMNS])[4:], F32(1))


class Pattern:
    """Nodes that make `y` from uniform floats of the shape of x."""

    operator = "RandomUniform"
    """The operator that draws afterwards."""

    def __init__(
        self,
        nodes: str,
        *gone: str,
        fed: str = "",
        **given: Any,
    ) -> None:
        """Without the operators `gone`; what is given is constant, but for a p that is fed."""
        self.text, self.gone, self.fed = nodes, gone, fed
        self.given = {name: np.asarray(x, getattr(x, "dtype", F32)) for name, x in given.items()}

    @property
    def feeds(self) -> Arrays:
        return {"x": X, "random_state": STATE} | (self.given if self.fed else {})

    def model(self, *, is_read_further: bool = True) -> onnx.ModelProto:
        """The nodes, and a MatMul behind them: OpenVINO computes what is before it in bf16."""
        fed = f", {self.fed} p" if self.fed else ""
        tail = "numbers = Cast <to = 1> (y)  z = MatMul (numbers, w)" if is_read_further else ""
        model = parse(f"g (float[n, {COLUMNS}] x{fed}) => (y) {{ {self.text} {tail} }}", 18)
        held = {} if self.fed else dict(self.given)
        held |= {"w": np.ones((COLUMNS, 2), F32)} if is_read_further else {}
        model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in held.items())
        number = helper.np_dtype_to_tensor_dtype(self.drawn(model).dtype)
        ports = [helper.make_tensor_value_info("y", number, ["n", COLUMNS])]
        ports += [helper.make_tensor_value_info("z", 1, ["n", 2])] * is_read_further
        del model.graph.output[:]
        model.graph.output.extend(ports)
        return model

    def drawn(self, model: onnx.ModelProto) -> np.ndarray:
        return drawn(model, self.feeds)[0]

    @cached_property
    def expected(self) -> np.ndarray:
        return self.drawn(self.model(is_read_further=False))


class Booleans(Pattern):
    """A comparison that draws booleans, with 0.3 if nothing else is given."""

    operator = "RandomBernoulli"

    def __init__(self, node: str, *gone: str, **given: Any) -> None:
        nodes = node if "u = " in node else f"{LIKE} {node}"
        super().__init__(nodes, *gone, **(given or {"p": 0.3}))


class Integers(Pattern):
    """Nodes that make integers of a range, which have a rule of their own."""

    def __init__(
        self,
        least: int,
        high: int,
        nodes: str,
        *gone: str,
        **given: Any,
    ) -> None:
        super().__init__(nodes, *(gone or ("RandomUniformLike", "Floor", "Mul")), **given)
        self.range = least, high

    def drawn(self, model: onnx.ModelProto) -> np.ndarray:
        dtype = super().drawn(model).dtype
        return reference.random_uniform(X.shape, *self.range, "i32", state=STATE)[0].astype(dtype)


class Moved(Pattern):
    """Integers up to 2^31, the first that i32 does not hold: they are drawn 2^30 further down."""

    def drawn(self, _: onnx.ModelProto) -> np.ndarray:
        integers, _ = reference.random_uniform(
            X.shape,
            -(2**30),
            2**30,
            "i32",
            state=STATE,
        )
        return (integers + np.int32(2**30)).astype(np.uint32)


class Words(Pattern):
    """Nodes that make all 32 bits of an integer: the words of the generator."""

    operator = "RandomGenerator"

    def drawn(self, model: onnx.ModelProto) -> np.ndarray:
        dtype = super().drawn(model).dtype
        return reference.random_generator(STATE, X.shape)[0].astype(dtype)


class Floats(Pattern):
    """Nodes that make uniform floats of integers, as JAX does."""

    def __init__(
        self,
        type_: str,
        low: float,
        high: float,
        nodes: str,
        **given: Any,
    ) -> None:
        """Of nothing but `u`, whose integers are gone."""
        gone = ("RandomUniformLike", "Floor", "Mul", "BitShift", "BitwiseOr", "BitCast", "Max")
        super().__init__(f"{SCALED} b = Cast <to = 12> (f) {nodes}", *gone, **given)
        self.type, self.range = type_, (low, high)

    def drawn(self, _: onnx.ModelProto) -> np.ndarray:
        values, _ = reference.random_uniform(X.shape, *self.range, self.type, state=STATE)
        return values


LIKE = "u = RandomUniformLike (x)"
DOUBLE = "u = RandomUniformLike <dtype = 11> (x)"
HIGH = "u = RandomUniformLike <low = 65529.0, high = 65536.0> (x)"
GONE = "RandomUniformLike"
COLUMN = f"float[{COLUMNS}]"
NAN = np.array(np.nan, F32)
SCALED = f"{LIKE} m = Mul (u, n) f = Floor (m)"
BITS = f"{SCALED} b = Cast <to = 12> (f)"
ALL = 2**32
SHIFTED = "s = BitShift <direction = 'RIGHT'> (b, by)".replace("'", '"')
MANTISSA = f"{SHIFTED} o = BitwiseOr (s, one) c = BitCast <to = {{}}> (o) y = Sub (c, unit)"
BOUNDED = """o = BitwiseOr (s, one) c = BitCast <to = 1> (o) d = Sub (c, unit) h = Sub (most, least)
    e = Mul (d, h) a = Add (e, least) y = Max (least, a)"""
U32 = np.uint32
OF_F32 = {
    "n": ALL,
    "by": U32(9),
    "one": U32(0x3F800000),
    "unit": 1,
}
AT_LEAST = "GreaterOrEqual"
PATTERNS: dict[str, Pattern] = {
    "torch's bernoulli_ with a number": Booleans(
        "less = Less (u, p) y = Cast <to = 1> (less)", GONE, "Less"
    ),
    "of a static shape": Booleans(
        f"u = RandomUniform <shape = [{ROWS}, {COLUMNS}]> () y = Less (u, p)", "Less"
    ),
    "Greater the other way round": Booleans("y = Greater (p, u)", "Greater"),
    "TensorFlow's dropout, which keeps where u >= rate": Booleans(
        f"y = {AT_LEAST} (u, p)", AT_LEAST
    ),
    "rate <= u": Booleans("y = LessOrEqual (p, u)", AT_LEAST),
    "torch's bernoulli of probabilities": Booleans(
        "s = Sigmoid (x) p = Identity (s) u = RandomUniformLike (p) y = Less (u, p)", unread=0
    ),
    "of an input": Booleans("y = Less (u, p)", GONE, fed="float", p=0.3),
    "of an input of one element": Booleans(
        "y = Less (u, p)",
        GONE,
        fed="float[1, 1]",
        p=[[0.3]],
    ),
    "of an input for each column": Booleans("y = Less (u, p)", GONE, fed=COLUMN, p=P),
    "of an input for each element": Booleans(
        "y = Less (u, p)", GONE, fed=f"float[n, {COLUMNS}]", p=np.abs(np.tanh(X))
    ),
    "of an input for each column that is no probability": Booleans(
        f"y = {AT_LEAST} (u, p)", AT_LEAST, fed=COLUMN, p=ODD
    ),
    "of an input of one NaN": Booleans(
        f"y = {AT_LEAST} (u, p)",
        AT_LEAST,
        fed="float",
        p=NAN,
    ),
    "of constants for each column": Pattern(f"{LIKE} y = Less (u, p)", p=P),
    "of constants that are no probabilities": Pattern(f"{LIKE} y = Less (u, p)", p=ODD),
    "at least what is no probability": Pattern(
        f"{LIKE} y = {AT_LEAST} (u, p)",
        p=ODD,
    ),
    "what is no probability, or more": Pattern(f"{LIKE} y = LessOrEqual (p, u)", p=ODD),
    "of f16": Pattern(
        "u = RandomUniformLike <dtype = 10> (x) y = Less (u, p)", p=np.array(0.3, np.float16)
    ),
    "of f64": Booleans(
        f"{DOUBLE} y = Less (u, p)",
        "Less",
        p=np.array(0.3),
    ),
    "torch's randint": Integers(
        0,
        2**23,
        f"{SCALED} y = Cast <to = 7> (f)",
        n=2**23,
    ),
    "torch's randint with a low bound": Integers(
        -3,
        7,
        f"{LIKE} m = Mul (n, u) a = Add (m, low) f = Floor (a) y = Cast <to = 6> (f)",
        n=10,
        low=[-3],
    ),
    "a low bound after Floor": Integers(
        -3,
        7,
        f"{SCALED} s = Sub (f, low) y = Cast <to = 7> (s)",
        GONE,
        "Floor",
        "Mul",
        "Sub",
        n=10,
        low=3,
    ),
    "TorchScript's randint": Integers(
        2**16 - 7,
        2**16,
        f"{HIGH} y = Cast <to = 7> (u)",
        GONE,
    ),
    "randint as floats": Integers(
        0,
        1000,
        f"{SCALED} y = Cast <to = 11> (f)",
        n=1000,
    ),
    "randint as halves": Integers(
        0,
        2049,
        f"{SCALED} y = Cast <to = 10> (f)",
        n=2049,
    ),
    "all bits of an integer": Words(
        f"{SCALED} y = Cast <to = 12> (f)",
        GONE,
        "Floor",
        n=ALL,
    ),
    "all bits by a division": Words(
        f"{LIKE} m = Div (u, n) y = Cast <to = 12> (m)", GONE, "Div", n=2.0**-32
    ),
    "all bits between bounds": Words(
        f"u = RandomUniformLike <high = {ALL}.0> (x) y = Cast <to = 12> (u)", GONE
    ),
    "all bits of a double": Words(
        f"{DOUBLE} m = Mul (n, u) y = Cast <to = 12> (m)", GONE, n=np.array(2.0**32)
    ),
    "all bits of a signed integer": Words(
        f"u = RandomUniformLike <low = -{ALL / 2}, high = {ALL / 2}> (x) f = Floor (u)"
        " y = Cast <to = 6> (f)",
        GONE,
    ),
    "all bits and what adds to them": Words(
        f"{BITS} y = Add (b, none)", GONE, "Floor", n=ALL, none=U32(0)
    ),
    "31 bits": Moved(
        f"{SCALED} y = Cast <to = 12> (f)",
        GONE,
        "Mul",
        n=2**31,
    ),
    "30 bits of 64": Integers(
        0,
        2**30,
        f"{SCALED} y = Cast <to = 13> (f)",
        n=2**30,
    ),
    "bits of 16": Integers(
        0,
        2**16,
        f"{BITS} y = Cast <to = 4> (b)",
        n=2**16,
    ),
    "upper bits": Integers(
        0,
        2**23,
        f"{BITS} {SHIFTED} y = Identity (s)",
        n=ALL,
        by=U32(9),
    ),
    "upper bits by a division": Integers(
        0,
        2**8,
        f"{BITS} y = Div (b, by)",
        n=ALL,
        by=U32(2**24),
    ),
    "lower bits": Integers(
        0,
        2**8,
        f"{BITS} y = BitwiseAnd (b, mask)",
        GONE,
        "Floor",
        "BitwiseAnd",
        n=ALL,
        mask=U32(255),
    ),
    "bits modulo a number": Integers(
        0, 1000, f"{BITS} y = Mod (b, by)", GONE, "Floor", "Mod", n=ALL, by=U32(1000)
    ),
    "JAX's uniform": Floats(
        "f32",
        0,
        1,
        MANTISSA.format(1),
        **OF_F32,
    ),
    "JAX's uniform of [1, 2)": Floats(
        "f32", 1, 2, f"{SHIFTED} o = Add (one, s) y = BitCast <to = 1> (o)", **OF_F32
    ),
    "JAX's uniform between bounds": Floats(
        "f32",
        F32(2**-126),
        3,
        f"{SHIFTED} {BOUNDED}",
        **OF_F32,
        least=[[2**-126]],
        most=[[3]],
    ),
    "JAX's rademacher": Booleans(
        f"{BITS} {SHIFTED} {BOUNDED.replace('y =', 'v =')} y = Less (v, half)",
        "BitCast",
        "Max",
        "Less",
        **OF_F32,
        least=0,
        most=1,
        half=0.5,
    ),
    "bits as a share of all": Floats(
        "f32", 0, 1, "c = Cast <to = 1> (b) y = Mul (c, unit)", n=ALL, unit=2.0**-32
    ),
    "randint of f64, as bytes": Integers(
        0, 256, f"{SCALED.replace(LIKE, DOUBLE)} y = Cast <to = 2> (f)", n=np.array(256.0)
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_nodes_that_make_other_values_of_a_uniform_become_one_draw(name: str) -> None:
    pattern = PATTERNS[name]
    model = make_reproducible(pattern.model(is_read_further=False))
    onnx.checker.check_model(model, full_check=False)
    assert [n.op_type for n in model.graph.node if n.domain == "onnx_philox"] == [pattern.operator]
    assert not {*pattern.gone} & {*operators(model)}
    assert_same_bits(evaluate(model, pattern.feeds)[0], pattern.expected)


@pytest.mark.parametrize("level", ["DISABLE", "ENABLE"])
@pytest.mark.parametrize("name", PATTERNS)
def test_onnx_runtime_draws_the_pattern(name: str, level: str, ort_backend: str) -> None:
    pattern = PATTERNS[name]
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}_ALL")
    session = InferenceSession(make_reproducible(pattern.model()), options, backend=ort_backend)
    assert_same_bits(session.run(["y"], pattern.feeds)[0], pattern.expected)


@pytest.mark.parametrize("precision", [None, "f32", "bf16"])
@pytest.mark.parametrize("name", PATTERNS)
def test_openvino_draws_the_pattern_at_every_precision(
    name: str, precision: str | None, openvino: OpenVino
) -> None:
    pattern = PATTERNS[name]
    model = make_reproducible(pattern.model())
    if "Sigmoid" not in operators(model):
        drawn_there = in_openvino(openvino, precision)(model, pattern.feeds)[0]
        assert_same_bits(drawn_there, pattern.expected)
        return
    # The runtime computes these probabilities: they are drawn by, whatever they are.
    model.graph.output.append(helper.make_tensor_value_info("p", 1, ["n", COLUMNS]))
    y, _, _, p = in_openvino(openvino, precision)(model, pattern.feeds)
    assert_same_bits(y, uniform(X.shape) < p)


OF_16_BITS = {
    "f16": (
        10,
        Floats("f16", 0, 1, MANTISSA.format(10), n=2**16, by=np.uint16(6)),
    ),
    "bf16": (
        16,
        Floats("bf16", 0, 1, MANTISSA.format(16), n=2**8, by=np.uint16(1)),
    ),
}
ONES_OF_16_BITS = {"f16": np.uint16(0x3C00), "bf16": np.uint16(0x3F80)}


@pytest.mark.parametrize("type_", OF_16_BITS)
def test_jax_s_uniform_of_16_bits_is_drawn(type_: str, openvino: OpenVino) -> None:
    number, pattern = OF_16_BITS[type_]
    dtype = helper.tensor_dtype_to_np_dtype(number)
    pattern.given |= {"one": ONES_OF_16_BITS[type_], "unit": np.ones((), dtype)}
    model = make_reproducible(pattern.model(is_read_further=False))
    for run in (evaluate, in_onnxruntime(), in_openvino(openvino)):
        assert_same_bits(run(model, pattern.feeds)[0], pattern.expected)


IN_A_LOOP = """g (int64 trips, bool c, float[4] start, float threshold)
    => (bool[3, 4] masks, bool[4] first{}) {{
    u0 = RandomUniformLike (start) first = Less (u0, threshold)
    end, masks{} = Loop (trips, c, start) <body = b (int64 i, bool ci, float[4] v)
        => (bool co, float[4] w, bool[4] mask{}) {{
        u = RandomUniformLike (v) p = Sigmoid (v) mask = Less (u, p)
        n = RandomUniform <shape = [4], high = 9.0> () f = Floor (n) integer = Cast <to = 7> (f)
        w = Identity (v) co = Identity (ci) }}>
}}"""
FEEDS = {
    "trips": np.array(3),
    "c": np.array(True),
    "start": np.zeros(4, F32),
    "threshold": np.array(0.4, F32),
    "random_state": STATE,
}


def test_in_a_loop_each_iteration_draws_on(ort_backend: str, openvino: OpenVino) -> None:
    integers = []
    state = STATE
    for _ in range(3):
        row, state = reference.random_uniform([4], 0, 9, "i32", op_seed=2, state=state)
        integers.append(row.astype(np.int64))
    wanted = [*drawn(parse(IN_A_LOOP.format("", "", ""), 18), FEEDS), np.stack(integers)]
    text = IN_A_LOOP.format(", int64[3, 4] integers", ", integers", ", int64[4] integer")
    model = make_reproducible(parse(text, 18))
    onnx.checker.check_model(model)
    for run in (evaluate, in_onnxruntime(ort_backend), in_openvino(openvino)):
        assert_all_same(run(model, FEEDS)[:3], wanted)


def test_a_comparison_in_another_graph_stays() -> None:
    model = parse("""g (bool c, float[4] x, float p) => (bool[4] y) {
        u = RandomUniformLike (x)
        y = If (c) <then_branch = t () => (bool[4] a) { a = Less (u, p) },
                    else_branch = e () => (bool[4] b) { b = Cast <to = 9> (x) }> }""")
    found = [name for name in operators(make_reproducible(model)) if name.startswith("Random")]
    assert found == ["RandomUniform"]


STAYS = dict(
    table(f"""
floats that another node reads -> {LIKE} y = Less (u, p) v = Relu (u)
floats that the model gives -> y = RandomUniformLike (x) v = Less (y, p) w = Not (v)
a low bound that is not 0 -> u = RandomUniformLike <low = 0.1> (x) y = Less (u, p)
a high bound that is not 1 -> u = RandomUniformLike <high = 2.0> (x) y = Less (u, p)
u > p, which is not the opposite of u < p -> {LIKE} y = Greater (u, p)
a ratio that may be over 1 -> e = Exp (x) {LIKE} y = Less (u, e)
an input that was changed by arithmetic -> e = Mul (q, q) {LIKE} y = Less (u, e)
integers taken for probabilities -> e = Cast <to = 1> (k) {LIKE} y = Less (u, e)
more probabilities than numbers -> u = RandomUniform <shape = [1, 48]> () y = Less (u, q)
probabilities of more dimensions -> u = RandomUniform <shape = [48]> () y = Less (u, q)
numbers compared with other numbers -> {LIKE} v = RandomUniformLike (x) y = Less (u, v)
f64 probabilities of a run -> {DOUBLE} e = Cast <to = 11> (q) y = Less (u, e)
a scale that is no integer -> {LIKE} m = Mul (u, half) f = Floor (m) y = Cast <to = 9> (f)
a scale below 0 -> {LIKE} m = Mul (u, less) f = Floor (m) y = Cast <to = 7> (f)
negative numbers rounded to 0 -> u = RandomUniformLike <low = -4.0, high = 4.0> (x)
-> y = Cast <to = 7> (u)
integers that the type does not hold -> {LIKE} m = Mul (u, n) f = Floor (m) y = Cast <to = 3> (f)
integers that f16 does not hold -> {LIKE} m = Mul (u, wide) f = Floor (m) y = Cast <to = 10> (f)
integers that bf16 does not hold -> {LIKE} m = Mul (u, some) f = Floor (m) y = Cast <to = 16> (f)
more integers than floats -> {LIKE} m = Mul (u, huge) f = Floor (m) y = Cast <to = 7> (f)
a scale of more dimensions -> {LIKE} d = Constant <value_ints = [2, 1, 1]> ()
-> c = ConstantOfShape <value = float[1] {{1000.0}}> (d) m = Mul (u, c) f = Floor (m)
-> y = Cast <to = 7> (f)
floats that are not rounded -> {LIKE} m = Mul (u, n) y = Cast <to = 11> (m)
a scale that a run tells -> {LIKE} m = Mul (u, q) f = Floor (m) y = Cast <to = 7> (f)
floats rounded to the nearest by a large number -> {LIKE} m = Mul (u, n) a = Add (m, huge)
-> s = Sub (a, huge) f = Floor (s) y = Cast <to = 7> (f)
floats moved before they are scaled -> {LIKE} a = Add (u, n) m = Mul (a, n) f = Floor (m)
-> y = Cast <to = 7> (f)
floats scaled twice -> {LIKE} a = Mul (u, huge) m = Mul (a, small) f = Floor (m)
-> y = Cast <to = 7> (f)
floats moved so far that they are rounded -> {LIKE} a = Add (u, far) f = Floor (a)
-> y = Cast <to = 7> (f)
half precision scaled -> u = RandomUniformLike <dtype = 10> (x) m = Mul (u, t) f = Floor (m)
-> y = Cast <to = 7> (f)
""")
)

CONSTANT_INPUTS = (("float", "x"), ("float", "q"), ("int32", "k"))
CONSTANTS = {
    "p": 0.3,
    "half": 0.5,
    "n": 1000,
    "t": 10,
    "huge": 2**24,
    "small": 2**-20,
}
CONSTANTS |= {
    "far": 2**16,
    "less": -3,
    "wide": 2050,
    "some": 300,
}


@pytest.mark.parametrize("name", STAYS)
def test_patterns_that_would_change_their_meaning_stay(name: str) -> None:
    inputs = ", ".join(f"{type_}[n, {COLUMNS}] {name}" for type_, name in CONSTANT_INPUTS)
    model = parse(f"g ({inputs}) => (float y) {{ {STAYS[name]} }}", 18)
    model.graph.output[0].ClearField("type")
    for constant, value in CONSTANTS.items():
        dtype = np.float16 if constant == "t" else F32
        model.graph.initializer.append(numpy_helper.from_array(np.array(value, dtype), constant))
    kept = [o for o in operators(model) if not o.startswith("Random")]
    rewritten = operators(make_reproducible(model))
    assert [o for o in rewritten if o in ("RandomUniform", "RandomBernoulli")] == [
        "RandomUniform" for o in operators(model) if o.startswith("Random")
    ]
    for operator in kept:
        assert rewritten.count(operator) >= kept.count(operator)
