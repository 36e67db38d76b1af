"""Loops of constants, which OpenVINO computes when it compiles a model, and constants in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import reference
from onnx_philox.openvino import random_bernoulli, random_categorical, random_uniform
from tests.common.cases import assert_same_bits, parse, pattern_of, table
from tests.common.half_precision import differing, precision_of
from tests.common.runtimes import OpenVino, infer

SEED = {"op_seed": 3}
PRECISIONS = [None, "f32", "bf16", "f16"]


def loop(values: str, draw: str, initializers: str) -> onnx.ModelProto:
    """Two iterations of a body without a state, where nothing is a model input."""
    text = f"""g () => ({values.replace("[", "[?, ")} y) {{
        trips = Constant <value = int64 {{2}}> ()
        yes = Constant <value = bool {{1}}> ()
        y = Loop <body = b (int64 i, bool c) => (bool c2, {values} v) <{initializers}> {{
            c2 = Identity (c)
            {draw}
        }}> (trips, yes)
    }}"""
    return parse(text, opset=21, ir_version=10)


# The initializers of every body.
WORDS = np.array([1, 2, 3, 4000000000, 4000000001, 5], np.uint32)
INITIALIZERS = f"""int64[1] n = {{4}}, int32[1] n32 = {{4}}, float l = {{0.0}}, float h = {{1.0}},
    double low = {{0.1}}, double high = {{1.7}}, int64 i_low = {{-5}}, int64 i_high = {{{2**40}}},
    int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[2] by_two = {{2, 1}},
    int64[2] pair = {{2, 2}}, float[1, 3] p = {{0.1, 1.0, 2.0}}, bool no = {{0}},
    double[1] double_zero = {{0.0}}, double[1] double_one = {{1.0}},
    int64[6] wide = {{{", ".join(map(str, WORDS))}}}"""
DRAWS = {
    "F64": 'RandomUniform <output_type = "f64", op_seed = 3> (n32, low, high)',
    "NORMAL": 'RandomNormal <output_type = "f64", op_seed = 3> (n, low, high)',
    "I64": 'RandomUniform <output_type = "i64", op_seed = 3> (n32, i_low, i_high)',
    "F32": 'RandomUniform <output_type = "f32"> (n32, l, h, state)',
    "NEXT": 'RandomUniform <output_type = "f32"> (n32, l, h, s)',
    "BITS": "RandomGenerator (state, n32)",
    "CLASSES": 'RandomCategorical <output_type = "i32", sample_size = 5> (p, state)',
}


def loop_of(values: str, nodes: str, initializers: str = INITIALIZERS) -> onnx.ModelProto:
    """A loop of nodes, in which the words of `DRAWS` stand for what is drawn."""
    for word, draw in DRAWS.items():
        nodes = nodes.replace(word, f"onnx_philox.{draw}")
    return loop(values, f"state = Cast <to = 12> (wide) {nodes}", initializers)


# What hands a draw on: the type of the Loop's values and the body; the refused output, what is got.
REFUSED = table("""
double[4]: v, s = F64 -> output 'values' ...: got f64
int64[4]: v, s = I64 -> output 'values' ...: got others
double[2, 2]: u, s = NORMAL v = Reshape (u, pair) -> output 'values' ...: got f64
int64[6]: u, s = BITS v = Cast <to = 7> (s) -> output 'next_state' ...: got others
double[4]: d, s = F64 v = Add (d, double_zero) -> output 'values' ...: got f64
double[8]: d, s = F64 v = Concat <axis = 0> (d, d) -> output 'values' ...: got f64
int64[8]: d, s = I64 v = Concat <axis = 0> (d, d) -> output 'values' ...: got others
double[2, 4]: d, s = F64 e = Concat <axis = 0> (two, n) v = Expand (d, e) -> 'values' ...: got f64
double[1]: d, s = F64 v = Gather <axis = 0> (d, one) -> output 'values' ...: got f64
int64[1]: d, s = I64 v = Gather <axis = 0> (d, one) -> output 'values' ...: got others
double[7]: d, s = F64 v = Pad (d, by_two) -> output 'values' ...: got f64
double[4]: d, s = F64 v = ScatterElements <axis = 0> (d, two, double_one) -> 'values' ...: got f64
int64[4]: d, s = I64 v = ScatterElements <axis = 0> (d, two, one) -> 'values' ...: got others
double[4]: d, s = F64 i = Unsqueeze (two, one) v = ScatterND (d, i, double_one)
-> output 'values' ...: got f64
double[2]: d, s = F64 v = Slice (d, zero, two) -> output 'values' ...: got f64
int64[2]: d, s = I64 v = Slice (d, zero, two) -> output 'values' ...: got others
double[2]: d, s = F64 v, w = Split <axis = 0, num_outputs = 2> (d) -> output 'values' ...: got f64
double[8]: d, s = F64 v = Tile (d, two) -> output 'values' ...: got f64
double[4]: d, s = F64 v = Where (no, double_zero, d) -> output 'values' ...: got f64
uint32[4]: v, s = BITS -> output 'bits' ...: got others
int64[4]: d, s = BITS v = Cast <to = 7> (d) -> output 'bits' ...: got others
int64[6]: d, s = F32 v = Cast <to = 7> (s) -> output 'next_state' ...: got others
int64[6]: d, s = CLASSES v = Cast <to = 7> (s) -> output 'next_state' ...: got others
""")


# At each precision, and in files.
@pytest.mark.parametrize("how", [*PRECISIONS, ov.save_model, ov.serialize])
@pytest.mark.parametrize(("row", "got"), REFUSED)
def test_draws_that_the_plugin_would_round_or_clamp_in_a_loop_of_constants_are_refused(
    openvino: OpenVino, tmp_path: Path, row: str, got: str, how: Any
) -> None:
    model = openvino.read(loop_of(*row.split(": ")))
    if callable(how):
        # A zero in 16 bits is no constant to the plugin, which then adds in f32, as ever.
        (ov.serialize if "Add" in row else how)(model, tmp_path / "m.xml")
        model = tmp_path / "m.xml"
        how = None
    said = pattern_of(
        f"{got.replace('...', 'must be numbers ...')}, in a Loop that OpenVINO computes when it "
        "compiles the model... Draw outside of the Loop"
    )
    with pytest.raises(RuntimeError, match=said):
        openvino(model, {}, how)


def that_runs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same Loop with its trips fed."""
    del model.graph.node[0]
    model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("trips", 7, []))
    return model


def test_a_loop_of_constants_in_a_loop_that_runs_is_refused_alike(openvino: OpenVino) -> None:
    inner = loop_of("int64[8]", "d, s = I64 v = Concat <axis = 0> (d, d)").graph
    outer = that_runs(loop("int64[1, 8]", "v = Identity (n)", "int64 n = {2}"))
    body = outer.graph.node[-1].attribute[0].g
    del body.node[-1], body.initializer[:]
    for node in inner.node:
        body.node.add().CopyFrom(node)
    body.node[-1].output[0] = "v"
    with pytest.raises(
        RuntimeError,
        match=r"output 'values' must be numbers within int32, .*: got others, in a Loop that",
    ):
        openvino(outer, {"trips": np.array(2)})


def test_a_loop_that_runs_hands_on_all_words_cached_or_not(
    openvino: OpenVino, tmp_path: Path
) -> None:
    model = openvino.read(that_runs(loop_of("int64[6]", "d, s = F32 v = Cast <to = 7> (s)")))
    _, expected = reference.random_uniform([4], 0, 1, "f32", state=WORDS)
    assert (expected > 2**31).any()
    for is_cached in (False, True):
        config = {"CACHE_DIR": str(tmp_path)}
        compiled = openvino.core.compile_model(model, "CPU", config)
        assert compiled.get_property("LOADED_FROM_CACHE") is is_cached
        drawn = infer(compiled, {"trips": np.array(2)})[0]
        # Outside of the plugin's int32 their low 32 bits count.
        assert_same_bits(drawn.astype(np.uint32), np.stack([expected] * 2))


WIDE_UNIFORMS = reference.random_uniform([4], 0.1, 1.7, "f64", **SEED)[0]
BETWEEN = reference.random_uniform([4], 0, 1, "f32", state=WORDS)[1]
# The type of the Loop's values and the body; what is drawn.
F32_OF_WIDE = WIDE_UNIFORMS.astype(np.float32)
EXACT = [
    (
        "float[4]",
        "d, s = F32 v, t = NEXT",
        reference.random_uniform([4], 0, 1, "f32", state=BETWEEN)[0],
    ),
    (
        "int64[4]",
        "d, s = I64 g = Greater (d, i_low) b = Cast <to = 7> (g) e = Shape (d) v = Add (b, e)",
        np.full(4, 5),
    ),
    ("float[1]", "d, s = F64 g = Cast <to = 1> (d) v = Gather (g, one)", F32_OF_WIDE[1:2]),
    ("float[1]", "d, s = F64 g = Gather (d, one) v = Cast <to = 1> (g)", F32_OF_WIDE[1:2]),
    ("float[4]", "d, s = F64 v = Cast <to = 1> (d)", F32_OF_WIDE),
]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("type_", "body", "expected"), EXACT)
def test_other_draws_in_a_loop_of_constants_are_exact_at_each_precision(
    openvino: OpenVino,
    type_: str,
    body: str,
    expected: np.ndarray,
    precision: str | None,
) -> None:
    wanted = np.stack([expected] * 2)
    if "Cast <to = 1>" in body and precision_of(precision) == "f16":
        # What the model itself makes of a draw is the plugin's, which keeps such constants so.
        wanted = wanted.astype(np.float16).astype(np.float32)
    assert_same_bits(openvino(loop_of(type_, body), {}, precision)[0], wanted)


@pytest.mark.parametrize("i", [-(2**31), 2**31 - 1])
def test_the_last_integers_of_32_bits_in_a_loop_of_constants_are_exact(
    openvino: OpenVino, i: int
) -> None:
    bounds = INITIALIZERS.replace("{-5}", f"{{{i}}}").replace(f"{{{2**40}}}", f"{{{i + 1}}}")
    for precision in differing(PRECISIONS):
        drawn = openvino(loop_of("int64[4]", "v, s = I64", bounds), {}, precision)[0]
        assert_same_bits(drawn, np.full((2, 4), i))


@pytest.mark.usefixtures("factories")
def test_openvino_s_own_evaluation_of_a_model_draws_all_bits(openvino: OpenVino) -> None:
    node = random_uniform([4], 0.1, 1.7, "f64", **SEED)
    for model, expected in (
        (ov.Model([node.output(0)], [], "m"), WIDE_UNIFORMS),
        (openvino.read(loop_of("double[4]", "v, s = F64")), np.stack([WIDE_UNIFORMS] * 2)),
    ):
        for evaluated in (model, model.clone(), model.clone().clone()):
            result = ov.Tensor(ov.Type.f64, ov.Shape(expected.shape))
            assert evaluated.evaluate([result], [])
            assert_same_bits(result.data, expected)


# Saving compresses constants to f16, but for those that feed a draw.

# Just above the uniforms that are drawn: every draw is true, but half of them with a rounded p.
LARGE = np.nextafter(
    reference.random_uniform([5000], 0, 1, "f32", **SEED)[0], np.float32(2), dtype=np.float32
)
ROWS = np.ascontiguousarray(LARGE.reshape(50, 100))


def indices(*values: int) -> ov.Node:
    return ov.op.Constant(np.array(values))


# What moves a constant, and what it makes of it.
MOVES = [
    (
        lambda: opset8.reshape(ov.op.Constant(ROWS), indices(5000), False),
        lambda: LARGE,
    ),
    (
        lambda: opset8.squeeze(ov.op.Constant(LARGE[None]), indices(0)),
        lambda: LARGE,
    ),
    (
        lambda: opset8.unsqueeze(ov.op.Constant(LARGE), indices(0)),
        lambda: LARGE[None],
    ),
    (
        lambda: opset8.transpose(ov.op.Constant(ROWS.T.copy()), indices(1, 0)),
        lambda: ROWS,
    ),
    (
        lambda: opset8.broadcast(ov.op.Constant(LARGE[None]), indices(2, 5000)),
        lambda: np.stack([LARGE, LARGE]),
    ),
    (
        lambda: opset8.concat([ov.op.Constant(LARGE)] * 2, 0),
        lambda: np.concatenate([LARGE, LARGE]),
    ),
    (
        lambda: opset8.maximum(ov.op.Constant(LARGE), ov.op.Constant(np.zeros(1, np.float32))),
        lambda: LARGE,
    ),
]


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(("move", "moved"), MOVES)
def test_a_large_constant_that_nodes_move_is_saved_unrounded(
    openvino: OpenVino,
    tmp_path: Path,
    move: Callable[[], ov.Node],
    moved: Callable[[], np.ndarray],
) -> None:
    p = moved()
    uniforms, _ = reference.random_uniform(p.shape, 0, 1, "f32", **SEED)
    rounded = p.astype(np.float16).astype(np.float32)
    assert ((uniforms < p) != (uniforms < rounded)).any(), "no draw would show the rounding"
    node = random_bernoulli(p.shape, move(), **SEED)
    ov.save_model(ov.Model([node.output(0)], [], "m"), tmp_path / "m.xml")
    drawn = openvino(tmp_path / "m.xml", {}, "f32")[0]
    expected = reference.random_bernoulli(p.shape, p, **SEED)[0]
    assert_same_bits(drawn, expected)


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize("draw", [random_bernoulli, random_categorical])
def test_the_weights_of_a_network_before_a_draw_are_compressed_as_ever(
    tmp_path: Path, draw: Callable[..., ov.Node]
) -> None:
    source = opset8.parameter([1, 5000], np.float32, "x")
    computed = opset8.sigmoid(opset8.multiply(source, ov.op.Constant(LARGE)))
    given = ([1, 5000], computed) if draw is random_bernoulli else (computed, 3)
    model = ov.Model([draw(*given, **SEED).output(0)], [source], "m")
    ov.save_model(model, tmp_path / "m.xml")
    assert (tmp_path / "m.bin").stat().st_size < 3 * LARGE.size
