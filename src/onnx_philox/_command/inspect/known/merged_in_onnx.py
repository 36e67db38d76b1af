"""Nodes without seeds that OpenVINO makes one of, as the structure of an ONNX model shows them.

A normal of ONNX is made of uniforms there, which are no results.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import onnx_ir as ir

from onnx_philox._command.inspect.known.merging import merged_with
from onnx_philox._command.inspect.known.met_nodes import NORMALS, Met, MetNodes, is_unseeded
from onnx_philox._command.inspect.known.probed import MERGED
from onnx_philox._command.inspect.known.row import OPENVINO, Explains, KnownBehaviour
from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS

MERGED_ZEROS = KnownBehaviour(
    "nodes without seeds that are merged",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO draws it and {other} once, as one node: they read the same, and neither has a "
    "seed.",
    met_by="what two nodes without seeds read; not both are outputs",
    after="draws numbers of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
    instead_of=MERGED.name,
)
_LIKE = ("RandomUniformLike", "RandomNormalLike")
_STEPS = 8
_MOST_NUMBERS = 64


def is_merged(met: Met, among: MetNodes) -> Mapping[str, str] | None:
    """The details of a node that is merged with another; None of others."""
    alike = among.alike(met, _what_it_is)
    others = (each for each in alike if each is not met)
    other = merged_with(met, others, _read_by, _is_result)
    return None if other is None else {"other": other.record.called}


def _is_result(met: Met) -> bool:
    """Whether what a node draws is an output of the model; of a normal, it is computed."""
    if met.node.op_type in NORMALS:
        return False
    waiting = [met.node.outputs[0]]
    while waiting:
        value = waiting.pop()
        if value.is_graph_output():
            return True
        for reader, _index in value.uses():
            if reader.op_type == "Identity":
                waiting += reader.outputs
    return False


def _what_it_is(met: Met) -> Hashable | None:
    """What is equal for nodes that are merged; None of a node that is merged with none."""
    node = met.node
    if node.op_type not in _LIKE or not is_unseeded(met):
        return None
    source = _source(node.inputs[0], _STEPS)
    type_ = met.types(node.outputs[0])
    if node.op_type in NORMALS:
        # Their mean and scale come later.
        return node.op_type, id(node.graph), type_, source
    return node.op_type, id(node.graph), type_, source, _attributes(node)


def _attributes(node: ir.Node) -> Hashable:
    said = [(name, str(each.value)) for name, each in node.attributes.items()]
    return tuple(sorted(said))


def _source(value: ir.Value | None, steps: int) -> Hashable:
    """What is equal for values that surely are: one value, or the same made of one."""
    if value is None:
        return None
    node = value.producer()
    known = small_constant(value, _MOST_NUMBERS)
    if known is not None and (node is None or node.op_type == "Constant"):
        return known.dtype.str, known.shape, known.tobytes()
    if node is None or steps == 0 or node.op_type not in _COMPUTED:
        return id(value)
    if node.domain not in STANDARD_DOMAINS:
        return id(value)
    read = tuple(_source(each, steps - 1) for each in node.inputs)
    return node.op_type, _attributes(node), read


def _read_by(met: Met) -> set[ir.Value]:
    """What a node reads, and what that is computed of."""
    found: set[ir.Value] = set()
    waiting = [*met.node.inputs]
    while waiting:
        value = waiting.pop()
        if value is None or value in found:
            continue
        found.add(value)
        node = value.producer()
        if node is not None and node.op_type in _COMPUTED:
            waiting += node.inputs
    return found


_COMPUTED = (
    "Cast",
    "Concat",
    "ConstantOfShape",
    "Gather",
    "Identity",
    "Reshape",
    "Shape",
    "Slice",
    "Squeeze",
    "Unsqueeze",
)
