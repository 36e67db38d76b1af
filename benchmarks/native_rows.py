"""A draw by rows, from a state for each, beside one draw of as many elements from a plain state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from native_runtimes import onnxruntime_call, openvino_call, openvino_ours
from onnx import TensorProto, helper
from paired import Call, Row, compare, gigabytes

import onnx_philox
from onnx_philox import _native

ELEMENTS_LOG2 = 22
"""Of all rows together."""
TARGETS = {16: 0.9, 10: 0.7}
"""By the logarithm of a row's elements."""
SHORT_ROWS_LOG2, SHORT_ROW = 20, 4
SHORT_ROWS_TARGET = 30.0
"""Million rows a second on one thread."""
CATEGORICAL = (1024, 32000)
"""Rows and classes."""


def states(rows: int) -> np.ndarray:
    return onnx_philox.row_states(42, rows=range(rows))


def model(operator: str, attributes: dict[str, object]) -> onnx.ModelProto:
    """One node, whose state has any number of rows."""
    parameters = {"RandomUniform": (0.0, 1.0), "RandomNormal": (0.0, 1.0), "RandomCategorical": ()}
    names = [f"p{i}" for i in range(len(parameters[operator]))]
    is_drawn = operator != "RandomCategorical"
    first = (
        ("shape", TensorProto.INT64, [2])
        if is_drawn
        else ("logits", TensorProto.FLOAT, CATEGORICAL)
    )
    given = [first, ("state", TensorProto.UINT32, ["b", 6])]
    values = TensorProto.FLOAT if is_drawn else TensorProto.INT32
    graph = helper.make_graph(
        [
            helper.make_node(
                operator,
                [first[0], *names, "state"],
                ["values", "next_state"],
                domain="onnx_philox",
                **attributes,
            )
        ],
        "rows",
        [helper.make_tensor_value_info(*i) for i in given],
        [
            helper.make_tensor_value_info("values", values, [None, None]),
            helper.make_tensor_value_info("next_state", TensorProto.UINT32, [None, 6]),
        ],
        initializer=[
            helper.make_tensor(name, TensorProto.FLOAT, [], [value])
            for name, value in zip(names, parameters[operator], strict=True)
        ],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("onnx_philox", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def contenders(
    runtime: str,
    made: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    values: np.ndarray,
    threads: int,
) -> tuple[Call, Call]:
    """By rows, and from the state of the first row."""
    rows, calls = len(values), []
    for state in (states(rows), states(1)):
        inputs = {**feeds, "state": state}
        if runtime == "OpenVINO":
            calls.append(openvino_call(openvino_ours(made, inputs, threads)))
        else:
            outputs = {"values": values, "next_state": np.zeros_like(state)}
            calls.append(onnxruntime_call(made.SerializeToString(), inputs, outputs, threads))
    by_rows, plain = calls
    return by_rows, plain


def rows_part(pairs: int) -> Iterator[Row]:
    for runtime in ("ONNX Runtime", "OpenVINO"):
        for operator in ("RandomUniform", "RandomNormal"):
            made = model(operator, {"output_type": "f32"})
            for log2, target in TARGETS.items():
                shape = (1 << (ELEMENTS_LOG2 - log2), 1 << log2)
                values = np.empty(shape, np.float32)
                feeds = {"shape": np.array(shape)}
                for threads in (1, 2):
                    row = Row(
                        "rows",
                        f"{operator} f32, {shape[0]} rows",
                        f"{runtime}, a plain state",
                        threads,
                        f"2^{log2}",
                        target=target,
                    )
                    both = contenders(runtime, made, feeds, values, threads)
                    yield compare(row, *both, pairs, gigabytes(values.nbytes))
        made = model("RandomCategorical", {})
        logits = np.random.default_rng(0).normal(size=CATEGORICAL).astype(np.float32)
        values = np.empty((CATEGORICAL[0], 1), np.int32)
        for threads in (1, 2):
            what = f"RandomCategorical, {CATEGORICAL[0]} rows of {CATEGORICAL[1]} classes"
            row = Row("rows", what, f"{runtime}, a plain state", threads, "1", target=1.0)
            both = contenders(runtime, made, {"logits": logits}, values, threads)
            yield compare(row, *both, max(3, pairs // 4), lambda s: f"{s * 1e3:.0f} ms")
    yield from short_rows(pairs)


def short_rows(pairs: int) -> Iterator[Row]:
    """Rows of one block, through ONNX Runtime, in rows a second."""
    rows = 1 << SHORT_ROWS_LOG2
    values = np.empty((rows, SHORT_ROW), np.float32)
    feeds = {"shape": np.array(values.shape)}
    for operator in ("RandomUniform", "RandomNormal"):
        made = model(operator, {"output_type": "f32"})
        row = Row(
            "rows",
            f"{operator} f32, 2^{SHORT_ROWS_LOG2} rows",
            f"ONNX Runtime, a plain state ({_native.isa()})",
            1,
            str(SHORT_ROW),
            unit="M rows/s",
            target=SHORT_ROWS_TARGET,
        )
        both = contenders("ONNX Runtime", made, feeds, values, 1)
        compare(row, *both, pairs, lambda s: f"{rows / s / 1e6:.0f} M rows/s")
        seconds = sorted(mine for mine, _ in row.pairs)
        row.measured = rows / seconds[len(seconds) // 2] / 1e6
        row.best = rows / seconds[0] / 1e6
        row.quartiles = None
        yield row
