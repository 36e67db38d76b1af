"""The shape of what a random node of OpenVINO draws, in OpenVINO's own symbols."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.openvino_graphs import is_ours


def shape_of_drawn(node: ov.Node) -> ov.PartialShape:
    """The shape of what a random node draws, with symbols, which our own nodes do not carry on."""
    if node.get_type_name() == "Multinomial":
        return node.input_value(0).get_partial_shape()
    if not is_ours(node):
        return node.output(0).get_partial_shape()
    like = opset8.broadcast(np.int32(0), _sizes(node))
    return like.output(0).get_partial_shape()


def _sizes(node: ov.Node) -> ov.Node | ov.Output:
    """The dimensions of what a node of this package draws."""
    operator = OPERATORS[node.get_type_name()]
    given = node.input_value(0)
    if operator.has_shape:
        return given
    sizes = opset8.shape_of(given)
    if operator.size_input.role is Role.DATA:
        return sizes
    rows = opset8.gather(sizes, np.array([0]), np.int64(0))
    samples = node.output(0).get_partial_shape()[1].get_length()
    return opset8.concat([rows, np.array([samples])], 0)
