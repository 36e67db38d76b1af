"""Tells which operators from outside ONNX are random, or may be.

Exporters leave operators of their framework in a model, even in the default domain: tf2onnx those
of TensorFlow that it cannot convert, torch its ATen fallbacks. No schema says what they do.
"""

from __future__ import annotations

import onnx
import onnx_ir as ir

from onnx_philox._models.graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.random_names import randomness_of

TENSORFLOW_DOMAINS = (*STANDARD_DOMAINS, "ai.onnx.converters.tensorflow")
"""Where tf2onnx leaves TensorFlow's operators."""

STATELESS = "Stateless"
"""The names of TensorFlow's operators that take a seed or a key as inputs begin with this."""


def randomness(node: ir.Node, opset: int | None) -> str | None:
    """What a message says of a node that is random, or may be, and not one of ONNX.

    None for all others. Gradients only read the mask that their operator has drawn.
    """
    if has_schema(node, opset):
        return None
    name, domain = node.op_type, node.domain
    operator = node.attributes.get("operator")
    if name == "ATen" and operator is not None and operator.type is ir.AttributeType.STRING:
        # What torch falls back to for a function that it cannot export.
        name, domain = operator.as_string(), "aten"
    return randomness_of(name, domain)


def has_schema(node: ir.Node, opset: int | None) -> bool:
    """Whether ONNX knows an operator, in a version of its domain."""
    domain = "" if node.domain in STANDARD_DOMAINS else node.domain
    is_known = bool(onnx.defs.has(node.op_type, max(opset or 1, 1), domain))
    return is_known and not has_inputs_of_tensorflow(node)


def has_inputs_of_tensorflow(node: ir.Node) -> bool:
    """Whether a node has the name of an operator of ONNX, but the inputs of TensorFlow's.

    TensorFlow gives a shape to RandomUniform and a sample size to Multinomial.
    """
    most = {"RandomUniform": 0, "Multinomial": 1}.get(node.op_type)
    return most is not None and len(node.inputs) > most
