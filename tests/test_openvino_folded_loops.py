"""Loops of constants, which OpenVINO computes when it compiles a model, and constants in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from cases import assert_same_bits
from half_precision import precision_of
from onnx import parser
from openvino import opset8
from runtimes import OpenVino, infer

from onnx_philox import reference
from onnx_philox.openvino import random_bernoulli, random_uniform

SEED = {"op_seed": 3}
PRECISIONS = [None, "f32", "bf16", "f16"]


def loop(values: str, draw: str, initializers: str) -> onnx.ModelProto:
    """Two iterations of a body without a state, where nothing is a model input."""
    text = f"""<ir_version: 10, opset_import: ["": 21, "onnx_philox": 1]>
    g () => ({values.replace("[", "[?, ")} y) {{
        trips = Constant <value = int64 {{2}}> ()
        yes = Constant <value = bool {{1}}> ()
        y = Loop <body = b (int64 i, bool c) => (bool c2, {values} v) <{initializers}> {{
            c2 = Identity (c)
            {draw}
        }}> (trips, yes)
    }}"""
    return parser.parse_model(text)


F64 = (
    "double[4]",
    'v, s = onnx_philox.RandomUniform <output_type = "f64", op_seed = 3> (n, low, high)',
    "int64[1] n = {4}, double low = {0.1}, double high = {1.7}",
)
WIDE = (
    "int64[4]",
    'v, s = onnx_philox.RandomUniform <output_type = "i64", op_seed = 3> (n, low, high)',
    "int64[1] n = {4}, int64 low = {-5}, int64 high = {1099511627776}",
)
MOVED = (
    "double[2, 2]",
    """u, s = onnx_philox.RandomNormal <output_type = "f64", op_seed = 3> (n, low, high)
        v = Reshape (u, two)""",
    "int64[1] n = {4}, double low = {0.1}, double high = {1.7}, int64[2] two = {2, 2}",
)
STATE = (
    "int64[6]",
    """state = Cast <to = 12> (wide)
        u, s = onnx_philox.RandomGenerator (state, n)
        v = Cast <to = 7> (s)""",
    "int64[1] n = {4}, int64[6] wide = {1, 2, 3, 4, 4000000000, 5}",
)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("body", "given"), [(F64, "f64"), (WIDE, "others"), (MOVED, "f64")], ids=["f64", "i64", "moved"]
)
def test_draws_that_the_plugin_would_round_in_a_loop_of_constants_are_refused(
    openvino: OpenVino, body, given: str, precision: str | None
) -> None:
    with pytest.raises(RuntimeError) as raised:
        openvino(loop(*body), {}, precision)
    where = "in a Loop that OpenVINO computes when it compiles the model"
    assert "output 'values' must be numbers " in str(raised.value)
    assert f": got {given}, {where}" in str(raised.value)
    assert "Draw outside of the Loop" in str(raised.value)


def test_a_state_that_the_plugin_would_clamp_behind_a_loop_of_constants_is_refused(
    openvino: OpenVino,
) -> None:
    with pytest.raises(
        RuntimeError,
        match=r"output 'next_state' must be numbers within int32, .*: got others, in a Loop that",
    ):
        openvino(loop(*STATE))


INITIALIZERS = """int64[1] n = {4}, int32[1] n32 = {4}, float l = {0.0}, float h = {1.0},
    double low = {0.1}, double high = {1.7}, int64 i_low = {-5}, int64 i_high = {1099511627776},
    int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[2] by_two = {2, 1},
    float[1, 3] p = {0.1, 1.0, 2.0}, bool no = {0}, double[1] double_zero = {0.0},
    double[1] double_one = {1.0}"""
WIDE_STATE = (
    "state = Cast <to = 12> (wide)",
    "int64[6] wide = {1, 2, 3, 4000000000, 4000000001, 5}",
)
DRAW_F64 = 'd, s = onnx_philox.RandomUniform <output_type = "f64", op_seed = 3> (n32, low, high)'
DRAW_I64 = (
    'd, s = onnx_philox.RandomUniform <output_type = "i64", op_seed = 3> (n32, i_low, i_high)'
)
STATE_BEHIND_F32 = """d, s = onnx_philox.RandomUniform <output_type = "f32"> (n32, l, h, state)
            v = Cast <to = 7> (s)"""
# By what hands the draw on: the type of the Loop's values, the body, and the refused output.
HANDED_ON = {
    "Add": ("double[4]", f"{DRAW_F64}\n v = Add (d, double_zero)", "values"),
    "Concat": ("double[8]", f"{DRAW_F64}\n v = Concat <axis = 0> (d, d)", "values"),
    "Concat, i64": ("int64[8]", f"{DRAW_I64}\n v = Concat <axis = 0> (d, d)", "values"),
    "Expand": (
        "double[2, 4]",
        f"{DRAW_F64}\n e = Concat <axis = 0> (two, n)\n v = Expand (d, e)",
        "values",
    ),
    "Gather": ("double[1]", f"{DRAW_F64}\n v = Gather <axis = 0> (d, one)", "values"),
    "Gather, i64": ("int64[1]", f"{DRAW_I64}\n v = Gather <axis = 0> (d, one)", "values"),
    "Pad": ("double[7]", f"{DRAW_F64}\n v = Pad (d, by_two)", "values"),
    "ScatterElements": (
        "double[4]",
        f"{DRAW_F64}\n v = ScatterElements <axis = 0> (d, two, double_one)",
        "values",
    ),
    "ScatterElements, i64": (
        "int64[4]",
        f"{DRAW_I64}\n v = ScatterElements <axis = 0> (d, two, one)",
        "values",
    ),
    "ScatterND": (
        "double[4]",
        f"{DRAW_F64}\n i = Unsqueeze (two, one)\n v = ScatterND (d, i, double_one)",
        "values",
    ),
    "Slice": ("double[2]", f"{DRAW_F64}\n v = Slice (d, zero, two)", "values"),
    "Slice, i64": ("int64[2]", f"{DRAW_I64}\n v = Slice (d, zero, two)", "values"),
    "Split": ("double[2]", f"{DRAW_F64}\n v, w = Split <axis = 0, num_outputs = 2> (d)", "values"),
    "Tile": ("double[8]", f"{DRAW_F64}\n v = Tile (d, two)", "values"),
    "Where": ("double[4]", f"{DRAW_F64}\n v = Where (no, double_zero, d)", "values"),
    "bits": ("uint32[4]", "v, s = onnx_philox.RandomGenerator (state, n32)", "bits"),
    "Cast, bits": (
        "int64[4]",
        "d, s = onnx_philox.RandomGenerator (state, n32)\n v = Cast <to = 7> (d)",
        "bits",
    ),
    "Cast, the state behind f32": ("int64[6]", STATE_BEHIND_F32, "next_state"),
    "Cast, the state behind classes": (
        "int64[6]",
        'd, s = onnx_philox.RandomCategorical <output_type = "i32", sample_size = 5> (p, state)'
        "\n v = Cast <to = 7> (s)",
        "next_state",
    ),
}


def body_of(draw: str) -> tuple[str, str]:
    cast, wide = WIDE_STATE
    return f"{cast}\n {draw}", f"{INITIALIZERS}, {wide}"


@pytest.mark.parametrize("row", HANDED_ON)
def test_draws_that_nodes_hand_on_out_of_a_loop_of_constants_are_refused(
    openvino: OpenVino, row: str
) -> None:
    values, draw, output = HANDED_ON[row]
    with pytest.raises(
        RuntimeError, match=rf"output '{output}' must be .*: got (f64|others), in a Loop"
    ):
        openvino(loop(values, *body_of(draw)))


def test_a_loop_of_constants_in_a_loop_that_runs_is_refused_alike(openvino: OpenVino) -> None:
    inner = loop("int64[8]", *body_of(HANDED_ON["Concat, i64"][1])).graph
    outer = loop("int64[1, 8]", "v = Identity (n)", "int64 n = {2}")
    body = outer.graph.node[-1].attribute[0].g
    del body.node[-1], body.initializer[:]
    for node in inner.node:
        body.node.add().CopyFrom(node)
    body.node[-1].output[0] = "v"
    del outer.graph.node[0]
    outer.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("trips", 7, []))
    with pytest.raises(
        RuntimeError,
        match=r"output 'values' must be numbers within int32, .*: got others, in a Loop that",
    ):
        openvino(outer, {"trips": np.array(2)})


def test_a_loop_that_runs_hands_on_all_words(openvino: OpenVino) -> None:
    model = loop("int64[6]", *body_of(STATE_BEHIND_F32))
    del model.graph.node[0]
    model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("trips", 7, []))
    state = np.array([1, 2, 3, 4000000000, 4000000001, 5], np.uint32)
    _, expected = reference.random_uniform([4], 0, 1, "f32", state=state)
    assert (expected > 2**31).any()
    # Outside of the plugin's int32 their low 32 bits count.
    assert_same_bits(
        openvino(model, {"trips": np.array(2)})[0].astype(np.uint32), np.stack([expected] * 2)
    )


def test_a_cached_loop_that_runs_hands_on_all_words(openvino: OpenVino, tmp_path: Path) -> None:
    model = loop("int64[6]", *body_of(STATE_BEHIND_F32))
    del model.graph.node[0]
    model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("trips", 7, []))
    state = np.array([1, 2, 3, 4000000000, 4000000001, 5], np.uint32)
    _, expected = reference.random_uniform([4], 0, 1, "f32", state=state)
    for is_cached in (False, True):
        config = {"CACHE_DIR": str(tmp_path)}
        compiled = openvino.core.compile_model(openvino.read(model), "CPU", config)
        assert compiled.get_property("LOADED_FROM_CACHE") is is_cached
        drawn = infer(compiled, {"trips": np.array(2)})[0]
        assert_same_bits(drawn.astype(np.uint32), np.stack([expected] * 2))


@pytest.mark.parametrize("row", ["Gather", "bits"])
@pytest.mark.parametrize("save", [ov.save_model, ov.serialize])
def test_loops_of_constants_in_ir_are_refused_alike(
    openvino: OpenVino, tmp_path: Path, save: Callable[[ov.Model, Path], None], row: str
) -> None:
    values, draw, output = HANDED_ON[row]
    save(openvino.read(loop(values, *body_of(draw))), tmp_path / "m.xml")
    with pytest.raises(
        RuntimeError, match=rf"output '{output}' must be .*: got (f64|others), in a Loop"
    ):
        openvino(tmp_path / "m.xml")


def test_a_state_that_stays_in_a_loop_of_constants_is_exact(openvino: OpenVino) -> None:
    draw = """d, s = onnx_philox.RandomUniform <output_type = "f32"> (n32, l, h, state)
        v, t = onnx_philox.RandomUniform <output_type = "f32"> (n32, l, h, s)"""
    state = np.array([1, 2, 3, 4000000000, 4000000001, 5], np.uint32)
    _, state = reference.random_uniform([4], 0, 1, "f32", state=state)
    expected, _ = reference.random_uniform([4], 0, 1, "f32", state=state)
    drawn = openvino(loop("float[4]", *body_of(draw)))[0]
    assert_same_bits(drawn, np.stack([expected] * 2))


def test_what_else_is_made_of_a_wide_draw_in_a_loop_of_constants_is_exact(
    openvino: OpenVino,
) -> None:
    draw = f"""{DRAW_I64}
        g = Greater (d, i_low)
        b = Cast <to = 7> (g)
        e = Shape (d)
        v = Add (b, e)"""
    drawn = openvino(loop("int64[4]", *body_of(draw)))[0]
    assert_same_bits(drawn, np.full((2, 4), 5))


@pytest.mark.parametrize("cast_first", [True, False])
def test_a_draw_of_f64_that_a_gather_hands_on_to_a_cast_is_exact(
    openvino: OpenVino, *, cast_first: bool
) -> None:
    move = "Cast <to = 1> (d)\n v = Gather <axis = 0> (g, one)"
    if not cast_first:
        move = "Gather <axis = 0> (d, one)\n v = Cast <to = 1> (g)"
    drawn = openvino(loop("float[1]", *body_of(f"{DRAW_F64}\n g = {move}")))[0]
    expected, _ = reference.random_uniform([4], 0.1, 1.7, "f64", **SEED)
    assert_same_bits(drawn, np.stack([expected[1:2].astype(np.float32)] * 2))


@pytest.mark.usefixtures("factories")
def test_openvino_s_own_evaluation_of_a_copy_draws_all_bits() -> None:
    model = ov.Model([random_uniform([4], 0.1, 1.7, "f64", **SEED).output(0)], [], "m")
    expected, _ = reference.random_uniform([4], 0.1, 1.7, "f64", **SEED)
    for evaluated in (model, model.clone(), model.clone().clone()):
        result = ov.Tensor(ov.Type.f64, ov.Shape([4]))
        assert evaluated.evaluate([result], [])
        assert_same_bits(result.data, expected)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_other_draws_in_a_loop_of_constants_are_exact(
    openvino: OpenVino, precision: str | None
) -> None:
    values, draw, initializers = WIDE
    small = loop(values, draw, initializers.replace("1099511627776", "2147483647"))
    expected, _ = reference.random_uniform([4], -5, 2**31 - 1, "i64", **SEED)
    assert_same_bits(openvino(small, {}, precision)[0], np.stack([expected] * 2))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_draws_of_f64_that_stay_in_a_loop_of_constants_are_exact(
    openvino: OpenVino, precision: str | None
) -> None:
    _, draw, initializers = F64
    inner = draw.replace("v, s", "u, s") + "\n v = Cast <to = 1> (u)"
    expected, _ = reference.random_uniform([4], 0.1, 1.7, "f64", **SEED)
    outputs = openvino(loop("float[4]", inner, initializers), {}, precision)
    cast = expected.astype(np.float32)
    if precision_of(precision) == "f16":
        # What the model itself makes of a draw is the plugin's, which keeps such constants in f16.
        cast = cast.astype(np.float16).astype(np.float32)
    assert_same_bits(outputs[0], np.stack([cast] * 2))


def test_openvino_s_own_evaluation_of_a_model_draws_all_bits(openvino: OpenVino) -> None:
    model = openvino.read(loop(*F64))
    expected, _ = reference.random_uniform([4], 0.1, 1.7, "f64", **SEED)
    for evaluated in (model, model.clone()):
        result = ov.Tensor(ov.Type.f64, ov.Shape([2, 4]))
        assert evaluated.evaluate([result], [])
        assert_same_bits(result.data, np.stack([expected] * 2))


# Saving compresses constants to f16, but for those that feed a draw.

# Just above the uniforms that are drawn: every draw is true, but half of them with a rounded p.
LARGE = np.nextafter(
    reference.random_uniform([5000], 0, 1, "f32", **SEED)[0], np.float32(2), dtype=np.float32
)
ROWS = np.ascontiguousarray(LARGE.reshape(50, 100))


def indices(*values: int) -> ov.Node:
    return ov.op.Constant(np.array(values))


MOVES = {
    "Reshape": lambda: opset8.reshape(ov.op.Constant(ROWS), indices(5000), special_zero=False),
    "Squeeze": lambda: opset8.squeeze(ov.op.Constant(LARGE[None]), indices(0)),
    "Unsqueeze": lambda: opset8.unsqueeze(ov.op.Constant(LARGE), indices(0)),
    "Transpose": lambda: opset8.transpose(ov.op.Constant(ROWS.T.copy()), indices(1, 0)),
    "Broadcast": lambda: opset8.broadcast(ov.op.Constant(LARGE[None]), indices(2, 5000)),
    "Concat": lambda: opset8.concat([ov.op.Constant(LARGE), ov.op.Constant(LARGE)], 0),
    "Maximum": lambda: opset8.maximum(
        ov.op.Constant(LARGE), ov.op.Constant(np.zeros(1, np.float32))
    ),
}
# What each makes of the constant.
MOVED_VALUES = {
    "Reshape": LARGE,
    "Squeeze": LARGE,
    "Unsqueeze": LARGE[None],
    "Transpose": ROWS,
    "Broadcast": np.stack([LARGE, LARGE]),
    "Concat": np.concatenate([LARGE, LARGE]),
    "Maximum": LARGE,
}


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize("move", MOVES)
def test_a_large_constant_that_nodes_move_is_saved_unrounded(
    openvino: OpenVino, tmp_path: Path, move: str
) -> None:
    p = MOVED_VALUES[move]
    uniforms, _ = reference.random_uniform(p.shape, 0, 1, "f32", **SEED)
    rounded = p.astype(np.float16).astype(np.float32)
    assert ((uniforms < p) != (uniforms < rounded)).any(), "no draw would show the rounding"
    node = random_bernoulli(p.shape, MOVES[move](), **SEED)
    ov.save_model(ov.Model([node.output(0)], [], "m"), tmp_path / "m.xml")
    drawn = openvino(tmp_path / "m.xml", {}, "f32")[0]
    assert_same_bits(drawn, reference.random_bernoulli(p.shape, p, **SEED)[0])


@pytest.mark.usefixtures("factories")
def test_the_weights_of_a_network_that_computes_p_are_compressed_as_ever(tmp_path: Path) -> None:
    source = opset8.parameter([5000], np.float32, "x")
    product = opset8.multiply(source, ov.op.Constant(LARGE))
    node = random_bernoulli([5000], opset8.sigmoid(product), **SEED)
    ov.save_model(ov.Model([node.output(0)], [source], "m"), tmp_path / "m.xml")
    assert (tmp_path / "m.bin").stat().st_size < 3 * LARGE.size


def test_a_wide_draw_outside_of_a_loop_is_exact(openvino: OpenVino) -> None:
    node = random_uniform([9], 0.1, 0.7, "f64", **SEED)
    drawn = openvino(ov.Model([node.output(0)], [], "m"))[0]
    assert_same_bits(drawn, reference.random_uniform([9], 0.1, 0.7, "f64", **SEED)[0])
