"""make_reproducible node by node: every standard random node, at every opset that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir
import pytest
from cases import assert_all_same, assert_same_bits
from exhaustive import marked
from half_precision import evaluate, in_half_precision
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnx import STANDARD_OPERATORS
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes, rewrite

FLOAT, DOUBLE, HALF, BF16 = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
)
DTYPES = {FLOAT: "f32", DOUBLE: "f64", HALF: "f16", BF16: "bf16"}
NEWEST = 22

# High bits in the key, where OpenVINO's plugin would clamp a constant.
STATE = PhiloxState.for_run(0xFEDC_BA98_8765_4321, run=0x9000_0001).to_array()

Draw = Callable[..., list[np.ndarray]]
"""The expected outputs, from the state and the seeds as keywords of the reference's functions."""


@dataclass
class Case:
    """A model of one random node, and what it has to draw."""

    op_type: str
    opset: int
    expected: Draw
    attributes: dict[str, Any] = field(default_factory=dict)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: tuple[int, ...] = (FLOAT,)
    """Their element types."""
    is_dynamic: bool = True
    note: str = ""

    @property
    def model(self) -> onnx.ModelProto:
        node = helper.make_node(
            self.op_type,
            self.inputs or [*self.feeds, *self.constants],
            [f"y{i}" for i in range(len(self.outputs))],
            name="noise",
        )
        for name, value in self.attributes.items():
            kind = onnx.AttributeProto.INTS if value == [] else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        graph = helper.make_graph(
            [node],
            "one_node",
            [value_info(name, array, self.is_dynamic) for name, array in self.feeds.items()],
            [
                value_info(f"y{i}", np.asarray(array), self.is_dynamic)
                for i, array in enumerate(self.expected(state=STATE)[: len(self.outputs)])
            ],
            initializer=[numpy_helper.from_array(a, name) for name, a in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def __str__(self) -> str:
        types = "-".join(sorted({str(a.dtype) for a in self.feeds.values()}))
        attributes = "-".join(f"{name}={value}" for name, value in self.attributes.items())
        constants = "-".join(f"{n}={a.item()}:{a.dtype}" for n, a in self.constants.items())
        parts = (self.op_type, self.opset, types, attributes, constants, self.note)
        return " ".join(str(part) for part in parts if part)


def value_info(name: str, array: np.ndarray, is_dynamic: bool) -> onnx.ValueInfoProto:
    type = helper.np_dtype_to_tensor_dtype(array.dtype)
    shape = [f"{name}_{i}" if is_dynamic else d for i, d in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, type, shape)


# ------------------------------------------------------------------ the cases

X = np.linspace(-3, 3, 35, dtype=np.float32).reshape(5, 7)


def draws(name: str) -> Any:
    function = getattr(reference, name)
    return lambda *given: lambda **state: [function(*given, **state)[0]]


uniform, normal, bernoulli, categorical = (
    draws(f"random_{name}") for name in ("uniform", "normal", "bernoulli", "categorical")
)


def float_cases() -> list[Case]:
    """RandomUniform, RandomNormal and both Like."""
    cases = []
    for opset in (7, 9, 12, 13, 17, 21, NEWEST):
        for op_type, draw, low, high in (
            ("RandomUniform", uniform, ("low", 0.0), ("high", 1.0)),
            ("RandomNormal", normal, ("mean", 0.0), ("scale", 1.0)),
        ):
            types = [HALF, FLOAT, DOUBLE] + [BF16] * (opset >= NEWEST)
            plain = Case(op_type, opset, draw([3, 5], 0, 1, "f32"), {"shape": [3, 5]})
            cases.append(plain)
            like = Case(
                f"{op_type}Like", opset, draw([5, 7], 0, 1, "f32"), {}, {"x": X}, note="default"
            )
            cases.append(like)
            if opset not in (7, 17, NEWEST):
                continue
            for type in types:
                name = DTYPES[type]
                given = {low[0]: 0.1, high[0]: 2.5, "dtype": type, "seed": 3.0}
                # ONNX keeps the parameters as f32.
                a, b = float(np.float32(0.1)), 2.5
                expected = draw([2, 3], a, b, name)
                attributes = {"shape": [2, 3], **given}
                cases.append(Case(op_type, opset, expected, attributes, outputs=(type,)))
                expected = draw([5, 7], a, b, name)
                for x, note in ((X, ""), (X.astype(np.int64), "int64")):
                    cases.append(
                        Case(
                            f"{op_type}Like",
                            opset,
                            expected,
                            given,
                            {"x": x},
                            outputs=(type,),
                            note=note,
                        )
                    )
                x = X.astype(helper.tensor_dtype_to_np_dtype(type))
                cases.append(
                    Case(
                        f"{op_type}Like",
                        opset,
                        draw([5, 7], 0, 1, name),
                        {},
                        {"x": x},
                        outputs=(type,),
                        note="the input's type",
                    )
                )
        scalar = Case("RandomNormal", opset, normal([], 0, 1, "f32"), {"shape": []}, note="scalar")
        cases.append(scalar)
    empty = np.zeros((2, 0, 3), np.float32)
    cases.append(Case("RandomUniformLike", 17, uniform([2, 0, 3], 0, 1, "f32"), {}, {"x": empty}))
    static = Case("RandomNormalLike", 17, normal([5, 7], 0, 1, "f32"), {}, {"x": X})
    static.is_dynamic, static.note = False, "static"
    cases.append(static)
    equal = {"shape": [4], "low": 2.0, "high": 2.0}
    cases.append(Case("RandomUniform", 17, uniform([4], 2, 2, "f32"), equal))
    return cases


def bernoulli_cases() -> list[Case]:
    cases = []
    p = np.linspace(0, 1, 35, dtype=np.float32).reshape(5, 7)

    def expected(p: np.ndarray, dtype: Any) -> Draw:
        p32 = p.astype(np.float32)
        return lambda **s: [reference.random_bernoulli(p.shape, p32, **s)[0].astype(dtype)]

    for opset in (15, 17, NEWEST):
        for dtype in [np.float16, np.float32, np.float64] + [ml_dtypes.bfloat16] * (opset >= 22):
            typed = p.astype(dtype)
            type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            cases.append(
                Case("Bernoulli", opset, expected(typed, dtype), {}, {"p": typed}, outputs=(type,))
            )
        for dtype in ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "float64"):
            type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            attributes = {"dtype": type, "seed": 1.0}
            draw = expected(p, np.dtype(dtype))
            cases.append(Case("Bernoulli", opset, draw, attributes, {"p": p}, outputs=(type,)))
    return cases


def multinomial_cases() -> list[Case]:
    cases = []
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32))
    logits[1, 0] = -np.inf
    for opset in (7, 10, 17, NEWEST):
        for dtype in [np.float16, np.float32, np.float64] + [ml_dtypes.bfloat16] * (opset >= 22):
            typed = logits.astype(dtype)
            f32 = typed.astype(np.float32)
            cases.append(
                Case(
                    "Multinomial",
                    opset,
                    categorical(f32, 1, "i32"),
                    {},
                    {"x": typed},
                    outputs=(TensorProto.INT32,),
                )
            )
        for name, type in (("i32", TensorProto.INT32), ("i64", TensorProto.INT64)):
            attributes = {"sample_size": 11, "dtype": type, "seed": 2.0}
            draw = categorical(logits, 11, name)
            cases.append(
                Case("Multinomial", opset, draw, attributes, {"x": logits}, outputs=(type,))
            )

        def one_row(**state: Any) -> list[np.ndarray]:
            return [drawn[0] for drawn in categorical(logits[:1], 11, "i32")(**state)]

        one = Case("Multinomial", opset, one_row, {"sample_size": 11}, {"x": logits[0]})
        one.outputs, one.note = (TensorProto.INT32,), "of one row, without its dimension"
        cases.append(one)
    return cases


def dropout(
    data: np.ndarray, ratio: Any, *, is_training: bool | None = None, mask: Any = bool
) -> Draw:
    """The formula: dropped elements are 0, the others times 1 / (1 - ratio).

    Where a run says whether it is training, that factor is computed in the data's type, else in f32
    at least.
    """
    is_narrow = is_training is None and data.dtype.itemsize == 2
    work = np.dtype(np.float32) if is_narrow else data.dtype

    def expected(**state: Any) -> list[np.ndarray]:
        p = np.asarray(ratio).astype(np.float32)
        dropped, _ = reference.random_bernoulli(data.shape, p, **state)
        if is_training is False:
            return [data, np.ones(data.shape, mask)]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            one = work.type(1)
            scaled = data * (one / (one - np.asarray(ratio).astype(work))).astype(data.dtype)
        kept = (~dropped).astype(mask)
        if mask is not bool:
            # Before opset 9 there is no Where: a negative number that is dropped becomes -0.
            return [scaled * kept, kept]
        return [np.where(dropped, data.dtype.type(0), scaled), kept]

    return expected


def dropout_cases() -> list[Case]:
    cases = []
    true = np.array(True)
    for opset in (12, 13, 17, NEWEST):
        types = [np.float16, np.float32, np.float64] + [ml_dtypes.bfloat16] * (opset >= 13)
        for dtype in types:
            x = X.astype(dtype)
            type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            both = (type, TensorProto.BOOL)
            for ratio_type in [np.float32, np.float16, np.float64] if opset != 13 else [np.float32]:
                ratio = np.array(0.3, ratio_type)
                constants = {"ratio": ratio, "training_mode": true}
                draw = dropout(x, ratio)
                cases.append(Case("Dropout", opset, draw, {}, {"x": x}, constants, outputs=both))
                feeds = {"x": x, "ratio": ratio}
                given = Case("Dropout", opset, draw, {}, feeds, {"training_mode": true})
                given.outputs = both
                given.note = f"ratio given as {ratio.dtype}"
                cases.append(given)
            for mode in (True, False):
                feeds = {"x": x, "training_mode": np.array(mode)}
                draw = dropout(x, np.array(0.3, np.float32), is_training=mode)
                case = Case("Dropout", opset, draw, {"seed": 5}, feeds)
                case.constants = {"ratio": np.array(0.3, np.float32)}
                case.inputs = ["x", "ratio", "training_mode"]
                case.outputs, case.note = both, f"training_mode given as {mode}"
                cases.append(case)
        constants = {"ratio": np.array(1, np.float32), "training_mode": true}
        everything = Case("Dropout", opset, dropout(X, np.float32(1)), {}, {"x": X}, constants)
        everything.outputs = (FLOAT, TensorProto.BOOL)
        cases.append(everything)
        default = Case("Dropout", opset, dropout(X, np.float32(0.5)), {}, {"x": X})
        default.constants, default.inputs = {"training_mode": true}, ["x", "", "training_mode"]
        default.note = "ratio left out"
        cases.append(default)
    return cases


CASES = [*float_cases(), *bernoulli_cases(), *multinomial_cases(), *dropout_cases()]


# ------------------------------------------------------------------ what they draw


def reference_run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    evaluator = ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS)
    # A ratio of 1 makes 0 * infinity of what is dropped.
    with np.errstate(invalid="ignore"):
        return [np.asarray(array) for array in evaluator.run(None, feeds)]


def assert_outputs(actual: list[np.ndarray], case: Case, *, is_runtime: bool = False) -> None:
    """Random tensors bit for bit; what a runtime has computed with them within its arithmetic."""
    assert len(actual) == len(case.outputs)
    for array, wanted in zip(map(np.asarray, actual), case.expected(state=STATE), strict=False):
        is_own = is_runtime and case.op_type == "Dropout" and array.dtype != bool
        if not is_own or (array.dtype == np.float32 and "ratio" in case.constants):
            assert_same_bits(array, np.asarray(wanted))
            continue
        assert array.dtype == wanted.dtype
        assert_same_bits(array == 0, wanted == 0)
        # OpenVINO computes f64 in f32.
        epsilon = max(ml_dtypes.finfo(array.dtype).eps, np.finfo(np.float32).eps)
        np.testing.assert_allclose(
            array.astype(np.float64), wanted.astype(np.float64), rtol=2 * float(epsilon)
        )


NEXT_STATE = STATE + np.array([0, 0, 0, 1, 0, 0], np.uint32)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rewritten_node_draws_the_numbers_of_the_reference(case: Case) -> None:
    model = make_reproducible(case.model)
    onnx.checker.check_model(model, full_check=True)
    *outputs, next_state = reference_run(model, {**case.feeds, "random_state": STATE})
    assert_outputs(outputs, case)
    assert_same_bits(next_state, NEXT_STATE)


# The first and the newest opset of each form.
FORMS = [case for case in CASES if case.opset in (7, 12, 15, NEWEST) or "Dropout 13" in str(case)]


def facts(case: Case) -> tuple[object, ...]:
    """What the rewriter looks at, each together with the operator."""
    fed = tuple((name, str(array.dtype)) for name, array in case.feeds.items())
    constants = tuple((n, str(array.dtype), array.item()) for n, array in case.constants.items())
    attributes = tuple(case.attributes)
    parts = (case.opset, fed, (fed, constants), case.outputs, attributes, case.note)
    return tuple((case.op_type, part) for part in parts)


RUN = [pytest.param(case, id=str(case), marks=marks) for case, marks in marked(FORMS, facts)]
"""Every fact is in one of these, and in each runtime; all combinations are in the test above."""


@pytest.mark.parametrize("case", RUN)
def test_onnx_runtime_draws_the_numbers_of_the_reference(case: Case, ort_backend: str) -> None:
    draw = find_random_nodes(case.model)[0]
    is_float = draw.replacement in ("RandomUniform", "RandomNormal")
    if ort_backend == "python" and is_float and draw.output_type in ("f16", "bf16"):
        pytest.skip("onnxruntime-extensions carries no f16 and no bf16")
    session = InferenceSession(make_reproducible(case.model), backend=ort_backend)
    *outputs, next_state = session.run(None, {**case.feeds, "random_state": STATE})
    assert_outputs(outputs, case, is_runtime=True)
    assert_same_bits(next_state, NEXT_STATE)


@pytest.mark.parametrize("case", RUN)
def test_openvino_draws_the_numbers_of_the_reference(case: Case, openvino: OpenVino) -> None:
    feeds = {**case.feeds, "random_state": STATE}
    *outputs, next_state = openvino(make_reproducible(case.model), feeds)
    assert_outputs(outputs, case, is_runtime=True)
    assert_same_bits(next_state, NEXT_STATE)


@pytest.mark.parametrize("ratio", [np.float32(0.3), np.float64(0.3), np.float16(0.3)])
def test_dropout_drops_with_its_ratio_to_the_last_bit_of_f32(ratio: np.generic) -> None:
    x = np.ones(2**22, np.float32)
    constants = {"ratio": np.asarray(ratio), "training_mode": np.array(True)}
    case = Case("Dropout", 17, dropout(x, ratio), {}, {"x": x}, constants)
    case.outputs = (FLOAT, TensorProto.BOOL)
    *outputs, _ = reference_run(make_reproducible(case.model), {"x": x, "random_state": STATE})
    assert_outputs(outputs, case)


SETTLED = {
    "plain": """g (float[n, 3] x) => (float[n, 3] y, bool[n, 3] mask, float[n, 3] z) <CONSTANTS> {
        y, mask = Dropout (x, zero, on)
        z = RandomNormalLike (x)
    }""",
    "mode as input": """g (float[n, 3] x, bool mode)
        => (float[n, 3] y, bool[n, 3] mask, float[n, 3] z) <CONSTANTS> {
        y, mask = Dropout (x, zero, mode)
        z = RandomNormalLike (x)
    }""",
    "Loop": """g (float[n, 3] x) => (float[n, 3] y, bool[s, n, 3] mask, float[s, n, 3] z)
    <CONSTANTS, int64 two = {2}> {
        y, mask, z = Loop (two, , x) <body =
            b (int64 i, bool go, float[n, 3] v) =>
                (bool more, float[n, 3] w, bool[n, 3] kept, float[n, 3] drawn) {
                more = Identity (go)
                w, kept = Dropout (v, zero, on)
                drawn = RandomNormalLike (x)
            }>
    }""",
    "ratio cast": """g (float[n, 3] x) => (float[n, 3] y, bool[n, 3] mask, float[n, 3] z)
    <double none = {0}, bool on = {1}> {
        cast = Cast <to = 1> (none)
        ratio = Identity (cast)
        y, mask = Dropout (x, ratio, on)
        z = RandomNormalLike (x)
    }""",
    "function": """g (float[n, 3] x) => (float[n, 3] y, bool[n, 3] mask, float[n, 3] z) {
        y, mask = own.keep (x)
        z = RandomNormalLike (x)
    }
    <domain: "own", opset_import: ["": 17]> keep (v) => (kept, m) {
        ratio = Constant <value_float = 0.0> ()
        on = Constant <value = bool {1}> ()
        kept, m = Dropout (v, ratio, on)
    }""",
}


SETTLED_MODE = {"mode as input": {"mode": np.array(True)}}


def settled_model(name: str) -> onnx.ModelProto:
    text = SETTLED[name].replace("CONSTANTS", "float zero = {0}, bool on = {1}")
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "own": 1]> {text}')


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("name", SETTLED)
def test_dropout_of_ratio_0_becomes_an_identity_and_takes_no_stream(
    name: str, per_row: bool, openvino: OpenVino
) -> None:
    model = settled_model(name)
    assert [node.op_type for node in find_random_nodes(model)] == ["RandomNormalLike"]
    rewritten = make_reproducible(model, per_row=per_row)
    onnx.checker.check_model(rewritten, full_check=True)
    x = np.array([[1.5, np.nan, -0.0], [np.inf, 1e-42, 7]], np.float32)
    states = onnx_philox.row_states(5, range(2))
    feeds = {"x": x, "random_state": states if per_row else states[0]}
    # OpenVINO drops inputs that nothing reads.
    there = openvino(rewritten, feeds)
    here = InferenceSession(rewritten).run(None, feeds | SETTLED_MODE.get(name, {}))
    drawn = reference.random_normal(x.shape, 0, 1, "f32", state=feeds["random_state"])[0]
    for y, mask, z, _ in (here, there):
        np.testing.assert_array_equal(y, x)
        assert mask.shape == z.shape
        assert mask.all()
        assert_same_bits(z.reshape(-1, *x.shape)[0], drawn)


def test_a_model_of_nothing_but_dropout_of_ratio_0_needs_no_state() -> None:
    model = settled_model("plain")
    del model.graph.node[1], model.graph.output[1:]
    assert find_random_nodes(model) == []
    rewritten = make_reproducible(model, seed=1)
    assert [node.op_type for node in rewritten.graph.node] == ["Identity"]
    assert [i.name for i in rewritten.graph.input] == ["x"]
    assert not rewritten.graph.initializer
    report = rewrite(onnx_ir.from_proto(model))
    assert (report.replaced, report.settled, report.is_changed) == ((), 1, True)


SHARING = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, 3] x) => (float[n, 3] a, float[n, 3] b, float[n, 3] c, float[s, n, 3] d, float[n, 3] y)
<float ratio = {0.5}, bool on = {1}, int64 two = {2}> {
    a = RandomUniformLike (x)
    b = RandomNormalLike (x)
    c = RandomUniformLike (x)
    d = Loop (two, ) <body = l (int64 i, bool go) => (bool more, float[n, 3] e) {
        more = Identity (go)
        e = RandomUniformLike (x)
    }>
    y = Dropout (x, ratio, on)
}"""


def test_equal_constants_are_there_once_in_each_graph(openvino: OpenVino) -> None:
    model = make_reproducible(parser.parse_model(SHARING))
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    (body,) = (a.g for a in loop.attribute if a.name == "body")
    drawn: dict[int, list[bytes]] = {}
    for graph in (model.graph, body):
        made = {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant"}
        read = {i for n in graph.node if n.domain == "onnx_philox" for i in n.input} & made.keys()
        others = {i for n in graph.node if n.domain != "onnx_philox" for i in n.input}
        # OpenVINO rounds what other nodes read.
        assert not read & others
        drawn[len(graph.node)] = [numpy_helper.to_array(made[name]).tobytes() for name in read]
    numbers = sorted(np.float32(number).tobytes() for number in (0, 1))
    assert sorted(drawn[len(body.node)]) == numbers
    # The mean and the lower bound are one 0; the scale and the upper bound are one 1.
    assert sorted(drawn[len(model.graph.node)]) == sorted([*numbers, np.float32(0.5).tobytes()])
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    feeds = {"x": x, "random_state": STATE}
    here = InferenceSession(model).run(None, feeds)
    assert_all_same(openvino(model, feeds)[:4], here[:4])
    # OpenVINO's reference code does not know how often a Loop runs.
    without_loop = parser.parse_model(SHARING)
    del without_loop.graph.node[3], without_loop.graph.output[3]
    model = make_reproducible(without_loop)
    here = InferenceSession(model).run(None, feeds)
    in_f16 = evaluate(in_half_precision(openvino.read(model)), feeds)
    assert_all_same(in_f16[:3], here[:3])


def test_the_table_has_every_version_of_every_random_operator_of_onnx() -> None:
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]
    # Each of ONNX's random operators has a seed, but for the first versions of Dropout.
    names = {s.name for s in schemas if "seed" in s.attributes}
    assert names == set(STANDARD_OPERATORS)
    for name, operator in STANDARD_OPERATORS.items():
        versions = {s.since_version for s in schemas if s.name == name}
        assert versions == {version.since for version in operator.versions}, (
            "ONNX has a version that the table in _rewriting/in_onnx/random_nodes/of_onnx.py lacks"
        )
