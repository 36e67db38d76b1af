"""TensorFlow's random operators that have a replacement, where tf2onnx leaves them in a model."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnx_philox._rewriting.in_onnx.random_nodes import foreign
from onnx_philox._rewriting.in_onnx.random_nodes.onnx_random_nodes import STANDARD_OPERATORS

_ELEMENT_TYPES = frozenset(type.value for type in ir.DataType)


KINDS = {
    **dict.fromkeys(("Multinomial", "StatelessMultinomial"), "categorical"),
    **{"RandomGamma": "gamma", "RandomPoissonV2": "poisson", "RandomShuffle": "shuffle"},
    **dict.fromkeys(
        ("RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2"), "normal"
    ),
    **dict.fromkeys(
        ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2"), "uniform"
    ),
    **dict.fromkeys(
        ("RandomUniformInt", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2"), "integers"
    ),
    **dict.fromkeys(
        ("TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"), "truncated"
    ),
}
"""What each operator draws."""


def is_known(node: ir.Node) -> bool:
    """Whether a node is one of these, and not ONNX's own of the same name."""
    if node.domain not in foreign.TENSORFLOW_DOMAINS or node.op_type not in KINDS:
        return False
    is_named_alike = node.op_type in STANDARD_OPERATORS
    return not is_named_alike or foreign.has_inputs_of_tensorflow(node)


def key_of(node: ir.Node) -> Sequence[ir.Value | None] | None:
    """What says a stateless node's numbers: a seed, or a key, a counter and an algorithm.

    None for all other nodes.
    """
    if not (is_known(node) and node.op_type.startswith(foreign.STATELESS)):
        return None
    if node.op_type.endswith("V2"):
        return node.inputs[1:4]
    if KINDS[node.op_type] == "categorical":
        return node.inputs[2:3]
    return node.inputs[1:2]


def is_shuffle(node: ir.Node) -> bool:
    """Whether the output of a node has the type and the shape of its input."""
    return is_known(node) and KINDS[node.op_type] == "shuffle"


def is_shaped(node: ir.Node) -> bool:
    """Whether the first input of a node is the shape of its output."""
    if not is_known(node):
        return False
    return KINDS[node.op_type] in ("normal", "uniform", "integers", "truncated")


def declared_type(node: ir.Node) -> ir.DataType | None:
    """The element type that one of these nodes declares; None for all other nodes."""
    if node.domain not in foreign.TENSORFLOW_DOMAINS or node.op_type not in KINDS:
        return None
    for name in ("dtype", "output_dtype"):
        attribute = node.attributes.get(name)
        if attribute is not None:
            return element_type(attribute)
    return None


def element_type(attribute: ir.Attr) -> ir.DataType | None:
    """The element type that an attribute means: tf2onnx writes ONNX's numbers."""
    if attribute.type is not ir.AttributeType.INT or attribute.value not in _ELEMENT_TYPES:
        return None
    return ir.DataType(attribute.value)
