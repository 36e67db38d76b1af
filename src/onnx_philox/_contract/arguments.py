"""What Python callers pass: flags, and lists of numbers, which become the operators' tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks, float_environment, given_arrays
from onnx_philox._contract import sentences as say
from onnx_philox._contract.operators import Input, Operator, Role, type_names
from onnx_philox._contract.refusal import shown
from onnx_philox._contract.state import index_of
from onnx_philox._contract.types import ElementType


def check_bool(owner: str, what: str, given: Any) -> None:
    """Refuses what is neither True nor False.

    Raises:
        TypeError: It is such a thing.
    """
    if not isinstance(given, bool | np.bool_):
        checks.refuse(
            owner,
            what,
            shown(given),
            "True or False",
            "Pass a bool.",
            TypeError,
        )


def plain_array(op: Operator | str, what: str, given: Any) -> NDArray[Any]:
    """What `given` is to NumPy, as `given_arrays.array_of` makes it."""
    owner = op if isinstance(op, str) else op.name
    array = given_arrays.array_of(owner, what, given)
    if array.dtype.kind in "OSU" and not isinstance(given, np.ndarray):
        remedy = "Pass an array."
        checks.refuse(
            op,
            what,
            shown(given),
            "an array of numbers",
            remedy,
            TypeError,
        )
    return array


def shape_array(op: Operator | str, shape: Any) -> NDArray[np.int64]:
    """A sequence of ints as the int64 tensor of the input `shape`."""
    what = say.INPUT.format("shape")
    try:
        dimensions = [index_of(d) for d in shape]
    except TypeError:
        dimensions = [None]
    if None in dimensions:
        allowed = "a sequence of integers"
        remedy = "Pass a list of ints."
        checks.refuse(
            op,
            what,
            shown(shape),
            allowed,
            remedy,
            TypeError,
        )
    try:
        return np.array(dimensions, np.int64)
    except OverflowError:
        allowed = "dimensions within int64"
        checks.refuse(
            op,
            what,
            shown(shape),
            allowed,
            say.DRAW_IN_PARTS,
        )


def _float_of(given: Any) -> float:
    """A number as a float; a text is none, even where `float` reads one in it."""
    if isinstance(given, str | bytes | bytearray):
        raise TypeError
    return float(given)


@float_environment.kept()
def number_array(
    op: Operator | str,
    name: str,
    given: Any,
    values: ElementType,
) -> NDArray[Any]:
    """A bound, mean or scale as an array of the output's type.

    A number is converted if that type can hold it. An array stays as it is, to be checked like a
    node's input.
    """
    what = say.INPUT.format(name)
    if isinstance(given, np.ndarray):
        return plain_array(op, what, given)
    number: Any
    try:
        number = _float_of(given) if values.is_float else given.__index__()
    except (TypeError, AttributeError, ValueError):
        allowed = "a number" if values.is_float else "an integer"
        remedy = f"Pass {allowed} for {values.name}."
        checks.refuse(
            op,
            what,
            shown(given),
            allowed,
            remedy,
            TypeError,
        )
    except OverflowError:
        number = math.inf
    if not values.is_float:
        limits = np.iinfo(values.dtype)
        if not limits.min <= number <= limits.max:
            allowed = f"an integer from {limits.min} to {limits.max}"
            checks.refuse(
                op,
                what,
                number,
                allowed,
                f"Pass a number within {values.name}.",
            )
        return np.array(number, values.dtype)
    with np.errstate(over="ignore"):
        array = np.array(number, values.dtype)
    if np.isinf(array) and math.isfinite(number):
        allowed = f"a number within {values.name}"
        checks.refuse(op, what, number, allowed, "Pass a smaller number.")
    return array


def parameter_array(
    op: Operator | str,
    declared: Input,
    given: Any,
    values: ElementType | None,
) -> NDArray[Any]:
    """A parameter as an array; `values` is the type of the values, if it may be that of `given`."""
    if declared.role in (Role.LOGITS, Role.DATA):
        array = plain_array(op, f"input {declared.name!r}", given)
        if array.ndim:
            array = np.ascontiguousarray(array)
        return array
    if declared.types:
        return numbers_array(op, declared, given)
    assert values is not None, "their type is that of the values"
    return number_array(op, declared.name, given, values)


@float_environment.kept()
def numbers_array(op: Operator | str, declared: Input, given: Any) -> NDArray[Any]:
    """Numbers, one or one for each element, as an array of one of an input's own types.

    A Python number becomes the first of them. A NumPy number or array stays as it is, to be checked
    like a node's input.
    """
    what = say.INPUT.format(declared.name)
    type_ = declared.types[0]
    numbers = declared.numbers
    assert numbers is not None, "for its role"
    if isinstance(given, np.ndarray | np.generic):
        return plain_array(op, what, given)
    number: Any
    try:
        if isinstance(given, bool) and not type_.is_float:
            raise TypeError
        number = _float_of(given) if type_.is_float else given.__index__()
    except (TypeError, AttributeError, ValueError, OverflowError):
        a_number = "a number" if type_.is_float else "an integer"
        kinds = f"{a_number}, or an array of {type_names(declared.types)}"
        is_list = isinstance(given, list | tuple)
        remedy = "Pass one of these."
        if is_list:
            remedy = f"Pass np.array(..., np.{type_.dtype})."
        checks.refuse(
            op,
            what,
            shown(given),
            kinds,
            remedy,
            TypeError,
        )
    limits = numbers.limits(type_)
    low, high = (limit.item() for limit in limits)
    if high < number < math.inf == numbers.high:
        # Its rule names no limit.
        allowed = f"a number within {type_.name}"
        checks.refuse(op, what, number, allowed, numbers.remedy)
    if not low <= number <= high:
        # The type may round it to a valid number.
        checks.refuse(op, what, number, numbers.rule, numbers.remedy)
    return np.array(number, type_.dtype)
