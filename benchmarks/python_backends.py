"""Speed and memory of the NumPy reference and of the backends written in Python.

    python benchmarks/python_backends.py

Reports, and judges nothing. Times are medians of repetitions that alternate between all rows of a
table, so that a busy moment of the machine hits every row; calls have state and shape as inputs, or
OpenVINO would compute them when it compiles the model.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from onnx_philox import _philox as philox
from onnx_philox._openvino_models import requests

WORDS = 2**22
MEMORY_WORDS = 2**24
REPETITIONS = 21
TYPES = ("f32", "f64", "f16", "bf16", "i32", "i64")
BOUNDS = {"i32": (-1000, 1000), "i64": (-3, 2**40 + 1)}
CHUNK_BLOCKS = (4096, 8192, 16384, 32768, 65536)
STATE = PhiloxState(counter=5, key=2**64 - 2).to_array()

Call = Callable[[], object]


def reference_call(type_: str, words: int) -> Call:
    if type_ == "bits":
        return lambda: reference.random_generator(STATE, [words])
    low, high = BOUNDS.get(type_, (-1, 1))
    elements = words // 2 if type_.endswith("64") else words
    return lambda: reference.random_uniform([elements], low, high, type_, state=STATE)


def onnxruntime_call(type_: str, words: int) -> Call:
    session = onnx_philox.onnxruntime.InferenceSession(model(type_), backend="python")
    feed = inputs(words)
    return lambda: session.run(None, feed)


def openvino_call(type_: str, words: int) -> Call:
    import openvino as ov

    core = onnx_philox.openvino.register(ov.Core(), backend="python")
    read = core.read_model(model(type_).SerializeToString())
    request = core.compile_model(read, "CPU").create_infer_request()
    # As tensors once: the request then hands out its own memory, without a copy for Python.
    for name, array in inputs(words).items():
        request.set_tensor(name, ov.Tensor(array))
    return lambda: requests.run(request)


def model(type_: str) -> object:
    if type_ == "bits":
        return graphs.random_generator(None, rank=1)
    return graphs.random_uniform(None, -1, 1, type_, stateful=True, rank=1)


def inputs(words: int) -> dict[str, np.ndarray]:
    return {"state": STATE, "shape": np.array([words])}


RUNTIMES: dict[str, Callable[[str, int], Call]] = {
    "reference": reference_call,
    "onnxruntime": onnxruntime_call,
    "openvino": openvino_call,
}


def medians(calls: dict[str, Call], repetitions: int = REPETITIONS) -> dict[str, float]:
    """Seconds of each call."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def peak_over_output(call: Call, output_bytes: int) -> float:
    """The most memory that NumPy held, in sizes of the output."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / output_bytes


def speed_of_the_reference() -> Table:
    philox4x64 = np.random.Generator(np.random.Philox(42))
    sfc64 = np.random.Generator(np.random.SFC64(42))
    peers: dict[str, tuple[Call, int]] = {}
    for name, generator in (("Philox (4x64)", philox4x64), ("SFC64", sfc64)):
        for dtype, words in ((np.float32, WORDS), (np.float64, WORDS // 2)):
            peers[f"numpy {name} {dtype.__name__}"] = (
                lambda g=generator, d=dtype, n=words: g.random(n, dtype=d),
                4 * WORDS,
            )
    rows = {
        f"reference {type_}": (reference_call(type_, WORDS), 2 * WORDS * (2 - type_.endswith("16")))
        for type_ in ("bits", *TYPES)
    } | peers
    times = medians({name: call for name, (call, _) in rows.items()})
    table = make_table(
        f"2^{WORDS.bit_length() - 1} words on one thread",
        "",
        "million words/s",
        "ms",
        "peak memory / output",
    )
    for name, (call, output_bytes) in rows.items():
        seconds = times[name]
        table.add_row(
            name,
            f"{WORDS / seconds / 1e6:.0f}",
            f"{seconds * 1e3:.1f}",
            f"{peak_over_output(call, output_bytes):.2f}",
        )
    return table


def speed_by_chunk() -> Table:
    def call(blocks: int) -> None:
        philox._CHUNK_BLOCKS = blocks
        reference.random_generator(STATE, [WORDS])

    default = philox._CHUNK_BLOCKS
    times = medians({str(n): lambda n=n: call(n) for n in CHUNK_BLOCKS})
    philox._CHUNK_BLOCKS = default
    table = make_table("reference bits by _CHUNK_BLOCKS", "blocks", "million words/s")
    for blocks in CHUNK_BLOCKS:
        mark = " *" if blocks == default else ""
        table.add_row(f"{blocks}{mark}", f"{WORDS / times[str(blocks)] / 1e6:.0f}")
    return table


def runtimes() -> Table:
    table = make_table(
        f"The backends in Python; memory at 2^{MEMORY_WORDS.bit_length() - 1} words",
        "",
        "4 words, µs",
        f"2^{WORDS.bit_length() - 1} words, ms",
        "peak memory / output",
    )
    for type_ in ("bits", "f32"):
        large = medians({r: make(type_, WORDS) for r, make in RUNTIMES.items()})
        small = medians({r: make(type_, 4) for r, make in RUNTIMES.items()}, 1000)
        for runtime in RUNTIMES:
            table.add_row(
                f"{runtime} {type_}",
                f"{small[runtime] * 1e6:.0f}",
                f"{large[runtime] * 1e3:.1f}",
                f"{memory_in_a_fresh_process(runtime, type_):.2f}",
            )
    return table


def memory_in_a_fresh_process(runtime: str, type_: str) -> float:
    command = [sys.executable, __file__, runtime, type_]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_memory(runtime: str, type_: str) -> None:
    """In a process of its own: how far the first large call raises the resident memory."""
    make = RUNTIMES[runtime]
    make(type_, 4)()
    call = make(type_, MEMORY_WORDS)
    before = resident_bytes("VmRSS")
    call()
    print((resident_bytes("VmHWM") - before) / (4 * MEMORY_WORDS))


def resident_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(field))
    return int(kilobytes) * 1024


def make_table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    return table


def main() -> None:
    console = Console()
    packages = ("onnx-philox", "numpy", "onnxruntime", "onnxruntime-extensions", "openvino")
    console.print(", ".join(f"{name} {version(name)}" for name in packages))
    for make in (speed_of_the_reference, speed_by_chunk, runtimes):
        console.print(make())


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print_memory(*sys.argv[1:])
    else:
        main()
