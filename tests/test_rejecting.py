"""RandomGamma and RandomPoisson: the rules, and every runtime."""

from __future__ import annotations

import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy
from cases import assert_same_bits
from operators import by_core

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._numbers import elementary, gamma, poisson

F32, F64 = np.float32, np.float64
STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()
ALPHAS = [1e-3, 0.5, 1 - 2.0**-24, 1, 2.5, 1e6, 2.0**50]
RATES = [0, 0.1, 9.99, 10, 33.3, 1e6, 2.0**30]
DRAWS = {
    "gamma": (reference.random_gamma, graphs.random_gamma, "alpha", ALPHAS, ["f32", "f64"]),
    "poisson": (reference.random_poisson, graphs.random_poisson, "rate", RATES, ["i32", "i64"]),
}


def words_of(state: np.ndarray, count: int) -> np.ndarray:
    """The blocks of so many elements."""
    return reference.random_generator(state, [count * 128])[0].reshape(count, 32, 4)


def unit(first: int, second: int) -> float:
    return (((first & 0xFFFFF) << 32) | second) * 2.0**-52


def plain_gamma(alpha: float, blocks: np.ndarray, attempts: int) -> float:
    """The rule in Python numbers, with libm's functions."""
    b = blocks.tolist()
    d = (alpha if alpha >= 1 else alpha + 1) - 1 / 3
    c, value = 1 / math.sqrt(9 * d), math.nan
    for t in range(attempts):
        u, v = unit(*b[2 * t][:2]), unit(*b[2 * t][2:])
        w = unit(*b[2 * t + 1][:2])
        x = math.sqrt(-2 * math.log(max(u, 1e-7))) * math.cos(2 * math.pi * v)
        y = (1 + c * x) ** 3
        value = d * y if y > 0 else d
        if y > 0 and math.log(1 - w) < x * x / 2 + d * (1 - y + math.log(y)):
            break
    if alpha < 1:
        value *= math.exp(math.log(1 - unit(*b[1][2:])) / alpha)
    return value


def plain_poisson(rate: float, blocks: np.ndarray, attempts: int) -> int:
    blocks_ = blocks.tolist()
    if rate < 10:
        u, p, k = unit(*blocks_[0][:2]), math.exp(-rate), 0
        total = p
        while total <= u:
            k += 1
            p *= rate / k
            total += p
        return k
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    i, q = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    for block in blocks_[:attempts]:
        u, v = unit(*block[:2]) - 0.5, 1 - unit(*block[2:])
        s = 0.5 - abs(u)
        k = math.floor((2 * a / s + b) * u + rate + 0.43)
        if s >= 0.07 and v <= q:
            return k
        if k < 0 or (s < 0.013 and v > s):
            continue
        left = math.log(v) + math.log(i) - math.log(a / s**2 + b)
        if left <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k
    return math.floor(rate)


@pytest.mark.parametrize("attempts", [1, 2, 16])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 1, 3, 1000])
def test_a_gamma_follows_the_rule(alpha: float, attempts: int) -> None:
    blocks = words_of(STATE, 300)
    values = gamma.gammas(np.full(300, alpha), blocks, attempts)
    expected = [plain_gamma(alpha, block, attempts) for block in blocks]
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-300)
    if attempts == 16:
        assert_same_bits(reference.random_gamma([300], F64(alpha), "f64", state=STATE)[0], values)


def test_the_kernels_squeeze_accepts_only_what_the_rule_accepts() -> None:
    """They skip the logarithms where 1 - w < 1 - 0.0331 x^4, for d up to 2^20."""
    x = np.linspace(-2.35, 2.35, 4001)
    squeeze = 1 - 0.0331 * x**4
    kept = squeeze > 0
    for d in (2 / 3, 0.7, 1, 5 / 3, 2.2, 5, 30, 1e3, 1e5, 2.0**20):
        y = (1 + x[kept] / math.sqrt(9 * d)) ** 3
        limit = x[kept] ** 2 / 2 + d * (1 - y + np.log(y))
        assert (np.log(squeeze[kept]) <= limit + 2.0**-24).all()


@pytest.mark.parametrize("attempts", [1, 2, 32])
@pytest.mark.parametrize("rate", [0, 0.3, 9.9, 10, 33.3, 1e4])
def test_a_count_follows_the_rule(rate: float, attempts: int) -> None:
    blocks = words_of(STATE, 300)
    values = poisson.counts(np.full(300, F64(rate)), blocks, attempts)
    assert values.tolist() == [plain_poisson(rate, block, attempts) for block in blocks]
    if attempts == 32:
        drawn = reference.random_poisson([300], F64(rate), "i64", state=STATE)[0]
        assert drawn.tolist() == values.tolist()


def test_the_logarithm_of_a_factorial_is_within_4_ulp() -> None:
    k = np.unique(np.concatenate([np.arange(2.0, 700), np.floor(np.exp(np.linspace(6, 36, 900)))]))
    with mpmath.workdps(40):
        exact = [mpmath.loggamma(mpmath.mpf(x) + 1) for x in k.tolist()]
        off = [
            float(abs(mpmath.mpf(x) - y)) / math.ulp(x)
            for x, y in zip(elementary.ln_factorial(k).tolist(), exact, strict=True)
        ]
    assert max(off) < 4
    assert elementary.ln_factorial(np.arange(2.0)).tolist() == [0, 0]


def check_gamma(x: np.ndarray, alpha: float, least_p: float) -> None:
    x = x.astype(F64)
    assert abs(x.mean() - alpha) < 5.5 * math.sqrt(alpha / x.size)
    assert scipy.stats.kstest(x, "gamma", args=(alpha,)).pvalue > least_p


def check_poisson(x: np.ndarray, rate: float, least_p: float) -> None:
    """Chi-square of single counts, or of ranges of them where there are many."""
    if rate == 0:
        assert not x.any()
        return
    cells = np.unique(scipy.stats.poisson.ppf(np.linspace(0, 1, 200)[1:-1], rate))
    shares = np.diff(np.concatenate([[0], scipy.stats.poisson.cdf(cells, rate), [1]]))
    counts = np.bincount(np.searchsorted(cells, x), minlength=cells.size + 1)
    kept = shares * x.size > 5
    found, wanted = counts[kept], shares[kept] * x.size
    if not kept.all():
        found = np.append(found, counts[~kept].sum())
        wanted = np.append(wanted, shares[~kept].sum() * x.size)
    assert scipy.stats.chisquare(found, wanted * (found.sum() / wanted.sum())).pvalue > least_p


def many(name: str, count: int, number: float, type_: str) -> np.ndarray:
    _, _, parameter, _, _ = DRAWS[name]
    arguments = {parameter: F64(number), "shape": [count]}
    given = {"output_type": type_, "global_seed": 11}
    return by_core(f"Random{name.capitalize()}", arguments, given)[0]


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1, 3, 1000, 1e12])
@pytest.mark.parametrize(
    "count", [20000, pytest.param(10**7, marks=[pytest.mark.slow, pytest.mark.exhaustive])]
)
def test_gammas_are_distributed_as_they_should_be(alpha: float, count: int) -> None:
    check_gamma(many("gamma", count, alpha, "f64"), alpha, 1e-6)


@pytest.mark.parametrize("rate", [0, 0.1, 9.99, 10, 1e6, 2.0**30])
@pytest.mark.parametrize(
    "count", [20000, pytest.param(10**7, marks=[pytest.mark.slow, pytest.mark.exhaustive])]
)
def test_counts_are_distributed_as_they_should_be(rate: float, count: int) -> None:
    check_poisson(many("poisson", count, rate, "i64"), rate, 1e-6)


def test_the_checks_find_what_is_not_right() -> None:
    x = many("gamma", 2**17, 3, "f64")
    for broken in (x * 1.02, x + 0.03, np.minimum(x, 6)):
        with pytest.raises(AssertionError):
            check_gamma(broken, 3, 1e-6)
    k = many("poisson", 2**17, 12.5, "i64")
    for broken in (k + 1, np.minimum(k, 20), k // 2 * 2):
        with pytest.raises(AssertionError):
            check_poisson(broken, 12.5, 1e-6)


def test_the_squeeze_of_the_kernels_accepts_only_what_the_rule_accepts() -> None:
    """1 - factor(d) x^4 is never above exp of the rule's limit, for d from 2/3 to 2^20."""
    header = Path(__file__).parents[1] / "custom_ops/core/kernels/gamma.h"
    found = re.search(r"kSqueeze = ([\d.]+), kSqueeze2 = ([\d.]+);", header.read_text())
    assert found is not None
    first, second = map(float, found.groups())
    below = np.geomspace(1e-3, 1, 20000)[:-1]
    s = np.concatenate([-below, np.geomspace(1e-14, 0.1, 4000) - 1, np.geomspace(1e-3, 50, 20000)])
    # x is 3 sqrt(d) s. The limit x^2 / 2 + d (1 - y + ln y), by its series where much cancels.
    terms = [0.75, -3 / 5, 3 / 6, -3 / 7, 3 / 8, -3 / 9, 3 / 10]
    series = s**4 * np.polyval(terms[::-1], s)
    exact = -4.5 * s * s - (1 - (1 + s) ** 3 + 3 * np.log1p(s))
    limit = -np.where(abs(s) < 0.05, series, exact)
    for d in np.concatenate([np.geomspace(2 / 3, 2**20, 300), np.linspace(2 / 3, 6, 300)]):
        factor = first / d + second / d**2
        assert (-np.expm1(d * limit) <= factor * (9 * d * s * s) ** 2).all(), d
