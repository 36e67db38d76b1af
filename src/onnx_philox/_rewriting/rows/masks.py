"""Which values without rows may be masks, that leave some elements out of what they meet."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from onnx_philox._rewriting.rows.counting import Producer

Value = TypeVar("Value")


class Use(Enum):
    """What a value without rows does to others."""

    SCALES = "they are multiplied by it, each element by one"
    IS_ADDED = "it is added to them, and the sum may come to a Softmax"
    WEIGHS = "they are summed up by it, as by the weights of a layer"


_MAKERS = frozenset(
    """
    And Equal Eye EyeLike Greater GreaterEqual GreaterOrEqual Less LessEqual
    LessOrEqual LogicalAnd LogicalNot LogicalOr LogicalXor Not NotEqual OneHot Or Pad Scatter
    ScatterElements ScatterElementsUpdate ScatterND ScatterNDUpdate ScatterUpdate Select Trilu Where
    Xor
    """.split()  # noqa: SIM905
)
_AS_THEY_ARE = frozenset(
    """
    Add Broadcast Cast Concat Convert Div Divide Expand Gather Identity Mul Multiply Neg Negative
    Reshape Slice StridedSlice Squeeze Sub Subtract Tile Transpose Unsqueeze
    """.split()  # noqa: SIM905
)
"""What may give zeros, or large numbers, where its inputs have some."""
_ENDLESS = frozenset(["Div", "Divide", "Log", "Reciprocal"])
"""What may make endless numbers of zeros."""
MOST_NUMBERS = 2**11
"""Larger tensors are not read: they may have stayed in the model's file."""
_FAR = 1000.0
"""What is less than others by so much is zero behind a Softmax."""
_MOST_NODES = 100


def may_mask(
    value: Value,
    producer: Callable[[Value], Producer[Value] | None],
    array: Callable[[Value], NDArray[Any] | None],
    use: Use,
) -> bool:
    """Whether a value without rows may leave out elements of what it meets.

    Args:
        value: The value.
        producer: What makes a value; None for an input.
        array: The constant that a value is, or the number that it is all of, if it has
            `MOST_NUMBERS` elements at most; None of others.
        use: What it does to them. Larger constants by which they are summed up are weights.
    """
    makers = _ENDLESS if use is Use.IS_ADDED else _MAKERS
    left = [value]
    for _ in range(_MOST_NODES):
        if not left:
            return False
        each = left.pop()
        numbers = array(each)
        if numbers is not None:
            if _has_mask(numbers, use):
                return True
            continue
        node = producer(each)
        if node is None or node.kind in ("Constant", "Parameter"):
            # Only a run knows it, or it is too large to be read.
            return use is not Use.WEIGHS
        if node.kind in makers:
            return True
        if node.kind in _AS_THEY_ARE or node.kind in _MAKERS:
            left += node.inputs
    return True


def _has_mask(numbers: NDArray[Any], use: Use) -> bool:
    if numbers.dtype.kind not in "biuf":
        return False
    if use is Use.IS_ADDED:
        return bool((~(np.abs(numbers.astype(np.float64)) < _FAR)).any())
    return bool((numbers == 0).any())
