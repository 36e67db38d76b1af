"""Models in files, and what a command leaves of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import cli
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = np.arange(5000, dtype=np.float32)


def model(location: str | None = None) -> onnx.ModelProto:
    """`w + noise`, its weights inside or at a location."""
    weights = numpy_helper.from_array(WEIGHTS, "w")
    if location is not None:
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value=location)
    graph = helper.make_graph(
        [
            helper.make_node("RandomNormalLike", ["w"], ["noise"]),
            helper.make_node("Add", ["w", "noise"], ["y"]),
        ],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, WEIGHTS.shape)],
        initializer=[weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(path: Path, location: str | None = None) -> Path:
    """Writes a model, and its external data unless a link is already there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model(location).SerializeToString())
    if location is not None:
        data = path.parent / location
        data.parent.mkdir(parents=True, exist_ok=True)
        if not data.exists():
            data.write_bytes(WEIGHTS.tobytes())
    return path


def tree(folder: Path) -> dict[str, str]:
    """Everything in a folder, and what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "folder"
        for path in folder.rglob("*")
    }


def refusal(folder: Path, *arguments: object) -> str:
    """Runs a command that must fail and leave all files as they were; returns its message."""
    before = tree(folder)
    result = cli.invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert tree(folder) == before
    return result.stderr


def succeed(*arguments: object) -> None:
    result = cli.invoke(*arguments)
    assert result.exit_code == 0, result.output
