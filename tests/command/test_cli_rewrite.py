"""`onnx-philox rewrite`: what is written, what is said, and that the two agree."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import onnx_philox
from onnx_philox import PhiloxState, graphs
from tests.common import cli
from tests.common.cases import assert_all_same
from tests.common.cli import document, invoke, keys_of, keys_said, refusal
from tests.common.foreign import nodes, parse

MODELS = Path(__file__).parents[1] / "models"
MODEL = str(MODELS / "vae_decoder.onnx")


def rewrite(*arguments: object) -> str:
    """What it says, its lines joined; the command in it on its own, at the end."""
    result = invoke("rewrite", *arguments)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    (command,) = (line for line in lines if line.startswith("  onnx-philox run "))
    lines.remove(command)
    return " ".join(" ".join(lines).split()) + "\n" + command


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("target", ["out.onnx", "out.xml", "a folder/out.onnx"])
def test_the_line_that_is_printed_runs_the_model_that_make_reproducible_makes(target):
    Path(target).parent.mkdir(exist_ok=True)
    said, command = rewrite(MODEL, "-o", target).splitlines()
    assert said.startswith(
        f"{MODEL}: 1 random node rewritten, stream 0 1 RandomNormalLike (opset 1) is"
    )
    assert "The input random_state (uint32[6]: PhiloxState.for_run(seed, run)" in said
    assert "the output next_random_state is the input of the next run." in said
    if target == "out.xml":
        # Its weights are as they were, and nothing else is left.
        assert sorted(path.name for path in Path().iterdir()) == ["out.bin", "out.xml"]
        assert 'element_type="f16"' not in Path(target).read_text()
    else:
        assert onnx.load(target) == onnx_philox.make_reproducible(MODEL)
    program, *arguments = shlex.split(command)
    assert (program, arguments[:2]) == ("onnx-philox", ["run", target])
    assert len(document(*arguments)["runs"]) == 3


def test_a_seed_goes_inside_and_the_line_to_run_has_none():
    said, command = rewrite(MODEL, "-o", "out.onnx", "--seed", 7).splitlines()
    assert "The state is a constant inside, of seed 7: every run gives the same numbers." in said
    assert "--seed" not in command
    assert [i.name for i in onnx.load("out.onnx").graph.input] == ["mean", "log_variance"]


@pytest.mark.parametrize("target", ["out.onnx", "out.xml"])
def test_a_model_without_random_nodes_is_written_unchanged(target):
    plain = "plain.onnx"
    onnx.save(parse("g (float[4] x) => (float[4] y) { y = Relu(x) }"), plain)
    said, command = rewrite(plain, "-o", target).splitlines()
    assert said.startswith("plain.onnx: unchanged, it has no random nodes Written: out.")
    assert command == f"  onnx-philox run {target} --fill"
    assert said.endswith("--fill makes up x: give yours with --input NAME=FILE.npy.")
    assert Path(target).stat().st_size > 0
    if target == "out.onnx":
        assert onnx.load(target) == onnx.load(plain)


def test_a_model_that_was_rewritten_or_built_is_written_unchanged():
    rewrite(MODEL, "-o", "once.onnx")
    said = rewrite("once.onnx", "-o", "twice.onnx")
    assert said.startswith("once.onnx: unchanged, 1 random node rewritten already")
    assert onnx.load("twice.onnx") == onnx.load("once.onnx")
    onnx.save(graphs.random_uniform([3], 0, 1, "f32", stateful=True), "built.onnx")
    said, command = rewrite("built.onnx", "-o", "out.onnx").splitlines()
    assert said.startswith("built.onnx: unchanged, it has no random nodes")
    assert command == "  onnx-philox run out.onnx --seed 42 --runs 3"
    assert invoke(*shlex.split(command)[1:]).exit_code == 0


def test_keep_unknown_leaves_it_with_a_warning_and_torch_s_generator_is_named():
    said = rewrite(MODEL, "-o", "out.onnx", "--alignment", "pytorch")
    assert "1 random node rewritten; one generator of torch's goes through them in the" in said
    body = "{ y = com.example.DropBlock (x)  z = RandomNormalLike (x) }"
    onnx.save(parse(f"g (float[N, 8] x) => (float[N, 8] y, float[N, 8] z) {body}"), "model.onnx")
    said = rewrite("model.onnx", "-o", "out.onnx", "--keep-unknown")
    assert "model.onnx: 1 random node rewritten, stream 0 " in said
    assert "Warning: left as it is: com.example DropBlock of 'y'" in said
    operators = {node.op_type for node in onnx.load("out.onnx").graph.node}
    assert {"DropBlock", "RandomNormal"} <= operators
    onnx.save(parse("g (float[4] x) => (float[4] y) { y = com.example.DropBlock (x) }"), "one.onnx")
    said = rewrite("one.onnx", "-o", "out.onnx", "--keep-unknown")
    assert said.startswith("one.onnx: unchanged, none of its random nodes can be rewritten")
    assert onnx.load("out.onnx") == onnx.load("one.onnx")


def test_the_json_document_keeps_its_keys_and_many_nodes_are_counted_by_operator():
    said = document("rewrite", MODEL, "-o", "out.onnx")
    assert (said["schema"], set(keys_of(said))) == keys_said("rewrite")
    assert [node["stream"] for node in said["replaced"]] == [0]
    said = rewrite(MODELS / "mc_dropout.onnx", "-o", "out.onnx")
    assert (
        "2 random nodes rewritten, streams 0 to 1 2 Dropout (opset 13) is now RandomDropout "
        in said
    )


@pytest.mark.parametrize("target", ["out.onnx", "out.xml"])
def test_each_row_gets_a_state_of_its_own(target):
    said, command = rewrite(MODEL, "-o", target, "--per-row").splitlines()
    assert (
        "The input random_state (uint32[batch, 6]: onnx_philox.row_states(seed, range(batch), run))"
        in said
    )
    if target == "out.onnx":
        assert onnx.load(target) == onnx_philox.make_reproducible(MODEL, per_row=True)
        report = onnx_philox.rewriting.rewrite_file(MODEL, "again.onnx", per_row=True)
        assert (report.is_per_row, onnx.load("again.onnx")) == (True, onnx.load(target))
    _, *arguments = shlex.split(command)
    expected = [onnx_philox.row_states(42, range(1), run).tolist() for run in range(3)]
    assert [run["state"] for run in document(*arguments)["runs"]] == expected


def test_a_node_that_is_not_proved_to_draw_rows_is_named_in_the_command_s_words():
    text = """g (float[batch, 4] x) => (float[a, 4] y, float[a, 4] z) {
        both = Concat <axis = 0> (x, x)  [noise] y = RandomNormalLike (both)
        ["more noise"] z = RandomNormalLike (both)
    }"""
    onnx.save(parse(text), "both.onnx")
    said = refusal("rewrite", "both.onnx", "-o", "out.onnx", "--per-row")
    assert said.startswith(
        "onnx-philox rewrite: 2 random nodes: the shape of what each draws must be one that is "
        "proved to have a dimension that is 'batch', the first of the input 'x', for a state for "
        "each row: got "
    )
    named = "--per-row-node noise --per-row-node 'more noise'"
    assert f"say so with {named}; or draw in the shape of a tensor that has it" in said
    assert said.endswith(", or rewrite the model with one state for the whole batch.\n")
    assert document("rewrite", "both.onnx", "-o", "out.onnx", *shlex.split(named))["per_row"]


def test_the_text_is_not_wrapped_in_a_pipe():
    env = {"COLUMNS": "60"}
    piped = invoke("rewrite", MODEL, "-o", "out.onnx", env=env).stdout.splitlines()
    assert len(piped) == 7
    assert max(map(len, piped)) > 120
    assert all(line == line.rstrip() for line in piped)


# `--standard --target web`: one file that a page can run, and show the draws of.

OF_A_PAGE = """g (float[n, 3] x, int64 count) => (float[n, 3] y, float[steps, 3] z)
<float[3] weight = {1, 2, 3}, float ratio = {0.5}, bool on = {1}> {
    noise = RandomNormalLike (x) kept = Dropout (noise, ratio, on) y = Mul (kept, weight)
    z = Loop (count, on) <body = body (int64 i, bool c) => (bool d, float[3] v) {
        d = Identity (c) v = RandomUniform <shape = [3]> () }> }"""


def test_one_file_has_the_draws_as_outputs_and_names_what_draws_in_its_metadata() -> None:
    Path("out").mkdir()
    beside = {"save_as_external_data": True, "location": "m.bin", "size_threshold": 0}
    onnx.save(parse(OF_A_PAGE, 18), "m.onnx", **beside)
    said = cli.text("rewrite", "m.onnx", "-o", "out/w.onnx", "--standard", "--target", "web")
    assert "A page of this project's sources, examples/web/drop.html, runs it" in said
    (path,) = Path("out").iterdir()
    model = onnx.load(path)
    assert not model.functions
    assert {node.domain for node in nodes(model)} == {""}
    state = PhiloxState.for_run(42).to_array()
    feeds = {
        "x": np.ones((2, 3), np.float32),
        "count": np.array(2),
        "random_state": state,
    }
    session = onnxruntime.InferenceSession(path)  # without this package
    names = [o.name for o in session.get_outputs()]
    assert names == ["y", "z", "next_random_state", "kept/mask", "noise"]
    found = dict(zip(names, session.run(None, feeds), strict=True))
    ours = onnx_philox.make_reproducible("m.onnx")
    ours.graph.output.append(helper.make_empty_tensor_value_info("noise"))
    shared = [name for name in names if name != "kept/mask"]
    expected = onnx_philox.onnxruntime.InferenceSession(ours).run(shared, feeds)
    assert_all_same([found[name] for name in shared], expected)
    assert found["kept/mask"].dtype == bool
    metadata = json.loads({e.key: e.value for e in model.metadata_props}["onnx_philox.web"])
    assert metadata["version"] == 1
    assert [d["operator"] for d in metadata["draws"]] == ["RandomNormal", "RandomDropout"]
    named = {node.name: node.op_type for node in nodes(model)}
    assert len(named) == len(nodes(model))
    assert {*metadata["nodes"]} < named.keys()
    # The model's own nodes alone may run on a GPU.
    others = [op_type for name, op_type in named.items() if name not in metadata["nodes"]]
    assert {"Mul", "Loop"} <= {*others}
    assert not {"BitShift", "BitwiseAnd", "BitwiseXor", "Sqrt"} & {*others}
