"""Whole models with `alignment="pytorch"`: one generator goes through their random nodes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import openvino as ov
import pytest
from cases import assert_same_bits
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator
from runtimes import OpenVino, infer

import onnx_philox
from onnx_philox import (
    PhiloxState,
    TorchState,
    make_reproducible,
    onnx_reference,
    openvino,
    reference,
)
from onnx_philox._contract import types
from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._record.hashes import sha256
from onnx_philox._torch.numbers import cpu as torch_cpu
from onnx_philox.onnxruntime import InferenceSession

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
# A normal, then a Dropout, a uniform compared with a number, booleans, and classes of two rows.
STRAIGHT = (
    HEAD
    + """
g (float[2, 10] x) => (float[3] n, float[2, 10] d, bool[4] c, float[2, 10] b, int32[2, 1] k) {
    n = RandomNormal <shape = [3]> ()
    ratio = Constant <value = float {0.3}> ()
    yes = Constant <value = bool {1}> ()
    d = Dropout (x, ratio, yes)
    u = RandomUniform <shape = [4]> ()
    half = Constant <value = float {0.5}> ()
    c = Less (u, half)
    b = Bernoulli (x)
    k = Multinomial <sample_size = 1> (x)
}"""
)
X = np.linspace(0, 1, 20, dtype=np.float32).reshape(2, 10)

LOOP = (
    HEAD
    + """
g (int64 times, bool which, float[3, 2] rows) => (float[2] first, float[2] sums,
        float[2] chosen, float[2] total, float[3, 2] each, float[2] last) {
    first = RandomNormal <shape = [2]> ()
    yes = Constant <value = bool {1}> ()
    zero = Constant <value_floats = [0.0, 0.0]> ()
    sums = Loop (times, yes, zero) <body = steps (int64 i, bool going, float[2] before)
        => (bool go_on, float[2] after) {
        go_on = Identity (going)
        u = RandomUniform <shape = [2]> ()
        after = Add (before, u)
    }>
    chosen = If (which) <then_branch = yes_branch () => (float[2] a) {
        a = RandomNormal <shape = [2]> ()
    }, else_branch = no_branch () => (float[2] b) { b = Identity (zero) }>
    total, each = Scan <num_scan_inputs = 1, body = step (float[2] so_far, float[2] row)
        => (float[2] more, float[2] out) {
        v = RandomUniform <shape = [2]> ()
        out = Add (row, v)
        more = Add (so_far, v)
    }> (zero, rows)
    last = RandomNormal <shape = [2]> ()
}"""
)

OF_ROWS = (
    HEAD
    + """
g (float[rows, 20] x, bool which)
    => (float[rows, 20] n, float[rows, 20] d, float[rows, 20] last) {
    n = RandomNormalLike (x)
    ratio = Constant <value = float {0.3}> ()
    yes = Constant <value = bool {1}> ()
    begin = If (which) <then_branch = yes_branch () => (float[rows, 20] a) {
        a = Dropout (x, ratio, yes)
    }, else_branch = no_branch () => (float[rows, 20] b) { b = Identity (x) }>
    three = Constant <value = int64 {3}> ()
    d = Loop (three, yes, begin) <body = steps (int64 i, bool going, float[rows, 20] before)
        => (bool go_on, float[rows, 20] after) {
        go_on = Identity (going)
        u = RandomUniformLike (before)
        after = Add (before, u)
    }>
    last = RandomNormalLike (x)
}"""
)


def rewritten(text: str, **options: Any) -> onnx.ModelProto:
    return make_reproducible(parse_model(text), alignment="pytorch", **options)


def in_reference(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, np.ndarray]:
    session = ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    return dict(zip((o.name for o in model.graph.output), session.run(None, feeds), strict=True))


def in_onnxruntime(
    model: onnx.ModelProto, feeds: dict[str, Any], backend: str = "native"
) -> dict[str, np.ndarray]:
    session = InferenceSession(model, backend=backend)
    return dict(zip((o.name for o in model.graph.output), session.run(None, feeds), strict=True))


def in_openvino(
    model: onnx.ModelProto, feeds: dict[str, Any], backend: str = "native"
) -> dict[str, np.ndarray]:
    values = OpenVino(backend)(model, feeds, "f32")
    return dict(zip((o.name for o in model.graph.output), values, strict=True))


def in_python(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, np.ndarray]:
    """ONNX Runtime's Python backend, whose values OpenVINO's draws again."""
    one, other = (run(model, feeds, "python") for run in (in_onnxruntime, in_openvino))
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    return one


RUNTIMES = [in_reference, in_onnxruntime, in_openvino, in_python]


def straight(stream: torch_cpu.WordStream) -> dict[str, np.ndarray]:
    """The same draws as torch's calls, one after the other."""
    drawn = {"n": torch_cpu.normal(stream, 3, types.F32)}
    kept = torch_cpu.dropout_keeps(stream, 20, 0.3).reshape(2, 10)
    drawn["d"] = np.where(kept, X * np.float32(1 / (1 - np.float32(0.3))), np.float32(0))
    drawn["c"] = torch_cpu.uniform(stream, 4, types.F32) < np.float32(0.5)
    drawn["b"] = torch_cpu.bernoulli(stream, 20, X.reshape(-1)).reshape(2, 10).astype(np.float32)
    weights = np.exp(X.astype(np.float64) - X.max(1, keepdims=True)).astype(np.float32)
    drawn["k"] = torch_cpu.race(stream, weights, 1).astype(np.int32)
    drawn["next_random_state"] = stream.state().to_array()
    return drawn


@pytest.mark.parametrize("run", RUNTIMES)
def test_one_generator_goes_through_the_nodes_in_order(run: Any) -> None:
    model = rewritten(STRAIGHT)
    state = TorchState.from_seed(42)
    for _ in range(2):
        expected = straight(torch_cpu.WordStream(state))
        drawn = run(model, {"x": X, "random_state": state.to_array()})
        assert drawn.keys() == expected.keys()
        for name, values in expected.items():
            assert_same_bits(drawn[name], values)
        state = TorchState.from_array(drawn["next_random_state"])


def test_a_seed_is_a_constant_state() -> None:
    model = rewritten(STRAIGHT, seed=42)
    assert [i.name for i in model.graph.input] == ["x"]
    expected = straight(torch_cpu.WordStream(TorchState.from_seed(42)))
    for _ in range(2):
        drawn = in_reference(model, {"x": X})
        for name, values in drawn.items():
            assert_same_bits(values, expected[name])
    assert make_reproducible(model, alignment="pytorch", seed=42) is model
    with pytest.raises(ValueError, match="seed must be left out, or 42"):
        make_reproducible(model, alignment="pytorch", seed=43)


@pytest.mark.parametrize("which", [True, False])
@pytest.mark.parametrize("run", RUNTIMES)
def test_it_goes_through_loops_branches_and_scans(run: Any, which: bool) -> None:
    stream = torch_cpu.WordStream(TorchState.from_seed(7))
    zero, rows = np.zeros(2, np.float32), np.ones((3, 2), np.float32)
    expected = {"first": torch_cpu.normal(stream, 2, types.F32)}
    expected["sums"] = sum((torch_cpu.uniform(stream, 2, types.F32) for _ in range(3)), zero)
    expected["chosen"] = torch_cpu.normal(stream, 2, types.F32) if which else zero
    scanned = np.stack([torch_cpu.uniform(stream, 2, types.F32) for _ in range(3)])
    expected |= {"total": sum(scanned, zero), "each": rows + scanned}
    expected["last"] = torch_cpu.normal(stream, 2, types.F32)
    expected["next_random_state"] = stream.state().to_array()
    feeds = {
        "times": np.array(3),
        "which": np.array(which),
        "rows": rows,
        "random_state": TorchState.from_seed(7).to_array(),
    }
    drawn = run(rewritten(LOOP), feeds)
    for name, values in expected.items():
        assert_same_bits(drawn[name], values)


def test_the_record_says_alignment_and_order() -> None:
    model = rewritten(STRAIGHT)
    onnx.checker.check_model(model)
    (said,) = (p.value for p in model.metadata_props if p.key == METADATA_KEY)
    streams = Streams.from_json(said)
    assert streams is not None
    assert streams.alignment == "pytorch"
    assert [node.op_type for node in streams.nodes] == [
        *("RandomNormal", "RandomDropout", "RandomUniform", "RandomBernoulli"),
        "RandomCategorical",
    ]
    assert {node.op_seed for node in streams.nodes} == {0}
    other = make_reproducible(parse_model(STRAIGHT))
    (plain,) = (p.value for p in other.metadata_props if p.key == METADATA_KEY)
    assert "alignment" not in plain


def test_what_cannot_be_rewritten_so_is_refused() -> None:
    model = parse_model(STRAIGHT)
    done, philox = rewritten(STRAIGHT), make_reproducible(model)
    assert make_reproducible(done, alignment="pytorch") is done
    with pytest.raises(ValueError, match="alignment must be 'tensorflow', as the model was"):
        make_reproducible(philox, alignment="pytorch")
    with pytest.raises(ValueError, match="alignment must be 'pytorch', as the model was"):
        make_reproducible(done)
    with pytest.raises(ValueError, match="alignment must be 'tensorflow' or 'pytorch': got 'tf'"):
        make_reproducible(model, alignment="tf")
    several = STRAIGHT.replace("sample_size = 1", "sample_size = 2").replace("[2, 1] k", "[2, 2] k")
    with pytest.raises(ValueError, match="'sample_size' must be 1 where replacement is 1"):
        rewritten(several)
    added = onnx.ModelProto()
    added.CopyFrom(done)
    added.graph.node.append(onnx.helper.make_node("RandomNormal", [], ["new"], shape=[2]))
    with pytest.raises(ValueError, match="random nodes are replaced at once"):
        make_reproducible(added, alignment="pytorch")


def test_a_model_of_openvino_is_refused() -> None:
    shape = ov.opset13.constant(np.array([2]))
    node = ov.opset13.random_uniform(shape, np.float32(0), np.float32(1), "f32")
    model = ov.Model([node], [])
    with pytest.raises(ValueError, match="alignment must be 'tensorflow' for a model of OpenVINO"):
        make_reproducible(model, alignment="pytorch")


def test_the_command_rewrites_so(tmp_path: Path) -> None:
    onnx.save(parse_model(STRAIGHT), tmp_path / "model.onnx")
    files = [str(tmp_path / "model.onnx"), "-o", str(tmp_path / "new.onnx")]
    done = cli.invoke("rewrite", *files, "--alignment", "pytorch")
    assert done.exit_code == 0, done.output
    assert onnx.load(files[2]) == rewritten(STRAIGHT)
    refused = cli.invoke("rewrite", *files, "--alignment", "pytorch", "--standard")
    assert refused.exit_code != 0
    assert "--alignment must be 'tensorflow' for standard nodes" in " ".join(refused.output.split())


def said_by(*arguments: str) -> str:
    """What a command prints, in one line."""
    return " ".join(cli.invoke(*arguments).output.split())


def test_the_commands_know_torch_s_state(tmp_path: Path) -> None:
    source, target = str(tmp_path / "model.onnx"), str(tmp_path / "new.onnx")
    onnx.save(parse_model(STRAIGHT), source)
    said = said_by("rewrite", source, "-o", target, "--alignment", "pytorch")
    assert "TorchState.from_seed(seed).to_array(), which is torch.manual_seed(seed)" in said
    assert "stream" not in said
    assert f"onnx-philox run {target} --seed 42 --runs 3 --fill" in said
    assert "torch's generator (TorchState.from_seed(seed).to_array())" in said_by("inspect", target)
    np.save(tmp_path / "x.npy", X)
    given = (target, "--input", f"x={tmp_path / 'x.npy'}")
    said = json.loads(said_by("run", *given, "--seed", "42", "--runs", "2", "--json"))
    stream = torch_cpu.WordStream(TorchState.from_seed(42))
    for run in said["runs"]:
        assert run["state"] == stream.state().to_array().tolist()
        found = {output["name"]: output["sha256"] for output in run["outputs"]}
        assert found == {name: sha256(values) for name, values in straight(stream).items()}
    np.save(tmp_path / "state.npy", np.array(said["runs"][1]["state"], np.uint32))
    going_on = f"random_state={tmp_path / 'state.npy'}"
    again = json.loads(said_by("run", *given, "--input", going_on, "--json"))
    assert again["runs"][0]["outputs"] == said["runs"][1]["outputs"]
    assert "Equal: draws and states equal" in said_by("compare", *given, "--seed", "42")
    assert "--first-run must be 0 for a model that draws torch's numbers" in said_by(
        "run", *given, "--first-run", "1"
    )


def test_a_state_of_rows_needs_one_for_each_row(tmp_path: Path) -> None:
    model = onnx_philox.graphs.random_normal([2, 3], 0, 1, "f32", alignment="pytorch", per_row=True)
    model.graph.node[0].input[-1] = model.graph.input[0].name = "random_state"
    model.graph.node[0].output[-1] = model.graph.output[1].name = "next_random_state"
    for value in (model.graph.input[0], *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    onnx.save(model, tmp_path / "rows.onnx")
    said = said_by("run", str(tmp_path / "rows.onnx"), "--seed", "3")
    assert "random_state must be given, since torch has no rule that numbers rows" in said


@pytest.mark.parametrize("is_rewritten", [True, False])
def test_a_record_is_replayed(tmp_path: Path, is_rewritten: bool) -> None:
    path, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(rewritten(STRAIGHT) if is_rewritten else parse_model(STRAIGHT), path)
    pipe = onnx_philox.Pipeline(path, alignment="pytorch")
    record.write_text(json.dumps(pipe({"x": X}, seed=42).record()))
    for runtime in ("onnxruntime", "openvino"):
        said = said_by("replay", str(record), "--runtime", runtime)
        assert "Equal: model, random nodes, seed, inputs, draws" in said, said
    told = json.loads(record.read_text())
    record.write_text(json.dumps({**told, "seed": 43}))
    assert "the seed is not the states' key" in said_by("replay", str(record))


def test_a_variable_keeps_torch_s_generator() -> None:
    core = openvino.register(ov.Core(), backend="python")

    def read() -> ov.Model:
        return core.read_model(rewritten(STRAIGHT).SerializeToString())

    with pytest.raises(ValueError, match="initial must be a state of torch's generator") as refused:
        openvino.make_stateful(read())
    assert "Pass TorchState.from_seed(seed)" in str(refused.value)
    with pytest.raises(ValueError, match=r"Pass TorchState\.from_seed\(seed\)"):
        openvino.make_stateful(read(), PhiloxState.for_run(42))
    model = openvino.make_stateful(read(), TorchState.from_seed(42))
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", config).create_infer_request()
    stream = torch_cpu.WordStream(TorchState.from_seed(42))
    for _ in range(2):
        expected = straight(stream)
        results = infer(request, {"x": X})
        for name in "ndcbk":
            assert_same_bits(results[name], expected[name])


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_pipeline_goes_on_where_torch_would(runtime: str) -> None:
    pipe = onnx_philox.Pipeline(parse_model(STRAIGHT), alignment="pytorch", runtime=runtime)
    stream = torch_cpu.WordStream(TorchState.from_seed(42))
    first, second = straight(stream), straight(stream)
    request = pipe.request(seed=42)
    result = request({"x": X})
    checkpoint = request.checkpoint()
    for drawn, expected in (
        (pipe({"x": X}, seed=42), first),
        (result, first),
        (request({"x": X}), second),
        (pipe.request(resume=checkpoint)({"x": X}), second),
        (pipe({"x": X}, state=TorchState.from_seed(42)), first),
        (pipe({"x": X}, state=result.state), first),
    ):
        for name, values in drawn.items():
            assert_same_bits(np.asarray(values), expected[name])
    assert result.states == [TorchState.from_seed(42)]
    assert pipe({"x": X}).seed is not None
    with pytest.raises(ValueError, match="one of a model with the fingerprint"):
        onnx_philox.Pipeline(parse_model(STRAIGHT)).request(resume=checkpoint)
    with pytest.raises(ValueError, match="state must be 632 words of 32 bits"):
        pipe({"x": X}, state=PhiloxState(1, 2))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_whole_model_has_a_generator_for_each_row(runtime: str) -> None:
    config = {"config": {"INFERENCE_PRECISION_HINT": "f32"}} if runtime == "openvino" else {}
    pipe = onnx_philox.Pipeline(
        parse_model(OF_ROWS), alignment="pytorch", per_row=True, runtime=runtime, **config
    )
    seeds = (3, 4, 5)
    for which in (True, False):
        feed = {"x": np.ones((3, 20), np.float32), "which": np.array(which)}
        request = pipe.request(seeds=seeds)
        streams = [torch_cpu.WordStream(TorchState.from_seed(seed)) for seed in seeds]
        for _ in range(2):
            result = request(feed)
            for row, stream in enumerate(streams):
                for name, values in of_row(stream, drops=which).items():
                    assert_same_bits(np.asarray(result[name])[row], values)
    with pytest.raises(ValueError, match="the number of rows of 'x' must be 2"):
        pipe(feed, seeds=[3, 4])


def of_row(stream: torch_cpu.WordStream, *, drops: bool) -> dict[str, np.ndarray]:
    """What a row of OF_ROWS draws."""
    drawn = {"n": torch_cpu.normal(stream, 20, types.F32)}
    sums = np.ones(20, np.float32)
    if drops:
        kept = torch_cpu.dropout_keeps(stream, 20, 0.3)
        sums = np.where(kept, sums * np.float32(1 / (1 - np.float32(0.3))), np.float32(0))
    for _ in range(3):
        sums = sums + torch_cpu.uniform(stream, 20, types.F32)
    return {**drawn, "d": sums, "last": torch_cpu.normal(stream, 20, types.F32)}


def test_states_of_another_number_of_rows_than_the_batch_fail() -> None:
    model = rewritten(OF_ROWS, per_row=True)
    assert [
        d.dim_param or d.dim_value for d in model.graph.input[-1].type.tensor_type.shape.dim
    ] == [*("rows", 632)]
    states = np.stack([TorchState.from_seed(seed).to_array() for seed in (3, 4)])
    feeds = {"x": np.ones((3, 20), np.float32), "which": np.array(True), "random_state": states}
    with pytest.raises(Exception, match="one_row_for_each_row_of_x"):
        in_onnxruntime(model, feeds)
    with pytest.raises(ValueError, match=r"alignment 'pytorch' TorchState\.from_seed\(seed\) for"):
        rewritten(OF_ROWS, per_row=True, seed=3)


def test_rows_have_a_seed_each() -> None:
    model = onnx_philox.graphs.random_normal([2, 3], 0, 1, "f32", alignment="pytorch", per_row=True)
    pipe = onnx_philox.Pipeline(model)
    drawn = pipe({}, seeds=[3, 4])["values"]
    for row, seed in zip(drawn, (3, 4), strict=True):
        stream = torch_cpu.WordStream(TorchState.from_seed(seed))
        assert_same_bits(row, torch_cpu.normal(stream, 3, types.F32))
    said = "seed must be given for each row, since torch has no rule that numbers rows: got 5"
    with pytest.raises(ValueError, match=said):
        pipe.request(seed=5, rows=2)
    with pytest.raises(ValueError, match=said + r"\. Pass seeds, one for each row"):
        pipe.map([{}], seed=5)
    with pytest.raises(ValueError, match="the model must be one of alignment 'pytorch'"):
        onnx_philox.Pipeline(make_reproducible(parse_model(STRAIGHT)), alignment="pytorch")


@pytest.mark.parametrize(
    ("mine", "state", "words"),
    [
        ("tensorflow", TorchState.from_seed(1), "a state of torch's, .* pass PhiloxState.for_run"),
        ("pytorch", PhiloxState(0, 1), "are a PhiloxState, .* pass TorchState.from_seed"),
        ("pytorch", TorchState.from_seed(1).to_torch(), r"by TorchState\.from_torch\(state\)"),
        ("pytorch", [1, 2], "Pass the state of a result"),
    ],
)
def test_a_state_of_the_other_kind_is_called_that(mine: str, state: Any, words: str) -> None:
    pipe = onnx_philox.Pipeline(parse_model(STRAIGHT), alignment=mine)
    with pytest.raises(ValueError, match=words):
        pipe.request(state=state)


def test_a_session_takes_states_of_both_kinds_and_calls_the_other_one_by_its_name() -> None:
    philox, torch_s = PhiloxState.for_run(1), TorchState.from_seed(1)
    for model, state, other, named in (
        (make_reproducible(parse_model(STRAIGHT)), philox, torch_s, "632 words are a TorchState"),
        (rewritten(STRAIGHT), torch_s, philox, "6 words are a PhiloxState: pass a TorchState"),
    ):
        session = InferenceSession(model)
        expected = session.run(["n"], {"x": X, "random_state": state.to_array()})
        assert_same_bits(session.run(["n"], {"x": X, "random_state": state})[0], expected[0])
        with pytest.raises(ValueError, match=named):
            session.run(["n"], {"x": X, "random_state": other})


# Nodes that a user wrote with alignment "pytorch".
BY_HAND = """<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
g (float[2, 10] x) => (float[20] u, bool[20] c, float[2, 10] d)
<int64[1] n = {20}, float low = {0}, float high = {1}, float p = {0.3}, float ratio = {0.3}> {
    u = onnx_philox.RandomUniform <output_type = "f32", SEED> (n, low, high)
    c = onnx_philox.RandomBernoulli <SEED> (n, p)
    d = onnx_philox.RandomDropout <SEED> (x, ratio)
}"""


def by_hand(attributes: str) -> onnx.ModelProto:
    return parse_model(BY_HAND.replace("SEED", f'alignment = "pytorch"{attributes}'))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_nodes_that_say_torch_s_numbers_gain_its_generator_and_stay_what_they_are(
    runtime: str,
) -> None:
    pipe = onnx_philox.Pipeline(by_hand(""), alignment="pytorch", runtime=runtime)
    drawn = pipe({"x": X}, seed=7)
    state = TorchState.from_seed(7).to_array()
    one = {"alignment": "pytorch", "state": state}
    u, one["state"] = reference.random_uniform([20], 0, 1, "f32", **one)
    c, one["state"] = reference.random_bernoulli([20], np.float32(0.3), **one)
    d, _mask, after = reference.random_dropout(X, np.float32(0.3), **one)
    for name, expected in zip("ucd", (u, c, d), strict=True):
        assert_same_bits(np.asarray(drawn[name]), expected)
    assert_same_bits(drawn.next_state, after)


def test_nodes_that_say_torch_s_numbers_name_the_way_to_them() -> None:
    with pytest.raises(ValueError, match="Rewrite the model with alignment='pytorch'") as refused:
        make_reproducible(by_hand(""))
    assert "RandomUniform of 'u'" in str(refused.value)
    seeded = by_hand(", global_seed = 7")
    for options in ({}, {"alignment": "pytorch"}):
        with pytest.raises(ValueError, match="Remove global_seed from that node") as refused:
            onnx_philox.Pipeline(seeded, **options)
        assert "draws torch's numbers of its global_seed in every run" in str(refused.value)
    with pytest.raises(ValueError, match="the seeds must be left out with alignment 'pytorch'"):
        make_reproducible(by_hand(", op_seed = 7"), alignment="pytorch")


ATTENTION = (
    HEAD
    + """
g (float[2, 3] scores, float[3, 4] v) => (float[2, 4] y, float[2] u) {
    weights = Softmax (scores)
    ratio = Constant <value = float {0.3}> ()
    kept = Dropout (weights, ratio)
    y = MatMul (kept, v)
    u = RandomUniform <shape = [2]> ()
}"""
)


@pytest.mark.parametrize(
    ("text", "is_torch_s"),
    [
        (ATTENTION, True),
        (ATTENTION.replace("{0.3}", "{0.0}"), False),
        (ATTENTION.replace("Softmax", "Relu"), False),
        (ATTENTION.replace("MatMul (kept, v)", "Concat <axis = 1> (kept, v)"), False),
    ],
)
def test_attention_whose_dropout_has_no_mode_is_warned_of_with_torch_s_numbers(
    text: str, is_torch_s: bool
) -> None:
    def said(alignment: str) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make_reproducible(parse_model(text), alignment=alignment)
        return [str(warning.message) for warning in caught]

    assert said("tensorflow") == []
    words = said("pytorch")
    assert [("the dropout of scaled_dot_product_attention" in w) for w in words] == [
        True
    ] * is_torch_s
