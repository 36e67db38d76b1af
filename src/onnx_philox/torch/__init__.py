"""Exports PyTorch modules to ONNX with this package's nodes, so that no random number is lost.

Needs PyTorch and onnxscript (the extra ``torch``), which are loaded when a function is called.
"""

from onnx_philox.torch._check import ProgramDraw, check_export
from onnx_philox.torch._export import export, translations
from onnx_philox.torch._verdict import Ran, Verdict
from onnx_philox.torch._verify import verify_export

__all__ = [
    "ProgramDraw",
    "Ran",
    "Verdict",
    "check_export",
    "export",
    "translations",
    "verify_export",
]
