"""How often a model is looked at: its file opened, and made into onnx-ir."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
import pytest

import onnx_philox
from onnx_philox import Pipeline
from tests.common.foreign import NOISE

MAKES = onnx_ir.from_proto.__code__


@dataclass
class Looks:
    """What was counted of a model: by Python's audit events, and by calls of a function."""

    path: Path
    opened: int = 0
    made: int = 0

    def called(self, frame: Any, event: str, _: Any) -> None:
        is_model = event == "call" and frame.f_code is MAKES
        if is_model and isinstance(frame.f_locals["proto"], onnx.ModelProto):
            self.made += 1


# An audit hook stays as long as the process.
_looking: list[Looks] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _looking and event == "open" and str(arguments[0]) == str(_looking[0].path):
        _looking[0].opened += 1


sys.addaudithook(_audit)


@contextmanager
def looks_at(path: Path) -> Iterator[Looks]:
    """Counts the looks at a model while the block runs."""
    looks = Looks(path)
    _looking.append(looks)
    before = sys.getprofile()
    sys.setprofile(looks.called)
    try:
        yield looks
    finally:
        sys.setprofile(before)
        _looking.clear()


@pytest.mark.parametrize(
    ("is_rewritten", "runtime", "opened"),
    [
        pytest.param(False, "onnxruntime", 1, id="original in ONNX Runtime"),
        pytest.param(False, "openvino", 1, id="original in OpenVINO"),
        # The session is given the path, and reads what the library does not see.
        pytest.param(True, "onnxruntime", 2, id="rewritten in ONNX Runtime"),
        pytest.param(True, "openvino", 1, id="rewritten in OpenVINO"),
    ],
)
def test_a_pipeline_opens_a_file_and_makes_it_into_onnx_ir_once(
    tmp_path: Path, is_rewritten: bool, runtime: str, opened: int
) -> None:
    model = onnx_philox.make_reproducible(NOISE) if is_rewritten else NOISE
    onnx.save(model, path := tmp_path / "model.onnx")
    with looks_at(path) as looks:
        Pipeline(path, runtime=runtime)
    assert (looks.opened, looks.made) == (opened, 1)


def test_a_session_opens_a_file_once(tmp_path: Path) -> None:
    onnx.save(onnx_philox.make_reproducible(NOISE), path := tmp_path / "model.onnx")
    with looks_at(path) as looks:
        onnx_philox.onnxruntime.InferenceSession(path, backend="native")
    assert (looks.opened, looks.made) == (1, 0)


def test_make_reproducible_opens_a_file_and_makes_it_into_onnx_ir_once(tmp_path: Path) -> None:
    onnx.save(NOISE, path := tmp_path / "model.onnx")
    with looks_at(path) as looks:
        onnx_philox.make_reproducible(path)
    assert (looks.opened, looks.made) == (1, 1)
