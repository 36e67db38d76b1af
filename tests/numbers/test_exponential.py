"""RandomExponential: the rule, in NumPy and in every runtime."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy

from onnx_philox import reference
from onnx_philox._contract.types import BF16
from onnx_philox._numbers.exponential import _rounded
from tests.common.cases import DTYPES
from tests.common.operators import STATE
from tests.numbers.test_distributions_bits import KEY, state_before

TYPES = ["f16", "bf16", "f32", "f64"]
# Words whose logarithm is next to a tie of bf16 or f16: f32 would be that tie.
DOUBLY_ROUNDED = [
    0x5C5B07A9,
    0xFF58B6C0,
    0xFFFFFF75,
    0x1FCAF534,
    0x02A15380,
    0x10008600,
    0x900F3A1B,
]
F64 = np.float64


def exponentials(
    count: int,
    type_: str,
    scale: Any = 1,
    state: Any = STATE,
) -> np.ndarray:
    return reference.random_exponential([count], scale, type_, state=state)[0]


def integers(count: int, type_: str, state: np.ndarray) -> list[int]:
    """The bits that a logarithm is made of."""
    words = reference.random_generator(state, [count * (2 if type_ == "f64" else 1)])[0].tolist()
    if type_ != "f64":
        return words
    pairs = zip(words[::2], words[1::2], strict=True)
    return [(first & 0xFFFFF) << 32 | second for first, second in pairs]


def exact(x: int, type_: str) -> mpmath.mpf:
    with mpmath.workdps(50):
        return -mpmath.log((mpmath.mpf(x) + 0.5) / mpmath.mpf(2) ** (52 if type_ == "f64" else 32))


def rounded(number: mpmath.mpf, dtype: Any) -> Any:
    """A positive number in a type, rounded once: subnormals and ties too."""
    info = ml_dtypes.finfo(dtype)
    least = int(mpmath.log(mpmath.mpf(float(info.smallest_subnormal)), 2))
    exponent = max(int(mpmath.floor(mpmath.log(number, 2))) - info.nmant, least)
    with mpmath.workdps(50):
        scaled = number / mpmath.mpf(2) ** exponent
        whole = int(mpmath.floor(scaled))
        rest = scaled - whole
        whole += rest > 0.5 or (rest == 0.5 and whole % 2 == 1)
    return dtype.type(float(Fraction(whole) * Fraction(2) ** exponent))


@pytest.mark.parametrize("type_", TYPES)
def test_a_value_is_minus_the_logarithm_of_a_step_s_middle(type_: str) -> None:
    values = exponentials(400, type_).astype(F64)
    wanted = np.array([float(exact(x, type_)) for x in integers(400, type_, STATE)])
    error = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 4 * 2**-53}[type_]
    np.testing.assert_allclose(
        values,
        wanted,
        rtol=error * 1.01,
        atol=3e-8 * (type_ == "f16"),
    )


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
def test_the_logarithm_is_rounded_once(type_: str) -> None:
    dtype = DTYPES[type_]
    edges = [0, 1, 2**31 - 1, 2**31, 3037000499, 3037000500, 2**32 - 2, 2**32 - 1]
    for x in edges + DOUBLY_ROUNDED:
        state = state_before((x, 5, 6, 7)).to_array()
        value = exponentials(1, type_, state=state)[0]
        expected = rounded(exact(x, type_), dtype)
        assert value == expected, hex(x)
    assert state_before((0, 5, 6, 7)).key == KEY
    # The least bit of an f64 tells a number from a tie, too.
    expected = 1 + 2**-7
    assert _rounded(np.array([1 + 2**-8 + 2**-52]), BF16).astype(F64) == expected


def test_the_least_and_the_greatest_value_of_f64_are_finite_and_not_0() -> None:
    for x, wanted in ((0, 53 * np.log(2)), (2**32 - 1, 2.0**-53)):
        state = state_before((x,) * 4).to_array()
        assert exponentials(1, "f64", state=state)[0] == pytest.approx(wanted, 1e-15)


def check_exponential(x: np.ndarray, least_p: float) -> None:
    x = x.astype(F64)
    moments = {
        1: (1, 1),
        2: (2, 20),
        3: (6, 684),
    }
    for k, (mean, variance) in moments.items():
        assert abs(np.mean(x**k) - mean) < 5.5 * np.sqrt(variance / x.size)
    assert scipy.stats.kstest(x, "expon").pvalue > least_p


MANY = pytest.param(10**7, marks=pytest.mark.exhaustive)


# A scale only multiplies, which the other tests check to the bit.
@pytest.mark.parametrize("count", [2**19, MANY])
@pytest.mark.parametrize(
    ("type_", "scale"),
    [
        ("f32", 1),
        ("f32", 1e-30),
        ("f64", 7),
    ],
)
def test_values_are_distributed_as_they_should_be(type_: str, scale: float, count: int) -> None:
    values = exponentials(count, type_, scale).astype(F64)
    check_exponential(values / DTYPES[type_].type(scale).astype(F64), 1e-6)


def test_the_check_finds_what_is_not_exponential() -> None:
    x = exponentials(2**19, "f64")
    for broken in (x * 1.01, x + 0.01, np.minimum(x, 5), x**1.03):
        with pytest.raises(AssertionError):
            check_exponential(broken, 1e-6)
