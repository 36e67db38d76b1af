"""The examples for data and serving engines, on the real packages: `pytest -m engines`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from onnx_philox import Pipeline
from tests.common import child

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("score_with_dask", "score_with_ray_data", "serve_with_ray")
# Of 1000 rows: noise, dropout, and arithmetic that rounds alike in every batch.
HASH = "5c1b6174bd14d9fa4a9d0bd75165e4819ddb2369cb88aff24ecc927300e473f9"
MODEL = str(ROOT / "examples" / "noise_and_dropout.onnx")


def run(script: str, *arguments: str) -> list[str]:
    """The lines that a script prints, which finds the examples, as its workers do."""
    # Ray asks nobody in the world.
    environment = {"PYTHONPATH": str(ROOT / "examples"), "RAY_USAGE_STATS_ENABLED": "0"}
    there = ROOT / "examples"
    done = child.python(ROOT / script, *arguments, env=environment, cwd=there, timeout=240)
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 45
    if name.startswith("score"):
        assert f"It prints {HASH[:16]}... for any" in text
    else:
        _, _, answered = text.partition("it answers\n")
        said = json.loads(answered.partition(".\nA model")[0])
        drawn = Pipeline(MODEL, per_row=True)(
            {"x": np.float32([[1, 2, 3, 4]])}, seeds=[said["seed"]]
        )
        assert said["y"] == drawn["y"].tolist()[0]


@pytest.mark.engines
@pytest.mark.parametrize(
    ("engine", "cuts"), [("dask", ("4 37", "2 10")), ("ray_data", ("4 37", "2 64"))]
)
def test_an_engine_scores_alike_with_any_workers_cuts_and_deaths(
    engine: str, cuts: tuple[str, ...], tmp_path: Path
) -> None:
    lines = run(f"tests/engines/{engine}_workers.py", MODEL, str(tmp_path / "killed"))
    expected = [f"{cut} {HASH}" for cut in cuts]
    assert found(lines) == expected
    # What the example itself prints.
    assert HASH in lines


@pytest.mark.engines
def test_ray_serve_answers_as_if_each_was_served_alone(tmp_path: Path) -> None:
    lines = run("tests/engines/ray_serve_requests.py", MODEL, str(tmp_path / "sizes"))
    assert found(lines) == [
        "200 undisturbed 0 wrong",
        "200 killed 0 wrong",
        "a seed of the server's: True",
    ]
    # Batches of several sizes were formed, by chance.
    sizes = set((tmp_path / "sizes").read_text().split())
    assert len(sizes) > 2, sizes


@pytest.mark.engines
def test_tokens_of_a_request_depend_on_its_seed_alone() -> None:
    lines = run("examples/tokens/requests.py")
    for runtime in ("ONNX Runtime", "OpenVINO"):
        same = f"{runtime}: the same alone: True, in another batch: True, resumed: True"
        assert same in lines, lines
    assert any(line.startswith("the same tokens in both runtimes: True;") for line in lines), lines


@pytest.mark.engines
def test_a_sampler_draws_its_input_by_torchs_numbers() -> None:
    lines = run("examples/flow_matching.py")
    drawn = [line for line in lines if "first point" in line]
    assert len(drawn) == 2
    assert all(line.endswith("as torch's: True") for line in drawn), drawn


def found(lines: list[str]) -> list[str]:
    """What a script found; Ray prints of its own on the same stream."""
    return [line.removeprefix("found ") for line in lines if line.startswith("found ")]
