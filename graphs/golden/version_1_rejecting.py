"""The golden cases of what version 1 of the domain gained: RandomGamma and RandomPoisson."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from case import STATE, Case
from version_1_rows import ROWS, SEEDS

from onnx_philox import graphs

ALPHAS = np.array([[1e-3, 0.5, 1, 2.5], [1000, 2.0**50, 0.01, 7]])
RATES = np.array([[0, 0.1, 9.99, 10], [1000, 2.0**30, 1e6, 33.3]])


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for name, parameter, types, each in (
        ("gamma", "alpha", ("f32", "f64"), ALPHAS),
        ("poisson", "rate", ("i32", "i64"), RATES),
    ):
        build = getattr(graphs, f"random_{name}")
        for type_ in types:
            model = build(None, 0.7, type_, stateful=True, rank=2)
            runs = [{"shape": np.array(s), "state": STATE} for s in ([1, 33], [2, 3], [4, 0])]
            yield f"{name}_{type_}_state", Case(model, runs)
            yield f"{name}_{type_}_seeds", Case(build([3, 5], np.float64(12.5), type_, **SEEDS))
            model = build([2, 4], each, type_, stateful=True)
            yield f"{name}_{type_}_each", Case(model, [{"state": STATE}])
            model = build([], 3, type_, stateful=True)
            yield f"{name}_{type_}_rank_0_state", Case(model, [{"state": STATE}])
            model = build(None, 2.2, type_, per_row=True, rank=2)
            batches = ((ROWS, 3), (ROWS[2:0:-1].copy(), 3), (ROWS[:1], 3), (ROWS, 0))
            runs = [{"shape": np.array([len(s), n]), "state": s} for s, n in batches]
            yield f"{name}_{type_}_rows", Case(model, runs)
        model = build([2, 4], None, types[0], per_element=True, stateful=True)
        run = {parameter: each.astype(np.float32), "state": STATE}
        yield f"{name}_{types[0]}_input_{parameter}", Case(model, [run])
