"""Exact values of constant inputs, before the CPU plugin changes them.

The plugin hands f64 to a custom operator as f32, i64 as i32, and uint32 constants clamped to
2^31-1. An operator therefore keeps the value of a constant input as text in an attribute of its
own, taken while the constant still has its declared type, and written to IR with the operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._element_types import ElementType
from onnx_philox.openvino import _arrays

# Only small tensors feed a state, a bound or a shape; larger constants are weights.
_MAX_ELEMENTS = 4096
_INT32_MAX = 2**31 - 1
# These hand over the data of every input, the others that of their first.
_MERGING = {
    "Concat",
    "Select",
    "Add",
    "Subtract",
    "Multiply",
    "BitwiseOr",
    "BitwiseAnd",
    "BitwiseXor",
}


def to_text(array: NDArray[Any]) -> str:
    """The elements, exactly: integers in decimal, floats in hexadecimal."""
    if np.issubdtype(array.dtype, np.integer):
        return ", ".join(str(x) for x in array.reshape(-1).tolist())
    return ", ".join(float(x).hex() for x in array.reshape(-1))


def from_text(text: str, type_: ElementType, shape: tuple[int, ...]) -> NDArray[Any]:
    """What `to_text` wrote."""
    parse = float.fromhex if type_.is_float else int
    return np.array([parse(x) for x in text.split(",")], type_.dtype).reshape(shape)


def value_of(output: ov.Output) -> NDArray[Any] | None:
    """The value of an output that depends on constants only; None where it does not."""
    node = output.get_node()
    if not output.get_partial_shape().is_static or output.get_element_type().is_dynamic():
        return None
    shape = tuple(output.get_shape())
    if np.prod(shape, dtype=np.float64) > _MAX_ELEMENTS:
        return None
    if node.get_type_name() == "Constant":
        return _arrays.memory(node).copy()
    sources = [i.get_source_output() for i in node.inputs()]
    if not sources or node.get_output_size() != 1:
        return None
    tensors = []
    for source in sources:
        value = value_of(source)
        if value is None:
            return None
        tensors.append(_tensor(value, source))
    result = ov.Tensor(output.get_element_type(), ov.Shape(shape))
    if not node.evaluate([result], tensors):
        return None
    return _arrays.memory(result).copy()


def is_constant(output: ov.Output) -> bool:
    """Whether an output depends on constants only, of whatever type and size."""
    node = output.get_node()
    if node.get_type_name() == "Constant":
        return True
    sources = [i.get_source_output() for i in node.inputs()]
    return bool(sources) and all(is_constant(source) for source in sources)


def is_decompressed(output: ov.Output) -> bool:
    """Whether this is a constant that saving to IR has squeezed into f16."""
    node = output.get_node()
    if node.get_type_name() != "Convert":
        return False
    source = node.input_value(0)
    is_constant = source.get_node().get_type_name() == "Constant"
    return is_constant and bool(source.get_element_type() == ov.Type.f16)


def clamped_part(output: ov.Output) -> int | None:
    """A uint32 constant over 2^31-1 that is merged with other data on its way to `output`.

    The CPU plugin would clamp it. None where there is no such constant.
    """
    node = output.get_node()
    name = node.get_type_name()
    kind = output.get_element_type()
    if name == "Constant":
        largest = int(node.data.max(initial=0)) if kind in (ov.Type.u32, ov.Type.i64) else 0
        return largest if largest > _INT32_MAX else None
    if name == "Parameter" or node.get_type_info().version_id == "extension":
        return None
    inputs = node.inputs() if name in _MERGING else node.inputs()[:1]
    for source in (i.get_source_output() for i in inputs):
        part = clamped_part(source)
        if part is not None:
            return part
    return None


def _tensor(array: NDArray[Any], source: ov.Output) -> ov.Tensor:
    tensor = ov.Tensor(source.get_element_type(), ov.Shape(array.shape))
    _arrays.memory(tensor)[...] = array
    return tensor
