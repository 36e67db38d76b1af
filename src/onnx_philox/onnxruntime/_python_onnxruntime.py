"""The backend "python": the operators as Python ops of onnxruntime-extensions (PyOps)."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from onnx_philox._backends import NotInstalledError
from onnx_philox._contract.refusal import refuse
from onnx_philox._versions import IS_FREE_THREADED

if TYPE_CHECKING:
    import onnxruntime as ort

    from onnx_philox.onnxruntime._plan import SessionPlan


_NO_EXTENSIONS_FROM = (3, 14)
HAS_EXTENSIONS = sys.version_info < _NO_EXTENSIONS_FROM and not IS_FREE_THREADED
"""Whether onnxruntime-extensions has a wheel for this Python; pyproject.toml says the same of its
version, and cannot say it of free threading."""


def unavailable() -> ImportError | None:
    """Why this backend cannot be used here, and what to do; None if it can."""
    if importlib.util.find_spec("onnxruntime_extensions") is not None:
        return None
    who = "onnx_philox.onnxruntime: backend 'python'"
    package = "onnxruntime-extensions"
    if not HAS_EXTENSIONS:
        version = ".".join(map(str, _NO_EXTENSIONS_FROM))
        return ImportError(
            f"{who} needs {package}, which has no wheel for Python {version} and newer, nor for "
            f"free-threaded Python. Use backend='native', or a Python older than {version} that "
            "has its global lock."
        )
    return NotInstalledError(who, package, "onnxruntime")


def plan(model: Any, options: ort.SessionOptions | None, *, cuda: bool = False) -> SessionPlan:
    """Makes a copy of the model that PyOps can run, and options that hold them."""
    if cuda:
        remedy = "Python draws on the CPU: use backend 'native'."
        owner = "onnx_philox.onnxruntime.InferenceSession"
        refuse(owner, "cuda", cuda, "False with backend 'python'", remedy)
    # Imported here, because it needs onnxruntime-extensions.
    from onnx_philox.onnxruntime import _legalise

    return _legalise.plan(model, options)
