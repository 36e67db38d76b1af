"""`onnx_philox.generate` of every operator, beside NumPy's `Generator` and torch.

    python benchmarks/every_operator.py [OPERATOR ...] [--turns N]

There is a dash where a library has no such draw, or where torch is not installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_philox import PhiloxState, generate

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

STATE = PhiloxState(counter=0, key=42)
NUMPY = np.random.Generator(np.random.Philox(42))
"""The same generator, of words of 64 bits."""

SIZES = (1, 1000, 2**20)
CLASSES = 1000
CHUNK = 2**18
"""A measurement draws so many elements, but at most 2,000 times."""

Call = Callable[[], object]


@dataclass(frozen=True)
class Contenders:
    """Three calls that draw as many elements."""

    ours: Call
    numpy_s: Call | None = None
    torch_s: Call | None = None


def ours(operator: str, out: np.ndarray, **given: Any) -> Call:
    return lambda: generate(STATE, operator=operator, out=out, **given)


def bits(size: int) -> Contenders:
    out = np.zeros(size, np.uint32)
    return Contenders(
        lambda: generate(STATE, out=out),
        lambda: NUMPY.integers(0, 2**32, size, np.uint32),
        lambda: torch.randint(-(2**31), 2**31, (size,), dtype=torch.int32),
    )


def uniform(size: int) -> Contenders:
    out = np.zeros(size, np.float32)
    theirs = np.zeros(size, np.float32)
    return Contenders(
        ours("RandomUniform", out, minval=0, maxval=1),
        lambda: NUMPY.random(out=theirs, dtype=np.float32),
        lambda: torch.rand(size),
    )


def normal(size: int) -> Contenders:
    out = np.zeros(size, np.float32)
    theirs = np.zeros(size, np.float32)
    return Contenders(
        ours("RandomNormal", out, mean=0, scale=1),
        lambda: NUMPY.standard_normal(out=theirs, dtype=np.float32),
        lambda: torch.randn(size),
    )


def bernoulli(size: int) -> Contenders:
    out = np.zeros(size, np.bool_)
    return Contenders(
        ours("RandomBernoulli", out, p=0.25),
        lambda: NUMPY.random(size, dtype=np.float32) < np.float32(0.25),
        lambda: torch.empty(size, dtype=torch.bool).bernoulli_(0.25),
    )


def categorical(size: int) -> Contenders:
    """So many samples of one row of classes."""
    out = np.zeros((1, size), np.int64)
    logits = NUMPY.normal(size=(1, CLASSES)).astype(np.float32)
    weights = np.exp(logits[0].astype(np.float64))
    shares = weights / weights.sum()
    of_torch = None if torch is None else torch.from_numpy(shares)
    return Contenders(
        ours("RandomCategorical", out, logits=logits, sample_size=size),
        lambda: NUMPY.choice(CLASSES, size, p=shares),
        lambda: torch.multinomial(of_torch, size, replacement=True),
    )


def exponential(size: int) -> Contenders:
    out = np.zeros(size, np.float32)
    theirs = np.zeros(size, np.float32)
    return Contenders(
        ours("RandomExponential", out, scale=1),
        lambda: NUMPY.standard_exponential(out=theirs, dtype=np.float32),
        lambda: torch.empty(size).exponential_(),
    )


def gamma(size: int) -> Contenders:
    out = np.zeros(size, np.float32)
    theirs = np.zeros(size, np.float32)
    alpha = None if torch is None else torch.full((size,), 2.5)
    return Contenders(
        ours("RandomGamma", out, alpha=2.5),
        lambda: NUMPY.standard_gamma(2.5, out=theirs, dtype=np.float32),
        lambda: torch._standard_gamma(alpha),
    )


def poisson(size: int) -> Contenders:
    out = np.zeros(size, np.int64)
    rate = None if torch is None else torch.full((size,), 4.0)
    return Contenders(
        ours("RandomPoisson", out, rate=4.0),
        lambda: NUMPY.poisson(4, size),
        lambda: torch.poisson(rate),
    )


def permutation(size: int) -> Contenders:
    out = np.zeros(size, np.int64)
    return Contenders(
        ours("RandomPermutation", out),
        lambda: NUMPY.permutation(size),
        lambda: torch.randperm(size),
    )


def dropout(size: int) -> Contenders:
    out = np.zeros(size, np.float32)
    data = np.ones(size, np.float32)
    ratio = np.array(0.5, np.float32)
    of_torch = None if torch is None else torch.ones(size)
    return Contenders(
        ours("RandomDropout", out, data=data, ratio=ratio),
        None,
        lambda: torch.nn.functional.dropout(of_torch, 0.5, training=True),
    )


def token(size: int) -> Contenders:
    """One of so many classes."""
    out = np.zeros((1, 1), np.int64)
    logits = NUMPY.normal(size=(1, size)).astype(np.float32)
    of_torch = None if torch is None else torch.from_numpy(logits)
    return Contenders(
        ours("RandomToken", out, logits=logits),
        None,
        lambda: torch.multinomial(torch.softmax(of_torch, -1), 1),
    )


DRAWS: dict[str, Callable[[int], Contenders]] = {
    "RandomGenerator": bits,
    "RandomUniform": uniform,
    "RandomNormal": normal,
    "RandomBernoulli": bernoulli,
    "RandomCategorical": categorical,
    "RandomExponential": exponential,
    "RandomGamma": gamma,
    "RandomPoisson": poisson,
    "RandomPermutation": permutation,
    "RandomDropout": dropout,
    "RandomToken": token,
}


def seconds(call: Call, calls: int) -> float:
    """The processor time of a call, which other load disturbs least."""
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def cell(taken: list[float], ours: float) -> str:
    """The shortest time in microseconds, and how many times as fast ours is."""
    if not taken:
        return "-"
    theirs = min(taken)
    return f"{theirs * 1e6:,.1f} ({theirs / ours:.2g})"


def main() -> None:
    """Prints a table for each size: the shortest of some turns, and the ratio of these."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("operators", nargs="*", metavar="OPERATOR", help=", ".join(DRAWS))
    arguments.add_argument("--turns", type=int, default=15)
    given = arguments.parse_args()
    asked = given.operators or list(DRAWS)
    if not set(asked) <= set(DRAWS):
        arguments.error(f"the operators are {', '.join(DRAWS)}")
    if torch is not None:
        torch.set_num_threads(1)
    for size in SIZES:
        calls = min(2000, max(1, CHUNK // size))
        print(f"| {size:,} elements | ours, µs | NumPy's | torch's |")
        print("| --- | --: | --: | --: |")
        for operator in asked:
            draws = DRAWS[operator](size)
            torch_s = None if torch is None else draws.torch_s
            contenders = (draws.ours, draws.numpy_s, torch_s)
            taken: list[list[float]] = [[] for _ in contenders]
            for _ in range(given.turns):
                for times, call in zip(taken, contenders, strict=True):
                    if call is not None:
                        times.append(seconds(call, calls))
            own = min(taken[0])
            cells = [f"{own * 1e6:,.1f}", cell(taken[1], own), cell(taken[2], own)]
            print(f"| {operator} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
