"""What runtimes do without this package, on valid input: a function for each known behaviour."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from onnx import parser
from openvino import opset8

from onnx_philox._command.inspect.known import ROWS, known_in_ir
from tests.common.runtimes import bare_session

X = np.full(64, 0.5, np.float32)
EVERY = (*ROWS, *known_in_ir.ROWS)


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


FEW = "h = Constant <value_float = 0.1> ()  z = Sub (x, x)  p = Add (z, h)"
"""Makes of x a p of 0.1."""


def inverts() -> bool:
    body = f"{FEW}  y = Bernoulli <seed = 3.0> (p)"
    ((in_openvino,),) = drawn_by_openvino(of_onnx(body), runs=1)
    return bool(one(body).mean() > 0.6 and in_openvino.mean() > 0.6)


def loads_a_bernoulli(seed: str, path: Path | None = None) -> bool:
    model = of_onnx(f"y = Bernoulli {seed} (x)")
    if path is not None:
        onnx.save(model, path)
    try:
        ov.Core().read_model(path or model.SerializeToString())
    except RuntimeError:
        return False
    return True


def wants_a_seed() -> bool:
    return loads_a_bernoulli("<seed = 3.0>") and not loads_a_bernoulli("")


def wants_bytes() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        of_a_file = loads_a_bernoulli("<seed = 3.0>", Path(folder, "m.onnx"))
    return loads_a_bernoulli("<seed = 3.0>") and not of_a_file


def classes_of_openvino(seed: str) -> list[Any]:
    """Two runs in one second of the clock, and one in another."""
    body = f"s = Constant <value_ints = [8, 8]> ()  l = Reshape (x, s)  y = Multinomial {seed} (l)"
    core = ov.Core()
    compiled = core.compile_model(core.read_model(of_onnx(body).SerializeToString()), "CPU")

    def in_one_second() -> list[Any]:
        while True:
            time.sleep(1.02 - time.time() % 1)
            second = int(time.time())
            found = [np.array(value) for _ in range(2) for value in compiled([X]).values()]
            # On a busy machine they may end in the next one.
            if int(time.time()) == second:
                return found

    return in_one_second() + in_one_second()


def begins_anew() -> bool:
    first, *others = classes_of_openvino("<sample_size = 9, seed = 3.0>")
    return all(np.array_equal(first, other) for other in others)


def takes_the_time() -> bool:
    first, second, third, fourth = classes_of_openvino("<sample_size = 9>")
    is_same = np.array_equal(first, second) and np.array_equal(third, fourth)
    return is_same and not np.array_equal(second, third)


def coins(seed: float, p: float, others: str) -> list[Any]:
    """Coins of a seed, and what a node of another gives beside it."""
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[4096] x) => (a, b) '
        f"{{ a = Bernoulli <seed = {seed}> (x)  b = {others} (x) }}"
    )
    drawn: list[Any] = bare_session(model).run(None, {"x": np.full(4096, p, np.float32)})
    return drawn


def classes_of(seed: float) -> Any:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 2] x) => (y) '
        f"{{ y = Multinomial <sample_size = 4096, seed = {seed}> (x) }}"
    )
    rare = np.log(np.array([[0.9, 0.1]], np.float32))
    return bare_session(model).run(None, {"x": rare})[0][0]


def choices_depend() -> bool:
    def correlation(seed: float, p: float, others: str) -> float:
        return float(np.corrcoef(*coins(seed, p, others))[0, 1])

    return (
        correlation(1.0, 0.1, "Bernoulli <seed = 2.0>") > 0.3
        and correlation(1.0, 0.5, "Bernoulli <seed = -3.0>") < -0.9
        and correlation(2.0, 0.5, "RandomUniformLike <seed = 1.0>") > 0.3
        and abs(correlation(20.0, 0.1, "Bernoulli <seed = 21.0>")) < 0.1
        and float(np.corrcoef(classes_of(1.0), classes_of(2.0))[0, 1]) > 0.3
    )


def choices_read_uniforms() -> bool:
    falls, uniform = coins(1.0, 0.25, "RandomUniformLike <seed = 0.0>")
    of_classes = one("y = RandomUniform <shape = [4096], seed = 1.0, dtype = 11> ()")
    chosen = np.array_equal(classes_of(1.0), of_classes > 0.9)
    return np.array_equal(falls, uniform > 0.25) and chosen


def negates() -> bool:
    first, second = (
        one(f"y = RandomNormal <shape = [64], seed = {seed}> ()") for seed in (1.0, -3.0)
    )
    return bool(np.allclose(first, -second, atol=1e-4))


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


def draws_past_the_last_behind_a_mask() -> bool:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 3] x, bool[1, 3] m) => (int32[1, 99] y) {
            i = Constant <value = float {-inf}> ()  l = Where (m, x, i)
            y = Multinomial <sample_size = 99> (l) }""")
    session = bare_session(model)
    logits = np.zeros((1, 3), np.float32)
    masks = ([[False, False, False]], [[True, False, False]])
    drawn = [session.run(None, {"x": logits, "m": np.array(mask)})[0] for mask in masks]
    return bool((drawn[0] == 3).all() and (drawn[1] == 0).all())


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
    drawn = np.concatenate([run[0] for run in drawn_by_openvino(of_onnx(body), runs=500)])
    is_no_normal = -1.21 < drawn.min() < -1.2 and drawn.max() > 3
    return bool(is_no_normal and 0.03 < drawn.mean() < 0.09 and drawn.std() > 1.03)


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


def places_of_one_go_together() -> bool:
    runs = drawn_by_onnxruntime(f"{RATIO}  y, m = Dropout (x, r, t)", runs=1000)
    kept = np.array(runs)[:, 0, 1:].T != 0
    of_one = np.corrcoef(kept.astype(float))
    np.fill_diagonal(of_one, 0)
    return bool(np.abs(of_one).max() > 0.2)


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
    "places of a Dropout that go together": places_of_one_go_together,
    "nodes without seeds that are merged": merges_what_has_no_seed,
    "seeds of 0 that are merged in an IR": merges_zeros,
    "inverted Bernoulli": inverts,
    "Bernoulli without a seed": wants_a_seed,
    "Bernoulli of a file": wants_bytes,
    "Multinomial with a seed": begins_anew,
    "Multinomial without a seed": takes_the_time,
    "choices of seeds that are multiples": choices_depend,
    "a uniform and a choice of one seed": choices_read_uniforms,
    "normals of opposite seeds": negates,
    "merged nodes": merges,
    "requests that share numbers": requests_share,
    "removed Dropout": removes,
    "noise on the right of a Subtract": freezes,
    "noise on the right of a Subtract and elsewhere": freezes_in_part,
    "seeds that are multiples": multiplies,
    "seeds that are one seed": are_one_seed,
    "nodes of one number": repeats_another_graph,
    "Multinomial of infinite logits": draws_past_the_last,
    "Multinomial behind a mask": draws_past_the_last_behind_a_mask,
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
