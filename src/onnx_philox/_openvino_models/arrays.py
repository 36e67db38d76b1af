"""OpenVINO's tensors and constants as NumPy arrays, and back.

OpenVINO shows bfloat16 memory as float16: the bits are right, the type is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract.types import BF16, BOOL, BY_NAME, ElementType

_BOOLEAN = "boolean"


def element_type(type_: ov.Type) -> ElementType | np.dtype[Any] | None:
    """An OpenVINO type as ours; None if it is dynamic."""
    if type_.is_dynamic():
        return None
    theirs = type_.to_string()
    known = BOOL if theirs == _BOOLEAN else BY_NAME.get(theirs)
    if known is not None:
        return known
    dtype: np.dtype[Any] = np.dtype(type_.to_dtype())
    return dtype


def name(type_: ov.Type) -> str:
    """The type as messages say it."""
    known = element_type(type_)
    if known is None:
        return "no known type"
    return known.name


def openvino_type(type_: ElementType) -> ov.Type:
    """Our type as OpenVINO's."""
    theirs = _BOOLEAN if type_ is BOOL else type_.name
    return getattr(ov.Type, theirs)


def dimensions(shape: ov.Shape) -> tuple[int, ...]:
    """The dimensions of a shape.

    An iteration over a list of OpenVINO's ends with a C++ exception, which takes 60 us.
    """
    return tuple(shape[i] for i in range(len(shape)))


def known_dimensions(shape: ov.PartialShape) -> tuple[int | None, ...] | None:
    """The dimensions of a shape, None for each that is unknown; None if the rank is unknown."""
    if shape.rank.is_dynamic:
        return None
    listed = (shape[i] for i in range(len(shape)))
    return tuple(None if d.is_dynamic else d.get_length() for d in listed)


def memory(tensor: ov.Tensor | ov.op.Constant) -> NDArray[Any]:
    """The tensor's own memory, not a copy."""
    data: NDArray[Any] = tensor.data
    kind = tensor.get_element_type()
    if kind == ov.Type.bf16:
        bits = data.view(np.uint16)
        return bits.view(BF16.dtype)
    return data


def constant(array: NDArray[Any]) -> ov.op.Constant:
    """A constant of the array's type and value."""
    # A tensor of bfloat16 owns its memory; one made from an array would only borrow it.
    source = tensor(array) if array.dtype == BF16.dtype else array
    return ov.op.Constant(source)


def tensor(array: NDArray[Any]) -> ov.Tensor:
    """A tensor of the array's memory, or of a copy where that has gaps or is bfloat16."""
    if array.dtype != BF16.dtype:
        contiguous = np.ascontiguousarray(array)
        return ov.Tensor(contiguous.reshape(array.shape))
    made = ov.Tensor(ov.Type.bf16, ov.Shape(array.shape))
    memory(made)[...] = array
    return made


def store(output: ov.Tensor, result: NDArray[Any]) -> None:
    """Copies an array into an output of an operator, and gives the output its shape."""
    if dimensions(output.get_shape()) != result.shape:
        output.set_shape(ov.Shape(result.shape))
    held = memory(output)
    if result.dtype == np.uint32:
        # The same bits where the plugin holds them as int32.
        held = held.view(np.uint32)
    held[...] = result
