"""Where each dimension of an input comes to be in an output of an operator."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from onnx_philox._rewriting.places import Dimensions, Products
from onnx_philox._rewriting.rows.known import ConstantTotal, InPlace, Margin


class Fate(Enum):
    """What becomes of a dimension that the output has not."""

    GONE = "gone"
    """It is summed over, or its size alone is read."""
    MOVED = "moved"
    """What lies along it is cut, or put elsewhere."""


GONE, MOVED = Fate.GONE, Fate.MOVED


class UnclearError(Exception):
    """A rule does not understand a node: an attribute, an input, or a shape that is not known."""


class Moves(Protocol):
    """Where an output of an operator has what an input has."""

    def of(self, place: InPlace, /) -> InPlace | Fate:
        """Where it has the batch that stands there in the input."""

    def looks_along(self, place: InPlace, /) -> bool:
        """Whether a slice that stays in order depends on the others."""

    def reaches(self, axis: int, /) -> bool:
        """Whether the input has more than one element along a dimension of the output."""

    def asks_where(self, place: InPlace, /) -> bool:
        """Whether what becomes of a slice depends on which one it is."""

    @property
    def are_own_indices(self) -> bool:
        """Whether they pick for each row what it has alone, be they by its number."""


@dataclass(frozen=True)
class ByAxis:
    """Each dimension of the input becomes one of the output, or none."""

    to: Sequence[int | Fate]
    """For each dimension of the input, that of the output."""
    looks: Collection[int] = ()
    """The dimensions of the input that stay, and along which it looks at more than one element."""
    ones: Collection[int] = ()
    """The dimensions of the input that have one element."""
    numbered: Collection[int] = ()
    """Those along which what becomes of an element depends on its index."""
    are_own_indices: bool = False
    """See `Moves`."""
    may_be_empty: Collection[int] = ()
    """Of inputs end to end, the dimensions of the input that may have no element."""
    has_gaps: bool = False
    """Whether some elements of the output may be made of no element of the input."""
    may_say_nothing: bool = False
    """Whether some may be the same, whatever the input holds."""
    margins: Collection[Margin] | None = None
    """Where elements of the output are made of none that depends on rows.

    None where the rule does not say it.
    """
    has_zeros: bool = False
    """Whether the input may have zeros, for all rows."""
    constant_totals: Collection[ConstantTotal] | None = None
    """Which totals of the output may be the same whatever the input holds.

    None where they are those of the input.
    """
    keeps_totals: bool = False
    """Of operators element by element, whether totals that are the same stay so."""

    def of(self, place: InPlace) -> InPlace | Fate:
        """See `Moves`."""
        if place.axis >= len(self.to):
            raise UnclearError("has an input of more dimensions than are followed")
        axis = self.to[place.axis]
        if isinstance(axis, Fate):
            return axis
        if axis == place.axis:
            return place
        return InPlace(axis, place.outer, place.inner)

    def looks_along(self, place: InPlace) -> bool:
        """See `Moves`."""
        return place.axis in self.looks

    def reaches(self, axis: int) -> bool:
        """See `Moves`."""
        return any(to == axis and i not in self.ones for i, to in enumerate(self.to))

    def asks_where(self, place: InPlace) -> bool:
        """See `Moves`."""
        return place.axis in self.numbered


@dataclass(frozen=True)
class InOrder:
    """The elements stay in their order, in another shape."""

    products: Products
    batch: str
    given: Dimensions
    made: Dimensions
    are_own_indices: bool = False

    def of(self, place: InPlace) -> InPlace | Fate:
        """See `Moves`."""
        if self.keeps(place.axis):
            return place
        quotient = self.products.quotient
        before = (*self.given[: place.axis], place.outer)
        for axis, dimension in enumerate(self.made):
            outer = quotient(before, self.made[:axis])
            inner = None if outer is None else quotient((dimension,), (outer, self.batch))
            if inner is not None:
                return InPlace(axis, outer, inner)
        if None in self.given or None in self.made:
            raise UnclearError("has a shape that nobody knows before a run")
        return MOVED

    def keeps(self, axis: int) -> bool:
        """Whether a dimension, and each before it, stays as it is."""
        end = axis + 1
        return self.given[:end] == self.made[:end] and None not in self.given[:end]

    def looks_along(self, _: InPlace) -> bool:
        """See `Moves`."""
        return False

    def reaches(self, _: int) -> bool:
        """See `Moves`."""
        return True

    def asks_where(self, _: InPlace) -> bool:
        """See `Moves`."""
        return False


UNREAD = ByAxis(())
"""Of an input whose elements are not read, but its type or its size, or that says a shape."""
