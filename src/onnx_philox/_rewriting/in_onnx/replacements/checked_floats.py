"""The constants of a draw of floats, each checked once, however many nodes of a model say it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.arguments import number_array
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.operators import OPERATORS, OUTPUT_TYPE, Operator
from onnx_philox._contract.types import BY_NAME, ElementType

# More than a model's draws differ by.
_KEPT = 1024


def float_array(
    operator: Operator,
    name: str,
    number: float | None,
    values: ElementType,
) -> NDArray[Any]:
    """A bound, mean or scale as an array of its own, as `number_array` makes it."""
    if number is None:  # the attribute refers to one of a function
        return number_array(operator, name, number, values)
    return _array_of_hex(operator.name, name, number.hex(), values.name).copy()


def check_floats(
    operator: Operator,
    values: ElementType,
    parameters: Mapping[str, NDArray[Any]],
    shape: NDArray[np.int64] | None,
) -> None:
    """Checks a node with constants of no dimension as `check_node` does.

    Args:
        operator: The operator.
        values: The type of the constants, and of what is drawn.
        parameters: The constants.
        shape: The shape of the draw; None where it is not known.
    """
    contents = tuple((name, array.tobytes()) for name, array in parameters.items())
    dimensions = None if shape is None else shape.tobytes()
    _check_contents(operator.name, values.name, contents, dimensions)


@functools.lru_cache(_KEPT)
def _array_of_hex(operator: str, name: str, number: str, values: str) -> NDArray[Any]:
    """The array of a number that is given as a text, in which 0 and -0 differ."""
    return number_array(OPERATORS[operator], name, float.fromhex(number), BY_NAME[values])


@functools.lru_cache(_KEPT)
def _check_contents(
    operator: str,
    values: str,
    parameters: tuple[tuple[str, bytes], ...],
    shape: bytes | None,
) -> None:
    """The same by the bytes of the arrays, of which a refusal is not kept."""
    dtype = BY_NAME[values].dtype
    known = {"state": UNKNOWN, "shape": UNKNOWN}
    for name, content in parameters:
        array = np.frombuffer(content, dtype).reshape(())
        known[name] = Known.array(array)
    if shape is not None:
        known["shape"] = Known.array(np.frombuffer(shape, np.int64))
    checks.check_node(OPERATORS[operator], known, {OUTPUT_TYPE: values})
