"""Reads an OpenVINO IR, and says what is wrong with one that OpenVINO does not read."""

from __future__ import annotations

import re
from pathlib import Path

import openvino as ov

from onnx_philox import _runtime_errors
from onnx_philox import openvino as plugin
from onnx_philox._backends import AUTO
from onnx_philox._contract import checks
from onnx_philox._contract.operators import INT64_MAX
from onnx_philox._files import openvino_ir
from onnx_philox._files.given import Given
from onnx_philox._files.new_files import NewFiles, check_apart, check_room
from onnx_philox._files.openvino_ir import weights_of

# The attributes of a layer, and of its data.
_LAYERS = re.compile(r"<layer\s([^>]*)>\s*<data\s([^>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


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
    _check_seeds(given.path)
    try:
        return plugin.register(ov.Core(), backend=backend).read_model(path)
    except RuntimeError as error:
        said = _runtime_errors.sentence(str(error))
        openvino_ir.refuse(
            given.owner, given.path, f"what OpenVINO does not read ({said.rstrip('.')})"
        )


def _check_seeds(path: Path) -> None:
    """Refuses seeds that OpenVINO's reader or its own functions take for none."""
    for layer, data in _LAYERS.findall(path.read_text("utf-8", "replace")):
        said = dict(_ATTRIBUTE.findall(f"{layer} {data}"))
        for name in ("global_seed", "op_seed"):
            seed = said.get(name, "")
            is_number = said.get("type") == "RandomUniform" and re.fullmatch(r"-?\d+", seed)
            if is_number and not 0 <= int(seed) <= INT64_MAX:
                node = f"RandomUniform {said.get('name', '')!r}"
                allowed = "an integer from 0 to 2^63-1"
                checks.refuse(node, name, seed, allowed, "Convert the model with such a seed.")


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
