"""Whether torch fills the tensor of a draw in another order than the draw's own.

torch fills memory. What it makes like a transposed tensor is transposed in memory too, and is
filled in that order. A file does not show memory, but the Transposes that a tensor came through.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import onnx_ir as ir

from onnx_philox._contract.operators import (
    DOMAIN,
    OPERATORS,
    RANDOM_GENERATOR,
    RANDOM_PERMUTATION,
)
from onnx_philox._contract.streams import AWAITS_STATE, KNOWS_STRIDES
from onnx_philox._models.constants import constant
from onnx_philox._models.opsets import STANDARD_DOMAINS
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.types import Types

_KEEPS_ORDER = frozenset(
    (
        *("Abs", "Add", "Cast", "Ceil", "Clip", "Cos", "Div", "Dropout", "Elu", "Erf", "Exp"),
        *("Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Max"),
        *("Min", "Mul", "Neg", "Not", "PRelu", "Pow", "RandomNormalLike", "RandomUniformLike"),
        *("Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt"),
        *("Sub", "Tanh", "Where"),
    )
)
"""Operators of elements, whose results lie in memory as their operands do."""

_MOST_NODES = 64
"""How many nodes a look into the past may visit."""


def warn(random: Replaceable, types: Types) -> None:
    """Warns of a draw like a transposed tensor, where the exporter did not know its strides."""
    node = random.site.node
    if node.metadata_props.get(AWAITS_STATE) == KNOWS_STRIDES:
        return
    filled = _filled(node)
    if filled is not None and any(_is_permuted(order) for order in _orders(filled, types)):
        warnings.warn(
            f"{random.site.title}: the numbers may not be torch's. It draws like a transposed "
            "tensor, and torch fills memory, whose order a file does not show. Export the module "
            "with onnx_philox.torch.export, or call contiguous() before the draw.",
            stacklevel=2,
        )


def _filled(node: ir.Node) -> ir.Value | None:
    """The tensor like which a draw lies in memory; None where it is a new one."""
    if node.domain != DOMAIN:
        takes_tensor = node.op_type.endswith("Like") or node.op_type in (
            *("Bernoulli", "Dropout", "Multinomial"),
        )
        return node.inputs[0] if takes_tensor and node.inputs else None
    operator = OPERATORS.get(node.op_type)
    if operator in (None, RANDOM_GENERATOR, RANDOM_PERMUTATION) or not node.inputs:
        return None
    given = node.inputs[0]
    producer = None if given is None else given.producer()
    if operator is not None and operator.has_shape:
        is_shape = producer is not None and producer.op_type == "Shape"
        return producer.inputs[0] if is_shape and producer is not None else None
    return given


def _orders(value: ir.Value, types: Types) -> Iterator[Sequence[int]]:
    """The orders of dimensions in memory that a tensor may have, by the Transposes before it.

    Dimensions of 1 do not count.
    """
    shape = types.shape(value)
    if shape is None:
        return
    wide = [i for i, d in enumerate(shape) if d != 1]
    left: list[tuple[ir.Value, tuple[int, ...]]] = [(value, tuple(range(len(shape))))]
    for _ in range(_MOST_NODES):
        if not left:
            return
        value, order = left.pop()
        node = value.producer()
        perm = None
        if node is not None and node.domain in STANDARD_DOMAINS and node.op_type == "Transpose":
            attribute = node.attributes.get("perm")
            perm = tuple(reversed(order)) if attribute is None else tuple(attribute.as_ints())
        if node is None or node.domain not in STANDARD_DOMAINS:
            yield [order[i] for i in wide]
        elif perm is not None and len(perm) == len(order) and node.inputs[0] is not None:
            left.append((node.inputs[0], tuple(perm[i] for i in order)))
        elif node.op_type in _KEEPS_ORDER:
            operands = [i for i in node.inputs if i is not None and constant(i) is None]
            whole = [i for i in operands if _rank(i, types) == len(order)]
            left.extend((operand, order) for operand in whole)
        else:
            yield [order[i] for i in wide]


def _rank(value: ir.Value, types: Types) -> int | None:
    shape = types.shape(value)
    return None if shape is None else len(shape)


def _is_permuted(order: Sequence[int]) -> bool:
    return list(order) != sorted(order)
