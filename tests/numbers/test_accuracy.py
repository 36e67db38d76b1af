"""How far the fixed arithmetic of normals and of categorical draws is from exact values."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from onnx_philox import reference
from onnx_philox._numbers import elementary

F32 = np.float32
F64 = np.float64
LONG = np.longdouble

# The contract's limits for the absolute error of a normal.
LIMIT = {F32: 2e-6, F64: 1e-13}
SMALLEST_U = 1e-7

needs_long_doubles = pytest.mark.skipif(
    np.finfo(LONG).eps > 2**-60, reason="long double is no more exact than double here"
)


def all_uniforms() -> np.ndarray:
    """Every uniform in [0, 1) that a word can become, as float64."""
    return np.arange(2**23) * 2.0**-23


def some_uniforms(count: int) -> np.ndarray:
    """Uniforms of 52 bits: random ones, and those next to each end and each eighth."""
    steps = np.random.default_rng(1).integers(0, 2**52, count)
    for i, eighth in enumerate(range(9)):
        steps[i * 9 : i * 9 + 9] = np.clip(
            eighth * 2**49 + np.arange(-4, 5),
            0,
            2**52 - 1,
        )
    return steps * 2.0**-52


def worst_normal(
    r: np.ndarray,
    exact_r: np.ndarray,
    errors_of_sine_and_cosine: tuple[float, float],
) -> float:
    """The furthest that a pair can be off: what r is (sine and cosine are at most 1), what the sine
    is, times r, and half a unit in the last place of the product."""
    off = np.abs(r - exact_r) + exact_r * max(errors_of_sine_and_cosine) + np.spacing(r) / 2
    return float(off.max())


TURN = 2 * LONG("3.14159265358979323846264338327950288")


# Every float32 uniform on either axis; off by 9.61e-8, 4.58e-7 at u = 8.8e-5, and 1.142e-6. Of
# float64 a million; off by 1.25e-16 and 1.75e-15.
@pytest.mark.parametrize(
    ("dtype", "wide", "off_sine_or_cosine", "off_r", "off_normal"),
    [
        (F32, F64, 1e-7, 4.6e-7, 1.2e-6),
        pytest.param(
            F64,
            LONG,
            1.3e-16,
            2e-15,
            2e-15,
            marks=needs_long_doubles,
        ),
    ],
)
def test_normals_are_near_their_exact_values(
    dtype: Any, wide: Any, off_sine_or_cosine: float, off_r: float, off_normal: float
) -> None:
    uniforms = all_uniforms() if dtype is F32 else some_uniforms(2**20)
    u = np.maximum(uniforms, SMALLEST_U)
    r = np.sqrt(elementary.minus_two_ln(u.astype(dtype)))
    sine, cosine = elementary.sin_cos_turns(uniforms.astype(dtype))
    angle = wide(TURN) * uniforms.astype(wide)
    off = (float(np.abs(sine - np.sin(angle)).max()), float(np.abs(cosine - np.cos(angle)).max()))
    assert max(off) < off_sine_or_cosine
    exact_r = np.sqrt(-2 * np.log(u.astype(wide)))
    assert np.abs(r - exact_r).max() < off_r
    # Whatever word 2i and whatever word 2i + 1.
    assert worst_normal(r, exact_r, off) < off_normal < LIMIT[dtype]


@pytest.mark.parametrize("dtype", [F32, F64])
def test_normals_are_near_what_mpmath_says(dtype: type) -> None:
    """An independent library, 40 digits: pairs at random, and every pair of edges."""
    edges = [
        0,
        1e-7,
        1.1e-7,
        0.125,
        0.25,
        0.5,
        math.sqrt(0.5),
        0.75,
        0.875,
        1 - 2.0**-23,
    ]
    pairs = [(u, v) for u in edges for v in edges]
    pairs += zip(some_uniforms(3000), some_uniforms(3000)[::-1], strict=True)
    u, v = (np.minimum(np.array(x, dtype), dtype(1 - 2.0**-23)) for x in zip(*pairs, strict=True))
    sines, cosines = elementary.normal_pairs(u, v)
    worst = mpmath.mpf(0)
    with mpmath.workdps(40):
        for i in range(len(pairs)):
            r = mpmath.sqrt(-2 * mpmath.log(max(mpmath.mpf(float(u[i])), mpmath.mpf("1e-7"))))
            turns = 2 * mpmath.mpf(float(v[i]))
            worst = max(
                worst,
                abs(r * mpmath.sinpi(turns) - float(sines[i])),
                abs(r * mpmath.cospi(turns) - float(cosines[i])),
            )
    assert 0 < worst < {F32: 8e-7, F64: 1.7e-15}[dtype] < LIMIT[dtype]


@pytest.mark.parametrize("dtype", [F32, F64])
def test_whole_and_half_turns_are_exact(dtype: type) -> None:
    sine, cosine = elementary.sin_cos_turns(np.array([0, 0.25, 0.5, 0.75], dtype))
    assert sine.tolist() == [0, 1, 0, -1]
    assert cosine.tolist() == [1, 0, -1, 0]


@pytest.mark.parametrize("dtype", [F32, F64])
def test_the_logarithm_is_never_0_or_negative(dtype: type) -> None:
    """The root stays a number, and u next to 1 still gives a normal."""
    steps = {F32: 2.0**-23, F64: 2.0**-52}[dtype]
    nearest = np.array([1 - i * steps for i in range(1, 1000)], dtype)
    assert (elementary.minus_two_ln(nearest) > 0).all()
    np.testing.assert_allclose(
        elementary.minus_two_ln(nearest)[0],
        2 * steps,
        rtol=2 * steps,
    )


def test_the_exponential_is_within_two_roundings() -> None:
    """Relative to the exact value, in units of 2^-53: 1.63 measured on 4 million."""
    x = -np.random.default_rng(2).random(3000) * 708
    x[:5] = [0, -708, -1e-17, -math.log(2), -1e-320]
    with mpmath.workdps(40):
        worst = max(
            abs(mpmath.mpf(float(y)) / mpmath.exp(mpmath.mpf(float(z))) - 1)
            for z, y in zip(x, elementary.exp_nonpositive(x), strict=True)
        )
    assert 0.5 < worst * 2**53 < 1.7


@needs_long_doubles
def test_the_exponential_is_as_near_for_many() -> None:
    x = -np.random.default_rng(3).random(2**20) * 708
    relative = elementary.exp_nonpositive(x) / np.exp(x.astype(LONG)) - 1
    assert 0.5 < float(np.abs(relative).max()) * 2**53 < 1.7


def test_the_exponential_of_0_is_1_and_below_708_it_is_0() -> None:
    x = np.array(
        [
            0.0,
            -0.0,
            -708,
            np.nextafter(-708, -709),
            -710,
            -1e300,
            -np.inf,
        ]
    )
    y = elementary.exp_nonpositive(x)
    assert y[:2].tolist() == [1, 1]
    expected = pytest.approx(math.exp(-708), rel=1e-15)
    assert y[2] == expected
    expected = np.zeros(4).tobytes()
    assert y[3:].tobytes() == expected, "exactly +0"


def test_the_exponential_never_decreases() -> None:
    """A larger logit never weighs less."""
    for start in (-708.0, -math.log(2), -math.log(2) / 2, -1.0, -36.0):
        x = start + np.arange(20000) * abs(np.spacing(start))
        is_taken = x <= 0
        x = x[is_taken]
        assert (np.diff(elementary.exp_nonpositive(x)) >= 0).all()


def test_a_categorical_probability_is_the_softmax() -> None:
    """By drawing: the share of u at which each class begins is the softmax, to 1e-15."""
    logits = np.array([[0.3, -2.0, 5.5, 5.5, -40.0, 1.25]])
    weights = elementary.exp_nonpositive(logits - logits.max())[0]
    with mpmath.workdps(40):
        exact = [mpmath.exp(mpmath.mpf(float(x))) for x in logits[0]]
        total = sum(exact)
        for weight, wanted in zip(weights, exact, strict=True):
            assert abs(mpmath.mpf(float(weight / weights.sum())) - wanted / total) < 1e-15
    values, _ = reference.random_categorical(logits, 100_000, global_seed=1)
    shares = np.bincount(values[0], minlength=6) / 100_000
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.006)
