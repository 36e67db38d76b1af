"""The pass that looks once more at what the others have done."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox.rewriting._finding import FindRandomNodes, subgraphs


class Check(ir.passes.InPlacePass):
    """Verifies what a rewrite promises; a failure is an error of this package.

    No random node is left that has a replacement, and no name is defined twice where both can be
    seen.
    """

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Checks; changes nothing."""
        search = FindRandomNodes()
        search(model)
        left = [site.title for site in search.sites if site.draw is not None]
        if left:
            raise ir.passes.PostconditionError(f"random nodes are left: {left}")
        _check_names(model.graph, set())
        return ir.passes.PassResult(model, modified=False)


def _check_names(graph: ir.Graph, outer: set[str | None]) -> None:
    values = [*graph.inputs, *(v for v in graph.initializers.values() if not v.is_graph_input())]
    values += [value for node in graph for value in node.outputs if value.name]
    seen = set(outer)
    for value in values:
        if value.name in seen:
            raise ir.passes.PostconditionError(f"{value.name!r} is defined twice")
        seen.add(value.name)
    for node in graph:
        for _, subgraph in subgraphs(node):
            _check_names(subgraph, seen)
