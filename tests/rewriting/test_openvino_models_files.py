"""OpenVINO models that never were ONNX, in files, commands and pipelines."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset8

import onnx_philox as op
from tests.common import cli
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits
from tests.common.openvino_models import (
    CORE,
    constant,
    drawn,
    loop,
    model,
    normal,
    parameter,
    through_ir,
    uniform,
)
from tests.rewriting.test_openvino_models_rewritten import STATE, ZEROS, rows_of_a_batch

# What `compare` says where the device has one of two precisions alone.
ONE_PRECISION = "equal results show only that a run can be repeated"


def two_draws() -> ov.Model:
    x = parameter("x", [-1, 4])
    of_x = opset8.shape_of(x)
    return model({"y": opset8.add(x, normal(of_x)), "z": loop(x, 2, uniform)}, [x])


def with_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes m.xml and m.bin into a folder, to which it changes."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    x = parameter("x", [2, 4])
    weights = constant(np.arange(8, dtype=np.float32).reshape(2, 4))
    drawn_ = opset8.add(opset8.add(x, weights), uniform([2, 4]))
    ov.save_model(model({"y": drawn_}, [x]), "m.xml", compress_to_fp16=False)


def linked(*names: str) -> None:
    """Leaves links to files in a folder of their own, as a cache of downloads has them."""
    (blobs := Path("..", "blobs")).mkdir()
    for name in names:
        Path(name).rename(blobs / name.replace(".", ""))
        Path(name).symlink_to(blobs / name.replace(".", ""))


NEEDS = [
    (
        lambda: Path("new.bin").unlink(),
        "the external data 'new.bin' must be a file in the folder of 'new.xml': got no file",
    ),
    (lambda: linked("new.bin"), "the external data 'new.bin' must be a file in the model's folder"),
    (lambda: linked("new.bin", "new.xml"), "it is taken"),
    (
        lambda: Path("new.xml").write_text("<other/>"),
        "new.xml must be a whole OpenVINO IR",
    ),
]


@pytest.mark.parametrize(("change", "said"), NEEDS)
def test_an_ir_needs_its_weights_beside_it(
    change: Callable[[], None],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_weights(tmp_path / "snapshot", monkeypatch)
    cli.text("rewrite", "m.xml", "-o", "new.xml")
    change()
    is_taken = said == "it is taken"
    drawing = "new.xml --fill --seed 3"
    pipeline = partial(op.Pipeline, runtime="openvino")
    for command in (f"run {drawing}", "inspect new.xml", f"compare {drawing} --rtol 1 --atol 1"):
        shown = (cli.text if is_taken else cli.refusal)(*command.split())
        assert is_taken or said in shown
        assert "run: run:" not in shown
    if is_taken:
        pipeline("new.xml")
    else:
        assert_refused(partial(pipeline, "new.xml"), said)


def test_the_commands_rewrite_and_run_an_ir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_weights(tmp_path, monkeypatch)
    source = Path("m.bin").read_bytes()
    done = cli.document("rewrite", "m.xml", "-o", "new.xml")
    assert [node["replacement"] for node in done["replaced"]] == ["RandomUniform"]
    assert done["run"] == "onnx-philox run new.xml --seed 42 --runs 3 --fill"
    assert source == Path("m.bin").read_bytes()
    runs = [cli.text(*done["run"].split()[1:]) for _ in range(2)]
    assert runs[0] == runs[1]
    told = cli.text("rewrite", "m.xml", "-o", "seeded.xml", "--seed", "7")
    assert "The state is a constant inside, of seed 7" in told
    assert "rewritten already" in cli.text("rewrite", "new.xml", "-o", "again.xml")
    shown = cli.document("inspect", "new.xml")
    assert (shown["random_nodes"], shown["state"]) == ([], "the input random_state")
    assert shown["next_state"] == "next_random_state"
    assert [node["operator"] for node in shown["rewritten_nodes"]] == ["RandomUniform"]
    said = cli.refusal("rewrite", "m.xml", "-o", "n.xml", "--per-row")
    assert "is dynamic: got one with" in said
    assert not Path("n.xml").exists()
    # An input of such a name and type is a user's own beside draws that are not rewritten.
    own = parameter("own_random_state", [6], np.uint32)
    ov.save_model(model({"y": uniform([2]), "z": opset8.relu(own)}, [own]), "own.xml")
    assert "Rewrite it first" in cli.refusal("run", "own.xml", "--seed", "1")
    cli.text("rewrite", "own.xml", "-o", "sown.xml", "--seed", "7")
    assert "has its seed inside" in cli.refusal("run", "sown.xml", "--seed", "1")


def test_inspect_says_which_draws_are_rows(tmp_path: Path) -> None:
    ov.save_model(rows_of_a_batch(), tmp_path / "m.xml")
    where = {"batch": "x", "where": "the batch, the first of the input 'x'", "obstacle": None}
    assert cli.document("inspect", tmp_path / "m.xml")["per_row"] == where
    cli.text("rewrite", "--per-row", tmp_path / "m.xml", "-o", tmp_path / "new.xml")
    shown = cli.document("inspect", tmp_path / "new.xml")
    assert shown["state"] == "the input random_state, for each row of the batch"
    assert shown["per_row"]["obstacle"] is None
    said = cli.text("inspect", tmp_path / "new.xml")
    assert "--seed 42" in said.partition("Run it: ")[2]
    assert "takes no plugin" not in said


@pytest.fixture
def ir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    ov.save_model(op.make_reproducible(two_draws()), "m.xml", compress_to_fp16=False)
    return "m.xml"


def test_an_ir_is_compared_at_two_precisions(ir: str) -> None:
    told = cli.document("compare", ir, "--fill", "--rtol", 1, "--atol", 1)
    assert [loaded["runtime"] for loaded in told["runtimes"]] == ["openvino", "openvino"]
    one, other = (loaded["how"] for loaded in told["runtimes"])
    assert "precision f32" in one
    assert "bf16" in other
    kinds = {output["name"]: output["kind"] for output in told["runs"][0]["outputs"]}
    assert [*kinds.values()].count("drawn") == 1
    assert kinds["next_random_state"] == "state"
    assert told["is_ok"]
    result = cli.invoke("compare", ir, "--fill")
    said = " ".join(result.output.split())
    is_alone = "does not have it" in other
    assert (ONE_PRECISION in said) is is_alone


def test_an_ir_is_compared_and_run_on_devices(ir: str) -> None:
    devices = ("--device", "CPU", "--device", "HETERO:CPU")
    told = cli.document("compare", ir, "--fill", *devices, "--precision", "f32")
    hows = [loaded["how"] for loaded in told["runtimes"]]
    assert hows[0] == "CPU, precision f32"
    assert hows[1].startswith("HETERO:CPU")
    assert told["is_ok"]
    assert ONE_PRECISION not in cli.text("compare", ir, "--fill", *devices)
    run = ("run", ir, "--fill", "--seed", 42, "--precision", "f32")
    one, other = (cli.document(*run, "--device", name) for name in ("CPU", "HETERO:CPU"))
    assert other["how"].startswith("HETERO:CPU")
    assert one["runs"] == other["runs"]


def test_a_file_is_rewritten_into_a_file_and_a_pipeline_takes_a_model_of_openvino_s(
    tmp_path: Path,
) -> None:
    given = two_draws()
    source = tmp_path / "m.xml"
    target = tmp_path / "new.xml"
    ov.save_model(given, source, compress_to_fp16=False)
    report = op.rewriting.rewrite_file(source, target)
    assert [node.replacement for node in report.replaced] == ["RandomUniform", "RandomNormal"]
    new = op.make_reproducible(given)
    wanted = drawn(new, STATE, **ZEROS)
    assert_all_same(drawn(CORE.read_model(target), STATE, **ZEROS).values(), wanted.values())
    same = partial(op.rewriting.rewrite_file, source, source)
    assert_refused(same, "neither read nor written twice")
    pipes = [
        op.Pipeline(each, runtime="openvino", config={"INFERENCE_PRECISION_HINT": "f32"})
        for each in (given, new, source)
    ]
    for pipe in pipes:
        assert [node.op_seed for node in pipe.streams.nodes] == [0, 1]
        answer = pipe(ZEROS, seed=42)
        assert sorted(answer) == ["y", "z"]
        for name in answer:
            assert_same_bits(answer[name], wanted[name])
    checkpoint = json.loads(json.dumps(pipes[0].request(seed=42).checkpoint()))
    first = pipes[1].request(seed=42)
    on = pipes[2].request(resume=checkpoint)
    for _ in range(2):
        assert_same_bits(on(ZEROS)["y"], first(ZEROS)["y"])
    in_openvino = partial(op.Pipeline, runtime="openvino")
    assert_refused(partial(op.Pipeline, given), "runtime='openvino'")
    words = "TypeError: each option must be one of config"
    assert_refused(partial(in_openvino, given, providers=[]), words)
    x = parameter("x", [2])
    lost = model({"y": opset8.relu(x)}, [x])
    assert_refused(partial(in_openvino, lost), "one with random nodes...may have lost them")


def test_a_rewritten_model_has_its_record_and_may_keep_its_state_in_a_variable(
    tmp_path: Path,
) -> None:
    new = op.make_reproducible(two_draws())
    read = through_ir(new, tmp_path)
    text, other = (str(m.get_rt_info(["onnx_philox.streams"]).value) for m in (new, read))
    assert text == other
    told = json.loads(text)
    assert (told["state"], told["next_state"]) == ("random_state", "next_random_state")
    expected = [["RandomUniform", "f32", 0, 0], ["RandomNormal", "f32", 0, 1]]
    assert told["nodes"] == expected
    wanted = drawn(new, STATE, **ZEROS)
    stateful = op.openvino.make_stateful(new, op.PhiloxState.for_run(42))
    got = drawn(stateful, **ZEROS)
    assert_all_same((got[name] for name in ("y", "z")), (wanted[name] for name in ("y", "z")))
    assert op.rewriting.find_random_nodes(stateful) == []
