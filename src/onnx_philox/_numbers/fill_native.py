"""The native core, if the package was installed with it: fills memory at full speed."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BY_DTYPE, ElementType
from onnx_philox._numbers import fill_numpy
from onnx_philox._numbers.call import Fill
from onnx_philox._numbers.draw import Distribution, Draw

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


def fill(draw: Draw, *outs: NDArray[Any]) -> None:
    """Fills arrays of rank 1 with the kernels of this processor; releases the GIL.

    What the core does not know is drawn by NumPy: the same bits, slower.

    Raises:
        RuntimeError: ONNX_PHILOX_ISA names kernels that do not exist or cannot run here.
    """
    if outs[0].size == 0:
        return
    name = draw.distribution.operator.name
    if name not in _core.OPERATORS:
        fill_numpy.fill(draw, *outs)
        return
    counter = draw.state.counter
    state = counter & _MASK64, counter >> 64, draw.state.key
    states = None if draw.rows is None else _aligned(draw.rows)
    _core.fill(
        [out.view(np.uint8) for out in outs],
        name,
        draw.values.name,
        *state,
        *_parameters(draw.distribution),
        states,
    )


class PreparedFill:
    """A distribution of single numbers, which the core has looked at before it draws."""

    def __init__(self, values: ElementType, distribution: Distribution) -> None:
        operator = distribution.operator.name
        self._fill = _core.Prepared(operator, values.name, *_parameters(distribution)).fill

    def fill(self, state: PhiloxState, out: NDArray[Any]) -> PhiloxState:
        """Fills a contiguous array of the values' type from a state; returns the next state.

        Raises:
            BufferError: The array is not contiguous, or read-only. Likewise ValueError.
            RuntimeError: As `fill`.
        """
        counter = state.counter
        low, high = self._fill(out, counter & _MASK64, counter >> 64, state.key)
        return PhiloxState.of(high << 64 | low, state.key)


def _parameters(distribution: Distribution) -> tuple[list[Any], dict[str, int]]:
    """The fields of a distribution, as the core takes them: numbers, and attributes."""
    numbers, attributes = [], {}
    for name, value in vars(distribution).items():
        if isinstance(value, np.ndarray | np.generic):
            data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            numbers.append((name, BY_DTYPE[value.dtype].name, value.shape, data))
        elif value is not None:
            attributes[name] = value
    return numbers, attributes


def _aligned(states: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The bytes of the states, which the core reads as words."""
    return np.require(states, requirements=["C", "A"]).reshape(-1).view(np.uint8)


fastest_fill: Fill = fill if IS_THERE else fill_numpy.fill
"""By the native core where it is there, else by NumPy: the same bits."""
