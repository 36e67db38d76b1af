"""Walks through the graphs of a model, and reads and changes the nodes and values there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def label(node: ir.Node) -> str:
    """The operator and the name of a node."""
    if node.name:
        return f"{node.op_type} {node.name!r}"
    if not node.outputs:
        return node.op_type
    return f"{node.op_type} of {node.outputs[0].name!r}"


def subgraphs(node: ir.Node) -> Sequence[tuple[str, ir.Graph]]:
    """The graphs among a node's attributes, with the attributes' names.

    The branch that an If takes comes first: the order in a file means nothing.
    """
    # Its dict itself: every node is asked, several times, and most have none.
    attributes = node.attributes.data.values()
    held = [each for each in attributes if each.type in _GRAPHS and not each.is_ref()]
    if not held:
        return ()
    found = []
    for attribute in sorted(held, key=lambda a: a.name == "else_branch"):
        if attribute.type is ir.AttributeType.GRAPH:
            found.append((attribute.name, attribute.as_graph()))
        else:
            found += [(attribute.name, graph) for graph in attribute.as_graphs()]
    return found


def attributes_of_call(
    node: ir.Node,
    function: ir.Function,
    around: Mapping[str, ir.Attr],
) -> dict[str, ir.Attr]:
    """What a function is given as its attributes: by a call, or by default.

    Args:
        node: The call.
        function: What it calls.
        around: What the function is given that the call is in, to whose attributes it may refer.

    Returns:
        Those that have a value, by their names in the function.
    """
    given = dict(function.attributes)
    for name, attribute in node.attributes.items():
        said: ir.Attr | None = attribute
        if attribute.is_ref():
            said = around.get(attribute.ref_attr_name or "")
        if said is not None:
            given[name] = said
    return {name: said for name, said in given.items() if said.value is not None}


def walk(
    graph: ir.Graph,
    owners: tuple[Owner, ...] = (),
) -> Iterator[tuple[ir.Node, tuple[Owner, ...]]]:
    """Every node in order, depth first, with the owners of the subgraphs that it is in."""
    for node in graph:
        yield node, owners
        if not node.attributes.data:
            # Most nodes have none, and to ask `subgraphs` takes longer than the rest of a walk.
            continue
        for name, subgraph in subgraphs(node):
            owner = Owner(node, name, subgraph)
            yield from walk(subgraph, (*owners, owner))


def graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """The graph of a model and all graphs in it, but those of functions."""
    yield model.graph
    yield from _graphs_in(model.graph)


def _graphs_in(graph: ir.Graph) -> Iterator[ir.Graph]:
    for node in graph:
        held = [inner for _, inner in subgraphs(node)]
        yield from held
        for inner in held:
            yield from _graphs_in(inner)


def values(graph: ir.Graph) -> Iterator[ir.Value]:
    """Every value that a graph itself defines, once: an initializer may be an input too."""
    yield from graph.inputs
    for value in graph.initializers.values():
        if not value.is_graph_input():
            yield value
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


def only_reader(value: ir.Value) -> tuple[ir.Node, int] | None:
    """The only node that reads a value, in the same graph, and the index of that input."""
    uses = list(value.uses())
    producer = value.producer()
    if producer is None or len(uses) != 1 or value.is_graph_output():
        return None
    ((node, index),) = uses
    if node.graph is not producer.graph or node.domain not in STANDARD_DOMAINS:
        return None
    if len(node.outputs) != 1 or not is_wanted(node.outputs[0]):
        return None
    return node, index


MOVES = {
    "Cast",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
}
"""The operators that give numbers of their first input; all but Cast only move them."""


def source(value: ir.Value) -> ir.Value:
    """Where the numbers of a value come from that others only move."""
    node = value.producer()
    while node is not None and node.op_type in MOVES and node.domain in STANDARD_DOMAINS:
        if not node.inputs or node.inputs[0] is None:
            break
        value = node.inputs[0]
        node = value.producer()
    return value


KEY_MAKERS = frozenset(
    {"StatelessRandomGetAlg", "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"}
)
"""TensorFlow's operators that make the key of a draw, and draw nothing."""


def take_over(ours: ir.Value, theirs: ir.Value) -> None:
    """Puts a value in another's place, with its name and all that the model says of it."""
    name = theirs.name
    theirs.name = None
    ours.name = name
    ours.type = theirs.type or ours.type
    ours.shape = theirs.shape or ours.shape
    ours.doc_string = theirs.doc_string
    # Most have nothing there, and onnx-ir makes an empty dictionary wherever it is asked.
    if theirs.metadata_props:
        ours.metadata_props.update(theirs.metadata_props)
    if theirs.meta:
        ours.meta.update(theirs.meta)
    theirs.replace_all_uses_with(ours, replace_graph_outputs=True)


def remove(node: ir.Node, seeded: ir.Model | None = None) -> None:
    """Removes a node, and what only it read; see `_remove_unused`."""
    if node.graph is None:
        return
    inputs = [value for value in node.inputs if value is not None]
    node.graph.remove(node, safe=True)
    for value in inputs:
        _remove_unused(value, seeded)


def _remove_unused(value: ir.Value, seeded: ir.Model | None) -> None:
    """Removes what only the old node read: a constant, or the seed or key that TensorFlow drew by.

    ONNX Runtime warns of such constants, no runtime knows TensorFlow's operators, and a seed that
    does nothing would mislead. `seeded` is the model if the old node had a seed as an input.
    """
    if value.uses() or value.is_graph_output():
        return
    if value.is_graph_input():
        if seeded is None or value not in seeded.graph.inputs:
            return
        seeded.graph.inputs.remove(value)
    if value.is_initializer() and value.graph is not None and value.name is not None:
        del value.graph.initializers[value.name]
        return
    node = value.producer()
    if node is None or node.op_type not in ("Constant", *KEY_MAKERS):
        return
    if any(output.uses() or output.is_graph_output() for output in node.outputs):
        return
    remove(node, seeded)


STANDARD_DOMAINS = ("", "ai.onnx")
"""The two names of ONNX's own domain."""


_ADDED = 13
"""The version that a model gets which has no nodes of ONNX's own yet."""


def needs_onnx(model: ir.Model) -> bool:
    """Whether a model neither imports ONNX's own domain nor has nodes of it."""
    if any(name in model.opset_imports for name in STANDARD_DOMAINS):
        return False
    return all(node.domain not in STANDARD_DOMAINS for node in model.graph.all_nodes())


def onnx_opset_for(model: ir.Model) -> int:
    """The version of ONNX's own domain for nodes to come: see `import_onnx`."""
    if needs_onnx(model):
        return _ADDED
    return onnx_opset_of(model.opset_imports)


def import_onnx(model: ir.Model) -> None:
    """Imports ONNX's own domain where a model has only nodes of others."""
    if needs_onnx(model):
        model.opset_imports[""] = _ADDED


def opset_of(imports: Mapping[str, int], domain: str) -> int | None:
    """The version of a domain; None for another's that is not imported.

    ONNX's own goes by two names, and is 1 where a model does not say it.
    """
    if domain not in STANDARD_DOMAINS:
        return imports.get(domain)
    return onnx_opset_of(imports)


def onnx_opset_of(imports: Mapping[str, int]) -> int:
    """The version of ONNX's own domain."""
    for name in STANDARD_DOMAINS:
        if name in imports:
            return imports[name]
    return 1
