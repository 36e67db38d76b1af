"""The golden cases of what version 1 of the domain gained: RandomCategorical's `replacement`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from case import DTYPES, STATE, Arrays, Case, Check
from version_1_rows import ROWS, SEEDS

from onnx_philox import PhiloxState, graphs, reference

LOGITS = np.array(
    [
        [0.0, 1.0, -2.0, 0.5, 0.5, -math.inf, 3.0],
        [-1e4, -690.0, -700.0, 0.0, -0.0, -700.0, -math.inf],
        [2.0] * 7,
        [-1.0, 1e-3, -3.0, 7.0, -math.inf, 2.0, 6.5],
    ]
)
SOURCE = "NumPy's logarithm and exp of onnx_philox.reference's f64 uniforms"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for type_ in ("f16", "f32", "f64"):
        logits = LOGITS.astype(DTYPES[type_])
        for output_type in ("i32", "i64"):
            model = graphs.random_categorical(logits, 5, output_type, False, stateful=True)
            runs = [{"state": STATE}, {"state": ROWS[0]}]
            check = _in_order_of_arrival(logits, runs)
            yield f"once_{type_}_{output_type}_state", Case(model, runs, check, SOURCE)
        model = graphs.random_categorical(logits, 1, replacement=False, **SEEDS)
        check = _in_order_of_arrival(logits, [{}])
        yield f"once_{type_}_seeds", Case(model, [{}], check, SOURCE)
    # OpenVINO refuses f64 logits that are not constant.
    for type_ in ("f16", "f32"):
        logits = LOGITS.astype(DTYPES[type_])
        model = graphs.random_categorical(None, 3, "i64", False, logits_type=type_, stateful=True)
        runs = [{"logits": given, "state": STATE} for given in (logits, logits[2:], logits[:0])]
        check = _in_order_of_arrival(logits, runs)
        yield f"once_{type_}_input_logits", Case(model, runs, check, SOURCE)
        model = graphs.random_categorical(None, 3, "i32", False, logits_type=type_, per_row=True)
        runs = [{"logits": logits[: len(s)], "state": s} for s in (ROWS[:4], ROWS[:1], ROWS[:0])]
        yield f"once_{type_}_rows", Case(model, runs)


def _in_order_of_arrival(logits: np.ndarray, runs: list[Arrays]) -> Check:
    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            rows = run.get("logits", logits).astype(np.float64)
            state = run.get("state", PhiloxState.from_seeds(*SEEDS.values()).to_array())
            u, _ = reference.random_uniform(rows.shape, 0, 1, "f64", state=state)
            with np.errstate(divide="ignore", over="ignore"):
                times = -np.log1p(-u) / np.exp(rows - rows.max(axis=1, keepdims=True, initial=-9e9))
            order = np.argsort(times, axis=1, kind="stable")
            values = output["values"]
            assert (order[:, : values.shape[1]] == values).all()

    return check
