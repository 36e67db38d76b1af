"""The operators in ONNX Runtime: `InferenceSession` runs models that contain them.

Examples:
    >>> import onnx_philox
    >>> model = onnx_philox.graphs.random_uniform(
    ...     [2, 3], 50, 100, "i32", global_seed=80, op_seed=100
    ... )
    >>> session = onnx_philox.onnxruntime.InferenceSession(model)
    >>> session.run(None, {})[0]
    array([[65, 70, 56],
           [59, 82, 92]], dtype=int32)
"""

from __future__ import annotations

from onnx_philox._backends import NotInstalledError

try:
    import onnxruntime as _runtime
except ImportError as error:
    raise NotInstalledError("onnx_philox.onnxruntime", "ONNX Runtime", "onnxruntime") from error

from onnx_philox import _versions

_versions.check_version("onnxruntime", _runtime.__version__)

# ruff: noqa: E402
from onnx_philox.onnxruntime._feeds import RefusalText
from onnx_philox.onnxruntime._native_onnxruntime import library_path, register
from onnx_philox.onnxruntime._session import BACKENDS as BACKENDS
from onnx_philox.onnxruntime._session import InferenceSession

__all__ = ["InferenceSession", "RefusalText", "library_path", "register"]
