"""How long rewriting takes for each random node, by the number of random nodes.

    python benchmarks/rewriting_many.py [COUNT ...]

Each row is a model of so many draws, each added to what came before: RandomNormalLike in ONNX,
RandomUniform in OpenVINO. Types of inner values are not declared, which is the slower case.
Milliseconds of processor time for each random node; a row that grows with the count is not linear.
For a pair, run it by turns on two commits.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import openvino as ov
import openvino.opset14 as ops
from onnx import ModelProto, TensorProto, helper

import onnx_philox

WAYS: dict[str, dict[str, Any]] = {
    "Philox": {},
    "torch's numbers": {"alignment": "pytorch"},
    "rows": {"per_row": True},
}


def in_onnx(count: int) -> ModelProto:
    """A chain of noise and Add."""
    nodes = []
    for i in range(count):
        nodes.append(helper.make_node("RandomNormalLike", [f"v{i}"], [f"noise{i}"]))
        nodes.append(helper.make_node("Add", [f"v{i}", f"noise{i}"], [f"v{i + 1}"]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4])
        for name in ("v0", f"v{count}")
    ]
    graph = helper.make_graph(nodes, "noise", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def in_openvino(count: int) -> ov.Model:
    """The same of uniform noise."""
    x = last = ops.parameter([-1, 4], ov.Type.f32)
    low, high = ops.constant(0, ov.Type.f32), ops.constant(1, ov.Type.f32)
    for i in range(count):
        noise = ops.random_uniform(ops.shape_of(last), low, high, "f32", i + 1, 0)
        last = ops.add(last, noise)
    return ov.Model([last], [x])


def main() -> None:
    counts = [int(count) for count in sys.argv[1:]] or [500, 1000, 2000, 4000, 8000]
    for make in (in_onnx, in_openvino):
        for way, asked in WAYS.items():
            if make is in_openvino and "alignment" in asked:
                continue  # refused: these models have lost the order of torch's calls
            onnx_philox.make_reproducible(make(3), **asked)  # imports
            spent = []
            for count in counts:
                model = make(count)
                start = time.process_time()
                onnx_philox.make_reproducible(model, **asked)
                each = 1000 * (time.process_time() - start) / count
                spent.append(f"{count}: {each:.2f}")
            print(f"{make.__name__:12} {way:16} {', '.join(spent)} ms", flush=True)


if __name__ == "__main__":
    main()
