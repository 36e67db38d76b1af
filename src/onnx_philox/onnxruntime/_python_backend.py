"""The backend "python": the operators as Python ops of onnxruntime-extensions (PyOps).

What a PyOp cannot do shapes this package's four modules: `_legalise` rewrites a copy of the model
to operators that PyOps can be, `_python_ops` are these operators, `_extension_options` brings
them into SessionOptions, and this module ties them to a session. A Python exception in a PyOp
would end the process, so every run carries a number as a hidden graph input; the operators record
under it what they refuse, and the session raises it when the run has ended.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


def unavailable() -> str | None:
    """Why this backend cannot be used here and what to do; None where it can."""
    if importlib.util.find_spec("onnxruntime_extensions") is None:
        return (
            "onnx_philox.onnxruntime: backend 'python' needs onnxruntime-extensions: "
            "pip install 'onnx-philox[onnxruntime]'"
        )
    return None


def plan(model: Any, options: ort.SessionOptions | None) -> PythonPlan:
    """Makes a copy of the model that PyOps can run, and options that hold them."""
    from onnx_philox.onnxruntime import _extension_options, _legalise

    legal = _legalise.legalise(model)
    if legal.run_input is None:
        return PythonPlan(legal.model, options, frozenset())
    options, is_own = _extension_options.with_python_ops(options)
    folder = None if legal.external_folder is None else _ExternalFolder(legal.external_folder, is_own)
    return PythonPlan(legal.model, options, frozenset([legal.run_input]), folder)


@dataclass(frozen=True)
class _ExternalFolder:
    """Where a model that is loaded from bytes finds its external data."""

    path: str
    options_are_own: bool


@dataclass(frozen=True)
class PythonPlan:
    """A legalised model and how to run it; see `onnx_philox.onnxruntime._session.Plan`."""

    model: str | bytes
    options: ort.SessionOptions | None
    hidden_inputs: frozenset[str]
    external_folder: _ExternalFolder | None = None

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Tells ONNX Runtime where the external data of a model given as bytes lies."""
        folder = self.external_folder
        if folder is None or self.options is None:
            yield
            return
        from onnx_philox.onnxruntime import _extension_options

        with _extension_options.LOCK:
            self.options.add_session_config_entry(_EXTERNAL_FOLDER, folder.path)
            try:
                yield
            finally:
                if not folder.options_are_own:
                    self.options.add_session_config_entry(_EXTERNAL_FOLDER, "")

    def start_run(self) -> PythonRun:
        """Begins a run: gives it a number that its operators see."""
        from onnx_philox.onnxruntime import _python_ops

        if not self.hidden_inputs:
            return PythonRun({}, None)
        number = _python_ops.REFUSALS.open()
        (name,) = self.hidden_inputs
        return PythonRun({name: np.array(number, np.int64)}, number)


@dataclass(frozen=True)
class PythonRun:
    """One run; see `onnx_philox.onnxruntime._session.Run`."""

    hidden_feed: dict[str, Any]
    number: int | None

    def check(self) -> None:
        """Raises what an operator refused, as ONNX Runtime's exception for bad arguments."""
        from onnx_philox.onnxruntime import _python_ops

        if self.number is None:
            return
        refused = _python_ops.REFUSALS.close(self.number)
        if isinstance(refused, (TypeError, ValueError)):
            raise ort_state.InvalidArgument(str(refused)) from refused
        if refused is not None:
            raise refused
