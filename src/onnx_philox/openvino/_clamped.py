"""Probabilities that the model clamps to [0, 1] right before a node.

This is what a rewrite makes of a comparison with any number. The CPU plugin would compute the clamp
in bf16 or f16. So the node reads the numbers before it, and clamps them itself. Nobody reads the
clamp of the model after that; in IR an attribute of the node takes its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract import sentences as say
from onnx_philox._contract.openvino_plugin import CLAMPED, NAN_TO_0, NAN_TO_1
from onnx_philox._contract.operators import Operator
from onnx_philox._openvino_models import arrays

PROBABILITIES = "p"
"""The only input whose clamp a node takes over."""

# The texts in IR, and what becomes of a NaN.
_KINDS = {NAN_TO_0: np.float32(0), NAN_TO_1: np.float32(1)}


def take_before_clamp(input_: ov.Input) -> str:
    """Gives an input the f32 numbers that are clamped right before it; returns the kind of clamp.

    The kind is empty if there is no clamp, or if the numbers are constants.
    """
    select = input_.get_source_output().get_node()
    if select.get_type_name() != "Select":
        return ""
    is_within, within, otherwise = select.input_values()
    if is_within.get_node().get_type_name() != "Less":
        return ""
    low, high = is_within.get_node().input_values()
    # Where(0 < x, Min(x, 1), 0), or Where(x < 1, Max(x, 0), 1).
    if _is_number(low, 0) and _is_number(otherwise, 0):
        x = high
        kind = NAN_TO_0
        cut = "Minimum"
        limit = 1
    elif _is_number(high, 1) and _is_number(otherwise, 1):
        x = low
        kind = NAN_TO_1
        cut = "Maximum"
        limit = 0
    else:
        return ""
    given = within.get_node().input_values()
    is_cut = within.get_node().get_type_name() == cut and any(
        a == x and _is_number(b, limit) for a, b in (given, given[::-1])
    )
    is_constant = x.get_node().get_type_name() == "Constant"
    if not is_cut or is_constant or x.get_element_type() != ov.Type.f32:
        return ""
    input_.replace_source_output(x)
    return kind


def clamp(numbers: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
    """The probabilities that uniform numbers are below these."""
    # Bits as integers: a thread may take the smallest floats for 0.
    one = np.float32(1).view(np.int32)
    clamped = np.clip(numbers.view(np.int32), 0, one).view(np.float32)
    return np.where(np.isnan(numbers), _KINDS[kind], clamped)


def visited(op: Operator, visitor: Any, kind: str) -> str:
    """Shows the kind of clamp to IR, in both directions; empty if there is none."""
    shown = {CLAMPED: kind}
    visitor.on_attributes(shown)
    text = shown[CLAMPED]
    if text not in ("", *_KINDS):
        allowed = say.NAN_TO.format(*_KINDS)
        what = say.ATTRIBUTE.format(repr(CLAMPED))
        checks.refuse(op, what, repr(text), allowed, say.SAVE_AGAIN)
    return text


def _is_number(value: ov.Output, number: float) -> bool:
    node = value.get_node()
    is_scalar = node.get_type_name() == "Constant" and value.get_partial_shape().rank == 0
    return is_scalar and bool(arrays.memory(node) == number)
