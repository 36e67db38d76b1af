"""The native core, if the package was installed with it: fills memory at full speed."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.types import BY_DTYPE
from onnx_philox._numbers import fill_numpy
from onnx_philox._numbers.affine import Affine
from onnx_philox._numbers.bernoulli import Bernoulli
from onnx_philox._numbers.call import Fill
from onnx_philox._numbers.categorical import Categorical
from onnx_philox._numbers.draw import Draw
from onnx_philox._numbers.uniform import Bits, Uniform

try:
    # Not `from onnx_philox import`: while the package loads, that never says "not found".
    import onnx_philox._core as _core
except ImportError as error:
    # Nothing compiled at installation; or it compiled for another machine, and the user must know.
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
    if out.size == 0:
        return
    counter = draw.state.counter
    state = counter & _MASK64, counter >> 64, draw.state.key
    memory, name = out.view(np.uint8), draw.values.name
    states = None if draw.rows is None else _aligned(draw.rows)
    match draw.distribution:
        case Bits():
            _core.fill_uniform(memory, name, *state, states=states)
        case Uniform(minval, maxval):
            bounds = _bits(minval), _bits(maxval)
            _core.fill_uniform(memory, name, *state, *bounds, states)
        case Affine(mean, scale) as affine:
            numbers = _bits(mean), _bits(scale)
            _core.fill_affine(memory, affine.operator.name, name, *state, *numbers, states)
        case Bernoulli(p):
            _core.fill_bernoulli(memory, *state, *_numbers(p), p.ndim > 0, states)
        case Categorical(logits, samples):
            classes = logits.shape[1]
            sizes = classes, samples
            _core.fill_categorical(memory, name, *state, *_numbers(logits), *sizes, states)


def _aligned(states: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The bytes of the states, which the core reads as words."""
    return np.require(states, requirements=["C", "A"]).reshape(-1).view(np.uint8)


def _bits(number: NDArray[Any]) -> int:
    """A number's bit pattern as an unsigned integer."""
    return int.from_bytes(number.tobytes(), "little")


def _numbers(array: NDArray[Any]) -> tuple[NDArray[np.uint8], str]:
    """The bytes of an array, and the core's name for their type."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8), BY_DTYPE[array.dtype].name


fastest_fill: Fill = fill if IS_THERE else fill_numpy.fill
"""By the native core where it is there, else by NumPy: the same bits."""
