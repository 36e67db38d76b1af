"""Arrays as values of ONNX Runtime and back, those of bfloat16 too."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._contract.types import BF16
from onnx_philox._versions import install_command

BFLOAT16 = BF16.dtype

TAKES_BFLOAT16 = hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type")
"""Whether ONNX Runtime makes a value of an array of bfloat16: from 1.20 on."""


def to_ort_value(name: str, value: Any) -> ort.OrtValue:
    """An input as a value of ONNX Runtime."""
    if isinstance(value, ort.OrtValue):
        return value
    array = np.asarray(value)
    if array.dtype == BFLOAT16:
        if not TAKES_BFLOAT16:
            raise ort_state.NotImplemented(
                "onnx_philox.onnxruntime: ONNX Runtime must be 1.20 or newer to take an array of "
                f"bfloat16 as input {name!r}: got {ort.__version__}. "
                f"Upgrade it: {install_command('onnxruntime', upgrade=True)}."
            )
        # Not `ascontiguousarray`, which makes a dimension of a scalar.
        in_order = np.require(array, requirements="C")
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(in_order, BF16.onnx)
    return ort.OrtValue.ortvalue_from_numpy(array)


def from_ort_value(value: ort.OrtValue) -> Any:
    """An output as an array, or what else it is."""
    if not value.is_tensor() or value.element_type() != BF16.onnx:
        return value.numpy()
    shape = value.shape()
    memory = (ctypes.c_uint16 * math.prod(shape)).from_address(value.data_ptr())
    # A copy: the memory disappears with the OrtValue.
    return np.array(memory, np.uint16).view(BFLOAT16).reshape(shape)
