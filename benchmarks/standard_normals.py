"""Whether normals of standard nodes are exact: all f32 uniforms, then 2^26 draws.

    python benchmarks/standard_normals.py
    (cd examples/web && npm install)
    python benchmarks/standard_normals.py --runtime onnxruntime-web

An f32 normal is made of two uniforms, u and v, of 2^23 values each: it is the product of a root
that depends on u and of a sine or cosine that depends on v. So all roots, sines and cosines prove
all 2^46 pairs, wherever a product is rounded once. The 2^26 draws then try the whole model.
OpenVINO fuses operations, so some of its values differ: the last column says by how much. It ends
with 1 if another runtime differs anywhere. ONNX Runtime Web is its WebAssembly, in Node.js.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import openvino as ov
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import onnx_philox
from onnx_philox._contract.types import F32
from onnx_philox._numbers import elementary as in_numpy
from onnx_philox._openvino_models import requests
from onnx_philox._standard import elementary_nodes
from onnx_philox._standard.builder import OPSET, Builder

Arrays = dict[str, NDArray[np.generic]]
Run = Callable[[Arrays], list[NDArray[np.float32]]]

ROOT = Path(__file__).parents[1]
UNIFORMS = np.arange(2**23, dtype=np.float32) * np.float32(2**-23)
AT_ONCE = 2**22
STATE = onnx_philox.PhiloxState(2**32 - 2**20, 42)


def in_onnxruntime(model: onnx.ModelProto) -> Run:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda feeds: session.run(None, feeds)


def in_openvino(model: onnx.ModelProto) -> Run:
    core = ov.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", config)
    request = compiled.create_infer_request()

    def run(feeds: Arrays) -> list[NDArray[np.float32]]:
        requests.run(request, feeds)
        return [request.get_tensor(output).data.copy() for output in compiled.outputs]

    return run


def in_web(model: onnx.ModelProto) -> Run:
    """A process of its own for each run."""
    types = {o.name: o.type.tensor_type.elem_type for o in model.graph.output}

    def run(feeds: Arrays) -> list[NDArray[np.float32]]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            onnx.save(model, place / "model.onnx")
            named = [
                {"name": name, "type": array.dtype.name, "dims": array.shape}
                for name, array in feeds.items()
            ]
            (place / "feeds.json").write_text(json.dumps(named))
            for name, array in feeds.items():
                (place / f"{name}.in").write_bytes(array.tobytes())
            script, example = ROOT / "tests/web/run_in_node.mjs", ROOT / "examples/web"
            subprocess.run(["node", script, example, place], check=True)
            return [
                np.fromfile(place / f"{name}.out", onnx.helper.tensor_dtype_to_np_dtype(type_))
                for name, type_ in types.items()
            ]

    return run


RUNTIMES: dict[str, Callable[[onnx.ModelProto], Run]] = {
    "onnxruntime": in_onnxruntime,
    "openvino": in_openvino,
    "onnxruntime-web": in_web,
}


def parts() -> onnx.ModelProto:
    """From u and v to the root, the sine and the cosine."""
    b = Builder(None)
    shape, type_ = ir.Shape([None]), ir.TensorType(ir.DataType.FLOAT)
    u, v = (ir.Value(name=name, type=type_, shape=shape) for name in "uv")
    smallest = b.constant(1e-7, np.float32)
    root = b("Sqrt", elementary_nodes.minus_two_ln(b, b("Max", u, smallest), F32))
    outputs = (root, *elementary_nodes.sin_cos_turns(b, v, F32))
    for output in outputs:
        output.type = type_
    model = ir.Model(b.graph([u, v], outputs, {"": OPSET}), ir_version=8)
    return ir.to_proto(model)


def pairs(
    runtime: str, draws: int
) -> Iterator[tuple[str, NDArray[np.float32], NDArray[np.float32]]]:
    """What it is, as the runtime computes it and as it must be."""
    made = RUNTIMES[runtime](parts())({"u": UNIFORMS, "v": UNIFORMS})
    root = np.sqrt(in_numpy.minus_two_ln(np.maximum(UNIFORMS, np.float32(1e-7))))
    right = (root, *in_numpy.sin_cos_turns(UNIFORMS))
    yield from zip(
        ("roots, by all u", "sines, by all v", "cosines, by all v"), made, right, strict=True
    )
    model = onnx_philox.graphs.random_normal([AT_ONCE], 0, 1, "f32", stateful=True)
    target = runtime.removesuffix("-web")
    standard = onnx_philox.to_standard_nodes(model, target=target, inexact="allow")
    run, state = RUNTIMES[runtime](standard), STATE
    for i in range(draws // AT_ONCE):
        values = run({"state": state.to_array()})[0]
        right_values = onnx_philox.reference.random_normal(
            [AT_ONCE], 0, 1, "f32", state=state.to_array()
        )[0]
        yield "draws", values, right_values
        state = state.advance(AT_ONCE)
        print(f"{runtime}: {i + 1} of {draws // AT_ONCE}", end="\r")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=RUNTIMES, action="append")
    parser.add_argument("--draws", type=int, default=2**26, help=f"a multiple of {AT_ONCE}")
    given = parser.parse_args()
    is_exact = True
    table = Table("runtime", "values", "how many", "different", "by at most")
    for runtime in given.runtime or ("onnxruntime", "openvino"):
        found: dict[str, list[float]] = {}
        for what, made, right in pairs(runtime, given.draws):
            row = found.setdefault(what, [0, 0, 0])
            row[0] += right.size
            row[1] += np.count_nonzero(made.view(np.int32) != right.view(np.int32))
            row[2] = max(row[2], np.abs(made - right).max().item())
        for what, (size, different, most) in found.items():
            table.add_row(runtime, what, f"{size:,}", f"{different:,}", f"{most:.1g}")
            is_exact &= different == 0 or runtime == "openvino"
    Console(width=100).print(table)
    raise SystemExit(not is_exact)


if __name__ == "__main__":
    main()
