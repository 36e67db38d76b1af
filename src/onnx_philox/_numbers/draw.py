"""What to draw: where in which stream, and what becomes of the words that are there.

A distribution is the module of this package that its member of `operators.Distribution` names. The
module's function `of` makes one of an operator's inputs and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import operators
from onnx_philox._contract.operators import Operator
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers.uniform import Convert, Values


class Distribution(Protocol):
    """What words of the generator become."""

    def words(self, values: ElementType, elements: int) -> int:
        """How many words of the generator these elements take."""

    def converter(self, values: ElementType) -> Convert:
        """The function from words to elements."""


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
        return elements // len(self.rows) if len(self.rows) else 0

    def words(self, elements: int) -> int:
        """How many words of the generator these elements take."""
        return self.distribution.words(self.values, elements)


def distribution_of(
    op: Operator, inputs: Mapping[str, Values], attributes: Mapping[str, Any]
) -> Distribution:
    """What an operator draws, by its inputs and attributes once they are checked."""
    return _maker(op.distribution)(inputs, attributes)


@cache
def _maker(
    distribution: operators.Distribution,
) -> Callable[[Mapping[str, Values], Mapping[str, Any]], Distribution]:
    module = import_module(f"onnx_philox._numbers.{distribution.value}")
    make: Callable[[Mapping[str, Values], Mapping[str, Any]], Distribution] = module.of
    return make
