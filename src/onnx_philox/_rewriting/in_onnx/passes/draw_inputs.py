"""The pass that turns inputs into draws, before the random nodes are found.

An input becomes a node of this package that waits for a state, at the beginning of the graph. All
that follows treats it as any other random node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.known_input import sizes_of
from onnx_philox._contract.operators import DOMAIN, OPERATORS, OPSET_VERSION, OUTPUT_TYPE
from onnx_philox._contract.streams import AWAITS_STATE, KNOWS_STRIDES
from onnx_philox._contract.types import BOOL
from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import OLDEST_OPSET, Emitter, Names
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.drawn_inputs import (
    ASKED_SHAPES,
    DrawnInput,
    refuse_unknown,
    with_asked_shape,
)
from onnx_philox._rewriting.not_rows import AskedShape

IS_DRAWN_INPUT = "onnx_philox.drawn_input"
"""The key of a node's `meta` that says: it was an input."""


def draw_inputs(model: ir.Model, drawn: Sequence[DrawnInput]) -> None:
    """Turns inputs of a model into draws, in place.

    Raises:
        TypeError: A law does not draw the type of its input.
        ValueError: There is no such input; it cannot be drawn; or its shape is not known.
    """
    if not drawn:
        return
    graph = model.graph
    onnx_graphs.import_onnx(model)
    opset = onnx_graphs.onnx_opset_for(model)
    if opset < OLDEST_OPSET:
        remedy = "Export the model again at a newer opset."
        checks.refuse(
            OWNER,
            "the model's opset",
            opset,
            f"{OLDEST_OPSET} or newer",
            remedy,
        )
    names = Names(model)
    by_name = {value.name or "": value for value in graph.inputs}
    inputs = [_input(each, by_name) for each in drawn]
    others = []
    for value in graph.inputs:
        if value not in inputs and not _has_default(value):
            others.append(value)
    nodes: list[ir.Node] = []
    for each, value in zip(drawn, inputs, strict=True):
        emitter = Emitter(names, opset, f"{each.name}.")
        shape = _shape(each, value, others, emitter, model)
        new = _draw(each, value, shape, emitter)
        graph.inputs.remove(value)
        onnx_graphs.take_over(new, value)
        nodes += emitter.nodes
    for node in reversed(nodes):
        graph.insert_before(graph[0], node)
    model.opset_imports.setdefault(DOMAIN, OPSET_VERSION)


def is_drawn_input(node: ir.Node) -> bool:
    """Whether a node draws what was an input."""
    return IS_DRAWN_INPUT in node.meta


def asked_shape(node: ir.Node) -> AskedShape | None:
    """The input that says the shape of a drawn input; None where something else does."""
    if not is_drawn_input(node):
        return None
    operator = OPERATORS[node.op_type]
    shape = node.inputs[operator.inputs.index(operator.size_input)]
    if shape is None or not shape.is_graph_input():
        return None
    remedy = "give the batch one name in both (dynamic_axes of torch.onnx.export)"
    return AskedShape(shape.name or "", remedy)


def _has_default(value: ir.Value) -> bool:
    return value.is_initializer()


def _input(drawn: DrawnInput, by_name: dict[str, ir.Value]) -> ir.Value:
    """The input of a model that is to be drawn."""
    value = by_name.get(drawn.name)
    if value is None:
        refuse_unknown(drawn, list(by_name))
    if _has_default(value):
        drawn.refuse("of an input without a value of its own", "Remove its initializer.")
    readers = [node for node, _ in value.uses()]
    is_read = value.is_graph_output()
    is_read = is_read or any(node.graph is value.graph for node in readers)
    if not is_read:
        drawn.refuse_unread("an If, Loop or Scan", is_inside=bool(readers))
    return value


def _draw(
    drawn: DrawnInput,
    value: ir.Value,
    shape: ir.Value,
    emitter: Emitter,
) -> ir.Value:
    """The draw in the place of an input."""
    values = drawn.values(_numpy_type(value), _type_name(value))
    parameters = drawn.parameters(values)
    operator = drawn.law.operator
    given = {name: emitter.constant(name, array) for name, array in parameters.items()}
    given[operator.size_input.name] = shape
    # Only RandomGenerator has its state, which is still to come, before the shape.
    inputs = [given.get(each.name) for each in operator.inputs]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {}
    if any(attribute.name == OUTPUT_TYPE for attribute in operator.attributes):
        attributes[OUTPUT_TYPE] = values.name
    dtype = ir.DataType(values.onnx)
    new = emitter.emit(operator.name, "drawn", inputs, dtype, value.shape, attributes, DOMAIN)
    node = emitter.nodes[-1]
    node.name = drawn.name
    node.meta[IS_DRAWN_INPUT] = True
    # A tensor of its own lies in memory in the order of its elements.
    node.metadata_props[AWAITS_STATE] = KNOWS_STRIDES
    if values is BOOL and value.dtype not in (None, ir.DataType.BOOL):
        new = emitter.cast("cast", new, value.dtype)
    return new


def _numpy_type(value: ir.Value) -> np.dtype[Any] | None:
    """The type of a tensor's elements; None where it is not known, and of what is no tensor."""
    if not isinstance(value.type, ir.TensorType) or value.dtype in (None, ir.DataType.UNDEFINED):
        return None
    return value.type.dtype.numpy()


def _type_name(value: ir.Value) -> str:
    known = _numpy_type(value)
    if known is not None:
        return str(known)
    is_tensor = isinstance(value.type, ir.TensorType)
    return "no known type" if value.type is None or is_tensor else str(value.type)


def _shape(
    drawn: DrawnInput,
    value: ir.Value,
    others: Sequence[ir.Value],
    emitter: Emitter,
    model: ir.Model,
) -> ir.Value:
    """The shape of a draw, int64.

    1. What the user wrote.
    2. The dimensions of the input, if all are constants, or names that another input has.
    3. Else a new input says it.
    """
    declared = None
    sizes = None
    if value.shape is not None:
        declared = list(value.shape)
        sizes = sizes_of(declared)
    drawn.check_shape(sizes)
    if drawn.shape is not None:
        value.shape = ir.Shape(drawn.shape)
        known_shape = np.array(drawn.shape, np.int64)
        return emitter.constant("shape", known_shape)
    drawn.check_rank(None if declared is None else len(declared))
    assert declared is not None
    assert sizes is not None
    if all(isinstance(d, int) for d in declared):
        known_shape = np.array(declared, np.int64)
        return emitter.constant("shape", known_shape)
    known = _dimensions_of(others)
    has_known_sizes = all(isinstance(d, int) or d.value in known for d in declared)
    if not has_known_sizes:
        return _asked_shape(drawn, sizes, model)
    for other in others:
        if other.shape == value.shape:
            return emitter.shape(other)
    each_size = [
        emitter.constant("size", np.array([d], np.int64))
        if isinstance(d, int)
        else _size(emitter, *known[d.value])
        for d in declared
    ]
    of = [len(declared)]
    return emitter.emit("Concat", "shape", each_size, ir.DataType.INT64, of, {"axis": 0})


def _dimensions_of(inputs: Sequence[ir.Value]) -> dict[str | None, tuple[ir.Value, int]]:
    """The first input that has a dimension of each name, and which of its dimensions."""
    found: dict[str | None, tuple[ir.Value, int]] = {}
    for value in inputs:
        for axis, size in enumerate(value.shape or ()):
            if isinstance(size, ir.SymbolicDim) and size.value is not None:
                found.setdefault(size.value, (value, axis))
    return found


def _size(emitter: Emitter, other: ir.Value, axis: int) -> ir.Value:
    """The size of one dimension of an input, as a tensor of one element."""
    shape = emitter.shape(other)
    index = emitter.constant("axis", np.array([axis], np.int64))
    return emitter.emit("Gather", "size", [shape, index], ir.DataType.INT64, [1], {"axis": 0})


def _asked_shape(
    drawn: DrawnInput,
    sizes: Sequence[int | None],
    model: ir.Model,
) -> ir.Value:
    """A new input that says the shape, of which these sizes are known."""
    taken = {value.name for value in onnx_graphs.values(model.graph)}
    name = drawn.name_of_shape(taken)
    type_ = ir.TensorType(ir.DataType.INT64)
    shape = ir.Value(name=name, type=type_, shape=ir.Shape([len(sizes)]))
    model.graph.inputs.append(shape)
    before = model.metadata_props.get(ASKED_SHAPES)
    model.metadata_props[ASKED_SHAPES] = with_asked_shape(before, name, sizes)
    return shape
