"""The arrays that callers pass: in this machine's byte order, and without masked values.

Runtimes read an array's memory as it lies, and know neither of another byte order nor of a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse


def array_of(owner: str, what: str, given: Any) -> NDArray[Any]:
    """An array of anything that NumPy makes one of; see `plain`."""
    return plain(owner, what, given if isinstance(given, np.ndarray) else np.asarray(given))


def plain(owner: str, what: str, given: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy with the same values in this machine's byte order.

    Args:
        owner: Who refuses.
        what: What the array is, for messages.
        given: The array.

    Raises:
        ValueError: Some of its values are masked.
    """
    if type(given) is not np.ndarray:
        # Of its subclasses, only this one says that its memory does not hold its values.
        if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
            allowed, remedy = "an array without masked values", "Pass array.filled(...)."
            refuse(owner, what, "masked in part", allowed, remedy)
        given = np.asarray(given)
    type_ = given.dtype
    return given if type_.isnative else given.astype(type_.newbyteorder("="))


def check_shared(owner: str, what: str, given: NDArray[Any]) -> None:
    """Refuses an array in another byte order, whose memory is to be read or written as it lies.

    Raises:
        ValueError: It is in another byte order.
    """
    if not given.dtype.isnative:
        shown = f"{given.dtype.str}, of another byte order than this machine's"
        allowed = "this machine's byte order, since the memory is shared"
        remedy = f"Pass memory of {given.dtype.newbyteorder('=').name}."
        refuse(owner, what, shown, allowed, remedy)
