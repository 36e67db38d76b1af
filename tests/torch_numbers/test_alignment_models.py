"""Whole models with `alignment="pytorch"`: one generator goes through their random nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest

import onnx_philox as op
from onnx_philox.onnxruntime import InferenceSession
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits, warned
from tests.common.foreign import Arrays, drawn, evaluate, in_onnxruntime, parse
from tests.common.runtimes import OpenVino, infer
from tests.torch_numbers.test_alignment import RUNTIMES

# A normal, then a Dropout, a uniform compared with a number, booleans, and classes of two rows.
STRAIGHT = """
g (float[2, 10] x) => (float[3] n, float[2, 10] d, bool[4] c, float[2, 10] b, int32[2, 1] k)
<float ratio = {0.3}, bool yes = {1}, float half = {0.5}> {
    n = RandomNormal <shape = [3]> ()  d = Dropout (x, ratio, yes)
    u = RandomUniform <shape = [4]> ()  c = Less (u, half)
    b = Bernoulli (x)  k = Multinomial <sample_size = 1> (x) }"""
X = np.linspace(0, 1, 20, dtype=np.float32).reshape(2, 10)
FEED = {"x": X}
STATE = op.TorchState.from_seed(42)

LOOP = """
g (int64 times, bool which, float[3, 2] rows) => (float[2] first, float[2] sums,
        float[2] chosen, float[2] total, float[3, 2] each, float[2] last)
<bool yes = {1}, float[2] zero = {0, 0}> {
    first = RandomNormal <shape = [2]> ()
    sums = Loop (times, yes, zero) <body = steps (int64 i, bool going, float[2] before)
        => (bool go_on, float[2] after) {
            go_on = Identity (going)  u = RandomUniform <shape = [2]> ()  after = Add (before, u) }>
    chosen = If (which) <
        then_branch = yes_branch () => (float[2] a) { a = If (which) <
            then_branch = t () => (float[2] m) { m = RandomNormal <shape = [2]> () },
            else_branch = never () => (float[2] z) { z = Identity (zero) }> },
        else_branch = no_branch () => (float[2] b) { b = Identity (zero) }>
    total, each = Scan <num_scan_inputs = 1, body = step (float[2] so_far, float[2] row)
        => (float[2] more, float[2] out) {
            v = RandomUniform <shape = [2]> ()  out = Add (row, v)  more = Add (so_far, v)
        }> (zero, rows)
    last = RandomNormal <shape = [2]> () }"""

OF_ROWS = """
g (float[rows, 20] x, bool which)
    => (float[rows, 20] n, float[rows, 20] d, float[rows, 20] last)
<float ratio = {0.3}, bool yes = {1}, int64 three = {3}> {
    n = RandomNormalLike (x)
    begin = If (which) <
        then_branch = yes_branch () => (float[rows, 20] a) { a = Dropout (x, ratio, yes) },
        else_branch = no_branch () => (float[rows, 20] b) { b = Identity (x) }>
    d = Loop (three, yes, begin) <body = steps (int64 i, bool going, float[rows, 20] before)
        => (bool go_on, float[rows, 20] after) {
            go_on = Identity (going)  u = RandomUniformLike (before)  after = Add (before, u) }>
    last = RandomNormalLike (x) }"""


def rewritten(text: str, **options: Any) -> onnx.ModelProto:
    return op.make_reproducible(parse(text), alignment="pytorch", **options)


def by_torch(
    text: str,
    feed: Arrays,
    state: op.TorchState = STATE,
) -> list[np.ndarray]:
    """What a model gives where its nodes are torch's calls, one after the other, and the end."""
    return drawn(parse(text), feed, state.to_array(), alignment="pytorch")


IN_LOOPS = {"times": np.array(3), "rows": np.ones((3, 2), np.float32)}
MODELS = {
    "in a row": (STRAIGHT, FEED),
    "in bodies": (
        LOOP,
        {**IN_LOOPS, "which": np.array(True)},
    ),
    "in bodies, but for a branch": (
        LOOP,
        {**IN_LOOPS, "which": np.array(False)},
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_one_generator_goes_through_the_nodes_in_order(runtime: str, name: str) -> None:
    text, feed = MODELS[name]
    state = STATE
    for _ in range(2):
        outputs = RUNTIMES[runtime](rewritten(text), feed | {"random_state": state.to_array()})
        assert_all_same(outputs, by_torch(text, feed, state))
        state = op.TorchState.from_array(outputs[-1])


def test_a_seed_is_a_constant_state() -> None:
    model = rewritten(STRAIGHT, seed=42)
    assert [i.name for i in model.graph.input] == ["x"]
    for _ in range(2):
        expected = by_torch(STRAIGHT, FEED)[:-1]
        assert_all_same(evaluate(model, FEED), expected)
    assert op.make_reproducible(model, alignment="pytorch", seed=42) is model
    with pytest.raises(ValueError, match="seed must be left out, or 42"):
        op.make_reproducible(model, alignment="pytorch", seed=43)


def test_the_record_says_alignment_and_order() -> None:
    model = rewritten(STRAIGHT)
    assert op.make_reproducible(model, alignment="pytorch") is model
    onnx.checker.check_model(model)
    streams = op.Pipeline(model).streams
    assert streams.alignment == "pytorch"
    assert [node.op_type for node in streams.nodes] == [
        "RandomNormal",
        "RandomDropout",
        "RandomUniform",
        "RandomBernoulli",
        "RandomCategorical",
    ]
    assert {node.op_seed for node in streams.nodes} == {0}
    assert "alignment" not in op.Pipeline(parse(STRAIGHT)).streams.to_json()


def with_a_node(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.node.append(onnx.helper.make_node("RandomNormal", [], ["new"], shape=[2]))
    return model


SEVERAL = STRAIGHT.replace("sample_size = 1", "sample_size = 2").replace("[2, 1] k", "[2, 2] k")
IN_IR = made.model({"y": made.uniform([2])}, [])
REFUSED = [
    (
        lambda: op.make_reproducible(op.make_reproducible(parse(STRAIGHT)), alignment="pytorch"),
        "'tensorflow', as the model was",
    ),
    (
        lambda: op.make_reproducible(rewritten(STRAIGHT), alignment="tensorflow"),
        "alignment must be 'pytorch', as the model",
    ),
    (
        lambda: op.make_reproducible(parse(STRAIGHT), alignment="tf"),
        "alignment must be 'tensorflow' or 'pytorch': got 'tf'",
    ),
    (
        lambda: op.make_reproducible(parse(SEVERAL), alignment="pytorch"),
        "'sample_size' must be 1 where replacement is 1",
    ),
    (
        lambda: op.make_reproducible(with_a_node(rewritten(STRAIGHT)), alignment="pytorch"),
        "random nodes are replaced at once",
    ),
    (
        lambda: op.make_reproducible(IN_IR, alignment="pytorch"),
        "alignment must be 'tensorflow' for a model of OpenVINO",
    ),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_a_model_that_has_no_torch_s_numbers_is_refused_with_alignment_pytorch(
    call: Callable[[], Any], words: str
) -> None:
    assert_refused(call, words)


def test_the_commands_know_torch_s_state(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    target = tmp_path / "new.onnx"
    onnx.save(parse(STRAIGHT), source)
    rewrite = ("rewrite", source, "-o", target, "--alignment", "pytorch")
    said = cli.text(*rewrite)
    assert onnx.load(target) == rewritten(STRAIGHT)
    assert "TorchState.from_seed(seed).to_array(), which is torch.manual_seed(seed)" in said
    assert "stream" not in said
    assert f"onnx-philox run {target} --seed 42 --runs 3 --fill" in said
    refused = cli.refusal(*rewrite, "--standard")
    assert "--alignment must be 'tensorflow' for standard nodes" in " ".join(refused.split())
    assert "torch's generator (TorchState.from_seed(seed).to_array())" in cli.text(
        "inspect", target
    )
    np.save(tmp_path / "x.npy", X)
    given = (target, "--input", f"x={tmp_path / 'x.npy'}")
    runs = cli.document("run", *given, "--seed", 42, "--runs", 2)["runs"]
    pipe = op.Pipeline(target)
    request = pipe.request(seed=42)
    for run in runs:
        result = request(FEED)
        assert run["state"] == result.state.tolist()
        hashes = {o["name"]: o["sha256"] for o in result.record()["runs"][0]["outputs"]}
        assert all(hashes[output["name"]] == output["sha256"] for output in run["outputs"])
    np.save(tmp_path / "state.npy", np.array(runs[1]["state"], np.uint32))
    again = cli.document("run", *given, "--input", f"random_state={tmp_path / 'state.npy'}")["runs"]
    assert again[0]["outputs"] == runs[1]["outputs"]
    assert "Equal: draws and states equal" in cli.text("compare", *given, "--seed", 42)
    said = "--first-run must be 0 for a model that draws torch's numbers"
    assert said in " ".join(cli.refusal("run", *given, "--first-run", 1).split())


@pytest.mark.parametrize("is_rewritten", [True, False])
def test_a_record_is_replayed(tmp_path: Path, is_rewritten: bool) -> None:
    path = tmp_path / "model.onnx"
    record = tmp_path / "record.json"
    onnx.save(rewritten(STRAIGHT) if is_rewritten else parse(STRAIGHT), path)
    pipe = op.Pipeline(path, alignment="pytorch")
    told = pipe(FEED, seed=42).record()
    record.write_text(json.dumps(told))
    for runtime in ("onnxruntime", "openvino"):
        said = cli.text("replay", record, "--runtime", runtime)
        assert "Equal: model, random nodes, seed, inputs, draws" in said
    record.write_text(json.dumps({**told, "seed": 43}))
    said = cli.invoke("replay", record).output
    assert "the seed in the record is not the key of its states" in " ".join(said.split())


def test_a_variable_keeps_torch_s_generator() -> None:
    runtime = OpenVino("python")

    def stateful(*initial: Any) -> ov.Model:
        return op.openvino.make_stateful(runtime.read(rewritten(STRAIGHT)), *initial)

    said = "Pass TorchState.from_seed(seed)"
    assert_refused(stateful, f"initial must be a state of torch's generator... {said}")
    assert_refused(lambda: stateful(op.PhiloxState.for_run(42)), said)
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = runtime.core.compile_model(stateful(STATE), "CPU", config)
    request = compiled.create_infer_request()
    state = STATE
    for _ in range(2):
        *expected, after = by_torch(STRAIGHT, FEED, state)
        results = infer(request, FEED)
        assert_all_same((results[name] for name in "ndcbk"), expected)
        state = op.TorchState.from_array(after)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_pipeline_goes_on_where_torch_would(runtime: str) -> None:
    pipe = op.Pipeline(parse(STRAIGHT), alignment="pytorch", runtime=runtime)
    *first, after = by_torch(STRAIGHT, FEED)
    *second, _ = by_torch(STRAIGHT, FEED, op.TorchState.from_array(after))
    request = pipe.request(seed=42)
    result = request(FEED)
    checkpoint = request.checkpoint()
    for outputs, expected in (
        (pipe(FEED, seed=42), first),
        (result, first),
        (request(FEED), second),
        (pipe.request(resume=checkpoint)(FEED), second),
        (pipe(FEED, state=STATE), first),
        (pipe(FEED, state=result.state), first),
    ):
        assert_all_same((outputs[name] for name in "ndcbk"), expected)
    assert result.states == [STATE]
    assert pipe(FEED).seed is not None
    with pytest.raises(ValueError, match="one of a model with the fingerprint"):
        op.Pipeline(parse(STRAIGHT)).request(resume=checkpoint)
    with pytest.raises(ValueError, match="state must be 632 words of 32 bits"):
        pipe(FEED, state=op.PhiloxState(1, 2))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_whole_model_has_a_generator_for_each_row(runtime: str) -> None:
    config = {"config": {"INFERENCE_PRECISION_HINT": "f32"}} if runtime == "openvino" else {}
    pipe = op.Pipeline(
        parse(OF_ROWS),
        alignment="pytorch",
        per_row=True,
        runtime=runtime,
        **config,
    )
    seeds = (3, 4, 5)
    for which in (True, False):
        feed = {"x": np.ones((3, 20), np.float32), "which": np.array(which)}
        request = pipe.request(seeds=seeds)
        states = [op.TorchState.from_seed(n) for n in seeds]
        for _ in range(2):
            result = request(feed)
            for row, state in enumerate(states):
                alone = by_torch(OF_ROWS, feed | {"x": feed["x"][:1]}, state)
                drawn_there = [np.asarray(result[name])[[row]] for name in ("n", "d", "last")]
                assert_all_same(drawn_there, alone[:-1])
                states[row] = op.TorchState.from_array(alone[-1])
    with pytest.raises(ValueError, match="the number of rows of 'x' must be 2"):
        pipe(feed, seeds=[3, 4])


def test_states_of_another_number_of_rows_than_the_batch_fail() -> None:
    model = rewritten(OF_ROWS, per_row=True)
    rows, words = model.graph.input[-1].type.tensor_type.shape.dim
    assert (rows.dim_param, words.dim_value) == ("rows", 632)
    states = np.stack([op.TorchState.from_seed(seed).to_array() for seed in (3, 4)])
    feeds = {
        "x": np.ones((3, 20), np.float32),
        "which": np.array(True),
        "random_state": states,
    }
    with pytest.raises(Exception, match="one_row_for_each_row_of_x"):
        in_onnxruntime()(model, feeds)
    with pytest.raises(ValueError, match=r"alignment 'pytorch' TorchState\.from_seed\(seed\) for"):
        rewritten(OF_ROWS, per_row=True, seed=3)


def test_rows_have_a_seed_each(tmp_path: Path) -> None:
    # A node whose rows have a state each, by the names of a rewrite.
    model = op.graphs.random_normal([2, 3], 0, 1, "f32", alignment="pytorch", per_row=True)
    model.graph.node[0].input[-1] = model.graph.input[0].name = "random_state"
    model.graph.node[0].output[-1] = model.graph.output[1].name = "next_random_state"
    for value in (model.graph.input[0], *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    onnx.save(model, tmp_path / "rows.onnx")
    said = " ".join(cli.invoke("run", tmp_path / "rows.onnx", "--seed", 3).output.split())
    assert "random_state must be given, since torch has no rule that numbers rows" in said
    pipe = op.Pipeline(model)
    rows = pipe({}, seeds=[3, 4])["values"]
    for row, seed in zip(rows, (3, 4), strict=True):
        given = {"alignment": "pytorch", "global_seed": seed}
        expected = op.reference.random_normal([3], 0, 1, "f32", **given)[0]
        assert_same_bits(row, expected)
    said = "seed must be given for each row, since torch has no rule that numbers rows: got 5"
    assert_refused(lambda: pipe.request(seed=5, rows=2), said)
    assert_refused(lambda: pipe.map([{}], seed=5), f"{said}. Pass seeds, one for each row")
    with pytest.raises(ValueError, match="the model must be one of alignment 'pytorch'"):
        op.Pipeline(op.make_reproducible(parse(STRAIGHT)), alignment="pytorch")


@pytest.mark.parametrize(
    ("mine", "state", "words"),
    [
        ("tensorflow", STATE, "a state of torch's, ... pass PhiloxState.for_run"),
        ("pytorch", op.PhiloxState(0, 1), "are a PhiloxState, ... pass TorchState.from_seed"),
        ("pytorch", STATE.to_torch(), "by TorchState.from_torch(state)"),
        ("pytorch", [1, 2], "Pass the state of a result"),
    ],
)
def test_a_state_of_another_generator_is_refused_by_its_name(
    mine: str, state: Any, words: str
) -> None:
    pipe = op.Pipeline(parse(STRAIGHT), alignment=mine)
    assert_refused(lambda: pipe.request(state=state), words)


def test_a_session_takes_states_of_both_kinds_and_calls_the_other_one_by_its_name() -> None:
    philox = op.PhiloxState.for_run(1)
    for model, state, other, named in (
        (op.make_reproducible(parse(STRAIGHT)), philox, STATE, "632 words are a TorchState"),
        (rewritten(STRAIGHT), STATE, philox, "6 words are a PhiloxState: pass a TorchState"),
    ):
        session = InferenceSession(model)
        expected = session.run(["n"], {"x": X, "random_state": state.to_array()})
        assert_all_same(session.run(["n"], {"x": X, "random_state": state}), expected)
        with pytest.raises(ValueError, match=named):
            session.run(["n"], {"x": X, "random_state": other})


# Nodes that a user wrote with alignment "pytorch".
BY_HAND = """
g (float[2, 10] x) => (float[20] u, bool[20] c, float[2, 10] d)
<int64[1] n = {20}, float low = {0}, float high = {1}, float p = {0.3}, float ratio = {0.3}> {
    u = onnx_philox.RandomUniform <output_type = "f32", SEED> (n, low, high)
    c = onnx_philox.RandomBernoulli <SEED> (n, p)
    d = onnx_philox.RandomDropout <SEED> (x, ratio)
}"""


def by_hand(attributes: str) -> onnx.ModelProto:
    return parse(BY_HAND.replace("SEED", f'alignment = "pytorch"{attributes}'))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_nodes_that_say_torch_s_numbers_gain_its_generator_and_stay_what_they_are(
    runtime: str,
) -> None:
    pipe = op.Pipeline(by_hand(""), alignment="pytorch", runtime=runtime)
    result = pipe(FEED, seed=42)
    one = {"alignment": "pytorch", "state": STATE.to_array()}
    u, one["state"] = op.reference.random_uniform([20], 0, 1, "f32", **one)
    c, one["state"] = op.reference.random_bernoulli([20], np.float32(0.3), **one)
    d, _mask, after = op.reference.random_dropout(X, np.float32(0.3), **one)
    assert_all_same((*(result[name] for name in "ucd"), result.next_state), (u, c, d, after))


def test_nodes_that_say_torch_s_numbers_name_the_way_to_them() -> None:
    said = "RandomUniform of 'u'... Rewrite the model with alignment='pytorch'"
    assert_refused(lambda: op.make_reproducible(by_hand("")), said)
    seeded = by_hand(", global_seed = 7")
    said = "draws torch's numbers of its global_seed in every run... Remove global_seed from that"
    for options in ({}, {"alignment": "pytorch"}):
        assert_refused(lambda options=options: op.Pipeline(seeded, **options), said)
    with pytest.raises(ValueError, match="the seeds must be left out with alignment 'pytorch'"):
        op.make_reproducible(by_hand(", op_seed = 7"), alignment="pytorch")


ATTENTION = """
g (float[2, 3] scores, float[3, 4] v) => (float[2, 4] y, float[2] u) <float ratio = {0.3}> {
    weights = Softmax (scores)  kept = Dropout (weights, ratio)  y = MatMul (kept, v)
    u = RandomUniform <shape = [2]> () }"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("{0.3}", "{0.0}"),
        ("Softmax", "Relu"),
        ("MatMul (kept, v)", "Concat <axis = 1> (kept, v)"),
    ],
)
def test_attention_whose_dropout_has_no_mode_is_warned_of_with_torch_s_numbers(
    old: str, new: str
) -> None:
    model = parse(ATTENTION.replace(old, new))
    for alignment in ("tensorflow", "pytorch"):
        said = warned(partial(op.make_reproducible, model, alignment=alignment))
        assert len(said) == (alignment == "pytorch" and not old)
        assert all("the dropout of scaled_dot_product_attention" in each for each in said)
