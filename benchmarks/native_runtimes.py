"""The native libraries in their runtimes, beside the runtimes' own RandomUniform and `memset`."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort
import openvino as ov
from onnx import TensorProto, helper
from openvino import opset8
from paired import Call, Row, compare, gigabytes, microseconds

import onnx_philox
from onnx_philox import PhiloxState, _native, generate, graphs
from onnx_philox._openvino_models import requests

STATE = PhiloxState(counter=0, key=42)
STATE_WORDS = STATE.to_array()
THREADS = (1, 2)
OPENVINO_TARGETS = {10: 1 / 1.3, 16: 1.2, 20: 1.5, 24: 1.5}
OPENVINO_LATENCY_TARGET_WITH_STATE = 1 / 1.7
ONNXRUNTIME_TARGETS = {(10, 1): 1, (10, 2): 1, (20, 1): 9, (20, 2): 15, (24, 1): 9, (24, 2): 15}
BITS_LOG2 = 26


def describer(log2: int) -> Callable[[float], str]:
    return microseconds if log2 <= 10 else gigabytes(4 << log2)


# OpenVINO: the shape is a model input on both sides, since a node of constants is computed when the
# model is compiled and its runs measure nothing.


def openvino_core() -> ov.Core:
    return onnx_philox.openvino.register(ov.Core(), backend="native")


def openvino_request(model: ov.Model, inputs: dict[str, np.ndarray], threads: int) -> object:
    config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    request = openvino_core().compile_model(model, "CPU", config).create_infer_request()
    for name, value in inputs.items():
        request.set_tensor(name, ov.Tensor(value))
    return request


def openvino_ours(model: object, inputs: dict[str, np.ndarray], threads: int) -> object:
    read = openvino_core().read_model(model.SerializeToString())
    return openvino_request(read, inputs, threads)


def openvino_call(request: object) -> Call:
    # Nobody reads the output, so Python does not copy it.
    return lambda: requests.run(request)


def openvino_own(size: int, threads: int) -> Call:
    shape = opset8.parameter([1], np.int64, "shape")
    shape.output(0).set_names({"shape"})
    node = opset8.random_uniform(shape, np.float32(0), np.float32(1), "f32", 7, 0)
    model = ov.Model([node.output(0)], [shape])
    return openvino_call(openvino_request(model, {"shape": np.array([size])}, threads))


def openvino_uniform(size: int, threads: int, stateful: bool) -> Call:
    model = graphs.random_uniform(None, 0, 1, "f32", global_seed=7, stateful=stateful, rank=1)
    inputs = {"shape": np.array([size])} | ({"state": STATE_WORDS} if stateful else {})
    return openvino_call(openvino_ours(model, inputs, threads))


def openvino_part(pairs: int) -> Iterator[Row]:
    for log2, target in OPENVINO_TARGETS.items():
        for threads in THREADS:
            for stateful in (False, True):
                limit = OPENVINO_LATENCY_TARGET_WITH_STATE if stateful and log2 == 10 else target
                row = Row(
                    "openvino",
                    f"OpenVINO f32, {'state' if stateful else 'seeds'}",
                    "its RandomUniform",
                    threads,
                    f"2^{log2}",
                    target=limit,
                )
                ours = openvino_uniform(1 << log2, threads, stateful)
                yield compare(row, ours, openvino_own(1 << log2, threads), pairs, describer(log2))


# ONNX Runtime, into bound memory.


def onnxruntime_call(
    model: bytes, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray], threads: int
) -> Call:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    onnx_philox.onnxruntime.register(options)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(value))
    return lambda: session.run_with_iobinding(binding)


def onnxruntime_own(size: int, threads: int) -> Call:
    node = helper.make_node("RandomUniform", [], ["values"], dtype=1, shape=[size], seed=1.0)
    output = helper.make_tensor_value_info("values", TensorProto.FLOAT, [size])
    graph = helper.make_graph([node], "own", [], [output])
    # It has kernels of the random nodes up to opset 21 only.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return checked(model.SerializeToString(), {}, {"values": np.zeros(size, np.float32)}, threads)


def onnxruntime_uniform(size: int, threads: int, stateful: bool) -> Call:
    model = graphs.random_uniform([size], 0, 1, "f32", global_seed=7, stateful=stateful)
    outputs = {"values": np.zeros(size, np.float32)}
    inputs = {}
    if stateful:
        inputs["state"] = STATE_WORDS
        outputs["next_state"] = np.zeros(6, np.uint32)
    return checked(model.SerializeToString(), inputs, outputs, threads)


def checked(
    model: bytes, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray], threads: int
) -> Call:
    """A call, once it was seen to write where it was told."""
    call = onnxruntime_call(model, inputs, outputs, threads)
    call()
    values = outputs["values"]
    assert 0 <= values.min() <= values.max() < 1
    assert abs(values.mean() - 0.5) < 0.1
    return call


def onnxruntime_part(pairs: int) -> Iterator[Row]:
    for (log2, threads), target in ONNXRUNTIME_TARGETS.items():
        for stateful in (False, True):
            row = Row(
                "onnxruntime",
                f"ONNX Runtime f32, {'state' if stateful else 'seeds'}",
                "its RandomUniform",
                threads,
                f"2^{log2}",
                target=target,
            )
            ours = onnxruntime_uniform(1 << log2, threads, stateful)
            yield compare(row, ours, onnxruntime_own(1 << log2, threads), pairs, describer(log2))


# RandomGenerator's bits beside memset, into the same memory, both on two threads.


def bits_part(pairs: int) -> Iterator[Row]:
    size = 1 << BITS_LOG2
    memory = np.zeros(size, np.uint32)
    halves = memory[: size // 2], memory[size // 2 :]
    states = STATE, STATE.advance(size // 2)
    with ThreadPoolExecutor(2) as pool:

        def generate_halves() -> None:
            list(pool.map(lambda s, half: generate(s, out=half), states, halves))

        def memset_halves() -> None:
            # ctypes lets go of the GIL.
            list(pool.map(lambda half: ctypes.memset(half.ctypes.data, 1, half.nbytes), halves))

        model = graphs.random_generator([size])
        inputs = {"state": STATE_WORDS}
        outputs = {"bits": memory, "next_state": np.zeros(6, np.uint32)}
        bound = onnxruntime_call(model.SerializeToString(), inputs, outputs, 2)
        # Where the shape is an input instead, the runtime copies into a preset output.
        request = openvino_ours(model, inputs, 2)
        request.set_tensor("bits", ov.Tensor(memory, shared_memory=True))
        for name, ours in (
            ("generate on two halves", generate_halves),
            ("ONNX Runtime", bound),
            ("OpenVINO, preset output", openvino_call(request)),
        ):
            memory[:] = 0
            ours()
            assert memory[-1] != 0, f"{name} wrote elsewhere"
            row = Row("bits", f"{name}, bits", "memset", 2, f"2^{BITS_LOG2}", target=0.9)
            yield compare(row, ours, memset_halves, pairs, gigabytes(memory.nbytes))


# Forced instruction sets, each in a process of its own.


def isa_part(pairs: int) -> Iterator[Row]:
    for isa in ("avx2", "scalar"):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "rows.json"
            script = Path(__file__).with_name("native.py")
            command = [sys.executable, str(script), "forced-isa"]
            command += ["--pairs", str(pairs), "--json", str(out)]
            environment = os.environ | {"ONNX_PHILOX_ISA": isa}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                why = (done.stderr.strip().splitlines() or ["it failed"])[-1]
                yield Row("isa", f"{isa} forced", note=why)
                continue
            for row in json.loads(out.read_text())["rows"]:
                del row["verdict"]
                yield Row(**row)


def forced_isa_part(pairs: int) -> Iterator[Row]:
    """What `isa_part` runs, with ONNX_PHILOX_ISA set."""
    isa = _native.isa()
    assert isa == os.environ["ONNX_PHILOX_ISA"]
    target = 1.1 if isa == "avx2" else None
    own = {threads: openvino_own(1 << 24, threads) for threads in THREADS}
    for threads in THREADS:
        row = Row(
            "isa",
            f"OpenVINO f32, {isa}",
            "its RandomUniform",
            threads,
            "2^24",
            target=target,
        )
        ours = openvino_uniform(1 << 24, threads, stateful=False)
        yield compare(row, ours, own[threads], pairs, gigabytes(4 << 24))
    values = np.zeros(1 << 24, np.float32)
    row = Row("isa", f"generate f32, {isa}", "OpenVINO's RandomUniform", 1, "2^24")
    compare(row, lambda: generate(STATE, out=values), own[1], pairs, gigabytes(values.nbytes))
    yield row
    if isa == "scalar":
        speeds = [values.nbytes / mine / 1e9 for mine, _ in row.pairs]
        yield Row(
            "isa",
            "generate f32, scalar",
            size="2^24",
            measured=float(np.median(speeds)),
            unit="GB/s",
            quartiles=tuple(float(q) for q in np.quantile(speeds, [0.25, 0.75])),
            best=max(speeds),
            target=1.0,
        )
