"""The golden cases of what version 1 of the domain gained: RandomDropout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from case import ALL_ONES, DTYPES, STATE, Arrays, Case, Check
from onnx import parser
from version_1 import with_constant
from version_1_rows import ROWS, SEEDS

from onnx_philox import graphs, reference

# OpenVINO's CPU plugin computes data of f64 in f32.
FLOATS = ("f16", "bf16", "f32")
SOURCE = "RandomBernoulli of the ratio, and NumPy's own product"


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    for type_ in FLOATS:
        data = _data(type_, [1, 67])
        model = graphs.random_dropout(None, 0.1, data_type=type_, rank=2, stateful=True)
        runs = [{"data": d, "state": STATE} for d in (data, data[:, :6].reshape(2, 3), data[:0])]
        yield f"dropout_{type_}_state", Case(model, runs, _exact(0.1, runs), SOURCE)
        constant = np.where(np.isfinite(data), data, data.dtype.type(1))
        model = graphs.random_dropout(constant, np.float64(0.3), stateful=True)
        yield f"dropout_{type_}_f64_ratio", Case(model, [{"state": STATE}])
        model = graphs.random_dropout(_data(type_, []), 0.5, stateful=True)
        yield f"dropout_{type_}_rank_0_state", Case(model, [{"state": STATE}])
        yield f"dropout_{type_}_seeds", Case(graphs.random_dropout(constant, 0.25, **SEEDS))
        model = graphs.random_dropout(None, 0.6, data_type=type_, rank=2, per_row=True)
        rows = ((ROWS, 3), (ROWS[2:0:-1].copy(), 3), (ROWS[:1], 3), (ROWS, 0))
        runs = [{"data": _data(type_, [len(s), n]), "state": s} for s, n in rows]
        yield f"dropout_{type_}_rows", Case(model, runs)
        model = graphs.random_dropout(None, None, data_type=type_, rank=1, stateful=True)
        numbers = (np.array(r, np.float32) for r in (0, 0.75, 1))
        runs = [{"data": data[0], "ratio": ratio, "state": STATE} for ratio in numbers]
        yield f"dropout_{type_}_input_ratio", Case(model, runs, _exact(None, runs), SOURCE)
    constant = graphs.random_dropout(_data("f32", [2, 5]), 0.5, stateful=True)
    yield "dropout_f32_constant_state", Case(with_constant(constant, "state", ALL_ONES))
    yield "dropout_masks", Case(_masks(), [{"x": _data("f32", [4, 6]), "state": STATE}])


def _data(type_: str, shape: list[int]) -> Any:
    # Numbers of f16: a file of IR holds constant data as it holds weights.
    numbers = np.round(np.random.default_rng(5).normal(0, 10, shape) * 16) / 16
    if numbers.size > 20:
        numbers.flat[:4] = 0.0, -0.0, np.inf, -np.inf
    return np.asarray(numbers, DTYPES[type_])


def _exact(ratio: float | None, runs: list[Arrays]) -> Check:
    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            data = run["data"]
            share = run.get("ratio", np.float32(ratio or 0))
            dropped, state = reference.random_bernoulli(data.shape, share, state=run["state"])
            with np.errstate(all="ignore"):
                scale = (np.float32(1) / (np.float32(1) - share)).astype(data.dtype)
                expected = np.where(dropped, data.dtype.type(0), data * scale)
            assert output["output"].tobytes() == expected.tobytes()
            assert np.array_equal(output["mask"], ~dropped)
            assert np.array_equal(output["next_state"], state)

    return check


def _masks() -> onnx.ModelProto:
    """Two draws, the second from where the first has stopped; both masks are read."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        dropout_masks (float[4,6] x, uint32[6] state)
            => (float[4,6] y, bool[4,6] dropped, bool[4,6] both, uint32[6] next_state)
            <float half = {0.5}, float few = {0.2}> {
          h, kept, a = onnx_philox.RandomDropout <op_seed = 3> (x, half, state)
          y, again, next_state = onnx_philox.RandomDropout (h, few, a)
          dropped = Not (kept)
          both = And (kept, again)
        }
    """)
