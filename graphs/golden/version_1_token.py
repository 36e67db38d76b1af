"""The golden cases of what version 1 of the domain gained: RandomToken."""

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
FILTERS: Arrays = {
    "temperature": np.array([0.5, 1, 2, 0], np.float32),
    "top_k": np.array([0, 3, 2**40, 2]),
    "top_p": np.array([0.9, 1, 0.5, 0.3], np.float32),
    "min_p": np.array([0.01, 0, 0.5, 1], np.float32),
}
ONE: Arrays = {"temperature": np.array(0.7, np.float32), "top_p": np.array([0.95], np.float32)}
SOURCE = "NumPy's exp of onnx_philox.reference's f64 uniforms"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for type_ in ("f16", "bf16", "f32"):
        logits = LOGITS.astype(DTYPES[type_])
        for output_type in ("i32", "i64"):
            model = graphs.random_token(logits, **FILTERS, output_type=output_type, stateful=True)
            runs = [{"state": STATE}, {"state": ROWS[0]}]
            check = _by_an_oracle(logits, FILTERS, runs)
            yield f"token_{type_}_{output_type}_state", Case(model, runs, check, SOURCE)
        model = graphs.random_token(logits, **ONE, **SEEDS)
        check = _by_an_oracle(logits, ONE, [{}])
        yield f"token_{type_}_seeds", Case(model, [{}], check, SOURCE)
        model = graphs.random_token(
            None, inputs=list(FILTERS), logits_type=type_, output_type="i32", per_row=True
        )
        runs = [
            {"logits": logits[:rows], "state": ROWS[:rows]}
            | {name: given[:rows] for name, given in FILTERS.items()}
            for rows in (4, 1, 0)
        ]
        yield f"token_{type_}_rows", Case(model, runs)


def _by_an_oracle(logits: np.ndarray, filters: Arrays, runs: list[Arrays]) -> Check:
    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            state = run.get("state", PhiloxState.from_seeds(*SEEDS.values()).to_array())
            u, _ = reference.random_uniform([len(logits)], 0, 1, "f64", state=state)
            expected = [
                _token(row.astype(np.float64), u[i], {k: _at(v, i) for k, v in filters.items()})
                for i, row in enumerate(logits)
            ]
            assert output["token"].tolist() == [[token] for token in expected]

    return check


def _at(numbers: np.ndarray, row: int) -> float:
    return float(numbers.reshape(-1)[row if numbers.size > 1 else 0])


def _token(row: np.ndarray, u: float, given: dict[str, float]) -> int:
    temperature = given.get("temperature", 1)
    if temperature == 0:
        return int(row.argmax())
    weights = np.exp((row - row.max()) / temperature)
    kept = sorted(range(row.size), key=lambda i: -weights[i])
    kept = kept[: int(given.get("top_k", 0)) or None]
    share = given.get("top_p", 1)
    if share < 1:
        sums = np.cumsum(weights[kept])
        kept = kept[: 1 + int((sums < share * sums[-1]).sum())]
    kept = sorted(i for i in kept if weights[i] >= given.get("min_p", 0))
    sums = np.cumsum(weights[kept])
    return kept[int((sums <= u * sums[-1]).sum())]
