"""Reads an OpenVINO IR, and says what is wrong with one that OpenVINO does not read."""

from __future__ import annotations

from pathlib import Path

import openvino as ov

from onnx_philox import _runtime_errors
from onnx_philox import openvino as plugin
from onnx_philox._backends import AUTO
from onnx_philox._files import openvino_ir
from onnx_philox._files.given import Given
from onnx_philox._files.new_files import NewFiles, check_apart, check_room
from onnx_philox._files.openvino_ir import weights_of


def openvino_model_of(given: Given, backend: str = AUTO) -> ov.Model:
    """A model of OpenVINO itself, or what an IR holds.

    Raises:
        ValueError: It is no IR, its weights are missing or lie elsewhere, or it has operators that
            this package does not bring.
        OSError: The file cannot be read.
    """
    if not given.is_file:
        return given.model
    path = given.for_runtime
    try:
        return plugin.register(ov.Core(), backend=backend).read_model(path)
    except RuntimeError as error:
        said = _runtime_errors.sentence(str(error))
        openvino_ir.refuse(
            given.owner,
            given.path,
            f"what OpenVINO does not read ({said.rstrip('.')})",
        )


def save(model: ov.Model, target: Path) -> None:
    """Writes an IR, whole or not at all; what is compressed in the model stays compressed.

    Raises:
        ValueError: OpenVINO does not write it.
        OSError: There is no room for it.
    """
    with NewFiles() as files:
        folder = files.folder_beside(target)
        written = folder / target.name
        try:
            ov.save_model(model, written, compress_to_fp16=False)
        except Exception as error:
            # OpenVINO does not report a full disk.
            constants = (n for n in model.get_ops() if n.get_type_name() == "Constant")
            weights = sum(node.data.nbytes for node in constants)
            check_room(folder, weights, target)
            said = _runtime_errors.sentence(str(error)).rstrip(".")
            raise ValueError(f"OpenVINO does not write {target}: {said}.") from error
        files.move(weights_of(written), weights_of(target))
        files.move(written, target)


def check_target(source: Given, target: Path) -> None:
    """Refuses to write one of the files that are read.

    Raises:
        ValueError: It is such a file.
    """
    outputs = {target: "the output", weights_of(target): "the weights file of the output"}
    check_apart(source.owner, outputs, source.reads)
