"""The native core: kernels that fill memory with a draw (custom_ops/python/module.cpp).

With `states`, the bytes of an array [rows, 6], counter and key are what is added to each of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPERATORS: frozenset[str]
"""The operators that it draws, by their names."""

def fill(
    outs: Sequence[NDArray[np.uint8]],
    operator: str,
    type: str,
    counter_low: int,
    counter_high: int,
    key: int,
    numbers: Sequence[tuple[str, str, Sequence[int], NDArray[np.uint8]]],
    attributes: Mapping[str, int],
    states: NDArray[np.uint8] | None = None,
) -> None:
    """Fills bytes with what an operator draws, of each output.

    Its parameters are numbers, each with its name, type, shape and bytes. Which numbers they are is
    not checked where there may be many.
    """

class Prepared:
    """What an operator draws from one state, its parameters single numbers."""

    def __init__(
        self,
        operator: str,
        type: str,
        numbers: Sequence[tuple[str, str, Sequence[int], NDArray[np.uint8]]],
        attributes: Mapping[str, int],
    ) -> None: ...
    def fill(
        self, out: NDArray[Any], counter_low: int, counter_high: int, key: int
    ) -> tuple[int, int]:
        """Fills writable, contiguous memory; returns the halves of the next counter, low first."""

class TorchStream:
    """torch's CPU generator while numbers are drawn from it, from a state of 632 words on."""

    def __init__(self, state: NDArray[np.uint8]) -> None: ...
    def fill(
        self,
        out: NDArray[np.uint8],
        distribution: str,
        type: str,
        first: float = 0.0,
        second: float = 0.0,
        low: int = 0,
        high: int = 0,
        p: NDArray[np.uint8] | None = None,
        is_p_f64: bool = False,
    ) -> None:
        """Fills bytes with one call of torch's (custom_ops/core/kernels/torch_stream.h)."""

    def race(
        self, out: NDArray[np.uint8], weights: NDArray[np.uint8], classes: int, samples: int
    ) -> None:
        """Fills int64 with the classes that win a race, from rows of float32 weights."""

    def write(self, state: NDArray[np.uint8]) -> None:
        """Writes where it is over the bytes of the state that it began with."""

def memory(root: str = "") -> tuple[int, int, int]:
    """What memory is free, addressable and held; 2^64-1 for no limit. Reads files below `root`."""

def isa() -> str:
    """The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one."""
