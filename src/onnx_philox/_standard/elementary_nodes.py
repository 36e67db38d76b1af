"""ln, sin, cos and exp as nodes: the operations of `_numbers/elementary.py`, one rounding a node.

Where that module reads the bits of a float, these nodes compare and scale by powers of two, which
is exact too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.types import F64, ElementType
from onnx_philox._models.emitter import Values
from onnx_philox._numbers import coefficients as c
from onnx_philox._numbers.elementary import FORMATS
from onnx_philox._standard.builder import Builder

# Their sum is 31, which is enough: no uniform is below 2^-24.
_SHIFTS = (16, 8, 4, 2, 1)
SHIFTS_TO_2_63 = (32, *_SHIFTS)

# By the quarter turn, 0 to 4: whether sine and cosine change places, and their signs.
_IS_ODD = [False, True, False, True, False]
_SIGN_OF_SINE = [1, 1, -1, -1, 1]
_SIGN_OF_COSINE = [1, -1, -1, 1, 1]

# exp scales by up to 2^-1022, which is made of two factors, each from a table.
_FACTORS = 32


def normal_pairs(
    b: Builder,
    u: ir.Value,
    v: ir.Value,
    values: ElementType,
) -> Values:
    """R sin(2 pi v) and r cos(2 pi v), for r = sqrt(-2 ln u) and uniforms in [0, 1).

    Nodes:
        u -> Max 1e-7 -> -2 ln -> Sqrt = r --+-- Mul sine
        v -> sin, cos of turns --------------+-- Mul cosine
    """
    form = FORMATS[values.dtype]
    smallest = b.constant(form.smallest_uniform, values.dtype)
    positive = b("Max", u, smallest)
    doubled = minus_two_ln(b, positive, values)
    r = b("Sqrt", doubled)
    sine, cosine = sin_cos_turns(b, v, values)
    first = b("Mul", r, sine)
    second = b("Mul", r, cosine)
    return first, second


def minus_two_ln(
    b: Builder,
    u: ir.Value,
    values: ElementType,
    shifts: Sequence[int] = _SHIFTS,
) -> ir.Value:
    """-2 ln u, for numbers below 1 and from 2^-31 on; 2^-63, by `SHIFTS_TO_2_63`.

    Nodes:
        u -> for each shift: Less -> Where -> Mul 2^shift        u in [sqrt(1/2), sqrt 2), exponent
        u -> s = (u - 1) / (u + 1) -> polynomial of s^2 -> Mul s -> Add exponent * -2 ln 2
    """
    number = _numbers(b, values)
    form = FORMATS[values.dtype]
    top = 2 * float(form.sqrt_half)
    exponent = None
    for shift in shifts:
        limit = number(top / 2**shift)
        is_small = b("Less", u, limit)
        factor = b("Where", is_small, number(2**shift), number(1))
        u = b("Mul", u, factor)
        step = b("Where", is_small, number(-shift), number(0))
        if exponent is None:
            exponent = step
        else:
            exponent = b("Add", exponent, step)
    assert exponent is not None
    f = b("Sub", u, number(1))
    denominator = b("Add", f, number(2))
    s = b("Div", f, denominator)
    z = b("Mul", s, s)
    inner = _polynomial(b, form.logarithm, z, values)
    inner = b("Mul", inner, z)
    inner = b("Sub", inner, number(4))
    logarithm = b("Mul", s, inner)
    of_exponent = b("Mul", exponent, number(form.minus_two_ln2))
    return b("Add", logarithm, of_exponent)


def sin_cos_turns(b: Builder, v: ir.Value, values: ElementType) -> Values:
    """sin(2 pi v) and cos(2 pi v), for v in [0, 1).

    Nodes:
        v -> Round(4 v) = quarter -> t = v - quarter / 4 -> polynomials of t^2 = sine, cosine
        quarter -> Gather whether they swap, and their signs -> Where -> Mul
    """
    number = _numbers(b, values)
    form = FORMATS[values.dtype]
    quarters = b("Mul", v, number(4))
    quarter = b("Round", quarters)
    turns = b("Mul", quarter, number(0.25))
    t = b("Sub", v, turns)
    z = b("Mul", t, t)
    odd_part = _polynomial(b, form.sine, z, values)
    sine = b("Mul", t, odd_part)
    even_part = _polynomial(b, form.cosine, z, values)
    cosine = b("Mul", even_part, z)
    cosine = b("Add", cosine, number(1))

    index = b.cast(quarter, ir.DataType.INT32)
    swaps = b.constant(_IS_ODD, np.bool_)
    is_odd = b("Gather", swaps, index)
    signs = b.constant(_SIGN_OF_SINE, values.dtype)
    sign_of_sine = b("Gather", signs, index)
    signs = b.constant(_SIGN_OF_COSINE, values.dtype)
    sign_of_cosine = b("Gather", signs, index)
    first = b("Where", is_odd, cosine, sine)
    first = b("Mul", first, sign_of_sine)
    second = b("Where", is_odd, sine, cosine)
    second = b("Mul", second, sign_of_cosine)
    return first, second


def exp_nonpositive(b: Builder, x: ir.Value) -> ir.Value:
    """exp(x), for f64 x <= 0; 0 below -708.

    Nodes:
        x -> n = Round(x / ln 2) -> r = x - n ln 2 -> polynomial of r -> Mul 2^n by two tables
    """
    number = _numbers(b, F64)
    is_zero = b("Less", x, number(c.SMALLEST_EXPONENT))
    x = b("Where", is_zero, number(0), x)
    ratio = b("Mul", x, number(c.LOG2_E))
    n = b("Round", ratio)
    high = b("Mul", n, number(c.LN2_HIGH))
    r = b("Sub", x, high)
    low = b("Mul", n, number(c.LN2_LOW))
    r = b("Sub", r, low)
    y = _polynomial(b, c.EXPONENTIAL_F64, r, F64)
    y = b("Mul", y, r)
    y = b("Add", y, number(1))
    index = b("Neg", n)
    index = b.cast(index, ir.DataType.INT64)
    factors = b.constant(_FACTORS)
    low_digit = b("Mod", index, factors)
    high_digit = b("Div", index, factors)
    for digit, exponent in (
        (low_digit, 1),
        (high_digit, _FACTORS),
    ):
        table = [2.0 ** (-i * exponent) for i in range(_FACTORS)]
        factor = b("Gather", b.f64(table), digit)
        y = b("Mul", y, factor)
    return b("Where", is_zero, number(0), y)


def _numbers(b: Builder, values: ElementType) -> Any:
    return lambda number: b.constant(number, values.dtype)


def _polynomial(
    b: Builder,
    coefficients: Any,
    x: ir.Value,
    values: ElementType,
) -> ir.Value:
    """Horner's rule from the highest power; coefficients are given lowest power first."""
    number = _numbers(b, values)
    *rest, highest = coefficients
    result: ir.Value = number(highest)
    for coefficient in reversed(rest):
        product = b("Mul", result, x)
        result = b("Add", product, number(coefficient))
    return result
