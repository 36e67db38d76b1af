"""The runtimes that `onnx-philox run` knows, and the choice among them."""

from __future__ import annotations

import importlib
from pathlib import Path

from onnx_philox._command.run.models import LoadedModel, RunError, Settings
from onnx_philox._command.run.ports import ArgumentError

RUNTIMES = {
    "onnxruntime": "OnnxruntimeModel",
    "openvino": "OpenvinoModel",
    "reference": "ReferenceModel",
}
"""Every runtime, and its class in the module `in_` of its name; without a choice, the first that
is installed."""


def load(path: Path, runtime: str | None, settings: Settings) -> LoadedModel:
    """Loads a file.

    Args:
        path: An ONNX file or an IR.
        runtime: One of `RUNTIMES`; None for the first that takes the file and is installed.
        settings: How.

    Raises:
        ArgumentError: The runtime is unknown or not installed, or does not take such files.
        RunError: The runtime refuses the model.
    """
    if runtime is not None and runtime not in RUNTIMES:
        raise ArgumentError(
            f"runtime is {runtime!r}; allowed: {', '.join(RUNTIMES)}. Choose one of these."
        )
    is_ir = path.suffix == ".xml"
    if is_ir and runtime not in (None, "openvino"):
        raise ArgumentError(
            f"{path} is an OpenVINO IR; allowed for {runtime}: an ONNX file. Choose --runtime "
            "openvino, or pass the model that the IR was made from."
        )
    if settings.precision is not None and not is_ir and runtime != "openvino":
        raise ArgumentError(
            "--precision is given; allowed: with --runtime openvino. Add that, or leave it out."
        )
    names = [runtime] if runtime else ["openvino"] if is_ir else list(RUNTIMES)
    reasons = []
    for name in names:
        try:
            return _load(path, name, settings)
        except ImportError as error:
            reasons.append(str(error))
    raise ArgumentError(" ".join(reasons))


def _load(path: Path, runtime: str, settings: Settings) -> LoadedModel:
    if runtime != "reference":
        # Says what to install where the runtime is not here.
        importlib.import_module(f"onnx_philox.{runtime}")
    module = importlib.import_module(f"onnx_philox._command.run.in_{runtime}")
    try:
        loaded: LoadedModel = getattr(module, RUNTIMES[runtime])(path, settings)
    except ArgumentError:
        raise
    except Exception as error:
        raise RunError.of(runtime, f"load {path}", error) from error
    return loaded
