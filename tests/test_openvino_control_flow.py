"""States through If, Loop and Scan in OpenVINO, whose CPU plugin refuses uint32 at their borders.

A state crosses as int64, cast on both sides, which is how `make_reproducible` writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from cases import assert_same_bits
from half_precision import differing
from onnx import parser
from runtimes import OpenVino, infer

import onnx_philox
from onnx_philox import reference

# High bits in every word, a counter that carries into the run, which is the largest.
STATE = np.array([0xFFFFFFFE, *[0xFFFFFFFF] * 3, 0xDEADBEEF, 0xFEDCBA98], np.uint32)
TRIPS = 3
Draw = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Node:
    """A random node in ONNX text, its values' type and initializers, and what it must draw."""

    call: str
    type: str
    initializers: str
    draw: Draw

    def text(self, values: str, state: str, next_state: str, op_seed: int) -> str:
        inputs = self.call.format(op_seed=op_seed, state=state)
        # Nobody reads a mask.
        mask = f"{values}_mask, " * inputs.startswith("RandomDropout")
        return f"{values}, {mask}{next_state} = onnx_philox.{inputs}"


LOGITS = np.array([[0, 1, -1], [2, 0.5, 0]], np.float32)


def dropped(state: Any, op_seed: int) -> tuple[Any, Any]:
    data = np.array([1, -2, 3, 4], np.float32)
    values, _, after = reference.random_dropout(data, 0.3, op_seed=op_seed, state=state)
    return values, after


NODES = {
    "uniform": Node(
        'RandomUniform <output_type = "i32", op_seed = {op_seed}> (n, low, high, {state})',
        "int32[4]",
        "int64[1] n = {4}, int32 low = {-7}, int32 high = {2147483647}",
        lambda s, seed: reference.random_uniform([4], -7, 2**31 - 1, "i32", op_seed=seed, state=s),
    ),
    "normal": Node(
        'RandomNormal <output_type = "f32", op_seed = {op_seed}> (n, mean, scale, {state})',
        "float[4]",
        "int64[1] n = {4}, float mean = {0.5}, float scale = {2}",
        lambda s, seed: reference.random_normal([4], 0.5, 2, "f32", op_seed=seed, state=s),
    ),
    "exponential": Node(
        'RandomExponential <output_type = "f32", op_seed = {op_seed}> (n, mean, {state})',
        "float[4]",
        "int64[1] n = {4}, float mean = {0.5}",
        lambda s, seed: reference.random_exponential([4], 0.5, "f32", op_seed=seed, state=s),
    ),
    "gamma": Node(
        'RandomGamma <output_type = "f32", op_seed = {op_seed}> (n, alpha, {state})',
        "float[4]",
        "int64[1] n = {4}, float alpha = {0.5}",
        lambda s, seed: reference.random_gamma([4], 0.5, "f32", op_seed=seed, state=s),
    ),
    "poisson": Node(
        'RandomPoisson <output_type = "i32", op_seed = {op_seed}> (n, rate, {state})',
        "int32[4]",
        "int64[1] n = {4}, float rate = {33}",
        lambda s, seed: reference.random_poisson([4], 33, "i32", op_seed=seed, state=s),
    ),
    "dropout": Node(
        "RandomDropout <op_seed = {op_seed}> (data, few, {state})",
        "float[4]",
        "float[4] data = {1, -2, 3, 4}, float few = {0.3}",
        lambda s, seed: dropped(s, seed),
    ),
    "permutation": Node(
        'RandomPermutation <output_type = "i32", op_seed = {op_seed}> (n, {state})',
        "int32[4]",
        "int64[1] n = {4}",
        lambda s, seed: reference.random_permutation([4], "i32", op_seed=seed, state=s),
    ),
    "token": Node(
        'RandomToken <output_type = "i32", op_seed = {op_seed}>'
        " (logits, warm, many, , few, {state})",
        "int32[2, 1]",
        "float[2, 3] logits = {0, 1, -1, 2, 0.5, 0}, float warm = {1.5}, int64[2] many = {2, 0},"
        " float[1] few = {0.1}",
        lambda s, seed: reference.random_token(
            LOGITS, 1.5, np.array([2, 0]), min_p=0.1, output_type="i32", op_seed=seed, state=s
        ),
    ),
    "bernoulli": Node(
        "RandomBernoulli <op_seed = {op_seed}> (n, p, {state})",
        "bool[4]",
        "int64[1] n = {4}, float p = {0.3}",
        lambda s, seed: reference.random_bernoulli([4], 0.3, op_seed=seed, state=s),
    ),
    "bernoulli of an int32 shape": Node(
        "RandomBernoulli <op_seed = {op_seed}> (n, p, {state})",
        "bool[4]",
        "int32[1] n = {4}, double p = {0.3}",
        lambda s, seed: reference.random_bernoulli([4], np.float64(0.3), op_seed=seed, state=s),
    ),
    "categorical": Node(
        "RandomCategorical <sample_size = 4, op_seed = {op_seed}> (logits, {state})",
        "int32[2, 4]",
        "float[2, 3] logits = {0, 1, -1, 2, 0.5, 0}",
        lambda s, seed: reference.random_categorical(LOGITS, 4, op_seed=seed, state=s),
    ),
}

NEXT_RUN = """
    i0 = Constant <value_ints = [0]> ()
    i3 = Constant <value_ints = [3]> ()
    i4 = Constant <value_ints = [4]> ()
    i6 = Constant <value_ints = [6]> ()
    one = Constant <value_ints = [1]> ()
    before = Slice (random_state, i0, i3)
    run = Slice (random_state, i3, i4)
    after = Slice (random_state, i4, i6)
    wide = Cast <to = 7> (run)
    more = Add (wide, one)
    narrow = Cast <to = 12> (more)
    next_random_state = Concat <axis = 0> (before, narrow, after)
"""


def body(node: Node, name: str, op_seed: int, *, state: str, values: str = "v") -> str:
    """The inside of a branch or an iteration: the state comes and goes as int64."""
    return f"""
        s32_{name} = Cast <to = 12> ({state})
        {node.text(values, f"s32_{name}", f"n32_{name}", op_seed)}
        next_{name} = Cast <to = 7> (n32_{name})
    """


def in_main(node: Node) -> str:
    return node.text("y", "random_state", "final", 5)


def in_loop(node: Node) -> str:
    return f"""
        yes = Constant <value = bool {{1}}> ()
        carried = Cast <to = 7> (random_state)
        last, y = Loop <body = b (int64 i, bool c, int64[6] s) =>
            (bool c2, int64[6] next_b, {node.type} v) <{node.initializers}> {{
                c2 = Identity (c)
                {body(node, "b", 5, state="s")}
            }}> (trips, yes, carried)
        final = Cast <to = 12> (last)
    """


def in_loop_of_captured(node: Node) -> str:
    return f"""
        yes = Constant <value = bool {{1}}> ()
        captured = Cast <to = 7> (random_state)
        y = Loop <body = b (int64 i, bool c) =>
            (bool c2, {node.type} v) <{node.initializers}> {{
                c2 = Identity (c)
                {body(node, "b", 5, state="captured")}
            }}> (trips, yes)
    """


def in_loop_in_loop(node: Node) -> str:
    return f"""
        yes = Constant <value = bool {{1}}> ()
        carried = Cast <to = 7> (random_state)
        last, y = Loop <body = a (int64 i, bool c, int64[6] s) =>
            (bool c2, int64[6] s2, {node.type.replace("[", "[?, ")} w) {{
                c2 = Identity (c)
                two = Constant <value = int64 {{2}}> ()
                always = Constant <value = bool {{1}}> ()
                s2, w = Loop <body = b (int64 j, bool d, int64[6] t) =>
                    (bool d2, int64[6] next_b, {node.type} v) <{node.initializers}> {{
                        d2 = Identity (d)
                        {body(node, "b", 5, state="t")}
                    }}> (two, always, s)
            }}> (trips, yes, carried)
        final = Cast <to = 12> (last)
    """


def in_scan(node: Node) -> str:
    return f"""
        carried = Cast <to = 7> (random_state)
        last, y, same = Scan <num_scan_inputs = 1, body = b (int64[6] s, float[2] x) =>
            (int64[6] next_b, {node.type} v, float[2] x2) <{node.initializers}> {{
                {body(node, "b", 5, state="s")}
                x2 = Identity (x)
            }}> (carried, xs)
        final = Cast <to = 12> (last)
    """


def in_if(node: Node) -> str:
    return f"""
        captured = Cast <to = 7> (random_state)
        y, last = If <
            then_branch = t () => ({node.type} v, int64[6] next_t) <{node.initializers}> {{
                {body(node, "t", 5, state="captured")}
            }},
            else_branch = e () => ({node.type} v, int64[6] next_e) <{node.initializers}> {{
                {body(node, "e", 6, state="captured")}
            }}> (yes)
        final = Cast <to = 12> (last)
    """


def in_if_in_loop(node: Node) -> str:
    return f"""
        always = Constant <value = bool {{1}}> ()
        carried = Cast <to = 7> (random_state)
        last, y = Loop <body = b (int64 i, bool c, int64[6] s) =>
            (bool c2, int64[6] s2, {node.type} w) {{
                c2 = Identity (c)
                w, s2 = If <
                    then_branch = t () => ({node.type} v, int64[6] next_t) <{node.initializers}> {{
                        {body(node, "t", 5, state="s")}
                    }},
                    else_branch = e () => ({node.type} v, int64[6] next_e) <{node.initializers}> {{
                        {body(node, "e", 6, state="s")}
                    }}> (yes)
            }}> (trips, always, carried)
        final = Cast <to = 12> (last)
    """


def once(draw: Draw, op_seed: int = 5) -> tuple[np.ndarray, np.ndarray | None]:
    return draw(STATE, op_seed)


def carried(draw: Draw, trips: int = TRIPS, op_seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    state, drawn = STATE, []
    for _ in range(trips):
        values, state = draw(state, op_seed)
        drawn.append(values)
    return np.stack(drawn), state


def nested(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    values, state = carried(draw, 2 * TRIPS)
    return values.reshape(TRIPS, 2, *values.shape[1:]), state


Construct = tuple[Callable[[Node], str], dict[str, Any], Callable[[Draw], Any]]
FLAGS = {"then": np.array(True), "else": np.array(False)}
CONSTRUCTS: dict[str, Construct] = {
    "main graph": (in_main, {}, once),
    "Loop": (in_loop, {"trips": np.array(TRIPS)}, carried),
    "Loop that captures": (
        in_loop_of_captured,
        {"trips": np.array(TRIPS)},
        lambda draw: (np.stack([once(draw)[0]] * TRIPS), None),
    ),
    "Loop in a Loop": (in_loop_in_loop, {"trips": np.array(TRIPS)}, nested),
    "Scan": (in_scan, {"xs": np.zeros((TRIPS, 2), np.float32)}, carried),
    "If, then": (in_if, {"yes": FLAGS["then"]}, once),
    "If, else": (in_if, {"yes": FLAGS["else"]}, lambda draw: once(draw, 6)),
    "If in a Loop": (
        in_if_in_loop,
        {"trips": np.array(TRIPS), "yes": FLAGS["else"]},
        lambda draw: carried(draw, op_seed=6),
    ),
}
INPUT_TYPES = {"trips": "int64", "xs": f"float[{TRIPS}, 2]", "yes": "bool"}


def build(construct: str, node: Node) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """The model, what to feed it with, and what it must give."""
    text, feeds, expect = CONSTRUCTS[construct]
    values, final = expect(node.draw)
    element = node.type.partition("[")[0]
    expected = {"y": values, "next_random_state": STATE + np.array([0, 0, 0, 1, 0, 0], np.uint32)}
    outputs = [f"{element}[{', '.join('?' * values.ndim)}] y", "uint32[6] next_random_state"]
    if final is not None:
        expected["final"] = final
        outputs.append("uint32[6] final")
    if "xs" in feeds:
        # OpenVINO runs a Scan once only if nothing that is used comes of what it scans.
        expected["same"] = feeds["xs"]
        outputs.append("float[?, ?] same")
    inputs = ["uint32[6] random_state", *(f"{INPUT_TYPES[name]} {name}" for name in feeds)]
    outside = f"<{node.initializers}>" if construct == "main graph" else ""
    model = f"""<ir_version: 10, opset_import: ["": 21, "onnx_philox": 1]>
    g ({", ".join(inputs)}) => ({", ".join(outputs)}) {outside} {{ {text(node)} {NEXT_RUN} }}"""
    return parser.parse_model(model), {"random_state": STATE, **feeds}, expected


def check(compiled: ov.CompiledModel, feeds: dict[str, Any], expected: dict[str, Any]) -> None:
    outputs = infer(compiled, feeds)
    for name, wanted in expected.items():
        assert_same_bits(np.array(outputs[name]), wanted)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_each_construct_draws_what_the_reference_draws(
    openvino: OpenVino, tmp_path: Path, construct: str, node: str
) -> None:
    model, feeds, expected = build(construct, NODES[node])
    for precision in differing(["f32", "bf16"]):
        config = {"INFERENCE_PRECISION_HINT": precision}
        check(openvino.core.compile_model(openvino.read(model), "CPU", config), feeds, expected)
    ov.save_model(openvino.read(model), tmp_path / "model.xml")
    for backend in onnx_philox.openvino.BACKENDS:
        core = OpenVino(backend).core
        check(core.compile_model(tmp_path / "model.xml", "CPU"), feeds, expected)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_constant_state_with_large_seeds_is_exact(openvino: OpenVino, construct: str) -> None:
    """With everything constant the plugin may compute a Loop when it compiles the model."""
    normal = NODES["normal"]
    seed = 2**62 + 12345
    zeros = np.zeros(6, np.uint32)

    def draw(state: np.ndarray, op_seed: int) -> tuple[np.ndarray, np.ndarray]:
        # `build` starts from STATE, the model from zeros.
        start = zeros if state is STATE else state
        return reference.random_normal(
            [4], 0.5, 2, "f32", global_seed=seed, op_seed=op_seed, state=start
        )

    call = normal.call.replace("op_seed", f"global_seed = {seed}, op_seed", 1)
    model, feeds, expected = build(construct, Node(call, normal.type, normal.initializers, draw))
    expected["next_random_state"] = np.array([0, 0, 0, 1, 0, 0], np.uint32)
    feeds["random_state"] = zeros
    for constant in (["random_state"], list(feeds)):
        frozen = onnx.ModelProto()
        frozen.CopyFrom(model)
        kept = [i for i in frozen.graph.input if i.name not in constant]
        del frozen.graph.input[:]
        frozen.graph.input.extend(kept)
        for name in constant:
            frozen.graph.initializer.append(
                onnx.numpy_helper.from_array(np.asarray(feeds[name]), name)
            )
        compiled = openvino.core.compile_model(openvino.read(frozen), "CPU")
        check(compiled, {k: v for k, v in feeds.items() if k not in constant}, expected)
