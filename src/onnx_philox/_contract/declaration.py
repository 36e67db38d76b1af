"""What the declaration of an operator says: see `operators` for the declarations themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from onnx_philox._contract import sentences
from onnx_philox._contract.shown import listed
from onnx_philox._contract.types import BY_NAME, ElementType

OUTPUT_TYPE = "output_type"
"""The attribute that names the element type of the values, and of bounds, mean and scale."""


class Role(Enum):
    """What an input means, and so which rules apply to it."""

    STATE = "state"
    SHAPE = "shape"
    NUMBER = "number"
    """One number, of which `Input.numbers` says what it may be."""
    NUMBERS = "numbers"
    """One number, or an array of the output's shape: one for each element."""
    ROW_NUMBERS = "row_numbers"
    """One number, or one for each row of the output, in 1-D."""
    LOGITS = "logits"
    DATA = "data"
    """Any numbers: what is drawn is of their shape, and goes with them element by element."""

    @property
    def is_parameter(self) -> bool:
        """Whether it holds numbers that say what is drawn."""
        return self not in (Role.STATE, Role.SHAPE)


def type_names(types: Sequence[ElementType]) -> str:
    """Types as messages list them: ``f32 or f64``."""
    return " or ".join(t.name for t in types)


@dataclass(frozen=True)
class Numbers:
    """Which numbers an input takes: finite ones, from `low` to `high`."""

    rule: str
    """The same, as messages say it."""
    remedy: str
    """What a message says to do."""
    low: float = -math.inf
    high: float = math.inf
    is_above_low: bool = False
    """Whether `low` itself is refused."""
    ulp_above_high: int = 0
    """How many steps of the type a number may be above `high`, a power of two."""

    def limits(self, type_: ElementType) -> tuple[Any, Any]:
        """The least and the greatest of these numbers in a type."""
        number = type_.dtype.type
        if not type_.is_float:
            integers = np.iinfo(type_.dtype)
            low = max(self.low, integers.min) + self.is_above_low
            return number(low), number(min(self.high, integers.max))
        floats = ml_dtypes.finfo(type_.dtype)  # type: ignore[no-untyped-call]
        low = max(self.low, float(floats.min))
        high = min(self.high, float(floats.max))
        least = number(low)
        if self.is_above_low:
            least = np.nextafter(least, number(1))
        ulp = float(floats.eps) * high
        return least, number(high + self.ulp_above_high * ulp)


@dataclass(frozen=True)
class Input:
    """An input; no `types` means the type that the attribute `output_type` names."""

    name: str
    role: Role
    doc: str
    types: tuple[ElementType, ...] = ()
    optional: bool = False
    """Whether a node may leave it out. A number is left out where it is an empty 1-D tensor, too:
    not every runtime has inputs without a tensor."""
    absent: int | None = None
    """The number that means the same as leaving it out."""
    numbers: Numbers | None = None
    """Which numbers it takes, where its role is NUMBER, NUMBERS or ROW_NUMBERS."""
    brief: str = ""
    """What it is, in a sentence for Python functions that have it as an argument."""


@dataclass(frozen=True)
class Output:
    """An output; no `type` means the type of an input, or that which `output_type` names."""

    name: str
    doc: str
    type: ElementType | None = None
    is_state: bool = False
    optional: bool = False
    type_of: str = ""
    """The input whose type it has; none: the attribute `output_type` names it."""


@dataclass(frozen=True)
class Attribute:
    """An attribute; no `default` means it is required.

    A string takes one of `allowed`; an integer takes `minimum` to `maximum`; a flag is an integer,
    too, 0 or 1.
    """

    name: str
    doc: str
    default: int | str | None
    allowed: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 2**63 - 1
    is_flag: bool = False
    is_written: bool = True
    """Whether a node says it even where it is the default. Nodes of the first release had no other
    attributes, and the files of such a draw stay as they were."""

    @property
    def type(self) -> type[int] | type[str]:
        """The Python type of the attribute's value in a model."""
        return str if self.allowed else int

    @property
    def rule(self) -> str:
        """The values it takes, as messages say it."""
        if self.allowed:
            return listed([repr(name) for name in self.allowed])
        if self.is_flag:
            return f"{self.minimum} or {self.maximum}"
        most = "2^63-1" if self.maximum == 2**63 - 1 else self.maximum
        return f"an integer from {self.minimum} to {most}"


@dataclass(frozen=True)
class Words:
    """How many words of the generator an element takes."""

    each: int | None = None
    """So many; None: two for a type of 64 bits, else one."""
    by: str = OUTPUT_TYPE
    """What has that type: the values, or the input of this name."""
    are_paired: bool = False
    """Whether elements are drawn in pairs, which are never split."""

    def of(self, type_: ElementType | None, elements: int) -> int:
        """The words of so many elements; `type_` is the one that `by` says."""
        if self.are_paired:
            elements += elements % 2
        return elements * self.per_element(type_)

    def per_element(self, type_: ElementType | None) -> int:
        """The words of one element, which may be drawn in a pair."""
        if self.each is not None:
            return self.each
        assert type_ is not None, "by what it is drawn"
        return 2 if type_.dtype.itemsize == 8 else 1


@dataclass(frozen=True)
class Operator:
    """An operator: its inputs, outputs and attributes in order, and what it does."""

    name: str
    doc: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    attributes: tuple[Attribute, ...]
    words: Words
    draws: str
    """What it draws, after "draws" in a sentence."""
    rule: str
    """The heading of docs/specification.md that says how."""
    like: str = ""
    """What the sentence may add: whose rule that is."""
    example: str = ""
    """Doctests of the function in `onnx_philox.reference`."""
    draws_rows: bool = False
    """Whether what it draws is a whole row, along the last of one or two dimensions."""
    distribution: str = ""
    """How words become elements: the module of `_numbers`, and what the native core calls it. It is
    called as the function is, unless said otherwise."""

    def __post_init__(self) -> None:
        if not self.distribution:
            object.__setattr__(self, "distribution", self.function.removeprefix("random_"))

    @property
    def function(self) -> str:
        """The function of `onnx_philox.reference` that computes it, and the builder's name."""
        return self.name.replace("Random", "random_").lower()

    @property
    def output_types(self) -> tuple[ElementType, ...]:
        """The element types the first output can have."""
        if self.outputs[0].type is not None:
            return (self.outputs[0].type,)
        if self.type_input is not None:
            return self.type_input.types
        (attribute,) = (a for a in self.attributes if a.name == OUTPUT_TYPE)
        return tuple(BY_NAME[name] for name in attribute.allowed)

    @property
    def type_input(self) -> Input | None:
        """The input whose type the first output has, if it has that of an input."""
        name = self.outputs[0].type_of
        if not name:
            return None
        return self.input(name)

    @property
    def has_shape(self) -> bool:
        """Whether an input gives the dimensions of the first output."""
        return any(i.role is Role.SHAPE for i in self.inputs)

    @property
    def values_outputs(self) -> tuple[Output, ...]:
        """The outputs that are drawn, all of one shape."""
        return tuple(o for o in self.outputs if not o.is_state)

    @property
    def drawn_output(self) -> int:
        """The index of the output that tells what was drawn, of data too: the mask then."""
        return len(self.values_outputs) - 1

    @property
    def size_input(self) -> Input:
        """The input that gives the dimensions of the first output."""
        return next(i for i in self.inputs if i.role in (Role.SHAPE, Role.LOGITS, Role.DATA))

    @property
    def size_rule(self) -> str:
        """The dimensions of the values, where no input `shape` gives them."""
        if self.size_input.role is not Role.LOGITS:
            return ""
        columns = "sample_size" if self.has_samples else "1"
        return f"batch, {columns}"

    @property
    def has_samples(self) -> bool:
        """Whether an attribute says how many it draws from each row."""
        return any(a.name == "sample_size" for a in self.attributes)

    @property
    def parameters(self) -> tuple[Input, ...]:
        """The inputs that say what is drawn."""
        return tuple(i for i in self.inputs if i.role.is_parameter)

    @property
    def size_source(self) -> str:
        """What messages blame for too large an output."""
        if self.has_shape:
            return sentences.INPUT.format("shape")
        return sentences.THE_OUTPUT

    @property
    def input_names(self) -> str:
        """The inputs as messages list them."""
        names = []
        for declared in self.inputs:
            names.append(f"{declared.name} (optional)" if declared.optional else declared.name)
        return ", ".join(names)

    @property
    def attribute_names(self) -> str:
        """The attributes as messages list them."""
        return ", ".join(a.name for a in self.attributes)

    def written(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that a node says, of complete ones."""
        silent = {a.name: a.default for a in self.attributes if not a.is_written}
        return {
            name: value
            for name, value in attributes.items()
            if name not in silent or value != silent[name]
        }

    def parted(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The inputs and the attributes among arguments of these names."""
        inputs = {i.name: arguments[i.name] for i in self.inputs if i.name in arguments}
        attributes = {a.name: arguments[a.name] for a in self.attributes if a.name in arguments}
        return inputs, attributes

    def input(self, name: str) -> Input:
        """The input called `name`."""
        return next(i for i in self.inputs if i.name == name)
