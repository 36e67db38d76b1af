"""The native core, where the package was installed with it: fills memory at full speed."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import reference
from onnx_philox._calls import Fill
from onnx_philox._draws import Bits, Draw, Uniform

try:
    from onnx_philox import _core
except ImportError as error:
    # Installed where nothing compiled; or compiled for another machine, which is worth saying.
    IS_THERE = False
    if not isinstance(error, ModuleNotFoundError):
        logging.getLogger("onnx_philox").warning("onnx_philox: no native core: %s", error)
else:
    IS_THERE = True

_MASK64 = 2**64 - 1


def fill(draw: Draw, out: NDArray[Any]) -> None:
    """Fills an array of rank 1 with the kernels of this processor; releases the GIL.

    Raises:
        RuntimeError: ONNX_PHILOX_ISA names kernels that do not exist or cannot run here.
    """
    bounds: tuple[NDArray[Any], ...]
    match draw.distribution:
        case Bits():
            bounds = ()
        case Uniform(minval, maxval):
            bounds = (minval, maxval)
        case _:
            reference.fill(draw, out)
            return
    counter = draw.state.counter
    _core.fill(
        out.view(np.uint8),
        draw.values.name,
        counter & _MASK64,
        counter >> 64,
        draw.state.key,
        *map(_bits, bounds),
    )


def _bits(bound: NDArray[Any]) -> int:
    """A bound's bit pattern as an unsigned number."""
    return int.from_bytes(bound.tobytes(), "little")


fastest_fill: Fill = fill if IS_THERE else reference.fill
"""By the native core where it is there, else by NumPy: the same bits."""
