"""Inputs of a model that a rewrite turns into draws: what a user writes of one, and what draws it.

Models of diffusion, flow matching, voices and policies take their noise as an input. A user says
its law in a word: `draw={"noise": "normal(0, 0.5)"}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.arguments import parameter_array
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.operators import (
    MAX_RANK,
    RANDOM_BERNOULLI,
    RANDOM_GENERATOR,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
)
from onnx_philox._contract.shown import dims, listed
from onnx_philox._contract.types import BOOL, BY_DTYPE, ElementType

OWNER = "onnx_philox.make_reproducible"
"""What the refusals of a rewrite name as the function that refuses."""

ASKED_SHAPES = "onnx_philox.asked_shapes"
"""The key of a model's metadata that says which sizes a drawn input has, of which one is asked."""

_WRITE_SHAPE = "Write its shape in brackets, such as normal[1, 16]."


Refusal = type[ValueError] | type[TypeError]


@dataclass(frozen=True)
class Law:
    """What a word means."""

    operator: Operator
    """The operator that draws."""
    numbers: tuple[str, ...]
    """Its inputs that the word takes in parentheses."""
    defaults: tuple[float, ...]
    """What they are for floats where there are no parentheses; empty where they must be given."""
    written: str
    """How the word is written, for messages."""

    def types(self) -> Sequence[ElementType]:
        """The types of inputs that it draws."""
        return self.operator.output_types


LAWS = {
    "normal": Law(RANDOM_NORMAL, ("mean", "scale"), (0.0, 1.0), "normal, normal(mean, scale)"),
    "uniform": Law(RANDOM_UNIFORM, ("minval", "maxval"), (0.0, 1.0), "uniform, uniform(low, high)"),
    "bernoulli": Law(RANDOM_BERNOULLI, ("p",), (), "bernoulli(p)"),
    "bits": Law(RANDOM_GENERATOR, (), (), "bits"),
}
_ALLOWED = (
    f"one of {listed([law.written for law in LAWS.values()])}, where it is wanted with a shape "
    "behind it, such as normal[1, 16]"
)
_WRITTEN = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*(?:\[([^\[\]]*)\])?\s*")


@dataclass(frozen=True)
class DrawnInput:
    """An input that becomes a draw."""

    name: str
    """The name of the input."""
    text: str
    """What the user wrote."""
    law: Law
    numbers: tuple[float, ...] | None
    """The numbers in parentheses; None where there are none."""
    shape: tuple[int, ...] | None
    """The one in brackets; None where the model says it."""

    @classmethod
    def read(cls, name: str, text: str) -> DrawnInput:
        """What a user wrote of an input.

        Raises:
            ValueError: It is none of the words, or has too many or too few numbers.
        """
        match = _WRITTEN.fullmatch(text)
        law = None if match is None else LAWS.get(match[1])
        if match is None or law is None:
            _refuse(name, text, _ALLOWED, "Write one of these.")
        inside = match[2]
        dimensions = match[3]
        numbers = None if inside is None else _numbers(name, text, inside)
        shape = None if dimensions is None else _shape(name, text, dimensions)
        given = len(law.defaults) if numbers is None else len(numbers)
        if given != len(law.numbers):
            allowed = f"{law.written}, with {len(law.numbers)} numbers"
            _refuse(name, text, allowed, "Write as many.")
        return cls(name, text, law, numbers, shape)

    def refuse(self, allowed: str, remedy: str, error: Refusal = ValueError) -> NoReturn:
        """Refuses what the user wrote.

        Raises:
            ValueError: Always, or the error that is given.
        """
        _refuse(self.name, self.text, allowed, remedy, error)

    def values(self, dtype: np.dtype[Any] | None, shown: str) -> ElementType:
        """The type that its operator draws, given that of the input; `shown` is its name.

        A Bernoulli is drawn as bool, and cast to any type of numbers that NumPy has, and bf16.

        Raises:
            TypeError: It does not draw this type.
        """
        type_ = None if dtype is None else BY_DTYPE.get(dtype)
        types = self.law.types()
        names = listed([each.name for each in types])
        if self.law.operator is RANDOM_BERNOULLI:
            is_integer = dtype is not None and dtype.kind in "iu"
            if type_ is not None or is_integer:
                return BOOL
            names = "bool, integers of 8, 16, 32 or 64 bits, and floats of 16, 32 or 64 bits"
        if type_ is None or type_ not in types:
            allowed = f"a law of {shown}, the type of that input ({self._word} draws {names})"
            self.refuse(allowed, "Write another word.", TypeError)
        return type_

    def parameters(self, values: ElementType) -> dict[str, NDArray[Any]]:
        """The numbers as constants of the operator's inputs, for values of a type.

        Raises:
            TypeError: A number is not one of that type.
            ValueError: A number is out of its range.
        """
        numbers: Sequence[float] = self.law.defaults
        if self.numbers is not None:
            numbers = self.numbers
        is_uniform = self.law.operator is RANDOM_UNIFORM
        if self.numbers is None and is_uniform and not values.is_float:
            allowed = f"{self.law.written}, with both numbers for {values.name}"
            self.refuse(allowed, "Write them.")
        self._check_numbers(numbers, values)
        op = self.law.operator
        declared = {each.name: each for each in op.parameters}
        owner = f"{OWNER}: draw of {self.name!r}"
        arrays = {
            name: parameter_array(owner, declared[name], number, values)
            for name, number in zip(self.law.numbers, numbers, strict=True)
        }
        checks.check_parameters(owner, op, arrays, values, ())
        return arrays

    def check_shape(self, dimensions: Sequence[int | None] | None) -> None:
        """Refuses a shape in brackets that is not one of the input.

        Raises:
            ValueError: It has another rank, or another size in a dimension that is constant.
        """
        if self.shape is None or dimensions is None:
            return
        if not may_be(self.shape, tuple(dimensions)):
            self.refuse(
                f"of a shape that the input may have, {dims(dimensions)}",
                "Write such a shape.",
            )

    def refuse_unread(self, holders: str, *, is_inside: bool) -> NoReturn:
        """Refuses an input that no node of the main graph reads; `holders` name those of bodies.

        Raises:
            ValueError: Always.
        """
        why = f"{holders} alone reads it" if is_inside else "nothing reads it"
        allowed = f"of an input that a node of the main graph reads ({why})"
        self.refuse(allowed, "Put an Identity behind that input, or leave it as it is.")

    def check_rank(self, rank: int | None) -> None:
        """Refuses an input whose shape cannot be made of its declaration.

        Raises:
            ValueError: Nobody knows its rank, or it has more dimensions than a draw.
        """
        if rank is None or rank > MAX_RANK:
            given = "no known rank" if rank is None else f"{rank} dimensions"
            allowed = f"of an input of 0 to {MAX_RANK} dimensions: it has {given}"
            self.refuse(allowed, _WRITE_SHAPE)

    def name_of_shape(self, taken: Container[str | None]) -> str:
        """The name of the new input that says its shape.

        Raises:
            ValueError: The model has such a name.
        """
        name = f"{self.name}_shape"
        if name in taken:
            allowed = (
                f"of a model that has no {name!r}, the name of the new input that says its shape"
            )
            self.refuse(allowed, _WRITE_SHAPE)
        return name

    def _check_numbers(self, numbers: Sequence[float], values: ElementType) -> None:
        """Refuses numbers of which no law is made, in the words of the option."""
        if self.law.operator is RANDOM_NORMAL and numbers[1] < 0:
            self.refuse("normal(mean, scale), with a scale of 0 or more", "Write such a scale.")
        if self.law.operator is not RANDOM_UNIFORM:
            return
        low, high = numbers
        if values.is_float and low > high:
            self.refuse("uniform(low, high), with a low of at most high", "Exchange the two.")
        if not values.is_float and low >= high:
            self.refuse(
                f"uniform(low, high), with a low below high for {values.name}",
                "Write such numbers: high itself is not drawn.",
            )

    @property
    def _word(self) -> str:
        return next(word for word, law in LAWS.items() if law is self.law)


def read_all(owner: str, draw: Any) -> tuple[DrawnInput, ...]:
    """What a user wrote of a model's inputs, in this order.

    Raises:
        TypeError: It is no dict of texts.
        ValueError: A text is none that is known.
    """
    is_texts = isinstance(draw, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in draw.items()
    )
    if not is_texts:
        allowed = 'a dict of texts by the names of inputs, such as {"noise": "normal"}'
        given = f"{draw!r}, of type {type(draw).__name__}"
        checks.refuse(
            owner,
            "draw",
            given,
            allowed,
            "Pass one of these.",
            TypeError,
        )
    return tuple(DrawnInput.read(name, text) for name, text in draw.items())


Sizes = tuple[int | None, ...]
"""The sizes of an input: None for one that the model leaves open."""


def with_asked_shape(
    metadata: str | None,
    name: str,
    sizes: Sequence[int | None],
) -> str:
    """What a model says of the shapes that it asks for, with another one.

    Args:
        metadata: What it said under `ASKED_SHAPES` so far.
        name: The input that says the shape.
        sizes: Those of the input that is drawn.
    """
    known = {other: [*of_other] for other, of_other in asked_shapes(metadata).items()}
    return json.dumps(known | {name: [*sizes]})


def asked_shapes(metadata: str | None) -> dict[str, Sizes]:
    """The sizes that the inputs of shapes must say; empty where the model does not tell."""
    try:
        said = json.loads(metadata or "{}")
        return {str(name): tuple(map(_recorded_size, sizes)) for name, sizes in said.items()}
    except (AttributeError, TypeError, ValueError):
        # Somebody else has written it.
        return {}


def may_be(shape: Sequence[int], sizes: Sizes) -> bool:
    """Whether an input of these sizes may have a shape."""
    if len(shape) != len(sizes):
        return False
    return all(known in (None, size) for known, size in zip(sizes, shape, strict=True))


def _recorded_size(size: object) -> int | None:
    if size is None or isinstance(size, int):
        return size
    raise TypeError


def refuse_unknown(drawn: DrawnInput, names: Sequence[str]) -> NoReturn:
    """Refuses the name of an input that the model has not.

    Raises:
        ValueError: Always.
    """
    known = ", ".join(names) or "it has none"
    allowed = f"of an input of the model ({known})"
    drawn.refuse(allowed, "Write the name of one of these.")


def _refuse(
    name: str,
    text: str,
    allowed: str,
    remedy: str,
    error: Refusal = ValueError,
) -> NoReturn:
    given = f"{name}={text}"
    checks.refuse(OWNER, "draw", given, allowed, remedy, error)


def _numbers(name: str, text: str, inside: str) -> tuple[float, ...]:
    try:
        return tuple(_number(each) for each in inside.split(",") if inside.strip())
    except ValueError:
        _refuse(name, text, f"{_ALLOWED}; of numbers in parentheses", "Write numbers there.")


def _number(text: str) -> float:
    """An integer stays one, for types of integers."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _shape(name: str, text: str, inside: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(each) for each in inside.split(",") if inside.strip())
    except ValueError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        allowed = f"{_ALLOWED}; of integers of 0 or more in brackets"
        _refuse(name, text, allowed, "Write integers there.")
    return sizes
