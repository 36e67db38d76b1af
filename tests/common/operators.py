"""Every operator for the tests: what to give it, what it must draw, and models that draw it.

`TABLE` says the numbers, and no types: those of values and inputs are the declaration's. A new
operator needs a line there, and `test_every_operator.py` asks for it everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnx_philox import PhiloxState, _native, _philox, graphs, reference
from onnx_philox._contract.operators import DOMAIN, OPERATORS, Input, Operator, Role
from onnx_philox._contract.types import BF16, F16, F32, F64, I64, ElementType
from onnx_philox._numbers import call, fill_native, fill_numpy
from tests.common.cases import BOUNDS, SEED

Arrays = dict[str, np.ndarray]
Shape = tuple[int, ...]
Setting = Mapping[str, Any]
"""Inputs and attributes by name: a number, or what makes one for each element or row by shape."""

RNG = np.random.default_rng(11)
native = pytest.mark.skipif(not _native.IS_THERE, reason="no native core here")
CLASSES = 9
CHUNK_WORDS = 4 * _philox._CHUNK_BLOCKS  # that NumPy draws at once


def some_states(rows: int) -> np.ndarray:
    """States with high bits in every word; every third carries through the counter at once."""
    states = RNG.integers(
        0,
        2**32,
        (rows, 6),
        dtype=np.uint64,
    ).astype(np.uint32)
    states[::3, :4] = 0xFFFFFFFF
    states[1::3, 0] = 0xFFFFFFFE
    return states


STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()
"""Its counter carries through all words within three blocks, and its key has high bits."""

ZERO_FIRST = PhiloxState(counter=746036, key=42).to_array()
"""The first word drawn from here is a uniform of exactly 0."""


def each(*numbers: float) -> Callable[[Shape], np.ndarray]:
    """A number for each element, these in turn."""
    return lambda shape: np.resize(np.array(numbers), shape)


def each_row(*numbers: float) -> Callable[[Shape], np.ndarray]:
    """A number for each row."""
    return lambda shape: np.resize(np.array(numbers), shape[:1])


def logits(shape: Shape) -> np.ndarray:
    """Rows of all sizes, and two classes that are never drawn."""
    made = RNG.normal(size=(shape[0], CLASSES)) * RNG.choice([0.1, 3, 50], (shape[0], 1))
    made[:, 2::5] = -np.inf
    return made


def data(shape: Shape) -> np.ndarray:
    """Numbers of many sizes, zeros of both signs and an infinity."""
    made = np.array(RNG.normal(size=shape) * 10.0 ** RNG.integers(-4, 4, shape))
    special = np.array([0.0, -0.0, np.inf])[: made.size]
    made.reshape(-1)[: special.size] = special
    return made


def by_type(
    numbers: Mapping[str, Sequence[Any]],
    *names: str,
) -> Callable[[str], list[Setting]]:
    """Numbers that depend on the type of the values, the plain ones first."""
    return lambda type_: [
        dict(zip(names, np.atleast_1d(given).tolist(), strict=True)) for given in numbers[type_]
    ]


def settings(*given: Setting) -> Callable[[str], list[Setting]]:
    """The same settings for values of any type."""
    return lambda _: list(given)


PROBABILITIES = (0.3, 0.0, -0.0, 1.0, 1e-45, 2.0**-23, 1 - 2.0**-24)
ALPHAS = (0.7, 12.5, 1e-3, 1 - 2.0**-24, 1, 1e6, 2.0**50)
RATES = (12.5, 0.7, 0, 9.99, 10, 1e6, 2.0**30)
FILTERS = {
    "temperature": each_row(0.7, 0, 1.5, 1),
    "top_k": each_row(
        3,
        2**40 + 1,
        0,
        CLASSES + 1,
        1,
    ),
    "top_p": each_row(0.9, 1, 0.25),
    "min_p": each_row(0.05, 0, 1),
}

TABLE: dict[str, Callable[[str], list[Setting]]] = {
    "RandomGenerator": settings({}),
    "RandomUniform": by_type(BOUNDS, "minval", "maxval"),
    "RandomNormal": by_type(
        {
            "f16": [
                (-1.5, 2),
                (0, 1),
                (3, 0),
                (1e-7, 6e-8),
                (0, 6e4),
            ],
            "bf16": [
                (-1.5, 2),
                (0, 1),
                (3, 0),
                (1e-39, 3e-39),
                (0, 3e38),
            ],
            "f32": [
                (-1.5, 2),
                (0, 1),
                (-0.0, -1),
                (3, 0),
                (1e-40, 1e-45),
                (3e38, 2e38),
            ],
            "f64": [
                (-1.5, 2),
                (-0.0, 1),
                (1e-7, 1 + 1e-9),
                (3, 0),
                (1e-310, 5e-324),
                (0, 1e308),
            ],
        },
        "mean",
        "scale",
    ),
    "RandomBernoulli": settings(*({"p": p} for p in (each(*PROBABILITIES), *PROBABILITIES))),
    "RandomCategorical": settings(
        {"logits": logits, "sample_size": 3},
        {"logits": logits, "sample_size": 3, "replacement": 0},
        {"logits": lambda shape: np.zeros((shape[0], 1))},
    ),
    "RandomExponential": by_type(
        {
            "f16": [0.7, 1, 6e-8, 6e4],
            "bf16": [0.7, 1, 1e-39, 3e38],
            "f32": [0.7, 1, 1e-45, 3e38],
            "f64": [0.7, 1 + 1e-9, 5e-324, 1e308],
        },
        "scale",
    ),
    "RandomGamma": settings(
        {"alpha": each(*ALPHAS)},
        *({"alpha": a} for a in ALPHAS[:2]),
    ),
    "RandomPoisson": settings(
        {"rate": each(*RATES)},
        *({"rate": r} for r in RATES[:2]),
    ),
    "RandomDropout": settings(*({"data": data, "ratio": r} for r in (0.3, 0, 0.999, 1))),
    "RandomPermutation": settings({}),
    "RandomToken": settings(
        {"logits": logits, **FILTERS},
        {"logits": logits},
        {"logits": logits, "top_k": 2, "min_p": 0.1},
        {"logits": logits, "temperature": 0},
    ),
}
"""What to give each operator, the plain numbers first, then those at the edges."""

WORDS: dict[str, Callable[[Case, int], int]] = {
    "RandomGenerator": lambda _, elements: elements,
    "RandomUniform": lambda case, elements: elements * _halves(case.values),
    "RandomNormal": lambda case, elements: (elements + elements % 2) * _halves(case.values),
    "RandomBernoulli": lambda case, elements: elements * _halves(case.numbers),
    "RandomExponential": lambda case, elements: elements * _halves(case.values),
    "RandomGamma": lambda _, elements: elements * 32 * 4,
    "RandomPoisson": lambda _, elements: elements * 32 * 4,
    "RandomDropout": lambda case, elements: elements * _halves(case.numbers),
    "RandomPermutation": lambda _, elements: elements * 2,
    "RandomToken": lambda _, elements: elements * 2,
    "RandomCategorical": lambda _, elements: elements * 2,
}
"""How many words of the generator each takes, by the number of elements that it draws."""

STANDARD_NODES: dict[str, dict[str, str]] = {
    "onnxruntime": {
        "RandomGenerator": "u32",
        "RandomUniform": "i32 i64 f16 bf16 f32 f64",
        "RandomNormal": "f16 bf16 f32 f64",
        "RandomBernoulli": "bool",
        "RandomCategorical": "i32 i64",
        "RandomExponential": "f32 f64",
        "RandomDropout": "f16 bf16 f32 f64",
        "RandomGamma": "",
        "RandomPoisson": "",
        "RandomPermutation": "",
        "RandomToken": "",
    },
    "openvino": {
        "RandomGenerator": "u32",
        "RandomUniform": "i32 f32",
        "RandomBernoulli": "bool",
        "RandomDropout": "f32",
    },
}
"""The types of the values that standard nodes draw exactly in each runtime; others are refused."""


def _halves(type_: ElementType | None) -> int:
    """How many words make a number of a type."""
    assert type_ is not None
    return 2 if type_.dtype.itemsize == 8 else 1


def listed(
    table: Mapping[str, Any],
    operator: str,
    what: str,
) -> Any:
    """A table's line of an operator, or a failure that says to add it."""
    if operator not in table:
        pytest.fail(
            f"{what} in tests/common/operators.py must have a line for {operator}. Add it.",
            pytrace=False,
        )
    return table[operator]


@dataclass(frozen=True)
class Case:
    """An operator, the type of its values, and what it is given."""

    operator: Operator
    values: ElementType
    numbers: ElementType | None
    """The type of the input that has several of its own, if one has."""
    setting: Setting = field(hash=False)
    edge: int
    """Which setting: 0 is the plain one."""
    seeds: Mapping[str, int] = field(default_factory=lambda: SEED, hash=False)

    @property
    def name(self) -> str:
        types = [self.values.name, *([self.numbers.name] if self.numbers else [])]
        return " ".join(
            [
                self.operator.name,
                *types,
                *([f"edge {self.edge}"] if self.edge else []),
            ]
        )

    @property
    def has_plain_form(self) -> bool:
        """Whether it is given the same inputs and attributes as the plain numbers are."""
        return self.setting.keys() == TABLE[self.operator.name](self.values.name)[0].keys()

    @property
    def attributes(self) -> dict[str, Any]:
        names = {a.name for a in self.operator.attributes}
        given = {name: value for name, value in self.setting.items() if name in names}
        typed = {"output_type": self.values.name} if "output_type" in names else {}
        return given | typed | dict(self.seeds)

    @property
    def given(self) -> tuple[Input, ...]:
        """The inputs beside shape and state that it is given."""
        return tuple(i for i in self.operator.parameters if i.name in self.setting)

    @property
    def has_16_bits(self) -> bool:
        """Whether it has a type that ONNX Runtime's Python ops do not carry."""
        return any(t in (F16, BF16) for t in (self.values, self.numbers))

    @property
    def has_data(self) -> bool:
        """Whether the draw goes with numbers that are no parameters of it."""
        return self.operator.size_input.role is Role.DATA

    @property
    def constant_in_openvino(self) -> tuple[str, ...]:
        """The inputs that OpenVINO takes as constants alone: its plugin would alter them."""
        altered = {
            Role.NUMBER: (F64, I64),
            Role.NUMBERS: (F64,),
            Role.LOGITS: (F64,),
        }
        return tuple(i.name for i in self.given if self.type_of(i) in altered.get(i.role, ()))

    @property
    def is_scaled_in_openvino(self) -> bool:
        """Whether OpenVINO computes the values, data of f64, in f32."""
        return self.operator.type_input is not None and self.values is F64

    def type_of(self, given: Input) -> ElementType:
        if not given.types or given.name == self.operator.outputs[0].type_of:
            return self.values
        return self.numbers if len(given.types) > 1 and self.numbers else given.types[0]

    def shape(self, rows: int = 3, row: Shape = (5,)) -> Shape:
        """The output's shape for rows of such a shape, where the operator lets it be."""
        if self.operator.draws_rows:
            return rows, math.prod(row)
        if self.operator.size_input.role is Role.LOGITS:
            return rows, self.setting.get("sample_size", 1)
        return rows, *row

    def inputs(self, shape: Shape) -> Arrays:
        made = {}
        for i in self.given:
            number = self.setting[i.name]
            array = number(shape) if callable(number) else np.array(number)
            if i.role is Role.ROW_NUMBERS:
                array = array.reshape(-1)
            with np.errstate(over="ignore"):
                made[i.name] = array.astype(self.type_of(i).dtype)
        return made

    def oracle(
        self,
        shape: Shape,
        state: np.ndarray | None,
        inputs: Arrays,
    ) -> tuple[Any, ...]:
        """What it must draw: by the reference, in NumPy."""
        sized = {"shape": shape} if self.operator.has_shape else {}
        draw = getattr(reference, self.operator.function)
        return draw(**sized, **inputs, **self.attributes, state=state)

    def alone(
        self,
        shape: Shape,
        states: np.ndarray,
        inputs: Arrays,
    ) -> list[np.ndarray]:
        """Row by row, each from a plain state: the values, and the next states."""
        rows = [
            self.oracle(
                (1, *shape[1:]),
                state,
                self.of_rows(inputs, slice(b, b + 1)),
            )
            for b, state in enumerate(states)
        ]
        if not rows:
            return [*self.oracle(shape, states, inputs)]
        *values, after = zip(*rows, strict=True)
        return [*map(np.concatenate, values), np.stack(after)]

    def of_rows(self, inputs: Arrays, rows: slice) -> Arrays:
        has_rows = {i.name for i in self.given if callable(self.setting[i.name])}
        return {name: x[rows] if name in has_rows else x for name, x in inputs.items()}

    def feeds(
        self,
        shape: Shape,
        state: np.ndarray | None,
        inputs: Arrays,
    ) -> Arrays:
        sized = {"shape": np.array(shape, np.int64)} if self.operator.has_shape else {}
        return sized | ({} if state is None else {"state": state}) | inputs

    def model(
        self,
        shape: Shape,
        inputs: Arrays,
        *,
        constant: bool | Collection[str] = (),
        per_row: bool = False,
        stateful: bool = True,
    ) -> onnx.ModelProto:
        """What its builder builds; some inputs are constants, or all are, the shape too."""
        op = self.operator
        is_constant = {name: constant is True or (constant and name in constant) for name in inputs}
        given = [i for i in self.given if i.name in inputs]
        arguments: dict[str, Any] = {
            name: x if is_constant[name] else None for name, x in inputs.items()
        }
        if op.has_shape:
            fixed = constant is True or (constant and "shape" in constant)
            arguments |= {"shape": list(shape)} if fixed else {"shape": None, "rank": len(shape)}
        for i in given:
            if is_constant[i.name]:
                continue
            if len(i.types) > 1:
                arguments[f"{i.name}_type"] = self.type_of(i).name
            if i.role is Role.NUMBERS:
                arguments["per_element"] = inputs[i.name].ndim > 0
            if i.role is Role.DATA:
                arguments["rank"] = len(shape)
            if i.role is Role.ROW_NUMBERS:
                arguments["inputs"] = [*arguments.get("inputs", ()), i.name]
        if op.input("state").optional:
            arguments["stateful"] = stateful
        if per_row:
            arguments["per_row"] = True
            arguments.pop("stateful", None)
        return getattr(graphs, op.function)(**arguments, **self.attributes)

    def node(
        self,
        outputs: Sequence[str],
        names: Mapping[str, str],
    ) -> onnx.NodeProto:
        """A node of it, whose inputs have these names; those that have none are left out."""
        inputs = [names.get(i.name, "") for i in self.operator.inputs]
        while inputs and not inputs[-1]:
            inputs.pop()
        return helper.make_node(
            self.operator.name, inputs, outputs, domain=DOMAIN, **self.attributes
        )

    def initializers(
        self, shape: Shape, inputs: Arrays, shape_type: type = np.int64
    ) -> list[onnx.TensorProto]:
        """Everything but the state as constants, by the inputs' names."""
        given = self.feeds(shape, None, inputs)
        if "shape" in given:
            given["shape"] = given["shape"].astype(shape_type)
        return [numpy_helper.from_array(value, name) for name, value in given.items()]


@cache
def cases(operator: str) -> list[Case]:
    """The cases of an operator: plain numbers in all types, edges in each type of the values."""
    settings_of = listed(TABLE, operator, "TABLE")
    op = OPERATORS[operator]
    found = []
    varying = [
        i.types for i in op.parameters if len(i.types) > 1 and i.name != op.outputs[0].type_of
    ]
    for values in op.output_types:
        for number, numbers in enumerate(varying[0] if varying else (None,)):
            for edge, setting in enumerate(settings_of(values.name)):
                if edge == 0 or number == 0 or values is op.output_types[0]:
                    found.append(Case(op, values, numbers, setting, edge))
    return found


def plain(operator: str) -> list[Case]:
    """Its cases of plain numbers: one for each type."""
    return [case for case in cases(operator) if case.edge == 0]


def words(case: Case, shape: Shape) -> int:
    elements = math.prod(shape)
    if not case.setting.get("replacement", 1):
        elements = shape[0] * CLASSES
    return int(listed(WORDS, case.operator.name, "WORDS")(case, elements))


def is_exact_as_standard_nodes(case: Case, target: str, *, is_fed: bool) -> bool:
    """Whether standard nodes draw it; OpenVINO's only with some numbers, too."""
    types = STANDARD_NODES[target]
    if target == "onnxruntime":
        listed(types, case.operator.name, "STANDARD_NODES")
    if case.values.name not in types.get(case.operator.name, "").split():
        return False
    if target == "onnxruntime":
        return True
    if case.operator.name == "RandomUniform":
        return not is_fed and (case.values is not F32 or case.setting["minval"] == 0)
    return case.numbers is not F64


def by_core(
    operator: str,
    inputs: Arrays,
    attributes: Mapping[str, Any] | None = None,
) -> Any:
    """What the native core draws, and the next state."""
    return call.run(OPERATORS[operator], fill_native.fill, inputs, attributes or {})


def in_numpy(
    operator: str,
    inputs: Arrays,
    attributes: Mapping[str, Any] | None = None,
) -> Any:
    """What NumPy draws, and the next state."""
    return call.run(OPERATORS[operator], fill_numpy.fill, inputs, attributes or {})


def named(name: str) -> Case:
    """A case by its name, as `RandomUniform f32`."""
    return next(case for case in cases(name.split()[0]) if case.name == name)


def with_constant(model: onnx.ModelProto, name: str, value: np.ndarray) -> onnx.ModelProto:
    """The model with a graph input made an initializer."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    (graph_input,) = (i for i in made.graph.input if i.name == name)
    made.graph.input.remove(graph_input)
    made.graph.initializer.append(numpy_helper.from_array(value, name))
    return made


every_operator = pytest.mark.parametrize("operator", OPERATORS)
