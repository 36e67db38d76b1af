"""Standard nodes for a browser: without functions; draws are outputs that the metadata names.

A GPU may round divisions and square roots in its own way, so a page leaves the nodes that draw to
WebAssembly: the metadata names them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import onnx
from onnx import inliner

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files.drawn_outputs import show_drawn
from onnx_philox._files.tensors import subgraphs

KEY = "onnx_philox.web"
"""The key of the model's metadata for a page."""

_VERSION = 1


def for_web(
    model: onnx.ModelProto,
    convert: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> onnx.ModelProto:
    """A model whose draws a page can show, given what converts draws to nodes for ONNX Runtime.

    The model given gains outputs.
    """
    draws_here = any(node.domain == DOMAIN for node in _nodes(model.graph))
    drawn = show_drawn(model)
    others = {
        name
        for node in _nodes(model.graph)
        if node.domain != DOMAIN
        for name in node.output
        if name
    }
    converted = convert(model)
    standard = inliner.inline_local_functions(converted)
    drawing = []
    if draws_here:
        drawing = _name(standard, others)
    draws = [{"output": name, "operator": operator} for name, operator in drawn.items()]
    content = {"version": _VERSION, "draws": draws, "nodes": drawing}
    metadata = {entry.key: entry.value for entry in standard.metadata_props}
    metadata[KEY] = json.dumps(content, separators=(",", ":"))
    onnx.helper.set_model_props(standard, metadata)
    return standard


def _name(model: onnx.ModelProto, others: set[str]) -> list[str]:
    """Gives every node a name of its own; returns those of the nodes that draw."""
    taken: set[str] = set()
    drawing = []
    for i, node in enumerate(_nodes(model.graph)):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{i}_"
        taken.add(node.name)
        # Nodes of a rewrite compute the state, and have such names.
        is_of_rewrite = node.name.startswith(f"{DOMAIN}.")
        if is_of_rewrite or not others.intersection(node.output):
            drawing.append(node.name)
    return drawing


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, also inside others."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from _nodes(inner)
