"""Keeps subnormal numbers in arithmetic, whatever the host process has set.

ONNX Runtime (``session.set_denormal_as_zero``) and OpenVINO can make their threads flush subnormals
to zero. NumPy then computes different numbers from bounds near zero, and the contract says that no
caller's setting changes a bit.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

# Where glibc's fenv_t keeps the control word, and the word's flush bits: MXCSR's FTZ and DAZ,
# FPCR's FZ. glibc's own FE_DFL_ENV leaves DAZ as it is.
_CONTROL_WORD = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}
_FENV_BYTES = 64

_F32 = np.finfo(np.float32)
_TINY = np.array([_F32.smallest_subnormal, _F32.tiny])
_FACTORS = np.array([2.0, 0.5], np.float32)


def are_flushed() -> bool:
    """Whether this thread loses subnormal operands or results."""
    return not np.multiply(_TINY, _FACTORS).all()


@contextmanager
def kept() -> Iterator[None]:
    """Keeps subnormals in this thread during the block, then restores the setting.

    Raises:
        RuntimeError: This thread flushes them, and this module knows no way to keep them on this
            platform.
    """
    if not are_flushed():
        yield
        return
    place = _CONTROL_WORD.get(platform.machine()) if sys.platform == "linux" else None
    if place is None:
        raise RuntimeError(
            "onnx-philox: arithmetic must be that of IEEE 754: got a thread that flushes subnormal "
            "numbers to zero, which would change the numbers drawn. Switch the flushing off in the "
            "host."
        )
    offset, flush_bits = place
    libm = ctypes.CDLL("libm.so.6")
    saved = (ctypes.c_uint8 * _FENV_BYTES)()
    libm.fegetenv(saved)
    cleared = (ctypes.c_uint8 * _FENV_BYTES)(*saved)
    word = ctypes.c_uint32.from_buffer(cleared, offset)
    word.value &= ~flush_bits
    libm.fesetenv(cleared)
    try:
        yield
    finally:
        libm.fesetenv(saved)
