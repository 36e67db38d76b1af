"""Words, int32 bits [B, words], to values in OpenVINO, by operations that are exact there."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox._standard.builder import Builder
from onnx_philox._standard.words_limbs import high16, low16

_I32 = ir.DataType.INT32


def unit(b: Builder, words: ir.Value) -> ir.Value:
    """f32 uniforms in [0, 1): an integer, scaled by a power of two, which is exact.

    Nodes:
        words -> And 2^23-1 -> Cast -> Mul 2^-23
    """
    fraction = b("BitwiseAnd", words, b.constant(2**23 - 1, np.int32))
    return b("Mul", b.cast(fraction, ir.DataType.FLOAT), b.constant(2.0**-23, np.float32))


def integers(b: Builder, words: ir.Value, minval: int, maxval: int) -> ir.Value:
    """i32 in a constant range: the remainder of the words, as unsigned numbers.

    Nodes:
        words -> the remainder by a power of two (And), by a large width (up to four times less it),
            or by any other (two quotients in f32) -> Add minval
    """
    rest = _remainder(b, words, maxval - minval)
    return b("Add", rest, b.constant(minval, np.int32))


# Below it a remainder and its error fit in int32.
_WIDE = 2**28


def _remainder(b: Builder, x: ir.Value, width: int) -> ir.Value:
    if width & (width - 1) == 0:
        mask = np.array(width - 1, np.uint32).view(np.int32)
        return b("BitwiseAnd", x, b.constant(mask, np.int32))
    low = low16(b, x)
    if width >= _WIDE:
        # It fits at most 15 times.
        for factor in (8, 4, 2, 1):
            if factor * width < 2**32:
                x = _less_by(b, x, factor * width)
        return x
    # A quotient in f32 is off by 2^-22 of itself at the most: the rest is small, but may be
    # negative. The second one is off by 1.
    high = b.cast(high16(b, x, low), ir.DataType.FLOAT)
    estimate = b("Add", b("Mul", high, _float(b, 2**16)), b.cast(low, ir.DataType.FLOAT))
    for _ in range(2):
        quotient = b.cast(b("Floor", b("Mul", estimate, _float(b, 1 / width))), _I32)
        product = b("Mul", quotient, b.constant(width, np.int32))
        x = b("Sub", x, product)
        estimate = b.cast(x, ir.DataType.FLOAT)
    x = b("Add", x, _where_negative(b, x, width))
    x = b("Sub", x, b.constant(width, np.int32))
    return b("Add", x, _where_negative(b, x, width))


def _where_negative(b: Builder, x: ir.Value, number: int) -> ir.Value:
    """A number where x is negative, else 0."""
    is_negative = b("Less", x, b.constant(0, np.int32))
    return b("Mul", b.cast(is_negative, _I32), b.constant(number, np.int32))


def _less_by(b: Builder, x: ir.Value, number: int) -> ir.Value:
    """Words less a number, where they are at least that, as unsigned numbers."""
    low = low16(b, x)
    low_rest = b("Sub", low, b.constant(number & 0xFFFF, np.int32))
    borrow = b.cast(b("Less", low_rest, b.constant(0, np.int32)), _I32)
    high_rest = b("Sub", high16(b, x, low), b.constant(number >> 16, np.int32))
    is_less = b("Less", b("Sub", high_rest, borrow), b.constant(0, np.int32))
    is_more = b.cast(b("Not", is_less), _I32)
    wrapped = np.array(number, np.uint32).view(np.int32)
    return b("Sub", x, b("Mul", is_more, b.constant(wrapped, np.int32)))


def _float(b: Builder, number: float) -> ir.Value:
    return b.constant(number, np.float32)
