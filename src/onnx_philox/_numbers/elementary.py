"""ln, sin, cos and exp as fixed sequences of correctly rounded operations.

The rule: docs/specification.md, "Elementary functions".

They use only `+ - * / sqrt` and integer operations, one rounding each, in this order. So NumPy,
plain C++ and every vector instruction set give the same bits (`elementary.h` of
`custom_ops/core/kernels` is the same in C++). Errors, against exact values: a normal within 2e-6
(float32) and 1e-13 (float64).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._numbers import coefficients as c

Floats = NDArray[Any]


@dataclass(frozen=True)
class _FloatFormat:
    """What the sequences need to know of a float type."""

    unsigned: type[np.unsignedinteger[Any]]
    signed: type[np.signedinteger[Any]]
    fraction_bits: int
    smallest_uniform: np.floating[Any]
    sqrt_half: np.floating[Any]
    minus_two_ln2: np.floating[Any]
    magic: np.floating[Any]
    logarithm: tuple[np.floating[Any], ...]
    sine: tuple[np.floating[Any], ...]
    cosine: tuple[np.floating[Any], ...]


_TABLES = (
    "SMALLEST_UNIFORM",
    "SQRT_HALF",
    "MINUS_TWO_LN2",
    "MAGIC",
    "LOGARITHM",
    "SINE",
    "COSINE",
)


def _format(
    unsigned: Any,
    signed: Any,
    bits: int,
    name: str,
) -> _FloatFormat:
    tables = (getattr(c, f"{table}_{name}") for table in _TABLES)
    return _FloatFormat(unsigned, signed, bits, *tables)


FORMATS = {
    np.dtype(np.float32): _format(np.uint32, np.int32, 23, "F32"),
    np.dtype(np.float64): _format(np.uint64, np.int64, 52, "F64"),
}


def normal_pairs(u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Two standard normals of each pair of uniforms, by Box and Muller.

    Args:
        u: float32 or float64, in [0, 1); below 1e-7 it counts as 1e-7, as in TensorFlow.
        v: Likewise, of the same type and shape.

    Returns:
        r sin(2 pi v) and r cos(2 pi v), for r = sqrt(-2 ln u).
    """
    form = FORMATS[u.dtype]
    above_zero = np.maximum(u, form.smallest_uniform)
    r = np.sqrt(minus_two_ln(above_zero))
    sine, cosine = sin_cos_turns(v)
    return r * sine, r * cosine


def minus_two_ln(u: Floats) -> Floats:
    """-2 ln u, for positive normal numbers.

    u is 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and ln(1 + f) is a series in f / (2 + f).
    """
    form = FORMATS[u.dtype]
    number = u.dtype.type
    first = form.sqrt_half.view(form.signed)
    bits = u.view(form.signed) - first
    exponent = bits >> form.fraction_bits
    exponent = exponent.astype(u.dtype)
    mask = form.signed((1 << form.fraction_bits) - 1)
    fraction = bits & mask
    above_root = fraction + first
    f = above_root.view(u.dtype) - number(1)
    s = f / (f + number(2))
    z = s * s
    polynomial = _polynomial(form.logarithm, z)
    series = s * (polynomial * z - number(4))
    result: Floats = series + exponent * form.minus_two_ln2
    return result


def ln(x: Floats) -> Floats:
    """The natural logarithm, for positive normal numbers."""
    result: Floats = minus_two_ln(x) * x.dtype.type(-0.5)
    return result


@cache
def _ln_factorials() -> Floats:
    """Ln k! for k below 256, rounded once: the table of the native core."""
    with localcontext(prec=40):
        exact = [Decimal(math.factorial(k)).ln() for k in range(256)]
        logarithms = [float(logarithm) for logarithm in exact]
        return np.array(logarithms)


def ln_factorial(k: Floats) -> Floats:
    """Ln k!, for float64 integers k >= 0: from a table below 256, then by Stirling's series.

    Within 4 units in the last place.
    """
    known = _ln_factorials()
    is_small = k < known.size
    index = np.where(is_small, k, 0).astype(np.int64)
    table: Floats = known[index]
    k = np.where(is_small, np.float64(known.size), k)
    r = np.float64(1) / k
    correction = c.STIRLING_FIRST - r * r * c.STIRLING_SECOND
    series = c.STIRLING_CONSTANT + r * correction
    half = np.float64(0.5)
    one = np.float64(1)
    approximation = (k + half) * (ln(k) - one) + series
    return np.where(is_small, table, approximation)


def sin_cos_turns(v: Floats) -> tuple[Floats, Floats]:
    """sin(2 pi v) and cos(2 pi v), for v in [0, 1).

    v is n quarter turns and t, at most an eighth, which is exact; adding `magic` rounds to n.
    """
    form = FORMATS[v.dtype]
    number = v.dtype.type
    shifted = v * number(4) + form.magic
    n = shifted.view(form.unsigned)
    turns = (shifted - form.magic) * number(0.25)
    t = v - turns
    z = t * t
    sine = t * _polynomial(form.sine, z)
    cosine = _polynomial(form.cosine, z) * z + number(1)

    one = form.unsigned(1)
    two = form.unsigned(2)
    is_odd = (n & one).astype(bool)
    bits = 8 * one.nbytes
    to_sign = form.unsigned(bits - 2)
    sign_of_sine = (n & two) << to_sign
    sign_of_cosine = ((n + one) & two) << to_sign
    return (
        _flip(np.where(is_odd, cosine, sine), sign_of_sine),
        _flip(np.where(is_odd, sine, cosine), sign_of_cosine),
    )


def exp_nonpositive(x: Floats) -> Floats:
    """exp(x), for float64 x <= 0; 0 below -708, where it would no longer be a normal number.

    x is n ln 2 + r, and 2^n is added to the exponent of exp(r).
    """
    is_zero = x < c.SMALLEST_EXPONENT
    x = np.where(is_zero, np.float64(0), x)
    shifted = x * c.LOG2_E + c.MAGIC_F64
    n = shifted - c.MAGIC_F64
    r = (x - n * c.LN2_HIGH) - n * c.LN2_LOW
    polynomial = _polynomial(c.EXPONENTIAL_F64, r)
    y = polynomial * r + np.float64(1)
    # The low bits of `shifted` hold the integer n; the shift drops the bits above.
    exponent = shifted.view(np.uint64) << np.uint64(52)
    scaled = y.view(np.uint64) + exponent
    powers = scaled.view(np.float64)
    return np.where(is_zero, np.float64(0), powers)


def _polynomial(coefficients: tuple[np.floating[Any], ...], x: Floats) -> Floats:
    """Horner's rule from the highest power; coefficients are given lowest power first."""
    *rest, y = coefficients
    result: Floats = np.asarray(y)
    for coefficient in reversed(rest):
        result = result * x + coefficient
    return result


def _flip(x: Floats, sign: NDArray[Any]) -> Floats:
    bits = x.view(sign.dtype) ^ sign
    flipped: Floats = bits.view(x.dtype)
    return flipped
