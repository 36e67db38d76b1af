"""Draws that OpenVINO makes at compile time, when it computes a Loop of constants.

The CPU plugin rounds f64 numbers in the resulting constants to f32, and clamps integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract import openvino_plugin
from onnx_philox._contract import sentences as say


def is_transformed(node: ov.Node) -> bool:
    """Whether OpenVINO has begun to transform the model, now or before saving it."""
    return openvino_plugin.TRANSFORMED in node.get_rt_info()


def is_folded(node: Any, inputs: list[ov.Tensor], past: openvino_plugin.Past) -> bool:
    """Whether a node is evaluated to become part of a constant, not to be run.

    Never true if `Model.evaluate` alone evaluates it. The marks of a node from a file say nothing:
    a cached model keeps only the first one.
    """
    marks = node.get_rt_info()
    if openvino_plugin.TRANSFORMED not in marks:
        return False
    # A Loop's inputs may also become constants late. What the node reads before the plugin narrows
    # it says nothing.
    is_late = openvino_plugin.Past.CLONED in past and any(
        tensor.get_element_type().get_type_name() in openvino_plugin.NEVER_IN_RUNS
        for declared, tensor in zip(node.operator.inputs, inputs, strict=False)
        if not node.wide.get(declared.name)
    )
    return is_late or (
        openvino_plugin.STAYS not in marks and openvino_plugin.Past.FROM_FILE not in past
    )


def is_asked(node: ov.Node, inputs: list[ov.Output]) -> bool:
    """Whether a clone is asked for a run's shapes: the plugin makes a constant of each tensor."""
    pairs = zip(node.input_values(), inputs, strict=False)
    return any(_is_constant(new) and not _is_constant(old) for old, new in pairs)


def _is_constant(output: ov.Output) -> bool:
    return bool(output.get_node().get_type_name() == "Constant")


def altered(
    output: ov.Output,
    drawn: NDArray[Any],
    *,
    has_left: bool,
) -> tuple[str, str, str] | None:
    """What the plugin would alter in numbers that leave their graph, or left it before.

    Returns what is altered, what is allowed, and what to do; None if nothing is.
    """
    if drawn.dtype == np.float64:
        with np.errstate(over="ignore", under="ignore"):
            is_kept = bool((drawn.astype(np.float32) == drawn).all())
        said = say.F64_IN_LOOP, say.F32_NUMBERS, say.DRAW_F32
    else:
        is_integer = np.issubdtype(drawn.dtype, np.integer)
        is_kept = not is_integer or bool((drawn.astype(np.int32) == drawn).all())
        said = say.WIDE_IN_LOOP, say.INT32_NUMBERS, say.DRAW_OUTSIDE
    return None if is_kept or not (has_left or leaves(output)) else said


def leaves(output: ov.Output) -> bool:
    """Whether an output may reach a result of its graph in a type that the plugin alters.

    A conversion to a float, an integer or a narrower type ends the path, and so does arithmetic.
    """
    stack = [output]
    seen: set[str] = set()
    while stack:
        drawn = stack.pop()
        for consumer in drawn.get_target_inputs():
            node = consumer.get_node()
            if node.get_type_name() == "Result":
                return True
            if node.get_name() not in seen:
                seen.add(node.get_name())
                stack += [made for made in node.outputs() if _hands_on(drawn, made)]
    return False


def _hands_on(drawn: ov.Output, made: ov.Output) -> bool:
    """Whether a node passes a draw on in one of its outputs."""
    if made.get_node().get_type_name() not in openvino_plugin.MOVING:
        return False
    type_ = made.get_element_type()
    is_alike: bool = type_.is_real() == drawn.get_element_type().is_real()
    return is_alike and type_.get_type_name() in openvino_plugin.ALTERED_IN_CONSTANTS
