"""Random bits of standard nodes, in each target, beside the runtime's own RandomUniform.

    python benchmarks/standard.py

The targets are speeds, so run it on an idle machine; the ratio to the peer holds on a busy one too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
from onnx import parser
from paired import Call, Row, compare, gigabytes, rich_table
from rich.console import Console

import onnx_philox

PAIRS = 25
# By the runtime and the logarithm of the words: gigabytes a second on one thread.
TARGETS = {
    ("onnxruntime", 10): None,
    ("onnxruntime", 16): 0.25,
    ("onnxruntime", 22): 0.25,
    ("openvino", 16): 0.13,
    ("openvino", 20): None,
}
STATE = onnx_philox.PhiloxState(0, 42).to_array()


def onnxruntime_call(model: onnx.ModelProto) -> Call:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {i.name: STATE for i in session.get_inputs()}
    return lambda: session.run(None, feeds)


def openvino_call(model: onnx.ModelProto) -> Call:
    core = ov.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    read = core.read_model(model.SerializeToString())
    request = core.compile_model(read, "CPU", config).create_infer_request()
    for i in range(len(read.inputs)):
        request.set_input_tensor(i, ov.Tensor(STATE))
    return request.infer


CALLS = {"onnxruntime": onnxruntime_call, "openvino": openvino_call}


def own(count: int) -> onnx.ModelProto:
    """ONNX's own node, which draws other numbers in each run."""
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


if __name__ == "__main__":
    Console(width=160).print(rich_table("Standard nodes", list(rows())))
