"""Reads an OpenVINO IR, and says what is wrong with one that OpenVINO does not read."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import openvino as ov

from onnx_philox import _runtime_errors
from onnx_philox import openvino as plugin
from onnx_philox._contract import checks
from onnx_philox._files import external_data
from onnx_philox._files.openvino_ir import weights_of
from onnx_philox._files.text import check_path

_CONSTANT = b'type="Const"'


def read(path: str | os.PathLike[str], owner: str) -> ov.Model:
    """Reads the `.xml`, whose weights must lie in a plain file beside it, after links too.

    Raises:
        ValueError: It is no IR, its weights are missing or lie elsewhere, or it has operators that
            this package does not bring.
        OSError: The file cannot be read.
    """
    check_path(owner, path)
    path = Path(path)
    text = path.read_bytes()
    weights = weights_of(path)
    external_data.check(owner, path, weights.name, is_needed=_CONSTANT in text)
    try:
        return _core().read_model(path)
    except RuntimeError as error:
        said = _runtime_errors.sentence(str(error))
        checks.refuse(
            owner,
            str(path),
            f"what OpenVINO does not read ({said.rstrip('.')})",
            "a whole OpenVINO IR, of operators that are OpenVINO's or this package's",
            "Save it again with openvino.save_model; for operators of another extension, read it "
            "with that extension and pass the openvino.Model in Python.",
        )


@cache
def _core() -> ov.Core:
    return plugin.register(ov.Core())
