"""Files that an earlier version rewrote draw what they drew, and its checkpoints go on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rewritten_models import STEMS, Arrays, engines_of, four_runs, resumed_runs, same_draws

FOLDER = Path(__file__).parent / "rewritten_by_e86cabc"
PATHS = {
    stem: next(p for p in FOLDER.glob(f"{stem}.*") if p.suffix in (".onnx", ".xml"))
    for stem in STEMS
}
EXPECTED: dict[str, tuple[Arrays, list[Arrays]]] = {}


def expected_of(stem: str) -> tuple[Arrays, list[Arrays]]:
    """The feed, and the draws run by run."""
    if stem not in EXPECTED:
        parts: dict[str, Arrays] = {}
        with np.load(FOLDER / f"{stem}.npz") as arrays:
            for key in arrays:
                part, _, name = key.partition(":")
                parts.setdefault(part, {})[name] = arrays[key]
        EXPECTED[stem] = parts.pop("feed"), [parts[key] for key in sorted(parts)]
    return EXPECTED[stem]


@pytest.mark.parametrize(
    ("stem", "runtime", "precision"),
    [(stem, *engine) for stem, path in PATHS.items() for engine in engines_of(path)],
)
def test_a_file_draws_what_it_drew(stem: str, runtime: str, precision: str | None) -> None:
    feed, runs = expected_of(stem)
    same_draws(four_runs(PATHS[stem], feed, runtime, precision), runs)


@pytest.mark.parametrize(
    ("stem", "runtime"),
    [
        (stem, runtime)
        for stem, path in PATHS.items()
        for runtime in dict.fromkeys(runtime for runtime, _ in engines_of(path))
        if stem != "seeded"
    ],
)
def test_a_request_goes_on_from_a_checkpoint_of_any_runtime(stem: str, runtime: str) -> None:
    feed, runs = expected_of(stem)
    checkpoints = json.loads((FOLDER / f"{stem}.json").read_text())
    for checkpoint in {json.dumps(checkpoint) for checkpoint in checkpoints.values()}:
        same_draws(resumed_runs(PATHS[stem], feed, runtime, checkpoint), runs[2:])
