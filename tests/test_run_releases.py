"""The script that tests the library with releases of ONNX Runtime runs what the processor has."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType

import child
import pytest

import onnx_philox.onnxruntime
from onnx_philox import _native

SCRIPT = Path(__file__).parents[1] / "custom_ops/onnxruntime/tests/run_releases.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("run_releases")


def runs(isa: str) -> bool:
    """Whether the core takes an instruction set when it is forced."""
    done = child.forked(
        "from onnx_philox import _native; print(_native.isa())",
        code=None,
        env={"ONNX_PHILOX_ISA": isa},
    )
    assert (done.returncode == 0) == (done.stdout == f"{isa}\n"), done.stderr
    return done.returncode == 0


def test_it_forces_the_instruction_sets_that_can_run_here_and_no_others(script) -> None:
    library = onnx_philox.onnxruntime.library_path()
    available = script.available_isas(library)
    assert available == [isa for isa in script.ISAS if runs(isa)]
    assert available[0] == _native.isa() or "ONNX_PHILOX_ISA" in os.environ
    assert available[-1] == "scalar"


def test_a_library_with_an_instruction_set_that_it_does_not_know_is_an_error(
    script, monkeypatch
) -> None:
    monkeypatch.setattr(script, "ISAS", script.ISAS[:-1])
    with pytest.raises(ValueError, match=r"has scalar: add it to ISAS of .*run_releases\.py"):
        script.available_isas(onnx_philox.onnxruntime.library_path())


def test_a_file_that_is_no_library_is_an_error(script, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"lists no instruction sets: .*nowhere\.so"):
        script.available_isas(tmp_path / "nowhere.so")


@pytest.mark.parametrize("isa", ["sse9", ""])
def test_an_instruction_set_that_does_not_exist_is_refused_before_anything_runs(isa: str) -> None:
    done = child.forked(SCRIPT, "library.so", "--isas", "avx2", isa, code=None)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"invalid choice: '{isa}' (choose from " in done.stderr
