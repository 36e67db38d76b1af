"""What in a model says that a random node may not draw what was meant: see `doubts`."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._models.constants import constant, is_all
from onnx_philox._models.onnx_graphs import MOVES, STANDARD_DOMAINS, source
from onnx_philox._rewriting import doubts
from onnx_philox._rewriting.comparisons import GIVES_PROBABILITIES
from onnx_philox._rewriting.doubts import Doubt
from onnx_philox._rewriting.in_onnx.inferred_types import Types

_DRAWS_FLOATS = ("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
_BROADCASTS = ("Add", "Div", "Mul", "Sub")


def doubt_of(node: ir.Node, types: Types) -> Doubt | None:
    """What is doubtful in a node of ONNX; None where nothing is."""
    if node.domain not in STANDARD_DOMAINS or not node.outputs:
        return None
    if node.op_type == "Multinomial" and node.inputs and _are_probabilities(node.inputs[0]):
        return doubts.PROBABILITIES
    if node.op_type in _DRAWS_FLOATS and _is_broadcast(node, types):
        return doubts.ONE_NUMBER
    return None


def _are_probabilities(value: ir.Value | None) -> bool:
    """Whether the numbers of a value are probabilities of classes, as far as the model shows."""
    if value is None:
        return False
    value = source(value)
    array = constant(value)
    if array is not None:
        return doubts.sum_to_one(array)
    node = value.producer()
    if node is None or node.domain not in STANDARD_DOMAINS:
        return False
    if node.op_type in GIVES_PROBABILITIES:
        return True
    given = [None if each is None else source(each) for each in node.inputs]
    if node.op_type == "Exp":
        if given[0] is None:
            return False
        logarithm = given[0].producer()
        return logarithm is not None and logarithm.op_type == "LogSoftmax"
    if node.op_type in ("LpNormalization", "Clip"):
        return _are_normalized(node, given[0])
    if node.op_type == "TopK":
        # Its other output holds indices.
        return value is node.outputs[0] and _are_probabilities(given[0])
    if node.op_type == "Where":
        _, one, other = given
        if _are_probabilities(one) and is_all(other, 0):
            return True
        return _are_probabilities(other) and is_all(one, 0)
    if node.op_type != "Div":
        return False
    return _is_sum_of(given[1], given[0])


def _are_normalized(node: ir.Node, given: ir.Value | None) -> bool:
    """Whether a node divides by the sum of absolute values, or clips what are probabilities."""
    if node.op_type == "Clip":
        return _are_probabilities(given)
    return node.attributes.get_int("p", 2) == 1


def _is_sum_of(total: ir.Value | None, value: ir.Value | None) -> bool:
    """Whether a value is the sum of what is divided by it."""
    if total is None:
        return False
    node = total.producer()
    if node is None or node.op_type != "ReduceSum" or node.inputs[0] is None:
        return False
    return source(node.inputs[0]) is value


def _is_broadcast(node: ir.Node, types: Types) -> bool:
    """Whether a draw of rank 0 becomes a tensor, each element of which has its one number."""
    drawn = node.outputs[0]
    return types.is_scalar(drawn) and _reaches_tensor(drawn, types)


def _reaches_tensor(scalar: ir.Value, types: Types) -> bool:
    for reader, index in scalar.uses():
        if reader.domain not in STANDARD_DOMAINS:
            continue
        if reader.op_type in _BROADCASTS and len(reader.inputs) == 2:
            other = reader.inputs[1 - index]
            if other is not None and not types.is_scalar(other):
                return True
        elif reader.op_type not in MOVES:
            continue
        # What is scaled, moved or cast is one number still.
        result = reader.outputs[0]
        if types.is_scalar(result) and _reaches_tensor(result, types):
            return True
    return False
