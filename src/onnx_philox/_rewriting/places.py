"""Where the batch stands in a tensor: as a dimension, or as the outer factor of one.

A dimension is a number, the name of one of an input, or a product of both.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import isqrt, prod

Dimension = int | str | None
"""A number, a name, or None where neither is known."""
Dimensions = tuple[Dimension, ...]


class Products:
    """Names of dimensions, and of products of these: "16 * batch".

    Args:
        names: Those of the inputs' dimensions.

    Attributes:
        names: The same.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._factors: dict[str, tuple[int, tuple[str, ...]]] = {n: (1, (n,)) for n in self.names}
        self._places: dict[Hashable, str] = {}
        # Of which inputs' dimensions those at places are made, as far as anyone knows.
        self._made_of: dict[str, frozenset[str]] = {name: frozenset({name}) for name in self.names}
        # Those that a difference may have made negative.
        self._signed: set[str] = set()
        # Sums with a number, of which no other part may be negative.
        self._positive: set[str] = set()

    def __contains__(self, name: str | None) -> bool:
        return name in self._factors

    def at(self, place: Hashable) -> str:
        """A name for the dimension at a place in the model, of which nothing else is known.

        It tells the dimension from others, and goes out of what is divided by it.
        """
        if place not in self._places:
            names = (f"? {i}" for i in itertools.count(len(self._places)))
            name = next(name for name in names if name not in self._factors)
            self._places[place] = name
            self._factors[name] = (1, (name,))
        return self._places[place]

    def sum(self, dimensions: Sequence[Dimension]) -> Dimension:
        """The sum of dimensions; None where one is not known."""
        if None in dimensions:
            return None
        numbers = [d for d in dimensions if isinstance(d, int)]
        named = sorted(d for d in dimensions if isinstance(d, str))
        if not named or (len(named) == 1 and sum(numbers) == 0):
            return named[0] if named else sum(numbers)
        is_signed = sum(numbers) < 0 or any(map(self.may_be_negative, named))
        made = self.computed(("sum", sum(numbers), *named), named, is_signed=is_signed)
        if isinstance(made, str) and sum(numbers) > 0 and not is_signed:
            self._positive.add(made)
        return made

    def computed(
        self,
        place: Hashable,
        dimensions: Iterable[Dimension],
        *,
        is_signed: bool = False,
    ) -> Dimension:
        """A name for a dimension that is computed of others; None where one is not known.

        Args:
            place: What says how it is computed, and where unless it says of which others.
            dimensions: The others.
            is_signed: Whether it is a number that may be negative.
        """
        made = [self.made_of(dimension) for dimension in dimensions]
        known = [each for each in made if each is not None]
        if len(known) < len(made):
            return None
        name = self.at(place)
        self._made_of[name] = frozenset[str]().union(*known)
        if is_signed:
            self._signed.add(name)
        return name

    def may_be_negative(self, dimension: Dimension) -> bool:
        """Whether a number may be negative, which no dimension is, but a difference may be."""
        if isinstance(dimension, int):
            return dimension < 0
        return dimension is None or not self._signed.isdisjoint(self._factors[dimension][1])

    def made_of(self, dimension: Dimension) -> frozenset[str] | None:
        """The names of inputs' dimensions of which one is made; None where nobody knows."""
        if dimension is None:
            return None
        factors = self._factors[dimension][1] if isinstance(dimension, str) else ()
        made = [self._made_of.get(factor) for factor in factors]
        known = [each for each in made if each is not None]
        return frozenset[str]().union(*known) if len(known) == len(made) else None

    def is_computed_of(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is made of one of an input, other than as a product with it."""
        factors = self._factors[dimension][1] if isinstance(dimension, str) else ()
        return any(name in self._made_of.get(f, ()) for f in factors if f != name)

    def of_inputs(self, dimension: Dimension) -> Dimension:
        """The dimension, if it is a number or made of inputs' dimensions; else None."""
        if isinstance(dimension, str) and not self.names.issuperset(self._factors[dimension][1]):
            return None
        return dimension

    def may_depend(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension depends on one of an input, or may."""
        made = self.made_of(dimension)
        return made is None or name in made

    def has(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is a product with one of an input."""
        return self.count(dimension, name) > 0

    def count(self, dimension: Dimension, name: str) -> int:
        """How often one of an input is a factor of a dimension."""
        return self._factors[dimension][1].count(name) if isinstance(dimension, str) else 0

    def is_positive(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is greater than 0, as one of an input is that has this name.

        A sum with a number is, if nothing else in it may be negative.
        """
        if not isinstance(dimension, str):
            return isinstance(dimension, int) and dimension > 0
        number, factors = self._factors[dimension]
        return number > 0 and all(factor == name or factor in self._positive for factor in factors)

    def of(self, dimensions: Iterable[Dimension]) -> Dimension:
        """The product of dimensions; None where it is not known."""
        return self.quotient(dimensions, ())

    def quotient(self, dimensions: Iterable[Dimension], divisors: Iterable[Dimension]) -> Dimension:
        """The product of dimensions, divided by others; None where it is not known or not whole."""
        above, below = self._split(dimensions), self._split(divisors)
        if above is None or below is None or below[0] == 0 or above[0] % below[0] != 0:
            return None
        if below[1] - above[1]:
            return None
        return self._name(above[0] // below[0], sorted((above[1] - below[1]).elements()))

    def around(self, dimension: Dimension, name: str) -> list[tuple[Dimension, Dimension]]:
        """All pairs (outer, inner) for which a dimension is outer * name * inner."""
        rest = self.quotient((dimension,), (name,))
        if rest is None:
            return []
        number, names = (rest, ()) if isinstance(rest, int) else self._factors[rest]
        lesser = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
        outer_numbers = sorted({*lesser, *(number // n for n in lesser)})
        outer_names = {
            chosen
            for count in range(len(names) + 1)
            for chosen in itertools.combinations(names, count)
        }
        found: list[tuple[Dimension, Dimension]] = []
        for outer_number, chosen in itertools.product(outer_numbers, sorted(outer_names)):
            outer = self._name(outer_number, chosen)
            inner = self.quotient((rest,), (outer,))
            if inner is not None:
                found.append((outer, inner))
        return found

    def _split(self, dimensions: Iterable[Dimension]) -> tuple[int, Counter[str]] | None:
        numbers, names = [1], Counter[str]()
        for d in dimensions:
            if d is None:
                return None
            number, factors = (d, ()) if isinstance(d, int) else self._factors[d]
            numbers.append(number)
            names.update(factors)
        return prod(numbers), names

    def _name(self, number: int, names: Sequence[str]) -> Dimension:
        if number == 0 or not names:
            return number
        if number < 0:
            return None
        text = " * ".join([*([str(number)] if number != 1 else []), *names])
        # An input's dimension may have such a name, too.
        meant = (number, tuple(names))
        return text if self._factors.setdefault(text, meant) == meant else None


@dataclass(frozen=True)
class Place:
    """Where the batch stands in a draw.

    The operators draw [batch, ...]. So row i of a draw is what a batch of that row alone draws into
    its tensor, where the dimension is 1, wherever it stands.

    Attributes:
        axis: The dimension.
        rank: How many there are.
        is_factor: Whether the batch is only the outer factor of it: a Reshape has made it of
            [batch, k].
    """

    axis: int = 0
    rank: int = 1
    is_factor: bool = False

    @property
    def is_first(self) -> bool:
        """Whether the operators draw so."""
        return not self.axis and not self.is_factor

    @property
    def order(self) -> list[int]:
        """The dimensions with the batch first, once it is one of its own."""
        others = range(self.rank + self.is_factor)
        return [self.axis, *(axis for axis in others if axis != self.axis)]

    @property
    def back(self) -> list[int]:
        """The way back from that order."""
        return [self.order.index(axis) for axis in range(len(self.order))]


def called(input: str, axis: int) -> str:
    """A dimension of an input, as `batch` names it: the input alone for the first one."""
    return f"{input}:{axis}" if axis else input


def written_place(input: str, axis: int) -> str:
    """A dimension of an input, as messages say it."""
    return f"{f'dimension {axis}' if axis else 'the first'} of the input {input!r}"


def saying(name: str) -> str:
    """How to say that a dimension is the batch, in Python and to the command."""
    return f"batch={name!r} (--batch {name})"
