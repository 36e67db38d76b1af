"""ln, sin and cos as torch's CPU draws need them (docs/specification.md, "torch's numbers").

In float32 they are those of Cephes, by S. L. Moshier, in the form of J. Pommier and G. Garberoglio
(avx_mathfun, see THIRD_PARTY_LICENSES) that torch uses, with the products and sums fused that its
compiler fuses: the same bits. In float64 torch calls the C library, which differs from system to
system; here they are series of our own, the same everywhere, within an ulp of the exact value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnx_philox._numbers import coefficients as c
from onnx_philox._numbers.fused import F32s, F64s, exact_product, exact_sum, multiply_add_f32

_F32 = np.float32

# ln(1 + x) is x - x^2 / 2 + x^3 P(x), highest power first.
_LOGARITHM = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_SQRT_HALF = 0.707106781186547524
# ln 2 in two parts.
_LN2_SMALL = -2.12194440e-4
_LN2_LARGE = 0.693359375

_EIGHTHS = 1.27323954473516  # 4 / pi
# -pi / 4 in three parts.
_QUARTER_PI = (
    -0.78515625,
    -2.4187564849853515625e-4,
    -3.77489497744594108e-8,
)
_SINE = (
    -1.9515295891e-4,
    8.3321608736e-3,
    -1.6666654611e-1,
)
_COSINE = (
    2.443315711809948e-5,
    -1.388731625493765e-3,
    4.166664568298827e-2,
)


def _horner(coefficients: tuple[float, ...], x: F32s) -> F32s:
    first, *rest = coefficients
    result = np.full_like(x, first)
    for coefficient in rest:
        result = multiply_add_f32(result, x, _F32(coefficient))
    return result


def ln_f32(x: F32s) -> F32s:
    """The logarithm of normal numbers of at most 1."""
    mantissa, exponent = np.frexp(x)  # mantissa in [1/2, 1)
    is_small = mantissa < _F32(_SQRT_HALF)
    e = (exponent - is_small).astype(_F32)
    # 2 * mantissa - 1 or mantissa - 1, both exact.
    doubled = np.where(is_small, mantissa + mantissa, mantissa)
    x = doubled - _F32(1)
    z = x * x
    y = _horner(_LOGARITHM, x) * x
    y = multiply_add_f32(y, z, e * _F32(_LN2_SMALL))
    y = multiply_add_f32(z, _F32(-0.5), y)
    return multiply_add_f32(e, _F32(_LN2_LARGE), x + y)


def sin_cos_f32(x: F32s) -> tuple[F32s, F32s]:
    """The sine and cosine of x from 0 to 2 pi."""
    # Quarter turns, rounded to the nearest.
    angle = x * _F32(_EIGHTHS)
    eighths = angle.astype(np.int32)
    n = (eighths + 1) >> 1
    even_eighths = (2 * n).astype(_F32)
    for part in _QUARTER_PI:
        x = multiply_add_f32(even_eighths, _F32(part), x)
    z = x * x
    cosine = _horner(_COSINE, z) * z
    half_z = z * _F32(-0.5)
    cosine = multiply_add_f32(cosine, z, half_z) + _F32(1)
    sine = _horner(_SINE, z) * z
    sine = multiply_add_f32(sine, x, x)
    return _turned(sine, cosine, n)


def _of_series(sign: int, factors: int) -> float:
    """A coefficient of the series of sine or cosine; negative where `sign` is odd."""
    one = -1 if sign % 2 else 1
    return one / math.factorial(factors)


# In float64, what is large in a result is carried with what its roundings lose.
# 2 / 3, 2 / 5, ... of ln((1 + s) / (1 - s)), lowest power first.
_LN_SERIES = tuple(2 / (2 * i + 1) for i in range(1, 12))
# 1 / 5!, -1 / 7!, ... and -1 / 6!, 1 / 8!, ..., lowest power first.
_SIN_SERIES = tuple(_of_series(i, 2 * i + 1) for i in range(2, 9))
_COS_SERIES = tuple(_of_series(i, 2 * i) for i in range(3, 9))
# -1 / 3! and 1 / 4! in two parts.
_SIXTH = (-1 / 6, 2.0**-54 / -6)
_TWENTY_FOURTH = (1 / 24, 2.0**-56 / 6)
# pi / 2 in three parts; the first two have 50 bits, so that up to 4 times them is exact.
_HALF_PI = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c00p-54"),
    float.fromhex("0x1.b839a252049c1p-104"),
)


def _series(coefficients: tuple[float, ...], x: F64s) -> F64s:
    *rest, last = coefficients
    result = np.full_like(x, last)
    for coefficient in reversed(rest):
        result = result * x + coefficient
    return result


def _plus_product(
    x: F64s,
    a: F64s,
    a_low: F64s,
    factor: tuple[float, float],
) -> tuple[F64s, F64s]:
    """The sum of x and (a + a_low) * factor, and what it lost."""
    high, low = factor
    product, lost = exact_product(a, np.float64(high))
    total, rest = exact_sum(x, product)
    small = a_low * high + a * low
    return total, rest + (lost + small)


def _reduced(x: F64s) -> tuple[F64s, F64s]:
    """The e and f of x = 2^e * (1 + f), where 1 + f is from sqrt(1/2) to sqrt(2)."""
    mantissa, exponent = np.frexp(x)
    is_small = mantissa < math.sqrt(0.5)
    e = (exponent - is_small).astype(np.float64)
    doubled = np.where(is_small, mantissa + mantissa, mantissa)
    f = doubled - 1.0
    return e, f


def ln_f64(x: F64s) -> F64s:
    """The logarithm of normal numbers of at most 1, within an ulp."""
    e, f = _reduced(x)
    # ln(1 + f) is 2 s + 2 / 3 s^3 + ...
    divisor, divisor_low = exact_sum(2.0, f)
    s = f / divisor
    product, lost = exact_product(s, divisor)
    lost_of_s = (f - product) - lost
    s_low = (lost_of_s - s * divisor_low) / divisor
    z = s * s
    high, low = exact_sum(e * c.LN2_HIGH, 2.0 * s)
    small = 2.0 * s_low + e * c.LN2_LOW
    rest = s * z * _series(_LN_SERIES, z) + small
    result: F64s = high + (low + rest)
    return result


def log1p_f64(x: F64s) -> F64s:
    """The logarithm of 1 + x, which must be exact, for x from -1 + 2^-53 to 0.

    In the steps in which C libraries compute it, whose values it has nearly always; within an ulp.
    """
    e, f = _reduced(1.0 + x)
    s = f / (f + 2.0)
    z = s * s
    half = 0.5 * f * f
    # ln(1 + f) is f, less half, and a rest that is small against both.
    series = _series(_LN_SERIES, z)
    rest = s * (half + z * series)
    rest = rest + e * c.LN2_LOW
    result: F64s = e * c.LN2_HIGH - ((half - rest) - f)
    return result


def sin_cos_f64(x: F64s) -> tuple[F64s, F64s]:
    """The sine and cosine of x from 0 to 2 pi, within an ulp."""
    n = np.rint(x * (2 / math.pi))
    first, second, third = _HALF_PI
    # Exact, also near the multiples of pi / 2, of which the rest is all that counts.
    high, low = exact_sum(x - n * first, -n * second)
    r, low = exact_sum(high, low - n * third)
    z, z_low = exact_product(r, r)

    # r - r^3 / 3! + r^5 / 5! - ...
    cube, cube_low = exact_product(r, z)
    cube_low = cube_low + r * z_low
    sine, rest = _plus_product(r, cube, cube_low, _SIXTH)
    powers = cube * z * _series(_SIN_SERIES, z)
    of_low = low * (1.0 - 0.5 * z)
    rest = rest + (powers + of_low)
    sine = sine + rest

    # 1 - r^2 / 2 + r^4 / 4! - ...
    square, square_low = exact_product(z, z)
    square_low = square_low + 2.0 * z * z_low
    most, most_low = exact_sum(1.0, -0.5 * z)
    cosine, rest = _plus_product(most, square, square_low, _TWENTY_FOURTH)
    rest = rest + (most_low - 0.5 * z_low)
    powers = square * z * _series(_COS_SERIES, z)
    rest = rest + (powers - r * low)
    cosine = cosine + rest
    turns = n.astype(np.int64)
    return _turned(sine, cosine, turns)


def _turned(sine: Any, cosine: Any, turn: Any) -> tuple[Any, Any]:
    """The sine and cosine of an angle that is so many quarter turns more."""
    is_odd = turn & 1 != 0
    one: Any = np.where(is_odd, cosine, sine)
    other: Any = np.where(is_odd, sine, cosine)
    sine_of_sum = np.where(turn & 2, -one, one)
    cosine_of_sum = np.where((turn + 1) & 2, -other, other)
    return sine_of_sum, cosine_of_sum
