"""How a session runs a model with Python ops.

The limits of PyOps shape this package's modules: `_legalise` rewrites a copy of the model to
operators that PyOps can implement, `_onnxruntime_ops` implements them, `_extension_options`
registers them on SessionOptions, and this module connects them to a session. A Python exception in
a PyOp would end the process, so every run carries a number as a hidden graph input; the operators
record their refusals under it, and the session raises them after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._contract.refusal import refuse
from onnx_philox._files.signals import INTERRUPT, held_back
from onnx_philox.onnxruntime import _extension_options, _feeds, _onnxruntime_ops
from onnx_philox.onnxruntime._plan import SessionPlan, SessionRun


@dataclass(frozen=True)
class PythonPlan(SessionPlan):
    """A legalised model and how to run it."""

    copied: frozenset[str] = frozenset()
    """The inputs of which Python ops get copies."""

    def loading(self) -> AbstractContextManager[None]:
        """Has ONNX Runtime load the legalised model as if it were the user's."""
        return _extension_options.loading_legalised(self.options, self.external_folder)

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuses inputs of which memory cannot hold the copies that Python ops get.

        onnxruntime-extensions makes the copies, and ends the process where it cannot.
        """
        inputs = [given[name] for name in self.copied if name in given]
        size = sum(_feeds.bytes_of(value) for value in inputs)
        try:
            _onnxruntime_ops.leave_room(size)
        except MemoryError:
            what = f"the inputs {', '.join(sorted(self.copied))}"
            allowed = "small enough for a copy, which Python operators take, in the memory here"
            remedy = "Pass smaller ones, or use the native backend."
            refuse(_feeds.NAME, what, f"{size:,} bytes", allowed, remedy)

    def start_run(self, options: ort.RunOptions | None) -> PythonRun:
        """Begins a run: gives it a number that its operators see."""
        own = options is None
        options = options or ort.RunOptions()

        def stop() -> None:
            # A loop that waits for the values of a refused operator would never end. The user's
            # options may serve other runs at the same time.
            if own:
                options.terminate = True

        number = _onnxruntime_ops.REFUSALS.open(stop)
        array = np.array(number, np.int64)
        hidden = dict.fromkeys(self.hidden_inputs, array)
        return PythonRun(options, hidden, number)


@dataclass(frozen=True)
class PythonRun(SessionRun):
    """One run, which has a number."""

    number: int = 0

    def guard(self) -> AbstractContextManager[None]:
        """Holds Ctrl-C back: it ends the run, and is raised afterwards."""
        return held_back((INTERRUPT,), partial(setattr, self.options, "terminate", True))

    def check(self) -> None:
        """Raises what an operator refused, as ONNX Runtime's exception for bad arguments."""
        refused = _onnxruntime_ops.REFUSALS.close(self.number)
        if isinstance(refused, (TypeError, ValueError)):
            text = str(refused)
            raise _runtime_errors.refused(text, ort_state.InvalidArgument) from refused
        if refused is not None:
            raise refused
