"""The package without its parts and the command's libraries, for test_parts: what works, and what
is said of the rest. Prints a JSON object."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import openvino as ov

import onnx_philox as op

HIDDEN = (
    "onnx_philox._torch",
    "onnx_philox._command",
    "onnx_philox._experimental",
    "click",
    "jinja2",
    "rich",
    "torch",
)
NOISY = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 3] x) => (float[batch, 3] y) { noise = RandomNormalLike (x)  y = Add (x, noise) }
""")
FEED = {"x": np.zeros((2, 3), np.float32)}


def bits_in_openvino() -> Any:
    core = op.openvino.register(ov.Core())
    return core, core.read_model(op.graphs.random_generator([4]).SerializeToString())


def session() -> Any:
    return op.onnxruntime.InferenceSession(op.make_reproducible(NOISY, seed=1)).run(None, FEED)


def rewritten_file() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old.onnx"), Path(folder, "new.onnx")
        onnx.save(NOISY, old)
        return op.rewriting.rewrite_file(old, new)


def generated() -> Any:
    out = np.empty(3, np.float32)
    return op.generate(op.PhiloxState(), out=out, minval=0.0, maxval=1.0)


def record() -> Any:
    with op.Pipeline(NOISY.SerializeToString()) as pipe:
        return pipe(FEED, seed=1).record()


def progress() -> Any:
    return op.Pipeline(NOISY, per_row=True).map([FEED], seed=1, progress=True)


def command() -> Any:
    from onnx_philox.__main__ import main

    return main()


def torchs_door() -> Any:
    import onnx_philox.torch

    return onnx_philox.torch


def imported_state() -> Any:
    from onnx_philox import TorchState

    return TorchState


WORKS: dict[str, Callable[[], Any]] = {
    "graphs": lambda: op.graphs.random_normal([2], 0.0, 1.0, "f32", op_seed=1),
    "reference": lambda: op.reference.random_normal([2], 0.0, 1.0, "f32", op_seed=1),
    "openvino": lambda: op.openvino.random_normal([2], 0.0, 1.0, "f32", op_seed=1),
    "generate": generated,
    "register_schemas": op.register_schemas,
    "onnx_reference": lambda: op.onnx_reference.OPS,
    "make_reproducible": lambda: op.make_reproducible(NOISY),
    "make_reproducible per_row": lambda: op.make_reproducible(NOISY, per_row=True),
    "rewrite_file": rewritten_file,
    "find_random_nodes": lambda: op.rewriting.find_random_nodes(NOISY),
    "to_standard_nodes": lambda: op.to_standard_nodes(op.make_reproducible(NOISY)),
    "session": session,
    "Pipeline in ONNX Runtime": lambda: op.Pipeline(NOISY)(FEED, seed=1),
    "Pipeline in OpenVINO": lambda: op.Pipeline(NOISY, runtime="openvino")(FEED, seed=1),
    "a record": record,
    "diffusers": lambda: op.diffusers.latents([1, 2], [3]),
    "compile_model on a CPU": lambda: op.openvino.compile_model(*bits_in_openvino()),
}
ALIGNED = {"global_seed": 1, "alignment": "pytorch"}
IS_REFUSED: dict[str, Callable[[], Any]] = {
    "graphs": lambda: op.graphs.random_normal([2], 0.0, 1.0, "f32", **ALIGNED),
    "reference": lambda: op.reference.random_normal([2], 0.0, 1.0, "f32", **ALIGNED),
    "make_reproducible": lambda: op.make_reproducible(NOISY, alignment="pytorch"),
    "Pipeline": lambda: op.Pipeline(NOISY, alignment="pytorch"),
    "diffusers": lambda: op.diffusers.generator(1, like="torch"),
    "TorchState": lambda: op.TorchState,
    "import of TorchState": imported_state,
    "torch": torchs_door,
    "pytorch_extensions": lambda: op.openvino.pytorch_extensions(),
    "compile_model on a GPU": lambda: op.openvino.compile_model(*bits_in_openvino(), "GPU"),
    "progress": progress,
    "command": command,
}


def said(call: Callable[[], Any]) -> str:
    try:
        call()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "works"


if __name__ == "__main__":
    # As where these are not installed.
    sys.modules |= dict.fromkeys(HIDDEN)
    asked = {"works": WORKS, "is refused": IS_REFUSED}
    print(json.dumps({k: {name: said(call) for name, call in v.items()} for k, v in asked.items()}))
