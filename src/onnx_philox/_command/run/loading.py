"""Chooses a runtime, and loads a model in it."""

from __future__ import annotations

from pathlib import Path

from onnx_philox._contract.declaration import listed
from onnx_philox._files import openvino_ir
from onnx_philox._files.model_file import opened
from onnx_philox._files.openvino_ir import is_ir
from onnx_philox._runtimes import RUNTIMES, Runtime
from onnx_philox._runtimes.models import LoadedModel, RunError, Settings
from onnx_philox._runtimes.port import ArgumentError, refusing_as_argument

# The ending of files in ONNX Runtime's own format.
_ORT = ".ort"


def load(path: Path, runtime: str | None, settings: Settings) -> LoadedModel:
    """Loads a file in a runtime, or in the first installed one that takes it.

    Raises:
        ArgumentError: The runtime is unknown or not installed, or does not take such files.
        RunError: The runtime refuses the model.
    """
    if runtime is not None and runtime not in RUNTIMES:
        raise ArgumentError(
            f"--runtime must be one of {', '.join(RUNTIMES)}: got {runtime!r}. Choose one of these."
        )
    of_ir = is_ir(path)
    usable = [r for r in RUNTIMES.values() if r.takes_ir or not of_ir]
    chosen = [r for r in usable if runtime in (None, r.name)]
    if not chosen:
        raise ArgumentError(
            f"{path} must be an ONNX file for {runtime}: got an OpenVINO IR. Choose --runtime "
            f"{listed([r.name for r in usable])}, or pass the model that the IR was made from."
        )
    precise = listed([r.name for r in RUNTIMES.values() if r.precisions])
    is_known = of_ir or runtime is not None
    if settings.precision is not None and not (is_known and chosen[0].precisions):
        raise ArgumentError(
            f"--precision must be given with --runtime {precise}: got it alone. Add that, or leave "
            "it out."
        )
    with_devices = [r.name for r in RUNTIMES.values() if "device" in r.options]
    if settings.device != Settings.device and not (is_known and chosen[0].name in with_devices):
        raise ArgumentError(
            f"--device must be given with --runtime {listed(with_devices)}: got it alone. Add "
            "that, or leave it out."
        )
    reasons = []
    for each in chosen:
        try:
            return _load(path, each, settings)
        except ImportError as error:
            reasons.append(str(error))
    raise ArgumentError(" ".join(reasons))


def _load(path: Path, runtime: Runtime, settings: Settings) -> LoadedModel:
    models = runtime.models()
    _check_readable(path, is_ort_read=runtime.takes_ort and not settings.shows_drawn)
    try:
        return models.load(path, settings)
    except ArgumentError:
        raise
    except Exception as error:
        raise RunError.of(runtime.name, f"load {path}", error) from error


def _check_readable(path: Path, *, is_ort_read: bool) -> None:
    """Refuses what is no model: each runtime has words of its own for it.

    ONNX Runtime reads its own format, but nothing can be made another output of it.
    """
    if path.suffix == _ORT and is_ort_read:
        return
    with refusing_as_argument():
        if is_ir(path):
            openvino_ir.check("run", path)
            return
        with opened(path, "run"):
            pass
