"""Computes a * b + c with one rounding, out of operations each of which rounds.

`np.float32(np.float64(a) * b + c)` is not that: it rounds twice, and is wrong where the first
rounding lands halfway between two float32. Numbers at random hardly ever show it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32s = NDArray[np.float32]
F64s = NDArray[np.float64]

# The bits that a float64 has beyond a float32's, and the uppermost of them.
BELOW_F32 = 2**29 - 1
_HALF_OF_F32 = 2**28
_SMALLEST_F32 = 2.0**-126

# Of Veltkamp: 2^27 + 1 halves the 53 bits of a float64.
_HALVING = 2.0**27 + 1
# Between them no step of `multiply_add_f64` overflows, nor loses bits below the normal numbers.
_SMALLEST = 2.0**-400
_LARGEST = 2.0**400


def multiply_add_f32(
    a: F32s,
    b: F32s | np.float32,
    c: F32s | np.float32,
) -> F32s:
    """Computes a * b + c of float32, rounded once."""
    # Exact: two times 24 bits fit into 53.
    product = np.multiply(a, b, dtype=np.float64)
    total: F64s = product + c
    # To round it again is wrong only where it lies halfway between two float32. Below the normal
    # numbers of float32, these lie elsewhere.
    is_halfway = total.view(np.int64) & BELOW_F32 == _HALF_OF_F32
    is_subnormal = np.abs(total) < _SMALLEST_F32
    wrong = np.flatnonzero(is_halfway | is_subnormal)
    if wrong.size:
        addends = np.broadcast_to(c, total.shape)
        added = addends[wrong].astype(np.float64)
        total[wrong] = _sum_with_sticky_bit(product[wrong], added)
    return total.astype(np.float32)


def multiply_add_f64(a: F64s, b: float, c: float) -> F64s:
    """Computes a * b + c of float64, rounded once; a is 0 or from 2^-400 to 2^400 in size."""
    if b == 1 and c == 0:
        # -0 becomes 0, as it would.
        return a + 0.0
    if not (_is_in_range(b) and _is_in_range(c)):
        factor = Fraction(b)
        addend = Fraction(c)
        exact = [float(Fraction(x) * factor + addend) for x in a.tolist()]
        return np.array(exact, np.float64)
    product, lost = exact_product(a, np.float64(b))
    # Of Boldo and Melquiond, "Emulation of a FMA" (2008): the two smaller parts, rounded to odd.
    small, smaller = exact_sum(np.float64(c), lost)
    total, rest = exact_sum(product, small)
    result: F64s = total + _sum_with_sticky_bit(rest, smaller)
    return result


def _is_in_range(number: float) -> bool:
    size = abs(number)
    return size == 0 or _SMALLEST < size < _LARGEST


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * _HALVING
    high = scaled - (scaled - x)
    return high, x - high


def exact_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The product rounded, and exactly what it lost (Dekker)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def exact_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The sum rounded, and exactly what it lost (Knuth)."""
    total = a + b
    b_in_it = total - a
    lost_of_a = a - (total - b_in_it)
    lost_of_b = b - b_in_it
    return total, lost_of_a + lost_of_b


def _sum_with_sticky_bit(a: Any, b: Any) -> F64s:
    """The sum cut off, its last bit set where anything was lost: to round that again is right."""
    total, lost = exact_sum(a, b)
    bits = total.view(np.int64)
    is_inexact = lost != 0
    # Rounded away from 0: one step back.
    is_away = (lost < 0) != (total < 0)
    bits = bits - (is_inexact & is_away) | is_inexact
    result: F64s = bits.view(np.float64)
    return result
