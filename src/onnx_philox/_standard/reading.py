"""Reads the draws of a model that are to become other nodes."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox._contract import alignment, checks
from onnx_philox._contract.known_input import Known, sizes_of
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._models import ours
from onnx_philox._models.constants import constant
from onnx_philox._models.inlining import inline
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, onnx_opset_of
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._standard.builder import OPSET
from onnx_philox._standard.raising import is_changed, raise_opset
from onnx_philox._standard.targets import DrawnNode, Target


def draws(
    model: ir.Model,
    target: Target,
    owner: str,
    *,
    is_inexact_allowed: bool = False,
) -> dict[ir.Node, DrawnNode]:
    """The nodes of ours, in order, each checked by all that is known of it.

    Inlines the functions that they are in, and raises the opset to the oldest that will do.

    Raises:
        TypeError: An input of a node is of a wrong type.
        ValueError: A node breaks its rules, the target does not draw it exactly, or the opset
            cannot be raised.

    Warns:
        UserWarning: Nodes were rewritten to raise the opset.
    """
    opsets = [model.opset_imports]
    opsets += [function.opset_imports for function in model.functions.values()]
    for imports in opsets:
        version = imports.get(DOMAIN, 1)
        checks.check_opset(version, owner)
    for identifier in list(model.functions):
        if identifier[0] != DOMAIN:
            continue
        del model.functions[identifier]
    _inline(model, target, owner)
    found = list(ours.of_model(model))
    if not found:
        return {}
    raise_opset(model, owner)
    types = Types(model)
    draws = {}
    for node in found:
        draws[node] = _read(node, types, target, is_allowed=is_inexact_allowed)
    return draws


def _inline(model: ir.Model, target: Target, owner: str) -> None:
    """Inlines functions with nodes of ours or of an older opset; all, where a target reads none."""
    is_raised = onnx_opset_of(model.opset_imports) < OPSET

    def has_such(function: ir.Function) -> bool:
        opset = onnx_opset_of(function.opset_imports)
        for node in function.all_nodes():
            if node.domain == DOMAIN:
                return True
            if is_raised and is_changed(node, opset):
                return True
        return False

    holding = {
        identifier
        for identifier, function in model.functions.items()
        if not target.has_functions or has_such(function)
    }
    inline(model, holding, owner, "functions")


def _read(
    node: ir.Node,
    types: Types,
    target: Target,
    *,
    is_allowed: bool,
) -> DrawnNode:
    """A node of ours, checked by all that is known of it."""
    inputs = ours.inputs_of(node)
    shape = inputs.get("shape")
    data = inputs.get("data")
    dimensions = None
    if shape is not None:
        dimensions = _dimensions(shape, types)
    if data is not None:
        dimensions = types.dimensions(data)

    def known_of(name: str, value: ir.Value) -> Known:
        array = constant(value)
        if array is None and name == "shape" and dimensions is not None:
            is_known = all(isinstance(d, int) for d in dimensions)
            if is_known:
                array = np.array(dimensions, np.int64)
        type_ = types(value)
        shape = types.shape(value)
        return ours.known(array, type_, shape)

    try:
        checked = ours.checked_node(node, known_of)
        op = checked.operator
        attributes = checked.attributes
        alignment.refuse_without_nodes(op, attributes)
        attributes = op.written(attributes)
        type_ = checks.output_type(op, attributes, checked.known)
        state = checked.inputs.get("state")
        draw = DrawnNode(
            op,
            checked.inputs,
            checked.known,
            attributes,
            type_,
            None if dimensions is None else sizes_of(dimensions),
            _is_by_row(state, dimensions, types),
        )
        target.check(draw, is_inexact_allowed=is_allowed)
    except RefusalError as error:
        if not node.name:
            raise
        place = f"node {node.name!r}"
        raise error.within(place) from error
    return draw


Dimensions = tuple[int | str | None, ...]
"""The dimensions of a shape: numbers, names of what only a run shows, or nothing."""


def _dimensions(value: ir.Value, types: Types) -> Dimensions | None:
    """What an input `shape` holds, as far as it is known: it may be computed of other shapes."""
    array = constant(value)
    if array is not None:
        return tuple(array.ravel().tolist())
    given = types.shape(value)
    if given is not None and given.dims == (0,):
        # An empty shape means a scalar, whatever a run shows.
        return ()
    node = value.producer()
    if node is None or node.domain not in STANDARD_DOMAINS:
        return None
    if node.op_type == "Concat":
        return _joined(node, types)
    first = node.inputs[0] if node.inputs else None
    if first is None:
        return None
    if node.op_type in ("Cast", "Identity"):
        return _dimensions(first, types)
    if node.op_type != "Shape":
        return None
    dimensions = types.dimensions(first)
    if dimensions is None:
        return None
    start = node.attributes.get_int("start", 0)
    end = node.attributes.get_int("end", None)
    return dimensions[start:end]


def _joined(node: ir.Node, types: Types) -> Dimensions | None:
    """What a Concat of shapes holds, if all of them are known."""
    joined: Dimensions = ()
    for value in node.inputs:
        part = _dimensions(value, types) if value is not None else None
        if part is None:
            return None
        joined += part
    return joined


def _is_by_row(state: ir.Value | None, dimensions: Dimensions | None, types: Types) -> bool:
    """Whether there are as many states as rows, by the name of that number."""
    if state is None or not dimensions:
        return False
    states = types.dimensions(state)
    if states is None or len(states) != 2:
        return False
    rows = states[0]
    return isinstance(rows, str) and rows == dimensions[0]
