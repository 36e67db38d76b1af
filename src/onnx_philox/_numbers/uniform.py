"""Turns words of the generator into uniform values of each type.

The rule: docs/specification.md, "Uniform values".

For floats, random bits become the fraction of a number in [1, 2), and 1 is subtracted. Ranges are
then `u * (maxval - minval) + minval` with each operation rounded in the output type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.operators import RANDOM_GENERATOR, RANDOM_UNIFORM
from onnx_philox._contract.types import BF16, F16, F32, F64, I32, I64, ElementType
from onnx_philox._numbers.draw import Convert, Distribution, Values, Words


@dataclass(frozen=True)
class Bits(Distribution):
    """Random bits: the words as they are."""

    operator = RANDOM_GENERATOR

    def converter(self, values: ElementType) -> Convert:  # noqa: ARG002
        """The function from words to elements."""
        return lambda _, words: words


@dataclass(frozen=True)
class Uniform(Distribution):
    """Values in [minval, maxval); both bounds of rank 0 and the values' type."""

    operator = RANDOM_UNIFORM
    minval: Values
    maxval: Values

    def converter(self, values: ElementType) -> Convert:
        """The function from words to values."""
        make = _float_converter if values.is_float else _integer_converter
        convert = make(values, self.minval, self.maxval)
        return lambda _, words: convert(words)


def unit(values: ElementType) -> Callable[[Words], Values]:
    """The function from words to f32 or f64 uniforms in [0, 1)."""
    return _unit_f32 if values is F32 else _unit_f64


def _float_converter(
    values: ElementType,
    minval: Values,
    maxval: Values,
) -> Callable[[Words], Values]:
    width = np.subtract(maxval, minval)
    if values in (F32, F64):
        uniform = unit(values)

        def convert(words: Words) -> Values:
            u = uniform(words)
            np.multiply(u, width, out=u)
            return np.add(u, minval, out=u)

        return convert

    # There are so few possible values that computing each of them once is fastest.
    fractions = 1 << _FRACTION_BITS[values]
    units = np.arange(fractions) / fractions
    units = units.astype(values.dtype)
    low = minval.astype(values.dtype)
    table = units * width.astype(values.dtype) + low

    def look_up(words: Words) -> Values:
        index = words & (fractions - 1)
        values_of_words: Values = np.take(table, index)
        return values_of_words

    return look_up


_FRACTION_BITS = {F16: 10, BF16: 7}


def _unit_f32(words: Words) -> Values:
    fraction = words & 0x7FFFFF
    return _minus_one(fraction | 0x3F800000, np.float32)


def _unit_f64(words: Words) -> Values:
    fraction = words[0::2] & 0xFFFFF
    high = fraction | (1023 << 20)
    bits = high.astype(np.uint64) << 32 | words[1::2]
    return _minus_one(bits, np.float64)


def _minus_one(bits: NDArray[Any], dtype: type[np.floating[Any]]) -> Values:
    values = bits.view(dtype)
    return np.subtract(values, 1, out=values)


def _integer_converter(
    values: ElementType,
    minval: Values,
    maxval: Values,
) -> Callable[[Words], Values]:
    unsigned = {I32: np.uint32, I64: np.uint64}[values]
    # Two's complement wraps: views and unsigned arithmetic are the specification's own terms.
    low = minval.reshape(1).view(unsigned)
    width = maxval.reshape(1).view(unsigned) - low

    def convert(words: Words) -> Values:
        x: Values = words
        if values is I64:
            high = words[1::2].astype(np.uint64)
            x = high << 32 | words[0::2]
        # NumPy vectorises division by one number, but not the remainder.
        quotient = np.floor_divide(x, width[0])
        np.multiply(quotient, width, out=quotient)
        np.subtract(x, quotient, out=quotient)
        total = np.add(quotient, low, out=quotient)
        result: Values = total.view(values.dtype)
        return result

    return convert
