"""Exports PyTorch modules to ONNX with this package's nodes, so that no random number is lost.

Needs PyTorch and onnxscript (the extra ``torch``), which are loaded when a function is called.
"""

from onnx_philox import _parts

with _parts.TORCH_PART.importing("onnx_philox.torch"):
    from onnx_philox._torch.checks.check import ProgramDraw, check_export
    from onnx_philox._torch.checks.verdict import Ran, Verdict
    from onnx_philox._torch.checks.verify import verify_export
    from onnx_philox._torch.export import export, translations

__all__ = [
    "ProgramDraw",
    "Ran",
    "Verdict",
    "check_export",
    "export",
    "translations",
    "verify_export",
]
