"""A comparison with a uniform number in OpenVINO, and what a rewrite makes of it, on one thread.

    python benchmarks/rewritten_bernoulli.py [SIZE]

Each element has a p of its own, which is an input. Both run in turns; the shortest time of each
counts. `ONNX_PHILOX_ISA=avx2` forces an instruction set.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8

import onnx_philox

CONFIG = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
REPETITIONS = 150
TYPES = {np.float32: "f32", np.float64: "f64"}


def original(dtype: Any) -> ov.Model:
    """OpenVINO's own: a uniform number below p, as f32."""
    p = opset8.parameter([-1], dtype, name="p")
    low, high = np.zeros((), dtype), np.ones((), dtype)
    u = opset8.random_uniform(opset8.shape_of(p), low, high, TYPES[dtype], op_seed=7)
    return ov.Model([opset8.convert(opset8.less(u, p), "f32")], [p])


def main(size: int) -> None:
    """Prints the times for p of f32 and f64."""
    core = onnx_philox.openvino.register(ov.Core())
    state = onnx_philox.PhiloxState.for_run(1).to_array()
    for dtype in (np.float32, np.float64):
        model = original(dtype)
        feeds = {"p": np.random.default_rng(0).random(size).astype(dtype)}
        both = (
            (model, feeds),
            (onnx_philox.make_reproducible(model), {**feeds, "random_state": state}),
        )
        requests = [core.compile_model(m, "CPU", CONFIG).create_infer_request() for m, _ in both]
        shortest = [float("inf")] * 2
        for _ in range(REPETITIONS):
            for i, (_, fed) in enumerate(both):
                begin = time.perf_counter()
                requests[i].start_async(fed)
                requests[i].wait()
                shortest[i] = min(shortest[i], time.perf_counter() - begin)
        own, ours = (1e6 * seconds for seconds in shortest)
        print(
            f"{np.dtype(dtype)} {size}: own {own:.0f} us, rewritten {ours:.0f} us: {own / ours:.2f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2**20)
