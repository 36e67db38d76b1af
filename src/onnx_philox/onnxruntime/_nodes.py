"""The nodes of the domain in a model: found in all its graphs, and checked when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from onnx_philox import _checks
from onnx_philox._checks import Known
from onnx_philox._element_types import BY_ONNX
from onnx_philox._operators import DOMAIN, OPERATORS, Operator


@dataclass(frozen=True)
class CheckedNode:
    """A node that breaks no rule, as far as can be known before a run."""

    operator: Operator
    inputs: dict[str, ir.Value | None]
    known: dict[str, Known | None]
    attributes: dict[str, Any]
    """Defaults filled in."""


def of_domain(model: ir.Model) -> list[ir.Node]:
    """The nodes of the domain, those in branches and loops too."""
    nodes = ir.traversal.RecursiveGraphIterator(model.graph)
    return [node for node in nodes if node.domain == DOMAIN]


def check(node: ir.Node) -> CheckedNode:
    """Checks a node with all that the model says of it.

    Raises:
        TypeError: An input or attribute of a wrong type.
        ValueError: An unknown operator, or a wrong value, shape or number of anything.
    """
    op = operator_of(node)
    _checks.check_counts(op, len(node.inputs), len(node.outputs))
    given = {name: attribute.value for name, attribute in node.attributes.items()}
    inputs = named_inputs(op, node)
    known = {name: _known(value) for name, value in inputs.items()}
    return CheckedNode(op, inputs, known, _checks.check_node(op, known, given))


def operator_of(node: ir.Node) -> Operator:
    op = OPERATORS.get(node.op_type)
    if op is None:
        known = ", ".join(OPERATORS)
        remedy = "Upgrade onnx-philox if a newer version made the model."
        _checks.refuse(f"{DOMAIN}::{node.op_type}", "the operator", "unknown", known, remedy)
    return op


def named_inputs(op: Operator, node: ir.Node) -> dict[str, ir.Value | None]:
    values = (*node.inputs, *[None] * len(op.inputs))
    return {i.name: value for i, value in zip(op.inputs, values, strict=False)}


def _known(value: ir.Value | None) -> Known | None:
    if value is None:
        return None
    # The default of a graph input is no constant: a run may override it.
    tensor = None if value.is_graph_input() else ir.convenience.get_const_tensor(value)
    if tensor is not None:
        return Known.array(tensor.numpy())
    shape = None
    if value.shape is not None:
        shape = tuple(d if isinstance(d, int) else None for d in value.shape)
    if value.dtype is None:
        return Known(None, shape)
    return Known(BY_ONNX.get(value.dtype.value) or np.dtype(value.dtype.numpy()), shape)
