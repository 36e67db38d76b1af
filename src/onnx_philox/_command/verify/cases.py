"""What `onnx-philox verify` expects: examples, and the numbers that others documented for them.

To add a case, append it in `load`; runners and reports take it from there.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.verify.examples import Example
from onnx_philox._contract import generators
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.inputs import PYTORCH
from onnx_philox._contract.operators import (
    OPERATORS,
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_DROPOUT,
    RANDOM_EXPONENTIAL,
    RANDOM_GAMMA,
    RANDOM_GENERATOR,
    RANDOM_NORMAL,
    RANDOM_PERMUTATION,
    RANDOM_POISSON,
    RANDOM_TOKEN,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.torch_state import TorchState
from onnx_philox._contract.types import (
    BF16,
    BOOL,
    BY_NAME,
    F16,
    F32,
    F64,
    I32,
    I64,
    U32,
    ElementType,
)
from onnx_philox._runtimes.port import Arrays

VECTORS: Traversable = resources.files("onnx_philox._command.verify") / "vectors"

COUNTER_EXAMPLE = "DirectML counter example"
PROMISED = (
    "distributions.json",
    "exponential.json",
    "without_replacement.json",
    "rejecting.json",
    "dropout.json",
    "permutation.json",
    "token.json",
)
"""The files of what this package drew when an operator was new."""

ROWS = "Rows of"
SEEDED_DRAWS = "Seeded draws"
TENSORFLOW_NORMAL = "TensorFlow normal"
TORCH_SEEDS = "torch seeds"

NORMAL_TOLERANCES = {F32: 4e-6, F64: 1e-12}
"""How far our normals may be from TensorFlow's, which has another ln, sin and cos."""

ERRATUM = (
    "DirectML: the page's example prints the counter before minus 324,855, though its text says "
    "that the counter is incremented. The rule is followed here, from both ends of the example."
)

PYTORCH_ERRATUM = (
    "OpenVINO: its page's three examples of alignment PYTORCH ([0.6789123, ...], [8.34928537, ...] "
    "and [89, 73, 68, ...]) are neither torch's numbers nor those that OpenVINO draws. torch is "
    "followed here; OpenVINO's own node does so but for f64 on CPU."
)


@dataclass(frozen=True)
class Peer:
    """What another program drew, and how far each value may differ from it."""

    values: NDArray[Any]
    tolerance: float


@dataclass(frozen=True)
class Vector:
    """A draw and its expected outputs: every bit of each, and what a page prints of them."""

    example: Example
    expected: Arrays
    printed: Any = None
    """Decimals as a page prints them, nested like the values."""
    peer: Peer | None = None


@dataclass(frozen=True)
class Case:
    """Vectors that share one verdict."""

    family: str
    vectors: tuple[Vector, ...]
    type: ElementType
    part: str = ""
    """Which draws of its family and type these are, where there are several kinds."""
    is_numpy_the_standard: bool = False

    @property
    def name(self) -> str:
        """The case in words, unique among all cases."""
        return " ".join(part for part in (self.family, self.type.name, self.part) if part)

    @property
    def generator(self) -> Generator:
        """The generator by which these are drawn."""
        return generators.named(self.vectors[0].example.alignment)

    @property
    def has_seeds_alone(self) -> bool:
        """Whether OpenVINO's own RandomUniform, which has no state, can draw all this."""
        return all(
            v.example.operator is RANDOM_UNIFORM and v.example.state is None and not v.example.rows
            for v in self.vectors
        )


def load(vectors: Traversable | None = None) -> list[Case]:
    """All cases, from a folder of JSON files; from the package's own if none is given."""
    folder = VECTORS if vectors is None else vectors
    # Decimal keeps all digits that a page prints.
    known = json.loads((folder / "known.json").read_text("utf-8"), parse_float=Decimal)
    tensorflow = json.loads((folder / "tensorflow.json").read_text("utf-8"))
    torch = json.loads((folder / "torch_stateless.json").read_text("utf-8"))
    torch_draws = json.loads((folder / "torch.json").read_text("utf-8"))
    promised = [json.loads((folder / name).read_text("utf-8")) for name in PROMISED]
    return [
        *_by_type("OpenVINO documentation", map(_documented, known["openvino_documented"]["rows"])),
        Case(
            "Random123 known answers",
            tuple(map(_known_answer, known["random123_philox4x32_10"]["rows"])),
            U32,
        ),
        _counter_example(known["directml_documented"]),
        Case("TensorFlow bits", tuple(map(_bits, tensorflow["bits"])), U32),
        Case("torch bits", tuple(map(_torch, torch["cases"])), U32),
        *_by_type("TensorFlow uniform", map(_uniform, tensorflow["uniform"])),
        *_by_type(
            "TensorFlow stateful runs",
            itertools.chain.from_iterable(map(_runs, tensorflow["stateful_uniform"])),
        ),
        *_by_type(TENSORFLOW_NORMAL, map(_normal, tensorflow["normal"])),
        *_distributions(row for file in promised for row in file["rows"]),
        *_torch_draws(torch_draws["draws"]),
        *_by_type(TORCH_SEEDS, map(_torch_seed, torch_draws["openvino_documented"])),
        *_rows(),
        *_seeded_draws(),
    ]


def _by_type(family: str, vectors: Iterable[Vector]) -> list[Case]:
    sorted_vectors: dict[str, list[Vector]] = {name: [] for name in BY_NAME}
    for vector in vectors:
        sorted_vectors[vector.example.type.name].append(vector)
    return [Case(family, tuple(v), BY_NAME[name]) for name, v in sorted_vectors.items() if v]


def _documented(row: Mapping[str, Any]) -> Vector:
    example = _uniform_example(
        row, row["shape"], global_seed=row["global_seed"], op_seed=row["op_seed"]
    )
    return Vector(example, example.in_numpy(), row["output"])


def _known_answer(row: list[list[str]]) -> Vector:
    counter, key, output = ([int(word, 16) for word in words] for words in row)
    return _generator_vector(_state([*counter, *key]), output)


def _bits(row: Mapping[str, Any]) -> Vector:
    return _generator_vector(_state(row["state"]), row["bits"])


def _torch(row: Mapping[str, Any]) -> Vector:
    state = PhiloxState(int(row["offset"]), int(row["seed"]))
    # torch's counter wraps at 2^64, ours at 2^128.
    return _generator_vector(state, row["bits"][: 4 * (2**64 - state.counter)])


def _generator_vector(state: PhiloxState, bits: list[int]) -> Vector:
    example = Example((len(bits),), U32, state=state)
    return Vector(example, {"bits": np.array(bits, np.uint32), "next_state": example.next_state()})


def _counter_example(page: Mapping[str, Any]) -> Case:
    before, printed_after, after = (
        int(number, 16)
        for number in (
            page["printed"]["before"],
            page["printed"]["after"],
            page["after_by_the_rule"],
        )
    )
    shape = tuple(page["printed"]["output_sizes"])
    vectors = []
    for start, end in ((before, after), (printed_after, before)):
        example = Example(shape, U32, state=PhiloxState(start, 0))
        vectors.append(
            Vector(example, example.in_numpy() | {"next_state": PhiloxState(end, 0).to_array()})
        )
    return Case(COUNTER_EXAMPLE, tuple(vectors), U32)


def _uniform(row: Mapping[str, Any]) -> Vector:
    example = _uniform_example(row, [row["elements"]], state=_state(row["state"]))
    return _values_vector(example, row["values_hex"])


def _uniform_example(row: Mapping[str, Any], shape: Sequence[int], **where: Any) -> Example:
    bounds = {name: row[name] for name in ("minval", "maxval")}
    type_ = BY_NAME[row.get("output_type") or row["type"]]
    return Example(tuple(shape), type_, RANDOM_UNIFORM, bounds, **where)


def _runs(row: Mapping[str, Any]) -> list[Vector]:
    """TensorFlow's stateful operator, run repeatedly; floats are in [0, 1)."""
    return [
        _values_vector(
            Example(
                (row["elements"],),
                BY_NAME[row["output_type"]],
                RANDOM_UNIFORM,
                {"minval": 0, "maxval": 1},
                row["global_seed"],
                row["op_seed"],
                run,
            ),
            values,
        )
        for run, values in enumerate(row["runs_hex"])
    ]


def _values_vector(example: Example, *all_hex: str) -> Vector:
    """A draw, and each of its outputs but the next state."""
    return Vector(example, {**_drawn(example, *all_hex), "next_state": example.next_state()})


def _drawn(example: Example, *all_hex: str) -> Arrays:
    return {
        output.name: _from_hex(given, output.type or example.type).reshape(example.shape)
        for output, given in zip(example.operator.values_outputs, all_hex, strict=True)
    }


def _from_hex(text: str, type_: ElementType) -> NDArray[Any]:
    """Little-endian bytes in hex."""
    little_endian = np.dtype(f"<u{type_.dtype.itemsize}")
    bits = np.frombuffer(bytes.fromhex(text), little_endian)
    return bits.astype(little_endian.newbyteorder("=")).view(type_.dtype)


def _normal(row: Mapping[str, Any]) -> Vector:
    type_ = BY_NAME[row["output_type"]]
    example = Example(
        (row["elements"],),
        type_,
        RANDOM_NORMAL,
        {"mean": 0, "scale": 1},
        state=_state(row["state"]),
    )
    expected = example.in_numpy() | {"next_state": example.next_state()}
    peer = Peer(_from_hex(row["values_hex"], type_), NORMAL_TOLERANCES[type_])
    return Vector(example, expected, peer=peer)


def _distributions(rows: Iterable[Mapping[str, Any]]) -> list[Case]:
    """What this package drew when its distributions were new, and promises to draw forever."""
    found: dict[tuple[str, str, str], list[Vector]] = {}
    for row in rows:
        arguments = {name: _argument(value) for name, value in row["arguments"].items()}
        operator, type_ = OPERATORS[row["operator"]], BY_NAME[row["type"]]
        seeds, state = (row["global_seed"], row["op_seed"]), _state(row["state"])
        example = Example(tuple(row["shape"]), type_, operator, arguments, *seeds, state=state)
        key = (f"Promised {row['operator']}", row["type"], row["part"])
        others = [row["mask_hex"]] if "mask_hex" in row else []
        found.setdefault(key, []).append(_values_vector(example, row["values_hex"], *others))
    return [
        Case(family, tuple(vectors), BY_NAME[type_name], part)
        for (family, type_name, part), vectors in found.items()
    ]


def _torch_draws(rows: Iterable[Mapping[str, Any]]) -> list[Case]:
    """Calls of torch's, each after `torch.manual_seed`."""
    found: dict[tuple[str, str], list[Vector]] = {}
    for row in rows:
        operator, seed = OPERATORS[row["operator"]], row["seed"]
        example = Example(
            tuple(row["shape"]),
            BY_NAME[row["type"]],
            operator,
            {name: _argument(value) for name, value in row["arguments"].items()},
            state=TorchState.from_seed(seed),
            alignment=PYTORCH,
        )
        expected = _drawn(example, row["values_hex"], *filter(None, [row.get("mask_hex")]))
        vector = Vector(example, {**expected, "next_state": after_words(seed, row["words"])})
        found.setdefault((f"torch {operator.name}", row["type"]), []).append(vector)
    return [Case(family, tuple(v), BY_NAME[type_name]) for (family, type_name), v in found.items()]


def after_words(seed: int, words: int) -> NDArray[np.uint32]:
    """The state of torch's generator when it has given so many words, by NumPy's own MT19937."""
    numpy_s = np.random.RandomState(seed & 0xFFFFFFFF)
    numpy_s.randint(0, 2**32, words, np.uint32)
    _, block, place, *_ = numpy_s.get_state()
    # One that has given no word has none left to give, and counts from 0.
    left, after = (625 - int(place), int(place)) if words else (1, 0)
    start = [seed & 0xFFFFFFFF, seed >> 32, left, 1, after]
    return np.array([*start, *np.asarray(block).tolist(), 0, 0, 0], np.uint32)


def _torch_seed(row: Mapping[str, Any]) -> Vector:
    """Numbers of torch's from a seed alone, which OpenVINO's own operator can draw too."""
    example = _uniform_example(row, row["shape"], global_seed=row["seed"], alignment=PYTORCH)
    return Vector(example, _drawn(example, row["values_hex"]))


def _argument(given: Any) -> Any:
    """An int, or a tensor: its type, its shape and its bytes in hex."""
    if isinstance(given, int):
        return given
    return _from_hex(given["hex"], BY_NAME[given["type"]]).reshape(given["shape"])


def _state(words: list[int]) -> PhiloxState:
    return PhiloxState.from_array(np.array(words, np.uint32))


_ROW_STATES = (PhiloxState(2**128 - 1, 2**64 - 1), PhiloxState(2**64 - 2, 7), PhiloxState(0, 2**32))


def _dropped(type_: ElementType) -> Mapping[str, Any]:
    """Data of a type, and how many of them to drop."""
    data = np.arange(-7, 8).reshape(3, 5) / 8
    return {"data": data.astype(type_.dtype), "ratio": np.array(0.4, np.float32)}


def _sampled() -> Mapping[str, Any]:
    """Logits, and filters for all rows."""
    logits = np.array([[0, 1, 2, 3], [1, 1, 1, 0], [4, 0, 3, 2]], np.float32)
    return {
        "logits": logits,
        "temperature": np.array(1.5, np.float32),
        "top_k": np.array(3),
        "top_p": np.array(0.9, np.float32),
        "min_p": np.array(0.01, np.float32),
    }


_ROW_TYPES: tuple[tuple[Operator, Mapping[str, Any], tuple[ElementType, ...]], ...] = (
    (RANDOM_GENERATOR, {}, (U32,)),
    (RANDOM_UNIFORM, {"minval": -5, "maxval": 205}, (F32, F64, F16, BF16, I32, I64)),
    (RANDOM_NORMAL, {"mean": 3, "scale": 2}, (F32, F64, F16, BF16)),
    (RANDOM_EXPONENTIAL, {"scale": 2}, (F32, F64, F16, BF16)),
    (RANDOM_BERNOULLI, {"p": np.linspace(0, 1, 15, dtype=np.float32).reshape(3, 5)}, (BOOL,)),
    (RANDOM_GAMMA, {"alpha": np.linspace(0.1, 9, 15, dtype=np.float32).reshape(3, 5)}, (F32, F64)),
    (RANDOM_POISSON, {"rate": np.linspace(0, 30, 15, dtype=np.float32).reshape(3, 5)}, (I32, I64)),
    (RANDOM_CATEGORICAL, {"logits": np.eye(3, 4, dtype=np.float32), "sample_size": 5}, (I32, I64)),
    (RANDOM_PERMUTATION, {}, (I32, I64)),
    *((RANDOM_DROPOUT, _dropped(type_), (type_,)) for type_ in (F32, F16, BF16)),
    (RANDOM_TOKEN, _sampled(), (I32, I64)),
)
"""Operators, their arguments and the types of their values."""


def _rows() -> list[Case]:
    """Three rows, each from a state of its own; alone, a row is an example without rows."""
    cases = []
    for operator, arguments, types in _ROW_TYPES:
        for type_ in types:
            shape = (3, 1) if operator is RANDOM_TOKEN else (3, 5)
            example = Example(shape, type_, operator, arguments, 2**40, 9, rows=_ROW_STATES)
            alone = [_row(example, row).in_numpy() for row in range(len(_ROW_STATES))]
            expected = {
                o.name: (np.stack if o.is_state else np.concatenate)([row[o.name] for row in alone])
                for o in operator.outputs
            }
            cases.append(Case(f"{ROWS} {operator.name}", (Vector(example, expected),), type_))
    return cases


def _row(example: Example, row: int) -> Example:
    """A row of an example, alone."""
    arguments = {
        name: given[row : row + 1] if np.ndim(given) == 2 else given
        for name, given in example.arguments.items()
    }
    return dataclasses.replace(
        example,
        shape=(1, *example.shape[1:]),
        arguments=arguments,
        state=example.rows[row],
        rows=(),
    )


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
    for types, part, bounds in _RANGES:
        for type_ in types:
            draws = (
                Example(
                    shape,
                    type_,
                    RANDOM_UNIFORM,
                    dict(zip(("minval", "maxval"), bounds, strict=True)),
                    global_seed,
                    op_seed,
                    is_shape_fed=True,
                )
                for shape, global_seed, op_seed in (
                    ((2, 3, 5), 150, 10),
                    ((257,), 2**40 + 7, 2**33 + 1),
                )
            )
            vectors = tuple(Vector(example, example.in_numpy()) for example in draws)
            cases.append(Case(SEEDED_DRAWS, vectors, type_, part, is_numpy_the_standard=True))
    return cases
