"""Shapes in terms of the names of the inputs' dimensions, as ONNX infers them.

ONNX's inference does the work, and follows dimensions through the integers that models compute
from them. This module prepares a clone for it: subgraphs need copies of constants from outside,
which ONNX does not see there. It also finds what a Loop does not change: ONNX forgets the
shapes of what a Loop carries, since a body may change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass

from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._rewriting.nodes import tensorflow
from onnx_philox._rewriting.nodes.constants import constant
from onnx_philox._rewriting.nodes.standard import STANDARD_DOMAINS
from onnx_philox._rewriting.nodes.types import clone_of

Dimension = int | str | None
"""A number, the name of a dimension of an input, or None where neither is known."""
Dimensions = tuple[Dimension, ...]


class SymbolicShapes:
    """The shape of each value of a model; leaves the model itself as it is.

    Args:
        model: The model. Shapes that it declares count as far as they use names of its inputs'
            dimensions; all other names say nothing.
    """

    def __init__(self, model: ir.Model) -> None:
        cloned = clone_of(model)
        self._shapes: dict[ir.Value, Dimensions | None] = {}
        if cloned is None:
            return
        clone, values = cloned
        names = _name_dimensions(clone)
        _forget_other_names(clone, names)
        stand_ins = _stand_in(clone)
        for graph in list(clone.graphs()):
            if graph is not clone.graph:
                _copy_constants_into(graph)
        _infer(clone, names)
        self._shapes = {
            ours: _dimensions(stand_ins.get(theirs, theirs).shape, names)
            for ours, theirs in values.items()
        }

    def of(self, value: ir.Value) -> Dimensions | None:
        """The dimensions of a value; None where not even their number is known."""
        return self._shapes.get(value)


_INFERENCE = ShapeInferencePass(check_type=False, strict_mode=False, data_prop=True)


def _values(model: ir.Model) -> Iterator[ir.Value]:
    """All values but initializers."""
    for graph in model.graphs():
        yield from graph.inputs
        for node in graph:
            yield from node.outputs


def _name_dimensions(model: ir.Model) -> set[str]:
    """Names the dimensions of the inputs that have no name; returns the names of all."""
    taken = {
        d.value
        for value in _values(model)
        for d in value.shape or ()
        if isinstance(d, ir.SymbolicDim)
    }
    names = set()
    for value in model.graph.inputs:
        if value.shape is None:
            continue
        dimensions = list(value.shape)
        for axis, d in enumerate(dimensions):
            if isinstance(d, int):
                continue
            name = d.value
            if name is None:
                name = f"{value.name}.shape[{axis}]"
                while name in taken:
                    name += "_"
            names.add(name)
            dimensions[axis] = ir.SymbolicDim(name)
        value.shape = ir.Shape(dimensions)
    return names


def _forget_other_names(model: ir.Model, names: set[str]) -> None:
    """Removes names that exporters invent for each tensor, which would hide what is inferred."""
    for value in _values(model):
        known = _dimensions(value.shape, names)
        value.shape = None if known is None else ir.Shape(known)


def _stand_in(model: ir.Model) -> dict[ir.Value, ir.Value]:
    """Replaces draws that ONNX does not know, ours and TensorFlow's, by values of their shapes."""
    stand_ins = {}
    for graph in list(model.graphs()):
        for node in list(graph):
            source = _source_of_shape(node)
            if source is None:
                continue
            given, samples = source
            (output, *_) = node.outputs
            if samples is not None:
                nodes = [ir.node("Multinomial", [given], {"sample_size": samples})]
            else:
                shape = ir.node("Cast", [given], {"to": ir.DataType.INT64.value})
                dtype = output.dtype or tensorflow.declared_type(node) or ir.DataType.FLOAT
                value = ir.tensor([0], dtype)
                nodes = [shape, ir.node("ConstantOfShape", shape.outputs, {"value": value})]
            for index, stand_in in enumerate(nodes):
                stand_in.outputs[0].name = f"onnx_philox.shape_{index}_of.{output.name}"
            node.append(nodes)
            stand_ins[output] = nodes[-1].outputs[0]
            output.replace_all_uses_with(stand_ins[output], replace_graph_outputs=True)
    return stand_ins


def _source_of_shape(node: ir.Node) -> tuple[ir.Value | None, int | None] | None:
    """What says the shape of a draw: the shape, or logits and how many samples of each row."""
    if node.domain == DOMAIN and node.op_type in OPERATORS:
        inputs = [declared.name for declared in OPERATORS[node.op_type].inputs]
        if "logits" in inputs:
            return node.inputs[inputs.index("logits")], node.attributes.get_int("sample_size", 1)
        return node.inputs[inputs.index("shape")], None
    if not tensorflow.is_known(node):
        return None
    samples = None
    if node.op_type.endswith("Multinomial"):
        array = None if len(node.inputs) < 2 or not node.inputs[1] else constant(node.inputs[1])
        samples = 1 if array is None or array.size != 1 else int(array.item())
    return (node.inputs[0], samples) if node.inputs else None


# A tensor of more numbers is no shape, and no axes.
_MOST_NUMBERS = 64


def _copy_constants_into(graph: ir.Graph) -> None:
    """Gives a subgraph its own copies of small constants from outside."""
    copies: dict[ir.Value, ir.Node] = {}
    for node in graph:
        for index, value in enumerate(node.inputs):
            if value is None or value.graph is graph:
                continue
            if value not in copies:
                array = constant(value)
                if array is None or array.size > _MOST_NUMBERS:
                    continue
                copy = ir.node("Constant", [], {"value": ir.tensor(array)})
                copy.outputs[0].name = f"onnx_philox.{len(copies)}_in.{graph.name}.{value.name}"
                copies[value] = copy
            node.replace_input_with(index, copies[value].outputs[0])
    if copies:
        graph[0].prepend(copies.values())


@dataclass(frozen=True)
class _Carried:
    """A value that a Loop carries from iteration to iteration."""

    initial: ir.Value
    given: ir.Value
    """What the body is given in each iteration."""
    returned: ir.Value
    """What it returns for the next one."""
    final: ir.Value


def _infer(model: ir.Model, names: set[str]) -> None:
    """Infers the shapes, those of what Loops carry by induction.

    It assumes first that no Loop changes a dimension. Then, as long as what goes into a Loop or
    what its body returns does not bear this out, it forgets that dimension and infers again.
    """
    loops = [carried for graph in model.graphs() for node in graph for carried in _carried(node)]
    declared = {value: value.shape for value in _values(model)}
    assumed: dict[ir.Value, Dimensions] = {}

    def infer() -> None:
        for value in _values(model):
            value.shape = declared[value]
        for carried in loops:
            if carried.given in assumed:
                for value in (carried.given, carried.final):
                    value.shape = _merged(assumed[carried.given], value.shape)
        _INFERENCE(model)

    def found(value: ir.Value) -> Dimensions | None:
        return _dimensions(value.shape, names)

    infer()
    # What goes into a Loop in a Loop is known only after the outer one's is assumed.
    for _ in loops:
        before, assumed = assumed, {c.given: d for c in loops if (d := found(c.initial))}
        if assumed == before:
            break
        infer()
    while assumed:
        kept = {
            c.given: _common(assumed[c.given], found(c.initial), found(c.returned))
            for c in loops
            if c.given in assumed
        }
        if kept == assumed:
            return
        assumed = kept
        infer()


def _common(assumed: Dimensions, *others: Dimensions | None) -> Dimensions:
    """The dimensions that all have."""
    for other in others:
        if other is None or len(other) != len(assumed):
            return (None,) * len(assumed)
        assumed = tuple(d if d == e else None for d, e in zip(assumed, other, strict=True))
    return assumed


def _carried(node: ir.Node) -> Iterator[_Carried]:
    if node.op_type != "Loop" or node.domain not in STANDARD_DOMAINS:
        return
    body = node.attributes["body"].as_graph()
    # The body is given the iteration and the condition first, and returns the condition first.
    parts = zip(node.inputs[2:], body.inputs[2:], body.outputs[1:], node.outputs, strict=False)
    for index, (initial, given, returned, final) in enumerate(list(parts), 1):
        if initial is not None:
            # ONNX tells no inferred shape of what a body returns, only of what is within it.
            copy = ir.node("Identity", [returned])
            copy.outputs[0].name = f"onnx_philox.copy_{index}_of.{returned.name}"
            body.append(copy)
            body.outputs[index] = copy.outputs[0]
            yield _Carried(initial, given, returned, final)


def _merged(assumed: Dimensions, declared: ir.Shape | None) -> ir.Shape:
    if declared is None or len(declared) != len(assumed):
        return ir.Shape(assumed)
    return ir.Shape(e if d is None else d for d, e in zip(assumed, declared, strict=True))


def _dimensions(shape: ir.Shape | None, names: set[str]) -> Dimensions | None:
    if shape is None:
        return None
    return tuple(d if isinstance(d, int) else d.value if d.value in names else None for d in shape)
