"""The element types of the operators' tensors, with their names in NumPy and ONNX.

This package uses OpenVINO's names (``openvino.Type.f32``, ...), except for bool, which OpenVINO
calls ``openvino.Type.boolean``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class ElementType:
    """An element type, by its name in attributes, in messages and in OpenVINO."""

    name: str
    dtype: np.dtype[Any]
    onnx: int
    """The number in `onnx.TensorProto.DataType`."""
    onnx_name: str
    """The name in ONNX schemas."""
    is_float: bool


def _element_type(
    name: str,
    dtype: Any,
    onnx_type: int,
    onnx_name: str,
) -> ElementType:
    is_float = name.startswith(("f", "bf"))
    return ElementType(name, np.dtype(dtype), onnx_type, f"tensor({onnx_name})", is_float)


# In numbers, since importing onnx takes as long as importing a runtime.
U32 = _element_type("u32", np.uint32, 12, "uint32")
I32 = _element_type("i32", np.int32, 6, "int32")
I64 = _element_type("i64", np.int64, 7, "int64")
F16 = _element_type("f16", np.float16, 10, "float16")
BF16 = _element_type("bf16", ml_dtypes.bfloat16, 16, "bfloat16")
F32 = _element_type("f32", np.float32, 1, "float")
F64 = _element_type("f64", np.float64, 11, "double")
BOOL = _element_type("bool", np.bool_, 9, "bool")

BY_NAME = {t.name: t for t in (U32, I32, I64, F16, BF16, F32, F64, BOOL)}
BY_DTYPE = {t.dtype: t for t in BY_NAME.values()}
BY_ONNX = {t.onnx: t for t in BY_NAME.values()}
