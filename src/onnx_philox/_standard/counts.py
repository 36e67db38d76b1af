"""How many values each state draws: numbers where they are known, nodes where they are not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.operators import MAX_RANK, STATE_WORDS
from onnx_philox._standard.builder import Builder

Count = int | ir.Value
"""A number of 0 or more, or int64 [1]."""


Dimensions = tuple[int | None, ...]
"""The dimensions of an output; None for each that only a run shows."""


@dataclass(frozen=True)
class StateRows:
    """How many states an input holds.

    Attributes:
        number: None where only a run shows it.
        state: The states themselves.
    """

    number: int | None
    state: ir.Value

    def count(self, b: Builder) -> ir.Value:
        """The number, int64 [1]."""
        if self.number is not None:
            return b.constant([self.number])
        shape = b.constant([-1, STATE_WORDS])
        by_row = b("Reshape", self.state, shape)
        return b("Shape", by_row, start=0, end=1)


def per_row(
    b: Builder,
    rows: StateRows,
    shape: ir.Value,
    dimensions: Dimensions | None,
    *,
    is_by_row: bool,
) -> Count:
    """How many elements of an output each state draws: one draws all, others a row each.

    `dimensions` are those of `shape`, as far as they are known.

    Nodes:
        one state:        shape -> ReduceProd
        a state a row:    shape -> Slice from 1 -> ReduceProd
        not known which:  number of states -> Equal 1 -> Where (both)
    """
    known = known_per_row(rows.number, dimensions, is_by_row=is_by_row)
    if known is not None:
        return known
    if rows.number == 1:
        return _product(b, shape)
    start = b.constant([1])
    end = b.constant([MAX_RANK])
    row = b("Slice", shape, start, end)
    of_row = _product(b, row)
    if rows.number is not None or is_by_row:
        return of_row
    all_ = _product(b, shape)
    states = rows.count(b)
    is_one = b("Equal", states, b.constant([1]))
    return b("Where", is_one, all_, of_row)


def known_per_row(
    rows: int | None,
    dimensions: Dimensions | None,
    *,
    is_by_row: bool,
) -> int | None:
    """The number that `per_row` makes, if a run does not have to show it."""
    if dimensions is None:
        return None
    all_ = _known_product(dimensions)
    row = _known_product(dimensions[1:])
    if rows == 1:
        return all_
    if rows is not None or is_by_row or all_ == row:
        return row
    return None


def _known_product(dimensions: Dimensions) -> int | None:
    numbers = [d for d in dimensions if d is not None]
    if len(numbers) != len(dimensions):
        return None
    return math.prod(numbers)


def _product(b: Builder, numbers: ir.Value) -> ir.Value:
    # A rank of 0 has one element: the 1 is for runtimes that reduce nothing to nothing.
    one = b.constant([1])
    factors = b("Concat", numbers, one, axis=0)
    return b("ReduceProd", factors)


def times(b: Builder, count: Count, factor: int) -> Count:
    """So many times as many."""
    if factor == 1:
        return count
    if isinstance(count, int):
        return count * factor
    return b("Mul", count, b.constant([factor]))


def rounded_up_to_even(b: Builder, count: Count) -> Count:
    """The next even number, or the number itself."""
    if isinstance(count, int):
        return count + count % 2
    is_odd = b("BitwiseAnd", count, b.constant([1]))
    return b("Add", count, is_odd)


def value(b: Builder, count: Count) -> ir.Value:
    """int64 [1]."""
    if isinstance(count, int):
        return b.constant([count])
    return count


def int64(
    b: Builder,
    shape: ir.Value,
    known: NDArray[Any] | None,
) -> ir.Value:
    """The dimensions in int64, as constants where they are known."""
    if known is not None:
        return b.constant(known, np.int64)
    return b.cast(shape, ir.DataType.INT64)
