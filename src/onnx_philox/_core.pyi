"""The native core: kernels that fill memory with a draw (custom_ops/python/module.cpp)."""

import numpy as np
from numpy.typing import NDArray

def fill(
    out: NDArray[np.uint8],
    type: str,
    counter_low: int,
    counter_high: int,
    key: int,
    minval: int = 0,
    maxval: int = 0,
) -> None:
    """Fills bytes with a draw; bounds are bit patterns of the type, zero-extended."""

def isa() -> str:
    """The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one."""
