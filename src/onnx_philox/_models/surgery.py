"""Puts new nodes in the place of old ones, and removes what only the old ones read."""

from __future__ import annotations

import onnx_ir as ir

KEY_MAKERS = frozenset(
    {
        "StatelessRandomGetAlg",
        "StatelessRandomGetKeyCounter",
        "StatelessRandomGetKeyCounterAlg",
    }
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
    ours.metadata_props.update(theirs.metadata_props)
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
