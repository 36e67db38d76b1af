"""The backend "python": the operators as Python ops of onnxruntime-extensions (PyOps)."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnxruntime as ort

    from onnx_philox.onnxruntime._python_plan import PythonPlan


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
    # Only here, because it needs onnxruntime-extensions.
    from onnx_philox.onnxruntime import _python_plan

    return _python_plan.plan(model, options)
