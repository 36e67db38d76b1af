"""The native core: kernels that fill memory with a draw (custom_ops/python/module.cpp).

With `states`, the bytes of an array [rows, 6], counter and key are what is added to each of them.
"""

import numpy as np
from numpy.typing import NDArray

def fill_uniform(
    out: NDArray[np.uint8],
    type: str,
    counter_low: int,
    counter_high: int,
    key: int,
    minval: int = 0,
    maxval: int = 0,
    states: NDArray[np.uint8] | None = None,
) -> None:
    """Fills bytes with random bits, or numbers in a range; bounds are bit patterns of the type."""

def fill_affine(
    out: NDArray[np.uint8],
    operator: str,
    type: str,
    counter_low: int,
    counter_high: int,
    key: int,
    mean: int,
    scale: int,
    states: NDArray[np.uint8] | None = None,
) -> None:
    """Fills bytes with what an operator of two moments draws, given as bit patterns of the type."""

def fill_bernoulli(
    out: NDArray[np.uint8],
    counter_low: int,
    counter_high: int,
    key: int,
    p: NDArray[np.uint8],
    p_type: str,
    each: bool,
    states: NDArray[np.uint8] | None = None,
) -> None:
    """Fills bytes with 0 and 1, by one probability or one for each."""

def fill_categorical(
    out: NDArray[np.uint8],
    type: str,
    counter_low: int,
    counter_high: int,
    key: int,
    logits: NDArray[np.uint8],
    logits_type: str,
    classes: int,
    samples: int,
    states: NDArray[np.uint8] | None = None,
) -> None:
    """Fills bytes with classes, so many samples of each row of logits."""

ALWAYS_THERE: int

def memory(root: str = "") -> tuple[int, int, int]:
    """What memory is free, addressable and held; 2^64-1 for no limit. Reads files below `root`."""

def isa() -> str:
    """The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one."""
