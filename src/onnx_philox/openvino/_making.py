"""What the factories of nodes have in common."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import openvino as ov
from openvino.utils.node_factory import NodeFactory

from onnx_philox import _runtime_errors
from onnx_philox._contract import checks
from onnx_philox._contract.operators import Input, Operator, Role
from onnx_philox._contract.refusal import RefusedInputError
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers import call
from onnx_philox._openvino_models import arrays
from onnx_philox.openvino import _native_openvino
from onnx_philox.openvino._narrowing import types_of, with_wide_shape
from onnx_philox.openvino._openvino_ops import OPS


def make(op: Operator, arguments: Mapping[str, Any]) -> ov.Node:
    """A node of the native extension if it can be used, otherwise of the Python one.

    The arguments are the inputs by name (nodes, outputs, arrays or numbers; None for one left out),
    the attributes, and the `name` of the node.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    given, attributes = op.parted(arguments)
    complete = checks.check_attributes(op, attributes)
    values = checks.output_type(op, complete, {})
    # The state comes last where it may be left out.
    present = []
    for declared in op.inputs:
        is_needed = declared.role is not Role.STATE
        if is_needed or given[declared.name] is not None:
            present.append(declared)
    inputs = [_input(op, declared, given[declared.name], values) for declared in present]
    inputs = with_wide_shape(op, inputs)
    if _native_openvino.unavailable() is None:
        try:
            node = _native_factory().create(op.name, inputs, complete)
        except RuntimeError as error:
            raise RefusedInputError(_runtime_errors.refusal_in_openvino(error)) from error
    else:
        node = OPS[op.name](inputs, **complete)
    if arguments["name"] is not None:
        node.set_friendly_name(arguments["name"])
    return node


def _input(
    op: Operator,
    declared: Input,
    given: Any,
    values: ElementType,
) -> ov.Output:
    if isinstance(given, ov.Node):
        return given.output(0)
    if isinstance(given, ov.Output):
        return given
    array = call.array_of(op, declared, given, values)
    if array is None:
        # One that is left out before others.
        array = np.empty(0, types_of(declared, values)[0].dtype)
    return arrays.constant(array).output(0)


@cache
def _native_factory() -> NodeFactory:
    factory = NodeFactory()
    factory.add_extension(_native_openvino.library_path())
    return factory
