"""ONNX Runtime without this package: the worker of `onnx-philox inspect` runs this file."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[list[dict[str, Any]]], list[bytes]]


def prepare() -> Callable[[bytes], Run]:
    """Imports the runtime; returns a function that loads a model and returns one that runs it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4

    def load(model: bytes) -> Run:
        providers = ["CPUExecutionProvider"]
        session = ort.InferenceSession(model, options, providers=providers)
        names = [i.name for i in session.get_inputs()]

        def run(feeds: list[dict[str, Any]]) -> list[bytes]:
            arrays = dict(zip(names, map(_array, feeds), strict=True))
            outputs = session.run(None, arrays)
            return [np.asarray(output).tobytes() for output in outputs]

        return run

    return load


def _array(feed: dict[str, Any]) -> Any:
    contents = base64.b64decode(feed["bytes"])
    array = np.frombuffer(contents, feed["type"])
    return array.reshape(feed["shape"])
