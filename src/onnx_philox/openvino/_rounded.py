"""Floats that the model rounds to 16 bits right behind a node.

The plugin removes such a Convert where the processor has no arithmetic of that type, so the node
rounds its values itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract.openvino_plugin import ONLY_MOVE, ROUNDED, Past
from onnx_philox._contract.types import BF16, BY_NAME, F16, F32, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox.openvino._folded import is_transformed


def rounded_behind(node: Any, so_far: ElementType | None, past: Past) -> ElementType | None:
    """The type that all rounds the values to that reads them; None if there is none.

    That is what a model says before OpenVINO transforms it; after that it is what it said.
    """
    if Past.CLONED in past and is_transformed(node):
        return so_far
    is_wide = node.get_output_element_type(0) in (ov.Type.f32, ov.Type.f64)
    return _type_behind(node.output(0)) if is_wide else None


def visited(
    node: Any,
    visitor: Any,
    rounded: ElementType | None,
    past: Past,
) -> ElementType | None:
    """Shows the type to IR, in both directions, where no other nodes say it."""
    is_read = Past.VALIDATED not in past
    if not is_read and (rounded is None or not is_transformed(node)):
        return rounded
    shown = {ROUNDED: "" if rounded is None else rounded.name}
    visitor.on_attributes(shown)
    return BY_NAME.get(shown[ROUNDED])


def round_values(values: NDArray[Any], type_: ElementType | None) -> None:
    """Rounds values in place: to f32, then to 16 bits."""
    if type_ is not None:
        with np.errstate(all="ignore"):
            values[...] = values.astype(np.float32).astype(type_.dtype)


def _type_behind(output: ov.Output) -> ElementType | None:
    found: set[ElementType] = set()
    stack = [output]
    while stack:
        for consumer in stack.pop().get_target_inputs():
            node = consumer.get_node()
            name = node.get_type_name()
            if name == "ShapeOf":
                continue
            is_moved = name in ONLY_MOVE and consumer.get_index() == 0
            type_ = arrays.element_type(node.get_output_element_type(0))
            if is_moved or (name == "Convert" and type_ is F32):
                stack.append(node.output(0))
            elif name == "Convert" and type_ in (F16, BF16):
                assert isinstance(type_, ElementType)
                found.add(type_)
            else:
                return None
    return found.pop() if len(found) == 1 else None
