"""OpenVINO without this package: the worker of `onnx-philox inspect` runs this file."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def prepare() -> Callable[[bytes], Callable[[list[dict[str, Any]]], bytes]]:
    """Imports the runtime; returns a function that loads a model and returns one that runs it."""
    # At every import, its telemetry forks a process, which may hang when this one is killed and
    # then keep its pipes open. If OpenVINO cannot import the telemetry, it works without.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    # Nor can it convert models of other frameworks, which takes as long to import as all the rest.
    sys.modules["openvino.tools.ovc"] = None  # type: ignore[assignment]
    import openvino as ov

    core = ov.Core()

    def load(model: bytes) -> Callable[[list[dict[str, Any]]], bytes]:
        compiled = core.compile_model(core.read_model(model), "CPU")
        request = compiled.create_infer_request()

        def run(feeds: list[dict[str, Any]]) -> bytes:
            for i, feed in enumerate(feeds):
                type_ = compiled.input(i).get_element_type()
                tensor = ov.Tensor(type_, ov.Shape(feed["shape"]))
                memory = tensor.data.reshape(-1).view(np.uint8)
                memory[...] = np.frombuffer(base64.b64decode(feed["bytes"]), np.uint8)
                request.set_input_tensor(i, tensor)
            request.infer()
            outputs = range(len(compiled.outputs))
            return b"".join(request.get_output_tensor(i).data.tobytes() for i in outputs)

        return run

    return load
