"""The golden cases of what version 1 of the domain gained: RandomPermutation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from case import ALL_ONES, STATE, Arrays, Case, Check
from version_1 import with_constant
from version_1_rows import ROWS, SEEDS

from onnx_philox import PhiloxState, graphs, reference

SOURCE = "Python's sorted of the keys that onnx_philox.reference's bits make"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for type_ in ("i32", "i64"):
        model = graphs.random_permutation(None, type_, stateful=True, rank=2)
        shapes = ([1, 67], [3, 1], [2, 6], [4, 0], [0, 4])
        runs = [{"shape": np.array(s), "state": STATE} for s in shapes]
        yield f"permutation_{type_}_state", Case(model, runs, _sorted(runs), SOURCE)
        model = graphs.random_permutation([3, 5], type_, **SEEDS)
        run = {
            "shape": np.array([3, 5]),
            "state": PhiloxState.from_seeds(*SEEDS.values()).to_array(),
        }
        yield f"permutation_{type_}_seeds", Case(model, [{}], _sorted([run]), SOURCE)
        model = graphs.random_permutation(None, type_, stateful=True, rank=1)
        runs = [{"shape": np.array([n]), "state": STATE} for n in (1, 30, 0)]
        yield f"permutation_{type_}_rank_1_state", Case(model, runs, _sorted(runs), SOURCE)
        model = graphs.random_permutation(None, type_, per_row=True, rank=2)
        runs = [
            {"shape": np.array([len(s), n]), "state": s}
            for s, n in ((ROWS, 3), (ROWS[2:0:-1].copy(), 7), (ROWS[:1], 4), (ROWS, 0))
        ]
        yield f"permutation_{type_}_rows", Case(model, runs)
    constant = graphs.random_permutation([1500], "i64", stateful=True)
    yield "permutation_i64_constant_state", Case(with_constant(constant, "state", ALL_ONES))


def _sorted(runs: list[Arrays]) -> Check:
    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            values = np.atleast_2d(output["values"])
            assert values.shape[-run["shape"].size :] == tuple(run["shape"])
            words, _ = reference.random_generator(run["state"], [*values.shape, 2])
            for row, pairs in zip(values.tolist(), words.tolist(), strict=True):
                keys = [high << 32 | low for low, high in pairs]
                assert row == sorted(range(len(keys)), key=keys.__getitem__)

    return check
