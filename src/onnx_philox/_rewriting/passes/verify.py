"""The pass that looks once more at what the others have done."""

from __future__ import annotations

from collections import Counter

import onnx_ir as ir

from onnx_philox._rewriting.passes.find import FindRandomNodes, subgraphs


class Check(ir.passes.InPlacePass):
    """Verifies what a rewrite promises; a failure is an error of this package.

    No random node is left that has a replacement, and no name is defined twice where both can be
    seen, but for names of which that was true before.
    """

    def __init__(self, shadowed: set[str | None]) -> None:
        super().__init__()
        self._shadowed = shadowed

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Checks; changes nothing."""
        search = FindRandomNodes()
        search(model)
        left = [site.title for site in search.sites if site.draw is not None]
        if left:
            raise ir.passes.PostconditionError(f"random nodes are left: {left}")
        twice = shadowed_names(model.graph) - self._shadowed
        if twice:
            raise ir.passes.PostconditionError(f"defined twice: {sorted(map(str, twice))}")
        return ir.passes.PassResult(model, modified=False)


def shadowed_names(graph: ir.Graph, outer: frozenset[str | None] = frozenset()) -> set[str | None]:
    """The names that a graph or its subgraphs define though they are defined already."""
    values = [*graph.inputs, *(v for v in graph.initializers.values() if not v.is_graph_input())]
    values += [value for node in graph for value in node.outputs if value.name]
    counts = Counter(value.name for value in values)
    twice = {name for name, count in counts.items() if count > 1 or name in outer}
    seen = outer | counts.keys()
    for node in graph:
        for _, subgraph in subgraphs(node):
            twice |= shadowed_names(subgraph, seen)
    return twice
