"""Loops of constants, which OpenVINO computes when it compiles a model, and constants in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from cases import assert_same_bits
from half_precision import differing, precision_of
from onnx import parser
from openvino import opset8
from runtimes import OpenVino, infer

from onnx_philox import reference
from onnx_philox.openvino import random_bernoulli, random_categorical, random_uniform

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


INITIALIZERS = """int64[1] n = {4}, int32[1] n32 = {4}, float l = {0.0}, float h = {1.0},
    double low = {0.1}, double high = {1.7}, int64 i_low = {-5}, int64 i_high = {1099511627776},
    int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[2] by_two = {2, 1},
    float[1, 3] p = {0.1, 1.0, 2.0}, bool no = {0}, double[1] double_zero = {0.0},
    double[1] double_one = {1.0}"""
WORDS = np.array([1, 2, 3, 4000000000, 4000000001, 5], np.uint32)
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
    wide = f"int64[6] wide = {{{', '.join(map(str, WORDS))}}}"
    return f"state = Cast <to = 12> (wide)\n {draw}", f"{INITIALIZERS}, {wide}"


# Each with what it hands on: a body, the refused output, and what was got.
REFUSED = {
    "f64": (F64, "values", "f64"),
    "i64": (WIDE, "values", "others"),
    "moved": (MOVED, "values", "f64"),
    "state": (STATE, "next_state", "others"),
    **{
        row: ((values, *body_of(draw)), output, "(f64|others)")
        for row, (values, draw, output) in HANDED_ON.items()
    },
}


@pytest.mark.parametrize("row", REFUSED)
def test_draws_that_the_plugin_would_round_or_clamp_in_a_loop_of_constants_are_refused(
    openvino: OpenVino, tmp_path: Path, row: str
) -> None:
    """At each precision, and in files."""
    body, output, given = REFUSED[row]
    model = openvino.read(loop(*body))
    said = (
        f"output '{output}' must be numbers .*: got {given}, in a Loop that OpenVINO computes "
        "when it compiles the model.* Draw outside of the Loop"
    )
    for precision in differing(PRECISIONS):
        with pytest.raises(RuntimeError, match=said):
            openvino(model, {}, precision)
    # A zero in 16 bits is no constant to the plugin, which then adds in f32, as ever.
    for save in (ov.save_model, ov.serialize)[row == "Add" :]:
        save(model, tmp_path / "m.xml")
        with pytest.raises(RuntimeError, match=said):
            openvino(tmp_path / "m.xml")


def that_runs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same Loop with its trips fed."""
    del model.graph.node[0]
    model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("trips", 7, []))
    return model


def test_a_loop_of_constants_in_a_loop_that_runs_is_refused_alike(openvino: OpenVino) -> None:
    inner = loop("int64[8]", *body_of(HANDED_ON["Concat, i64"][1])).graph
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
    model = openvino.read(that_runs(loop("int64[6]", *body_of(STATE_BEHIND_F32))))
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
EXACT = {
    "a state that stays": (
        (
            "float[4]",
            *body_of("""d, s = onnx_philox.RandomUniform <output_type = "f32"> (n32, l, h, state)
                v, t = onnx_philox.RandomUniform <output_type = "f32"> (n32, l, h, s)"""),
        ),
        reference.random_uniform([4], 0, 1, "f32", state=BETWEEN)[0],
    ),
    "a comparison and a shape of wide draws": (
        (
            "int64[4]",
            *body_of(f"""{DRAW_I64}
                g = Greater (d, i_low)
                b = Cast <to = 7> (g)
                e = Shape (d)
                v = Add (b, e)"""),
        ),
        np.full(4, 5),
    ),
    "a Cast, then a Gather": (
        ("float[1]", *body_of(f"{DRAW_F64}\n g = Cast <to = 1> (d)\n v = Gather (g, one)")),
        WIDE_UNIFORMS[1:2].astype(np.float32),
    ),
    "a Gather, then a Cast": (
        ("float[1]", *body_of(f"{DRAW_F64}\n g = Gather (d, one)\n v = Cast <to = 1> (g)")),
        WIDE_UNIFORMS[1:2].astype(np.float32),
    ),
    "a Cast of f64": (
        ("float[4]", F64[1].replace("v, s", "u, s") + "\n v = Cast <to = 1> (u)", F64[2]),
        WIDE_UNIFORMS.astype(np.float32),
    ),
    **{
        f"the i64 {i}": (
            (*WIDE[:2], f"int64[1] n = {{4}}, int64 low = {{{i}}}, int64 high = {{{i + 1}}}"),
            np.full(4, i),
        )
        for i in (-(2**31), 2**31 - 1)
    },
}


@pytest.mark.parametrize("row", EXACT)
def test_other_draws_in_a_loop_of_constants_are_exact_at_each_precision(
    openvino: OpenVino, row: str
) -> None:
    body, expected = EXACT[row]
    for precision in differing(PRECISIONS):
        wanted = np.stack([expected] * 2)
        if "Cast" in row and precision_of(precision) == "f16":
            # What the model itself makes of a draw is the plugin's, which keeps such constants so.
            wanted = wanted.astype(np.float16).astype(np.float32)
        assert_same_bits(openvino(loop(*body), {}, precision)[0], wanted)


@pytest.mark.usefixtures("factories")
def test_openvino_s_own_evaluation_of_a_model_draws_all_bits(openvino: OpenVino) -> None:
    node = random_uniform([4], 0.1, 1.7, "f64", **SEED)
    for model, expected in (
        (ov.Model([node.output(0)], [], "m"), WIDE_UNIFORMS),
        (openvino.read(loop(*F64)), np.stack([WIDE_UNIFORMS] * 2)),
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


ZERO = np.zeros(1, np.float32)
# What moves a constant, and what it makes of it.
MOVES: dict[str, tuple[Callable[[], ov.Node], np.ndarray]] = {
    "Reshape": (lambda: opset8.reshape(ov.op.Constant(ROWS), indices(5000), False), LARGE),
    "Squeeze": (lambda: opset8.squeeze(ov.op.Constant(LARGE[None]), indices(0)), LARGE),
    "Unsqueeze": (lambda: opset8.unsqueeze(ov.op.Constant(LARGE), indices(0)), LARGE[None]),
    "Transpose": (lambda: opset8.transpose(ov.op.Constant(ROWS.T.copy()), indices(1, 0)), ROWS),
    "Broadcast": (
        lambda: opset8.broadcast(ov.op.Constant(LARGE[None]), indices(2, 5000)),
        np.stack([LARGE, LARGE]),
    ),
    "Concat": (
        lambda: opset8.concat([ov.op.Constant(LARGE), ov.op.Constant(LARGE)], 0),
        np.concatenate([LARGE, LARGE]),
    ),
    "Maximum": (lambda: opset8.maximum(ov.op.Constant(LARGE), ov.op.Constant(ZERO)), LARGE),
}


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize("move", MOVES)
def test_a_large_constant_that_nodes_move_is_saved_unrounded(
    openvino: OpenVino, tmp_path: Path, move: str
) -> None:
    make, p = MOVES[move]
    uniforms, _ = reference.random_uniform(p.shape, 0, 1, "f32", **SEED)
    rounded = p.astype(np.float16).astype(np.float32)
    assert ((uniforms < p) != (uniforms < rounded)).any(), "no draw would show the rounding"
    node = random_bernoulli(p.shape, make(), **SEED)
    ov.save_model(ov.Model([node.output(0)], [], "m"), tmp_path / "m.xml")
    drawn = openvino(tmp_path / "m.xml", {}, "f32")[0]
    assert_same_bits(drawn, reference.random_bernoulli(p.shape, p, **SEED)[0])


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
