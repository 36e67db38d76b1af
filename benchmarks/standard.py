"""Standard nodes in each target: bits beside the runtime's RandomUniform, and draws by rows.

    python benchmarks/standard.py
    python benchmarks/standard.py rows

The targets are speeds, so run it on an idle machine; the ratio to the peer holds on a busy one too.
The second line draws 4 values for each of many states, each size in a process of its own, and
prints a table in Markdown. Memory is how far the process's highest resident memory rises in the
draw, the values and the next states with it. Linux only.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
from onnx import parser
from paired import Call, Row, compare, gigabytes, rich_table
from rich.console import Console

import onnx_philox
from onnx_philox._openvino_models import requests

PAIRS = 25
# By the runtime and the logarithm of the words: gigabytes a second on one thread.
TARGETS = {
    ("onnxruntime", 10): None,
    ("onnxruntime", 16): 0.25,
    ("onnxruntime", 22): 0.25,
    ("openvino", 16): 0.13,
    ("openvino", 20): None,
}
ONE_STATE = onnx_philox.PhiloxState(0, 42).to_array()


def onnxruntime_call(model: onnx.ModelProto, state: np.ndarray = ONE_STATE) -> Call:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {i.name: state for i in session.get_inputs()}
    return lambda: session.run(None, feeds)


def openvino_call(model: onnx.ModelProto, state: np.ndarray = ONE_STATE) -> Call:
    core = ov.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    read = core.read_model(model.SerializeToString())
    request = core.compile_model(read, "CPU", config).create_infer_request()
    for i in range(len(read.inputs)):
        request.set_input_tensor(i, ov.Tensor(state))
    return lambda: requests.run(request)


CALLS = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}
NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def own(count: int) -> onnx.ModelProto:
    """ONNX's own node, which draws different numbers in each run."""
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 18]> g () => (float[{count}] y) '
        f"{{ y = RandomUniform <shape = [{count}], seed = 1.0> () }}"
    )


def rows() -> Iterator[Row]:
    for (runtime, log2), target in TARGETS.items():
        count = 2**log2
        bits = onnx_philox.graphs.random_generator([count])
        standard = onnx_philox.to_standard_nodes(bits, target=runtime)
        ours = CALLS[runtime](standard)
        row = Row("standard nodes", "bits", f"{runtime}'s RandomUniform", size=f"2^{log2}")
        compare(row, ours, CALLS[runtime](own(count)), PAIRS, gigabytes(4 * count))
        # The target is a speed, not a ratio.
        seconds = [mine for mine, _ in row.pairs]
        row.measured, row.unit = 4e-9 * count / np.median(seconds).item(), "GB/s"
        row.best, row.target, row.quartiles = 4e-9 * count / min(seconds), target, None
        yield row


ROWS = (2**14, 2**17, 1_000_000)
COLUMNS = 4
DRAWS = {
    "uniform f32": lambda rows: onnx_philox.graphs.random_uniform(
        [rows, COLUMNS], 0, 1, "f32", per_row=True
    ),
    "normal f32": lambda rows: onnx_philox.graphs.random_normal(
        [rows, COLUMNS], 0, 1, "f32", per_row=True
    ),
    "bits": lambda rows: onnx_philox.graphs.random_generator([rows, COLUMNS], per_row=True),
}
# What each target draws exactly.
DRAWN_IN = {"onnxruntime": tuple(DRAWS), "openvino": ("uniform f32", "bits")}
REPEATS = 3


def by_rows(runtime: str, draw: str, rows: int) -> None:
    """Prints the shortest time of a draw in milliseconds, and the memory that it takes in MiB."""
    model = onnx_philox.to_standard_nodes(DRAWS[draw](rows), target=runtime)
    call = CALLS[runtime](model, onnx_philox.row_states(42, range(rows)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(1e3 * min(seconds), taken / 1024)


def rows_table() -> Iterator[str]:
    """One row for each target and draw."""
    yield "| | " + " | ".join(f"{rows:,} rows" for rows in ROWS) + " | memory of the last |"
    yield "|---|" + "--:|" * (len(ROWS) + 1)
    for runtime, draws in DRAWN_IN.items():
        for draw in draws:
            cells = []
            for rows in ROWS:
                command = [sys.executable, __file__, runtime, draw, str(rows)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                milliseconds, mebibytes = map(float, done.stdout.split())
                cells.append(f"{milliseconds:.0f} ms")
            yield f"| {NAMES[runtime]}, {draw} | {' | '.join(cells)} | {mebibytes:.0f} MiB |"


if __name__ == "__main__":
    match sys.argv[1:]:
        case [runtime, draw, number]:
            by_rows(runtime, draw, int(number))
        case ["rows"]:
            for line in rows_table():
                print(line, flush=True)
        case _:
            Console(width=160).print(rich_table("Standard nodes", list(rows())))
