"""Whether a model makes integers beyond 31 bits of a uniform number, by whatever nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import MOVES, STANDARD_DOMAINS
from onnx_philox._rewriting.comparisons import MOST_OF_I32

_KEEP_RANGES = {"Ceil", "Floor", "Round", *MOVES}
# What an operator of two inputs makes of the bounds of both.
_OF_TWO = {
    "Add": np.add,
    "Div": np.divide,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Sub": np.subtract,
}
# So many nodes after a draw are looked at, and so many elements of a constant.
_MOST_NODES = 64
_MOST_NUMBERS = 4096


@dataclass(frozen=True)
class Bounds:
    """The bounds of what a value can be."""

    low: float
    high: float

    @property
    def is_wide(self) -> bool:
        """Whether it reaches beyond 31 bits, on either side."""
        size = max(abs(self.low), abs(self.high))
        return size > MOST_OF_I32


def wide_cast(drawn: ir.Value, numbers: Bounds) -> ir.Node | None:
    """The Cast that makes integers beyond 31 bits of what is drawn, also one in a body.

    None where there is none, or a node before it is not known.
    """
    waiting = [(drawn, numbers)]
    seen = 0
    while waiting and seen < _MOST_NODES:
        value, bounds = waiting.pop(0)
        for reader, index in value.uses():
            seen += 1
            if reader.domain not in STANDARD_DOMAINS:
                continue
            if _makes_integers(reader):
                if bounds.is_wide:
                    return reader
                continue
            after = _after(reader, index, bounds)
            if after is not None:
                waiting.append((reader.outputs[0], after))
    return None


def _makes_integers(node: ir.Node) -> bool:
    if node.op_type != "Cast" or "to" not in node.attributes:
        return False
    return ir.DataType(node.attributes.get_int("to")).is_integer()


def _after(node: ir.Node, index: int, bounds: Bounds) -> Bounds | None:
    """The bounds after a node that reads such numbers; None where they are not known."""
    if node.op_type in _KEEP_RANGES:
        return bounds if index == 0 else None
    if node.op_type == "Neg":
        return Bounds(-bounds.high, -bounds.low)
    if node.op_type == "Clip":
        return _clipped(node, index, bounds)
    combine = _OF_TWO.get(node.op_type)
    if combine is None or len(node.inputs) != 2:
        return None
    other = _constant_range(node.inputs[1 - index])
    if other is None:
        return None
    first = bounds
    second = other
    if index != 0:
        first = other
        second = bounds
    with np.errstate(all="ignore"):
        corners = combine.outer([first.low, first.high], [second.low, second.high])
    if not np.isfinite(corners).all():
        return None
    lowest = float(corners.min())
    highest = float(corners.max())
    return Bounds(lowest, highest)


def _clipped(node: ir.Node, index: int, bounds: Bounds) -> Bounds | None:
    """The bounds after a Clip, whose limits are inputs or, before opset 11, attributes."""
    if index != 0:
        return None
    limits: list[float] = []
    for place, name, default in (
        (1, "min", bounds.low),
        (2, "max", bounds.high),
    ):
        given = node.inputs[place] if len(node.inputs) > place else None
        known = None if given is None else _constant_range(given)
        if given is not None and known is None:
            return None
        if known is None:
            limits.append(node.attributes.get_float(name, default))
        else:
            limits.append(known.low)
    least, most = limits
    # As Clip does: the upper limit counts where the two cross.
    low = min(max(bounds.low, least), most)
    high = min(max(bounds.high, least), most)
    return Bounds(low, high)


def _constant_range(value: ir.Value | None) -> Bounds | None:
    array = None if value is None else small_constant(value, _MOST_NUMBERS)
    if array is None or array.size == 0:
        return None
    wide = array.astype(np.float64)
    return Bounds(float(wide.min()), float(wide.max()))
