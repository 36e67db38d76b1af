"""Writes the numbers that an operator draws when it is new, for `onnx-philox verify`.

    python -m tests.numbers.make_distribution_vectors RandomExponential

It writes no file that exists, since what was drawn stays what is drawn: numbers that nobody else
has published, of `onnx_philox.reference` (see test_accuracy.py) and the cases in operators.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from onnx_philox import PhiloxState
from onnx_philox._command.verify.examples import Example
from onnx_philox._contract.types import BY_DTYPE
from tests.common import operators

FOLDER = Path(__file__).parents[1] / "vectors"
# Its counter carries through all four words within three blocks, its key has high bits.
CARRY = PhiloxState(counter=2**128 - 2, key=0xFEDCBA9889ABCDEF)
PLAIN = PhiloxState(counter=5, key=42)


def draws(operator: str) -> Iterator[tuple[str, Example]]:
    """The draws, each with the name of its part."""
    for case in operators.cases(operator):
        if case.is_scaled_in_openvino:
            continue
        part = f"with {case.numbers.name} numbers" if case.numbers else ""
        for shape, state, seeds in (
            (case.shape(1, (67,)), CARRY, {}),
            (case.shape(3, (5,)), PLAIN, {"global_seed": 150, "op_seed": 10}),
        ):
            names = {a.name for a in case.operator.attributes} & case.setting.keys()
            given = case.inputs(shape) | {name: case.setting[name] for name in names}
            yield (
                part,
                Example(
                    shape,
                    case.values,
                    case.operator,
                    given,
                    state=state,
                    **seeds,
                ),
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


def file_of(
    source: str,
    rows: Iterable[tuple[str, dict[str, Any]]],
    notes: dict[str, str] | None = None,
) -> str:
    """A file of vectors, as `verify` reads it: families and draws."""
    about = json.dumps({"source": source, "notes": notes} if notes else {"source": source})
    cases: dict[str, list[str]] = {}
    for family, vector in rows:
        of_case = {"family": family} | {k: vector.pop(k, "") for k in ("operator", "type", "part")}
        head = json.dumps({name: text for name, text in of_case.items() if text})
        cases.setdefault(head, []).append(json.dumps(vector))
    lines = [
        f'{head[:-1]}, "vectors": [\n' + ",\n".join(vectors) + "\n]}"
        for head, vectors in cases.items()
    ]
    return f'{about[:-1]}, "cases": [\n' + ",\n".join(lines) + "\n]}\n"


def promised(operator: str) -> str:
    """The file of an operator."""
    rows = [row(*part_and_draw) for part_and_draw in draws(operator)]
    source = "onnx_philox.reference, x86-64; little-endian bytes in hex"
    return file_of(source, [(f"Promised {operator}", vector) for vector in rows])


def main(operator: str) -> None:
    path = FOLDER / f"{operators.OPERATORS[operator].distribution}.json"
    if path.exists():
        sys.exit(f"{path.name} exists, and what was drawn stays what is drawn.")
    path.write_text(promised(operator), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
