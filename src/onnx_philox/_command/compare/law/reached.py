"""Which outputs of an original read what a random node draws, and how near they are to the draw."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

import onnx_ir as ir

from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, subgraphs, walk
from onnx_philox._rewriting.in_onnx.inferred_types import Types

if TYPE_CHECKING:
    import openvino as ov


class Reach(IntEnum):
    """How an output reads a draw; of several ways the last one counts."""

    AS_DRAWN = 1
    """Its values are the draw's, in their order: cast, inverted or reshaped."""
    IN_PLACE = 2
    """Each element is computed of the same element of the draw."""
    ANYWHERE = 3
    """What an element reads is not known."""


Reached = Mapping[str, Reach]
"""The outputs that read a draw, by their names."""

_ONLY_SHAPES = {
    "RandomNormalLike",
    "RandomUniformLike",
    "Shape",
    "ShapeOf",
    "Size",
}
_AS_DRAWN = {
    "Cast",
    "Convert",
    "Flatten",
    "Identity",
    "LogicalNot",
    "Not",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
}
_IN_PLACE = {
    "Abs",
    "Add",
    "And",
    "Ceil",
    "Ceiling",
    "Clamp",
    "Clip",
    "Cos",
    "Div",
    "Divide",
    "Dropout",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Greater",
    "GreaterEqual",
    "GreaterOrEqual",
    "Less",
    "LessEqual",
    "LessOrEqual",
    "Log",
    "LogicalAnd",
    "LogicalOr",
    "Max",
    "Maximum",
    "Min",
    "Minimum",
    "Mul",
    "Multiply",
    "Neg",
    "Negative",
    "NotEqual",
    "Or",
    "Pow",
    "Power",
    "Reciprocal",
    "Relu",
    "Round",
    "Select",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sqrt",
    "Sub",
    "Subtract",
    "Tanh",
    "Where",
}
"""Operators of ONNX and OpenVINO whose outputs have at a place what their inputs make of it."""


def _behind(operator: str, *, keeps_shape: bool) -> Reach:
    """How what an operator gives reads its input."""
    if operator in _AS_DRAWN:
        return Reach.AS_DRAWN
    if operator in _IN_PLACE and keeps_shape:
        return Reach.IN_PLACE
    return Reach.ANYWHERE


class ReachedInOnnx:
    """Of a model of ONNX, whose functions with random nodes have been inlined."""

    def __init__(self, model: ir.Model) -> None:
        self._types = Types(model)
        self._outputs = {value: value.name or "" for value in model.graph.outputs}
        self._owners: dict[ir.Value, list[ir.Node]] = collections.defaultdict(list)
        """The nodes that hold a subgraph with this output."""
        for node, _ in walk(model.graph):
            for _, graph in subgraphs(node):
                for value in graph.outputs:
                    self._owners[value].append(node)

    def outputs_among(self, values: Mapping[ir.Value, Reach]) -> Reached:
        """Of values that read what a node draws, the outputs."""
        outputs = self._outputs
        return {outputs[value]: reach for value, reach in values.items() if value in outputs}

    def values_by(self, node: ir.Node) -> dict[ir.Value, Reach]:
        """The values of the model that read what a node draws, with the draw itself."""
        known: dict[ir.Value, Reach] = {}
        waiting = []
        for value in node.outputs:
            known[value] = Reach.AS_DRAWN
            waiting.append(value)
        while waiting:
            value = waiting.pop()
            for reader, reach in self._readers(value):
                reach = max(known[value], reach)
                for output in reader.outputs:
                    if reach > known.get(output, 0):
                        known[output] = reach
                        waiting.append(output)
        return known

    def _readers(self, value: ir.Value) -> list[tuple[ir.Node, Reach]]:
        """The nodes that read a value, and how what they give does."""
        found = [(owner, Reach.ANYWHERE) for owner in self._owners.get(value, ())]
        for reader, _index in value.uses():
            if reader.op_type in _ONLY_SHAPES:
                continue
            reach = Reach.ANYWHERE
            if reader.domain in STANDARD_DOMAINS and not subgraphs(reader):
                keeps_shape = self._keeps_shape(value, reader.outputs[0])
                reach = _behind(reader.op_type, keeps_shape=keeps_shape)
            found.append((reader, reach))
        return found

    def _keeps_shape(self, before: ir.Value, after: ir.Value) -> bool:
        dimensions = self._types.dimensions(before)
        if dimensions is None or None in dimensions:
            return False
        return dimensions == self._types.dimensions(after)


class ReachedInOpenvino:
    """Of a model of OpenVINO."""

    def __init__(self, model: ov.Model) -> None:
        from onnx_philox._openvino_models import openvino_graphs
        from onnx_philox._openvino_models.ports import output_names

        names = output_names(model.outputs, None)
        results = [result.get_name() for result in model.get_results()]
        self._names = dict(zip(results, names, strict=True))
        self._outermost = {}
        """The node of the main graph that holds a node of a body."""
        for node, owners in openvino_graphs.walk(model):
            if owners:
                self._outermost[node.get_name()] = owners[0].node

    def by(self, node: ov.Node) -> Reached:
        """The outputs that read what a node draws."""
        found: dict[str, Reach] = {}
        known: dict[str, Reach] = {}
        first = self._outermost.get(node.get_name())
        if first is None:
            waiting = [(node, Reach.AS_DRAWN)]
        else:
            waiting = [(first, Reach.ANYWHERE)]
        while waiting:
            node, reach = waiting.pop()
            if reach <= known.get(node.get_name(), 0):
                continue
            known[node.get_name()] = reach
            if node.get_name() in self._names:
                found[self._names[node.get_name()]] = reach
            for output in node.outputs():
                for target in output.get_target_inputs():
                    reader = target.get_node()
                    kind = reader.get_type_name()
                    if kind == "Result":
                        waiting.append((reader, reach))
                    elif kind not in _ONLY_SHAPES:
                        keeps_shape = _keeps_shape(output, reader)
                        behind = _behind(kind, keeps_shape=keeps_shape)
                        waiting.append((reader, max(reach, behind)))
        return found


def _keeps_shape(output: ov.Output, reader: ov.Node) -> bool:
    if not reader.get_output_size():
        return False
    return bool(reader.get_output_partial_shape(0) == output.get_partial_shape())
