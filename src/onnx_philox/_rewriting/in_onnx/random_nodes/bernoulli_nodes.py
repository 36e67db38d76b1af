"""Which nodes are Bernoullis, and what says that a model may mean the other share of ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir

from onnx_philox._models.constants import constant, is_all
from onnx_philox._models.graphs import STANDARD_DOMAINS, only_reader, source
from onnx_philox._rewriting.shares import BERNOULLI, INLINED, INLINED_NAME, MADE_UP_FOR, Share


def share_of(node: ir.Node) -> Share | None:
    """The share of ones of a random node that is a Bernoulli, or was one; None for others."""
    if node.op_type == "Bernoulli" and node.domain in STANDARD_DOMAINS:
        given = node.inputs[0]
        return MADE_UP_FOR if _is_complement(given) else replace(BERNOULLI, p=_number(given))
    return None if inlined_comparison(node) is None else INLINED


def inlined_comparison(node: ir.Node) -> ir.Node | None:
    """The Greater of a Bernoulli that a tool inlined, given its RandomUniformLike."""
    drawn = node.outputs[0]
    if node.op_type != "RandomUniformLike" or INLINED_NAME not in f"{node.name} {drawn.name}":
        return None
    reader = only_reader(drawn)
    is_above = reader is not None and (reader[0].op_type, reader[1]) == ("Greater", 0)
    return reader[0] if reader is not None and is_above else None


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
    return float(wide.flat[0]) if bool((wide == wide.flat[0]).all()) else None


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
