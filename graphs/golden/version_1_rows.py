"""The golden cases of what version 1 of the domain gained: a state for each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from case import ALL_ONES, DTYPES, STATE, Arrays, Case, Check
from onnx import parser
from version_1 import with_constant
from version_1_distributions import LOGITS, PROBABILITIES

from onnx_philox import graphs, reference, row_states, split_states

SEEDS = {"global_seed": 2**40 + 9, "op_seed": 2**33 + 5}
ROWS = np.stack([STATE, ALL_ONES, *row_states(2**63 + 5, rows=[7, 2**32 - 1], run=3)])
SOURCE = "each row alone, from a plain state (version 1's earlier rule)"

UNIFORMS = (
    ("i32", (-(2**31), 2**31 - 1)),
    ("i64", (-3, 2**40 + 1)),
    ("f16", (-1.7, 2.2)),
    ("bf16", (0, 1)),
    ("f32", (0.1, 0.7)),
    ("f64", (0.1, 0.7)),
)


def cases() -> Iterator[tuple[str, Case]]:
    """All cases by name."""
    yield "generator_rows", _shapes(graphs.random_generator(None, rank=2, per_row=True), {}, 5)
    yield (
        "generator_rows_constant_states",
        _case(
            with_constant(graphs.random_generator([4, 3], per_row=True, **SEEDS), "state", ROWS),
            [{}],
            SEEDS,
        ),
    )
    yield (
        "generator_rows_children",
        _case(
            graphs.random_generator([None], per_row=True),
            [{"state": split_states(ALL_ONES, n)} for n in (3, 2)],
        ),
    )
    for type_, (low, high) in UNIFORMS:
        bounds = {"minval": low, "maxval": high, "output_type": type_, **SEEDS}
        model = graphs.random_uniform(None, rank=2, per_row=True, **bounds)
        yield f"uniform_{type_}_rows", _shapes(model, bounds, 3)
    for type_ in ("f16", "bf16", "f32", "f64"):
        moments = {"mean": -1.7, "scale": 2.2, "output_type": type_}
        model = graphs.random_normal(None, rank=2, per_row=True, **moments)
        yield f"normal_{type_}_rows", _shapes(model, moments, 3)
    for type_ in ("f32", "f64"):
        one, each = (np.array(x, DTYPES[type_]) for x in (0.3, PROBABILITIES))
        model = graphs.random_bernoulli(None, one, rank=2, per_row=True)
        yield f"bernoulli_{type_}_rows", _shapes(model, {"p": one}, 9)
        model = graphs.random_bernoulli([3, 4], each, per_row=True)
        yield (
            f"bernoulli_{type_}_rows_per_element",
            _case(model, [{"state": ROWS[:3]}], {"p": each}),
        )
    for type_ in ("f16", "f32", "f64"):
        logits = np.array(LOGITS, DTYPES[type_])
        yield (
            f"categorical_{type_}_rows",
            _case(
                graphs.random_categorical(logits, 5, "i64", per_row=True, **SEEDS),
                [{"state": ROWS}],
                {"logits": logits, "sample_size": 5, "output_type": "i64", **SEEDS},
            ),
        )
    logits = np.array(LOGITS, np.float32)
    yield (
        "categorical_f32_rows_input_logits",
        _case(
            graphs.random_categorical(sample_size=3, per_row=True),
            [{"logits": logits[:n], "state": ROWS[:n]} for n in (4, 2, 1)],
            {"sample_size": 3},
        ),
    )
    logits = np.array([[0, 1, 2], [3, 2, 1], [0, 0, 0], [-9, 0, 9]], np.float32)
    runs = [{"state": ROWS[:n], "logits": logits[:n]} for n in (4, 3, 1)]
    yield "rows_one_after_another", Case(_one_after_another(), runs)


def _shapes(model: onnx.ModelProto, arguments: dict[str, Any], length: int) -> Case:
    """Four rows, two in another order, one, which is a plain state, and rows of nothing."""
    batches = [(ROWS, length), (ROWS[2:0:-1].copy(), length), (ROWS[:1], length), (ROWS, 0)]
    runs = [{"shape": np.array([len(s), n]), "state": s} for s, n in batches]
    return _case(model, runs, arguments)


def _case(
    model: onnx.ModelProto, runs: list[Arrays], arguments: dict[str, Any] | None = None
) -> Case:
    return Case(model, runs, _rows_alone(model, runs, arguments or {}), SOURCE)


def _rows_alone(model: onnx.ModelProto, runs: list[Arrays], arguments: dict[str, Any]) -> Check:
    """Each row is what the operator draws from its state alone."""
    draw = getattr(reference, model.graph.name)
    has_shape = model.graph.name != "random_categorical"

    def check(outputs: list[Arrays]) -> None:
        for run, output in zip(runs, outputs, strict=True):
            values, next_state = output.values()
            states = run.get("state", ROWS)
            assert len(values) == len(states)
            for b, state in enumerate(states):
                own = {**arguments, **{k: v for k, v in run.items() if k == "logits"}}
                own = {k: _row(v, b) for k, v in own.items()}
                if has_shape:
                    own["shape"] = [1, *values.shape[1:]]
                alone, after = draw(**own, state=state)
                assert alone.tobytes() == values[b : b + 1].tobytes()
                assert after.tobytes() == next_state[b].tobytes()

    return check


def _row(value: Any, b: int) -> Any:
    return value[b : b + 1] if np.ndim(value) == 2 else value


def _one_after_another() -> onnx.ModelProto:
    """Each node draws on where the one before has stopped, in every row."""
    return parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        rows_one_after_another (uint32[batch,6] state, float[batch,3] logits)
            => (float[batch,3] x, bool[batch,5] kept, int64[batch,2] classes,
                uint32[batch,6] next_state)
            <int64[1] three = {3}, int64[1] five = {5}, float zero = {0}, float one = {1},
             float half = {0.5}> {
          rows = Shape <start = 0, end = 1> (state)
          threes = Concat <axis = 0> (rows, three)
          fives = Concat <axis = 0> (rows, five)
          x, a = onnx_philox.RandomNormal <output_type = "f32"> (threes, zero, one, state)
          kept, b = onnx_philox.RandomBernoulli (fives, half, a)
          classes, next_state = onnx_philox.RandomCategorical <
              sample_size = 2, output_type = "i64", op_seed = 1> (logits, b)
        }
    """)
