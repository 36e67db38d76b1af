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
from onnx_philox._rewriting.passes.find import FUNCTION_OF_ORIGIN, is_random


class InlineRandomFunctions(ir.passes.InPlacePass):
    """Inlines the functions that hold a random node, and those that call them."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Inlines."""
        holding = _functions_with_random_nodes(model)
        if not holding:
            return ir.passes.PassResult(model, modified=False)
        try:
            inlined_size.check(model, holding)
            _rename(model, holding)
            result = InlinePass(criteria=lambda f: f.identifier() in holding)(model)
        except (ValueError, RuntimeError, ir.passes.InvariantError) as error:
            names = ", ".join(f"{domain}::{name}" for domain, name, _ in sorted(holding))
            checks.refuse(
                OWNER,
                "the model",
                f"one whose functions with random nodes ({names}) cannot be inlined: {error}",
                "functions of the model's own opset, which do not call themselves and do not "
                "multiply without end",
                "Export the model without functions.",
            )
        return ir.passes.PassResult(model, result.modified)


def _functions_with_random_nodes(model: ir.Model) -> set[ir.OperatorIdentifier]:
    calls: dict[ir.OperatorIdentifier, set[ir.OperatorIdentifier]] = {}
    holding = set()
    for identifier, function in model.functions.items():
        nodes = list(function.all_nodes())
        calls[identifier] = {node.op_identifier() for node in nodes} & model.functions.keys()
        for node in nodes:
            if is_random(node, opset_of(function.opset_imports, node.domain), model):
                holding.add(identifier)
                node.meta[FUNCTION_OF_ORIGIN] = f"{function.domain}::{function.name}"
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
