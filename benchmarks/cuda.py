"""Draws on an NVIDIA card, beside ONNX Runtime's own and torch's there.

    pip install onnxruntime-gpu
    python benchmarks/cuda.py
    python benchmarks/cuda.py --pairs 50 --size 26      # 2^26 elements

The outputs stay on the card, and each call waits until it has them. torch is a contender where it
is installed and sees the card. Please send the table by the form that docs/cuda.md names.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
from typing import Any

import onnx
import onnxruntime as ort
import paired
from onnx import TensorProto, helper
from rich.console import Console

import onnx_philox
from onnx_philox import graphs
from onnx_philox._command.verify.runners import on_cuda
from onnx_philox._experimental.cuda import sessions

DTYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}
STANDARD = {"RandomUniform": {"low": 0.0, "high": 1.0}, "RandomNormal": {"mean": 0.0, "scale": 1.0}}


def ours(operator: str, dtype: str, size: int) -> onnx.ModelProto:
    """A node of ours, from a state on the card."""
    build = graphs.random_uniform if operator == "RandomUniform" else graphs.random_normal
    return build([size], 0, 1, dtype, stateful=True)


def standard(operator: str, dtype: str, size: int) -> onnx.ModelProto:
    """ONNX's own node."""
    attributes = {**STANDARD[operator], "shape": [size], "dtype": DTYPES[dtype], "seed": 1.0}
    node = helper.make_node(operator, [], ["values"], **attributes)
    output = helper.make_tensor_value_info("values", DTYPES[dtype], [size])
    graph = helper.make_graph([node], operator, [], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run_on_the_card(session: ort.InferenceSession, feeds: dict[str, Any]) -> paired.Call:
    """A run whose inputs lie on the card, and whose outputs stay there."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")

    def run() -> None:
        ort.InferenceSession.run_with_iobinding(session, binding)
        binding.synchronize_outputs()

    return run


def in_torch(operator: str, dtype: str, size: int) -> paired.Call | None:
    """Torch's draw into memory on the card; None where it has none."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    memory = torch.empty(
        size, device="cuda", dtype=getattr(torch, {"f16": "half"}.get(dtype, "float32"))
    )
    draw = memory.uniform_ if operator == "RandomUniform" else memory.normal_

    def run() -> None:
        draw()
        torch.cuda.synchronize()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws on an NVIDIA card")
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--size", type=int, default=24, help="elements, as a power of 2")
    options = parser.parse_args()
    reason = on_cuda.why_not()
    if reason:
        sys.exit(reason.replace("--device cuda", "benchmarks/cuda.py"))
    size, rows = 1 << options.size, []
    state = onnx_philox.PhiloxState(0, 42).to_array()
    for operator in STANDARD:
        for dtype in DTYPES:
            session = sessions.load(ours(operator, dtype, size))
            mine = run_on_the_card(session, {"state": state})
            own = sessions.load(standard(operator, dtype, size))
            peers = {"ONNX Runtime": run_on_the_card(own, {})}
            peers |= {"torch": call} if (call := in_torch(operator, dtype, size)) else {}
            for peer, theirs in peers.items():
                row = paired.Row("cuda", f"{operator} {dtype}", peer, size=f"2^{options.size}")
                describe = paired.gigabytes(size * (2 if dtype == "f16" else 4))
                rows.append(paired.compare(row, mine, theirs, options.pairs, describe))
    Console().print(paired.rich_table(f"On a card ({platform.platform()})", rows))
    print(paired.markdown_table(rows))


if __name__ == "__main__":
    main()
