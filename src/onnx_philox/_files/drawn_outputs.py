"""Makes what the random nodes of a model of ONNX draw its outputs."""

from __future__ import annotations

import onnx

from onnx_philox._contract.operators import DOMAIN, OPERATORS


def name_of_mask(values: str) -> str:
    """What a mask is shown as that the model gives no name; "" without one of the values."""
    return values and f"{values}/mask"


def show_drawn(model: onnx.ModelProto) -> dict[str, str]:
    """Makes what random nodes of the main graph draw outputs; their names, and the operators."""
    graph = model.graph
    nodes = [n for n in graph.node if n.domain == DOMAIN and n.op_type in OPERATORS]
    drawn = {}
    for node in nodes:
        index = OPERATORS[node.op_type].drawn_output
        node.output.extend([""] * (index + 1 - len(node.output)))
        node.output[index] = node.output[index] or name_of_mask(node.output[0])
        drawn[node.output[index]] = node.op_type
    drawn.pop("", None)
    known = {info.name: info for info in graph.value_info}
    for name in sorted(drawn.keys() - {output.name for output in graph.output}):
        graph.output.append(known.get(name) or onnx.ValueInfoProto(name=name))
    return drawn
