"""make_reproducible node by node: every standard random node, in each of its types."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from onnx_philox import make_reproducible, reference, row_states
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes, rewrite
from tests.common import foreign
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.exhaustive import marked
from tests.common.foreign import (
    STATE,
    Arrays,
    Run,
    drawn,
    evaluate,
    in_onnxruntime,
    in_openvino,
    parse,
)
from tests.common.half_precision import evaluate as evaluate_in_openvino
from tests.common.half_precision import in_half_precision
from tests.common.runtimes import OpenVino, joined, parted

HALF = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
NEWEST = 22


@dataclass
class Case:
    """A model of one random node."""

    node: str
    opset: int
    feeds: Arrays = field(default_factory=dict)
    constants: Arrays = field(default_factory=dict)
    is_dynamic: bool = True

    @cached_property
    def _made(self) -> tuple[onnx.ModelProto, list[np.ndarray]]:
        node = parser.parse_node(self.node)
        node.name = "noise"
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        fed = self.feeds.items()
        inputs = [self._declared(name, array) for name, array in fed]
        constants = self.constants.items()
        held = [numpy_helper.from_array(array, name) for name, array in constants]
        graph = helper.make_graph([node], "one_node", inputs, outputs, initializer=held)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        expected = drawn(model, self.feeds)
        for value, array in zip(model.graph.output, expected, strict=True):
            value.CopyFrom(self._declared(value.name, array))
        return model, expected

    def _declared(self, name: str, array: np.ndarray) -> onnx.ValueInfoProto:
        shape = [f"{name}_{i}" if self.is_dynamic else d for i, d in enumerate(array.shape)]
        type_ = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, type_, shape)

    @property
    def model(self) -> onnx.ModelProto:
        return self._made[0]

    @property
    def facts(self) -> tuple[object, ...]:
        """What the rewriter looks at, each together with the operator."""
        operator = parser.parse_node(self.node).op_type
        fed, held = (
            tuple((n, str(x.dtype)) for n, x in arrays.items())
            for arrays in (self.feeds, self.constants)
        )
        mode_or_zero = self.feeds.get("mode", np.array(0))
        mode = mode_or_zero.item()
        parts = (self.opset, (fed, mode), (fed, held), self.node, self.is_dynamic)
        return tuple((operator, part) for part in parts)

    def __str__(self) -> str:
        given = (
            f"{n}:{x.dtype}{list(x.shape)}" for n, x in {**self.feeds, **self.constants}.items()
        )
        return " ".join(
            [
                self.node,
                str(self.opset),
                *given,
                "" if self.is_dynamic else "static",
            ]
        )

    def check(self, run: Run, *, is_runtime: bool = True) -> None:
        """Random tensors bit for bit; what a runtime computes with them within its arithmetic."""
        model, expected = self._made
        fed = {**self.feeds, "random_state": STATE}
        *outputs, after = run(make_reproducible(model), fed)
        assert_same_bits(after, NEXT_STATE)
        arrays = map(np.asarray, outputs)
        for array, wanted in zip(arrays, expected, strict=True):
            is_computed = is_runtime and "Dropout" in self.node and array.dtype != bool
            if not is_computed or (array.dtype == np.float32 and "ratio" in self.constants):
                assert_same_bits(array, wanted)
                continue
            assert array.dtype == wanted.dtype
            assert_same_bits(array == 0, wanted == 0)
            # OpenVINO computes f64 in f32.
            of_type = ml_dtypes.finfo(array.dtype)
            of_f32 = np.finfo(np.float32)
            epsilon = max(of_type.eps, of_f32.eps)
            one = array.astype(np.float64)
            other = wanted.astype(np.float64)
            np.testing.assert_allclose(one, other, rtol=2 * float(epsilon))


ONE_RUN = np.array([0, 0, 0, 1, 0, 0], np.uint32)
NEXT_STATE = STATE + ONE_RUN
X = np.linspace(-3, 3, 35, dtype=np.float32).reshape(5, 7)


def types_of(opset: int, first_with_bf16: int = 22) -> list[np.dtype]:
    types = [
        HALF,
        np.dtype(np.float32),
        np.dtype(np.float64),
    ]
    return types + [BF16] * (opset >= first_with_bf16)


def number_of(dtype: Any) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def float_cases() -> Iterator[Case]:
    """RandomUniform, RandomNormal and both Like."""
    kinds = (
        ("RandomUniform", "low = 0.1, high = 2.5"),
        ("RandomNormal", "mean = 0.1, scale = 2.5"),
    )
    kinds_of_opsets = itertools.product((7, 17, NEWEST), kinds)
    for opset, (name, bounds) in kinds_of_opsets:
        yield Case(f"y = {name} <shape = [3, 5]> ()", opset)
        for dtype in types_of(opset):
            said = f"{bounds}, dtype = {number_of(dtype)}, seed = 3.0"
            yield Case(f"y = {name} <shape = [2, 3], {said}> ()", opset)
            for x in (X, X.astype(np.int64)):
                yield Case(
                    f"y = {name}Like <{said}> (x)",
                    opset,
                    {"x": x},
                )
            yield Case(
                f"y = {name}Like (x)",
                opset,
                {"x": X.astype(dtype)},
            )
        yield Case("y = RandomNormal <shape: ints = []> ()", opset)
    yield Case("y = RandomUniformLike (x)", 17, {"x": np.zeros((2, 0, 3), np.float32)})
    yield Case("y = RandomNormalLike (x)", 17, {"x": X}, is_dynamic=False)
    yield Case("y = RandomUniform <shape = [4], low = 2.0, high = 2.0> ()", 17)


def bernoulli_cases() -> Iterator[Case]:
    shares = np.linspace(0, 1, 35, dtype=np.float32)
    p = shares.reshape(5, 7)
    others = ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "float64")
    for opset in (15, 17, NEWEST):
        for dtype in types_of(opset):
            converted = p.astype(dtype)
            yield Case("y = Bernoulli (p)", opset, {"p": converted})
        for dtype in others:
            said = f"dtype = {number_of(dtype)}, seed = 1.0"
            yield Case(f"y = Bernoulli <{said}> (p)", opset, {"p": p})


def multinomial_cases() -> Iterator[Case]:
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32)
    logits = np.log(p)
    logits[1, 0] = -np.inf
    for opset in (7, 10, 17, NEWEST):
        for dtype in types_of(opset):
            converted = logits.astype(dtype)
            yield Case("y = Multinomial (x)", opset, {"x": converted})
        for number in (TensorProto.INT32, TensorProto.INT64):
            said = f"sample_size = 11, dtype = {number}, seed = 2.0"
            yield Case(f"y = Multinomial <{said}> (x)", opset, {"x": logits})
        # Of one row, without its dimension.
        yield Case("y = Multinomial <sample_size = 11> (x)", opset, {"x": logits[0]})


def dropout_cases() -> Iterator[Case]:
    node = "y, mask = Dropout (x, ratio, mode)"
    on = {"mode": np.array(True)}
    third = np.array(0.3, np.float32)
    for opset in (12, 13, 17, NEWEST):
        for dtype in types_of(opset, 13):
            x = {"x": X.astype(dtype)}
            for ratio in [third] if opset == 13 else [third.astype(t) for t in types_of(0)]:
                yield Case(node, opset, x, {"ratio": ratio, **on})
                yield Case(node, opset, {**x, "ratio": ratio}, on)
            for mode in (True, False):
                seeded = node.replace("Dropout", "Dropout <seed = 5>")
                yield Case(
                    seeded,
                    opset,
                    {**x, "mode": np.array(mode)},
                    {"ratio": third},
                )
        yield Case(
            node,
            opset,
            {"x": X},
            {"ratio": np.array(1, np.float32), **on},
        )
        yield Case("y = Dropout (x, , mode)", opset, {"x": X}, on)


CASES = [
    *float_cases(),
    *bernoulli_cases(),
    *multinomial_cases(),
    *dropout_cases(),
]
# The first and the newest opset of each form.
FORMS = [
    c for c in CASES if c.opset in (7, 12, 15, NEWEST) or ("Dropout" in c.node and c.opset == 13)
]
RUN = [
    pytest.param(case, id=str(case), marks=marks)
    for case, marks in marked(FORMS, lambda case: case.facts)
]
"""Every fact is in one of these, and in each runtime; all combinations are in the first test."""


def checked(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    onnx.checker.check_model(model, full_check=True)
    return evaluate(model, feeds)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rewritten_node_draws_the_numbers_of_the_reference(case: Case) -> None:
    case.check(checked, is_runtime=False)


@pytest.mark.parametrize("case", RUN)
def test_onnx_runtime_draws_the_numbers_of_the_reference(case: Case, ort_backend: str) -> None:
    draw = find_random_nodes(case.model)[0]
    is_float = draw.replacement in ("RandomUniform", "RandomNormal")
    if ort_backend == "python" and is_float and draw.output_type in ("f16", "bf16"):
        pytest.skip("onnxruntime-extensions carries no f16 and no bf16")
    case.check(in_onnxruntime(ort_backend))


@pytest.mark.parametrize("opset", sorted({case.opset for case in FORMS}))
def test_openvino_draws_the_numbers_of_the_reference(opset: int, openvino: OpenVino) -> None:
    """Cases of an opset are one model, which is compiled sooner than they one by one."""
    run = [case for case in FORMS if case.opset == opset]
    feeds = [case.feeds | {"random_state": STATE} for case in run]
    draws = [*zip((make_reproducible(case.model) for case in run), feeds, strict=True)]
    outputs = in_openvino(openvino)(*joined(draws))
    found_of_each = parted(outputs, draws)
    for case, found in zip(run, found_of_each, strict=True):
        case.check(lambda *_, found=found: found)


@pytest.mark.parametrize("type_", [np.float32, np.float64, np.float16])
def test_dropout_drops_with_its_ratio_to_the_last_bit_of_f32(type_: type) -> None:
    third = np.asarray(type_(0.3))
    constants = {"ratio": third, "mode": np.array(True)}
    ones = np.ones(2**22, np.float32)
    x = {"x": ones}
    Case("y, m = Dropout (x, ratio, mode)", 17, x, constants).check(evaluate, is_runtime=False)


OF_X = "g (float[n, 3] x) => (float[n, 3] y, bool[n, 3] mask, float[n, 3] z)"
ZERO = "<float zero = {0}, bool on = {1}"
SETTLED = {
    "plain": f"{OF_X} {ZERO}> {{ y, mask = Dropout (x, zero, on) z = RandomNormalLike (x) }}",
    "mode as input": f"""{OF_X.replace("x)", "x, bool mode)", 1)} {ZERO}> {{
        y, mask = Dropout (x, zero, mode) z = RandomNormalLike (x) }}""",
    "Loop": f"""g (float[n, 3] x) => (float[n, 3] y, bool[s, n, 3] mask, float[s, n, 3] z)
        {ZERO}, int64 two = {{2}}> {{
        y, mask, z = Loop (two, , x) <body = b (int64 i, bool go, float[n, 3] v) =>
            (bool more, float[n, 3] w, bool[n, 3] kept, float[n, 3] drawn) {{
            more = Identity (go) w, kept = Dropout (v, zero, on)
            drawn = RandomNormalLike (x) }}> }}""",
    "ratio cast": f"""{OF_X} <double none = {{0}}, bool on = {{1}}> {{
        cast = Cast <to = 1> (none) ratio = Identity (cast)
        y, mask = Dropout (x, ratio, on) z = RandomNormalLike (x) }}""",
    "function": f"""{OF_X} {{ y, mask = own.keep (x) z = RandomNormalLike (x) }}
        <domain: "own", opset_import: ["": 17]> keep (v) => (kept, m) {{
        ratio = Constant <value_float = 0.0> () on = Constant <value = bool {{1}}> ()
        kept, m = Dropout (v, ratio, on) }}""",
}


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("name", SETTLED)
def test_dropout_of_ratio_0_becomes_an_identity_and_takes_no_stream(
    name: str, per_row: bool, openvino: OpenVino
) -> None:
    model = parse(SETTLED[name], own=1)
    assert [node.op_type for node in find_random_nodes(model)] == ["RandomNormalLike"]
    rewritten = make_reproducible(model, per_row=per_row)
    onnx.checker.check_model(rewritten, full_check=True)
    x = np.array([[1.5, np.nan, -0.0], [np.inf, 1e-42, 7]], np.float32)
    states = row_states(5, range(2))
    state = states if per_row else states[0]
    feeds = {"x": x, "random_state": state}
    feeds |= {"mode": np.array(True)} if "mode" in name else {}
    drawn_and_next = reference.random_normal(x.shape, 0, 1, "f32", state=feeds["random_state"])
    normals = drawn_and_next[0]
    for run in (in_onnxruntime(), in_openvino(openvino)):
        y, mask, z, _ = run(rewritten, feeds)
        np.testing.assert_array_equal(y, x)
        assert mask.shape == z.shape
        assert mask.all()
        rows = z.reshape(-1, *x.shape)
        assert_same_bits(rows[0], normals)


def test_a_model_of_nothing_but_dropout_of_ratio_0_needs_no_state() -> None:
    model = parse(SETTLED["plain"])
    del model.graph.node[1], model.graph.output[1:]
    assert find_random_nodes(model) == []
    rewritten = make_reproducible(model, seed=1)
    assert foreign.operators(rewritten) == ["Identity"]
    assert [i.name for i in rewritten.graph.input] == ["x"]
    assert not rewritten.graph.initializer
    report = rewrite(onnx_ir.from_proto(model))
    said = (report.replaced, report.settled, report.is_changed)
    assert said == ((), 1, True)


SHARING = """g (float[n, 3] x) => (
    float[n, 3] a, float[n, 3] b, float[n, 3] c, float[s, n, 3] d, float[n, 3] y)
<float ratio = {0.5}, bool on = {1}, int64 two = {2}> {
    a = RandomUniformLike (x) b = RandomNormalLike (x) c = RandomUniformLike (x)
    d = Loop (two, ) <body = l (int64 i, bool go) => (bool more, float[n, 3] e) {
        more = Identity (go) e = RandomUniformLike (x) }>
    y = Dropout (x, ratio, on)
}"""


def test_equal_constants_are_there_once_in_each_graph(openvino: OpenVino) -> None:
    model = make_reproducible(parse(SHARING))
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    (body,) = (a.g for a in loop.attribute if a.name == "body")
    # The mean and the lower bound are one 0; the scale and the upper bound are one 1.
    graphs = ((model.graph, [0, 1, 0.5]), (body, [0, 1]))
    for graph, numbers in graphs:
        made = {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant"}
        inputs = {i for n in graph.node if n.domain == "onnx_philox" for i in n.input}
        read = inputs & made.keys()
        # OpenVINO rounds what other nodes read.
        others = {i for n in graph.node if n.domain != "onnx_philox" for i in n.input}
        assert not read & others
        held = [numpy_helper.to_array(made[name]).tobytes() for name in read]
        expected = sorted(np.float32(number).tobytes() for number in numbers)
        assert sorted(held) == expected
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    feeds = {"x": x.reshape(2, 3), "random_state": STATE}
    here = InferenceSession(model).run(None, feeds)
    assert_all_same(openvino(model, feeds)[:4], here[:4])
    # OpenVINO's reference code does not know how often a Loop runs.
    without_loop = parse(SHARING)
    del without_loop.graph.node[3], without_loop.graph.output[3]
    model = make_reproducible(without_loop)
    here = InferenceSession(model).run(None, feeds)
    in_f16 = evaluate_in_openvino(in_half_precision(openvino.read(model)), feeds)
    assert_all_same(in_f16[:3], here[:3])


def test_no_rank_is_declared_where_nothing_scans() -> None:
    text = "g (float[n] x) => (float[n] y) { a = RandomNormalLike (x) y = Relu (a) }"
    rewritten = make_reproducible(
        parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    )
    (known,) = (v for v in rewritten.graph.value_info if v.name == "a")
    assert not known.type.tensor_type.HasField("shape")


def test_a_shape_by_another_s_operator_is_not_that_of_its_input() -> None:
    model = """g (float[4, 2] x, float one) => (float[p] y) {
        s = own.Shape (x) u, t = onnx_philox.RandomGamma <output_type = "f32"> (s, one)
        y = RandomNormalLike <dtype = 1> (u)
    } <domain: "own", opset_import: ["": 17]> Shape (v) => (w) {
        w = Constant <value_ints = [3]> () }"""
    ones = np.ones((4, 2), np.float32)
    feeds = {"x": ones, "one": np.float32(1)}
    made = make_reproducible(parse(model, onnx_philox=1), seed=3)
    assert evaluate(made, feeds)[0].shape == (3,)


# Each of ONNX's random operators has a seed, but for the first versions of Dropout.
VERSIONS = [
    (s.name, s.since_version)
    for s in onnx.defs.get_all_schemas_with_history()
    if s.domain == "" and ("seed" in s.attributes or (s.name == "Dropout" and s.since_version < 7))
]


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_every_version_of_every_random_operator_of_onnx_is_known(name: str, version: int) -> None:
    inputs_of_some = {"RandomNormal": "", "RandomUniform": "", "Dropout": "x, r, t"}
    inputs = inputs_of_some.get(name, "x")
    ports = "(float[2] x, float r, bool t) => (float[2] y)"
    model = parse(f"g {ports} {{ y = {name} ({inputs}) }}", version)
    (found,) = find_random_nodes(model)
    assert (found.op_type, found.version) == (name, version)


def test_draws_that_differ_in_the_sign_of_zero_alone_keep_their_own_constants() -> None:
    given = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x) => (float[N] a, float[N] b) {
            a = RandomNormalLike<mean = 0.0>(x)
            b = RandomNormalLike<mean = -0.0>(x) }""")
    model = make_reproducible(given)
    constants = {}
    for node in model.graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    means = []
    for node in model.graph.node:
        if node.op_type == "RandomNormal":
            means.append(constants[node.input[1]])
    assert [bool(np.signbit(mean)) for mean in means] == [False, True]
