"""Walks through the graphs of a model, and what is asked of a node or value on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir


@dataclass(frozen=True)
class Owner:
    """A node that holds a subgraph, and the attribute that the subgraph is."""

    node: ir.Node
    attribute: str
    graph: ir.Graph

    @property
    def label(self) -> str:
        """The step of a path, ``Loop 'name' body``."""
        return f"{label(self.node)} {self.attribute}"


def label(node: ir.Node) -> str:
    """The operator and the name of a node."""
    if node.name:
        return f"{node.op_type} {node.name!r}"
    return f"{node.op_type} of {node.outputs[0].name!r}" if node.outputs else node.op_type


def subgraphs(node: ir.Node) -> Iterator[tuple[str, ir.Graph]]:
    """The graphs among a node's attributes, with the attributes' names.

    The branch that an If takes comes first: the order in a file means nothing.
    """
    for attribute in sorted(node.attributes.values(), key=lambda a: a.name == "else_branch"):
        if attribute.is_ref():
            continue
        if attribute.type is ir.AttributeType.GRAPH:
            yield attribute.name, attribute.as_graph()
        elif attribute.type is ir.AttributeType.GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.as_graphs())


def walk(
    graph: ir.Graph, owners: tuple[Owner, ...] = ()
) -> Iterator[tuple[ir.Node, tuple[Owner, ...]]]:
    """Every node in order, depth first, with the owners of the subgraphs that it is in."""
    for node in graph:
        yield node, owners
        for name, subgraph in subgraphs(node):
            yield from walk(subgraph, (*owners, Owner(node, name, subgraph)))


def values(graph: ir.Graph) -> Iterator[ir.Value]:
    """Every value that a graph itself defines, once: an initializer may be an input too."""
    yield from graph.inputs
    yield from (value for value in graph.initializers.values() if not value.is_graph_input())
    for node in graph:
        yield from node.outputs


def input_of(node: ir.Node, index: int) -> ir.Value:
    """An input that the node is known to have."""
    value = node.inputs[index]
    assert value is not None
    return value


def is_wanted(output: ir.Value) -> bool:
    """Whether a node reads an output, or the graph gives it."""
    return bool(output.uses()) or output.is_graph_output()
