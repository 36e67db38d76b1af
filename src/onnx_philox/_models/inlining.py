"""Inlines functions of a model, and predicts how large it becomes by that."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Collection, Iterable

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from onnx_philox._contract import checks
from onnx_philox._models import graphs
from onnx_philox._models.emitter import Names

# Exporters that make a function of each operator come to some thousands. The time that onnx-ir
# takes grows with the square of the calls: some 15 s for so many.
MOST_CALLS = 4_096
MOST_NODES = 1_000_000


def check_size(model: ir.Model, functions: Collection[ir.OperatorIdentifier]) -> None:
    """Refuses functions whose inlining would never end, or take too long.

    A chain of n functions that each call the next twice makes 2^n copies.

    Raises:
        ValueError: They call themselves, or grow too large; the text is half a sentence.
    """
    bodies = {f: list(model.functions[f].all_nodes()) for f in functions}

    def called_by(nodes: Iterable[ir.Node]) -> Counter[ir.OperatorIdentifier]:
        identifiers = (node.op_identifier() for node in nodes)
        return Counter(each for each in identifiers if each in bodies)

    called = {f: called_by(nodes) for f, nodes in bodies.items()}
    try:
        # Each function after those that it calls.
        sorter = graphlib.TopologicalSorter(called)
        order = list(sorter.static_order())
    except graphlib.CycleError as error:
        circle = reversed(error.args[1])
        names = " -> ".join(f"{domain}::{name}" for domain, name, _ in circle)
        raise ValueError(f"a function calls itself: {names}") from error
    calls: dict[ir.OperatorIdentifier, int] = {}
    nodes: dict[ir.OperatorIdentifier, int] = {}

    def calls_within(counts: Counter[ir.OperatorIdentifier]) -> int:
        return sum(count * (1 + calls[f]) for f, count in counts.items())

    def nodes_within(counts: Counter[ir.OperatorIdentifier]) -> int:
        return sum(count * nodes[f] for f, count in counts.items())

    for f in order:
        calls[f] = calls_within(called[f])
        nodes[f] = len(bodies[f]) + nodes_within(called[f])
    in_graph = called_by(model.graph.all_nodes())
    _check_count("calls", calls_within(in_graph), MOST_CALLS)
    _check_count("nodes", nodes_within(in_graph), MOST_NODES)


def _check_count(what: str, count: int, most: int) -> None:
    if count > most:
        problem = f"they are {count:,} {what}, and at most {most:,} are inlined"
        raise ValueError(problem)


def inline(
    model: ir.Model,
    functions: set[ir.OperatorIdentifier],
    owner: str,
    what: str,
) -> bool:
    """Inlines functions, and those that call them; returns whether there were any.

    `what` these functions are, in words, is for the refusal of what cannot be inlined.
    """
    holding = with_callers(model, functions)
    if not holding:
        return False
    try:
        check_size(model, holding)
        _rename(model, holding)
        inlining = InlinePass(criteria=lambda f: f.identifier() in holding)
        result = inlining(model)
    except (ValueError, RuntimeError, ir.passes.InvariantError) as error:
        names = ", ".join(f"{domain}::{name}" for domain, name, _ in sorted(holding))
        given = f"one whose {what} ({names}) cannot be inlined: {error}"
        allowed = (
            "one whose functions are of the model's own opset, do not call themselves and do not "
            "multiply without end"
        )
        checks.refuse(owner, "the model", given, allowed, "Export the model without functions.")
    for uncalled in holding & model.functions.keys():
        # It may call one that is gone.
        del model.functions[uncalled]
    return result.modified


def with_callers(
    model: ir.Model,
    functions: set[ir.OperatorIdentifier],
) -> set[ir.OperatorIdentifier]:
    """Functions of a model, and those that call them."""
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
            for value in list(graphs.values(graph)):
                if not value.name:
                    continue
                name = names.unique(value.name)
                is_renamed = name != value.name
                if is_renamed and isinstance(value.const_value, ir.ExternalTensor):
                    # What lies in a file is put back with its own name.
                    raise ValueError(f"large weights have a name that others have: {value.name!r}")
                value.name = name
