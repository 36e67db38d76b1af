"""Draws that OpenVINO makes when it compiles a model: it computes a Loop of constants there.

The CPU plugin rounds the f64 numbers of the constants that come of it to f32, and clamps integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

_INT32 = np.iinfo(np.int32)
# The plugin's own runs never see these. A state of u32 they do, from another node of ours.
_WIDE = ("f64", "i64")
# What hands its first input on as it is; a Convert if it is one of integers.
_MOVES = ("Convert", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def is_wide(tensor: ov.Tensor) -> bool:
    """Whether the plugin has not narrowed an input: not it evaluates, but OpenVINO's own code."""
    return tensor.get_element_type().get_type_name() in _WIDE


def altered(output: ov.Output, drawn: NDArray[Any]) -> tuple[str, str, str] | None:
    """What the plugin would make otherwise of numbers that leave their graph.

    Returns:
        What it is, what is allowed, and what to do; None if nothing.
    """
    if not _leaves(output):
        return None
    where = "in a Loop that OpenVINO computes when it compiles the model"
    if drawn.dtype == np.float64:
        with np.errstate(over="ignore", under="ignore"):
            if (drawn.astype(np.float32) == drawn).all():
                return None
        allowed = "numbers that f32 holds there, since OpenVINO's CPU plugin rounds f64 constants"
        return f"f64, {where}", allowed, "Draw outside of the Loop, or draw f32."
    is_integer = np.issubdtype(drawn.dtype, np.integer) and drawn.size != 0
    if not is_integer or (_INT32.min <= int(drawn.min()) and int(drawn.max()) <= _INT32.max):
        return None
    allowed = "numbers within int32 there, since OpenVINO's CPU plugin clamps constants"
    return f"beyond int32, {where}", allowed, "Draw outside of the Loop, or give it a model input."


def _leaves(output: ov.Output) -> bool:
    """Whether an output is a result of its graph, possibly moved or converted."""
    stack = [output]
    while stack:
        moved = stack.pop()
        for consumer in moved.get_target_inputs():
            node = consumer.get_node()
            name = node.get_type_name()
            if name == "Result":
                return True
            if name in _MOVES and consumer.get_index() == 0:
                is_float = name == "Convert" and node.get_output_element_type(0).is_real()
                if not is_float:
                    stack.append(node.output(0))
    return False
