"""Models in files, and what a command leaves of a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper, parser

from onnx_philox import make_reproducible
from onnx_philox.rewriting import find_random_nodes, rewrite_file
from tests.common import cli
from tests.common.cases import pattern_of

WEIGHTS = np.arange(5000, dtype=np.float32)

READERS = (make_reproducible, find_random_nodes, lambda p: rewrite_file(p, p.parent / "out.onnx"))
COMMANDS = ("inspect MODEL", "rewrite MODEL -o OUT.onnx", "rewrite MODEL -o OUT.xml")
RUNS = tuple(f"run MODEL --runtime {r} -o OUT" for r in ("onnxruntime", "openvino", "reference"))


def model(location: str | None = None) -> onnx.ModelProto:
    """`w + noise`, its weights inside or at a location."""
    made = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g () => (float[5000] y) { noise = RandomNormalLike (w)  y = Add (w, noise) }""")
    made.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    if location is not None:
        weights = made.graph.initializer[0]
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value=location)
    return made


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


def tree(folder: Path, but: bytes = b"") -> dict[str, str]:
    """Everything in a folder, and what it holds but for these bytes."""
    found = {}
    for path in folder.rglob("*"):
        data = path.read_bytes().replace(but, b"") if path.is_file() else b"folder"
        found[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


def refusal(folder: Path, *arguments: object) -> str:
    """Runs a command that must fail and leave all files as they were; returns its message."""
    before = tree(folder)
    said = cli.refusal(*arguments)
    assert tree(folder) == before
    return said


def assert_refused_everywhere(path: Path, words: str, runs: Sequence[str] = RUNS) -> None:
    """Whatever reads a model refuses it in these words, and leaves all files as they were."""
    before = tree(path.parent)
    for read in READERS:
        with pytest.raises(ValueError, match=pattern_of(words)):
            read(path)
    assert tree(path.parent) == before
    for command in (*COMMANDS, *runs):
        out = str(path.parent / "out")
        given = [w.replace("MODEL", str(path)).replace("OUT", out) for w in command.split()]
        assert re.search(pattern_of(words), refusal(path.parent, *given)), command
