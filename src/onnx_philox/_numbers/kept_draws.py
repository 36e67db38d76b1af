"""What `generate` keeps of a draw that it has checked, for the calls that are like it.

Such calls are of one operator, for memory of one type and shape, for equal single numbers, and for
arrays of equal types and shapes. Each brings its state, its memory and its arrays, whose numbers
the core checks. What the core refuses is asked again as if it were the first, so that a refusal
always says the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _native
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers import fill_native
from onnx_philox._numbers.draw import Distribution

_SCALARS = np.floating, np.integer

Key = tuple[Any, ...]

KEPT: dict[Key, _native.Call | None] = {}
"""Kept draws by their keys; None for a key whose draw cannot be kept."""
_MOST_KEPT = 256


def is_plain(number: Any) -> bool:
    """Whether a number can be part of a key: equal ones of its type must draw the same.

    -0.0 equals 0.0, and does not.
    """
    kind = type(number)
    if number is None or kind is int:
        return True
    if kind is not float and (kind is np.ndarray or not isinstance(number, _SCALARS)):
        return False
    return number != 0 or math.copysign(1, number) > 0


def key_of(operator: str | None, names: tuple[str, ...], given: Sequence[Any]) -> Key | None:
    """What a call has in common with those that the same kept draw can take.

    Args:
        operator: The operator's name, if one is given.
        names: The names of the arguments.
        given: These arguments, then the memory.

    Returns:
        The key of the draw; None where nothing is kept for such arguments.
    """
    common: list[Any] = []
    for each in given:
        if type(each) is np.ndarray:
            # One integer holds all flags: arrays for which it is equal are equally contiguous,
            # aligned and writable.
            common.append((each.dtype, each.shape, each.flags.num))
        elif each is None:
            common.append(None)
        elif is_plain(each):
            common.append((type(each), each))
        else:
            return None
    return operator, names, *common


def keep(key: Key, draw: _native.Call | None) -> None:
    """Keeps a draw for the calls that are like the one that it was made for."""
    if len(KEPT) >= _MOST_KEPT:
        KEPT.clear()
    KEPT[key] = draw


def packed(
    values: ElementType,
    distribution: Distribution,
    arrays: Sequence[NDArray[Any]],
    outs: Sequence[NDArray[Any] | None],
    places: Sequence[int],
) -> _native.Call:
    """A draw that was carried out, so it has passed every check, packed for the core.

    Args:
        values: The type of the elements.
        distribution: What was drawn.
        arrays: The arrays that the caller gave, outputs apart.
        outs: The memory that was filled, for each output; None where nobody wants it.
        places: Where the arrays, and then the memory, are in what a call gives.

    Raises:
        ValueError: The core does not read one of the arrays as it was given, or does not know the
            operator.
    """
    operator = distribution.operator.name
    if operator not in _native.OPERATORS:
        raise ValueError(f"the core does not know {operator}")
    for given in (*arrays, *outs):
        if given is not None and not (given.flags.c_contiguous and given.flags.aligned):
            raise ValueError("the core does not read such memory")
    flat = [None if out is None else out.reshape(-1) for out in outs]
    first = flat[0]
    assert first is not None, "the caller's memory"
    inputs, attributes = fill_native.arguments(values, distribution, (first.size,))
    replaced = [_place(array, inputs) for array in arrays]
    return _native.Call(operator, inputs, attributes, flat, replaced, places)


def _place(array: NDArray[Any], inputs: Sequence[_native.Input]) -> int:
    """Which of the core's inputs lies where the caller's array does."""
    places = [
        place
        for place, (_, _, given) in enumerate(inputs)
        if given.nbytes == array.nbytes and given.ctypes.data == array.ctypes.data
    ]
    if len(places) != 1 or array.nbytes == 0:
        raise ValueError("it was converted, left out, or given twice")
    return places[0]
