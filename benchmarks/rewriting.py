"""How long rewriting a large model takes, and how much memory: 5,000 nodes, 1 GB of weights.

    python benchmarks/rewriting.py [--gigabytes 1] [--nodes 5000] [--folder DIR]

Makes two files of the same model, weights inside and beside, and rewrites each in a process of
its own. Memory is that process's anonymous memory at its highest, which is what has to be there;
pages of mapped files are not in it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 1024
RANDOM_SHARE = 50

CHILD = """
import sys, threading, time
import onnx
import onnx_philox.rewriting

peak = 0
def watch():
    global peak
    while True:
        with open("/proc/self/status") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        peak = max(peak, int(fields["RssAnon"].split()[0]))
        time.sleep(0.002)

threading.Thread(target=watch, daemon=True).start()
time.sleep(0.05)
before = peak
start = time.perf_counter()
report = onnx_philox.rewriting.rewrite_file(sys.argv[1], sys.argv[2])
seconds = time.perf_counter() - start
time.sleep(0.01)
print(f"{seconds:.2f} s, {(peak - before) / 1024:.0f} MB anonymous memory, "
      f"{len(report.replaced)} nodes replaced")
"""


def make(path: Path, gigabytes: float, nodes: int, *, is_external: bool) -> None:
    """A chain of Add, Relu and Dropout, with weights that every matrix product would read."""
    weights = round(gigabytes * 2**30 / (WIDTH * WIDTH * 4))
    generator = np.random.default_rng(0)
    tensors = []
    body = []
    last = "x"
    for i in range(nodes):
        output = f"v{i}"
        if i % RANDOM_SHARE == 0:
            body.append(helper.make_node("Dropout", [last, "ratio", "training"], [output], f"n{i}"))
        elif i % 2 and len(tensors) < weights:
            weight = generator.random((WIDTH, WIDTH), np.float32)
            tensors.append(numpy_helper.from_array(weight, f"w{len(tensors)}"))
            body.append(helper.make_node("MatMul", [last, tensors[-1].name], [output], f"n{i}"))
        else:
            body.append(helper.make_node("Relu", [last], [output], f"n{i}"))
        last = output
    tensors.append(helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.1]))
    tensors.append(helper.make_tensor("training", TensorProto.BOOL, [], [True]))
    shape = ["batch", WIDTH]
    graph = helper.make_graph(
        body,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        initializer=tensors,
        value_info=[
            helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, shape)
            for i in range(nodes - 1)
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(model, path, save_as_external_data=is_external, location=f"{path.name}.data")


def run(code: str, *arguments: str) -> str:
    """A child process, so that nothing else is in its memory."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for name, is_external in (("inside", False), ("external", True)):
            source = Path(folder, name, "model.onnx")
            source.parent.mkdir()
            make(source, given.gigabytes, given.nodes, is_external=is_external)
            os.sync()
            for kind, target in (
                ("same folder", source.with_name("rewritten.onnx")),
                ("other folder", Path(folder, name, "other", "rewritten.onnx")),
            ):
                target.parent.mkdir(exist_ok=True)
                print(f"{name:9} {kind:13} {run(CHILD, str(source), str(target))}", flush=True)
            start = time.perf_counter()
            proto = onnx.load(source)
            onnx.save(proto, source.with_name("copy.onnx"))
            del proto
            print(
                f"{name:9} onnx.load + onnx.save, for comparison: "
                f"{time.perf_counter() - start:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
