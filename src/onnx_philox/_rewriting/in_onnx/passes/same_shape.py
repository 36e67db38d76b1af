"""Which values surely have the shape of one before them, whatever the model declares.

So many draws of one shape read one Shape node. It stays a node: a model may get another batch.
"""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import DOMAIN, OPERATORS
from onnx_philox._models.constants import tensor_in
from onnx_philox._models.opsets import STANDARD_DOMAINS

# The operators whose first output has the shape of their first input.
_LIKE_THEIR_INPUT = {
    *("Abs", "Bernoulli", "Cast", "Ceil", "Clip", "Cos", "Dropout", "Elu", "Erf", "Exp", "Floor"),
    *("Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "LogSoftmax", "Mish"),
    *("Neg", "Not", "RandomNormalLike", "RandomUniformLike", "Reciprocal", "Relu", "Round", "Selu"),
    *("Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Sqrt", "Tanh"),
}
# Those of two inputs, one of which is broadcast to the other.
_BROADCAST = {"Add", "Div", "Mul", "Pow", "Sub"}
# How far back one search goes. A longer way only ends earlier: what is found there has the shape.
_MOST_STEPS = 50


class SameShape:
    """For each value, the first one before it that surely has its shape."""

    def __init__(self) -> None:
        self._found: dict[ir.Value, ir.Value] = {}

    def source(self, value: ir.Value, steps: int = _MOST_STEPS) -> ir.Value:
        """That value; the value itself where there is none."""
        if value not in self._found:
            before = self._before(value, steps - 1) if steps else None
            # A subgraph may have another value of an outer one's name.
            if before is None or before.graph is not value.graph:
                before = value
            self._found[value] = before
        return self._found[value]

    def _before(self, value: ir.Value, steps: int) -> ir.Value | None:
        node = value.producer()
        if node is None or value is not node.outputs[0]:
            return None
        given = node.inputs[0] if node.inputs else None
        if node.domain == DOMAIN:
            given = _sized_by(node)
        elif node.domain not in STANDARD_DOMAINS:
            return None
        elif node.op_type in _BROADCAST:
            return self._of_both(node, steps)
        elif node.op_type not in _LIKE_THEIR_INPUT:
            return None
        return None if given is None else self.source(given, steps)

    def _of_both(self, node: ir.Node, steps: int) -> ir.Value | None:
        """The one source of all inputs but constants of rank 0."""
        inputs = [value for value in node.inputs if value is not None and not _is_scalar(value)]
        sources = {self.source(value, steps) for value in inputs}
        return sources.pop() if len(sources) == 1 else None


def _sized_by(node: ir.Node) -> ir.Value | None:
    """The tensor of which a node of this package draws the shape; None where it is not known."""
    operator = OPERATORS.get(node.op_type)
    if operator is None:
        return None
    size = node.inputs[operator.inputs.index(operator.size_input)]
    if not operator.has_shape:
        return size if operator.size_input.role is Role.DATA else None
    shape = None if size is None else size.producer()
    if shape is None or shape.op_type != "Shape" or shape.domain not in STANDARD_DOMAINS:
        return None
    return None if shape.attributes else shape.inputs[0]


def _is_scalar(value: ir.Value) -> bool:
    """Whether a value is a constant of rank 0; the constant itself is not read."""
    if value.is_graph_input():
        return False
    tensor, node = value.const_value, value.producer()
    if tensor is None and node is not None and node.op_type == "Constant":
        if not node.attributes.keys().isdisjoint(("value_float", "value_int")):
            return node.domain in STANDARD_DOMAINS
        given = node.attributes.get("value")
        tensor = None if given is None or given.is_ref() else tensor_in(given)
    return tensor is not None and len(tensor.shape) == 0
