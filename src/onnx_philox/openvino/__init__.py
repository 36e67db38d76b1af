"""The operators in OpenVINO: an extension, and factories for its nodes.

Examples:
    >>> import numpy as np, openvino as ov, onnx_philox
    >>> core = onnx_philox.openvino.register(ov.Core())
    >>> node = onnx_philox.openvino.random_uniform([2, 3], 50, 100, "i32", 80, 100)
    >>> core.compile_model(ov.Model([node.output(0)], []), "CPU")()[0]
    array([[65, 70, 56],
           [59, 82, 92]], dtype=int32)
"""

from __future__ import annotations

from onnx_philox import _backends

try:
    import openvino as _runtime
except ImportError as error:
    raise _backends.NotInstalledError("onnx_philox.openvino", "OpenVINO", "openvino") from error

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from onnx_philox import _parts, _versions

# Checked before the imports below, which may fail with an old OpenVINO.
_versions.check_version("openvino", getattr(_runtime, "__version__", ""))

# OpenVINO looks up NumPy's types when it is first given an array, and when it first returns one.
# If two threads are the first, one may have the GIL and wait for a C++ guard that the other has,
# which waits for the GIL.
_ = _runtime.Tensor(np.zeros((), np.float32)).data

# ruff: noqa: E402
from onnx_philox._contract.refusal import refuse, shown
from onnx_philox.openvino import _factories, _native_openvino, _python_openvino
from onnx_philox.openvino._compiling import compile_model
from onnx_philox.openvino._factories import *  # noqa: F403
from onnx_philox.openvino._genai import genai_generator
from onnx_philox.openvino._native_openvino import library_path
from onnx_philox.openvino._stateful import make_stateful

__all__ = ["compile_model", "genai_generator", "library_path", "make_stateful"]
__all__ += ["pytorch_extensions", "register"]
__all__ += _factories.__all__

pytorch_extensions: Callable[[], list[Any]]
"""Of the part of torch, which uses this module."""


def __getattr__(name: str) -> Any:
    if name != "pytorch_extensions":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _parts.OTHERS["pytorch_extensions"].get("openvino.pytorch_extensions")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _CoreBackend(_backends.Backend, Protocol):
    def register(self, core: _runtime.Core) -> None:
        """Adds the operators and their conversion from ONNX."""


BACKENDS: dict[str, _CoreBackend] = {"native": _native_openvino, "python": _python_openvino}
"""Best first."""


def register(core: _runtime.Core, *, backend: str = _backends.AUTO) -> _runtime.Core:
    """Adds the operators to a core, which then reads them from ONNX models and from IR.

    Args:
        core: The core. You may register it twice.
        backend: "native", the compiled extension; "python", the operators written in Python; or
            "auto", native if it is available and was built for this OpenVINO.

    Returns:
        The core.

    Raises:
        TypeError: `core` is no core.
        ValueError: `backend` is none of the above.
        ImportError: The backend lacks something that you must install.
    """
    chosen = _backends.choose("openvino", BACKENDS, backend)
    if not hasattr(core, "add_extension"):
        remedy = "Pass openvino.Core()."
        refuse("openvino.register", "core", shown(core), "an openvino.Core", remedy, TypeError)
    chosen.register(core)
    return core
