"""Which differences `onnx-philox compare --original` tells, beside the tests of a statistician.

    python benchmarks/law.py            writes both tables of docs/same-numbers-and-law.md
    python benchmarks/law.py --power    the first one alone, in two minutes
    python benchmarks/law.py --table    the second one alone, in ten minutes
    python benchmarks/law.py --alarms   2,000 comparisons of one law
    python benchmarks/law.py --rewrites 1000    so many of rewrites of one model at other runs
    python benchmarks/law.py --originals    of the originals of the tests with their rewrites

The first table shows in how many of 100 tries the command tells a difference of a given size, which
it must in 90 of them. For the second, each try draws runs of both models once, and looks for the
smallest difference that is told: of the same runs by the command's statistics, by a z test, by the
exact binomial test and by Kolmogorov and Smirnov's (scipy), each at the error that one test of the
command has. The table shows what is told in nine of ten tries. It needs scipy.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import law_models
import numpy as np
import scipy.stats
from numpy.typing import NDArray

from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.statistics import ERROR, SHARES, Family

PAGE = Path(__file__).parents[1] / "docs" / "same-numbers-and-law.md"
RUNS = (1000, 10_000)
ELEMENTS = 8
TRIES = 20
STEPS = 9
"""Halvings of the logarithm of a difference."""
NEAR = 1.5
"""A test is first looked for within this factor of what the others tell."""
STEPS_NEAR = 6
LARGEST_RATIO = 1.25
POWER_TRIES = 100
MUST_BE_TOLD = 0.9
COMPARISONS = 2000
LEVELS = (1e-6, 1e-2, 0.1)
"""The errors at which comparisons of one law are looked at; of them ERROR is the command's."""

Floats = NDArray[np.float64]
Outputs = dict[str, NDArray[Any]]
Uniforms = tuple[Floats, Floats]
"""What each model draws from, a row for each run."""
Told = Callable[[Outputs, Outputs, float], bool]
"""Whether a test tells two models apart at an error."""


def judged(was: Outputs, now: Outputs) -> tuple[PairedRuns, Verdicts]:
    """The command's statistics of runs of two models."""
    runs = PairedRuns({name: array[0] for name, array in was.items()}, Tolerances())
    for old, new in zip(
        zip(*was.values(), strict=True), zip(*now.values(), strict=True), strict=True
    ):
        runs.add(old, new)
    return runs, runs.look(ERROR)


def by_command(was: Outputs, now: Outputs, _: float) -> bool:
    return judged(was, now)[1].is_any


def z_of(statistic: Callable[[Floats], Floats]) -> Told:
    """A z test of the mean of something of each value."""

    def told(was: Outputs, now: Outputs, error: float) -> bool:
        one, other = (statistic(each["y"].astype(float).reshape(-1)) for each in (was, now))
        spread = math.sqrt(one.var() / len(one) + other.var() / len(other))
        apart = abs(one.mean() - other.mean())
        return spread > 0 and 2 * scipy.stats.norm.sf(apart / spread) <= error

    return told


def kolmogorov_smirnov(was: Outputs, now: Outputs, error: float) -> bool:
    one, other = (each["y"].astype(float).reshape(-1) for each in (was, now))
    return bool(scipy.stats.ks_2samp(one, other, method="asymp").pvalue <= error)


def exact_binomial(was: Outputs, now: Outputs, error: float) -> bool:
    """Of the values that are true in one model alone: a fair coin says in which."""
    one, other = (each["y"].reshape(-1) for each in (was, now))
    more, fewer = int((other & ~one).sum()), int((one & ~other).sum())
    return bool(more + fewer and scipy.stats.binomtest(more, more + fewer).pvalue <= error)


def of_agreement(test: Told) -> Told:
    """A test of whether two outputs are equal."""

    def told(was: Outputs, now: Outputs, error: float) -> bool:
        were_equal = {"y": was["y"] == was["z"]}
        are_equal = {"y": now["y"] == now["z"]}
        return test(were_equal, are_equal, error)

    return told


def z_of_correlation(was: Outputs, now: Outputs, error: float) -> bool:
    """Fisher's z of the correlation of the first two values."""
    pairs = (each["y"][:, :2].T for each in (was, now))
    found = [np.arctanh(np.corrcoef(pair)[0, 1]) for pair in pairs]
    spread = math.sqrt(2 / (len(was["y"]) - 3))
    return bool(2 * scipy.stats.norm.sf(abs(found[0] - found[1]) / spread) <= error)


@dataclass(frozen=True)
class Row:
    """A kind of difference."""

    name: str
    made: Callable[[Uniforms, float], tuple[Outputs, Outputs]]
    """Both models' outputs, which differ by so much."""
    peers: Mapping[str, Told]
    shown: Callable[[float], str]
    family: Family = Family.WHOLE
    """Whose error the peers have."""
    least: float = 1e-3
    most: float = 1.0


def normal(uniforms: Floats) -> Floats:
    return np.asarray(scipy.stats.norm.ppf(uniforms))


def scaled(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    return {"y": normal(of[0])}, {"y": normal(of[1]) * (1 + more)}


def shifted(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    return {"y": normal(of[0])}, {"y": normal(of[1]) + more}


def half(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    return {"y": of[0] < 0.5}, {"y": of[1] < 0.5 + more}


def rare(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    return {"y": of[0] < 0.002}, {"y": of[1] < 0.002 + more}


def correlated(of: Uniforms, correlation: float) -> tuple[Outputs, Outputs]:
    was, now = normal(of[0]), normal(of[1])
    now[:, 1] = correlation * now[:, 0] + math.sqrt(1 - correlation**2) * now[:, 1]
    return {"y": was}, {"y": now}


def no_longer_equal(of: Uniforms, share: float) -> tuple[Outputs, Outputs]:
    """Two masks of one value that fell alike, and no longer do."""
    mask, one, other = of[0][:, :1] < share, of[1][:, :1] < share, of[1][:, 1:2] < share
    return {"y": mask, "z": mask.copy()}, {"y": one, "z": other}


def gamma(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    shapes = 2.0, 2.0 * (1 + more)
    was, now = (scipy.stats.gamma.ppf(u, a) for u, a in zip(of, shapes, strict=True))
    return {"y": was}, {"y": now}


def poisson(of: Uniforms, more: float) -> tuple[Outputs, Outputs]:
    rates = 4.0, 4.0 * (1 + more)
    was, now = (scipy.stats.poisson.ppf(u, r) for u, r in zip(of, rates, strict=True))
    return {"y": was.astype(np.int64)}, {"y": now.astype(np.int64)}


def times(difference: float) -> str:
    return f"{1 + difference:.3f}"


def plainly(difference: float) -> str:
    return f"{difference:.3g}"


OF_VALUES = {"z": z_of(lambda x: x), "KS": kolmogorov_smirnov}
OF_SHARES = {**OF_VALUES, "exact binomial": exact_binomial}
OF_EQUAL_DRAWS = {
    "z": of_agreement(OF_VALUES["z"]),
    "KS": of_agreement(kolmogorov_smirnov),
    "exact binomial": of_agreement(exact_binomial),
}
OF_SQUARES = {"z": z_of(lambda x: x * x), "KS": kolmogorov_smirnov}
ROWS = (
    Row("scale of a normal", scaled, OF_SQUARES, times),
    Row("shift, in standard deviations", shifted, OF_VALUES, plainly),
    Row("share of 0.5, off by", half, OF_SHARES, plainly),
    Row("share of 0.002, off by", rare, OF_SHARES, plainly, least=1e-4),
    Row(
        "correlation of two values",
        correlated,
        {"z": z_of_correlation},
        plainly,
        Family.TOGETHER,
        most=0.99,
    ),
    Row(
        "equal draws no longer equal, from a share of",
        no_longer_equal,
        OF_EQUAL_DRAWS,
        plainly,
        Family.PLACES,
        most=0.4,
    ),
    Row("shape 2 of a gamma, times", gamma, OF_VALUES, times),
    Row("rate 4 of a Poisson, times", poisson, OF_VALUES, times),
)


def smallest(row: Row, told: Told, of: Uniforms, error: float, near: float) -> float:
    """The smallest difference that a test tells of these runs; sought near a number first."""

    def is_told(difference: float) -> bool:
        return told(*row.made(of, difference), error)

    lowest, highest = near / NEAR, min(near * NEAR, row.most)
    steps = STEPS_NEAR
    if lowest < row.least or is_told(lowest) or not is_told(highest):
        lowest, highest = row.least, row.most
        steps = STEPS
        if not is_told(highest):
            return math.inf
    low = math.log(lowest)
    high = math.log(highest)
    for _ in range(steps):
        middle = (low + high) / 2
        if is_told(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def measured(row: Row, runs: int, tries: int) -> dict[str, float]:
    """What each test tells in nine of ten tries."""
    found: dict[str, list[float]] = {}
    for seed in range(tries):
        random = np.random.default_rng([seed, runs])
        of = random.random((runs, ELEMENTS)), random.random((runs, ELEMENTS))
        paired, _ = judged(*row.made(of, row.least))
        error = ERROR * SHARES[row.family] / paired.tests(row.family)
        near = 0.0
        for name, told in {**row.peers, "onnx-philox": by_command}.items():
            least = smallest(row, told, of, error, near)
            found.setdefault(name, []).append(least)
            near = min(near, least) if near else least
    return {name: float(np.quantile(each, 0.9)) for name, each in found.items()}


@dataclass(frozen=True)
class Effect:
    """A difference of a size that must be told in nine of ten tries."""

    name: str
    runs: int
    made: Callable[[Uniforms], tuple[Outputs, Outputs]]


def laplace(uniforms: Floats) -> Floats:
    """Values of kurtosis 6 and a standard deviation of 1."""
    return np.asarray(scipy.stats.laplace.ppf(uniforms, scale=math.sqrt(0.5)))


def of_scale(factor: float) -> Callable[[Uniforms], tuple[Outputs, Outputs]]:
    return lambda of: ({"y": laplace(of[0])}, {"y": factor * laplace(of[1])})


def of_shift(shift: float) -> Callable[[Uniforms], tuple[Outputs, Outputs]]:
    return lambda of: ({"y": laplace(of[0])}, {"y": shift + laplace(of[1])})


def of_share(share: float, other: float) -> Callable[[Uniforms], tuple[Outputs, Outputs]]:
    return lambda of: ({"y": of[0] < share}, {"y": of[1] < other})


def of_correlation(correlation: float) -> Callable[[Uniforms], tuple[Outputs, Outputs]]:
    def made(of: Uniforms) -> tuple[Outputs, Outputs]:
        was, now = laplace(of[0]), laplace(of[1])
        rest = math.sqrt(1 - correlation**2)
        now[:, 1] = correlation * now[:, 0] + rest * now[:, 1]
        return {"y": was}, {"y": now}

    return made


def of_equal_draws(share: float, elements: int) -> Callable[[Uniforms], tuple[Outputs, Outputs]]:
    """Two masks that fell alike, and no longer do."""

    def made(of: Uniforms) -> tuple[Outputs, Outputs]:
        mask = of[0][:, :elements] < share
        one = of[1][:, :elements] < share
        other = np.roll(of[0], 1, axis=0)[:, :elements] < share
        return {"y": mask, "z": mask.copy()}, {"y": one, "z": other}

    return made


EFFECTS = (
    Effect("a scale of 1.05", 10_000, of_scale(1.05)),
    Effect("a scale of 1.2", 1000, of_scale(1.2)),
    Effect("a shift of 0.05 standard deviations", 10_000, of_shift(0.05)),
    Effect("a shift of 0.15 standard deviations", 1000, of_shift(0.15)),
    Effect("a share of 0.5 that is off by 0.025", 10_000, of_share(0.5, 0.525)),
    Effect("a share of 0.5 that is off by 0.07", 1000, of_share(0.5, 0.57)),
    Effect("a share of 0.1 that is off by 0.05", 1000, of_share(0.1, 0.05)),
    Effect("a correlation of 0.13 of two values", 10_000, of_correlation(0.13)),
    Effect("a correlation of 0.4 of two values", 1000, of_correlation(0.4)),
    Effect("two equal draws of a share of 0.03, no longer equal", 1000, of_equal_draws(0.03, 1)),
    Effect("8 such pairs of a share of 0.01", 1000, of_equal_draws(0.01, 8)),
)


def power() -> str:
    """In how many tries each difference is told."""
    lines = ["| a difference | runs | told in |", "|---|---|---|"]
    missed = []
    for effect in EFFECTS:
        told = 0
        for seed in range(POWER_TRIES):
            random = np.random.default_rng([2, seed, effect.runs])
            of = random.random((effect.runs, ELEMENTS)), random.random((effect.runs, ELEMENTS))
            _, look = judged(*effect.made(of))
            told += look.is_any
        share = told / POWER_TRIES
        lines.append(f"| {effect.name} | {effect.runs:,} | {share:.0%} of tries |")
        print(lines[-1], flush=True)
        if share < MUST_BE_TOLD:
            missed.append(effect.name)
    if missed:
        raise SystemExit(f"must be told in {MUST_BE_TOLD:.0%} of tries: {', '.join(missed)}")
    return "\n".join(lines)


NAMES = ("onnx-philox", "z", "exact binomial", "KS")


def table(tries: int) -> str:
    """The table, and a line on the worst ratio."""
    heads = "".join(f" {name} |" for name in NAMES)
    lines = [f"| what differs | runs |{heads}", f"|---|---|{'---|' * len(NAMES)}"]
    worst = 0.0
    for row in ROWS:
        for runs in RUNS:
            found = measured(row, runs, tries)
            best = min(found[name] for name in row.peers)
            ratio = found["onnx-philox"] / best
            # A test that tells nothing has no ratio.
            worst = max(worst, ratio if math.isfinite(ratio) else math.inf)
            cells = (row.shown(found[name]) if name in found else "" for name in NAMES)
            lines.append(f"| {row.name} | {runs:,} | {' | '.join(cells)} |")
            print(lines[-1], f"{ratio:.2f}", flush=True)
    if worst > LARGEST_RATIO:
        raise SystemExit(f"the ratio to the best test must be {LARGEST_RATIO} at most: {worst:.2f}")
    return "\n".join(lines)


def write(text: str) -> None:
    """Puts a table in the place of the page's with the same first line."""
    page = PAGE.read_text("utf-8")
    head = text.partition("\n")[0]
    pattern = re.escape(head) + r"\n(\|.*\n)+"
    assert re.search(pattern, page), f"{PAGE} has no such table"
    PAGE.write_text(re.sub(pattern, lambda _: text + "\n", page), "utf-8")


def of_one_law(random: np.random.Generator, share: float) -> Outputs:
    """Outputs of each kind, some of which go together."""
    noise = random.standard_normal((1000, ELEMENTS)).astype(np.float32)
    mask = random.random((1000, ELEMENTS)) < share
    return {
        "y": noise,
        "mask": mask,
        "z": noise * mask,
        "counts": random.poisson(4, (1000, 3)),
        "heavy": random.standard_t(3, (1000, 2)),
        "hidden": np.where(random.random((1000, 2)) < share, -np.inf, noise[:, :2]),
    }


def alarms(comparisons: int) -> dict[float, int]:
    """How many comparisons of one law tell a difference at each error, at one of two looks."""
    found = dict.fromkeys(LEVELS, 0)
    for seed in range(comparisons):
        random = np.random.default_rng([1, seed])
        share = (0.01, 0.2, 0.5)[seed % 3]
        was, now = of_one_law(random, share), of_one_law(random, share)
        runs = PairedRuns({name: array[0] for name, array in was.items()}, Tolerances())
        told: set[float] = set()
        for run in range(1000):
            runs.add([each[run] for each in was.values()], [each[run] for each in now.values()])
            if run + 1 in (500, 1000):
                told |= {level for level in LEVELS if runs.look(level / 2).is_any}
        for level in told:
            found[level] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--alarms", action="store_true")
    parser.add_argument("--rewrites", type=int, default=0)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--originals", action="store_true")
    given = parser.parse_args()
    if given.alarms:
        for level, count in alarms(COMPARISONS).items():
            allowed = level * COMPARISONS
            print(
                f"at an error of {level:g}: {count} of {COMPARISONS:,} comparisons of one law tell "
                f"a difference; {allowed:g} may"
            )
        return
    if given.rewrites:
        seeds = range(given.first, given.first + given.rewrites)
        alarms_of_rewrites = law_models.of_rewrites(seeds)
        print(f"{alarms_of_rewrites} of {given.rewrites:,} comparisons of one model")
        return
    if given.originals:
        law_models.of_originals()
        return
    if given.power or not given.table:
        write(power())
    if given.table or not given.power:
        write(table(given.tries))


if __name__ == "__main__":
    main()
