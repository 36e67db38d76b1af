"""OpenVINO without this package: the worker of `onnx-philox inspect` runs this file."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def prepare() -> Callable[[bytes], _Session]:
    """Imports the runtime; returns a function that loads a model, which can be called to run it."""
    # At every import, its telemetry forks a process, which may hang when this one is killed and
    # then keep its pipes open. If OpenVINO cannot import the telemetry, it works without.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    # Nor can it convert models of other frameworks, which takes as long to import as all the rest.
    sys.modules["openvino.tools.ovc"] = None  # type: ignore[assignment]
    import openvino as ov

    return partial(_Session, ov, ov.Core())


class _Session:
    """A compiled model: ONNX, or the text of an IR, a byte 0 and its weights."""

    def __init__(self, ov: Any, core: Any, model: bytes) -> None:
        self._ov = ov
        text, _, weights = model.partition(b"\0")
        is_xml = text.startswith(b"<?xml")
        arguments = (text, weights) if is_xml else (model,)
        read = core.read_model(*arguments)
        self._compiled = core.compile_model(read, "CPU")
        self._request = self._compiled.create_infer_request()

    def __call__(self, feeds: list[dict[str, Any]]) -> list[bytes]:
        return self._run(self._request, feeds)

    def anew(self, feeds: list[dict[str, Any]]) -> list[bytes]:
        """Runs it in a request of its own."""
        return self._run(self._compiled.create_infer_request(), feeds)

    def _run(self, request: Any, feeds: list[dict[str, Any]]) -> list[bytes]:
        for i, feed in enumerate(feeds):
            type_ = self._compiled.input(i).get_element_type()
            shape = self._ov.Shape(feed["shape"])
            tensor = self._ov.Tensor(type_, shape)
            memory = tensor.data.reshape(-1).view(np.uint8)
            contents = base64.b64decode(feed["bytes"])
            memory[...] = np.frombuffer(contents, np.uint8)
            request.set_input_tensor(i, tensor)
        # As `_openvino_models.requests`, which cannot be imported here: infer() may lose errors.
        request.start_async()
        request.wait()
        outputs = range(len(self._compiled.outputs))
        tensors = [request.get_output_tensor(i) for i in outputs]
        return [tensor.data.tobytes() for tensor in tensors]
