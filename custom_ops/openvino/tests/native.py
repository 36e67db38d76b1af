"""How the tests load the native extension, and how they hand it models made of Python operators."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from runtimes import OpenVino

LIBRARY = Path(os.environ["ONNX_PHILOX_OPENVINO_LIBRARY"]).resolve()


def native_core() -> ov.Core:
    core = ov.Core()
    core.add_extension(str(LIBRARY))
    return core


class NativeOpenVino(OpenVino):
    """The runtime of the Python package's tests, with the native operators.

    A model of nodes from the package's factories consists of Python operators; it goes through IR.
    """

    def __init__(self) -> None:
        self.core = native_core()

    def read(self, model: Any) -> ov.Model:
        if not isinstance(model, ov.Model):
            return super().read(model)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xml"
            ov.serialize(model, path)
            # Not from the files: the weights would stay mapped from one that is deleted next.
            weights = np.fromfile(path.with_suffix(".bin"), np.uint8)
            return self.core.read_model(path.read_bytes(), ov.Tensor(weights))
