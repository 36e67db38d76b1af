"""Files that an earlier version rewrote draw what they drew, and its checkpoints go on."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnx_philox import Pipeline, row_states
from tests.common import cli
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.real_models import (
    Arrays,
    load_in_onnxruntime,
    load_in_openvino,
    with_draws_as_outputs,
)
from tests.common.runtimes import OpenVino

FOLDER = Path(__file__).parent / "rewritten_by_e86cabc"
SEED = 0xFEDCBA9876543210
# What the first of these draw is no output of the file.
HIDDEN = ["vae_decoder", "mc_dropout_rows", "diffusion_loop", "diffusion_scan", "bert"]
HIDDEN += ["tensorflow_draws"]
STEMS = [*HIDDEN, "branches", "loop_rows", "old_opset", "seeded", "every_operator"]
STEMS += ["standard_onnxruntime", "standard_openvino"]
PATHS = {s: next(p for p in FOLDER.glob(f"{s}.*") if p.suffix in (".onnx", ".xml")) for s in STEMS}
NEXT = "next_random_state"
# The runtimes and precisions that run a file; None is the precision that OpenVINO chooses.
ENGINES = [("onnxruntime", None), ("openvino", "f32"), ("openvino", None)]
RUNS_IN = dict.fromkeys(STEMS, ENGINES) | {
    "every_operator": ENGINES[1:],
    "standard_onnxruntime": ENGINES[:1],
    "standard_openvino": ENGINES[1:2],
}


@cache
def expected_of(stem: str) -> tuple[Arrays, list[Arrays]]:
    """The feed, and the draws run by run."""
    parts: dict[str, Arrays] = {}
    with np.load(FOLDER / f"{stem}.npz") as arrays:
        for key in arrays:
            part, _, name = key.partition(":")
            parts.setdefault(part, {})[name] = arrays[key]
    return parts.pop("feed"), [parts[key] for key in sorted(parts)]


def visible(stem: str) -> Any:
    """The file; or a model that gives its draws as outputs, too, where the file does not."""
    return with_draws_as_outputs(onnx.load(PATHS[stem])) if stem in HIDDEN else PATHS[stem]


def draws(outputs: Any) -> Arrays:
    """Only what was drawn: what a model computes from it is the runtime's own arithmetic."""
    is_shown = any(name.startswith("draw_") for name in outputs)
    return {
        name: np.asarray(array)
        for name, array in outputs.items()
        if name == NEXT or (name.startswith("draw_") if is_shown else name != "y")
    }


def assert_drew(drawn: Arrays, expected: Arrays) -> None:
    """The same bits, by name."""
    assert drawn.keys() == expected.keys()
    assert_all_same([drawn[name] for name in expected], expected.values())


@pytest.mark.parametrize(
    ("stem", "runtime", "precision"),
    [(stem, *engine) for stem, engines in RUNS_IN.items() for engine in engines],
)
def test_a_file_draws_what_it_drew(stem: str, runtime: str, precision: str | None) -> None:
    """Run after run, each from the state after the one before; one where a seed is inside."""
    feed, runs = expected_of(stem)
    if runtime == "onnxruntime":
        run = load_in_onnxruntime(visible(stem), "native")
    else:
        run = load_in_openvino(OpenVino("native"), visible(stem), precision)
    states = row_states([SEED, 1, 2])
    state = {"random_state": states if stem.endswith("_rows") else states[0]}
    assert len(runs) == (1 if stem == "seeded" else 4)
    for expected in runs:
        drawn = draws(run(feed if stem == "seeded" else feed | state))
        assert_drew(drawn, expected)
        state = {"random_state": drawn.get(NEXT)}


@pytest.mark.parametrize(
    ("stem", "runtime"),
    [
        (stem, runtime)
        for stem, engines in RUNS_IN.items()
        for runtime in dict(engines)
        if stem != "seeded"
    ],
)
def test_a_request_goes_on_from_a_checkpoint_of_any_runtime(stem: str, runtime: str) -> None:
    """The file as it is gives the same states as with its draws as outputs."""
    feed, runs = expected_of(stem)
    checkpoints = json.loads((FOLDER / f"{stem}.json").read_text())
    models = [*[PATHS[stem]] * (stem in HIDDEN), visible(stem)]
    pipes = [Pipeline(model, runtime=runtime) for model in models]
    for checkpoint in {json.dumps(checkpoint) for checkpoint in checkpoints.values()}:
        *plain, shown = (pipe.request(resume=checkpoint) for pipe in pipes)
        for expected in runs[2:]:
            drawn = draws(shown(feed))
            for request in plain:
                request(feed)
                assert_same_bits(request.state, shown.state)
            assert_drew({**drawn, NEXT: shown.state}, expected)


RECORDS = json.loads((FOLDER.parent / "records_by_6439aa5.json").read_text())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: str(record["runs"][0]["run"]))
def test_records_that_an_earlier_version_wrote_replay_equal(tmp_path: Path, record: Any) -> None:
    (tmp_path / "record.json").write_text(json.dumps(record))
    done = cli.invoke("replay", tmp_path / "record.json", "--model", PATHS["old_opset"])
    assert done.exit_code == 0, done.output
    assert "Equal: model, random nodes, seed" in done.stdout
