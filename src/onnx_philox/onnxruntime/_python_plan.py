"""How a session runs a model with Python ops.

What a PyOp cannot do shapes this package's modules: `_legalise` rewrites a copy of the model to
operators that PyOps can be, `_python_ops` are these operators, `_extension_options` brings them
into SessionOptions, and this module ties them to a session. A Python exception in a PyOp would
end the process, so every run carries a number as a hidden graph input; the operators record under
it what they refuse, and the session raises it when the run has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox.onnxruntime import _extension_options, _legalise
from onnx_philox.onnxruntime._python_ops import REFUSALS


def plan(model: Any, options: ort.SessionOptions | None) -> PythonPlan:
    """Makes a copy of the model that PyOps can run, and options that hold them."""
    legal = _legalise.legalise(model)
    if legal.run_input is None:
        return PythonPlan(legal.model, options)
    options, is_own = _extension_options.with_python_ops(options)
    return PythonPlan(legal.model, options, is_own, legal.run_input, legal.external_folder)


@dataclass(frozen=True)
class PythonPlan:
    """A legalised model and how to run it; see `onnx_philox.onnxruntime._session.Plan`."""

    model: str | bytes
    options: ort.SessionOptions | None
    options_are_own: bool = False
    run_input: str | None = None
    external_folder: str | None = None

    @property
    def hidden_inputs(self) -> frozenset[str]:
        """The graph inputs that the user's model does not have."""
        return frozenset() if self.run_input is None else frozenset([self.run_input])

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Tells ONNX Runtime where the external data of a model given as bytes lies."""
        if self.external_folder is None or self.options is None:
            yield
            return
        with _extension_options.external_folder(
            self.options, self.external_folder, restore=not self.options_are_own
        ):
            yield

    def start_run(self) -> PythonRun:
        """Begins a run: gives it a number that its operators see."""
        if self.run_input is None:
            return PythonRun({}, None)
        number = REFUSALS.open()
        return PythonRun({self.run_input: np.array(number, np.int64)}, number)


@dataclass(frozen=True)
class PythonRun:
    """One run; see `onnx_philox.onnxruntime._session.Run`."""

    hidden_feed: dict[str, Any]
    number: int | None

    def check(self) -> None:
        """Raises what an operator refused, as ONNX Runtime's exception for bad arguments."""
        if self.number is None:
            return
        refused = REFUSALS.close(self.number)
        if isinstance(refused, (TypeError, ValueError)):
            raise ort_state.InvalidArgument(str(refused)) from refused
        if refused is not None:
            raise refused
