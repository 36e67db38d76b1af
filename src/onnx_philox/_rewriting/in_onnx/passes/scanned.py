"""Keeps a Scan that draws at its iterations, and its outputs' ranks known.

OpenVINO removes from a Scan what it scans where no value of that is read, and then runs the body
once. A draw needs no value: so such a Scan gets zeros to scan, which are added to the state.

ONNX Runtime runs no Scan whose body gives what has no rank when it is loaded. It infers none of
most nodes of ours, so that it plans no memory by them: where a model has a Scan, draws declare it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx_ir as ir

from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import Owner, is_wanted, subgraphs, walk
from onnx_philox._rewriting.in_onnx.inferred_types import Types

_ZERO = "onnx_philox.zero"
_INT64 = ir.DataType.INT64


# What reads no more of its input than the shape.
_SHAPE_ONLY = ("Shape", "Size", "RandomUniformLike", "RandomNormalLike", "EyeLike")


def declare_ranks(model: ir.Model, drawn: Iterable[ir.Value]) -> None:
    """Declares how many dimensions draws have, if there is a Scan, and the model shows it."""
    has_scan = any(node.op_type == "Scan" for node, _ in walk(model.graph))
    if not has_scan:
        return
    types = Types(model)
    for value in drawn:
        shape = types.shape(value)
        if value.shape is None and shape is not None:
            value.shape = ir.Shape([None] * len(shape))


def kept_scanning(
    owner: Owner,
    state: ir.Value,
    states: int,
    emitter: Emitter,
) -> ir.Value:
    """The next state that a body gives, plus the zeros that it scans if it scans nothing else.

    Args:
        owner: The Scan, to which our states have been added but as outputs.
        state: The next state, inside of the body.
        states: How many states it carries.
        emitter: What makes the nodes.
    """
    node = owner.node
    body = owner.graph
    if _ZERO not in node.meta:
        if _reads_rows(node, body, states):
            node.meta[_ZERO] = None
        else:
            inner = emitter.again()
            node.meta[_ZERO] = _scan_zeros(node, body, states, inner)
    zero = node.meta[_ZERO]
    if zero is None:
        return state
    inner = emitter.again()
    total = inner.emit("Add", "scanned", [state, zero], _INT64, state.shape)
    body.extend(inner.nodes)
    return total


def _scan_zeros(
    node: ir.Node,
    body: ir.Graph,
    states: int,
    emitter: Emitter,
) -> ir.Value | None:
    """Adds zeros, as many as iterations, to what a Scan scans; a zero, as its body sees it."""
    axes = node.attributes.get_ints("scan_input_axes", [0])
    axis = axes[0]
    rows = node.inputs[states]
    assert rows is not None, "no input of a Scan is optional"
    if axis < 0:
        if rows.shape is None:
            return None
        axis += rows.shape.rank()
    index = emitter.constant("axis", np.array([axis], np.int64))
    shape = emitter.shape(rows)
    count = emitter.emit("Gather", "iterations", [shape, index], _INT64, [1])
    none = ir.tensor(np.zeros(1, np.int64))
    zeros = emitter.emit("ConstantOfShape", "zeros", [count], _INT64, None, {"value": none})
    node.prepend(emitter.nodes)
    place = len(node.inputs)
    node.resize_inputs(place + 1)
    node.replace_input_with(place, zeros)
    scanned = node.attributes["num_scan_inputs"].as_int() + 1
    node.attributes["num_scan_inputs"] = ir.AttrInt64("num_scan_inputs", scanned)
    for name in ("scan_input_axes", "scan_input_directions"):
        given = node.attributes.get(name)
        if given is not None:
            numbers = [*given.as_ints(), 0]
            node.attributes[name] = ir.AttrInt64s(name, numbers)
    zero = emitter.declare(ir.Value(), "zero", _INT64, [])
    body.inputs.append(zero)
    return zero


def _reads_rows(node: ir.Node, body: ir.Graph, states: int) -> bool:
    """Whether something that is read depends on a value of what is scanned."""
    # The last state is ours, which the body does not give yet.
    states_before = body.inputs[: states - 1]
    carried = list(zip(states_before, body.outputs, strict=False))
    scanned = set(body.inputs[states:])
    left = [
        inner for inner, outer in zip(body.outputs, node.outputs, strict=True) if is_wanted(outer)
    ]
    seen: set[ir.Value] = set()
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in scanned:
            return True
        left.extend(after for before, after in carried if before is value)
        producer = value.producer()
        if producer is not None and producer.op_type not in _SHAPE_ONLY:
            left.extend(_read_by(producer))
    return False


def _read_by(node: ir.Node) -> list[ir.Value]:
    """What a node reads, in its subgraphs too."""
    read = [value for value in node.inputs if value is not None]
    for _, graph in subgraphs(node):
        read.extend(graph.outputs)
        for each in graph:
            if each.op_type not in _SHAPE_ONLY:
                read.extend(_read_by(each))
    return read
