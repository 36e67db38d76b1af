"""The memory that a Pipeline of a path takes beside a bare session of the same file.

    python benchmarks/large_models.py [--megabytes 600 2400] [--folder DIR]

The model is a RandomNormalLike and products with matrices of 16 MB whose weights are external data,
a sparse file. Each figure is the peak of a process of its own, in MB, imports and one run included.
The bare session runs the file as it was. Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from rich.console import Console
from rich.table import Table

SIZE = 2048
WAYS = {
    ("onnxruntime", "bare"): "import onnxruntime as o\n"
    "o.InferenceSession(path, providers=['CPUExecutionProvider']).run(None, x)",
    ("onnxruntime", "Pipeline"): "import onnx_philox\nonnx_philox.Pipeline(path)(x, seed=42)",
    ("openvino", "bare"): "import openvino as o\n"
    "o.compile_model(path, 'CPU').create_infer_request().infer(x)",
    ("openvino", "Pipeline"): "import onnx_philox\n"
    "onnx_philox.Pipeline(path, runtime='openvino')(x, seed=42)",
}
CHILD = """
import sys
import numpy as np
path, x = sys.argv[1], {{"x": np.ones((1, {size}), np.float32)}}
{run}
with open("/proc/self/status") as lines:
    print(int(dict(line.split(":", 1) for line in lines)["VmHWM"].split()[0]) / 1024)
"""


def write(path: Path, megabytes: int) -> None:
    """A model with about so many weights."""
    count = max(1, megabytes * 10**6 // (SIZE * SIZE * 4))
    with open(path.with_suffix(".bin"), "wb") as file:
        file.truncate(SIZE * SIZE * 4)
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        helper.make_node("Add", ["x", "noise"], ["h0"]),
    ]
    weights = []
    for i in range(count):
        matrix = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE])
        matrix.data_location = TensorProto.EXTERNAL
        matrix.external_data.add(key="location", value=path.with_suffix(".bin").name)
        weights.append(matrix)
        nodes.append(helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"]))
    x, y = (helper.make_tensor_value_info(n, 1, ["N", SIZE]) for n in ("x", f"h{count}"))
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def peak(run: str, path: Path) -> float:
    """The memory of a process that runs this, in MB."""
    code = CHILD.format(size=SIZE, run=run)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[600, 2400])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    table = Table("weights", "runtime", "bare, MB", "Pipeline, MB", "ratio")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for megabytes in given.megabytes:
            path = Path(folder, f"{megabytes}.onnx")
            write(path, megabytes)
            for runtime in ("onnxruntime", "openvino"):
                bare, ours = (peak(WAYS[runtime, how], path) for how in ("bare", "Pipeline"))
                table.add_row(
                    f"{megabytes} MB", runtime, f"{bare:.0f}", f"{ours:.0f}", f"{ours / bare:.2f}"
                )
    Console().print(table)


if __name__ == "__main__":
    main()
