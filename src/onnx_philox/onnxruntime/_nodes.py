"""Finds the nodes of the domain in all graphs of a model, and checks them at load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.checks import Known
from onnx_philox._contract.operators import DOMAIN, MAX_RANK, OPERATORS, Operator
from onnx_philox._contract.types import BY_ONNX, ElementType
from onnx_philox.onnxruntime._surgery import Opened


@dataclass(frozen=True)
class CheckedNode:
    """A node that breaks no rule, as far as is known before a run."""

    operator: Operator
    inputs: dict[str, ir.Value | None]
    known: dict[str, Known | None]
    attributes: dict[str, Any]
    """Defaults filled in."""

    def types(self) -> dict[str, ElementType | None]:
        """The types of the inputs; None for an input that is absent or of unknown type."""
        given = {name: known.type for name, known in self.known.items() if known is not None}
        # The check has passed, so a known type is one of ours.
        return {i.name: cast("ElementType | None", given.get(i.name)) for i in self.operator.inputs}

    def dimensions(self) -> list[int] | None:
        """The first output's dimensions; None if they are not known yet."""
        dimensions = checks.output_dimensions(self.operator, self.known, self.attributes)
        if dimensions is None or None in dimensions:
            return None
        return [cast("int", d) for d in dimensions]


def of_domain(model: ir.Model) -> list[ir.Node]:
    """The nodes of the domain, also those in branches and loops."""
    nodes = ir.traversal.RecursiveGraphIterator(model.graph)
    return [node for node in nodes if node.domain == DOMAIN]


def check(node: ir.Node, opened: Opened) -> CheckedNode:
    """Checks a node with all that the model says about it.

    Args:
        node: The node.
        opened: Its model.

    Raises:
        TypeError: An input or attribute of a wrong type.
        ValueError: An unknown operator, or a wrong value, shape or number of anything.
    """
    op = operator_of(node)
    checks.check_counts(op, len(node.inputs), len(node.outputs))
    inputs = named_inputs(op, node)
    known = {name: _known(value, opened) for name, value in inputs.items()}
    return CheckedNode(op, inputs, known, checks.check_node(op, known, _attributes(node)))


def drop_empty_end(node: ir.Node) -> bool:
    """Removes a node's absent inputs at the end; returns whether there were any."""
    count = len(node.inputs)
    while count and node.inputs[count - 1] is None:
        count -= 1
    is_changed = count < len(node.inputs)
    node.resize_inputs(count)
    return is_changed


def declare_output_types(node: ir.Node) -> None:
    """Sets the types of a node's outputs if the model does not declare them.

    Raises:
        TypeError: An attribute of a wrong type.
        ValueError: An unknown operator, or a wrong attribute.
    """
    op = operator_of(node)
    attributes = checks.check_attributes(op, _attributes(node))
    for output, declared in zip(node.outputs, op.outputs, strict=False):
        if output.dtype is None:
            element_type = declared.type or checks.output_type(op, attributes)
            output.dtype = ir.DataType(element_type.onnx)


def operator_of(node: ir.Node) -> Operator:
    op = OPERATORS.get(node.op_type)
    if op is None:
        known = ", ".join(OPERATORS)
        remedy = "Upgrade onnx-philox if a newer version made the model."
        checks.refuse(f"{DOMAIN}::{node.op_type}", "the operator", "unknown", known, remedy)
    return op


def named_inputs(op: Operator, node: ir.Node) -> dict[str, ir.Value | None]:
    values = (*node.inputs, *[None] * len(op.inputs))
    return {i.name: value for i, value in zip(op.inputs, values, strict=False)}


def _attributes(node: ir.Node) -> dict[str, Any]:
    return {name: attribute.value for name, attribute in node.attributes.items()}


def _known(value: ir.Value | None, opened: Opened) -> Known | None:
    if value is None:
        return None
    # The default of a graph input is not a constant: a run may override it.
    tensor = None if value.is_graph_input() else ir.convenience.get_const_tensor(value)
    # More dimensions are refused whatever their values, and NumPy cannot hold many more.
    if tensor is not None and len(tensor.shape) <= MAX_RANK:
        return Known.array(opened.array(tensor))
    shape = None
    if value.shape is not None:
        shape = tuple(d if isinstance(d, int) else None for d in value.shape)
    if value.dtype is None:
        return Known(None, shape)
    return Known(BY_ONNX.get(value.dtype.value) or np.dtype(value.dtype.numpy()), shape)
