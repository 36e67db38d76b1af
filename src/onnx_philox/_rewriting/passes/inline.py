"""The pass that inlines the functions that hold a random node.

A function that is called twice would draw the same numbers twice, so each call needs its own nodes
and streams. Functions without a random node stay functions.
"""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from onnx_philox._contract import checks, inlined_size
from onnx_philox._rewriting.nodes import graphs
from onnx_philox._rewriting.nodes.earlier_rewrite import OWNER
from onnx_philox._rewriting.nodes.emitter import Names
from onnx_philox._rewriting.nodes.standard import opset_of
from onnx_philox._rewriting.passes.find import FUNCTION_OF_ORIGIN, drops_nothing, is_random


class InlineRandomFunctions(ir.passes.InPlacePass):
    """Inlines the functions that hold a random node, and those that call them."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Inlines."""
        holding = _functions_with_random_nodes(model)
        modified = inline(model, holding, OWNER, "functions with random nodes")
        return ir.passes.PassResult(model, modified)


def inline(model: ir.Model, functions: set[ir.OperatorIdentifier], owner: str, what: str) -> bool:
    """Inlines functions, and those that call them.

    Args:
        model: The model, changed in place.
        functions: The functions' identifiers.
        owner: Who refuses what cannot be inlined.
        what: What these functions are, in words.

    Returns:
        Whether there was anything to inline.
    """
    holding = _with_callers(model, functions)
    if not holding:
        return False
    try:
        inlined_size.check(model, holding)
        _rename(model, holding)
        result = InlinePass(criteria=lambda f: f.identifier() in holding)(model)
    except (ValueError, RuntimeError, ir.passes.InvariantError) as error:
        names = ", ".join(f"{domain}::{name}" for domain, name, _ in sorted(holding))
        checks.refuse(
            owner,
            "the model",
            f"one whose {what} ({names}) cannot be inlined: {error}",
            "functions of the model's own opset, which do not call themselves and do not "
            "multiply without end",
            "Export the model without functions.",
        )
    return result.modified


def _functions_with_random_nodes(model: ir.Model) -> set[ir.OperatorIdentifier]:
    holding = set()
    for identifier, function in model.functions.items():
        for node in function.all_nodes():
            opset = opset_of(function.opset_imports, node.domain)
            if is_random(node, opset, model) or drops_nothing(node, opset):
                holding.add(identifier)
                node.meta[FUNCTION_OF_ORIGIN] = f"{function.domain}::{function.name}"
    return holding


def _with_callers(
    model: ir.Model, functions: set[ir.OperatorIdentifier]
) -> set[ir.OperatorIdentifier]:
    calls = {
        identifier: {node.op_identifier() for node in function.all_nodes()}
        for identifier, function in model.functions.items()
    }
    holding = set(functions)
    while True:
        callers = {caller for caller, callees in calls.items() if callees & holding}
        if callers <= holding:
            return holding
        holding |= callers


def _rename(model: ir.Model, holding: set[ir.OperatorIdentifier]) -> None:
    """Gives the values of functions names that no graph has.

    InlinePass knows the names of one graph at a time, but not those of the subgraphs after it.
    """
    names = Names(model)
    for identifier in sorted(holding):
        function = model.functions[identifier]
        for graph in (function.graph, *function.subgraphs()):
            for value in graphs.values(graph):
                if value.name:
                    value.name = names.unique(value.name)
