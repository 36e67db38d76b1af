"""A difference between two laws: a sentence, and what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantile:
    """The share of an element's values up to a number, in both models."""

    up_to: float
    now: float
    was: float


@dataclass(frozen=True)
class Change:
    """What differs, where it is no value: a shape, NaN, or that runs repeat each other."""

    text: str
    """The sentence."""
    outputs: tuple[str, ...]
    """The outputs that it is about, one or two."""

    def to_json(self, known: Sequence[str], may_come_of: Sequence[str]) -> dict[str, Any]:
        """Returns what a document says of it, with the faults that explain it, or may."""
        return {
            "text": self.text,
            "outputs": [*self.outputs],
            "element": None,
            "differing": None,
            "now": None,
            "was": None,
            "quantiles": [],
            "known": [*known],
            "may_come_of": [*may_come_of],
        }


@dataclass(frozen=True)
class OfValues(Change):
    """A difference of the values of an output."""

    elements: frozenset[int] | None
    """The elements that it is about, by their numbers in the whole output; None of all."""
    place: tuple[int, ...] | None = None
    """Where the element is that differs most, if it is about elements."""
    now: float | None = None
    """The share that differs, of the model; None where it is no share."""
    was: float | None = None
    is_inverted: bool = False
    """Whether the output may be the original's with 0 and 1 swapped, as far as tests say."""
    quantiles: tuple[Quantile, ...] = ()
    """Those of the element that differs most, where it has many values."""

    def to_json(self, known: Sequence[str], may_come_of: Sequence[str]) -> dict[str, Any]:
        quantiles = [[each.up_to, each.now, each.was] for each in self.quantiles]
        return {
            **super().to_json(known, may_come_of),
            "element": None if self.place is None else [*self.place],
            "differing": None if self.elements is None else len(self.elements),
            "now": self.now,
            "was": self.was,
            "quantiles": quantiles,
        }


@dataclass(frozen=True)
class GoTogether(Change):
    """A difference of which values go together, of two outputs or of one."""

    now: float
    """A rank correlation, or how often both have their frequent value, or have not."""
    was: float
    elements: tuple[int | None, int | None] = (None, None)
    """The two elements that it is about; None of means, and of all places."""
    is_correlation: bool = True

    @property
    def both(self) -> tuple[str, str]:
        """The output of each of the two values."""
        return self.outputs[0], self.outputs[-1]

    def to_json(self, known: Sequence[str], may_come_of: Sequence[str]) -> dict[str, Any]:
        return {**super().to_json(known, may_come_of), "now": self.now, "was": self.was}
