"""The arrays that callers pass: in this machine's byte order, and without masked values.

Runtimes read an array's memory as it lies, and know neither of another byte order nor of a mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse


def array_of(owner: str, what: str, given: Any) -> NDArray[Any]:
    """An array of anything that NumPy makes one of; see `plain`.

    Raises:
        ValueError: Lists differ in length or hold masked values, or a runtime's value is over an
            array that it misreads.
    """
    if not isinstance(given, np.ndarray):
        check_input(owner, what, given)
        try:
            made = np.asarray(given)
        except ValueError:
            allowed = "an array, or lists of equal lengths"
            remedy = "Pass an array."
            refuse(owner, what, "lists that make no array", allowed, remedy)
        for member in _masked_members(given):
            plain(owner, what, member)
        given = made
    return plain(owner, what, given)


def _masked_members(given: Any) -> Iterator[NDArray[Any]]:
    """The masked arrays in lists; NumPy makes one array of them without their masks."""
    inside = [given]
    while inside:
        each = inside.pop()
        if isinstance(each, list | tuple):
            inside.extend(each)
        elif isinstance(each, np.ma.MaskedArray):
            yield each


def plain(owner: str, what: str, given: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy with the same values in this machine's byte order.

    Raises:
        ValueError: Some of its values are masked.
    """
    if type(given) is not np.ndarray:
        # Only this subclass says that its memory does not hold its values.
        if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
            allowed = "an array without masked values"
            remedy = "Pass array.filled(...)."
            refuse(owner, what, "masked values", allowed, remedy)
        given = np.asarray(given)
    type_ = given.dtype
    if type_.isnative:
        return given
    return given.astype(type_.newbyteorder("="))


def check_shared(owner: str, what: str, given: NDArray[Any]) -> None:
    """Refuses an array in another byte order, whose memory is to be read or written as it lies.

    Raises:
        ValueError: It is in another byte order.
    """
    if not given.dtype.isnative:
        shown = given.dtype.str
        allowed = "in this machine's byte order, since the memory is shared"
        remedy = f"Pass memory of {given.dtype.newbyteorder('=').name}."
        refuse(owner, what, shown, allowed, remedy)


def check_input(owner: str, what: str, value: Any) -> None:
    """Refuses memory that a runtime would misread: in another byte order, or masked in part.

    The value may be a runtime's own, which may show the array that it is over.
    """
    array = _array_under(value)
    if array is not None:
        check_shared(owner, what, array)
        plain(owner, what, array)


def check_output(owner: str, what: str, value: Any) -> None:
    """Refuses memory that a draw may not write, or not in this machine's byte order.

    Raises:
        ValueError: It is in another byte order, or has elements under a hard mask.
    """
    array = _array_under(value)
    if array is None:
        return
    check_shared(owner, what, array)
    if isinstance(array, np.ma.MaskedArray) and array.hardmask and np.ma.is_masked(array):
        allowed = "memory that may be written in whole"
        remedy = "Pass its .data, or call its soften_mask() first."
        refuse(owner, what, "values under a hard mask", allowed, remedy)


def check_bound(owner: str, binding: Any) -> None:
    """Refuses such memory of an `onnxruntime.IOBinding`, as far as that shows it.

    Raises:
        ValueError: It is bound.
    """
    for name, value in shown_inputs(binding).items():
        check_input(owner, f"the input {name!r}", value)
    for name, value in getattr(binding, "_bound_outputs", {}).items():
        check_output(owner, f"the output {name!r}", value)


def shown_inputs(binding: Any) -> dict[str, Any]:
    """The inputs of an `onnxruntime.IOBinding`, as far as that shows them; else None by name."""
    shown = binding._numpy_obj_references
    # Older releases, without this attribute, show arrays only.
    inputs = getattr(binding, "_bound_inputs", shown)
    return {name: shown.get(name) if value is None else value for name, value in inputs.items()}


def _array_under(value: Any) -> NDArray[Any] | None:
    """The array, or the one that an `onnxruntime.OrtValue` on the CPU is over."""
    array = getattr(value, "_numpy_obj", value)
    if not isinstance(array, np.ndarray):
        return None
    return array
