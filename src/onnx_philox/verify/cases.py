"""What `onnx-philox verify` expects: draws, and the numbers that others have documented for them.

To add a case, append it in `load`; runners and reports take it from there.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypedDict

import numpy as np
import onnx
from numpy.typing import NDArray

from onnx_philox import graphs, reference
from onnx_philox._element_types import BF16, BY_NAME, F16, F32, F64, I32, I64, U32, ElementType
from onnx_philox._operators import RANDOM_GENERATOR, RANDOM_UNIFORM, Operator
from onnx_philox._state import PhiloxState

VECTORS: Traversable = resources.files("onnx_philox.verify") / "vectors"

Arrays = dict[str, NDArray[Any]]

COUNTER_EXAMPLE = "DirectML counter example"
SEEDED_DRAWS = "Seeded draws"

ERRATUM = (
    "DirectML: the page's example prints the counter before minus 324,855, though its text says "
    "that the counter is incremented. The rule is followed here, from both ends of the example."
)


class Seeds(TypedDict):
    """The seeds of a node."""

    global_seed: int
    op_seed: int


@dataclass(frozen=True)
class Draw:
    """One draw of one node: all that its model and feeds are made of.

    Args:
        shape: The output's dimensions.
        type: The output's element type.
        bounds: minval and maxval of a RandomUniform; None for a RandomGenerator.
        global_seed: A seed of the node.
        op_seed: Likewise.
        run: The number of this draw where a stateful operator with these seeds draws again and
            again. Ours is no such operator: it gets the state at which that draw starts.
        state: Where to draw; None for a node with seeds alone.
        is_shape_fed: Whether the shape is an input of the model rather than a constant.
    """

    shape: tuple[int, ...]
    type: ElementType
    bounds: tuple[Any, Any] | None = None
    global_seed: int = 0
    op_seed: int = 0
    run: int | None = None
    state: PhiloxState | None = None
    is_shape_fed: bool = False

    @property
    def operator(self) -> Operator:
        """The operator that draws."""
        return RANDOM_GENERATOR if self.bounds is None else RANDOM_UNIFORM

    @property
    def node_state(self) -> PhiloxState | None:
        """The state that the node is given."""
        if self.run is None:
            return self.state
        return PhiloxState.openvino_run(
            self.global_seed, self.op_seed, self.run, math.prod(self.shape)
        )

    @property
    def node_seeds(self) -> Seeds:
        """The seeds that the node is given; a run's are in its state."""
        if self.run is not None:
            return Seeds(global_seed=0, op_seed=0)
        return Seeds(global_seed=self.global_seed, op_seed=self.op_seed)

    def model(self) -> onnx.ModelProto:
        """The model of one node that draws this."""
        shape, rank = (None, len(self.shape)) if self.is_shape_fed else (self.shape, None)
        if self.bounds is None:
            return graphs.random_generator(shape, rank=rank, **self.node_seeds)
        return graphs.random_uniform(
            shape,
            *self.bounds,
            self.type.name,
            stateful=self.node_state is not None,
            rank=rank,
            **self.node_seeds,
        )

    def feeds(self) -> Arrays:
        """What the inputs of that model get."""
        feeds: Arrays = {}
        if self.node_state is not None:
            feeds["state"] = self.node_state.to_array()
        if self.is_shape_fed:
            feeds["shape"] = np.array(self.shape, np.int64)
        return feeds

    def in_numpy(self) -> Arrays:
        """The outputs of that model as `onnx_philox.reference` computes them."""
        state = None if self.node_state is None else self.node_state.to_array()
        if self.bounds is None:
            assert state is not None, "a RandomGenerator has a state"
            results = reference.random_generator(state, self.shape, **self.node_seeds)
        else:
            results = reference.random_uniform(
                self.shape, *self.bounds, self.type.name, state=state, **self.node_seeds
            )
        names = [o.name for o in self.operator.outputs]
        return dict(zip(names if state is not None else names[:1], results, strict=False))

    def next_state(self) -> NDArray[np.uint32]:
        """The state after this draw."""
        assert self.node_state is not None, "a draw of seeds alone has no next state"
        words_per_element = max(1, self.type.dtype.itemsize // 4)
        blocks = -(-math.prod(self.shape) * words_per_element // 4)
        # Not by `advance`, which is one of the things that are verified.
        counter = (self.node_state.counter + blocks) % 2**128
        return PhiloxState(counter, self.node_state.key).to_array()

    def __str__(self) -> str:
        parts = [f"{self.operator.name} {self.type.name}", f"shape {list(self.shape)}"]
        if self.bounds is not None:
            parts.append(f"minval {self.bounds[0]}, maxval {self.bounds[1]}")
        if self.global_seed or self.op_seed:
            parts.append(f"global_seed {self.global_seed}, op_seed {self.op_seed}")
        if self.run is not None:
            parts.append(f"run {self.run}")
        if self.state is not None:
            parts.append(f"counter {self.state.counter:#x}, key {self.state.key:#x}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Vector:
    """A draw and what it must give: every output bit for bit, and what a page prints of it."""

    draw: Draw
    expected: Arrays
    printed: Any = None
    """Decimals as a page prints them, nested like the values."""


@dataclass(frozen=True)
class Case:
    """Vectors that have one verdict together."""

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
    def has_seeds_alone(self) -> bool:
        """Whether an operator without a state can draw all this."""
        return all(v.draw.bounds is not None and v.draw.state is None for v in self.vectors)


def load(vectors: Traversable | None = None) -> list[Case]:
    """All cases.

    Args:
        vectors: The folder of known.json and tensorflow.json; None for the package's own.
    """
    folder = VECTORS if vectors is None else vectors
    # Decimal keeps the digits that a page prints.
    known = json.loads((folder / "known.json").read_text("utf-8"), parse_float=Decimal)
    tensorflow = json.loads((folder / "tensorflow.json").read_text("utf-8"))
    return [
        *_by_type("OpenVINO documentation", map(_documented, known["openvino_documented"]["rows"])),
        Case(
            "Random123 known answers",
            tuple(map(_known_answer, known["random123_philox4x32_10"]["rows"])),
            U32,
        ),
        _counter_example(known["directml_documented"]),
        Case("TensorFlow bits", tuple(map(_bits, tensorflow["bits"])), U32),
        *_by_type("TensorFlow uniform", map(_uniform, tensorflow["uniform"])),
        *_by_type(
            "TensorFlow stateful runs",
            itertools.chain.from_iterable(map(_runs, tensorflow["stateful_uniform"])),
        ),
        *_seeded_draws(),
    ]


def _by_type(family: str, vectors: Iterable[Vector]) -> list[Case]:
    sorted_vectors: dict[str, list[Vector]] = {name: [] for name in BY_NAME}
    for vector in vectors:
        sorted_vectors[vector.draw.type.name].append(vector)
    return [Case(family, tuple(v), BY_NAME[name]) for name, v in sorted_vectors.items() if v]


def _documented(row: Mapping[str, Any]) -> Vector:
    draw = Draw(
        tuple(row["shape"]),
        BY_NAME[row["output_type"]],
        (row["minval"], row["maxval"]),
        row["global_seed"],
        row["op_seed"],
    )
    return Vector(draw, draw.in_numpy(), row["output"])


def _known_answer(row: list[list[str]]) -> Vector:
    counter, key, output = ([int(word, 16) for word in words] for words in row)
    return _generator_vector(_state([*counter, *key]), output)


def _bits(row: Mapping[str, Any]) -> Vector:
    return _generator_vector(_state(row["state"]), row["bits"])


def _generator_vector(state: PhiloxState, bits: list[int]) -> Vector:
    draw = Draw((len(bits),), U32, state=state)
    return Vector(draw, {"bits": np.array(bits, np.uint32), "next_state": draw.next_state()})


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
        draw = Draw(shape, U32, state=PhiloxState(start, 0))
        vectors.append(
            Vector(draw, draw.in_numpy() | {"next_state": PhiloxState(end, 0).to_array()})
        )
    return Case(COUNTER_EXAMPLE, tuple(vectors), U32)


def _uniform(row: Mapping[str, Any]) -> Vector:
    draw = Draw(
        (row["elements"],),
        BY_NAME[row["output_type"]],
        (row["minval"], row["maxval"]),
        state=_state(row["state"]),
    )
    return _values_vector(draw, row["values_hex"])


def _runs(row: Mapping[str, Any]) -> list[Vector]:
    """TensorFlow's stateful operator, run again and again; floats are in [0, 1)."""
    return [
        _values_vector(
            Draw(
                (row["elements"],),
                BY_NAME[row["output_type"]],
                (0, 1),
                row["global_seed"],
                row["op_seed"],
                run,
            ),
            values,
        )
        for run, values in enumerate(row["runs_hex"])
    ]


def _values_vector(draw: Draw, values_hex: str) -> Vector:
    little_endian = np.dtype(f"<u{draw.type.dtype.itemsize}")
    bits = np.frombuffer(bytes.fromhex(values_hex), little_endian)
    values = bits.astype(little_endian.newbyteorder("=")).view(draw.type.dtype)
    return Vector(draw, {"values": values, "next_state": draw.next_state()})


def _state(words: list[int]) -> PhiloxState:
    return PhiloxState.from_array(np.array(words, np.uint32))


_RANGES: tuple[tuple[tuple[ElementType, ...], str, tuple[Any, Any]], ...] = (
    ((F32, F64, F16, BF16), "in [0,1)", (0, 1)),
    ((F32, F64, F16, BF16), "in [-27.5,205)", (-27.5, 205)),
    ((I32, I64), "in [-2600,3700)", (-2600, 3700)),
    ((I32,), "over 2^31 apart", (-(2**30), 2**31 - 1)),
    ((I64,), "over 2^63 apart", (-(2**62), 2**63 - 1)),
)
"""Types, a name and bounds."""


def _seeded_draws() -> list[Case]:
    """Draws from seeds alone, as OpenVINO's own operator can draw too; NumPy says what is right."""
    cases = []
    for types, part, bounds in _RANGES:
        for type_ in types:
            draws = (
                Draw(shape, type_, bounds, global_seed, op_seed, is_shape_fed=True)
                for shape, global_seed, op_seed in (
                    ((2, 3, 5), 150, 10),
                    ((257,), 2**40 + 7, 2**33 + 1),
                )
            )
            vectors = tuple(Vector(draw, draw.in_numpy()) for draw in draws)
            cases.append(Case(SEEDED_DRAWS, vectors, type_, part, is_numpy_the_standard=True))
    return cases
