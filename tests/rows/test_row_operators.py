"""make_reproducible(per_row=True): behind which single operators of ONNX a draw has rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from onnx_philox import row_states
from tests.rows.row_judge import (
    SUBSETS,
    Load,
    Run,
    in_onnxruntime,
    in_openvino,
    read_by_openvino,
    rewritten,
)
from tests.rows.row_operators import BETWEEN, Between

SEEDS = [31, 41, 59, 26, 53]

REFUSED = {
    "ONNX": {
        "Unique": "how many it keeps, and in which order, depends on the rows",
        "NonZero": "how many it finds depends on the values",
        "Upsample": "an opset before 13 has no states for rows",
        "SequenceMap": "the shape of what its body makes is known only in a run",
    },
    "IR": {
        "Unique": "how many it keeps, and in which order, depends on the rows",
        "NonZero": "how many it finds depends on the values",
        "CenterCropPad": "OpenVINO's front end makes a Pad of it whose pads only a run knows",
    },
}
"""Draws behind these are refused, each with the reason."""


def fed(case: Between, rows: tuple[int, ...]) -> dict[str, np.ndarray]:
    sizes = [len(SEEDS) if size.strip() == "N" else int(size) for size in case.dims.split(",")]
    x = np.random.default_rng(3).uniform(0.1, 0.9, sizes).astype(np.float32)
    return {"x": x.take(rows, case.axis)}


def check(model: Any, case: Between, load: Load, plain: Run) -> None:
    """Each row of the noise is what a batch of that row alone draws: the plain model draws it."""
    alone = []
    for row, seed in enumerate(SEEDS):
        feed = {**fed(case, (row,)), "random_state": row_states([seed])[0]}
        alone.append(plain(feed)["r"])
    run = load(rewritten(model, per_row=True))
    for rows in SUBSETS:
        states = row_states([SEEDS[row] for row in rows])
        drawn = run({**fed(case, rows), "random_state": states})["r"]
        pairs = enumerate(zip(drawn.shape, alone[0].shape, strict=True))
        growing = [axis for axis, (many, one) in pairs if many != one]
        axis = growing[0] if growing else case.axis
        expected = np.concatenate([alone[row] for row in rows], axis)
        np.testing.assert_array_equal(drawn, expected)


def as_onnx(model: onnx.ModelProto) -> onnx.ModelProto:
    return model


READERS: dict[str, Callable[[onnx.ModelProto], Any]] = {"ONNX": as_onnx, "IR": read_by_openvino}
LOADERS = {"ONNX": [in_onnxruntime, in_openvino], "IR": [in_openvino]}


def plain_run(model: Any, case: Between, load: Load) -> Run | None:
    """The model without states for rows; None where the runtime does not have the operator."""
    try:
        plain = load(rewritten(model))
        plain({**fed(case, (0,)), "random_state": row_states([1])[0]})
    except Exception:
        return None
    return plain


@pytest.mark.parametrize(("name", "how"), [(name, how) for name in BETWEEN for how in READERS])
def test_noise_shaped_by_any_operator_draws_rows_or_is_refused(name: str, how: str) -> None:
    case = BETWEEN[name]
    try:
        model = READERS[how](case.model)
    except Exception:
        assert how == "IR", "ONNX Runtime reads every model of the table"
        pytest.skip("OpenVINO does not read the operator")
    if name in REFUSED[how]:
        with pytest.raises(ValueError, match="row"):
            rewritten(model, per_row=True)
        return
    plain_runs = [(load, plain_run(model, case, load)) for load in LOADERS[how]]
    runs = [(load, plain) for load, plain in plain_runs if plain is not None]
    assert runs or how == "IR"
    for load, plain in runs:
        check(model, case, load, plain)
