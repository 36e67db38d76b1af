"""How far one large draw raises the resident memory of a fresh process, beyond its output.

    python benchmarks/native_memory.py CONTENDER LOG2

prints it in bytes; `native.py memory` does so for all. Linux only.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from paired import Row

from onnx_philox import PhiloxState, generate, graphs
from onnx_philox._openvino_models import requests

LOG2S = (22, 26)
WARM = 1 << 10
STATE = PhiloxState(counter=0, key=42)
Draw = Callable[[np.ndarray], object]


def generate_draw(size: int) -> Draw:
    del size
    return lambda out: generate(STATE, out=out)


def generate_and_copy(size: int) -> Draw:
    """Shows that the measurement sees one more copy."""
    del size

    def draw(out: np.ndarray) -> None:
        other = np.empty_like(out)
        generate(STATE, out=other)
        out[:] = other

    return draw


def onnxruntime_draw(size: int) -> Draw:
    import onnxruntime as ort

    import onnx_philox

    del size
    options = onnx_philox.onnxruntime.register(ort.SessionOptions())
    options.intra_op_num_threads = 2
    model = graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=1)
    session = ort.InferenceSession(model.SerializeToString(), options)

    def draw(out: np.ndarray) -> None:
        binding = session.io_binding()
        for name, value in (("shape", np.array([out.size])), ("state", STATE.to_array())):
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        binding.bind_ortvalue_output("values", ort.OrtValue.ortvalue_from_numpy(out))
        binding.bind_output("next_state")
        session.run_with_iobinding(binding)

    return draw


def openvino_draw(size: int) -> Draw:
    """The shape is a constant: the runtime can hand on the memory it is given."""
    return openvino_ours(graphs.random_uniform([size], 0, 1, "f32", stateful=True))


def openvino_draw_of_any_shape(size: int) -> Draw:
    """The shape is an input: the runtime computes into memory of its own, then copies."""
    del size
    return openvino_ours(graphs.random_uniform(None, 0, 1, "f32", stateful=True, rank=1))


def openvino_ours(model: object) -> Draw:
    import openvino as ov

    import onnx_philox

    core = onnx_philox.openvino.register(ov.Core(), backend="native")
    return preset(core.compile_model(core.read_model(model.SerializeToString()), "CPU"))


def openvino_own_of_any_shape(size: int) -> Draw:
    import openvino as ov
    from openvino import opset8

    del size
    shape = opset8.parameter([1], np.int64, "shape")
    shape.output(0).set_names({"shape"})
    node = opset8.random_uniform(shape, np.float32(0), np.float32(1), "f32", 7, 0)
    node.output(0).set_names({"values"})
    return preset(ov.Core().compile_model(ov.Model([node.output(0)], [shape]), "CPU"))


def preset(compiled: object) -> Draw:
    import openvino as ov

    request = compiled.create_infer_request()
    names = {name for port in request.model_inputs for name in port.get_names()}

    def draw(out: np.ndarray) -> None:
        inputs = {"shape": np.array([out.size]), "state": STATE.to_array()}
        for name in names & inputs.keys():
            request.set_tensor(name, ov.Tensor(inputs[name]))
        request.set_tensor("values", ov.Tensor(out, shared_memory=True))
        requests.run(request)

    return draw


@dataclass(frozen=True)
class Contender:
    """Something that fills an array."""

    name: str
    make: Callable[[int], Draw]
    target: float | None = None
    threads: int = 2
    warms: bool = True
    """Whether it can draw another size first."""


CONTENDERS = {
    "generate": Contender("generate", generate_draw, 0.01, threads=1),
    "onnxruntime": Contender("ONNX Runtime, bound output", onnxruntime_draw, 0.01),
    "openvino": Contender("OpenVINO, preset output", openvino_draw, 0.01, warms=False),
    "openvino-any": Contender(
        "OpenVINO, preset output, shape an input", openvino_draw_of_any_shape
    ),
    "openvino-own": Contender("OpenVINO's RandomUniform, the same", openvino_own_of_any_shape),
    "copy": Contender("generate, then a copy on purpose", generate_and_copy, threads=1),
}


def memory_part(pairs: int) -> Iterator[Row]:
    del pairs  # memory needs none
    for key, contender in CONTENDERS.items():
        for log2 in LOG2S:
            command = [sys.executable, __file__, key, str(log2)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            grown = int(done.stdout)
            yield Row(
                "memory",
                contender.name,
                threads=contender.threads,
                size=f"2^{log2}",
                measured=grown / (4 << log2),
                unit="outputs",
                target=contender.target if log2 == max(LOG2S) else None,
                at_most=True,
                speed=f"{grown / 1024:.0f} KiB",
            )


def measure(contender: Contender, log2: int) -> int:
    """Bytes by which one draw raises the peak over what was resident before it."""
    draw = contender.make(1 << log2)
    if contender.warms:
        draw(np.zeros(WARM, np.float32))
    out = np.full(1 << log2, 2, np.float32)  # every page is there
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident_bytes("VmRSS")
    draw(out)
    peak = resident_bytes("VmHWM")
    assert out.max() < 1, "written elsewhere"
    return max(0, peak - before)


def resident_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(field))
    return int(kilobytes) * 1024


if __name__ == "__main__":
    print(measure(CONTENDERS[sys.argv[1]], int(sys.argv[2])))
