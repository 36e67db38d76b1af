"""What is left of a model without its random nodes: a runtime that loads it takes the rest.

A rewrite puts nodes of this package in place of the random ones, and keeps the others. So whether
all runtimes run a rewritten model depends on those others, and `trials` loads them in each runtime.
Large weights are not read: inputs stand in for them, as they do for most draws.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files.without_weights import LARGE
from onnx_philox._models.onnx_graphs import KEY_MAKERS, STANDARD_DOMAINS, is_wanted, opset_of
from onnx_philox._models.ours import of_model
from onnx_philox._rewriting.in_onnx.inferred_types import Types, clone_of
from onnx_philox._rewriting.in_onnx.random_nodes import tensorflow_random_nodes

# The first versions of ONNX that have ConstantOfShape, and a Cast whose type is a number.
_CONSTANT_OF_SHAPE = 9
_CAST_BY_NUMBER = 6
# Weights of more bytes are not made up as zeros.
_MOST_ZEROS = 2**22
_Shape = ir.ShapeProtocol | None
_LIKE_THEIR_INPUT = ("RandomUniformLike", "RandomNormalLike", "Bernoulli", "Dropout")

SURE = (
    "No Op registered for ",
    "No conversion rule found for ",
    "No opset import for ",
    "Could not find an implementation for ",
    "Unsupported model IR version: ",
    "is not a registered function/op",
    "is under development",
)
"""What the runtimes say of operators and versions, whatever stands in for the weights."""


@dataclass(frozen=True)
class Rest:
    """A model without its random nodes."""

    line: str
    """What a worker reads."""
    has_stand_ins: bool
    """Whether inputs stand in for weights or draws, which a node may want to be something else."""

    def stands_in_the_way(self, reason: str) -> bool:
        """Whether a runtime that says so would not load the model itself, either."""
        return not self.has_stand_ins or any(words in reason for words in SURE)


def build(
    model: ir.Model,
    nodes: Iterable[ir.Node],
    types: Types,
) -> Rest | None:
    """What is left of a model without these random nodes, and without those of this package.

    None where that cannot be said, since a type is not known.
    """
    cloned = clone_of(model)
    if cloned is None:
        return None
    clone, copies = cloned
    random = [*nodes, *of_model(model)]
    has_stand_ins = False
    for node in random:
        for output in node.outputs:
            copy = copies[output]
            if not is_wanted(copy):
                continue
            dtype = types(output)
            shape = types.shape(output)
            if dtype is None:
                return None
            version = opset_of(clone.opset_imports, "") or 1
            if _is_like_its_input(node) and version >= _CAST_BY_NUMBER:
                _cast(copy, dtype)
            elif shape is not None and shape.is_static() and version >= _CONSTANT_OF_SHAPE:
                _constant(copy, dtype, shape)
            elif (
                shape is None
                and tensorflow_random_nodes.is_shaped(node)
                and version >= _CONSTANT_OF_SHAPE
            ):
                # OpenVINO takes no input of unknown rank, and not every node of one.
                has_stand_ins = True
                _of_shape_input(copy, dtype)
            else:
                has_stand_ins = True
                _stand_in(clone, copy, dtype, shape)
    makers = [n for n in model.graph.all_nodes() if n.op_type in KEY_MAKERS]
    for node in (*random, *makers):
        if any(is_wanted(copies[output]) for output in node.outputs):
            continue
        drawer = copies[node.outputs[0]].producer()
        if drawer is not None and drawer.graph is not None:
            drawer.graph.remove(drawer, safe=True)
    has_stand_ins |= _without_weights(clone)
    if DOMAIN in clone.opset_imports:
        del clone.opset_imports[DOMAIN]
    text = base64.b64encode(ir.to_proto(clone).SerializeToString()).decode()
    line = json.dumps({"models": [text], "feeds": [], "count": 0, "loads": True})
    return Rest(line, has_stand_ins)


def _is_like_its_input(node: ir.Node) -> bool:
    """Whether the outputs have the shape of the first input, whatever that is."""
    is_known = node.domain in STANDARD_DOMAINS and node.op_type in _LIKE_THEIR_INPUT
    is_known |= tensorflow_random_nodes.is_shuffle(node)
    return is_known and bool(node.inputs) and node.inputs[0] is not None


def _cast(output: ir.Value, dtype: ir.DataType) -> None:
    """Puts a Cast of the node's first input in an output's place."""
    node = output.producer()
    assert node is not None
    assert node.graph is not None
    # The output of a graph keeps its own name.
    given = ir.Value(name=f"onnx_philox.{output.name}")
    to = ir.AttrInt64("to", int(dtype))
    cast = ir.Node("", "Cast", [node.inputs[0]], [to], name=given.name, outputs=[given])
    node.graph.insert_before(node, cast)
    _replace(output, given, dtype, output.shape)


def _constant(output: ir.Value, dtype: ir.DataType, shape: ir.Shape) -> None:
    """Puts a constant of a known shape in an output's place."""
    numbers = np.array([d for d in shape if isinstance(d, int)], np.int64)
    value = ir.AttrTensor("value", ir.tensor(numbers))
    _zeros(output, ir.Node("", "Constant", [], [value]), dtype, shape)


def _of_shape_input(output: ir.Value, dtype: ir.DataType) -> None:
    """Puts zeros of the shape that the node's first input says in an output's place."""
    node = output.producer()
    assert node is not None
    to = ir.AttrInt64("to", int(ir.DataType.INT64))
    of_shape = ir.Node("", "Cast", [node.inputs[0]], [to])
    _zeros(output, of_shape, dtype, None)


def _zeros(
    output: ir.Value,
    of_shape: ir.Node,
    dtype: ir.DataType,
    shape: ir.Shape | None,
) -> None:
    """Puts zeros, whose shape another node gives, in an output's place."""
    node = output.producer()
    assert node is not None
    assert node.graph is not None
    (says_shape,) = of_shape.outputs
    says_shape.name = f"onnx_philox.shape.{output.name}"
    given = ir.Value(name=f"onnx_philox.{output.name}")
    zero = ir.AttrTensor("value", ir.tensor(np.zeros(1, dtype.numpy())))
    made = ir.Node("", "ConstantOfShape", [says_shape], [zero], outputs=[given])
    node.graph.insert_before(node, [of_shape, made])
    _replace(output, given, dtype, shape)


def _stand_in(
    model: ir.Model,
    value: ir.Value,
    dtype: ir.DataType,
    shape: _Shape,
) -> None:
    """Puts an input of the model in a value's place, which every subgraph sees."""
    number = len(model.graph.inputs)
    given = ir.Value(name=f"onnx_philox.{value.name}.{number}")
    model.graph.inputs.append(given)
    node = value.producer()
    if node is not None and node.graph is not model.graph and value.is_graph_output():
        # No value is an input of one graph and an output of another.
        copied = ir.Value(name=f"{given.name}.copied")
        assert node.graph is not None
        node.graph.insert_before(node, ir.Node("", "Identity", [given], outputs=[copied]))
        _replace(value, copied, dtype, shape)
    _replace(value, given, dtype, shape)


def _replace(
    value: ir.Value,
    by: ir.Value,
    dtype: ir.DataType,
    shape: _Shape,
) -> None:
    by.type = ir.TensorType(dtype)
    by.shape = None
    if shape is not None:
        by.shape = ir.Shape(_dimensions(shape))
    ir.convenience.replace_all_uses_with(value, by, replace_graph_outputs=True)


def _dimensions(shape: ir.ShapeProtocol) -> list[int | str | None]:
    found = []
    for dimension in shape:
        found.append(dimension if isinstance(dimension, int) else dimension.value)
    return found


def _without_weights(model: ir.Model) -> bool:
    """Puts inputs in the place of weights that are large or in other files; whether it did."""
    found = False
    for graph in list(model.graphs()):
        for value in list(graph.initializers.values()):
            tensor = value.const_value
            if tensor is None or not isinstance(tensor, ir.ExternalTensor):
                continue
            found = True
            is_inside = any(node.graph is not model.graph for node, _ in value.uses())
            if is_inside and tensor.nbytes <= _MOST_ZEROS:
                # OpenVINO takes a weight from outside of a Scan, and no input.
                zeros = np.zeros(tensor.shape.numpy(), tensor.dtype.numpy())
                value.const_value = ir.tensor(zeros)
                continue
            _stand_in(model, value, tensor.dtype, tensor.shape)
            graph.initializers.pop(value.name or "")
            if value.is_graph_input():
                graph.inputs.remove(value)
        for node in list(graph):
            large = [a for a in node.attributes.values() if _is_large(a)]
            if not large:
                continue
            found = True
            of_node = large[0].as_tensor()
            _stand_in(model, node.outputs[0], of_node.dtype, of_node.shape)
            graph.remove(node, safe=True)
    return found


def _is_large(attribute: ir.Attr) -> bool:
    if attribute.is_ref() or attribute.type is not ir.AttributeType.TENSOR:
        return False
    tensor = attribute.as_tensor()
    return isinstance(tensor, ir.ExternalTensor) or tensor.nbytes > LARGE
