"""Writes the numbers that the distributions drew when they were new, in a file each time.

    python tests/make_distribution_vectors.py

It writes no file that exists, since what was drawn stays what is drawn. Nobody else has
published such numbers. They are those of `onnx_philox.reference`, whose arithmetic
tests/test_accuracy.py compares with exact values and tests/test_distributions.py with the contract
step by step.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onnx_philox import PhiloxState
from onnx_philox._command.verify.examples import Example
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.types import BY_DTYPE, BY_NAME

FOLDER = Path(__file__).parent / "vectors"
# Its counter carries through all four words within three blocks, its key has high bits.
CARRY = PhiloxState(counter=2**128 - 2, key=0xFEDCBA9889ABCDEF)
PLAIN = PhiloxState(counter=5, key=42)

INF = float("inf")
LOGITS = [
    [0.0, 1.0, -2.0, 0.5, 0.5, -INF, 3.0],
    [-INF, -INF, 7.0, -INF, -INF, -INF, -INF],
    [1e4, -1e4, 1e4, 0.0, 9999.0, -1.0, 9998.0],
    [-700.0, -707.5, -708.5, -710.0, 0.0, -0.0, -36.75],
    [2.0] * 7,
]


def draws() -> Iterator[tuple[str, Example]]:
    """The draws, each with the name of its part."""
    for type_, tiny in (("f16", 3e-7), ("bf16", 1e-39), ("f32", 1e-42), ("f64", 1e-311)):
        for count, mean, scale, seeds, state in (
            (67, 0, 1, {}, CARRY),
            (64, -1.7, 2.2, {"global_seed": 150, "op_seed": 10}, PLAIN),
            (1, 3, -2, {}, PLAIN),
            (9, 0, tiny, {}, PLAIN),
        ):
            moments = {"mean": array(type_, mean), "scale": array(type_, scale)}
            yield "", draw("RandomNormal", [count], type_, moments, state, **seeds)
    edges = [[0, 1, 0.5, 1e-45, 0.25], [0.999, 0.001, 1, 0, 0.3], [0.75, 2**-23, 0.1, 0.9, 0.6]]
    for type_ in ("f32", "f64"):
        for shape, p in (([131], 0.3), ([67], 0.75), ([3, 5], edges)):
            yield (
                f"with {type_} p",
                draw("RandomBernoulli", shape, "bool", {"p": array(type_, p)}, CARRY),
            )
    for type_ in ("f16", "f32", "f64"):
        for output_type, size, seeds in (
            ("i32", 13, {}),
            ("i64", 6, {"global_seed": 150, "op_seed": 10}),
            ("i32", 1, {}),
        ):
            arguments = {"logits": array(type_, LOGITS), "sample_size": size}
            shape = [len(LOGITS), size]
            yield (
                f"from {type_} logits",
                draw("RandomCategorical", shape, output_type, arguments, CARRY, **seeds),
            )


def exponentials() -> Iterator[tuple[str, Example]]:
    """The draws of RandomExponential."""
    for type_, tiny in (("f16", 3e-7), ("bf16", 1e-39), ("f32", 1e-42), ("f64", 1e-311)):
        for count, scale, seeds, state in (
            (67, 1, {}, CARRY),
            (64, 2.2, {"global_seed": 150, "op_seed": 10}, PLAIN),
            (1, 3, {}, PLAIN),
            (9, tiny, {}, PLAIN),
        ):
            numbers = {"scale": array(type_, scale)}
            yield "", draw("RandomExponential", [count], type_, numbers, state, **seeds)


def without_replacement() -> Iterator[tuple[str, Example]]:
    """The draws of RandomCategorical with `replacement` 0."""
    logits = [
        [0.0, 1.0, -2.0, 0.5, 0.5, -INF, 3.0],
        [-1e4, -690.0, -700.0, 0.0, -0.0, -700.0, -INF],
        [2.0] * 7,
    ]
    for type_ in ("f16", "f32", "f64"):
        for output_type, size, seeds in (
            ("i32", 5, {}),
            ("i64", 2, {"global_seed": 150, "op_seed": 10}),
            ("i64", 1, {}),
        ):
            arguments = {
                "logits": array(type_, logits),
                "sample_size": size,
                "replacement": 0,
            }
            shape = [len(logits), size]
            yield (
                f"without replacement, {type_} logits",
                draw("RandomCategorical", shape, output_type, arguments, CARRY, **seeds),
            )


def rejecting() -> Iterator[tuple[str, Example]]:
    """The draws of RandomGamma and RandomPoisson."""
    alphas = [[1e-3, 0.5, 0.999, 1, 2.5], [1000, 2.0**50, 1e6, 0.01, 7]]
    rates = [[0, 0.1, 9.99, 10, 33.3], [1000, 2.0**30, 1e6, 5, 12]]
    for operator, name, types, each in (
        ("RandomGamma", "alpha", ("f32", "f64"), alphas),
        ("RandomPoisson", "rate", ("i32", "i64"), rates),
    ):
        for type_, of_numbers in itertools.product(types, ("f32", "f64")):
            for shape, numbers, state in (
                ([67], 0.7, CARRY),
                ([40], 12.5, PLAIN),
                ([2, 5], each, CARRY),
            ):
                given = {name: array(of_numbers, numbers)}
                part = f"with {of_numbers} {name}"
                yield part, draw(operator, shape, type_, given, state, global_seed=150, op_seed=10)


def dropouts() -> Iterator[tuple[str, Example]]:
    """The draws of RandomDropout."""
    for type_ in ("f16", "bf16", "f32"):
        for ratio_type, count, ratio, seeds, state in (
            ("f32", 67, 0.1, {}, CARRY),
            ("f32", 64, 0.5, {"global_seed": 150, "op_seed": 10}, PLAIN),
            ("f64", 33, 0.3, {}, CARRY),
            ("f32", 5, 0, {}, PLAIN),
            ("f32", 5, 1, {}, PLAIN),
        ):
            data = (np.arange(count) - count // 2) * np.float64(0.37)
            numbers = {"data": array(type_, data), "ratio": array(ratio_type, ratio)}
            part = f"by {ratio_type} ratios"
            yield part, draw("RandomDropout", [count], type_, numbers, state, **seeds)


def permutations() -> Iterator[tuple[str, Example]]:
    """The draws of RandomPermutation."""
    for type_ in ("i32", "i64"):
        for shape, seeds, state in (
            ([67], {}, CARRY),
            ([5, 12], {"global_seed": 150, "op_seed": 10}, PLAIN),
            ([1], {}, PLAIN),
            ([30, 2], {}, CARRY),
        ):
            yield "", draw("RandomPermutation", shape, type_, {}, state, **seeds)


def tokens() -> Iterator[tuple[str, Example]]:
    """The draws of RandomToken."""
    logits = np.array(
        [
            [0.0, 1.0, -2.0, 0.5, 0.5, -INF, 3.0, 2.5],
            [-1e4, -690.0, -700.0, 0.0, -0.0, -700.0, -INF, -1.0],
            [2.0] * 8,
            [0.25, 0.5, 1.0, 2.0, 1.0, 0.5, 0.25, -3.0],
        ]
    ).repeat(4, axis=0)
    given = {
        "temperature": array("f32", [0, 0.5, 1, 2] * 4),
        "top_k": array("i64", [3, 0, 5, 2**40] * 4),
        "top_p": array("f32", [0.5, 0.9, 1, 0.25] * 4),
        "min_p": array("f32", [0, 0.1, 0.5, 1] * 4),
    }
    for type_ in ("f16", "bf16", "f32"):
        for output_type, filters, seeds in (
            ("i64", given, {}),
            ("i32", {}, {"global_seed": 150, "op_seed": 10}),
            ("i64", {"top_p": array("f32", 0.5)}, {}),
        ):
            arguments = {"logits": array(type_, logits)} | filters
            yield (
                f"from {type_} logits",
                draw("RandomToken", [len(logits), 1], output_type, arguments, CARRY, **seeds),
            )


def array(type_: str, values: Any) -> np.ndarray:
    """Numbers as an array of that type."""
    return np.array(values, BY_NAME[type_].dtype)


def draw(
    operator: str,
    shape: list[int],
    type_: str,
    arguments: dict[str, Any],
    state: PhiloxState,
    **seeds: int,
) -> Example:
    """A draw of an operator by name."""
    return Example(
        tuple(shape), BY_NAME[type_], OPERATORS[operator], arguments, state=state, **seeds
    )


def row(part: str, of: Example) -> dict[str, Any]:
    """A draw and its values, as they are written."""
    drawn = of.in_numpy()
    return {
        "operator": of.operator.name,
        "type": of.type.name,
        "part": part,
        "shape": list(of.shape),
        "arguments": {
            name: value
            if isinstance(value, int)
            else {
                "type": BY_DTYPE[value.dtype].name,
                "shape": list(value.shape),
                "hex": value.tobytes().hex(),
            }
            for name, value in of.arguments.items()
        },
        **{name: seed for name, seed in of.node_seeds.items() if seed},
        "state": of.state.to_array().tolist(),
        "outputs": {o.name: drawn[o.name].tobytes().hex() for o in of.operator.values_outputs},
    }


def file_of(source: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """A file of vectors, as `verify` reads it: families and draws."""
    cases: dict[str, list[str]] = {}
    for family, vector in rows:
        of_case = {"family": family} | {k: vector.pop(k, "") for k in ("operator", "type", "part")}
        head = json.dumps({name: text for name, text in of_case.items() if text})
        cases.setdefault(head, []).append(json.dumps(vector))
    lines = [
        f'{head[:-1]}, "vectors": [\n' + ",\n".join(vectors) + "\n]}"
        for head, vectors in cases.items()
    ]
    return f'{{"source": {json.dumps(source)}, "cases": [\n' + ",\n".join(lines) + "\n]}\n"


FILES = {
    "distributions.json": draws,
    "exponential.json": exponentials,
    "without_replacement.json": without_replacement,
    "rejecting.json": rejecting,
    "dropout.json": dropouts,
    "permutation.json": permutations,
    "token.json": tokens,
}


def main() -> None:
    """Writes the files that are not there."""
    missing = [name for name in FILES if not (FOLDER / name).exists()]
    if not missing:
        sys.exit(f"{', '.join(FILES)} exist, and what was drawn stays what is drawn.")
    source = "onnx_philox.reference, x86-64; little-endian bytes in hex"
    for name in missing:
        rows = [row(*part_and_draw) for part_and_draw in FILES[name]()]
        promised = [(f"Promised {vector['operator']}", vector) for vector in rows]
        (FOLDER / name).write_text(file_of(source, promised), "utf-8")


if __name__ == "__main__":
    main()
