"""Two builds of the native library for ONNX Runtime in one process: what a change did to speed.

    python benchmarks/two_builds.py OLD_LIBRARY [NEW_LIBRARY] [--pairs N]

The libraries are files as `onnx-philox path onnxruntime` prints them; the new one is that of the
installed package where none is given. Every operator draws 2^10, 2^16 and 2^22 elements into bound
memory, each ratio from alternating pairs: the old build's time divided by the new one's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from native_runtimes import THREADS, describer
from paired import Call, Row, compare, rich_table
from rich.console import Console

import onnx_philox
from onnx_philox import PhiloxState, graphs

SIZES_LOG2 = (10, 16, 22)
CLASSES = 64
SAMPLES = 1000
STATE = PhiloxState.from_seed(42).to_array()


def models(size: int) -> Iterator[tuple[str, onnx.ModelProto, dict[str, np.ndarray]]]:
    """An operator, a model of it that draws so many elements, and its inputs but for the state."""
    yield "RandomGenerator", graphs.random_generator([size]), {}
    for type_ in ("f32", "i32", "f16"):
        made = graphs.random_uniform([size], 0, 1 if type_[0] == "f" else 99, type_, stateful=True)
        yield f"RandomUniform {type_}", made, {}
    yield "RandomNormal f32", graphs.random_normal([size], 0, 1, "f32", stateful=True), {}
    yield "RandomBernoulli", graphs.random_bernoulli([size], 0.3, stateful=True), {}
    made = graphs.random_exponential([size], 1, "f32", stateful=True)
    yield "RandomExponential", made, {}
    for alpha in (0.5, 2.5):
        made = graphs.random_gamma([size], alpha, "f32", stateful=True)
        yield f"RandomGamma of {alpha}", made, {}
    for rate in (3.0, 30.0):
        made = graphs.random_poisson([size], rate, "i32", stateful=True)
        yield f"RandomPoisson of {rate:g}", made, {}
    data = np.ones(size, np.float32)
    yield "RandomDropout", graphs.random_dropout(None, 0.5, rank=1, stateful=True), {"data": data}
    yield "RandomPermutation", graphs.random_permutation([size], stateful=True), {}
    logits = np.random.default_rng(0).normal(size=(size // CLASSES, CLASSES)).astype(np.float32)
    made = graphs.random_categorical(sample_size=1, stateful=True)
    yield f"RandomCategorical of {CLASSES}", made, {"logits": logits}
    one_row = logits.reshape(1, size)
    made = graphs.random_categorical(sample_size=SAMPLES, stateful=True)
    yield f"RandomCategorical, {SAMPLES:,} of one row", made, {"logits": one_row}
    yield "RandomToken of one row", graphs.random_token(stateful=True), {"logits": one_row}


def call(library: Path, model: bytes, inputs: dict[str, np.ndarray], threads: int) -> Call:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    # Two pools that spin would take the processors from each other.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.register_custom_ops_library(str(library))
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
    outputs = session.run_with_ort_values(
        None, {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in inputs.items()}
    )
    for output, value in zip(session.get_outputs(), outputs, strict=True):
        binding.bind_ortvalue_output(output.name, value)
    return lambda: session.run_with_iobinding(binding)


def rows(old: Path, new: Path, pairs: int) -> Iterator[Row]:
    for log2 in SIZES_LOG2:
        for what, made, others in models(1 << log2):
            inputs = {**others, "state": STATE}
            for threads in THREADS:
                row = Row("two builds", what, "the old build", threads, f"2^{log2}")
                ours, theirs = (
                    call(library, made.SerializeToString(), inputs, threads)
                    for library in (new, old)
                )
                yield compare(row, ours, theirs, pairs, describer(log2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=onnx_philox.onnxruntime.library_path())
    parser.add_argument("--pairs", type=int, default=31)
    given = parser.parse_args()
    table = rich_table("two builds", list(rows(given.old, given.new, given.pairs)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
