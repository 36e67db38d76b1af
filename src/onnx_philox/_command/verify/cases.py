"""What `onnx-philox verify` expects: examples, and the numbers that others documented for them.

To add a case, write it into a file of `vectors`; runners and reports take it from there. A file has
a `source`, `notes` by family, and `cases`; a case its family, operator, type, part and vectors; a
vector of these: `shape`, `arguments` (numbers, or tensors as type, shape and little-endian bytes in
hex), `global_seed`, `op_seed`, `state` (six words) or `run` or `seed` (of a state of its
alignment), `alignment`, `outputs` (hex by name), `next_state` or `words` (which that generator
gives), `near` (a peer's values, within a tolerance) and `printed` (decimals of a page).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.verify.examples import Example
from onnx_philox._contract import generators, operators
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.state import GeneratorState, PhiloxState
from onnx_philox._contract.types import BF16, BY_NAME, F16, F32, F64, I32, I64, ElementType
from onnx_philox._runtimes.port import Arrays

VECTORS: Traversable = resources.files("onnx_philox._command.verify") / "vectors"

FILES = (
    "openvino.json",
    "random123.json",
    "directml.json",
    "tensorflow.json",
    "func_random.json",
    "distributions.json",
    "exponential.json",
    "without_replacement.json",
    "rejecting.json",
    "dropout.json",
    "permutation.json",
    "token.json",
    "mt19937.json",
)
"""All of one format: what others published, then what this package drew when an operator was new,
then what other generators draw."""

ROWS = "Rows of"
SEEDED_DRAWS = "Seeded draws"
TENSORFLOW_NORMAL = "TensorFlow normal"

NORMAL_TOLERANCES = {F32: 4e-6, F64: 1e-12}
"""How far our normals may be from TensorFlow's, which has another ln, sin and cos."""


@dataclass(frozen=True)
class Vector:
    """A draw and its expected outputs: every bit of each, and what a page prints of them."""

    example: Example
    expected: Arrays
    printed: Any = None
    """Decimals as a page prints them, nested like the values."""
    near: NDArray[Any] | None = None
    """What another program drew, whose values may differ by `NORMAL_TOLERANCES`."""


@dataclass(frozen=True)
class Case:
    """Vectors that share one verdict."""

    family: str
    vectors: tuple[Vector, ...]
    type: ElementType
    part: str = ""
    """Which draws of its family and type these are, where there are several kinds."""
    is_numpy_the_standard: bool = False
    note: str = ""
    """What is wrong with what the peer says."""

    @property
    def name(self) -> str:
        """The case in words, unique among all cases."""
        parts = (self.family, self.type.name, self.part)
        return " ".join(part for part in parts if part)

    @property
    def generator(self) -> generators.Generator:
        """The generator by which these are drawn."""
        return generators.named(self.vectors[0].example.alignment)

    @property
    def has_seeds_alone(self) -> bool:
        """Whether OpenVINO's own RandomUniform, which has no state, can draw all this."""
        return all(
            v.example.operator is operators.RANDOM_UNIFORM
            and v.example.state is None
            and not v.example.rows
            for v in self.vectors
        )


def load_cases(vectors: Traversable | None = None) -> list[Case]:
    """All cases, from a folder of JSON files; from the package's own if none is given.

    Without those of generators that are not installed.
    """
    folder = VECTORS if vectors is None else vectors
    # Decimal keeps all digits that a page prints.
    cases = []
    for name in FILES:
        text = (folder / name).read_text("utf-8")
        file = json.loads(text, parse_float=Decimal)
        notes = file.get("notes", {})
        drawn_here = filter(_is_drawn_here, file["cases"])
        cases += [_case(case, notes) for case in drawn_here]
    return [*cases, *_rows(), *_seeded_draws()]


def _is_drawn_here(given: Mapping[str, Any]) -> bool:
    """Whether the generators of a case are installed."""
    drawn = {vector.get("alignment", TENSORFLOW) for vector in given["vectors"]}
    return drawn <= generators.registered().keys()


def _case(given: Mapping[str, Any], notes: Mapping[str, str]) -> Case:
    operator = operators.OPERATORS[given["operator"]]
    type_ = BY_NAME[given["type"]]
    vectors = tuple(_vector(operator, type_, vector) for vector in given["vectors"])
    family = given["family"]
    part = given.get("part", "")
    note = notes.get(family, "")
    return Case(family, vectors, type_, part, note=note)


def _vector(operator: operators.Operator, type_: ElementType, given: Mapping[str, Any]) -> Vector:
    """A vector of a file; NumPy says the values where it has only what is near or printed."""
    alignment = given.get("alignment", TENSORFLOW)
    example = Example(
        tuple(given["shape"]),
        type_,
        operator,
        {name: _argument(value) for name, value in given.get("arguments", {}).items()},
        given.get("global_seed", 0),
        given.get("op_seed", 0),
        given.get("run"),
        _state(given, alignment),
        alignment=alignment,
    )
    types = {output.name: output.type or type_ for output in operator.outputs}
    expected = {
        name: _from_hex(values, types[name]).reshape(example.shape)
        for name, values in given.get("outputs", {}).items()
    } or example.in_numpy()
    if "words" in given:
        after = generators.named(alignment).after_words
        expected["next_state"] = after(given["seed"], given["words"])
    elif "next_state" in given:
        expected["next_state"] = np.array(given["next_state"], np.uint32)
    elif example.node_state is not None:
        expected["next_state"] = example.next_state()
    near = None
    if "near" in given:
        near = _from_hex(given["near"], type_)
    return Vector(example, expected, given.get("printed"), near)


def _state(given: Mapping[str, Any], alignment: str) -> GeneratorState | None:
    generator = generators.named(alignment)
    words = given.get("state")
    if "seed" in given:
        words = generator.of_seed("", given["seed"])
    if words is None:
        return None
    array = np.array(words, np.uint32)
    return generator.state.from_array(array)


def _argument(given: Any) -> Any:
    """A number, or a tensor: its type, its shape and its bytes in hex."""
    if not isinstance(given, dict):
        if isinstance(given, Decimal):
            return float(given)
        return given
    type_ = BY_NAME[given["type"]]
    flat = _from_hex(given["hex"], type_)
    return flat.reshape(given["shape"])


def _from_hex(text: str, type_: ElementType) -> NDArray[Any]:
    """Little-endian bytes in hex."""
    little_endian = np.dtype(f"<u{type_.dtype.itemsize}")
    contents = bytes.fromhex(text)
    bits = np.frombuffer(contents, little_endian)
    own_order = bits.astype(little_endian.newbyteorder("="))
    return own_order.view(type_.dtype)


_ROW_STATES = (
    PhiloxState(2**128 - 1, 2**64 - 1),
    PhiloxState(2**64 - 2, 7),
    PhiloxState(0, 2**32),
)


def _dropped(type_: ElementType) -> Mapping[str, Any]:
    """Data of a type, and how many of them to drop."""
    data = np.arange(-7, 8).reshape(3, 5) / 8
    ratio = np.array(0.4, np.float32)
    return {"data": data.astype(type_.dtype), "ratio": ratio}


# Logits, and filters for all rows.
_SAMPLED = {
    "logits": np.array([[0, 1, 2, 3], [1, 1, 1, 0], [4, 0, 3, 2]], np.float32),
    "temperature": np.array(1.5, np.float32),
    "top_k": np.array(3),
    "top_p": np.array(0.9, np.float32),
    "min_p": np.array(0.01, np.float32),
}
_ROW_ARGUMENTS: tuple[tuple[operators.Operator, Mapping[str, Any]], ...] = (
    (operators.RANDOM_GENERATOR, {}),
    (operators.RANDOM_UNIFORM, {"minval": -5, "maxval": 205}),
    (operators.RANDOM_NORMAL, {"mean": 3, "scale": 2}),
    (operators.RANDOM_EXPONENTIAL, {"scale": 2}),
    (operators.RANDOM_BERNOULLI, {"p": np.linspace(0, 1, 15, dtype=np.float32).reshape(3, 5)}),
    (operators.RANDOM_GAMMA, {"alpha": np.linspace(0.1, 9, 15, dtype=np.float32).reshape(3, 5)}),
    (operators.RANDOM_POISSON, {"rate": np.linspace(0, 30, 15, dtype=np.float32).reshape(3, 5)}),
    (operators.RANDOM_CATEGORICAL, {"logits": np.eye(3, 4, dtype=np.float32), "sample_size": 5}),
    (operators.RANDOM_PERMUTATION, {}),
    (operators.RANDOM_DROPOUT, {}),
    (operators.RANDOM_TOKEN, _SAMPLED),
)
"""Operators and their arguments; data are of the type of the values."""


def _rows() -> list[Case]:
    """Three rows, each from a state of its own; alone, a row is an example without rows."""
    cases = []
    for operator, numbers in _ROW_ARGUMENTS:
        for type_ in operator.output_types:
            if operator.type_input is not None and type_ is F64:
                # OpenVINO computes it in f32.
                continue
            arguments = _dropped(type_) if operator is operators.RANDOM_DROPOUT else numbers
            shape = (3, 1) if operator is operators.RANDOM_TOKEN else (3, 5)
            example = Example(shape, type_, operator, arguments, 2**40, 9, rows=_ROW_STATES)
            alone = [_row(example, row).in_numpy() for row in range(len(_ROW_STATES))]
            expected = {}
            for output in operator.outputs:
                join = np.stack if output.is_state else np.concatenate
                parts = [row[output.name] for row in alone]
                expected[output.name] = join(parts)
            vectors = (Vector(example, expected),)
            cases.append(Case(f"{ROWS} {operator.name}", vectors, type_))
    return cases


def _row(example: Example, row: int) -> Example:
    """A row of an example, alone."""
    arguments = {}
    for name, given in example.arguments.items():
        has_rows = np.ndim(given) == 2
        arguments[name] = given[row : row + 1] if has_rows else given
    return dataclasses.replace(
        example,
        shape=(1, *example.shape[1:]),
        arguments=arguments,
        state=example.rows[row],
        rows=(),
    )


_SEEDED = (
    ((2, 3, 5), 150, 10),
    ((257,), 2**40 + 7, 2**33 + 1),
)
"""Shapes and both seeds."""
_RANGES: tuple[tuple[tuple[ElementType, ...], str, tuple[Any, Any]], ...] = (
    ((F32, F64, F16, BF16), "in [0,1)", (0, 1)),
    ((F32, F64, F16, BF16), "in [-27.5,205)", (-27.5, 205)),
    ((I32, I64), "in [-2600,3700)", (-2600, 3700)),
    ((I32,), "over 2^31 apart", (-(2**30), 2**31 - 1)),
    ((I64,), "over 2^63 apart", (-(2**62), 2**63 - 1)),
)
"""Types, a name and bounds."""


def _seeded_draws() -> list[Case]:
    """Draws from seeds alone, which OpenVINO's own operator can make too; NumPy sets the values."""
    cases = []
    for types, part, (minval, maxval) in _RANGES:
        bounds = {"minval": minval, "maxval": maxval}
        for type_ in types:
            draws = [
                Example(
                    shape,
                    type_,
                    operators.RANDOM_UNIFORM,
                    bounds,
                    key,
                    stream,
                    is_shape_fed=True,
                )
                for shape, key, stream in _SEEDED
            ]
            vectors = tuple(Vector(example, example.in_numpy()) for example in draws)
            case = Case(SEEDED_DRAWS, vectors, type_, part, is_numpy_the_standard=True)
            cases.append(case)
    return cases
