"""Records of runs, and `onnx-philox replay`, on the real runtimes."""

from __future__ import annotations

import copy
import json
import pickle
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnx_philox
from onnx_philox import Pipeline
from onnx_philox._command.run import ArgumentError, run
from onnx_philox._command.wanted import WantedRuns
from tests.common import cli
from tests.common.cases import assert_refused, table
from tests.common.cli import keys_of, keys_said
from tests.common.file_cases import write
from tests.common.foreign import parse
from tests.common.runtimes import RUNTIMES, save_ir

MODELS = Path(__file__).parents[1] / "models"
HASH = "0" * 64

said = partial(cli.text, env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rewritten model, with the record of two runs."""
    folder = tmp_path_factory.mktemp("recorded")
    onnx.save(onnx_philox.make_reproducible(MODELS / "vae_decoder.onnx"), folder / "new.onnx")
    np.save(folder / "mean.npy", np.linspace(0, 1, 8000, dtype=np.float32).reshape(2000, 4))
    given = ("--seed", 42, "--runs", 2, "--fill", "--input", f"mean={folder / 'mean.npy'}")
    said("run", folder / "new.onnx", *given, "--record", folder / "record.json")
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    return tmp_path


Change = Callable[[dict[str, Any]], object]


def altered(folder: Path, change: Change) -> Path:
    """The record with a change."""
    record = json.loads((folder / "record.json").read_text())
    change(record)
    path = folder / "altered.json"
    path.write_text(json.dumps(record))
    return path


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_record_is_equal_in_both_runtimes(folder: Path, runtime: str) -> None:
    given = ("replay", folder / "record.json", "--runtime", runtime)
    found = cli.document(*given)
    assert (found["schema"], set(keys_of(found))) == keys_said("replay")
    kinds = {c["kind"] for c in found["checks"] if c["is_equal"]}
    assert kinds >= {"model", "streams", "seed", "input", "drawn", "state"}
    assert found["is_ok"]
    assert found["is_same_runtime"] == (runtime == "onnxruntime")
    text = re.sub(r"\b[0-9a-f]{12}\b|─+", "#", said(*given))
    assert text.endswith("draws.")
    if runtime == "onnxruntime":
        same = "{0} output images # # equal {0} next state next_random_state # # equal {0} drawn"
        runs = " ".join(f"{same.format(i)} randn_like # # equal" for i in (0, 1))
        assert text.partition("new.onnx # # equal ")[2] == (
            "random nodes random nodes equal seed seed 42 42 equal input log_variance # # equal "
            f"input mean # # equal {runs} Equal: model, random nodes, seed, inputs, outputs, next "
            "states, draws."
        )


ALTERED = [
    (
        lambda record: record["model"].update(sha256=HASH),
        "new.onnx has another hash",
    ),
    (
        lambda record: record["runs"][1]["outputs"][-1].update(sha256=HASH),
        "the drawn randn_like of run 1",
    ),
    (
        lambda record: record["runs"][0]["outputs"][0].update(sha256=HASH),
        "the output images of run 0",
    ),
    (
        lambda record: record["inputs"][1].update(sha256=HASH),
        "the input mean has another hash",
    ),
    (
        lambda record: record.update(seed=0),
        "the seed of run 0 in the record is not the key of its states; the seed of run 1 in the "
        "record is not the key of its states.",
    ),
    (
        lambda record: record["streams"].update(state="x"),
        "the model's random nodes are not those",
    ),
    (
        lambda record: record["runs"][0]["state"].__setitem__(0, 1),
        "the drawn randn_like of run 0",
    ),
    (
        lambda record: record["runs"][0]["outputs"].pop(),
        "run 0 is not in the record",
    ),
    (
        lambda record: record["runs"][0]["outputs"][-1].update(sha256=HASH, kind="computed"),
        "drawn randn_like of run 0 has another hash",
    ),
    (
        lambda record: record["runs"][0]["outputs"][0].update(kind="drawn"),
        "images of run 0 is drawn in the record, and computed now",
    ),
    (
        lambda record: record["runs"][1]["outputs"][-1].update(shape=[7, 0], type="int8"),
        "is int8 [7, 0] in the record, and float32 [2000",
    ),
    (
        lambda record: record["inputs"][1].update(shape=[4, 2000]),
        "the input mean is float32 [4, 2000] in the record, and float32 [2000, 4] now",
    ),
    (
        lambda record: record["inputs"][1].update(type="float64"),
        "the input mean is float64 [2000, 4] in the record",
    ),
    (
        lambda record: record["inputs"][0].update(argument="log_variance=y.npy"),
        "log_variance did not come from log_variance",
    ),
    (
        lambda record: record["inputs"][0].update(filled=3),
        "the input log_variance did not come from 3",
    ),
    (
        lambda record: record["streams"].update(alignment="pytorch"),
        'not those in the record: alignment was "pytorch", and is "tensorflow"',
    ),
    (
        lambda record: record["streams"].update(fingerprint="0" * 16),
        "fingerprint was",
    ),
    (
        lambda record: record["streams"].update(nodes=[]),
        "the lists of nodes differ",
    ),
    (
        lambda record: record["streams"]["nodes"][0].update(op_seed=5),
        "the lists of nodes differ",
    ),
    (
        lambda record: record["streams"].update(batch="mean"),
        'batch was "mean", and is null',
    ),
    (
        lambda record: record.update(streams=None),
        "the model's random nodes are not those in the record.",
    ),
    (
        lambda record: record["runs"][0].update(run=7),
        "the run number is 7 in the record, and 0 by its states",
    ),
    (
        lambda record: record["runs"][1].update(run=0),
        "the run number is 0 in the record, and 1 by its states",
    ),
    (
        lambda record: record["runs"][1]["state"].__setitem__(3, 0),
        "the drawn randn_like of run 1",
    ),
    (
        lambda record: record.update(how="CPU"),
        "how is CPU in the record, which this runtime never reports",
    ),
    (
        lambda record: record.update(precision="f16"),
        "the precision is f16 in the record",
    ),
]


@pytest.mark.parametrize(("change", "named"), ALTERED)
def test_replay_names_what_was_altered_in_a_record(
    folder: Path, change: Change, named: str
) -> None:
    path = altered(folder, change)
    assert named in said("replay", path, code=1).partition("Different: ")[2]


def test_another_version_in_the_record_is_said_and_is_no_difference(folder: Path) -> None:
    changes: list[tuple[Change, str]] = [
        (lambda record: record.update(version="0.0.1"), "runtime version 0.0.1"),
        (lambda record: record["versions"].update(python="0.0.1"), "runtime python 0.0.1"),
    ]
    for change, words in changes:
        found = said("replay", altered(folder, change))
        assert words in found
        assert "other rounding" not in found
        assert "Equal: " in found


def test_a_model_without_a_state_or_with_a_given_one_has_runs_from_0_and_no_seed(
    tmp_path: Path,
) -> None:
    for name, seed in (("s", 3), ("m", None)):
        made = onnx_philox.make_reproducible(MODELS / "mc_dropout.onnx", seed=seed)
        onnx.save(made, tmp_path / f"{name}.onnx")
    np.save(tmp_path / "at.npy", onnx_philox.PhiloxState.for_run(5, 9).to_array())
    record = ("--record", tmp_path / "record.json", "--runs", 2)
    for name, given in (("m", ("--input", f"random_state={tmp_path / 'at.npy'}")), ("s", ())):
        said("run", tmp_path / f"{name}.onnx", "--fill", *given, *record)
        assert "Equal: " in said("replay", tmp_path / "record.json")
        edited = altered(tmp_path, lambda record: record["runs"][1].update(run=10))
        told = said("replay", edited, code=1)
        assert "the run number is 10 in the record, and 1 by its states" in told
    changes: list[tuple[Change, str]] = [
        (lambda record: record.update(seed=3), "the seed is in the record, and not in this run"),
        (
            lambda record: record["runs"][0].update(state=[0, 0, 0, 0, 3, 0]),
            "the state of run 0 is in the record",
        ),
    ]
    for change, words in changes:
        assert words in said("replay", altered(tmp_path, change), code=1)


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\x07", "\u202e"])
@pytest.mark.parametrize("place", ["version", "how", "name of an output"])
def test_a_terminal_obeys_nothing_that_a_record_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, text: str
) -> None:
    def change(record: dict[str, Any]) -> None:
        if place == "name of an output":
            record["runs"][0]["outputs"][0]["name"] = text
        else:
            record[place] = text

    path = altered(folder, change)
    for colour in ("", "1"):
        monkeypatch.setenv("FORCE_COLOR", colour)
        done = cli.invoke("replay", path)
        assert ("\x1b[32mdrawn" in done.output) is bool(colour)
        assert text not in done.output
        # rich itself leaves out a few of them.
        assert text == "\x07" or ascii(text)[1:-1] in done.output


def test_how_a_pipeline_was_opened_is_named_where_the_runtime_refuses_what_follows(
    tmp_path: Path,
) -> None:
    pipe = Pipeline(MODELS / "mc_dropout.onnx", per_row=True)
    result = pipe({"x": np.ones((3, 1), np.float32)}, seeds=[5, 6, 7])
    (tmp_path / "record.json").write_text(json.dumps(result.record()))
    changes: list[Change] = [
        lambda record: record["model"].update(per_row=False),
        lambda record: record["streams"].update(alignment="pytorch"),
    ]
    for change in changes:
        found = said("replay", altered(tmp_path, change), code=1)
        assert "The runtime refused what differs, so no more was compared." in found
        assert "the model's random nodes are not those in the record" in found


def test_an_altered_input_is_named(folder: Path) -> None:
    np.save(folder / "other.npy", np.zeros((2000, 4), np.float32))
    given = ("--input", f"mean={folder / 'other.npy'}")
    last = said("replay", folder / "record.json", *given, code=1).partition("Different: ")[2]
    assert last.startswith("the input mean has another hash; the output images of run 0")
    assert "drawn" not in last


NO_RECORDS = table("""
{ -> the file must be as onnx-philox run --record
[1] -> got JSON without the key 'onnx_philox_record'
DEEP -> nested too deep
\udcff -> no JSON
{"onnx_philox_record": 2} -> got 2, and this version reads 1
{"onnx_philox_record": true} -> got True, and this version reads 1
{"onnx_philox_record": 1} -> versions must be as
""")


@pytest.mark.parametrize(("text", "named"), NO_RECORDS)
def test_what_is_no_record_is_refused_in_a_sentence(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.replace("DEEP", "[" * 100_000).encode(errors="surrogateescape"))
    assert named in cli.refusal("replay", path)


DAMAGED = [
    (
        lambda record: record.pop("runs"),
        "runs must be as",
    ),
    (
        lambda record: record["runs"][0].update(state=[1]),
        "runs[0].state must be as",
    ),
    (
        lambda record: record["inputs"][0].update(base64="x"),
        "inputs['log_variance'].base64 must be as",
    ),
    (
        lambda record: record["inputs"][1].update(type="thing"),
        "inputs[1].type must be as",
    ),
    (
        lambda record: record["inputs"][1].update(argument=None),
        "the record has its hash alone",
    ),
    (
        lambda record: record.update(runtime="other"),
        "--runtime must be one of",
    ),
    (
        lambda record: record["model"].update(file="gone.onnx"),
        "pass where it is, with --model FILE",
    ),
    (
        lambda record: record["model"].update(file=None),
        "--model must be given",
    ),
    (
        lambda record: record["inputs"].pop(0),
        "'log_variance'",
    ),
    (
        lambda record: record["inputs"][1].update(argument="x=y.npy"),
        "'x'",
    ),
    (
        lambda record: record.update(runs=[]),
        "runs must be as onnx-philox run --record",
    ),
    (
        lambda record: record["runs"][0].update(run=None),
        "runs[0].run must be as",
    ),
    (
        lambda record: record["model"].update(per_row=False),
        "runs[0].run must be as",
    ),
    (
        lambda record: record.update(
            streams=None,
            model={**record["model"], "per_row": True},
            runs=[{**record["runs"][0], "run": None}],
        ),
        "streams must be as",
    ),
    (
        lambda record: record["model"].update(per_row="mean"),
        "model.per_row must be as",
    ),
    (
        lambda record: record["model"]["beside"].update({"\ud800": HASH}),
        "model.beside must be as",
    ),
    (
        lambda record: record["streams"].update(nodes=1),
        "streams.nodes must be as",
    ),
    (
        lambda record: record["streams"]["nodes"][0].pop("op_seed"),
        "streams.nodes[0].op_seed must be as",
    ),
    (
        lambda record: record["streams"].update(alignment="torch"),
        "streams.alignment must be as",
    ),
    (
        lambda record: record["streams"].pop("batch"),
        "streams.batch must be as",
    ),
    (
        lambda record: record["versions"].update(python=3),
        "versions.python must be as",
    ),
    (
        lambda record: record.update(how="\udfff"),
        "how must be as",
    ),
    (
        lambda record: record["runs"][0]["state"].__setitem__(0, 2**32),
        "runs[0].state must be as",
    ),
    (
        lambda record: record["inputs"].append(record["inputs"][0]),
        "inputs must be as",
    ),
    (
        lambda record: record.update(seed=2**64),
        "seed must be as",
    ),
    (
        lambda record: record["runs"][0]["outputs"][0].update(shape=[-1]),
        "runs[0].outputs[0].shape must be as",
    ),
    (
        lambda record: record["runs"][0]["outputs"][0].update(sha256="0" * 63),
        "runs[0].outputs[0].sha256 must be as",
    ),
    (
        lambda record: record["runs"][0]["outputs"][0].update(sha256="g" * 64),
        "runs[0].outputs[0].sha256 must be as",
    ),
    (
        lambda record: record["runs"][1].update(run=-1),
        "runs[1].run must be as",
    ),
    (
        lambda record: record["model"].update(keep_seeds=1),
        "model.keep_seeds must be as",
    ),
    (
        lambda record: record["model"].update(draw={"noise": 1}),
        "model.draw must be as",
    ),
    (
        lambda record: record["runs"][1]["outputs"].append(record["runs"][1]["outputs"][0]),
        "runs[1].outputs must be as",
    ),
]


@pytest.mark.parametrize(("change", "named"), DAMAGED)
def test_a_damaged_record_is_refused_in_a_sentence(
    folder: Path, change: Change, named: str
) -> None:
    assert named in cli.refusal("replay", altered(folder, change))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_result_is_recorded_and_replayed_in_both(tmp_path: Path, runtime: str) -> None:
    path = tmp_path / "model.onnx"
    shutil.copy(MODELS / "vae_decoder.onnx", path)
    # In bytes nothing says where the model is.
    pipe = Pipeline(path if runtime == "openvino" else path.read_bytes(), runtime=runtime)
    feed = {name: np.zeros((2, 4), np.float32) for name in ("mean", "log_variance")}
    request = pipe.request(seed=7)
    request(feed)
    result = request(feed)
    (tmp_path / "r.json").write_text(json.dumps(copy.copy(result).record()))
    model = () if runtime == "openvino" else ("--model", path)
    for each in RUNTIMES:
        given = ("replay", tmp_path / "r.json", "--runtime", each, *model)
        assert "draws" in said(*given).partition("Equal: ")[2]
    (entry,) = [o for o in result.record()["runs"][0]["outputs"] if o["kind"] == "drawn"]
    assert entry["shape"] == [2, 4]


NOISY = """g (float[N, 3] x, float[N, 3] noise, float[N, 3] z) => (float[N, 3] y) {
    s = Add (x, noise)  y = Mul (s, z) }"""


@pytest.mark.parametrize("alignment", ["pytorch", "tensorflow"])
def test_a_record_says_which_inputs_were_drawn_and_replays_them(
    tmp_path: Path, alignment: str
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse(NOISY), path)
    # Their order decides what each draws.
    draw = {"z": "normal", "noise": "uniform(-1, 1)"}
    pipe = Pipeline(path, draw=draw, alignment=alignment)
    record = pipe({"x": np.zeros((2, 3), np.float32)}, seed=7).record()
    assert [*record["model"]["draw"].items()] == [*draw.items()]
    (tmp_path / "record.json").write_text(json.dumps(record))
    for runtime in RUNTIMES:
        given = ("replay", tmp_path / "record.json", "--runtime", runtime)
        assert "draws" in said(*given).partition("Equal: ")[2]
    other = altered(tmp_path, lambda record: record["model"]["draw"].update(z="uniform"))
    assert "the model's random nodes are not those in the record" in said("replay", other, code=1)


@pytest.mark.parametrize("alignment", ["pytorch", "tensorflow"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_seeds_of_rows_are_run_recorded_replayed_and_compared(
    tmp_path: Path, alignment: str, runtime: str
) -> None:
    path, record, x = (tmp_path / name for name in ("m.onnx", "record.json", "x.npy"))
    model = MODELS / "mc_dropout.onnx"
    seeds = [3, 8, 2**64 - 1]
    onnx.save(onnx_philox.make_reproducible(model, per_row=True, alignment=alignment), path)
    np.save(x, np.ones((3, 1), np.float32))
    given = (path, "--seeds", "3,8,18446744073709551615", "--input", f"x={x}")
    told = said("run", *given, "--runtime", runtime, "--runs", 2, "--record", record)
    assert "; seed 3,8,18446744073709551615" in told
    edited = altered(tmp_path, lambda record: record.update(seed=[3, 1, 2**64 - 1]))
    told = said("replay", edited, code=1)
    assert "the seed of run 0 in the record is not the key of its states" in told
    pipe = Pipeline(path, runtime=runtime)
    result = pipe({"x": np.load(x)}, seeds=seeds)
    (tmp_path / "result.json").write_text(json.dumps(result.record()))
    assert "Equal" in said("replay", tmp_path / "result.json", "--runtime", "openvino")
    written = json.loads(record.read_text())
    assert record.read_text() == json.dumps(written, indent=2) + "\n"
    expected = Pipeline(path).request(seeds=seeds).checkpoint()["state"]
    assert (written["seed"], written["runs"][0]["state"]) == (seeds, expected)
    assert "Equal" in said("replay", record)
    assert "Equal" in said("compare", *given, "--runs", 2)


def saved(folder: Path, suffix: str) -> Path:
    """A model with its weights beside it."""
    target = write(folder / "m.onnx", "m.bin")
    if suffix == ".xml":
        return save_ir(onnx_philox.make_reproducible(target), folder / "m.xml")
    onnx_philox.rewriting.rewrite_file(target, target)
    return target


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize(
    "changed", [replaced, lambda path: path.write_bytes(path.read_bytes()), Path.unlink]
)
@pytest.mark.parametrize("file", ["m.onnx", "m.bin of m.onnx", "m.xml", "m.bin of m.xml"])
def test_files_that_were_changed_since_are_not_recorded_as_the_model(
    file: str, changed: Callable[[Path], None], tmp_path: Path
) -> None:
    name = file.split()[-1]
    path = saved(tmp_path, Path(name).suffix)
    pipe = Pipeline(path, runtime="openvino" if name == "m.xml" else "onnxruntime")
    result = pipe({}, seed=3)
    assert "m.bin" in result.record()["model"]["beside"]
    changed(tmp_path / file.split()[0])
    words = f"{name}' with its weights must be what it was ...: got one that was changed or is gone"
    assert_refused(result.record, words)


def test_files_that_change_while_a_model_runs_are_not_recorded_as_the_model(tmp_path: Path) -> None:
    path = saved(tmp_path, ".onnx")
    record = tmp_path / "record.json"

    def progress(_: int, total: int, what: str) -> None:
        if what == f"run {total - 1}":
            replaced(tmp_path / "m.bin")

    wanted = WantedRuns(seed=1, runs=2, fills=True)
    with pytest.raises(ArgumentError, match="weights must be what it was when it was opened"):
        run(path, wanted, record=record, progress=progress)
    assert not record.exists()


def test_what_cannot_be_recorded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, ".onnx")
    pipe = Pipeline(path.read_bytes(), runtime="openvino")
    assert_refused(pipe({}, seed=3).record, "got bytes with weights in 'm.bin'")
    pipe = Pipeline("m.onnx")
    result = pipe({}, seed=3)
    monkeypatch.chdir("/")
    assert_refused(result.record, "by its whole path if os.chdir was called")
    feed = {"x": np.ones((3, 1), np.float32)}
    pipe = Pipeline(MODELS / "mc_dropout.onnx")
    for rows in (1024, 1025):
        (entry,) = pipe({"x": np.ones((rows, 1), np.float32)}, seed=1).record()["inputs"]
        assert (entry["base64"] is None) is (rows > 1024)
    result = pipe(feed, seed=1)
    feed["x"][0] = 2
    with pytest.raises(ValueError, match="Record before the feed or the outputs are changed"):
        result.record()
    assert_refused(pickle.loads(pickle.dumps(result)).record, "or that was pickled")
    pipe.close()
    assert_refused(result.record, "one whose pipeline is closed or gone")
    pipe = Pipeline(onnx.load(MODELS / "mc_dropout.onnx"))
    result = pipe(feed, seed=1)
    assert_refused(result.record, "Save the model, and pass Pipeline its path")
