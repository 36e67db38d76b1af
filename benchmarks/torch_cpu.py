"""torch's CPU numbers, drawn by the native core and by torch: on one thread, in alternating pairs.

    python benchmarks/torch_cpu.py [--pairs N] [--log2 16]

Needs torch. A ratio says how many times as fast the core is. Both make the same values, of a new
array in each call.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from paired import Call, Row, compare, rich_table
from rich.console import Console

from onnx_philox import TorchState, _native
from onnx_philox._contract import types
from onnx_philox._numbers.bernoulli import Bernoulli
from onnx_philox._numbers.draw import Distribution
from onnx_philox._numbers.dropout import Dropout
from onnx_philox._numbers.exponential import Exponential
from onnx_philox._numbers.normal import Normal
from onnx_philox._numbers.permutation import Permutation
from onnx_philox._numbers.uniform import Uniform
from onnx_philox._torch.numbers import torch_draw as torch_draw

P = 0.3


def contenders(n: int) -> Iterator[tuple[str, float | None, Call, Call]]:
    """A draw, the least ratio that the project wants, ours and torch's."""
    state = TorchState.from_seed(1).to_array()
    each = np.random.default_rng(0).random(n, np.float32)
    given, ones = torch.from_numpy(each), torch.ones(n)

    def ours(values: types.ElementType, distribution: Distribution, *others: Any) -> Call:
        outs = (values.dtype, *others)
        return lambda: torch_draw.draw_from(
            state, values, distribution, *(np.empty(n, out) for out in outs)
        )

    def of(kind: Any, values: types.ElementType, *given: float) -> Call:
        return ours(values, kind(*(np.array(number, values.dtype) for number in given)))

    yield "uniform f32", 5, of(Uniform, types.F32, 0, 1), lambda: torch.rand(n)
    yield (
        "uniform f16",
        None,
        of(Uniform, types.F16, 0, 1),
        lambda: torch.rand(n, dtype=torch.float16),
    )
    yield "normal f32", 3, of(Normal, types.F32, 0, 1), lambda: torch.randn(n)
    yield (
        "normal f64",
        None,
        of(Normal, types.F64, 0, 1),
        lambda: torch.randn(n, dtype=torch.float64),
    )
    yield (
        "bernoulli_(0.3)",
        5,
        ours(types.BOOL, Bernoulli(np.array(P))),
        lambda: torch.empty(n, dtype=torch.bool).bernoulli_(P),
    )
    yield (
        "bernoulli() of f32",
        5,
        ours(types.BOOL, Bernoulli(each)),
        lambda: given.bernoulli(),
    )
    yield (
        "dropout",
        5,
        ours(types.F32, Dropout(ones.numpy(), np.array(P)), np.bool_),
        lambda: torch.nn.functional.dropout(ones, P),
    )
    yield (
        "exponential f32",
        None,
        of(Exponential, types.F32, 1),
        lambda: torch.empty(n).exponential_(),
    )
    yield (
        "integers below 1,000",
        None,
        of(Uniform, types.I64, 0, 1000),
        lambda: torch.randint(0, 1000, (n,)),
    )
    yield (
        "permutation",
        None,
        ours(types.I64, Permutation(np.array([n]))),
        lambda: torch.randperm(n),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--log2", type=int, default=16, help="how many elements, as a power of 2")
    arguments = parser.parse_args()
    if not _native.IS_THERE:
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
