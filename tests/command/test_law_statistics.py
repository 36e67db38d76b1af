"""The statistics of `compare --original`: their bounds, what they see, and what they never tell."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law import bounds, first_runs
from onnx_philox._command.compare.law.changes import changes, shares_in_words
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.seen import Shown, largest_correlations
from onnx_philox._command.compare.law.statistics import ERROR

Outputs = dict[str, np.ndarray]
Model = Callable[[np.random.Generator, int], Outputs]


def judged(was: Outputs, now: Outputs, error: float = ERROR) -> tuple[PairedRuns, Verdicts]:
    """Runs of two models, each a row of an array, and which tests tell the two apart."""
    runs = PairedRuns({name: array[0] for name, array in was.items()}, Tolerances())
    olds, news = (zip(*outputs.values(), strict=True) for outputs in (was, now))
    for old, new in zip(olds, news, strict=True):
        runs.add(old, new)
    return runs, runs.look(error)


def look_at(was: Outputs, now: Outputs) -> tuple[PairedRuns, Verdicts, Shown, list[str]]:
    """Likewise, with what a report would say of them."""
    runs, look = judged(was, now)
    seen = Shown(runs, look)
    sentences = [each.text for each in changes(runs, look, seen)]
    return runs, look, seen, sentences


def told(was: Model, now: Model, runs: int, tries: int = 10) -> int:
    """In how many tries two models are told apart."""
    found = 0
    for seed in range(tries):
        random = np.random.default_rng(seed)
        found += judged(was(random, runs), now(random, runs))[1].is_any
    return found


@pytest.mark.parametrize("more", [0, 3, 20, 60, 100])
def test_the_bound_of_counts_lies_above_the_exact_binomial(more: int) -> None:
    exponent = float(bounds.of_counts(np.array(more), np.array(100 - more)))
    exact = scipy.stats.binomtest(more, 100).pvalue
    assert exact <= 2 * math.exp(-exponent) + 1e-12
    # Chernoff's bound lacks a factor that grows as the root of the exponent.
    assert 2 * math.exp(-exponent) <= max(exact, 1e-300) * 8 * math.sqrt(1 + exponent)


def test_the_bound_of_values_is_that_of_counts_for_signs_and_never_less_than_efrons() -> None:
    random = np.random.default_rng(1)
    signs = random.choice([-1.0, 0.0, 1.0], 500, p=[0.1, 0.6, 0.3])
    counted = bounds.of_counts(np.array((signs > 0).sum()), np.array((signs < 0).sum()))
    # It is tried at a few places alone.
    assert float(counted) * 0.99 < bounds.of_values(signs) <= float(counted) + 1e-9
    for values in (random.standard_t(3, 500) + 0.3, random.normal(0.2, 1, 500)):
        efron = float(bounds.of_sums(values.sum(), np.square(values).sum()))
        assert efron <= bounds.of_values(values) < 2 * efron
    assert bounds.of_values(np.zeros(3)) == 0


@pytest.mark.parametrize("kind", ["normal", "heavy", "rare", "few"])
def test_sums_of_random_signs_exceed_their_bounds_seldom(kind: str) -> None:
    random = np.random.default_rng(2)
    sizes = {
        "normal": random.normal(size=300),
        "heavy": random.standard_cauchy(300),
        "rare": (random.random(300) < 0.1) * 1.0,
        "few": random.normal(size=8),
    }[kind]
    signs = random.choice([-1.0, 1.0], (20_000, len(sizes)))
    sums, squares = (signs * sizes).sum(1), np.square(sizes).sum()
    by_efron = 2 * np.exp(-bounds.of_sums(sums, np.full(len(sums), squares)))
    by_chernoff = np.array([2 * math.exp(-bounds.of_values(row * sizes)) for row in signs[:3000]])
    for found in (by_efron, by_chernoff):
        for level in (0.3, 0.1, 0.03, 0.01):
            # Three standard deviations.
            assert np.mean(found < level) < level + 3 * math.sqrt(level / len(found))


def noise(scale: float = 1, shift: float = 0) -> Model:
    """Elements of kurtosis 6."""
    return lambda random, runs: {"y": random.laplace(shift, scale / math.sqrt(2), (runs, 8))}


def coins(share: float | np.ndarray) -> Model:
    return lambda random, runs: {"y": random.random((runs, 8)) < share}


def correlated(correlation: float) -> Model:
    def model(random: np.random.Generator, runs: int) -> Outputs:
        values = random.laplace(size=(runs, 8))
        rest = math.sqrt(1 - correlation**2)
        values[:, 5] = correlation * values[:, 2] + rest * values[:, 5]
        return {"y": values}

    return model


def masks(share: float, elements: int, *, equal: bool) -> Model:
    def model(random: np.random.Generator, runs: int) -> Outputs:
        one, other = random.random((2, runs, elements)) < share
        return {"mask": one, "same": one.copy() if equal else other}

    return model


def zeroed(share: float, *, equal: bool) -> Model:
    """Two outputs, where equal or other places are zero."""

    def model(random: np.random.Generator, runs: int) -> Outputs:
        kept = masks(share, 8, equal=equal)(random, runs)
        values = random.normal(size=(2, runs, 8))
        return {"y": values[0] * kept["mask"], "z": values[1] * kept["same"]}

    return model


SEES = {
    "a scale of 1.05 in 10,000 runs": (noise(), noise(1.05), 10_000),
    "a scale of 1.2 in 1,000": (noise(), noise(1.2), 1000),
    "a shift of 0.05 in 10,000": (noise(), noise(1, 0.05), 10_000),
    "a shift of 0.15 in 1,000": (noise(), noise(1, 0.15), 1000),
    "a share off by 0.025 in 10,000": (coins(0.5), coins(0.525), 10_000),
    "a share off by 0.07 in 1,000": (coins(0.5), coins(0.57), 1000),
    "a share of 0.1 off by 0.05 in 1,000": (coins(0.1), coins(0.05), 1000),
    "a correlation of 0.13 in 10,000": (correlated(0), correlated(0.13), 10_000),
    "a correlation of 0.4 in 1,000": (correlated(0.4), correlated(0), 1000),
    "equal masks of a share of 0.03 in 1,000": (
        masks(0.03, 1, equal=True),
        masks(0.03, 1, equal=False),
        1000,
    ),
    "equal masks of a share of 0.01 in 8 elements": (
        masks(0.01, 8, equal=True),
        masks(0.01, 8, equal=False),
        1000,
    ),
    "zeros at equal places": (zeroed(0.95, equal=True), zeroed(0.95, equal=False), 1000),
}


@pytest.mark.parametrize(("was", "now", "runs"), SEES.values(), ids=SEES)
def test_a_printed_smallest_difference_is_found_in_nine_of_ten_tries(
    was: Model, now: Model, runs: int
) -> None:
    assert told(was, now, runs) >= 9


def of_everything(random: np.random.Generator, runs: int) -> Outputs:
    """Outputs of each kind, some of which go together."""
    values = random.normal(size=(runs, 4, 4)).astype(np.float32)
    mask = random.random((runs, 4, 4)) < 0.01
    return {
        "values": values,
        "mask": mask,
        "zeroed": values * ~mask,
        "far": random.standard_cauchy((runs, 3)),
        "counts": random.poisson(4, (runs, 5)),
        "halves": random.random((runs, 3)).astype(np.float16),
        "words": random.integers(0, 2**32, (runs, 3), np.uint32),
        "not a number": np.where(random.random((runs, 2)) < 0.1, np.nan, 1.0),
        "hidden": np.where(random.random((runs, 3)) < 0.3, -np.inf, 0.0).astype(np.float32),
        "one in ten": np.where(random.random((runs, 3)) < 0.1, np.inf, random.random((runs, 3))),
        "infinite": np.full((runs, 2), np.inf),
        "one": values.sum((1, 2)),
        "still": np.ones((runs, 3)),
    }


def test_two_samples_of_one_law_are_told_apart_no_more_often_than_the_error() -> None:
    """All tests together, at an error that would show."""
    error, tries, found = 0.2, 60, 0
    for seed in range(tries):
        random = np.random.default_rng([3, seed])
        was, now = (of_everything(random, 300) for _ in range(2))
        found += judged(was, now, error)[1].is_any
    # Three standard deviations.
    assert found / tries < error + 3 * math.sqrt(error / tries)


def test_the_smallest_differences_that_are_printed_are_seen_in_nine_of_ten_tries() -> None:
    runs, tries = 1000, 30

    def normal(scale: float = 1, shift: float = 0) -> Model:
        return lambda random, runs: {"y": random.normal(shift, scale, (runs, 8))}

    random = np.random.default_rng(5)
    seen = look_at(normal()(random, runs), normal()(random, runs))[2]
    of_coins = look_at(coins(0.2)(random, runs), coins(0.2)(random, runs))[2]
    assert seen.scale is not None
    assert seen.shift is not None
    assert of_coins.share is not None
    # Three standard deviations below nine of ten.
    enough = 0.9 * tries - 3 * math.sqrt(0.09 * tries)
    assert told(normal(), normal(seen.scale), runs, tries) >= enough
    assert told(normal(), normal(1, seen.shift), runs, tries) >= enough
    assert told(coins(0.2), coins(0.2 + of_coins.share), runs, tries) >= enough

    assert of_coins.element is not None
    one_of_eight = 0.2 + np.eye(8)[3] * of_coins.element
    assert told(coins(0.2), coins(one_of_eight), runs, tries) >= enough

    def gaussian(correlation: float) -> Model:
        covariance = [[1, correlation], [correlation, 1]]
        return lambda random, runs: {"y": random.multivariate_normal([0, 0], covariance, runs)}

    pair = look_at(gaussian(0)(random, runs), gaussian(0)(random, runs))[2]
    assert pair.correlation is not None
    # The correlation of ranks is 6 / pi asin(r / 2).
    correlation = 2 * math.sin(math.pi / 6 * pair.correlation)
    assert told(gaussian(0), gaussian(correlation), runs, tries) >= enough


def test_the_share_of_a_value_is_promised_only_of_outputs_of_few_values() -> None:
    random = np.random.default_rng(7)

    def tokens(classes: int) -> Model:
        return lambda random, runs: {"y": random.integers(0, classes, (runs, 8))}

    few = look_at(tokens(16)(random, 1000), tokens(16)(random, 1000))[2]
    assert few.share_of_values is not None
    assert few.element is not None
    assert few.share_below is None
    assert few.element_below is None
    many = look_at(tokens(32)(random, 1000), tokens(32)(random, 1000))[2]
    assert many.share_of_values is None
    assert many.element is None
    assert many.share_below is not None
    assert many.element_below is not None


def test_values_that_the_first_runs_had_not_are_named_as_not_judged() -> None:
    runs = 4000
    is_rare = (np.arange(runs) % 1000 == 999)[:, None]
    seen = look_at({"y": 7 * is_rare}, {"y": 8 * is_rare})[2]
    assert (
        "what 'y' is where it has a value that its first 250 runs had not: one of its elements in "
        "0.1% of all runs"
    ) in seen.not_judged()


def test_the_means_of_outputs_are_no_values_of_which_a_correlation_is_promised() -> None:
    random = np.random.default_rng(8)
    was, now = ({name: random.random((1000, 8)) < 0.01 for name in ("a", "b")} for _ in range(2))
    seen = look_at(was, now)[2]
    assert seen.correlation is None
    assert any("too rare" in said for said in seen.not_judged())


def test_a_correlation_that_two_shares_cannot_reach_is_not_promised() -> None:
    random = np.random.default_rng(10)

    def rare_and_common(random: np.random.Generator) -> Outputs:
        y = random.normal(size=(1000, 1))
        return {"a": y < -2.3263, "y": y}

    seen = look_at(rare_and_common(random), rare_and_common(random))[2]
    assert seen.correlation is None
    (said,) = seen.not_judged()
    pair = "whether 1 pair of values of 'a' and 'y' go together"
    assert re.fullmatch(pair + r": too rare in 1000 runs; about 5\d00 are enough", said)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_largest_correlation_of_a_share_with_ranks_is_hoeffdings(share: float) -> None:
    y = np.random.default_rng(11).normal(size=(20_000, 1))
    edge = scipy.stats.norm.ppf(share)
    drawn = {"a": y < edge, "y": y}
    found = largest_correlations(look_at(drawn, drawn)[0])[0, 1]
    # The ranks are of 14 classes.
    assert found == pytest.approx(math.sqrt(3 * share * (1 - share)), rel=0.06)


@pytest.mark.parametrize("seed", [2, 5])
def test_shares_that_moved_are_not_told_once_more_as_what_goes_together(seed: int) -> None:
    random = np.random.default_rng(seed)
    was, now = (
        {f"m{i}": random.random((1000, 64)) < share for i in range(4)} for share in (0.5, 0.8)
    )
    said = look_at(was, now)[3]
    assert [each.partition(":")[0] for each in said] == ["m0", "m1", "m2", "m3"]


def test_two_models_that_draw_the_same_are_not_called_constant() -> None:
    drawn = {"y": np.random.default_rng(1).random((1000, 4))}
    assert look_at(drawn, drawn)[2].not_judged() == [
        "'y' is in each run of one model what it is in the other's"
    ]


def test_two_shares_have_as_many_digits_as_tell_them_apart() -> None:
    assert shares_in_words(0.796, 0.204) == "79.6%, was 20.4%"
    assert shares_in_words(0.0004, 0.0001) == "0.04%, was 0.01%"
    assert shares_in_words(0.5, 0.5) == "50.0%, was 50.0%"


def test_what_is_too_rare_or_too_constant_is_named() -> None:
    random = np.random.default_rng(6)
    model = masks(0.002, 1, equal=False)
    was, now = ({**model(random, 1000), "still": np.ones((1000, 2))} for _ in range(2))
    was["still"][:, 0] = now["still"][:, 0] = 7
    seen = look_at(was, now)[2]
    assert seen.not_judged() == [
        "'still' is the same in each run of both",
        "whether 1 pair of values of 'mask' and 'same' go together: too rare in 1000 runs; about "
        "24000 are enough",
    ]
    assert seen.correlation is None


def beside(share: float, other: float) -> Model:
    """Noise of which a share is another value."""

    def model(random: np.random.Generator, runs: int) -> Outputs:
        noise = random.normal(size=(runs, 4))
        return {"y": np.where(random.random((runs, 4)) < share, other, noise)}

    return model


SAYS: dict[str, tuple[Model, Model, list[str]]] = {
    "a share": (coins(0.2), coins(0.8), [r"y: true in (79|80)\.\d%, was (19|20)\.\d%"]),
    "a scale": (noise(), noise(1.5), [r"y: its spread is 1\.\d+ times what it was"]),
    "a shift": (
        noise(),
        noise(1, 0.5),
        [r"y: its mean is 0\.\d+, was -?0\.0\d+ \(a shift of 0\.\d+ standard deviations\)"],
    ),
    "equal masks": (
        masks(0.3, 8, equal=True),
        masks(0.3, 8, equal=False),
        [r"'mask' and 'same' went together, now they do not: rank correlation .*, was 1\.00"],
    ),
    "a sequence that is longer": (
        lambda random, runs: {"y": ragged(random, runs, 3)},
        lambda random, runs: {"y": ragged(random, runs, 6)},
        [r"y: 8\.\d+ elements in a run, was 5\.\d*", "values of 'y' went together, .*"],
    ),
    "another shape of equal size": (
        lambda random, runs: {"y": random.normal(size=(runs, 2, 4))},
        lambda random, runs: {"y": random.normal(size=(runs, 4, 2))},
        [r"y: its shape is \[4, 2\], was \[2, 4\]"],
    ),
    "one dimension more": (
        lambda random, runs: {"y": random.normal(size=(runs, 4))},
        lambda random, runs: {"y": random.normal(size=(runs, 4, 1))},
        [r"y: its shape is \[4, 1\], was \[4\]"],
    ),
    "shapes of equal size by another law": (
        lambda random, runs: {"y": turned(random, runs, 0.2)},
        lambda random, runs: {"y": turned(random, runs, 0.6)},
        [r"y: of shape \[2, 3\] in [34]\d\.\d%, was (7|8)\d\.\d%"],
    ),
    "numbers that are none": (
        beside(0, np.nan),
        beside(0.1, np.nan),
        [r"y: NaN in (9|10)\.\d%, was 0\.0%"],
    ),
    "an infinity": (
        beside(0.05, -np.inf),
        beside(0.1, -np.inf),
        [r"y: -inf in (9|10)\.\d%, was (4|5)\.\d%"],
    ),
    "the sign of an infinity": (
        beside(0.1, np.inf),
        beside(0.1, -np.inf),
        [r"y: \+inf in 0\.0%, was (9|10)\.\d%", r"y: -inf in (9|10)\.\d%, was 0\.0%"],
    ),
    "the scale of one value": (
        lambda random, runs: {"y": 100 + random.normal(size=(runs, 4)) * [5, 1, 1, 1]},
        lambda random, runs: {"y": 100 + random.normal(size=(runs, 4)) * [5, 1, 3, 1]},
        [
            r"y\[2\]: .* or less in .*; mean (100|99\.9), was (100|99\.9); "
            r"standard deviation (2\.9|3|3\.0)\d?, was (0\.9|1|1\.0)\d* \(1 of 4 values differs\)"
        ],
    ),
    "where an infinity stands": (
        lambda random, runs: {"y": np.where(random.random((runs, 2)) < [0.8, 0.2], -np.inf, 0.0)},
        lambda random, runs: {"y": np.where(random.random((runs, 2)) < [0.2, 0.8], -np.inf, 0.0)},
        [r"y\[0\]: 0 in (79|80)\.\d%, was 2\d\.\d% \(2 of 2 values differ, it most\)"],
    ),
}


def ragged(random: np.random.Generator, runs: int, most: int) -> Any:
    found = np.empty(runs, object)
    for i in range(runs):
        found[i] = random.normal(size=4 + random.integers(0, most) + most // 6 * 2)
    return found


def turned(random: np.random.Generator, runs: int, share: float) -> Any:
    """Arrays of which a share is transposed."""
    found = np.empty(runs, object)
    for i in range(runs):
        values = random.normal(size=(2, 3))
        is_turned = random.random() < share
        found[i] = values.T if is_turned else values
    return found


@pytest.mark.parametrize(("was", "now", "lines"), SAYS.values(), ids=SAYS)
def test_a_difference_is_named(was: Model, now: Model, lines: list[str]) -> None:
    random = np.random.default_rng(7)
    found = look_at(was(random, 1000), now(random, 1000))[3]
    patterns = itertools.zip_longest(lines, found, fillvalue="")
    wrong = [(line, said) for line, said in patterns if not _fits(line, said)]
    assert wrong == []


def _fits(pattern: str, said: str) -> bool:
    return re.fullmatch(pattern, said) is not None


def test_rank_correlations_are_nearly_those_of_scipy() -> None:
    random = np.random.default_rng(8)
    values = random.normal(size=(4000, 3))
    values[:, 1] += values[:, 0]
    values[:, 2] = np.round(values[:, 2] + values[:, 0])
    runs, *_ = look_at({"y": values}, {"y": values + 0.0})
    was, now = runs.together.correlations()
    known = scipy.stats.spearmanr(values).statistic
    # Ranks are of fourteen classes, or of fewer where a quantile comes twice.
    np.testing.assert_allclose(was[:3, :3], known, atol=0.05)
    np.testing.assert_allclose(now, was)


def test_an_element_of_a_mask_is_not_correlated_with_a_mean_that_contains_it() -> None:
    """A mask of which one element never changes in the original."""
    random = np.random.default_rng(9)
    was, now = (random.random((2000, 4)) < 0.7 for _ in range(2))
    was[:, 0] = True
    runs, _, _, found = look_at({"mask": was}, {"mask": now})
    (line,) = found
    assert line.startswith("mask[0]: true in ")
    assert not runs.together.is_pair[:4, 4:].any()


ROUNDED = {
    "a constant beside what is none": lambda _: np.array([np.inf, -np.inf, np.nan, 0.1]),
    "a constant": lambda _: np.linspace(0, 1, 200).astype(np.float32),
    "a mask times a constant": lambda random: (
        np.linspace(0, 1, 200).astype(np.float32) * (random.random(200) < 0.7)
    ),
    "a softmax, whose mean is constant": lambda random: _softmax(random.normal(size=8)),
}


def _softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values).astype(np.float32)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("draw", ROUNDED.values(), ids=ROUNDED)
def test_values_that_differ_by_rounding_count_as_equal(
    draw: Callable[[np.random.Generator], np.ndarray],
) -> None:
    random = np.random.default_rng(10)
    was = np.stack([draw(random) for _ in range(1000)])
    now = np.stack([draw(random) for _ in range(1000)]) * np.float32(1 + 1e-6)
    assert look_at({"y": was}, {"y": now})[3] == []


def test_noise_beside_a_large_number_is_no_rounding() -> None:
    random = np.random.default_rng(11)
    was, now = (100 + random.normal(0, scale, (1000, 8)) for scale in (1e-3, 1.3e-3))
    (line,) = look_at({"y": was.astype(np.float32)}, {"y": now.astype(np.float32)})[3]
    assert line.startswith("y: its spread is 1.")


def test_the_places_of_outputs_of_equally_many_rows_share_rows() -> None:
    assert first_runs.spread((), 64) == [()]
    assert first_runs.spread((0, 3), 64) == []
    rows = {place[0] for place in first_runs.spread((5000, 2), 64)}
    assert len(rows) == 32
    assert rows <= {place[0] for place in first_runs.spread((5000,), 64)}
    assert len(first_runs.spread((3, 224, 224), 64)) == 48
