"""The pass that inlines the functions that hold a random node.

A function that is called twice would draw the same numbers twice, so each call needs its own nodes
and streams. Functions without a random node stay functions.
"""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._models.inlining import inline
from onnx_philox._models.opsets import opset_of
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.in_onnx.passes.find import FUNCTION_OF_ORIGIN, drops_nothing, is_random


def inline_random_functions(model: ir.Model) -> None:
    """Inlines the functions that hold a random node, and those that call them."""
    inline(model, _functions_with_random_nodes(model), OWNER, "functions with random nodes")


def _functions_with_random_nodes(model: ir.Model) -> set[ir.OperatorIdentifier]:
    holding = set()
    for identifier, function in model.functions.items():
        for node in function.all_nodes():
            opset = opset_of(function.opset_imports, node.domain)
            if is_random(node, opset, model) or drops_nothing(node, opset):
                holding.add(identifier)
                node.meta[FUNCTION_OF_ORIGIN] = f"{function.domain}::{function.name}"
    return holding
