"""The names that a model gives to the inputs and outputs of what OpenVINO made of it.

OpenVINO drops nodes that change nothing, such as a Dropout that is not in training, and calls what
went through them by its last name: the input `z` becomes `d` after `d = Dropout (z)`. When it
compiles a model, a tensor on both sides of such a node gets the names of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import openvino as ov

if TYPE_CHECKING:
    import onnx

# The name that OpenVINO gives to the end of an output of an ONNX model.
_END = "/sink_port_0"


def input_names(
    ports: Sequence[ov.ConstOutput],
    graph: onnx.GraphProto | None,
    uncompiled: Sequence[ov.Output] = (),
) -> list[str]:
    """A name for each of OpenVINO's inputs, which lack those that nothing reads.

    Args:
        ports: The inputs.
        graph: The ONNX model's; None if there is none.
        uncompiled: The inputs of the model that was compiled; none where nobody knows them.
    """
    declared: set[str] = set()
    before: dict[str, str] = {}
    if graph:
        declared = {value.name for value in graph.input}
        for node in graph.node:
            if node.op_type == "Dropout":
                before[node.output[0]] = node.input[0]

    def name_of(port: ov.ConstOutput, names: set[str]) -> str:
        for name in sorted(names, key=lambda name: name not in declared):
            while name not in declared and name in before:
                name = before[name]
            if name in declared:
                return name
        return _chosen(port, names)

    own = _own(ports, uncompiled)
    return [name_of(port, names) for port, names in zip(ports, own, strict=True)]


def output_names(
    ports: Sequence[ov.ConstOutput],
    graph: onnx.GraphProto | None,
    uncompiled: Sequence[ov.Output] = (),
) -> list[str]:
    """A name for each output; the arguments are those of `input_names`."""
    declared = {value.name for value in graph.output} if graph else set()
    ends = [_node_name(port) for port in ports]
    names = []
    for port, own, end in zip(ports, _own(ports, uncompiled), ends, strict=True):
        # The tensor may have the names of other values; the end of the model keeps its own.
        if end in declared:
            names.append(end)
        else:
            names.append(_chosen(port, own & declared or own))
    # Two outputs of one tensor have the names of their ends.
    chosen = []
    for name, end in zip(names, ends, strict=True):
        is_twice = names.count(name) > 1
        chosen.append(end if is_twice else name)
    return chosen


def _own(ports: Sequence[ov.ConstOutput], uncompiled: Sequence[ov.Output]) -> list[set[str]]:
    """The names of each tensor that it had before the model was compiled, or all of them."""
    names = [set(port.get_names()) for port in ports]
    if len(uncompiled) != len(names):
        return names
    own = []
    for here, port in zip(names, uncompiled, strict=True):
        kept = here & port.get_names()
        own.append(kept or here)
    return own


def _chosen(port: ov.ConstOutput, names: set[str]) -> str:
    """One of a tensor's names: that of the node, if it is among them."""
    name = _node_name(port)
    if name in names:
        return name
    return min(names, default=name)


def _node_name(port: ov.ConstOutput) -> str:
    name: str = port.get_node().get_friendly_name()
    return name.removesuffix(_END)
