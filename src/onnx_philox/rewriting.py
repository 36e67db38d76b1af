"""Any ONNX model made reproducible: its random nodes replaced by those of this package.

`make_reproducible` does it in memory and `rewrite_file` from file to file, whatever the size of
the weights; `rewrite` works on an `onnx_ir.Model`, and `find_random_nodes` only looks.
`to_standard_nodes` then replaces the nodes of this package by nodes of ONNX's own domain, for
runtimes that take no plugin.
`make_reproducible`, `rewrite_file` and `find_random_nodes` take models of OpenVINO's too.
"""

from onnx_philox._rewriting.api import find_random_nodes, make_reproducible, rewrite, rewrite_file
from onnx_philox._rewriting.report import RandomNode, Report
from onnx_philox._standard.to_standard import to_standard_file, to_standard_nodes

__all__ = [
    "RandomNode",
    "Report",
    "find_random_nodes",
    "make_reproducible",
    "rewrite",
    "rewrite_file",
    "to_standard_file",
    "to_standard_nodes",
]
