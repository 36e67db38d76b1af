"""Any ONNX model made reproducible: its random nodes replaced by those of this package.

`make_reproducible` does it in memory and `rewrite_file` from file to file, whatever the size of
the weights; `rewrite` works on an `onnx_ir.Model`, and `find_random_nodes` only looks.
"""

from onnx_philox._rewriting.api import find_random_nodes, make_reproducible, rewrite_file
from onnx_philox._rewriting.passes.order import rewrite
from onnx_philox._rewriting.report import RandomNode, Report

__all__ = [
    "RandomNode",
    "Report",
    "find_random_nodes",
    "make_reproducible",
    "rewrite",
    "rewrite_file",
]
