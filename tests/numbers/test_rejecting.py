"""RandomGamma and RandomPoisson: the rules, and every runtime."""

from __future__ import annotations

import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy

from onnx_philox import reference
from onnx_philox._numbers import elementary, gamma, poisson
from tests.common import specification as spec
from tests.common.cases import assert_same_bits
from tests.common.operators import STATE, by_core

F32 = np.float32
F64 = np.float64
PARAMETERS = {"RandomGamma": "alpha", "RandomPoisson": "rate"}


def words_of(state: np.ndarray, count: int) -> np.ndarray:
    words = reference.random_generator(state, [count * 128])
    return words[0].reshape(count, 32, 4)


@pytest.mark.parametrize("attempts", [1, 2, 16])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1, 3, 1000])
def test_a_gamma_follows_the_rule_however_often_it_may_try(alpha: float, attempts: int) -> None:
    values = gamma.gammas(
        np.full(300, alpha),
        words_of(STATE, 300),
        attempts,
    )
    stream = spec.Stream(STATE.tolist())
    rule = spec.random_gamma(stream, 300, alpha, "f64", attempts)
    assert_same_bits(values, np.array(list(rule)))


@pytest.mark.parametrize("attempts", [1, 2, 32])
@pytest.mark.parametrize("rate", [0, 0.3, 9.9, 10, 33.3, 1e4])
def test_a_count_follows_the_rule_however_often_it_may_try(rate: float, attempts: int) -> None:
    values = poisson.counts(
        np.full(300, F64(rate)),
        words_of(STATE, 300),
        attempts,
    )
    stream = spec.Stream(STATE.tolist())
    rule = spec.random_poisson(stream, 300, rate, attempts)
    assert values.tolist() == list(rule)


def test_the_logarithm_of_a_factorial_is_within_4_ulp() -> None:
    steps = np.linspace(6, 36, 900)
    large = np.floor(np.exp(steps))
    k = np.unique(np.concatenate([np.arange(2.0, 700), large]))
    with mpmath.workdps(40):
        exact = [mpmath.loggamma(mpmath.mpf(x) + 1) for x in k.tolist()]
        values = elementary.ln_factorial(k)
        off = [
            float(abs(mpmath.mpf(x) - y)) / math.ulp(x)
            for x, y in zip(values.tolist(), exact, strict=True)
        ]
    assert max(off) < 4
    of_0_and_1 = elementary.ln_factorial(np.arange(2.0))
    assert of_0_and_1.tolist() == [0, 0]


def check_gamma(x: np.ndarray, alpha: float, least_p: float) -> None:
    x = x.astype(F64)
    error = abs(x.mean() - alpha)
    assert error < 5.5 * math.sqrt(alpha / x.size)
    test = scipy.stats.kstest(x, "gamma", args=(alpha,))
    assert test.pvalue > least_p


def check_poisson(x: np.ndarray, rate: float, least_p: float) -> None:
    """Chi-square of single counts, or of ranges of them where there are many."""
    if rate == 0:
        assert not x.any()
        return
    levels = np.linspace(0, 1, 200)[1:-1]
    cells = np.unique(scipy.stats.poisson.ppf(levels, rate))
    below = scipy.stats.poisson.cdf(cells, rate)
    shares = np.diff(np.concatenate([[0], below, [1]]))
    places = np.searchsorted(cells, x)
    counts = np.bincount(places, minlength=cells.size + 1)
    kept = shares * x.size > 5
    found = counts[kept]
    wanted = shares[kept] * x.size
    if not kept.all():
        found = np.append(found, counts[~kept].sum())
        rest = shares[~kept].sum()
        wanted = np.append(wanted, rest * x.size)
    scaled = wanted * (found.sum() / wanted.sum())
    test = scipy.stats.chisquare(found, scaled)
    assert test.pvalue > least_p


def many(operator: str, count: int, number: float, type_: str) -> np.ndarray:
    arguments = {PARAMETERS[operator]: F64(number), "shape": [count]}
    return by_core(operator, arguments, {"output_type": type_, "global_seed": 11})[0]


MANY = pytest.param(10**7, marks=[pytest.mark.slow, pytest.mark.exhaustive])


@pytest.mark.parametrize("count", [20000, MANY])
@pytest.mark.parametrize("number", [0, 0.01, 0.1, 0.5, 1, 3, 9.99, 10, 1000, 1e6, 2.0**30, 1e12])
def test_values_are_distributed_as_they_should_be(number: float, count: int) -> None:
    if number > 0:
        check_gamma(many("RandomGamma", count, number, "f64"), number, 1e-6)
    if number <= 2.0**30:
        check_poisson(many("RandomPoisson", count, number, "i64"), number, 1e-6)


def test_the_checks_find_what_is_not_right() -> None:
    x = many("RandomGamma", 2**17, 3, "f64")
    changes = (x * 1.02, x + 0.03, np.minimum(x, 6))
    for broken in changes:
        with pytest.raises(AssertionError):
            check_gamma(broken, 3, 1e-6)
    k = many("RandomPoisson", 2**17, 12.5, "i64")
    for broken in (k + 1, np.minimum(k, 20), k // 2 * 2):
        with pytest.raises(AssertionError):
            check_poisson(broken, 12.5, 1e-6)


def test_the_squeeze_of_the_kernels_accepts_only_what_the_rule_accepts() -> None:
    """1 - factor(d) x^4 is never above exp of the rule's limit, for d from 2/3 to 2^20."""
    header = Path(__file__).parents[2] / "custom_ops/core/kernels/gamma.h"
    found = re.search(r"kSqueeze = ([\d.]+), kSqueeze2 = ([\d.]+);", header.read_text())
    assert found is not None
    first, second = map(float, found.groups())
    below = np.geomspace(1e-3, 1, 20000)[:-1]
    s = np.concatenate(
        [
            -below,
            np.geomspace(1e-14, 0.1, 4000) - 1,
            np.geomspace(1e-3, 50, 20000),
        ]
    )
    # x is 3 sqrt(d) s. The limit x^2 / 2 + d (1 - y + ln y), by its series where much cancels.
    terms = [0.75, -3 / 5, 3 / 6, -3 / 7, 3 / 8, -3 / 9, 3 / 10]
    series_of_terms = np.polyval(terms[::-1], s)
    series = s**4 * series_of_terms
    logarithm = np.log1p(s)
    cubed = (1 + s) ** 3
    exact = -4.5 * s * s - (1 - cubed + 3 * logarithm)
    is_near = abs(s) < 0.05
    limit = -np.where(is_near, series, exact)
    shapes = np.concatenate(
        [
            np.geomspace(2 / 3, 2**20, 300),
            np.linspace(2 / 3, 6, 300),
        ]
    )
    for d in shapes:
        factor = first / d + second / d**2
        bound = factor * (9 * d * s * s) ** 2
        assert (-np.expm1(d * limit) <= bound).all(), d
