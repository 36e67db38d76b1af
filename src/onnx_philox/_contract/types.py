"""The element types of the operators' tensors, with their names in NumPy and ONNX.

This package uses OpenVINO's names (``openvino.Type.f32``, ...), except for bool, which OpenVINO
calls ``openvino.Type.boolean``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx


@dataclass(frozen=True)
class ElementType:
    """An element type, by its name in attributes, in messages and in OpenVINO."""

    name: str
    dtype: np.dtype[Any]
    onnx: int
    is_float: bool

    @property
    def onnx_name(self) -> str:
        """The name in ONNX schemas, ``tensor(float)`` for f32."""
        return f"tensor({onnx.TensorProto.DataType.Name(self.onnx).lower()})"


def _element_type(name: str, dtype: Any, onnx_type: int) -> ElementType:
    is_float = name.startswith(("f", "bf"))
    return ElementType(name, np.dtype(dtype), onnx_type, is_float)


U32 = _element_type("u32", np.uint32, onnx.TensorProto.UINT32)
I32 = _element_type("i32", np.int32, onnx.TensorProto.INT32)
I64 = _element_type("i64", np.int64, onnx.TensorProto.INT64)
F16 = _element_type("f16", np.float16, onnx.TensorProto.FLOAT16)
BF16 = _element_type("bf16", ml_dtypes.bfloat16, onnx.TensorProto.BFLOAT16)
F32 = _element_type("f32", np.float32, onnx.TensorProto.FLOAT)
F64 = _element_type("f64", np.float64, onnx.TensorProto.DOUBLE)
BOOL = _element_type("bool", np.bool_, onnx.TensorProto.BOOL)

BY_NAME = {t.name: t for t in (U32, I32, I64, F16, BF16, F32, F64, BOOL)}
BY_DTYPE = {t.dtype: t for t in BY_NAME.values()}
BY_ONNX = {t.onnx: t for t in BY_NAME.values()}
