"""Which nodes are Bernoullis, and what says that a model may mean the other share of ones."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._models.constants import is_all
from onnx_philox._models.graphs import STANDARD_DOMAINS, only_reader, source
from onnx_philox._rewriting.shares import BERNOULLI, INLINED, INLINED_NAME, MADE_UP_FOR, Share


def share_of(node: ir.Node) -> Share | None:
    """The share of ones of a random node that is a Bernoulli, or was one; None for others."""
    if node.op_type == "Bernoulli" and node.domain in STANDARD_DOMAINS:
        return MADE_UP_FOR if _is_complement(node.inputs[0]) else BERNOULLI
    return None if inlined_comparison(node) is None else INLINED


def inlined_comparison(node: ir.Node) -> ir.Node | None:
    """The Greater of a Bernoulli that a tool inlined, given its RandomUniformLike."""
    drawn = node.outputs[0]
    if node.op_type != "RandomUniformLike" or INLINED_NAME not in f"{node.name} {drawn.name}":
        return None
    reader = only_reader(drawn)
    is_above = reader is not None and (reader[0].op_type, reader[1]) == ("Greater", 0)
    return reader[0] if reader is not None and is_above else None


def _is_complement(value: ir.Value | None) -> bool:
    """Whether a value is computed as 1 - x."""
    node = None if value is None else source(value).producer()
    if node is None or node.domain not in STANDARD_DOMAINS or node.op_type not in ("Add", "Sub"):
        return False
    one, other = node.inputs
    if node.op_type == "Sub":
        return is_all(one, 1)
    return any(is_all(a, 1) and _is_negative(b) for a, b in ((one, other), (other, one)))


def _is_negative(value: ir.Value | None) -> bool:
    node = None if value is None else source(value).producer()
    return node is not None and node.op_type == "Neg"
