"""Predicts how large a model becomes when its functions are inlined."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Collection

import onnx_ir as ir

# Exporters that make a function of each operator come to some thousands. The time that onnx-ir
# takes grows with the square of the calls: some 15 s for so many.
MOST_CALLS = 4_096
MOST_NODES = 1_000_000


def check(model: ir.Model, functions: Collection[ir.OperatorIdentifier]) -> None:
    """Refuses functions whose inlining would never end, or take too long.

    A chain of n functions that each call the next twice makes 2^n copies.

    Args:
        model: The model.
        functions: The functions to inline.

    Raises:
        ValueError: They call themselves, or grow too large; the text is half a sentence.
    """
    own = {f: list(model.functions[f].all_nodes()) for f in functions}
    called = {
        f: Counter(i for node in nodes if (i := node.op_identifier()) in own)
        for f, nodes in own.items()
    }
    try:
        order = list(graphlib.TopologicalSorter(called).static_order())
    except graphlib.CycleError as error:
        names = " -> ".join(f"{domain}::{name}" for domain, name, _ in reversed(error.args[1]))
        raise ValueError(f"a function calls itself: {names}") from error
    calls: dict[ir.OperatorIdentifier, int] = {}
    nodes: dict[ir.OperatorIdentifier, int] = {}
    for f in order:
        calls[f] = sum(count * (1 + calls[c]) for c, count in called[f].items())
        nodes[f] = len(own[f]) + sum(count * nodes[c] for c, count in called[f].items())
    in_graph = Counter(i for node in model.graph.all_nodes() if (i := node.op_identifier()) in own)
    for what, count, most in (
        ("calls", sum(n * (1 + calls[f]) for f, n in in_graph.items()), MOST_CALLS),
        ("nodes", sum(n * nodes[f] for f, n in in_graph.items()), MOST_NODES),
    ):
        if count > most:
            raise ValueError(f"they are {count:,} {what}, and at most {most:,} are inlined")
