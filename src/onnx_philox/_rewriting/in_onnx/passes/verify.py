"""The pass that checks what the others did."""

from __future__ import annotations

from collections import Counter

import onnx_ir as ir

from onnx_philox._models import graphs
from onnx_philox._rewriting.in_onnx.passes.find import find_nodes
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable


def verify(model: ir.Model, shadowed: set[str]) -> None:
    """Verifies what a rewrite promises; a failure is an error of this package.

    No random node that has a replacement is left. No name is defined twice where both definitions
    are visible, except names that already were.
    """
    left = [found.site.title for found in find_nodes(model) if isinstance(found, Replaceable)]
    if left:
        raise ir.passes.PostconditionError(f"random nodes are left: {left}")
    twice = shadowed_names(model.graph) - shadowed
    if twice:
        raise ir.passes.PostconditionError(f"defined twice: {sorted(twice)}")


def shadowed_names(graph: ir.Graph, outer: frozenset[str] = frozenset()) -> set[str]:
    """The names that a graph or its subgraphs define although they are defined already."""
    counts = Counter(value.name for value in graphs.values(graph) if value.name)
    twice = {name for name, count in counts.items() if count > 1 or name in outer}
    seen = outer | counts.keys()
    for node in graph:
        for _, subgraph in graphs.subgraphs(node):
            twice |= shadowed_names(subgraph, seen)
    return twice
