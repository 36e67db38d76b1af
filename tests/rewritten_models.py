"""Runs the files of `rewritten_by_e86cabc`, for the test and for the script that made them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from real_models import Arrays, load_in_onnxruntime, load_in_openvino, same, with_draws_as_outputs
from runtimes import OpenVino

from onnx_philox import Pipeline, row_states

SEED = 0xFEDCBA9876543210
HIDDEN = (
    *("vae_decoder", "mc_dropout_rows", "diffusion_loop", "diffusion_scan", "bert"),
    "tensorflow_draws",
)
"""What these draw is no output of the file."""
STEMS = (
    *HIDDEN,
    *("branches", "loop_rows", "old_opset", "seeded", "every_operator"),
    *("standard_onnxruntime", "standard_openvino"),
)
_COMPUTED = "y"
_NEXT = "next_random_state"


def engines_of(path: Path) -> Iterator[tuple[str, str | None]]:
    """The runtimes and precisions that run a file; None is the precision that OpenVINO chooses."""
    if path.suffix != ".xml" and path.stem != "standard_openvino":
        yield "onnxruntime", None
    if path.stem != "standard_onnxruntime":
        yield "openvino", "f32"
        if path.stem != "standard_openvino":
            yield "openvino", None


def visible(path: Path) -> Any:
    """The file; or a model that gives its draws as outputs, too, where the file does not."""
    return with_draws_as_outputs(onnx.load(path)) if path.stem in HIDDEN else path


def four_runs(path: Path, feed: Arrays, runtime: str, precision: str | None) -> list[Arrays]:
    """What four runs draw, each from the state after the one before; one where a seed is inside."""
    model = visible(path)
    if runtime == "onnxruntime":
        run = load_in_onnxruntime(model, "native")
    else:
        run = load_in_openvino(OpenVino("native"), model, precision)
    if path.stem == "seeded":
        return [_draws(run(feed))]
    state = row_states([SEED, 1, 2] if path.stem.endswith("_rows") else [SEED])
    if not path.stem.endswith("_rows"):
        (state,) = state
    runs = []
    for _ in range(4):
        runs.append(_draws(run({**feed, "random_state": state})))
        state = runs[-1][_NEXT]
    return runs


def pipeline(path: Path, runtime: str) -> Pipeline:
    """The pipeline of a file as it is."""
    return Pipeline(path, runtime=runtime)


def resumed_runs(path: Path, feed: Arrays, runtime: str, checkpoint: Any) -> list[Arrays]:
    """What the two runs draw that follow a checkpoint; the file as it is gives the same states."""
    requests = [pipeline(path, runtime).request(resume=checkpoint)]
    if path.stem in HIDDEN:
        requests.append(Pipeline(visible(path), runtime=runtime).request(resume=checkpoint))
    runs = []
    for _ in range(2):
        outputs = [request(feed) for request in requests]
        same([requests[0].state], [requests[-1].state])
        runs.append({**_draws(outputs[-1]), _NEXT: requests[-1].state})
    return runs


def same_draws(one: list[Arrays], other: list[Arrays]) -> None:
    """Each run drew the same bits, by name."""
    for drawn, expected in zip(one, other, strict=True):
        assert drawn.keys() == expected.keys()
        same([drawn[name] for name in sorted(drawn)], [expected[name] for name in sorted(drawn)])


def _draws(outputs: Any) -> Arrays:
    """Only what was drawn: what a model computes from it is the runtime's own arithmetic."""
    is_shown = any(name.startswith("draw_") for name in outputs)
    return {
        name: np.asarray(array)
        for name, array in outputs.items()
        if name == _NEXT or (name.startswith("draw_") if is_shown else name != _COMPUTED)
    }
