"""Keeps the exact values of constant inputs, before the CPU plugin changes them.

The plugin hands f64 to a custom operator as f32, i64 as i32, and uint32 constants clamped to
2^31-1. So an operator reads the value of a constant input while the constant still has its declared
type. It keeps the value as text in an attribute, which IR stores with the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.openvino_plugin import CAPTURED
from onnx_philox._contract.operators import Input, Role
from onnx_philox._contract.types import BY_DTYPE, BY_NAME, ElementType

_INT32 = np.iinfo(np.int32)
# bf16 has the fewest bits, f16 the fewest exponents.
_RELATIVE = float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps)  # type: ignore[no-untyped-call]
_ABSOLUTE = float(np.finfo(np.float16).smallest_subnormal)


def to_text(array: NDArray[Any], types: Sequence[ElementType]) -> str:
    """The elements, exactly: integers in decimal, floats in hexadecimal.

    If the input may have several types, the type comes first: "f64: 0x1.8p-1".
    """
    elements = array.reshape(-1)
    if np.issubdtype(array.dtype, np.integer):
        texts = [str(x) for x in elements.tolist()]
    else:
        texts = [float(x).hex() for x in elements]
    numbers = ", ".join(texts)
    if len(types) == 1:
        return numbers
    type_ = BY_DTYPE[array.dtype]
    return f"{type_.name}: {numbers}"


def from_text(text: str, types: Sequence[ElementType]) -> NDArray[Any]:
    """The elements that `to_text` wrote, of rank 1."""
    name, _, numbers = text.rpartition(": ")
    type_ = BY_NAME[name] if name else types[0]
    parse = float.fromhex if type_.is_float else int
    elements = [parse(x) for x in numbers.split(",") if x]
    return np.array(elements, type_.dtype)


def agree(kept: NDArray[Any], arrived: NDArray[Any]) -> bool:
    """Whether the plugin, or saving in f16, may have turned a constant into `arrived`."""
    if kept.size != arrived.size:
        return False
    arrived = arrived.reshape(-1)
    if np.issubdtype(kept.dtype, np.integer):
        clamped = np.clip(kept, _INT32.min, _INT32.max) if kept.size else kept
        wrapped = kept.astype(np.int32)
        same = (arrived == kept) | (arrived == clamped) | (arrived == wrapped)
        return bool(same.all())
    # A conversion clamps wide numbers to a narrow type's largest.
    largest = float(ml_dtypes.finfo(arrived.dtype).max)  # type: ignore[no-untyped-call]
    one = np.clip(arrived.astype(np.float64), -largest, largest)
    other = np.clip(kept.astype(np.float64), -largest, largest)
    return bool(np.allclose(one, other, rtol=_RELATIVE, atol=_ABSOLUTE))


def is_captured(declared: Input) -> bool:
    """Whether an attribute holds the value of an input that is constant.

    Data arrive in whichever type the plugin computes them.
    """
    return declared.role not in (Role.SHAPE, Role.DATA)


def captured(declared: Input) -> str:
    """The attribute that holds the value of a constant input."""
    return CAPTURED + declared.name
