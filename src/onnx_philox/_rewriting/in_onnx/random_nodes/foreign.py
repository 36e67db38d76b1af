"""Tells which operators from outside ONNX are random, or may be.

Exporters leave operators of their framework in a model, even in the default domain: tf2onnx those
of TensorFlow that it cannot convert, torch its ATen fallbacks. No schema says what they do.
"""

from __future__ import annotations

import functools

import onnx
import onnx_ir as ir

from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.random_names import randomness_of

TENSORFLOW_DOMAINS = (*STANDARD_DOMAINS, "ai.onnx.converters.tensorflow")
"""Where tf2onnx leaves TensorFlow's operators."""

_MOST_INPUTS = {"RandomUniform": 0, "Multinomial": 1}
"""The inputs of ONNX's operators whose names TensorFlow has, too, with more inputs."""

STATELESS = "Stateless"
"""The names of TensorFlow's operators that take a seed or a key as inputs begin with this."""


def randomness(node: ir.Node, opset: int | None) -> str | None:
    """What a message says of a node that is random, or may be, and not one of ONNX.

    None for all others. Gradients only read the mask that their operator has drawn.
    """
    if schema_of(node, opset):
        return None
    name = node.op_type
    domain = node.domain
    operator = node.attributes.get("operator")
    if name == "ATen" and operator is not None and operator.type is ir.AttributeType.STRING:
        # What torch falls back to for a function that it cannot export.
        name = operator.as_string()
        domain = "aten"
    return randomness_of(name, domain)


def schema_of(node: ir.Node, opset: int | None) -> onnx.defs.OpSchema | None:
    """What ONNX declares of an operator, in a version of its domain; None where it knows none."""
    if has_inputs_of_tensorflow(node):
        return None
    version = max(opset or 1, 1)
    return _schema(node.op_type, version, node.domain)


@functools.cache
def _schema(op_type: str, version: int, domain: str) -> onnx.defs.OpSchema | None:
    domain = "" if domain in STANDARD_DOMAINS else domain
    if not onnx.defs.has(op_type, version, domain):
        return None
    return onnx.defs.get_schema(op_type, version, domain)


def has_inputs_of_tensorflow(node: ir.Node) -> bool:
    """Whether a node has the name of an operator of ONNX, but the inputs of TensorFlow's.

    TensorFlow gives a shape to RandomUniform and a sample size to Multinomial.
    """
    most = _MOST_INPUTS.get(node.op_type)
    return most is not None and len(node.inputs) > most
