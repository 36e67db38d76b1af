"""Which nodes are Bernoullis, and what says that a model may mean the other share of ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir

from onnx_philox._models.constants import constant, is_all
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, only_reader, source
from onnx_philox._rewriting.shares import BERNOULLI, INLINED, INLINED_NAME, MADE_UP_FOR, Share


def share_of(node: ir.Node) -> Share | None:
    """The share of ones of a random node that is a Bernoulli, or was one; None for others."""
    if node.op_type == "Bernoulli" and node.domain in STANDARD_DOMAINS:
        given = node.inputs[0]
        if _is_complement(given):
            return MADE_UP_FOR
        return replace(BERNOULLI, p=_number(given))
    if inlined_comparison(node) is None:
        return None
    return INLINED


def inlined_comparison(node: ir.Node) -> ir.Node | None:
    """The Greater of a Bernoulli that a tool inlined, given its RandomUniformLike."""
    if node.op_type != "RandomUniformLike":
        return None
    drawn = node.outputs[0]
    if INLINED_NAME not in f"{node.name} {drawn.name}":
        return None
    reader = only_reader(drawn)
    if reader is None:
        return None
    comparison, index = reader
    is_above = comparison.op_type == "Greater" and index == 0
    return comparison if is_above else None


def _number(value: ir.Value | None) -> float | None:
    """The one number that each element of a value is in every run; None for others."""
    value = None if value is None else source(value)
    node = None if value is None else value.producer()
    if node is not None and node.op_type == "Expand" and node.domain in STANDARD_DOMAINS:
        return _number(node.inputs[0])
    try:
        known = None if value is None else constant(value)
    except ValueError:
        return None  # damaged: what reads it for the draw says so
    if known is None or known.size == 0:
        return None
    wide = known.astype(np.float64)
    first = wide.flat[0]
    if not bool((wide == first).all()):
        return None
    return float(first)


def _is_complement(value: ir.Value | None) -> bool:
    """Whether a value is computed as 1 - x."""
    node = None if value is None else source(value).producer()
    if node is None or node.domain not in STANDARD_DOMAINS:
        return False
    if node.op_type not in ("Add", "Sub"):
        return False
    one, other = node.inputs
    if node.op_type == "Sub":
        return is_all(one, 1)
    if is_all(one, 1) and _is_negative(other):
        return True
    return is_all(other, 1) and _is_negative(one)


def _is_negative(value: ir.Value | None) -> bool:
    if value is None:
        return False
    node = source(value).producer()
    return node is not None and node.op_type == "Neg"
