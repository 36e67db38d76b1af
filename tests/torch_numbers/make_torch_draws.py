"""Writes what torch draws with its CPU generator, for `onnx-philox verify`, where torch is absent.

    python -m tests.torch_numbers.make_torch_draws

It needs torch 2.13 or newer on an x86-64 processor with AVX2. Each row is a call after
`torch.manual_seed(seed)`; `words` is how many of its generator's words the call took.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

from onnx_philox import TorchState, reference
from tests.common.cases import DTYPES
from tests.common.operators import OPERATORS
from tests.numbers.make_distribution_vectors import file_of

FILE = Path(__file__).parents[2] / "src/onnx_philox/_command/verify/vectors/mt19937.json"
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16}
TYPES |= {"bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64}
SEEDS = (42, 2**40 + 7)
MOST_WORDS = 2000


def main() -> None:
    about = f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"
    source = about + "; little-endian bytes in hex"
    calls = [("torch " + row["operator"], row) for row in rows_of_calls()]
    page = [("torch seeds", row) for row in rows_of_page()]
    notes = json.loads(FILE.read_text("utf-8"))["notes"]
    FILE.write_text(file_of(source, [*calls, *page], notes), "utf-8")


def rows_of_calls() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(
        operator: str,
        type_: str,
        call: Callable[[], Tensor],
        **arguments: Any,
    ) -> None:
        rows.extend(drawn(operator, type_, call, seed, arguments) for seed in SEEDS)

    for name in ("f32", "f64", "f16", "bf16"):
        for low, high in ((0, 1), (-3, 7.5)):
            numbers = {"minval": number(name, low), "maxval": number(name, high)}
            add("RandomUniform", name, partial(empty(name).uniform_, low, high), **numbers)
    for name, low, high in (("i32", -5, 1000), ("i64", -5, 1000), ("i64", -(2**40), 2**40)):
        call = partial(torch.randint, low, high, (67,), dtype=TYPES[name])
        add("RandomUniform", name, call, minval=low, maxval=high)
    for name in ("f32", "f16", "bf16"):
        # One by one, by sixteens, and by sixteens with some left over.
        for count, mean, scale in ((6, 0, 1), (64, 0, 1), (67, 2, 0.5)):
            numbers = {"mean": number(name, mean), "scale": number(name, scale)}
            add("RandomNormal", name, partial(empty(name, count).normal_, mean, scale), **numbers)
        scaled = {"scale": number(name, 1)}
        add("RandomExponential", name, partial(empty(name).exponential_, 1.0), **scaled)
        # torch's zeros have the sign of the data that they replace; ours are +0.
        data = torch.arange(67).to(TYPES[name]) / 8
        given = {"data": tensor(data), "ratio": number("f64", 0.5)}
        add("RandomDropout", name, partial(torch.nn.functional.dropout, data, 0.5), **given)
    p = torch.arange(67, dtype=torch.float32) / 67
    add(
        "RandomBernoulli",
        "bool",
        lambda: p.bernoulli().bool(),
        p=tensor(p),
    )
    third = number("f64", 0.3)
    add("RandomBernoulli", "bool", lambda: torch.empty(67).bernoulli_(0.3).bool(), p=third)
    logits = torch.sin(torch.arange(52, dtype=torch.float32) * 2).reshape(4, 13) * 3
    weights = torch.exp(logits - logits.max(1, keepdim=True).values)
    for count, said in ((1, {}), (3, {"sample_size": 3, "replacement": 0})):
        classes = partial(torch.multinomial, weights, count)
        add("RandomCategorical", "i64", classes, logits=tensor(logits), **said)
    add("RandomPermutation", "i64", partial(torch.randperm, 67))
    return rows


def rows_of_page() -> list[dict[str, Any]]:
    """The calls that OpenVINO's page of RandomUniform-8 shows for alignment PYTORCH."""
    calls: tuple[tuple[str, list[int], float, float, int], ...] = (
        ("i32", [2, 3], 50, 100, 80),
        ("f32", [3, 3], 0, 1, 150),
        ("f64", [2, 2], 2, 10, 80),
    )
    rows = []
    for name, shape, low, high, seed in calls:
        torch.manual_seed(seed)
        empty = torch.empty(shape, dtype=TYPES[name])
        values = empty.random_(int(low), int(high)) if name == "i32" else empty.uniform_(low, high)
        rows.append(
            {"operator": "RandomUniform", "type": name, "shape": shape}
            | {"arguments": {"minval": low, "maxval": high}, "global_seed": seed}
            | {"alignment": "pytorch", "outputs": {"values": hex_of(values)}}
        )
    return rows


def drawn(
    operator: str,
    type_: str,
    call: Callable[[], Tensor],
    seed: int,
    arguments: dict[str, Any],
) -> dict[str, Any]:
    """A row: what a call draws after `torch.manual_seed(seed)`."""
    torch.manual_seed(seed)
    values = call()
    first = OPERATORS[operator].outputs[0].name
    row = {"operator": operator, "type": type_, "shape": list(values.shape)}
    row |= {"arguments": arguments, "alignment": "pytorch", "seed": seed}
    row |= {"words": words_since(seed), "outputs": {first: hex_of(values)}}
    if operator == "RandomDropout":
        # One of the data is 0.
        torch.manual_seed(seed)
        ones = torch.nn.functional.dropout(torch.ones_like(values), 0.5)
        row["outputs"]["mask"] = hex_of(ones != 0)
    return row


def words_since(seed: int) -> int:
    """How many words torch's generator has given since it was seeded."""
    state = TorchState.from_torch(torch.get_rng_state()).to_array()
    options: dict[str, Any] = {"global_seed": seed, "alignment": "pytorch"}
    # A uniform of f32 takes one.
    after = (reference.random_uniform([n], 0, 1, "f32", **options)[1] for n in range(MOST_WORDS))
    return next(n for n, each in enumerate(after) if np.array_equal(each, state))


def empty(name: str, count: int = 67) -> Tensor:
    return torch.empty(count, dtype=TYPES[name])


def array_of(given: Tensor) -> np.ndarray:
    if given.dtype == torch.bfloat16:
        return given.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return given.numpy()


def hex_of(given: Tensor | np.ndarray) -> str:
    """Little-endian bytes in hex."""
    array = array_of(given) if isinstance(given, Tensor) else given
    return array.astype(array.dtype.newbyteorder("<")).tobytes().hex()


def number(name: str, given: float) -> dict[str, Any]:
    """A number of a type, as the file has it."""
    return {
        "type": name,
        "shape": [],
        "hex": hex_of(np.array(given, DTYPES[name])),
    }


def tensor(given: Tensor) -> dict[str, Any]:
    """A tensor, as the file has it."""
    array = array_of(given)
    (name,) = (name for name, dtype in DTYPES.items() if dtype == array.dtype)
    return {"type": name, "shape": list(array.shape), "hex": hex_of(array)}


if __name__ == "__main__":
    main()
