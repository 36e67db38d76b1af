"""Whole models as standard nodes: golden files, real models, rows, loops and functions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper

import onnx_philox as op
from tests.common import cli
from tests.common.cases import SEED, assert_all_same, assert_refused, assert_same_bits
from tests.common.constructs import CONSTRUCTS, Node, build
from tests.common.exhaustive import marked
from tests.common.foreign import evaluate, parse
from tests.common.operators import named, some_states
from tests.common.standard_targets import RUN, loaded
from tests.numbers.test_golden import STEMS, golden_runs

MODELS = Path(__file__).parents[1] / "models"
target = pytest.mark.parametrize("target", RUN)

# The golden models whose operators have no standard nodes.
WITHOUT_NODES = ("v1_rejecting", "v1_without_replacement", "v1_permutation", "v1_token")
# Nor do standard nodes draw torch's numbers.
PHILOX = [stem for stem in STEMS if stem.parent.name != "v1_torch"]


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(
            stem,
            marks=marks,
            id=f"{stem.parent.name}-{name}",
        )
        for stem, (name, marks) in zip(PHILOX, marked([stem.name for stem in PHILOX]), strict=True)
    ],
)
@target
@pytest.mark.parametrize("optimised", [True, False], ids=("optimised", "plain"))
def test_golden_models(stem: Path, target: str, optimised: bool) -> None:
    model = onnx.load(stem.with_suffix(".onnx"))
    names = [output.name for output in model.graph.output]
    try:
        draw = loaded(target, model, optimised=optimised)
    except op.RefusedInputError:
        # Which every target draws.
        assert not stem.name.startswith(("generator", "bernoulli_f32", "dropout_masks"))
        is_half = any(half in stem.name for half in ("exponential_f16", "exponential_bf16"))
        assert target == "openvino" or is_half or stem.parent.name in WITHOUT_NODES
        return
    for feeds, expected in golden_runs(stem):
        for name, output in zip(names, draw(feeds), strict=True):
            assert_same_bits(output, expected[name])


IN_FUNCTION = """g (uint32[6] state) => (uint32[5] a, uint32[5] b) {
    a, next = own.noise (state)  b, last = own.noise (next) }
<domain: "own", opset_import: ["": 18, "onnx_philox": 1]> noise (s) => (bits, next) {
    shape = Constant <value = int64[1] {5}> ()
    bits, next = onnx_philox.RandomGenerator <op_seed = 4> (s, shape) }"""
# What an operator of ours does, for those who have none: here something else.
WITH_A_BODY = f"""{IN_FUNCTION}
<domain: "onnx_philox", opset_import: ["": 18]>
RandomGenerator <op_seed, global_seed> (s, shape) => (bits, next) {{
    bits = Cast <to = 12> (shape)  next = Identity (s) }}"""


@target
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_state_goes_through_loops_scans_and_branches(target: str, construct: str) -> None:
    model, feeds, expected = build(construct, Node(named("RandomUniform f32")))
    outputs = loaded(target, model)(feeds)
    assert_all_same(outputs, [expected[output.name] for output in model.graph.output])


@target
@pytest.mark.parametrize("text", [IN_FUNCTION, WITH_A_BODY], ids=("alone", "with a body"))
def test_a_draw_in_a_function_that_is_called_twice(target: str, text: str) -> None:
    state = op.PhiloxState(7, 9).to_array()
    for output in loaded(target, parse(text, 18))({"state": state}):
        expected, state = op.reference.random_generator(state, [5], op_seed=4)
        assert_same_bits(output, expected)


def test_what_is_not_drawn_stays_as_it_is() -> None:
    model = op.make_reproducible(onnx.load(MODELS / "vae_decoder.onnx"))
    standard = op.to_standard_nodes(model)
    # Bounds and moments become part of what draws.
    kept = [
        node.SerializeToString()
        for node in model.graph.node
        if node.domain != "onnx_philox" and not node.output[0].startswith("onnx_philox.")
    ]
    written = [n.SerializeToString() for n in standard.graph.node]
    assert [n for n in written if n in kept] == kept
    assert standard.graph.initializer == model.graph.initializer
    assert all(entry.domain != "onnx_philox" for entry in standard.opset_import)


def test_a_model_without_our_nodes_is_the_very_same_object() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Neg (x) }", 12)
    assert op.to_standard_nodes(model) is model


@pytest.mark.parametrize("kind", ["path", "ir"])
def test_a_path_and_an_onnx_ir_model_are_taken_too(tmp_path: Path, kind: str) -> None:
    model = op.graphs.random_generator([3])
    onnx.save(model, tmp_path / "m.onnx")
    given = tmp_path / "m.onnx" if kind == "path" else ir.from_proto(model)
    standard = op.to_standard_nodes(given)
    state = op.PhiloxState(7, 9).to_array()
    bits, _ = RUN["onnxruntime"](standard, {"state": state}, optimised=True)
    expected = op.reference.random_generator(state, [3])[0]
    assert_same_bits(bits, expected)


def test_the_metadata_say_how_to_run_it() -> None:
    standard = op.to_standard_nodes(op.graphs.random_generator([3]), target="openvino")
    said = {entry.key: entry.value for entry in standard.metadata_props}
    names = ("nodes", "draws", "state")
    assert set(said) == {f"onnx_philox.standard_{name}" for name in names}
    assert said["onnx_philox.standard_state"] == "state"
    assert "INFERENCE_PRECISION_HINT=f32" in said["onnx_philox.standard_nodes"]
    assert json.loads(said["onnx_philox.standard_draws"]) == {"RandomGenerator": 1}


def test_draws_made_later_are_added_to_those_made_before() -> None:
    model = op.to_standard_nodes(op.graphs.random_generator([3], **SEED))
    later = op.graphs.random_normal([3], 0, 1, "f32", **SEED)
    model.graph.node.extend(later.graph.node)
    model.graph.initializer.extend(later.graph.initializer)
    model.opset_import.append(helper.make_opsetid("onnx_philox", 1))
    both = {entry.key: entry.value for entry in op.to_standard_nodes(model).metadata_props}
    counts = json.loads(both["onnx_philox.standard_draws"])
    assert counts == {"RandomGenerator": 1, "RandomNormal": 1}


INEXACT = [
    (
        lambda: op.graphs.random_normal([3], 0, 1, "f32", stateful=True),
        "got f32",
    ),
    (
        lambda: op.graphs.random_uniform([3], 1, 2, "f32", stateful=True),
        "f32 from 1.0 to 2.0",
    ),
    (
        lambda: op.graphs.random_uniform([3], None, None, "i32", stateful=True),
        "i32 with bounds that are no",
    ),
    (
        lambda: op.graphs.random_uniform([3], 0, 9, "i64", stateful=True),
        "got i64, which standard nodes do not",
    ),
    (
        lambda: op.graphs.random_bernoulli([3], np.float64(0.5), stateful=True),
        "got f64 p, which standard nodes do not",
    ),
]


@pytest.mark.parametrize(("build", "given"), INEXACT)
def test_openvino_refuses_what_is_not_exact(
    build: Callable[[], onnx.ModelProto], given: str
) -> None:
    model = build()
    (name,) = {node.op_type for node in model.graph.node if node.domain}
    words = "what it draws must be bits, i32 of constant bounds, f32 from 0 on"
    words = f"{name}: {words}...{given}"
    assert_refused(lambda: op.to_standard_nodes(model, target="openvino"), words)


@target
def test_no_rows_are_drawn_where_their_number_is_not_fixed(target: str) -> None:
    model = op.graphs.random_generator(None, rank=2, per_row=True)
    (state,) = (value for value in model.graph.input if value.name == "state")
    rows, _ = state.type.tensor_type.shape.dim
    feeds = {"state": np.zeros((0, 6), np.uint32), "shape": np.int64([0, 4])}
    for is_fixed in (False, True):
        if is_fixed:
            rows.dim_value = 0
        if is_fixed and target == "openvino":
            # The plugin would end the process.
            with pytest.raises(ValueError, match=r"input 'state' must be .*: got \[0, 6\]"):
                op.to_standard_nodes(model, target=target)
            return
        for optimised in (True, False):
            standard = op.to_standard_nodes(model, target=target)
            outputs = RUN[target](standard, feeds, optimised=optimised)
            expected = [(0, 4), (0, 6)]
            assert [output.shape for output in outputs] == expected


def test_a_bad_node_is_refused_by_name() -> None:
    model = op.graphs.random_uniform([3], 0, 1, "f32", global_seed=4)
    (attribute,) = (a for a in model.graph.node[0].attribute if a.name == "output_type")
    attribute.s = b"f128"
    with pytest.raises(ValueError, match="node 'random_uniform': RandomUniform: attribute"):
        op.to_standard_nodes(model)


def test_the_command_refuses_what_is_not_exact_unless_it_is_told_to(tmp_path: Path) -> None:
    target = tmp_path / "new.onnx"
    given = ("rewrite", MODELS / "vae_decoder.onnx", "-o", target)
    refused = cli.refusal(*given, "--standard", "--target", "openvino")
    assert "do not compute exactly in OpenVINO" in refused
    assert "--inexact" in refused
    assert not target.exists()
    cli.text(*given, "--standard", "--target", "openvino", "--inexact")
    assert target.exists()


# What each target draws exactly.
OF_ROWS = {
    "onnxruntime": """
        g (float[n, 6] x) => (float[n, 6] noise, float[n, 6] other, float[n, 6] kept, int32[n, 4] c)
        <float ratio = {0.25}, bool on = {1}> {
            noise = RandomNormalLike (x)  other = RandomUniformLike <low = -1.0, high = 3.0> (x)
            kept = Dropout (x, ratio, on)  c = Multinomial <sample_size = 4> (x) }""",
    "openvino": """
        g (float[n, 6] x) => (float[n, 6] noise, float[n, 6] kept, float[n, 2, 5] free)
        <float ratio = {0.25}, bool on = {1}, int64[2] rest = {2, 5}> {
            noise = RandomUniformLike (x)  kept = Dropout (x, ratio, on)
            rows = Shape <start = 0, end = 1> (x)  shape = Concat <axis = 0> (rows, rest)
            like = Expand (ratio, shape)  free = RandomUniformLike (like) }""",
}
STATES = op.row_states(
    [2**64 - 1, 4, 99],
    rows=[7, 0, 2**32 - 1],
    run=2**32 - 1,
)
X = np.random.default_rng(3).normal(size=(3, 6)).astype(np.float32)


def model_of(target: str) -> onnx.ModelProto:
    return parse(OF_ROWS[target], 18)


@target
@pytest.mark.parametrize("optimised", [True, False], ids=("optimised", "plain"))
def test_every_batch_draws_the_same_rows(target: str, optimised: bool) -> None:
    model = op.make_reproducible(model_of(target), per_row=True)
    right = evaluate(model, {"x": X, "random_state": STATES})
    draw = loaded(target, model, optimised=optimised)
    for rows in ([2, 0], []):
        outputs = draw({"x": X[rows], "random_state": STATES[rows]})
        for output, expected in zip(outputs, right, strict=True):
            assert_same_bits(output, expected[rows])


@target
def test_a_state_for_each_row_and_no_other_number_of_them(target: str) -> None:
    model = op.make_reproducible(model_of(target), per_row=True)
    draw = loaded(target, model)
    for states in (STATES[:1], STATES[:2]):
        with pytest.raises(Exception, match=r"(?i)shape|dimension|mismatch"):
            draw({"x": X, "random_state": states})


@target
@pytest.mark.parametrize(
    ("asked", "state"),
    [
        ({}, STATES[0]),
        ({"seed": 42}, None),
        ({"per_row": True}, STATES),
    ],
    ids=("a state", "a seed", "rows"),
)
def test_the_rewrite_command_writes_standard_nodes(
    tmp_path: Path, target: str, asked: Any, state: Any
) -> None:
    source = tmp_path / "m.onnx"
    out = tmp_path / "out.onnx"
    onnx.save(model_of(target), source)
    words = {"per_row": ["--per-row"], "seed": ["--seed", 42]}.get("".join(asked), [])
    said = cli.text("rewrite", source, "-o", out, "--standard", "--target", target, *words)
    assert "Its draws are standard ONNX nodes, which need no plugin, made for O" in said
    feeds = {"x": X} if state is None else {"x": X, "random_state": state}
    outputs = RUN[target](onnx.load(out), feeds, optimised=True)
    model = op.make_reproducible(model_of(target), **asked)
    assert_all_same(outputs, evaluate(model, feeds))


def test_a_row_takes_no_longer_in_a_large_batch() -> None:
    standard = op.to_standard_nodes(op.graphs.random_generator([None, 3], per_row=True))
    session = ort.InferenceSession(standard.SerializeToString())
    seconds = []
    for rows in (2**13, 2**16):
        states = some_states(rows)
        times = []
        for _ in range(3):
            start = time.process_time()
            (bits, _) = session.run(None, {"state": states})
            times.append(time.process_time() - start)
        seconds.append(min(times) / rows)
        expected = op.reference.random_generator(states, [rows, 3])[0]
        assert_same_bits(bits, expected)
    assert seconds[1] < 5 * seconds[0], "before, it took 8 times as long"
