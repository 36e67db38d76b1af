"""What a call of a `Pipeline` costs above the bare runtime's.

    python benchmarks/pipeline.py [--pairs N]

A small rewritten model is run by the bare runtime, which is handed a state that is there already,
and by a pipeline, which makes it of a seed, or carries it; in alternating pairs of one run. The
target in ONNX Runtime with bound inputs is at most 10 microseconds, or 5% if that is more. With a
seed for each row of a batch, the whole call is compared, states included.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnxruntime
import openvino as ov
from onnx import parser
from paired import Call, Row, compare, microseconds, rich_table
from rich.console import Console

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible
from onnx_philox._openvino_models import requests

MODEL = """<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 64] x) => (float[n, 64] y) {
        noise = RandomNormalLike (x)
        y = Add (x, noise)
    }"""
STATE = PhiloxState.for_run(42).to_array()
X = np.zeros((8, 64), np.float32)
ROWS = 16


def in_onnxruntime() -> dict[str, tuple[Call, Call]]:
    model = make_reproducible(parser.parse_model(MODEL))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    onnx_philox.onnxruntime.register(options)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    pipe = Pipeline(session)
    request = pipe.request(seed=42)
    names = ["y", "next_random_state"]

    def binding() -> onnxruntime.IOBinding:
        bound = session.io_binding()
        bound.bind_cpu_input("x", X)
        bound.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros_like(X)))
        return bound

    ours, own, after = binding(), binding(), np.zeros_like(STATE)
    own.bind_ortvalue_input("random_state", onnxruntime.OrtValue.ortvalue_from_numpy(STATE))
    own.bind_ortvalue_output("next_random_state", onnxruntime.OrtValue.ortvalue_from_numpy(after))
    return {
        "ONNX Runtime, bound, a seed": (
            lambda: pipe(ours, seed=42),
            lambda: session.run_with_iobinding(own),
        ),
        "ONNX Runtime, bound, carried": (
            lambda: request(ours),
            lambda: session.run_with_iobinding(own),
        ),
        "ONNX Runtime, arrays, a seed": (
            lambda: pipe({"x": X}, seed=42),
            lambda: session.run(names, {"x": X, "random_state": STATE}),
        ),
    }


def in_openvino() -> dict[str, tuple[Call, Call]]:
    model = make_reproducible(parser.parse_model(MODEL))
    core = onnx_philox.openvino.register(ov.Core())
    read = core.read_model(model.SerializeToString())
    config = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    compiled = core.compile_model(read, "CPU", config)
    pipe, bare = Pipeline(compiled, source=model), compiled.create_infer_request()
    other = compiled.create_infer_request()
    request = pipe.request(seed=42)
    feed = {"x": X, "random_state": STATE}
    return {
        "OpenVINO, arrays, a seed": (
            lambda: pipe({"x": X}, seed=42),
            lambda: bare.infer(feed),
        ),
        "OpenVINO, arrays, carried": (lambda: request({"x": X}), lambda: bare.infer(feed)),
        # The part of it that no refusal is lost for.
        "OpenVINO, started and waited for": (
            lambda: (requests.run(other, feed), other.results),
            lambda: bare.infer(feed),
        ),
    }


def by_rows() -> dict[str, tuple[Call, Call]]:
    """A batch of 16 rows with a seed for each, of a small model and of one that draws a latent."""
    seeds = list(range(1000, 1000 + ROWS))
    calls: dict[str, tuple[Call, Call]] = {}
    for columns, alignment in ((64, "tensorflow"), (4096, "tensorflow"), (64, "pytorch")):
        model = parser.parse_model(MODEL.replace("64", str(columns)))
        model = make_reproducible(model, per_row=True, alignment=alignment)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        onnx_philox.onnxruntime.register(options)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        pipe, x = Pipeline(session), np.zeros((ROWS, columns), np.float32)
        own = {"x": x, "random_state": pipe({"x": x}, seeds=seeds).state}
        calls[f"{ROWS} rows of {columns}, {alignment}"] = (
            lambda pipe=pipe, x=x: pipe({"x": x}, seeds=seeds),
            lambda session=session, own=own: session.run(None, own),
        )
    return calls


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", type=int, default=101, help="default 101")
    pairs = arguments.parse_args().pairs
    rows = []
    for what, (ours, own) in (in_onnxruntime() | in_openvino()).items():
        row = compare(Row("pipeline", what, "bare"), ours, own, pairs, microseconds)
        overheads = sorted(mine - theirs for mine, theirs in row.pairs)
        own_time = sorted(theirs for _, theirs in row.pairs)[pairs // 2]
        row.measured, row.unit, row.at_most = overheads[pairs // 2] * 1e6, "µs", True
        row.target = max(10.0, 0.05 * own_time * 1e6)
        row.quartiles, row.best = None, overheads[0] * 1e6
        rows.append(row)
    Console().print(rich_table("A call of a Pipeline above the bare runtime's", rows))
    rows = []
    for what, (ours, own) in by_rows().items():
        row = compare(Row("pipeline", what, "bare"), ours, own, pairs, microseconds)
        mine, theirs = (sorted(times) for times in zip(*row.pairs, strict=True))
        row.measured, row.best = mine[pairs // 2] / theirs[pairs // 2], mine[0] / theirs[0]
        row.quartiles, row.target, row.at_most = None, 1.6, True
        rows.append(row)
    Console().print(rich_table("A seed for each row: our time divided by the session's", rows))


if __name__ == "__main__":
    main()
