"""The examples for data and serving engines, on the real packages: `pytest -m engines`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ("score_with_dask", "score_with_ray_data", "serve_with_ray")
# Of 1000 rows: noise, dropout, and arithmetic that rounds alike in every batch.
HASH = "5c1b6174bd14d9fa4a9d0bd75165e4819ddb2369cb88aff24ecc927300e473f9"
MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 4] x) => (float[batch, 4] y) {
  noise = RandomNormalLike (x)
  noisy = Add (x, noise)
  ratio = Constant <value_float = 0.25> ()
  yes = Constant <value = bool {1}> ()
  y = Dropout (noisy, ratio, yes)
}"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return str(path)


def run(script: str, *arguments: str) -> list[str]:
    """The lines that a script prints, which finds the examples, as its workers do."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "examples"),
        # Ray asks nobody in the world.
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    done = subprocess.run(
        [sys.executable, ROOT / script, *arguments],
        env=environment,
        cwd=ROOT / "examples",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) <= 40


@pytest.mark.engines
def test_dask_scores_alike_with_any_workers_chunks_and_deaths(model: str, tmp_path: Path) -> None:
    assert run("examples/score_with_dask.py", model, "1", "1000") == [HASH]
    lines = run("tests/engines/dask_workers.py", model, str(tmp_path / "killed"))
    assert found(lines) == [f"{cut} {HASH}" for cut in ("4 37", "2 10")]


@pytest.mark.engines
def test_ray_data_scores_alike_with_any_workers_blocks_and_deaths(
    model: str, tmp_path: Path
) -> None:
    lines = run("tests/engines/ray_data_workers.py", model, str(tmp_path / "killed"))
    assert found(lines) == [f"{cut} {HASH}" for cut in ("4 37", "2 64")]
    # What the example itself prints.
    assert HASH in lines


@pytest.mark.engines
def test_ray_serve_answers_as_if_each_was_served_alone(model: str, tmp_path: Path) -> None:
    lines = run("tests/engines/ray_serve_requests.py", model, str(tmp_path / "sizes"))
    assert found(lines) == [
        "200 undisturbed 0 wrong",
        "200 killed 0 wrong",
        "a seed of the server's: True",
    ]
    # Batches of several sizes were formed, by chance.
    sizes = set((tmp_path / "sizes").read_text().split())
    assert len(sizes) > 2, sizes


def found(lines: list[str]) -> list[str]:
    """What a script found; Ray prints of its own on the same stream."""
    return [line.removeprefix("found ") for line in lines if line.startswith("found ")]
