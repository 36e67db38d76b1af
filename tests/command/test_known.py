"""The table of known behaviours: each row in the bare runtime, and what `inspect` says of a model.

Each row has a test here that runs the runtime without this package, on valid input. It is red where
a release that the row names behaves otherwise; of another release the suite's last lines say so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import openvino as ov
import pytest
from onnx import parser
from openvino import opset8

import onnx_philox
from onnx_philox._command import libraries
from onnx_philox._command.inspect import search, trials
from onnx_philox._command.inspect.known import ROWS, KnownBehaviour, in_onnx, in_openvino, met_nodes
from onnx_philox._command.inspect.known import probed as in_probes
from onnx_philox._command.inspect.today import Today
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from tests.common import cli
from tests.common.runtimes import bare_session

X = np.full(64, 0.5, np.float32)
EVERY = (*ROWS, *in_openvino.ROWS)


def of_onnx(body: str, outputs: str = "y", opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}]> g (float[64] x) => ({outputs}) {{ {body} }}'
    )


def drawn_by_onnxruntime(body: str, outputs: str = "y", runs: int = 1, **feed: Any) -> list[Any]:
    session = bare_session(of_onnx(body, outputs))
    feed = feed or {"x": X}
    return [session.run(None, feed) for _ in range(runs)]


def one(body: str, **feed: Any) -> Any:
    return drawn_by_onnxruntime(body, **feed)[0][0]


def drawn_by_openvino(model: onnx.ModelProto | ov.Model, runs: int = 3, x: Any = X) -> list[Any]:
    core = ov.Core()
    if isinstance(model, onnx.ModelProto):
        model = core.read_model(model.SerializeToString())
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    feeds = [x] if model.inputs else []
    return [[np.array(value) for value in compiled(feeds).values()] for _ in range(runs)]


def repeat(runs: list[Any], at: int = 0) -> bool:
    return all(np.array_equal(runs[0][at], run[at]) for run in runs[1:])


class Uniforms:
    """Nodes of RandomUniform-8 that read the same shape and bounds, beside an input."""

    def __init__(self) -> None:
        self.x = opset8.parameter([64], ov.Type.f32)
        self.read = [
            opset8.constant(np.array([64])),
            *(opset8.constant(np.float32(i)) for i in (0, 1)),
        ]

    def draw(self, alignment: str = "tensorflow") -> ov.Node:
        return opset8.random_uniform(*self.read, "f32", 0, 0, alignment)

    def model(self, *outputs: ov.Node) -> ov.Model:
        return ov.Model(list(outputs), [self.x])


def inverts() -> bool:
    return bool(
        one(
            "h = Constant <value_float = 0.1> ()  z = Sub (x, x)  p = Add (z, h)  y = Bernoulli (p)"
        ).mean()
        > 0.6
    )


def merges() -> bool:
    body = "a = Bernoulli (x)  b = Bernoulli (x)  c = Neg (a)  d = Neg (b)"
    ((first, second),) = drawn_by_onnxruntime(body, "c, d")
    u = Uniforms()
    pair = u.model(opset8.add(u.draw(), u.x), opset8.add(u.draw(), u.x))
    ((third, fourth),) = drawn_by_openvino(pair, runs=1)
    return np.array_equal(first, second) and np.array_equal(third, fourth)


def requests_share() -> bool:
    body = "y = RandomUniform <shape = [64], seed = 7.0> ()"
    core = ov.Core()
    model = core.read_model(of_onnx(body).SerializeToString())
    compiled = core.compile_model(ov.Model([model.output(0)], []), "CPU")
    requests = [compiled.create_infer_request() for _ in range(2)]
    first, second = (np.array(request.infer()[compiled.output(0)]) for request in requests)
    return not np.array_equal(first, second)


def removes() -> bool:
    ratio = "r = Constant <value_float = 0.5> ()  t = Constant <value = bool {1}> ()"
    body = f"{ratio}  a = Abs (x)  d, m = Dropout (a, r, t)  y = Neg (d)"
    return np.array_equal(one(body), -X)


def freezes() -> bool:
    added, subtracted = (
        drawn_by_openvino(of_onnx(f"n = RandomUniformLike (x)  y = {operator} (x, n)"))
        for operator in ("Add", "Sub")
    )
    return repeat(subtracted) and not repeat(added)


def freezes_in_part() -> bool:
    body = "n = RandomUniformLike (x)  y = Sub (x, n)  z = Add (x, n)"
    runs = drawn_by_openvino(of_onnx(body, "y, z"))
    return repeat(runs, 0) and not repeat(runs, 1)


def of_seed(seed: float) -> Any:
    """What ONNX Runtime draws of a seed."""
    return one(f"y = RandomUniform <shape = [64], seed = {seed}> ()").astype(np.float64)


def multiplies() -> bool:
    first = of_seed(1.0)
    return (
        bool(np.allclose(of_seed(2.0), 2 * first % 1, atol=1e-6))
        and bool(np.allclose(of_seed(7.0), 7 * first % 1, atol=1e-6))
        and bool(np.allclose(of_seed(-3.0), 1 - first, atol=1e-6))
    )


def are_one_seed() -> bool:
    first = of_seed(1.0)
    return all(np.array_equal(of_seed(seed), first) for seed in (0.0, 0.5, 1.9, -1.0))


def draws_past_the_last() -> bool:
    def classes(row: list[float]) -> Any:
        logits = np.tile(np.array(row, np.float32), (1, 1))
        model = parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17]> g (float[1, 3] x) => (int32[1, 99] y) '
            "{ y = Multinomial <sample_size = 99> (x) }"
        )
        return bare_session(model).run(None, {"x": logits})[0]

    none, infinite = classes([-np.inf] * 3), classes([0, np.inf, 0])
    return bool((none == 3).all() and not (infinite == 1).any())


def has_no_kernels() -> bool:
    def loads(body: str, opset: int) -> bool:
        try:
            bare_session(of_onnx(body, opset=opset))
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            return False
        return True

    bodies = (
        "y = RandomUniform <shape = [3]> ()",
        "y = RandomNormal <shape = [3]> ()",
        "y = RandomUniformLike (x)",
        "y = RandomNormalLike (x)",
        "y = Bernoulli (x)",
        "s = Constant <value_ints = [1, 64]> ()  l = Reshape (x, s)  y = Multinomial (l)",
    )
    return all(loads(body, 21) and not loads(body, 22) for body in bodies)


def clamps() -> bool:
    scaled = "t = Constant <value_float = 4294967296.0> ()  m = Mul (x, t)  y = Cast <to = 12> (m)"
    ((values,),) = drawn_by_openvino(of_onnx(scaled), 1, np.linspace(0, 0.99, 64, dtype=np.float32))
    return int(values.max()) == 2**31


def integers(dtype: type, low: int, high: int) -> ov.Model:
    shape = opset8.constant(np.array([4096]))
    bounds = opset8.constant(dtype(low)), opset8.constant(dtype(high))
    drawn = opset8.random_uniform(shape, *bounds, np.dtype(dtype).name.replace("int", "i"), 1, 2)
    return ov.Model([drawn], [])


# Integers, and whether OpenVINO draws no more than 31 bits of them.
RANGES = [
    (np.int64, 0, 2**33, True),
    (np.int64, -(2**62), 2**62, True),
    (np.int64, -(2**30), 2**30 - 1, False),
    (np.int32, -(2**31), 2**31 - 1, True),
    (np.int32, -(2**30), 2**30 + 2**29, True),
    (np.int32, 0, 2**31 - 1, False),
]


def reaches(dtype: type, low: int, high: int) -> bool:
    """Whether OpenVINO draws integers of the last tenth of a range."""
    ((drawn,),) = drawn_by_openvino(integers(dtype, low, high), 1)
    return int(drawn.max()) > high - (high - low) // 10


def cuts_integers() -> bool:
    return all(reaches(dtype, low, high) is not is_cut for dtype, low, high, is_cut in RANGES)


OF_A_FUNCTION = """<ir_version: 9, opset_import: ["" : 17, "l" : 1]>
    g (float[64] x) => (float[64] y) { u = l.F (x)  y = Relu (u) }
    <domain: "l", opset_import: ["" : 17]>
    F (a) => (b) { b = RandomNormalLike (a) }"""


def has_no_functions() -> bool:
    model = onnx.parser.parse_model(OF_A_FUNCTION)
    assert bare_session(model).run(None, {"x": X})[0].shape == X.shape
    with pytest.raises(RuntimeError, match=re.escape("No conversion rule found")):
        drawn_by_openvino(model)
    return True


def compiles_in_openvino(model: onnx.ModelProto) -> bool:
    try:
        drawn_by_openvino(model, runs=1)
    except RuntimeError:
        return False
    return True


def times(factor: float) -> str:
    return f"n = RandomUniformLike (x)  c = Constant <value_float = {factor}> ()  l = Mul (n, c)"


def swaps_no_bounds() -> bool:
    with pytest.raises(RuntimeError, match=re.escape("Got min value: -0, max value: -2")):
        drawn_by_openvino(of_onnx(f"{times(-2.0)}  y = Add (x, l)"))
    return compiles_in_openvino(of_onnx(f"{times(2.0)}  y = Add (x, l)"))


def skips_in_f64() -> bool:
    of_f32, of_f64 = (
        one(f"y = RandomUniform <shape = [{n}], seed = 7.0, dtype = {dtype}> ()")
        for n, dtype in ((64, 1), (32, 11))
    )
    return bool(np.allclose(of_f64, of_f32[1::2], atol=1e-6))


def loses_a_normal() -> bool:
    of_three = drawn_by_onnxruntime("y = RandomNormal <shape = [3], seed = 7.0> ()", runs=2)
    together = one("y = RandomNormal <shape = [6], seed = 7.0> ()")
    ends = [run[0] for run in of_three]
    return np.array_equal(ends[0], together[:3]) and np.array_equal(ends[1][:2], together[4:])


def chooses_one_seed() -> bool:
    u = Uniforms()
    aligned, other = (u.model(opset8.add(u.x, u.draw(a))) for a in ("pytorch", "tensorflow"))
    return repeat(drawn_by_openvino(aligned)) and not repeat(drawn_by_openvino(other))


RATIO = "r = Constant <value_float = 0.5> ()  t = Constant <value = bool {1}> ()"


def keeps_the_first() -> bool:
    runs = drawn_by_onnxruntime(f"{RATIO}  y, m = Dropout (x, r, t)", "y", runs=300)
    kept = np.array([run[0][0] != 0 for run in runs])
    return np.count_nonzero(kept[1:] != kept[:-1]) <= 1


def has_no_low_normals() -> bool:
    body = "z = Sub (x, x)  n = RandomNormalLike (z)  y = Add (z, n)"
    drawn = np.concatenate([run[0] for run in drawn_by_openvino(of_onnx(body), runs=200)])
    return bool(drawn.min() > -2 and drawn.max() > 2)


def repeats_in_branches() -> bool:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x, bool c) => (float[64] y) { y = If (c) <
            then_branch = t () => (float[64] a) { a = RandomNormalLike (x) },
            else_branch = e () => (float[64] b) { b = RandomNormalLike (x) }> }""")
    session = bare_session(model)
    one, other = (session.run(None, {"x": X, "c": np.array(c)})[0] for c in (True, False))
    return np.array_equal(one, other)


def repeats_another_graph() -> bool:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x, bool c) => (float[64] y, float[64] z) {
            y = RandomNormalLike (x)
            z = If (c) <then_branch = t () => (float[64] a) { a = RandomNormalLike (x) },
                        else_branch = e () => (float[64] b) { b = Identity (x) }> }""")
    y, z = bare_session(model).run(None, {"x": X, "c": np.array(True)})
    return np.array_equal(y, z)


def go_together() -> bool:
    body = f"{RATIO}  y, m = Dropout (x, r, t)  z, n = Dropout (x, r, t)"
    runs = drawn_by_onnxruntime(body, "y, z", runs=1000)
    kept = np.array(runs) != 0
    # Element 0 is always kept, or dropped.
    one, other = kept[:, 0, 1:].T.astype(float), kept[:, 1, 1:].T.astype(float)
    equal_places = [np.corrcoef(a, b)[0, 1] for a, b in zip(one, other, strict=True)]
    of_one = np.corrcoef(one)
    np.fill_diagonal(of_one, 0)
    # Of independent draws, none of so many correlations is 0.2 in 1,000 runs.
    return bool(np.mean(np.abs(equal_places) > 0.2) > 0.5 and np.abs(of_one).max() > 0.2)


def of_two_noises(kind: str, reads: str = "x", attributes: str = "") -> str:
    """Two nodes of a kind without seeds, each of which another node reads."""
    return (
        f"w = Abs (x)  a = {kind} {attributes} (x)  b = {kind} ({reads})  c = Neg (a)  d = Neg (b)"
    )


SIZE = "{} = Constant <value_ints = [64]> ()"


def of_two_noises_of_shapes(shape: str, other_shape: str) -> str:
    """Two uniforms without seeds of these shapes, each of which another node reads."""
    zeros = f"k = ConstantOfShape ({shape})  l = ConstantOfShape ({other_shape})"
    return (
        f"{zeros}  a = RandomUniformLike (k)  b = RandomUniformLike (l)  c = Neg (a)  d = Neg (b)"
    )


# Two nodes without seeds, whose outputs are two of a, b, c, d; and whether OpenVINO merges them.
MERGED = [
    (of_two_noises("RandomUniformLike"), "c, d", True),
    (of_two_noises("RandomNormalLike"), "c, d", True),
    (of_two_noises("RandomNormalLike", attributes="<scale = 2.0>"), "a, d", True),
    (of_two_noises("RandomUniformLike"), "a, d", True),
    (of_two_noises("RandomUniformLike"), "a, b", False),
    (of_two_noises("RandomUniformLike").replace("Neg", "Identity"), "a, d", False),
    (of_two_noises("RandomUniformLike", reads="w"), "c, d", False),
    (f"s = Shape (x)  {of_two_noises_of_shapes('s', 's')}", "c, d", True),
    (f"s = Shape (x)  t = Shape (x)  {of_two_noises_of_shapes('s', 't')}", "c, d", True),
    (f"{SIZE.format('s')}  {of_two_noises_of_shapes('s', 's')}", "c, d", True),
    (f"{SIZE.format('s')}  {SIZE.format('t')}  {of_two_noises_of_shapes('s', 't')}", "c, d", False),
    (of_two_noises("RandomUniformLike", attributes="<high = 2.0>"), "c, d", False),
]


def are_one(runs: list[Any]) -> bool:
    """Whether one output decides the other in each run."""
    return all(abs(np.corrcoef(one, other)[0, 1]) > 0.99 for one, other in runs)


def merges_what_has_no_seed() -> bool:
    return all(
        are_one(drawn_by_openvino(of_onnx(body, results))) is is_merged
        for body, results, is_merged in MERGED
    )


def of_two_uniforms(
    *, shares: bool = True, results: int = 0, seeds: tuple[int, int] = (0, 0)
) -> ov.Model:
    """Two nodes, which read one shape or equal ones; so many are results, others are read."""
    shape = opset8.constant(np.array([64]))
    drawn = []
    for seed in seeds:
        own_shape = shape if shares else opset8.constant(np.array([64]))
        bounds = opset8.constant(np.float32(0)), opset8.constant(np.float32(1))
        drawn.append(opset8.random_uniform(own_shape, *bounds, "f32", 0, seed))
    read = [opset8.negative(each) for each in drawn[results:]]
    return ov.Model([*drawn[:results], *read], [])


# Such models, and whether OpenVINO merges the two.
MERGED_IN_IR: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"shares": False}, False),
    ({"results": 1}, True),
    ({"results": 2}, False),
    ({"seeds": (0, 1)}, False),
]


def merges_zeros() -> bool:
    return all(
        are_one(drawn_by_openvino(of_two_uniforms(**options))) is is_merged
        for options, is_merged in MERGED_IN_IR
    )


BARE: dict[str, Callable[[], bool]] = {
    "Dropouts that go together": go_together,
    "nodes without seeds that are merged": merges_what_has_no_seed,
    "seeds of 0 that are merged in an IR": merges_zeros,
    "inverted Bernoulli": inverts,
    "merged nodes": merges,
    "requests that share numbers": requests_share,
    "removed Dropout": removes,
    "noise on the right of a Subtract": freezes,
    "noise on the right of a Subtract and elsewhere": freezes_in_part,
    "seeds that are multiples": multiplies,
    "seeds that are one seed": are_one_seed,
    "nodes of one number": repeats_another_graph,
    "Multinomial of infinite logits": draws_past_the_last,
    "no kernels from opset 22 on": has_no_kernels,
    "functions of the model": has_no_functions,
    "uniform times a negative number": swaps_no_bounds,
    "uint32 of 31 bits": clamps,
    "uint32 of 31 bits in an IR": clamps,
    "every other number of f64": skips_in_f64,
    "odd numbers of normals": loses_a_normal,
    "Dropout's first element": keeps_the_first,
    "uniforms of an unseeded normal": has_no_low_normals,
    "branches of an If": repeats_in_branches,
    "alignment pytorch without seeds": chooses_one_seed,
    "integers beyond 31 bits in an IR": cuts_integers,
}


def test_each_row_of_the_table_is_run() -> None:
    assert sorted(BARE) == sorted(row.name for row in EVERY)
    assert all(row.after and row.says for row in EVERY)


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)
def test_the_bare_runtime_does_what_a_row_says(
    row: KnownBehaviour, record_property: Callable[[str, object], None]
) -> None:
    here = {name: libraries.version_of(name) for name in row.seen_in}
    is_so = BARE[row.name]()
    if here == row.seen_in or "KNOWN_BEHAVIOURS" in os.environ:
        assert is_so
    elif not is_so:
        changed = f"{row.name}: seen in {dict(row.seen_in)}, and otherwise in {here}"
        record_property("known behaviour", changed)


NOISE = "n = RandomUniformLike (x)"
THREE = "c = Constant <value_float = 3.0> ()"
ONE = "c = Constant <value_float = 1.0> ()"
MINUS_ONE = "c = Constant <value_float = -1.0> ()"
CHAINS = [
    "n = RandomUniform <shape = [64]> ()  y = Sub (x, n)",
    "n = RandomNormalLike (x)  y = Sub (x, n)",
    f"{NOISE}  l = Log (n)  y = Sub (x, l)",
    f"{NOISE}  l = Sqrt (n)  y = Sub (x, l)",
    f"{NOISE}  {THREE}  l = Mul (n, c)  y = Sub (x, l)",
    f"{NOISE}  {ONE}  l = Sub (c, n)  y = Mul (x, l)",
    f"{NOISE}  l = Neg (n)  y = Add (x, l)",
    f"{NOISE}  {MINUS_ONE}  l = Mul (n, c)  y = Add (x, l)",
    f"{NOISE}  l = Mul (n, n)  y = Sub (x, l)",
]
"""OpenVINO draws these once."""

TWO_NOISES = [
    f"{NOISE}  m = RandomNormalLike (x)  l = Mul (n, m)  y = Sub (x, l)",
    f"{NOISE}  m = RandomUniform <shape = [64]> ()  k = Log (m)  l = Add (n, k)  y = Sub (x, l)",
]
"""OpenVINO draws both of each once."""

FRESH = [
    f"{NOISE}  y = Sub (n, x)",
    f"{NOISE}  l = Mul (n, x)  y = Sub (x, l)",
    f"{NOISE}  l = Neg (n)  y = Mul (x, l)",
    f"{NOISE}  {THREE}  l = Mul (n, c)  y = Add (x, l)",
    f"{NOISE}  y = Div (x, n)",
]


@pytest.mark.parametrize(("body", "results", "is_merged"), MERGED)
def test_inspect_says_which_nodes_without_seeds_openvino_merges(
    body: str, results: str, is_merged: bool, tmp_path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(of_onnx(body, results), path)
    said = [
        [known["says"] for known in node["today"]["openvino"]["known"] if known["is_wrong"]]
        for node in cli.document("inspect", path)["random_nodes"]
    ]
    expected: list[list[str]] = [[], []]
    if is_merged:
        rest = "once, as one node: they read the same, and neither has a seed."
        expected = [[f"OpenVINO draws it and (gives {other}) {rest}"] for other in "ba"]
    assert said == expected


@pytest.mark.parametrize(("options", "is_merged"), MERGED_IN_IR)
def test_inspect_says_which_seeds_of_0_openvino_merges(options, is_merged, tmp_path) -> None:
    path = tmp_path / "model.xml"
    model = of_two_uniforms(**options)
    ov.save_model(model, path, compress_to_fp16=False)
    nodes = cli.document("inspect", path)["random_nodes"]
    others = [node["name"] for node in nodes][::-1]
    said = [
        [known["says"] for known in node["today"]["openvino"]["known"] if known["is_wrong"]]
        for node in nodes
    ]
    expected: list[list[str]] = [[], []]
    if is_merged:
        rest = "once, as one node: they read the same, and their seeds are 0."
        expected = [[f"OpenVINO draws it and {other} {rest}"] for other in others]
    assert said == expected


@pytest.mark.parametrize("body", [*CHAINS, *FRESH])
def test_inspect_says_of_noise_below_a_subtract_what_openvino_does(body, tmp_path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(of_onnx(body), path)
    is_frozen = body in CHAINS
    assert repeat(drawn_by_openvino(onnx.load(path))) is is_frozen
    (node,) = cli.document("inspect", path)["random_nodes"]
    names = [known["name"] for known in node["today"]["openvino"]["known"]]
    assert ("noise on the right of a Subtract" in names) is is_frozen
    does = "different numbers each session" if is_frozen else "different numbers each run"
    assert node["today"]["openvino"]["does"] == does
    assert node["today"]["onnxruntime"]["does"] == "different numbers each run"


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("body", [*TWO_NOISES, CHAINS[1]])
def test_noise_that_goes_through_other_noise_is_drawn_once_too(body, suffix, tmp_path) -> None:
    path = tmp_path / f"model{suffix}"
    model = of_onnx(body)
    assert repeat(drawn_by_openvino(model))
    if suffix == ".onnx":
        onnx.save(model, path)
    else:
        core = ov.Core()
        ov.save_model(core.read_model(model.SerializeToString()), path, compress_to_fp16=False)
    nodes = cli.document("inspect", path)["random_nodes"]
    for node in nodes:
        names = [known["name"] for known in node["today"]["openvino"]["known"]]
        assert "noise on the right of a Subtract" in names


# A model, and the factor that `inspect` names; None where OpenVINO compiles it.
PRODUCTS = [
    (f"{times(-2.0)}  y = Add (x, l)", "-2"),
    (f"{times(3.0)}  k = Constant <value_float = -0.5> ()  m = Mul (k, l)  y = Add (x, m)", "-0.5"),
    (f"{times(-1.0)}  y = Mul (x, l)", "-1"),
    (f"{times(-1.0)}  y = Add (x, l)", None),
    (f"{times(2.0)}  y = Add (x, l)", None),
    (f"{times(-2.0)}  m = Add (x, l)  y = Mul (m, n)", None),
    ("n = RandomUniformLike (x)  l = Mul (n, x)  y = Sub (l, x)", None),
]


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize(("body", "factor"), PRODUCTS)
def test_inspect_says_where_openvino_does_not_swap_bounds(body, factor, suffix, tmp_path) -> None:
    path = tmp_path / f"model{suffix}"
    model = of_onnx(body)
    assert compiles_in_openvino(model) is (factor is None)
    if suffix == ".onnx":
        onnx.save(model, path)
    else:
        read = ov.Core().read_model(model.SerializeToString())
        ov.save_model(read, path, compress_to_fp16=False)
    (node,) = cli.document("inspect", path)["random_nodes"]
    today = node["today"]["openvino"]
    assert (today["does"] == "does not load") is (factor is not None)
    said = [known["says"] for known in today["known"] if "bounds" in known["says"]]
    whole = (
        f"It multiplies the bounds of a uniform by the {factor} behind it, and does not swap them."
    )
    assert said == ([] if factor is None else [whole])


@pytest.mark.parametrize(("dtype", "low", "high", "is_cut"), RANGES)
def test_inspect_says_which_integers_openvino_does_not_draw(dtype, low, high, is_cut, tmp_path):
    path, new = tmp_path / "m.xml", tmp_path / "n.xml"
    ov.save_model(integers(dtype, low, high), path)
    (node,) = cli.document("inspect", path)["random_nodes"]
    whole = (
        f"Of the integers from {low} to {high} it draws a part, or one: it computes them in 31 "
        "bits."
    )
    said = [known["says"] for known in node["today"]["openvino"]["known"]]
    assert (whole in said) is is_cut
    cli.document("rewrite", path, "-o", new)
    (drawn,) = onnx_philox.Pipeline(new, runtime="openvino")({}, seed=1).values()
    assert int(drawn.max()) > high - (high - low) // 10


def shape_of(count: int, *attributes: str) -> str:
    return f"<{', '.join([f'shape = [{count}]', *attributes])}> ()"


def pair(one: str, other: str, seeds: tuple[int, int]) -> str:
    first, second = (shape_of(4, f"seed = {seed}.0") for seed in seeds)
    return f"a = {one} {first}  b = {other} {second}"


# A model, the runtime, and the whole sentences about its nodes, in their order.
STRUCTURES = [
    (
        pair("RandomUniform", "RandomUniform", (2, 3)),
        "onnxruntime",
        [
            "It draws what seed 1 draws, times 2, modulo 1, as (gives b) does times 3: their "
            "correlation is 0.17.",
            "It draws what seed 1 draws, times 3, modulo 1, as (gives a) does times 2: their "
            "correlation is 0.17.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (1, -3)),
        "onnxruntime",
        [
            "It draws what seed 1 draws, times 1, modulo 1, as (gives b) does times -1: their "
            "correlation is -1.00.",
            "It draws what seed 1 draws, times -1, modulo 1, as (gives a) does times 1: their "
            "correlation is -1.00.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (0, 1)),
        "onnxruntime",
        [
            "It repeats (gives b): seed 0 and seed 1 are one seed there.",
            "It repeats (gives a): seed 1 and seed 0 are one seed there.",
        ],
    ),
    (
        pair("RandomUniform", "RandomUniform", (7, 7)),
        "onnxruntime",
        [],
    ),
    (
        pair("RandomUniform", "RandomUniform", (20, 21)),
        "onnxruntime",
        [],
    ),
    (
        pair("RandomUniform", "RandomNormal", (1, 2)),
        "onnxruntime",
        [],
    ),
    (
        "i = Constant <value = float {-inf}> ()  s = Constant <value_ints = [8, 8]> ()  "
        "m = Add (x, i)  l = Reshape (m, s)  y = Multinomial (l)",
        "onnxruntime",
        [
            "Of a row that is -inf throughout it draws a class one past the last; a class of +inf "
            "it never draws."
        ],
    ),
    (
        "s = Constant <value_ints = [8, 8]> ()  l = Reshape (x, s)  y = Multinomial (l)",
        "onnxruntime",
        [],
    ),
    (
        "n = RandomUniformLike (x)  t = Constant <value_float = 4294967296.0> ()  "
        "m = Mul (n, t)  f = Floor (m)  [bits] y = Cast <to = 12> (f)",
        "openvino",
        ["OpenVINO's uint32 holds 31 bits: Cast 'bits' makes one number, 2^31, of half of them."],
    ),
    (
        "n = RandomUniformLike (x)  t = Constant <value_float = 2.3283064365386963e-10> ()  "
        "m = Div (n, t)  [bits] y = Cast <to = 12> (m)",
        "openvino",
        ["OpenVINO's uint32 holds 31 bits: Cast 'bits' makes one number, 2^31, of half of them."],
    ),
    ("n = RandomUniformLike (x)  [dice] y = Cast <to = 12> (n)", "openvino", []),
    ("n = RandomUniformLike (x)  y = Cast <to = 6> (n)", "openvino", []),
    (
        f"y = RandomUniform {shape_of(4, 'seed = 7.0', 'dtype = 11')}",
        "onnxruntime",
        ["Of f64 it draws every other number of the sequence that its seed has in f32."],
    ),
    (f"y = RandomUniform {shape_of(4, 'dtype = 11')}", "onnxruntime", []),
    # Normals are drawn in pairs: of f64 they are others.
    (f"y = RandomNormal {shape_of(4, 'seed = 7.0', 'dtype = 11')}", "onnxruntime", []),
    (
        f"y = RandomNormal {shape_of(3, 'seed = 7.0')}",
        "onnxruntime",
        [
            "It draws normals in pairs, and drops the last of 3: two runs are not the first 6 "
            "numbers of the seed."
        ],
    ),
    (f"y = RandomNormal {shape_of(4, 'seed = 7.0')}", "onnxruntime", []),
    (f"y = RandomNormal {shape_of(3)}", "onnxruntime", []),
]


@pytest.mark.parametrize(("body", "runtime", "sentences"), STRUCTURES)
def test_a_structure_that_meets_a_row_is_recognised(body, runtime, sentences) -> None:
    model = ir.from_proto(of_onnx(body, body.rsplit("  ", 1)[-1].split("] ")[-1].split(" ")[0]))
    types = Types(model)
    met = [met_nodes.Met(each.node, each.record, types) for each in search.search(model).nodes]
    among = met_nodes.MetNodes(met)
    found = [s for each in met for s in in_onnx.said(each, among, runtime, is_drawn=True)]
    assert [each.text for each in found] == sentences


@pytest.mark.parametrize(
    ("one", "other", "repeats"),
    [
        ("a = RandomNormalLike (x)", "b = RandomNormalLike (x)", True),
        ("a = RandomNormalLike (x)", "b = RandomUniformLike (x)", False),
        ("a = RandomNormalLike (x)", "n = Neg (x)  b = RandomNormalLike (n)", False),
    ],
)
def test_branches_repeat_each_other_where_it_is_said(one: str, other: str, repeats: bool) -> None:
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x, bool c) => (float[64] y) {{ y = If (c) <
            then_branch = t () => (float[64] a) {{ {one} }},
            else_branch = e () => (float[64] b) {{ {other} }}> }}""")
    session = bare_session(model)
    drawn = [session.run(None, {"x": X, "c": np.array(c)})[0] for c in (True, False)]
    assert np.array_equal(*drawn) is repeats
    searched = ir.from_proto(model)
    met = [
        met_nodes.Met(each.node, each.record, Types(searched))
        for each in search.search(searched).nodes
    ]
    among = met_nodes.MetNodes(met)
    said = [s for each in met for s in in_onnx.said(each, among, "onnxruntime", is_drawn=True)]
    assert any("in the other branch" in sentence.text for sentence in said) is repeats


def test_a_node_without_a_kernel_is_said_to_have_one_at_a_lower_opset() -> None:
    for opset, sentences in ((21, []), (22, ["It has kernels of this operator up to opset 21."])):
        model = ir.from_proto(of_onnx("y = RandomNormalLike (x)", opset=opset))
        (each,) = search.search(model).nodes
        met = met_nodes.Met(each.node, each.record, Types(model))
        found = in_onnx.said(met, met_nodes.MetNodes([met]), "onnxruntime", is_drawn=False)
        assert [said.text for said in found] == sentences


def test_a_node_in_a_function_is_said_not_to_load_in_openvino(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(OF_A_FUNCTION), "m.onnx")
    (node,) = cli.document("inspect", "m.onnx")["random_nodes"]
    assert node["today"]["onnxruntime"]["does"] == "different numbers each run"
    assert node["today"]["openvino"]["does"] == "does not load"
    (known,) = node["today"]["openvino"]["known"]
    assert known["says"] == "It loads no model that calls functions of its own."


def test_a_rewrite_says_what_runtimes_drew_of_the_original(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(of_onnx(f"{CHAINS[1]}  {pair('RandomUniform', 'RandomUniform', (0, 1))}"), "m.onnx")
    frozen = (
        "(gives n) in openvino 2026.4.1: It is drawn once, when the model is compiled: its shape "
        "is static, and a Subtract has it on the right. Now it draws anew in each run."
    )
    repeats = (
        "{} in onnxruntime 1.32.0: It repeats {}: {} are one seed there. Now it draws numbers of "
        "its own, or the same with keep_seeds."
    )
    said = cli.text("rewrite", "m.onnx", "-o", "new.onnx")
    assert f"Before, {frozen}" in said
    assert f"Before, {repeats.format('(gives a)', '(gives b)', 'seed 0 and seed 1')}" in said
    assert f"Before, {repeats.format('(gives b)', '(gives a)', 'seed 1 and seed 0')}" in said
    (first, *_) = cli.document("rewrite", "m.onnx", "-o", "newer.onnx")["wrong_before"]
    assert first == {
        "nodes": ["(gives n)"],
        "runtime": "openvino",
        "seen_in": "2026.4.1",
        **in_probes.FROZEN.said().to_json(),
    }
    ov.save_model(ov.convert_model("m.onnx"), "m.xml")
    before = cli.document("rewrite", "m.xml", "-o", "n.xml")["wrong_before"]
    assert [each["name"] for each in before] == ["noise on the right of a Subtract"]


def test_a_rewrite_says_nothing_of_what_no_runtime_draws_wrong(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    for body, opset in ((FRESH[0], 17), (pair("RandomUniform", "RandomUniform", (0, 1)), 22)):
        onnx.save(of_onnx(body, body.rsplit("  ", 1)[-1].split(" ")[0], opset), path)
        assert cli.document("rewrite", path, "-o", tmp_path / "n.onnx")["wrong_before"] == []


COLOURED = {"COLUMNS": "160", "FORCE_COLOR": "1", "TERM": "xterm"}


def test_the_worst_comes_first_in_its_colour_and_no_more_than_three_lines(tmp_path) -> None:
    path, page = tmp_path / "m.onnx", tmp_path / "page.html"
    onnx.save(of_onnx("y = Bernoulli (x)"), path)
    said = cli.invoke("inspect", path, "--html", page, env=COLOURED).stdout
    red = [line for line in said.splitlines() if "\x1b[31m" in line]
    assert any("different numbers each run, inverted" in line for line in red)
    worst = next(i for i, line in enumerate(said.splitlines()) if "It is inverted: where" in line)
    others = next(i for i, line in enumerate(said.splitlines()) if "none can be repro" in line)
    assert worst < others
    assert said.splitlines()[worst] in red
    assert said.splitlines()[others] not in red
    cells = re.findall(r'class="cell (\w+)">(.*?)</button>', page.read_text("utf-8"), re.S)
    looks = [look for look, said in cells if "different numbers each run" in said]
    assert looks == ["bad"]


def test_a_node_has_at_most_three_sentences_among_them_what_it_did() -> None:
    wrong = [in_onnx.MULTIPLES, in_onnx.ONE_SEED, in_onnx.INFINITE, in_onnx.F64, in_probes.MERGED]
    details = dict.fromkeys(("seed", "other", "other_seed", "correlation"), "1")
    known = [row.said(**details) for row in wrong]
    trial = trials.Trial(trials.Behaviour.SAME_SEQUENCE, "it begins again")
    sentences = Today(trial, known).sentences
    assert [each.is_wrong for each in sentences] == [True, True, False]
    assert sentences[2].text == "same sequence each session: it begins again"
    gone = trials.Trial(trials.Behaviour.NOT_LOADED, "no kernel")
    assert Today(gone, [in_onnx.NO_KERNEL.said()]).sentences[0].text == "does not load: no kernel"
