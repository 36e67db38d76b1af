"""`v1_torch`: alignment "pytorch", the numbers of torch's CPU generator, checked with torch's own.

A call of each operator and type that torch 2.13 made (`onnx-philox verify` has them all), the state
fed; a generator for each of two rows; and a seed alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from case import DTYPES, VECTORS, Arrays, Case, Check
from numpy.typing import NDArray

from onnx_philox import TorchState, graphs
from onnx_philox._contract.operators import OPERATORS

_FILE = json.loads((VECTORS / "torch.json").read_text("utf-8"))
_SOURCE = _FILE["source"].partition(";")[0]


def cases() -> Iterator[tuple[str, Case]]:
    """The cases, each with its name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in _FILE["draws"]:
        what = json.dumps([row["operator"], row["type"], row["shape"], row["arguments"]])
        found.setdefault(what, []).append(row)
    made = set()
    for row, *_ in found.values():
        name = f"{OPERATORS[row['operator']].function.removeprefix('random_')}_{row['type']}"
        if name in made:
            continue
        made.add(name)
        check = _equal([_values(row)])
        state = TorchState.from_seed(row["seed"]).to_array()
        yield name, Case(_model(row, stateful=True), [{"state": state}], check, _SOURCE)
    row = next(row for row in _FILE["draws"] if row["operator"] == "RandomNormal")
    model = _model(row, global_seed=row["seed"])
    yield "normal_f32_seed", Case(model, [{}], _equal([_values(row)]), _SOURCE)
    yield "normal_f32_rows", _rows(found)


def _rows(found: dict[str, list[dict[str, Any]]]) -> Case:
    """Two rows, each of which is a call of its own."""
    rows = next(
        rows
        for rows in found.values()
        if (rows[0]["operator"], rows[0]["type"], rows[0]["shape"]) == ("RandomNormal", "f32", [64])
    )
    states = np.stack([TorchState.from_seed(row["seed"]).to_array() for row in rows])
    values = np.stack([_values(row) for row in rows])
    model = _model({**rows[0], "shape": [2, 64]}, per_row=True)
    return Case(model, [{"state": states}], _equal([values]), _SOURCE)


def _model(row: dict[str, Any], **stream: Any) -> Any:
    operator = OPERATORS[row["operator"]]
    arguments = {name: _argument(given) for name, given in row["arguments"].items()}
    if operator.has_shape:
        arguments["shape"] = row["shape"]
    if any(a.name == "output_type" for a in operator.attributes):
        arguments["output_type"] = row["type"]
    build: Callable[..., Any] = getattr(graphs, operator.function)
    return build(**arguments, alignment="pytorch", **stream)


def _argument(given: Any) -> Any:
    if isinstance(given, int):
        return given
    return _from_hex(given["hex"], given["type"]).reshape(given["shape"])


def _values(row: dict[str, Any]) -> NDArray[Any]:
    return _from_hex(row["values_hex"], row["type"]).reshape(row["shape"])


def _from_hex(text: str, type_: str) -> NDArray[Any]:
    dtype = np.dtype(DTYPES[type_])
    return np.frombuffer(bytes.fromhex(text), f"<u{dtype.itemsize}").view(dtype)


def _equal(expected: list[NDArray[Any]]) -> Check:
    def check(outputs: list[Arrays]) -> None:
        for run, values in zip(outputs, expected, strict=True):
            first = next(iter(run.values()))
            assert first.tobytes() == values.tobytes(), "not what torch drew"

    return check
