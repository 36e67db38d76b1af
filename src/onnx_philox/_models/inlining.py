"""Inlines functions of a model, and predicts how large it becomes by that."""

from __future__ import annotations

import graphlib
from collections import Counter
from collections.abc import Collection, Iterable

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from onnx_philox._contract import checks
from onnx_philox._models import onnx_graphs
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
        circle = map(_named, reversed(error.args[1]))
        raise ValueError(f"a function calls itself: {' -> '.join(circle)}") from error
    calls: dict[ir.OperatorIdentifier, int] = {}
    nodes: dict[ir.OperatorIdentifier, int] = {}

    def within(counts: Counter[ir.OperatorIdentifier]) -> tuple[int, int]:
        """How many calls and nodes are in functions that are called so often."""
        of_calls = 0
        of_nodes = 0
        for f, count in counts.items():
            of_calls += count * (1 + calls[f])
            of_nodes += count * nodes[f]
        return of_calls, of_nodes

    for f in order:
        inner_calls, inner_nodes = within(called[f])
        calls[f] = inner_calls
        nodes[f] = len(bodies[f]) + inner_nodes
    in_graph = called_by(model.graph.all_nodes())
    all_calls, all_nodes = within(in_graph)
    _check_count("calls", all_calls, MOST_CALLS)
    _check_count("nodes", all_nodes, MOST_NODES)


def _named(function: ir.OperatorIdentifier) -> str:
    domain, name, _ = function
    return f"{domain}::{name}"


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
        names = ", ".join(map(_named, sorted(holding)))
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
            for value in list(onnx_graphs.values(graph)):
                if not value.name:
                    continue
                name = names.unique(value.name)
                is_renamed = name != value.name
                if is_renamed and isinstance(value.const_value, ir.ExternalTensor):
                    # What lies in a file is put back with its own name.
                    raise ValueError(f"large weights have a name that others have: {value.name!r}")
                value.name = name
