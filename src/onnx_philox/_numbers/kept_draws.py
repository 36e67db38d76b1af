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
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers import fill_native
from onnx_philox._numbers.draw import Distribution

_SCALARS = np.floating, np.integer


def is_plain(number: Any) -> bool:
    """Whether equal numbers of a type mean the same, which is not so of -0.0 and of objects."""
    if number is None or type(number) is int:
        return True
    if type(number) is not float and not isinstance(number, _SCALARS):
        return False
    return number != 0 or math.copysign(1, number) > 0


def in_common(given: Any) -> Any:
    """What an argument has in common with those that the same kept draw can take.

    Raises:
        TypeError: Nothing is kept for such an argument.
    """
    if given is None:
        return None
    if type(given) is np.ndarray:
        flags = given.flags
        if flags.c_contiguous and flags.aligned:
            # Memory that was filled once is writable, and so is all that is like it.
            return given.dtype, given.shape, flags.writeable
    elif is_plain(given):
        return type(given), given
    raise TypeError("nothing is kept for it")


class KeptDraw:
    """A draw that was carried out, so it has passed every check, packed for the core.

    Args:
        values: The type of the elements.
        distribution: What was drawn.
        arrays: The arrays that the caller gave, outputs apart.
        outs: The memory that was filled, for each output; None where nobody wants it.

    Raises:
        ValueError: The core does not read one of the arrays as it was given, or does not know the
            operator.
    """

    def __init__(
        self,
        values: ElementType,
        distribution: Distribution,
        arrays: Sequence[NDArray[Any]],
        outs: Sequence[NDArray[Any] | None],
    ) -> None:
        operator = distribution.operator.name
        if operator not in _native.OPERATORS:
            raise ValueError(f"the core does not know {operator}")
        flat = [None if out is None else out.reshape(-1) for out in outs]
        first = flat[0]
        assert first is not None, "the caller's memory"
        inputs, attributes = fill_native.arguments(values, distribution, (first.size,))
        replaced = [_place(array, inputs) for array in arrays]
        self._call = _native.Call(operator, inputs, attributes, flat, replaced)

    def draw(self, state: PhiloxState, arrays: Sequence[NDArray[Any]]) -> PhiloxState | None:
        """Draws by the arrays of this call, into the memory that follows them.

        Returns:
            The next state; None if the core refused, and nothing was drawn.
        """
        key = state.key
        counter = self._call.run(state.counter, key, arrays)
        return None if counter is None else PhiloxState.of(counter, key)


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
