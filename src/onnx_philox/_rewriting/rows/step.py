"""An operator of a model, as the rules of rows see it, in ONNX and in OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from onnx_philox._rewriting.places import Dimension, Dimensions, Products
from onnx_philox._rewriting.rows.known import BY_PLACE, Culprit, InPlace, Knowledge, Remedy
from onnx_philox._rewriting.rows.masks import Use
from onnx_philox._rewriting.rows.where_dimensions_go import Moves, UnclearError


@dataclass(frozen=True)
class Step:
    """An operator of a model, as the rules see it."""

    label: str
    """What messages call it."""
    names: Sequence[str]
    """What messages call its inputs; empty for those that are left out."""
    known: Sequence[Knowledge | None]
    """What is known of them; None for those that are left out."""
    dims: Sequence[Dimensions | None]
    """Their shapes."""
    made: Sequence[Dimensions | None]
    """Those of its outputs."""
    products: Products
    batch: str
    ints: Callable[[str], Sequence[int] | None]
    """An attribute that is numbers, or one number; None where it has none of this name."""
    text: Callable[[str], str | None]
    """An attribute that is a text."""
    numbers: Callable[[int], Sequence[Dimension] | None]
    """The integers that an input is, some of which may be dimensions; None where nobody knows."""
    begins_with_row: Callable[[int], bool] = lambda _: False
    """Whether the indices that an input is begin each with the number of its row."""
    are_own_indices: Callable[[int], bool] = lambda _: False
    """The same, where a batch makes what stands behind it longer, at most."""
    masks: Callable[[int, Use], bool] = lambda _, __: False
    """Whether an input without rows may leave out elements of what it meets."""
    array: Callable[[int], NDArray[Any] | None] = lambda _: None
    """The constant that an input is, or the number that it is all of; None of a large one."""
    repeated: Callable[[int], Dimension] = lambda _: None
    """The integer that each element of an input is; None where nobody knows."""
    opset: int = 0
    """The version of the operator's domain."""

    def rank(self, index: int) -> int:
        """How many dimensions an input has.

        Raises:
            UnclearError: Nobody knows.
        """
        dims = self.dims[index] if index < len(self.dims) else None
        if dims is None:
            raise self.shapeless(index)
        return len(dims)

    def shapeless(self, index: int) -> UnclearError:
        """What is said of an input whose shape must be known."""
        return UnclearError(f"has the input {self.called(index)}, whose shape nobody knows")

    def of_rows(self, index: int) -> UnclearError:
        """What is said of an input that must be the same for all rows."""
        return UnclearError(
            f"has the parameter {self.called(index)}, which depends on rows of the batch"
        )

    def called(self, index: int) -> str:
        """What messages call an input."""
        name = self.names[index] if index < len(self.names) else ""
        return repr(name) if name else f"number {index}"

    def rank_made(self, output: int = 0) -> int:
        """How many dimensions an output has.

        Raises:
            UnclearError: Nobody knows.
        """
        dims = self.made[output]
        if dims is None:
            raise UnclearError("gives a tensor whose shape nobody knows")
        return len(dims)

    def ones(self, index: int) -> list[int]:
        """The dimensions of an input that have one element."""
        return [axis for axis, d in enumerate(self.dims[index] or ()) if d == 1]

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.known) and self.known[index] is not None

    def number(self, name: str, default: int) -> int:
        """An attribute that is one integer."""
        numbers = self.ints(name)
        return numbers[0] if numbers else default

    def said(self, index: int, what: str) -> list[int]:
        """The integers that an input always is.

        Raises:
            UnclearError: Nobody knows them.
        """
        numbers = self.numbers(index)
        if numbers is None or not all(isinstance(number, int) for number in numbers):
            raise UnclearError(f"has {what} that only a run knows")
        return [number for number in numbers if isinstance(number, int)]

    def may_have_batch(self, dims: Dimensions | None) -> bool:
        """Whether a dimension is, or may be, made of the batch."""
        return dims is None or any(self.products.may_depend(d, self.batch) for d in dims)

    def may_stand(self, index: int) -> list[InPlace]:
        """Where an input may have the batch, by its shape.

        Raises:
            UnclearError: Nobody knows how many dimensions it has.
        """
        self.rank(index)
        dims = self.dims[index] or ()
        return [InPlace(axis) for axis, d in enumerate(dims) if self.may_have_batch((d,))]

    def length_along(self, dims: Dimensions | None, to: Moves, axes: Collection[int]) -> str:
        """The dimension of an input of the model that an operand has along some of an output.

        Args:
            dims: The shape of the operand.
            to: Where the output has it.
            axes: The dimensions of the output.
        """
        for axis, dimension in enumerate(dims or ()):
            end = to.of(InPlace(axis))
            is_there = isinstance(end, InPlace) and end.axis in axes
            if is_there and isinstance(dimension, str) and dimension in self.products.names:
                return dimension
        return ""

    def culprit(self, deed: str, remedy: Remedy = Remedy.ORDER) -> Culprit:
        """It, and what it does."""
        return Culprit(self.label, deed, remedy)

    def by_place(self, deed: str, index: int) -> Culprit:
        """It, and what it does by an input that depends on how many rows there are."""
        return self.culprit(f"{deed} {self.called(index)}, {BY_PLACE}", Remedy.NUMBERS)


Rule = Callable[[Step, int], Sequence[Moves | None]]
"""What an operator does to each of its inputs, given the index of an output.

It gives None for an input of whose rows the output has nothing, and `UNREAD` where it does not
depend on what the input holds, except by its own shape.
"""
