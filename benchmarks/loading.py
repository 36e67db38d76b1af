"""How long a session of a model with large weights takes to load, and how much memory it needs.

    python benchmarks/loading.py [--megabytes 600] [--layers 150] [--pairs 7] [--folder DIR]

Compares `onnx_philox.onnxruntime.InferenceSession` with ONNX Runtime's own session, which gets the
native library by its path and nothing else of this package. Each load runs in a process of its
own, and the two alternate. The time is that of making the session, after all imports. The memory
is the peak of the whole process, imports included, of one more load with a fixed threshold of
glibc's malloc. Linux only.

    python benchmarks/loading.py --nodes 2000 [--pairs 7]

A model of so many RandomNormalLike, each with an Add, instead: in ONNX Runtime as it was, rewritten
in ONNX Runtime's own session, and rewritten in ours.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import onnx_philox

TARGET = 1.1

# `load` is a function that makes a session of a path or bytes.
CHILD = """
{load}
import sys, time
_, path, how = sys.argv
model = open(path, "rb").read() if how == "bytes" else path
start, started = time.perf_counter(), time.process_time()
session = load(model)
seconds, worked = time.perf_counter() - start, time.process_time() - started
with open("/proc/self/status") as lines:
    fields = dict(line.split(":", 1) for line in lines)
print(seconds, worked, int(fields["VmHWM"].split()[0]) / 1024)
"""

OURS = """
from onnx_philox.onnxruntime import InferenceSession
def load(model): return InferenceSession(model, backend={backend!r})
"""

ORIGINAL = "from onnxruntime import InferenceSession as load"

THEIRS = """
import onnxruntime
def load(model):
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library({library!r})
    return onnxruntime.InferenceSession(model, options)
"""


@dataclass(frozen=True)
class Load:
    """What one process measured."""

    seconds: float
    worked: float
    """Seconds of the processor, which other load disturbs less."""
    megabytes: float


def make(path: Path, megabytes: float, layers: int, *, is_external: bool) -> None:
    """Layers of MatMul, Relu and Dropout, rewritten: the Dropouts draw with our operators."""
    width = round((megabytes * 2**20 / 4 / layers) ** 0.5)
    generator = np.random.default_rng(0)
    tensors = [
        helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.1]),
        helper.make_tensor("training", TensorProto.BOOL, [], [True]),
    ]
    nodes = []
    last = "x"
    for i in range(layers):
        tensors.append(
            numpy_helper.from_array(generator.random((width, width), np.float32), f"w{i}")
        )
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"product{i}"], f"product{i}"),
            helper.make_node("Relu", [f"product{i}"], [f"relu{i}"], f"relu{i}"),
            helper.make_node("Dropout", [f"relu{i}", "ratio", "training"], [f"y{i}"], f"drop{i}"),
        ]
        last = f"y{i}"
    shape = ["batch", width]
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        initializer=tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    original = path.with_name("original.onnx")
    onnx.save(model, original, save_as_external_data=is_external, location="weights.bin")
    onnx_philox.rewriting.rewrite_file(original, path)
    original.unlink()


def compare_many(folder: Path, nodes: int, rounds: int) -> None:
    """Prints the processor's seconds, and the medians of the ratios to the line above."""
    original, model = folder / "original.onnx", folder / "model.onnx"
    names = ["x", *(f"y{i}" for i in range(nodes))]
    made = [
        node
        for last, name in pairwise(names)
        for node in (
            helper.make_node("RandomNormalLike", [last], [f"{name}_noise"], f"{name}_draw"),
            helper.make_node("Add", [last, f"{name}_noise"], [name], f"{name}_add"),
        )
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in (names[0], names[-1]))
    graph = helper.make_graph(made, "many", [x], [y])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), original)
    onnx_philox.rewriting.rewrite_file(original, model)
    theirs = THEIRS.format(library=onnx_philox.onnxruntime.library_path())
    loads = {
        "as it was, in ONNX Runtime": (ORIGINAL, original),
        "rewritten, in ONNX Runtime": (theirs, model),
        "rewritten, in ours": (OURS.format(backend="native"), model),
    }
    worked = [[run(load, of, "path").worked for load, of in loads.values()] for _ in range(rounds)]
    print(f"| {nodes} random nodes | processor | times the line above |\n|---|--:|--:|")
    before = [1.0] * rounds
    for what, now in zip(loads, zip(*worked, strict=True), strict=True):
        ratio = statistics.median(a / b for a, b in zip(now, before, strict=True))
        times = "" if what in list(loads)[:1] else f"{ratio:.2f}"
        print(f"| {what} | {statistics.median(now):.2f} s | {times} |")
        before = list(now)


def run(load: str, model: Path, how: str) -> Load:
    """One load in a fresh process, and one more for its memory."""
    command = [sys.executable, "-c", CHILD.format(load=load), str(model), how]

    def fields(**environment: str) -> list[float]:
        given = os.environ | environment
        done = subprocess.run(command, check=True, capture_output=True, env=given)
        return [float(field) for field in done.stdout.split()]

    seconds, worked, _ = fields()
    # With the threshold that glibc moves by itself, ONNX Runtime's own peak varies by 400 MB.
    *_, megabytes = fields(MALLOC_MMAP_THRESHOLD_=str(2**17))
    return Load(seconds, worked, megabytes)


def compare(ours: str, model: Path, how: str, pairs: int) -> Iterator[tuple[Load, Load]]:
    """Pairs of loads, ours and ONNX Runtime's, which take turns in going first."""
    theirs = THEIRS.format(library=onnx_philox.onnxruntime.library_path())
    for index in range(pairs):
        if index % 2:
            peer = run(theirs, model, how)
            yield run(ours, model, how), peer
        else:
            yield run(ours, model, how), run(theirs, model, how)


def row(what: str, loads: list[tuple[Load, Load]]) -> str:
    """A line of the table: medians, and the medians of the pairs' ratios."""
    mine, theirs = zip(*loads, strict=True)
    time = [ours.seconds / peer.seconds for ours, peer in loads]
    memory = [ours.megabytes / peer.megabytes for ours, peer in loads]
    worked = [ours.worked / peer.worked for ours, peer in loads]
    cells = [
        what,
        f"{statistics.median(x.seconds for x in mine):.2f} s",
        f"{statistics.median(x.seconds for x in theirs):.2f} s",
        f"{statistics.median(time):.2f}",
        f"{min(time):.2f} to {max(time):.2f}",
        f"{statistics.median(worked):.2f}",
        f"{statistics.median(x.megabytes for x in mine):.0f} MB",
        f"{statistics.median(x.megabytes for x in theirs):.0f} MB",
        f"{statistics.median(memory):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=600)
    parser.add_argument("--layers", type=int, default=150)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--nodes", type=int, default=0)
    given = parser.parse_args()
    if given.nodes:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            compare_many(Path(folder), given.nodes, given.pairs)
        return
    print(f"target: at most {TARGET} of ONNX Runtime's time and memory with backend 'native'\n")
    print("| backend, weights, given as | time | ONNX Runtime | ratio | range", end="")
    print(" | processor | memory | ONNX Runtime | ratio |\n|---|--:|--:|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        models = {where: Path(folder, where, "model.onnx") for where in ("inside", "external")}
        for where, model in models.items():
            model.parent.mkdir()
            make(model, given.megabytes, given.layers, is_external=where == "external")
        for backend in ("native", "python"):
            for where, how in (("inside", "path"), ("external", "path"), ("inside", "bytes")):
                ours = OURS.format(backend=backend)
                loads = list(compare(ours, models[where], how, given.pairs))
                print(row(f"{backend}, {where}, {how}", loads), flush=True)


if __name__ == "__main__":
    main()
