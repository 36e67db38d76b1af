"""The backend tests of `graphs/backend_tests`, run by ONNX's own runner in each runtime."""

from __future__ import annotations

import dataclasses
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx.backend.base import Backend
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator
from standard_targets import loaded_in_onnxruntime, loaded_in_openvino

FOLDER = Path(__file__).parents[1] / "graphs" / "backend_tests"


def backend(run: Any) -> type[Backend]:
    """ONNX's interface of a runtime."""

    class Runtime(Backend):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, *_: Any, **__: Any) -> Any:
            names = [i.name for i in model.graph.input]
            return SimpleNamespace(
                run=lambda arrays, **_: run(model, dict(zip(names, arrays, strict=True)))
            )

        @classmethod
        def supports_device(cls, device: str) -> bool:
            return device == "CPU"

    return Runtime


RUNTIMES = {
    "reference": lambda model, feeds: ReferenceEvaluator(model).run(None, feeds),
    "onnxruntime": lambda model, feeds: loaded_in_onnxruntime(model, optimised=True)(feeds),
    "openvino": lambda model, feeds: loaded_in_openvino(model, optimised=True)(feeds),
}


def cases(runtime: str) -> list[Any]:
    """To the last bit: no tolerance. What is made for OpenVINO runs everywhere."""
    found = load_model_tests(str(FOLDER.parent), FOLDER.name)
    names = ("test_openvino_", *["test_onnxruntime_"] * (runtime != "openvino"))
    return [dataclasses.replace(c, rtol=0.0, atol=0.0) for c in found if c.name.startswith(names)]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_onnx_s_own_runner_passes_every_case(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = cases(runtime)
    assert len(chosen) >= 8
    # The runner loads ONNX's own cases by kind; these are ours, under one of the kinds.
    monkeypatch.setattr(
        "onnx.backend.test.runner.load_model_tests", lambda kind: chosen if kind == "simple" else []
    )
    suite = Runner(backend(RUNTIMES[runtime]), __name__).exclude("_cuda").test_suite
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun >= len(chosen)
    assert result.errors == []
    assert result.failures == []
    skipped = [name for name, _ in result.skipped if "_cpu" in str(name)]
    assert skipped == []


def test_the_folder_stays_small() -> None:
    files = [f for f in FOLDER.rglob("*") if f.is_file()]
    assert sum(f.stat().st_size for f in files) < 10**6
