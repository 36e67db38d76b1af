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
    drawn = {}
    for node in graph.node:
        if node.domain != DOMAIN or node.op_type not in OPERATORS:
            continue
        index = OPERATORS[node.op_type].drawn_output
        missing = index + 1 - len(node.output)
        node.output.extend([""] * missing)
        name = node.output[index] or name_of_mask(node.output[0])
        node.output[index] = name
        if name:
            drawn[name] = node.op_type
    known = {info.name: info for info in graph.value_info}
    shown = {output.name for output in graph.output}
    for name in sorted(drawn.keys() - shown):
        graph.output.append(known.get(name) or onnx.ValueInfoProto(name=name))
    return drawn
