"""Which values without rows leave others nothing to say: as zeros in a product, true in an Or."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from onnx_philox._rewriting.rows.counting import Producer

Value = TypeVar("Value")
Numbers = NDArray[Any]

_MAKERS = frozenset(
    """
    And Equal Eye EyeLike Greater GreaterEqual GreaterOrEqual Less LessEqual
    LessOrEqual LogicalAnd LogicalNot LogicalOr LogicalXor Not NotEqual OneHot Or Pad Scatter
    ScatterElements ScatterElementsUpdate ScatterND ScatterNDUpdate ScatterUpdate Select Trilu Where
    Xor
    """.split()  # noqa: SIM905
)
"""What may give zeros, or the like, of any numbers."""
_REPEATED = frozenset(
    "Broadcast Cast Convert Expand Identity Reshape Squeeze Tile Transpose Unsqueeze".split()  # noqa: SIM905
)
"""What gives all numbers that its first input has, and no others."""
_AS_THEY_ARE = _REPEATED | {"Gather", "Neg", "Negative", "Slice", "StridedSlice"}
"""What gives no others, but for their signs."""
_OF_ALL = frozenset("Add Concat Div Divide Mul Multiply Sub Subtract Sum".split())  # noqa: SIM905
"""What may give zeros, or large numbers, where one of its inputs has some."""
_ENDLESS = frozenset(["Div", "Divide", "Log", "Reciprocal"])
"""What may make endless numbers of zeros."""
MOST_NUMBERS = 2**11
"""Larger tensors are not read: they may have stayed in the model's file."""
_FAR = 1000.0
"""What is less than others by so much is zero behind a Softmax."""
_ENDLESS_FROM = 1e9
"""What is added to a number as large as this leaves it as it is; masks are of such numbers."""
_MOST_NODES = 100


def _has_zero(numbers: Numbers) -> bool:
    return bool((numbers == 0).any())


def _has_true(numbers: Numbers) -> bool:
    return bool((numbers != 0).any())


def _has_far(numbers: Numbers) -> bool:
    # What is no number is far as well.
    return not bool((np.abs(numbers.astype(np.float64)) < _FAR).all())


def _has_highest(numbers: Numbers) -> bool:
    if numbers.dtype.kind in "iu":
        return bool((numbers == np.iinfo(numbers.dtype).max).any())
    return not bool((numbers.astype(np.float64) < _endless_from(numbers)).all())


def _has_lowest(numbers: Numbers) -> bool:
    if numbers.dtype.kind in "iu":
        return bool((numbers == np.iinfo(numbers.dtype).min).any())
    return not bool((numbers.astype(np.float64) > -_endless_from(numbers)).all())


def _endless_from(numbers: Numbers) -> float:
    """The least number of this type that stands for an endless one."""
    is_half = numbers.dtype == np.float16
    return float(np.finfo(np.float16).max) if is_half else _ENDLESS_FROM


def _has_endless(numbers: Numbers) -> bool:
    return _has_highest(numbers) or _has_lowest(numbers)


def _has_flat_exponent(numbers: Numbers) -> bool:
    return _has_zero(numbers) or _has_endless(numbers)


def _has_flat_base(numbers: Numbers) -> bool:
    return _has_flat_exponent(numbers) or bool((numbers == 1).any())


def _has_whole_divisor(numbers: Numbers) -> bool:
    """Whether each integer is a multiple of one of them."""
    return numbers.dtype.kind in "iu" and bool((np.abs(numbers) == 1).any())


def _has_all_bits(numbers: Numbers) -> bool:
    return numbers.dtype.kind in "iu" and bool((~numbers == 0).any())


def _shifts_all_out(numbers: Numbers) -> bool:
    return bool((numbers >= 8 * numbers.dtype.itemsize).any())


@dataclass(frozen=True)
class Use:
    """What a value without rows does to others."""

    is_found: Callable[[Numbers], bool]
    """Whether one of some numbers leaves out what it meets."""
    makers: frozenset[str] = _MAKERS
    """What may make such numbers of others."""
    is_assumed: bool = False
    """Whether numbers that nobody knows before a run may be such ones."""
    of_zeros: Use | None = None
    """Where zeros, or what may be some, make such numbers: in what is divided by them."""


SCALES = Use(_has_zero, is_assumed=True)
"""Others are multiplied by it, each element by one."""
WEIGHS = Use(_has_zero)
"""They are summed up by it, as by the weights of a layer."""
_NONE = frozenset[str]()
IS_ADDED = Use(_has_far, _NONE, is_assumed=True, of_zeros=SCALES)
"""It is added to them, and the sum may come to a Softmax."""
IS_TRUE = Use(_has_true, is_assumed=True)
"""They are true where it is."""
ENDLESS = Use(_has_endless, _NONE, of_zeros=WEIGHS)
"""They are added to it, divided by it, or compared with it."""
LOWEST = Use(_has_lowest, _NONE, of_zeros=WEIGHS)
"""No other is less, so that the least of both is always this one."""
HIGHEST = Use(_has_highest, _NONE, of_zeros=WEIGHS)
"""No other is greater."""
QUOTIENT = (SCALES, ENDLESS)
"""Of what is divided, and by what."""
POWER = (Use(_has_flat_base, of_zeros=WEIGHS), Use(_has_flat_exponent, of_zeros=WEIGHS))
"""1 is 1 in every power, and whatever is raised to the power of 0."""
REST = (SCALES, Use(_has_whole_divisor))
"""Of what is divided, and by what: all integers are multiples of 1."""
BITS = Use(_has_all_bits)
"""Its bits are set in them."""
SHIFTS = (SCALES, Use(_shifts_all_out))
"""Of what is shifted, and by how many bits."""


def may_mask(
    value: Value,
    producer: Callable[[Value], Producer[Value] | None],
    array: Callable[[Value], Numbers | None],
    use: Use,
) -> bool:
    """Whether a value without rows may leave out elements of what it meets.

    Args:
        value: The value.
        producer: What makes a value; None for an input.
        array: The constant that a value is, or the number that it is all of, if it has
            `MOST_NUMBERS` elements at most; None of others.
        use: What it does to them.
    """
    left = [(value, use)]
    for _ in range(_MOST_NODES):
        if not left:
            return False
        each, use = left.pop()
        numbers = array(each)
        if numbers is not None:
            if finds(use, numbers):
                return True
            continue
        node = producer(each)
        if node is None or node.kind in ("Constant", "Parameter"):
            # Only a run knows it, or it is too large to be read.
            if use.is_assumed:
                return True
            continue
        if node.kind in use.makers:
            return True
        if node.kind in _ENDLESS and use.of_zeros is not None:
            left.append((node.inputs[-1], use.of_zeros))
        looked_at: Sequence[Value] = ()
        if node.kind in _AS_THEY_ARE:
            looked_at = node.inputs[:1]
        elif node.kind in _OF_ALL or node.kind in _MAKERS:
            looked_at = node.inputs
        left += [(each, use) for each in looked_at]
    return True


def constant_of(
    value: Value,
    producer: Callable[[Value], Producer[Value] | None],
    array: Callable[[Value], Numbers | None],
) -> Numbers | None:
    """The constant that a value is, or the number that it is all of.

    Args:
        value: The value.
        producer: See `may_mask`.
        array: See `may_mask`.
    """
    numbers = array(value)
    for _ in range(_MOST_NODES):
        node = producer(value)
        if numbers is not None or node is None or node.kind not in _REPEATED:
            break
        value = node.inputs[0]
        numbers = array(value)
        if numbers is not None and numbers.size > 1:
            return None
    return numbers


def finds(use: Use, numbers: Numbers) -> bool:
    """Whether one of some numbers leaves out what it meets."""
    if numbers.dtype.kind in "OSU":
        return False
    # Types that NumPy has not, as bfloat16, are of its kind V.
    read = numbers.astype(np.float32) if numbers.dtype.kind == "V" else numbers
    return bool(read.size) and use.is_found(read)
