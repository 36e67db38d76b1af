"""torch's CPU numbers, drawn by the native core and by torch: on one thread, in alternating pairs.

    python benchmarks/torch_cpu.py [--pairs N] [--log2 16]

Needs torch. A ratio says how many times as fast the core is. Both make the same values, of a new
array in each call.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import torch
from paired import Call, Row, compare, rich_table
from rich.console import Console

from onnx_philox import TorchState
from onnx_philox._contract import types
from onnx_philox._numbers import torch_cpu, torch_native

P = 0.3


def contenders(n: int) -> Iterator[tuple[str, float | None, Call, Call]]:
    """A draw, the least ratio that the project wants, ours and torch's."""
    stream = torch_cpu.WordStream(TorchState.from_seed(1))
    each = np.random.default_rng(0).random(n, np.float32)
    given, ones = torch.from_numpy(each), torch.ones(n)
    f32, f16 = types.F32, types.F16
    yield "uniform f32", 5, lambda: torch_cpu.uniform(stream, n, f32), lambda: torch.rand(n)
    yield (
        "uniform f16",
        None,
        lambda: torch_cpu.uniform(stream, n, f16),
        lambda: torch.rand(n, dtype=torch.float16),
    )
    yield "normal f32", 3, lambda: torch_cpu.normal(stream, n, f32), lambda: torch.randn(n)
    yield (
        "normal f64",
        None,
        lambda: torch_cpu.normal(stream, n, types.F64),
        lambda: torch.randn(n, dtype=torch.float64),
    )
    yield (
        "bernoulli_(0.3)",
        5,
        lambda: torch_cpu.bernoulli(stream, n, np.array(P)),
        lambda: torch.empty(n, dtype=torch.bool).bernoulli_(P),
    )
    yield (
        "bernoulli() of f32",
        5,
        lambda: torch_cpu.bernoulli(stream, n, each),
        lambda: given.bernoulli(),
    )
    yield (
        "mask of a dropout",
        5,
        lambda: torch_cpu.dropout_keeps(stream, n, P),
        lambda: torch.nn.functional.dropout(ones, P),
    )
    yield (
        "exponential f32",
        None,
        lambda: torch_cpu.exponential(stream, n, f32),
        lambda: torch.empty(n).exponential_(),
    )
    yield (
        "integers below 1,000",
        None,
        lambda: torch_cpu.integers(stream, n, types.I64, 0, 1000),
        lambda: torch.randint(0, 1000, (n,)),
    )
    yield (
        "permutation",
        None,
        lambda: torch_cpu.permutation(stream, n),
        lambda: torch.randperm(n),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--log2", type=int, default=16, help="how many elements, as a power of 2")
    arguments = parser.parse_args()
    if not torch_native.IS_THERE:
        parser.error("the native core is not installed")
    torch.set_num_threads(1)
    n = 2**arguments.log2
    peer, size = f"torch {torch.__version__}", f"2^{arguments.log2}"

    def describe(seconds: float) -> str:
        return f"{seconds / n * 1e9:.2f} ns"

    rows = [
        compare(
            Row("torch", name, peer, size=size, target=target),
            ours,
            theirs,
            arguments.pairs,
            describe,
        )
        for name, target, ours, theirs in contenders(n)
    ]
    Console().print(rich_table("torch's numbers, time for an element", rows))


if __name__ == "__main__":
    main()
