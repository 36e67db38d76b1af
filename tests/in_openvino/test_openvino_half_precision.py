"""Draws of f16, f64 and i64 that other nodes of an OpenVINO model compute with.

The CPU plugin computes f16 and f64 in f32, and i64 in i32: draws follow it, but as outputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox.openvino import BACKENDS
from tests.common.cases import DTYPES, assert_same_bits
from tests.common.foreign import parse
from tests.common.half_precision import differing
from tests.common.runtimes import OpenVino, joined, request_of

PRECISIONS = [None, "f32", "bf16", "f16"]
SHAPE = [5, 4]
BOUNDS = {
    "f16": (0.1, 1.7),
    "bf16": (0.1, 1.7),
    "f64": (0.1, 1.7),
    "i64": (-7, 2**20),
}
ONNX_TYPES = {"f16": "float16", "bf16": "bfloat16", "f64": "double", "i64": "int64"}
DRAWS = [(op, t) for t in BOUNDS for op in ("Uniform", "Normal") if (op, t) != ("Normal", "i64")]

# What meets a draw `v` and `x`, which is all ones, and gives back the draw.
CONSUMERS = {
    "Mul": "y = Mul (v, x)",
    "Add": "zeros = Sub (x, x)  y = Add (zeros, v)",
    "Concat": "axis = Constant <value_ints = [0]> ()  five = Constant <value_ints = [5]> ()"
    "  ten = Constant <value_ints = [10]> ()  c = Concat <axis = 0> (x, v)"
    "  y = Slice (c, five, ten, axis)",
    "Concat with itself": "axis = Constant <value_ints = [0]> ()"
    "  five = Constant <value_ints = [5]> ()  ten = Constant <value_ints = [10]> ()"
    "  c = Concat <axis = 0> (v, v)  y = Slice (c, five, ten, axis)",
    "Gather": "rows = Constant <value_ints = [0, 1, 2, 3, 4]> ()  y = Gather <axis = 0> (v, rows)",
    "Where": "same = Equal (x, x)  y = Where (same, v, x)",
    "Reshape, Mul": "rows = Constant <value_ints = [5, 4]> ()  r = Reshape (v, rows)"
    "  y = Mul (r, x)",
    "Transpose twice, Mul": "r = Transpose (v)  s = Transpose (r)  y = Mul (s, x)",
    "If": "one = ReduceMax <keepdims = 0> (x)  yes = Cast <to = 9> (one)  y = If (yes) <"
    "then_branch = then () => (TYPE[m, n] a) { a = Mul (v, x) },"
    "else_branch = otherwise () => (TYPE[m, n] b) { b = Sub (v, x) }>",
}
CONSUMERS["Loop"] = """trips = Constant <value_ints = [2]> ()
    y = Loop (trips, , x) <body = body (int64 i, bool on, TYPE[5, 4] a)
            => (bool same, TYPE[5, 4] b) {
        same = Identity (on)  zeros = Sub (a, a)  b = Add (v, zeros)
    }>"""
# What hands the draw on as it is, to the output.
MOVERS = {
    "nothing": "",
    "Identity": "y = Identity (v)",
    "Reshape": "rows = Constant <value_ints = [5, 4]> ()  y = Reshape (v, rows)",
    "Transpose": "r = Transpose (v)  y = Transpose (r)",
    "Unsqueeze": "axis = Constant <value_ints = [0]> ()  r = Unsqueeze (v, axis)"
    "  y = Squeeze (r, axis)",
}


def model_of(op: str, type_: str, body: str, *, dynamic: bool = False) -> ModelProto:
    """A draw and the nodes of a body; without a body the draw is the output."""
    name = ONNX_TYPES[type_]
    shape = "" if dynamic else "int64[2] n = {5, 4}"
    text = f"""g ({name}[{"p, q" if dynamic else "5, 4"}] x{", int64[2] n" if dynamic else ""})
            => ({name}[p, q] y) <{shape}> {{
            {"v" if body else "y"} = onnx_philox.Random{op}
                <output_type = "{type_}", op_seed = 3> (n, low, high)
            {body.replace("TYPE", name)}
        }}"""
    model = parse(text, 20, 9)
    for input_, value in zip(("low", "high"), bounds_of(type_), strict=True):
        model.graph.initializer.append(tensor(input_, type_, value))
    return model


def tensor(name: str, type_: str, value: np.ndarray) -> TensorProto:
    """The front end misreads bf16 that is not raw."""
    code = getattr(TensorProto, ONNX_TYPES[type_].upper())
    return helper.make_tensor(name, code, value.shape, value.tobytes(), raw=True)


def bounds_of(type_: str) -> list[np.ndarray]:
    return [np.array(bound).astype(DTYPES[type_]) for bound in BOUNDS[type_]]


def feeds_of(type_: str, dynamic: bool) -> dict[str, np.ndarray]:
    feeds = {"x": np.ones(SHAPE, DTYPES[type_])}
    return feeds | ({"n": np.array(SHAPE)} if dynamic else {})


def drawn(op: str, type_: str) -> np.ndarray:
    function = reference.random_uniform if op == "Uniform" else reference.random_normal
    return function(SHAPE, *bounds_of(type_), type_, op_seed=3)[0]


def consumed(op: str, type_: str) -> np.ndarray:
    """A draw as the nodes of a model see it: f64 in 32 bits, as all f64 in that plugin."""
    values = drawn(op, type_)
    return values.astype(np.float32).astype(np.float64) if type_ == "f64" else values


Cases = list[tuple[str, tuple[str, str]]]
"""Bodies and draws."""


def with_each_draw(*bodies: str) -> Cases:
    return list(itertools.product(bodies, DRAWS))


def parts_of(
    cases: Cases,
    *,
    dynamic: bool,
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """All as parts of one model, which takes little longer to compile than each."""
    parts = [model_of(*draw, body, dynamic=dynamic) for body, draw in cases]
    feeds = [feeds_of(type_, dynamic) for _, (_, type_) in cases]
    return joined(list(zip(parts, feeds, strict=True)))


def check(found: Iterable[np.ndarray], cases: Cases) -> None:
    for y, (body, draw) in zip(found, cases, strict=True):
        print(body, draw)
        expected = (drawn if body in MOVERS.values() else consumed)(*draw)
        assert_same_bits(y, expected)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("part", range(4))
def test_a_draw_meets_other_tensors_of_its_type_and_keeps_all_bits_where_it_is_only_moved(
    openvino: OpenVino, part: int, dynamic: bool, precision: str | None
) -> None:
    cases = with_each_draw(*CONSUMERS.values(), *MOVERS.values())[part::4]
    whole, feeds = parts_of(cases, dynamic=dynamic)
    model = openvino.read(whole)
    feeds = {port.any_name: feeds[port.any_name] for port in model.inputs}
    check(openvino(model, feeds, precision), cases)


def test_a_matrix_product_takes_a_draw(openvino: OpenVino) -> None:
    cases = with_each_draw("y = MatMul (v, x)")
    whole, _ = parts_of(cases, dynamic=False)
    del whole.graph.input[:]
    for i, (_, (_, type_)) in enumerate(cases):
        whole.graph.initializer.append(
            tensor(
                f"{i}/x",
                type_,
                np.eye(4, dtype=DTYPES[type_]),
            )
        )
    model = openvino.read(whole)
    check(openvino(model, {}, "f32"), cases)
    # Under the other hints the plugin makes bf16 or f16 of what it multiplies.
    for precision in differing([None, "bf16", "f16"]):
        for y, (_, draw) in zip(openvino(model, {}, precision), cases, strict=True):
            one = y.astype(np.float64)
            other = consumed(*draw).astype(np.float64)
            np.testing.assert_allclose(one, other, rtol=2**-7)


def test_a_draw_that_is_an_output_too_keeps_all_bits_there(openvino: OpenVino) -> None:
    cases = with_each_draw("y = Mul (v, x)")
    whole, feeds = parts_of(cases, dynamic=False)
    for i, (_, (_, type_)) in enumerate(cases):
        code = getattr(TensorProto, ONNX_TYPES[type_].upper())
        whole.graph.output.append(helper.make_tensor_value_info(f"{i}/v", code, SHAPE))
    for precision in differing(PRECISIONS):
        check(openvino(whole, feeds, precision), cases + with_each_draw(""))


@pytest.mark.parametrize("name", ["Mul", "Concat", "If"])
def test_draws_are_exact_in_ir_of_either_backend_and_in_exported_models(
    openvino: OpenVino, tmp_path: Path, name: str
) -> None:
    cases = with_each_draw(CONSUMERS[name])
    whole, feeds = parts_of(cases, dynamic=True)
    model = openvino.read(whole)
    path = tmp_path / "model.xml"
    for is_compressed in (False, True):
        ov.save_model(model, path, compress_to_fp16=is_compressed)
        for backend in BACKENDS:
            check(OpenVino(backend)(path, feeds), cases)
    compiled = openvino.core.compile_model(model, "CPU")
    imported = openvino.core.import_model(compiled.export_model(), "CPU")
    check(request_of(imported)(feeds), cases)
    for is_cached in (False, True):
        compiled = openvino.core.compile_model(model, "CPU", {"CACHE_DIR": str(tmp_path / "c")})
        assert compiled.get_property("LOADED_FROM_CACHE") is is_cached
        check(request_of(compiled)(feeds), cases)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["Uniform", "Normal"])
def test_a_body_may_give_a_draw(openvino: OpenVino, op: str, type_: str) -> None:
    name = ONNX_TYPES[type_]
    text = f"""g (bool yes, {name}[5, 4] x) => ({name}[p, q] y) <int64[2] n = {{5, 4}}> {{
        y = If (yes) <then_branch = then () => ({name}[p, q] a) {{
            a = onnx_philox.Random{op} <output_type = "{type_}", op_seed = 3> (n, low, high)
        }}, else_branch = otherwise () => ({name}[p, q] b) {{ b = Identity (x) }}>
    }}"""
    model = parse(text, 20, 9)
    model.graph.initializer.extend(model_of(op, type_, "").graph.initializer)
    feeds = feeds_of(type_, dynamic=False) | {"yes": np.array(True)}
    for precision in differing(PRECISIONS):
        assert_same_bits(openvino(model, feeds, precision)[0], drawn(op, type_))


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike"])
def test_rewritten_models_of_f16_run(openvino: OpenVino, op_type: str) -> None:
    source = parse(f"""g (float16[batch, 4] mean, float16[batch, 4] log_variance)
        => (float16[batch, 4] y) {{
            a = Mul (log_variance, half)
            noise = {op_type} (a) deviation = Exp (a) b = Mul (noise, deviation) y = Add (b, mean)
        }}""")
    half = numpy_helper.from_array(np.array(0.5, np.float16), "half")
    source.graph.initializer.append(half)
    zeros = np.zeros(SHAPE, np.float16)
    state = PhiloxState.for_run(7).to_array()
    function = getattr(reference, f"random_{op_type[6:-4].lower()}")
    expected, _ = function(SHAPE, 0, 1, "f16", state=state)
    for seed in (None, 7):
        model = make_reproducible(source, seed=seed)
        feeds = {"mean": zeros, "log_variance": zeros}
        feeds |= {"random_state": state} if seed is None else {}
        for precision in differing(PRECISIONS):
            assert_same_bits(openvino(model, feeds, precision)[0], expected)
