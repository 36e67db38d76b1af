"""The numbers look random: moments, distributions, tails, and no stream knows another. A check
raises of a right generator once in a million, and of each that is broken on purpose."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import scipy

from onnx_philox import PhiloxState, reference
from tests.common.cases import DTYPES

pytestmark = pytest.mark.usefixtures("native_reference")

ALPHA = 1e-6
N = 2**19
F32 = np.float32
F64 = np.float64


def uniforms(type_: str, n: int = N, **seeds: int) -> np.ndarray:
    return reference.random_uniform([n], 0, 1, type_, **(seeds or {"global_seed": 1}))[0]


def normals(type_: str, n: int = N, **seeds: int) -> np.ndarray:
    return reference.random_normal([n], 0, 1, type_, **(seeds or {"global_seed": 1}))[0]


# Checks


def check_p(p: float, what: str) -> None:
    assert p > ALPHA, f"{what}: p = {p:.3g}"


def check_z(z: Any, what: str, tries: int = 1) -> None:
    """One or more numbers that should be standard normals."""
    limit = scipy.stats.norm.isf(ALPHA / 2 / tries)
    largest = np.abs(z).max()
    assert largest < limit, f"{what}: z = {largest:.3g}"


def check_bits(words: np.ndarray) -> None:
    """Every bit is 1 half of the time, and tells nothing of another one in its word."""
    ones = np.zeros(32)
    products = np.zeros((32, 32))
    for part in np.array_split(words, 256):
        octets = part.view(np.uint8).reshape(-1, 4)
        zeros_and_ones = np.unpackbits(octets, axis=1)
        bits = zeros_and_ones.astype(F32) * 2 - 1
        ones += bits.sum(0)
        products += bits.T @ bits
    root = math.sqrt(len(words))
    check_z(ones / root, "share of ones", 32)
    off_diagonal = products[np.triu_indices(32, 1)]
    pairs = off_diagonal / math.sqrt(len(words))
    check_z(pairs, "two bits of a word", off_diagonal.size)


def check_uniform(u: np.ndarray) -> None:
    u = u.astype(F64)
    assert u.min() >= 0
    assert u.max() < 1
    moments = {1: (1 / 2, 1 / 12), 2: (1 / 3, 4 / 45)}
    for k, (mean, variance) in moments.items():
        moment = np.mean(u**k)
        deviation = math.sqrt(variance / u.size)
        check_z((moment - mean) / deviation, f"moment {k}")
    check_p(scipy.stats.kstest(u, "uniform").pvalue, "Kolmogorov and Smirnov")
    cells = (u * 256).astype(int)
    counts = np.bincount(cells, minlength=256)
    check_counts(counts, np.full(256, 1 / 256))


def check_counts(counts: np.ndarray, shares: np.ndarray) -> None:
    expected = shares * counts.sum()
    test = scipy.stats.chisquare(counts, expected)
    check_p(test.pvalue, "chi-square")


def check_count(count: int, n: int, p: float, what: str) -> None:
    """How often something has happened in n independent tries."""
    low, high = scipy.stats.binom.interval(1 - ALPHA, n, p)
    assert low <= count <= high, f"{what}: {count} of {n}, not {low:.0f} to {high:.0f}"


def check_normal(x: np.ndarray) -> None:
    x = x.astype(F64)
    variances = {
        1: 1,
        2: 2,
        3: 15,
        4: 96,
        5: 945,
        6: 10170,
    }
    for k, variance in variances.items():
        mean = 0 if k % 2 else math.prod(range(1, k, 2))
        moment = np.mean(x**k)
        deviation = math.sqrt(variance / x.size)
        check_z((moment - mean) / deviation, f"moment {k}")
    check_p(scipy.stats.kstest(x, "norm").pvalue, "Kolmogorov and Smirnov")


def check_pairs(x: np.ndarray) -> None:
    """The two values of a pair: their length, their direction, and neither tells of the other."""
    a, b = x.astype(F64).reshape(-1, 2).T
    squares = a**2 + b**2
    of_length = scipy.stats.kstest(squares / 2, "expon")
    check_p(of_length.pvalue, "length")
    angle = np.arctan2(a, b) / (2 * np.pi) % 1
    check_p(scipy.stats.kstest(angle, "uniform").pvalue, "direction")
    shares = np.exp(-squares / 2)
    sixteenths = (shares * 16).astype(int)
    length = np.clip(sixteenths, 0, 15)
    direction = (angle * 16).astype(int) % 16
    cells = np.bincount(length * 16 + direction, minlength=256)
    check_counts(cells, np.full(256, 1 / 256))
    functions = (lambda y: y, lambda y: y**2, np.abs)
    for f in functions:
        check_correlation(f(a), f(b), "the two of a pair")


def check_correlation(a: np.ndarray, b: np.ndarray, what: str) -> None:
    correlation = np.corrcoef(a, b)[0, 1]
    check_z(correlation * math.sqrt(len(a)), what)


def check_serial(x: np.ndarray) -> None:
    """Values, and their squares, against those up to 32 places on."""
    values_and_squares = (x.astype(F64), x.astype(F64) ** 2)
    for y in values_and_squares:
        y = (y - y.mean()) / y.std()
        for lag in range(1, 33):
            before = y[:-lag]
            product = float(before @ y[lag:])
            z = product / math.sqrt(y.size - lag)
            check_z(z, f"lag {lag}", 64)


def check_streams(streams: Iterable[np.ndarray]) -> None:
    """Streams side by side tell nothing of each other, and share no four values in a row."""
    matrix = np.stack([s.astype(F64) for s in streams])
    count, n = matrix.shape
    off_diagonal = np.triu_indices(count, 1)
    correlations = np.corrcoef(matrix)[off_diagonal]
    check_z(correlations * math.sqrt(n), "two streams", correlations.size)
    quadruples = matrix.reshape(-1, 4)
    different = np.unique(quadruples, axis=0)
    assert len(different) == len(quadruples), "streams overlap"


def check_normal_tails(
    x: np.ndarray,
    tail: Callable[[float], float] | None = None,
) -> None:
    """How many values are further than t from 0, against the probability `tail` of that."""
    tail = tail or float32_tail
    for t in (2, 3, 3.5, 4, 4.5, 5):
        above = int((x > t).sum())
        below = int((x < -t).sum())
        share = tail(t)
        check_count(above + below, x.size, share, f"beyond {t}")
        half = share / 2
        check_count(above, x.size, half, f"above {t}")


# Uniform


@pytest.mark.parametrize(
    "seeds",
    [
        {"global_seed": 1},
        {"op_seed": 1},
        {"global_seed": 2**62},
    ],
)
def test_bits_are_balanced_and_independent(seeds: dict[str, int]) -> None:
    both = {"global_seed": 0, "op_seed": 0}
    unseeded = PhiloxState()
    state = unseeded.with_seeds(**(both | seeds)).to_array()
    check_bits(reference.random_generator(state, [N])[0])


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_uniforms_are_uniform(type_: str) -> None:
    u = uniforms(type_)
    check_uniform(u)
    check_serial(u)


@pytest.mark.parametrize(("type_", "steps"), [("f16", 1024), ("bf16", 128)])
def test_half_precision_uniforms_are_uniform_on_their_grid(type_: str, steps: int) -> None:
    u = uniforms(type_).astype(F64) * steps
    assert (u == u.astype(int)).all()
    cells = u.astype(int)
    counts = np.bincount(cells, minlength=steps)
    check_counts(counts, np.full(steps, 1 / steps))
    check_serial(u)


@pytest.mark.parametrize("type_", ["i32", "i64"])
def test_integers_are_uniform(type_: str) -> None:
    values, _ = reference.random_uniform([N], -50, 77, type_, global_seed=1)
    counts = np.bincount(values + 50, minlength=127)
    check_counts(counts, np.full(127, 1 / 127))
    check_serial(values)


# Normal


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_normals_are_normal(type_: str) -> None:
    x = normals(type_)
    check_normal(x)
    check_pairs(x)
    check_serial(x)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_half_precision_normals_are_normal_on_their_grid(type_: str) -> None:
    x = normals(type_)
    edges = np.array([-3, -2.5, -2, -1.5, -1, -0.5, -0.25, 0.25, 0.5, 1, 1.5, 2, 2.5, 3])
    grid = edges.astype(DTYPES[type_])
    # What is rounded to the edge or below it is below the middle between it and its neighbour.
    infinity = grid.dtype.type(np.inf)
    above = np.nextafter(grid, infinity).astype(F64)
    places = np.searchsorted(grid.astype(F64), x.astype(F64))
    cells = np.bincount(places, minlength=15)
    middles = (edges + above) / 2
    borders = [-np.inf, *middles, np.inf]
    shares = np.diff(scipy.stats.norm.cdf(borders))
    check_counts(cells, shares)
    check_serial(x)


def float32_tail(t: float) -> float:
    """The probability that a float32 normal is further than t from 0, on its grid of u and v."""
    # Those of larger uniforms are nearer.
    steps = 2**23 * math.exp(-t * t / 2)
    grid = np.arange(steps + 1)
    u = np.maximum(grid * 2.0**-23, 1e-7)
    squares = -2 * np.log(u)
    r = np.sqrt(squares)
    is_further = r > t
    r = r[is_further]
    # Of the angles, all but those within arcsin(t / r) of the other axis.
    angles = np.arcsin(t / r) / (2 * np.pi)
    further = (0.25 - angles).sum()
    return float(4 * further * 2.0**-23)


def normal_tail(t: float) -> float:
    return float(2 * scipy.stats.norm.sf(t))


def test_the_tail_of_float32_is_the_normal_one_to_five_sigma() -> None:
    """23 bits of u: within 1% to 4 sigma, a sixth at 5 (2^-23 is 5.65 sigma), nothing at 5.68."""
    limits = ((1, 1e-6), (2, 1e-5), (3, 1e-3), (4, 0.01), (4.5, 0.03), (5, 0.17))
    for t, off in limits:
        ratio = float32_tail(t)
        assert abs(ratio / normal_tail(t) - 1) < off, t
    assert float32_tail(5.678) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "tail"), [("f32", float32_tail), ("f64", normal_tail)])
def test_tails_have_as_many_normals_as_they_should(
    type_: str, tail: Callable[[float], float]
) -> None:
    check_normal_tails(normals(type_, 2**24), tail)


def test_p_values_of_many_streams_are_uniform() -> None:
    """Neither too far from a normal distribution nor too near."""
    p = [
        scipy.stats.kstest(normals("f32", 2**13, global_seed=seed), "norm").pvalue
        for seed in range(1, 129)
    ]
    check_p(scipy.stats.kstest(p, "uniform").pvalue, "p-values")


# Streams

STREAMS: dict[str, Callable[[int], PhiloxState]] = {
    "op_seed": lambda k: PhiloxState.from_seeds(1, k),
    "global_seed": lambda k: PhiloxState.from_seeds(k, 1),
    "run": lambda k: PhiloxState.for_run(1, k),
    "run and op_seed": lambda k: PhiloxState.for_run(1, k % 6).with_seeds(0, k // 6),
    "large op_seed": lambda k: PhiloxState.from_seeds(1, k << 32),
    "large global_seed": lambda k: PhiloxState.from_seeds(k << 32, 1),
    "openvino_run": lambda k: PhiloxState.openvino_run(1, 1, k, 2**14),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("draw", ["uniform", "normal"])
def test_streams_tell_nothing_of_each_other(kind: str, draw: str) -> None:
    check_streams(streams(draw, STREAMS[kind]))


def streams(
    draw: str,
    state: Callable[[int], PhiloxState],
) -> list[np.ndarray]:
    function = getattr(reference, f"random_{draw}")
    return [function([2**14], 0, 1, "f32", state=state(k).to_array())[0] for k in range(36)]


# Bernoulli


def share_of_true(p: float, dtype: Any) -> float:
    """The probability of u < p, for u on its grid."""
    bits = {F32: 23, F64: 52}[dtype]
    steps = float(dtype(p)) * 2.0**bits
    return math.ceil(steps) / 2.0**bits


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("p", [1e-5, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999])
def test_booleans_are_true_as_often_as_p_says(dtype: Any, p: float) -> None:
    values, _ = reference.random_bernoulli([N], dtype(p), global_seed=1)
    count = int(values.sum())
    expected = share_of_true(p, dtype)
    check_count(count, N, expected, f"p = {p}")
    if 0.01 < p < 0.99:
        check_serial(values)


def test_the_smallest_p_of_float32_counts_as_2_to_the_minus_23() -> None:
    values, _ = reference.random_bernoulli(
        [2**25],
        F32(1e-45),
        global_seed=42,
    )
    # Four words are 0 of those, see operators.ZERO_FIRST.
    count = int(values.sum())
    expected = share_of_true(1e-45, F32)
    check_count(count, 2**25, expected, "p = 1e-45")
    assert values.any()


@pytest.mark.parametrize("dtype", [F32, F64])
def test_booleans_with_a_p_each_are_true_as_often_as_it_says(dtype: Any) -> None:
    p = np.linspace(0.02, 0.98, N, dtype=dtype)
    values, _ = reference.random_bernoulli([N], p, global_seed=1)
    off = values - p.astype(F64)
    variances = (p * (1 - p)).astype(F64)
    tried = (np.ones(N), p - 0.5, np.sign(p - 0.5))
    for weights in tried:
        deviation = math.sqrt((variances * weights**2).sum())
        total = (off * weights).sum()
        z = total / deviation
        check_z(z, "true above p")


# Categorical

ROWS = {
    "two": [0.0, 1.0],
    "alike": [2.0] * 16,
    "far apart": [0.0, -9.0, 3.0, -4.5, 1.5, -np.inf, 3.0],
    "large": [
        1e4,
        1e4 - 1,
        1e4 - 3,
        -1e4,
    ],
    "a thousand": np.random.default_rng(1).normal(size=1000),
}


@pytest.mark.parametrize("dtype", [np.float16, F32, F64])
@pytest.mark.parametrize("row", ROWS)
def test_classes_are_drawn_by_their_softmax(row: str, dtype: Any) -> None:
    logits = np.array([ROWS[row]], dtype)
    classes_and_next = reference.random_categorical(logits, 2**18, global_seed=1)
    check_classes(classes_and_next[0][0], logits[0])


def check_classes(drawn: np.ndarray, logits: np.ndarray) -> None:
    exact = logits.astype(F64)
    shares = np.exp(exact - exact.max())
    shares /= shares.sum()
    counts = np.bincount(drawn, minlength=shares.size)
    # Classes too rare for a chi-square are counted one by one.
    common = shares * drawn.size > 5
    for count, share in zip(counts[~common], shares[~common], strict=True):
        check_count(int(count), drawn.size, share, "a rare class")
    if common.sum() > 1:
        expected = shares[common] / shares[common].sum()
        check_counts(counts[common], expected)


def test_samples_and_rows_are_independent() -> None:
    row = F32([[0, 1, 0.5, -1]])
    logits = np.tile(row, (2**17, 1))
    values = reference.random_categorical(logits, 2, global_seed=1)[0]
    pairs = ((values[:, 0], values[:, 1]), (values[:-1, 1], values[1:, 0]))
    for a, b in pairs:
        counts = np.bincount(a * 4 + b, minlength=16)
        table = counts.reshape(4, 4)
        check_p(scipy.stats.chi2_contingency(table).pvalue, "one sample after another")
    check_classes(values.reshape(-1), logits[0])


# The checks find what they are for


def box_muller(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    least = F32(1e-7)
    logarithms = np.log(np.maximum(u, least), dtype=F64)
    r = np.sqrt(-2 * logarithms)
    turns = 2 * np.pi * v.astype(F64)
    pairs = np.stack([r * np.sin(turns), r * np.cos(turns)], 1)
    return pairs.reshape(-1).astype(F32)


def fair_pairs(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    pairs = uniforms("f32", n)
    u, v = pairs.reshape(-1, 2).T
    return u, v


def blend(k: int) -> np.ndarray:
    """Normals; two of the streams have a quarter of a third one in them."""
    own = normals("f32", 2**14, global_seed=k + 2)
    return own + normals("f32", 2**14, global_seed=1) / 4 if k in (3, 17) else own


LOGITS = np.array([0, 1, 0.5, -1])

BROKEN = [
    (
        lambda: check_bits(words() | np.uint32(1 << 17)),
        "one is stuck",
    ),
    (
        lambda: check_bits(words() | (np.arange(N, dtype=np.uint32) % 64 == 0) << np.uint32(4)),
        "1 too often",
    ),
    (
        lambda: check_bits((words() & np.uint32(~(1 << 9) & 0xFFFFFFFF)) | (words() >> 3 & 1) << 9),
        "repeated",
    ),
    (
        lambda: check_uniform(uniforms("f32") * F32(0.999)),
        "never above 0.999",
    ),
    (
        lambda: check_uniform(uniforms("f32") * F32(0.99) + F32(0.01)),
        "moved",
    ),
    (
        lambda: check_uniform(((words() & 0x3FFFFF) | 0x3F800000).view(F32) - 1),
        "the wrong fraction bits",
    ),
    (
        lambda: check_uniform(uniforms("f64") ** 1.01),
        "squared a little",
    ),
    (
        lambda: check_serial(np.repeat(uniforms("f32", N // 2), 2)),
        "each value twice",
    ),
    (
        lambda: check_serial(used_again(uniforms("f32").reshape(-1, 4))),
        "a word used again in the next block",
    ),
    (
        lambda: check_serial(normals("f32") + np.sin(np.arange(N) / 100).astype(F32) / 10),
        "a slow drift",
    ),
    (
        lambda: check_normal(normals("f32") * F32(1.01)),
        "1% too wide",
    ),
    (
        lambda: check_normal(normals("f32") + F32(0.01)),
        "moved by 1%",
    ),
    (
        lambda: check_normal(normals("f32") / F32(math.sqrt(2))),
        "-ln u for -2 ln u",
    ),
    (
        lambda: check_normal(uniforms("f32", 12 * N).reshape(-1, 12).sum(1) - 6),
        "twelve uniforms",
    ),
    (
        lambda: check_normal(np.clip(normals("f32"), -3, 3)),
        "a tail cut at 3",
    ),
    (
        lambda: check_normal(np.round(normals("f32") * 64) / 64),
        "on a grid of 1/64",
    ),
    (
        lambda: check_pairs(np.repeat(normals("f32")[0::2], 2)),
        "the sine twice",
    ),
    (
        lambda: check_pairs(box_muller(fair_pairs()[0], fair_pairs()[0])),
        "u is v",
    ),
    (
        lambda: check_pairs(box_muller(fair_pairs()[0], fair_pairs()[1] / 2)),
        "half a turn",
    ),
    (
        lambda: check_pairs(np.stack([np.abs(normals("f32")[0::2]), normals("f32")[1::2]], 1)),
        "a sign lost",
    ),
    (
        lambda: check_normal_tails(of_other_u(2**23, lambda u: np.maximum(u, F32(5e-5)))),
        "u not below 5e-5",
    ),
    (
        lambda: check_normal_tails(of_other_u(2**24, lambda u: np.floor(u * 2**16) / 2**16)),
        "u of 16 bits",
    ),
    (
        lambda: check_normal_tails(normals("f32", 2**22) * np.where(np.arange(2**22) % 100, 1, 2)),
        "a little heavy",
    ),
    (
        lambda: check_streams(normals("f32", 2**14, global_seed=1) for _ in range(36)),
        "op_seed ignored",
    ),
    (
        lambda: check_streams(streams("uniform", lambda k: PhiloxState(k, 1))),
        "the next block",
    ),
    (
        lambda: check_streams(streams("uniform", lambda k: PhiloxState(4000 * k, 1))),
        "a start within another",
    ),
    (
        lambda: check_streams(blend(k) for k in range(36)),
        "one is in another",
    ),
    (
        lambda: check_count(int((uniforms("f32") < 0.303).sum()), N, 0.3, "p = 0.3"),
        "p off by 1%",
    ),
    (
        lambda: check_classes((drawn_classes(LOGITS) + 1) % 4, LOGITS),
        "the next class",
    ),
    (
        lambda: check_classes(drawn_classes(LOGITS / 1.04), LOGITS),
        "4% hotter",
    ),
    (
        lambda: check_classes(np.minimum(drawn_classes(LOGITS), 2), LOGITS),
        "the last is never drawn",
    ),
]


def used_again(blocks: np.ndarray) -> np.ndarray:
    first = np.roll(blocks, 1, 0)
    again = np.concatenate([first[:, :1], blocks[:, 1:]], 1)
    return again.repeat([1, 2, 1, 1], 1).reshape(-1)


def of_other_u(
    n: int,
    change: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    u, v = fair_pairs(n)
    return box_muller(change(u), v)


def words() -> np.ndarray:
    state = PhiloxState(0, 1).to_array()
    return reference.random_generator(state, [N])[0]


def drawn_classes(logits: np.ndarray) -> np.ndarray:
    return reference.random_categorical(logits[None], 2**18, global_seed=1)[0][0]


# What the tests above can see; CI asks them.
@pytest.mark.exhaustive
@pytest.mark.parametrize(("check", "what"), BROKEN)
def test_a_broken_generator_is_found(check: Callable[[], None], what: str) -> None:  # noqa: ARG001
    with pytest.raises(AssertionError, match=r"p = |z = |overlap|not \d|^assert"):
        check()
