"""What to draw: where in which stream, and what becomes of the words that are there.

The module of this package that `Operator.distribution` names has the distribution of an operator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.operators import (
    OPERATORS,
    OUTPUT_TYPE,
    REJECTION_BLOCKS,
    Operator,
    Role,
)
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BY_DTYPE, ElementType

Words = NDArray[np.uint32]
Values = NDArray[Any]
Convert = Callable[[int, Words], Values | tuple[Values, ...]]
"""From the position of an element, and the words from it on, to the elements they make: those of
the output, or of each where there are several."""


class Distribution(ABC):
    """What words of the generator become.

    A subclass is a dataclass. Its fields are the operator's parameters and attributes that say what
    is drawn, and its shape if it draws rows, by their names: the native core is given just these. A
    number is an array of rank 0; numbers for each element, and data, are one of rank 1.
    """

    operator: ClassVar[Operator]
    """The operator that draws it, by whose name the native core knows it."""

    def words(self, values: ElementType, elements: int) -> int:
        """How many words of the generator these elements take."""
        words = self.operator.words
        type_ = values
        if words.by != OUTPUT_TYPE:
            numbers = getattr(self, words.by)
            type_ = BY_DTYPE[numbers.dtype]
        return words.of(type_, elements)

    @property
    def words_together(self) -> int:
        """Words are cut after multiples of so many; 1 where the ends of chunks cut no element."""
        return 1

    @abstractmethod
    def converter(self, values: ElementType) -> Convert:
        """The function from words to elements."""


def one_or_each(numbers: Values) -> Values:
    """Numbers as a distribution has them: one of rank 0, or of rank 1 one for each element."""
    is_one = numbers.shape in ((), (1,))
    return numbers.reshape(() if is_one else -1)


def rejecting(
    numbers: Values,
    drawn: Callable[[Values, Words], Values],
    values: ElementType,
) -> Convert:
    """The function from words to values where each element owns `REJECTION_BLOCKS` blocks.

    Args:
        numbers: Those of the elements.
        drawn: What makes f64 values of f64 numbers and the blocks [elements, blocks, 4].
        values: The type of the elements.
    """

    def convert(position: int, words: Words) -> Values:
        blocks = words.reshape(-1, REJECTION_BLOCKS, 4)
        count = len(blocks)
        if numbers.ndim:
            given = numbers[position : position + count]
        else:
            given = np.full(count, numbers)
        made = drawn(given.astype(np.float64), blocks)
        return made.astype(values.dtype)

    return convert


@dataclass(frozen=True)
class Draw:
    """What to fill memory with."""

    values: ElementType
    """The type of the elements."""
    state: PhiloxState
    """Where to draw: the seeds are in it. In a draw by rows it is the seeds, which are added to the
    state of each row."""
    distribution: Distribution
    rows: NDArray[np.uint32] | None = None
    """The states of the rows, [B, 6], where each row has one of its own. Row b is what a draw from
    states[b] would be: no row depends on another."""

    def row_elements(self, elements: int) -> int:
        """How many of these elements are drawn from one state."""
        if self.rows is None:
            return elements
        if not len(self.rows):
            return 0
        return elements // len(self.rows)

    def words(self, elements: int) -> int:
        """How many words of the generator these elements take."""
        return self.distribution.words(self.values, elements)


Fill = Callable[..., Words | None]
"""Called with a draw and a contiguous array of rank 1 for each output: fills them. Of a draw by
rows it may return the next states; else its caller computes them."""


def distribution_of(
    op: Operator,
    inputs: Mapping[str, Values | None],
    attributes: Mapping[str, Any],
) -> Distribution:
    """What an operator draws, by its inputs and attributes once they are checked."""
    kind = _kind_of(op.name)
    given = {}
    for field in fields(kind):  # type: ignore[arg-type]
        given[field.name] = _field(op, field.name, inputs, attributes)
    return kind(**given)


@cache
def _kind_of(operator: str) -> type[Distribution]:
    op = OPERATORS[operator]
    module = import_module(f"onnx_philox._numbers.{op.distribution}")
    classes = vars(module).values()
    kind: type[Distribution] = next(c for c in classes if getattr(c, "operator", None) is op)
    return kind


def _field(
    op: Operator,
    name: str,
    inputs: Mapping[str, Values | None],
    attributes: Mapping[str, Any],
) -> Any:
    declared = next((i for i in op.inputs if i.name == name), None)
    if declared is None:
        return attributes[name]
    given = inputs.get(name)
    match declared.role:
        case _ if given is None:
            return None
        case Role.NUMBER:
            return given.reshape(())
        case Role.NUMBERS | Role.ROW_NUMBERS:
            return one_or_each(given)
        case Role.DATA:
            return given.reshape(-1)
        case Role.SHAPE:
            return given.astype(np.int64)
    return given
