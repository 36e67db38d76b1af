"""`onnx_philox.generate` of every operator that NumPy's `Generator` has too, beside it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from onnx_philox import PhiloxState, generate

STATE = PhiloxState(counter=0, key=42)
NUMPY = np.random.Generator(np.random.Philox(42))
"""The same generator, of words of 64 bits."""

SIZES = (1, 1024, 2**20)

Theirs = Callable[[np.ndarray], object]
DRAWS: dict[str, tuple[type, dict[str, Any], Theirs]] = {
    "RandomUniform": (
        np.float32,
        {"minval": 0, "maxval": 1},
        lambda a: NUMPY.random(out=a, dtype=np.float32),
    ),
    "RandomNormal": (
        np.float32,
        {"mean": 0, "scale": 1},
        lambda a: NUMPY.standard_normal(out=a, dtype=np.float32),
    ),
    "RandomExponential": (
        *(np.float32, {"scale": 1}),
        lambda a: NUMPY.standard_exponential(out=a, dtype=np.float32),
    ),
    "RandomGamma": (
        *(np.float32, {"alpha": 2.5}),
        lambda a: NUMPY.standard_gamma(2.5, out=a, dtype=np.float32),
    ),
    "RandomPoisson": (
        *(np.int64, {"rate": 4.0}),
        lambda a: NUMPY.poisson(4, a.size),
    ),
    "RandomBernoulli": (
        *(np.bool_, {"p": 0.25}),
        lambda a: NUMPY.random(a.size, dtype=np.float32) < np.float32(0.25),
    ),
    "RandomPermutation": (np.int64, {}, lambda a: NUMPY.permutation(a.size)),
}
"""The type, what `generate` takes, and the call of NumPy's that fills the array or makes one."""


def seconds(call: Callable[[], object], calls: int) -> float:
    """The processor time of a call, which other load disturbs least."""
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def contenders(operator: str, size: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Our call and NumPy's."""
    dtype, given, theirs = DRAWS[operator]
    mine, out = np.zeros(size, dtype), np.zeros(size, dtype)
    return lambda: generate(STATE, operator=operator, out=mine, **given), lambda: theirs(out)


def main() -> None:
    """Prints the table: the shortest of some turns, and the ratio of these."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, default=15)
    turns = range(arguments.parse_args().turns)
    print(f"| operator |{''.join(f' {size:,} |' for size in SIZES)}")
    print(f"| --- |{' --: |' * len(SIZES)}")
    for operator in DRAWS:
        cells = []
        for size in SIZES:
            calls = contenders(operator, size)
            taken = [
                [seconds(call, min(2000, max(1, 2**18 // size))) for call in calls] for _ in turns
            ]
            ours, theirs = map(min, zip(*taken, strict=True))
            cells.append(f"{ours * 1e6:,.1f} : {theirs * 1e6:,.1f} ({theirs / ours:.2g})")
        print(f"| {operator} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
