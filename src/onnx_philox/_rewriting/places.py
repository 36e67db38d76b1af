"""Where the batch stands in a tensor: as a dimension, or as the outer factor of one.

A dimension is a number, the name of one of an input, or a product of both.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

Dimension = int | str | None
"""A number, a name, or None where neither is known."""
Dimensions = tuple[Dimension, ...]


@dataclass(frozen=True)
class _Product:
    """What a dimension is: a number times the dimensions of these names, in order."""

    number: int
    names: tuple[str, ...] = ()


class Products:
    """Names of dimensions, and of products of these: "16 * batch".

    Args:
        names: Those of the inputs' dimensions.

    Attributes:
        names: The same.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._products = {name: _Product(1, (name,)) for name in self.names}
        self._places: dict[Hashable, str] = {}
        # Of the name of a sum, the names that it is made of.
        self._of_sums: dict[str, frozenset[str]] = {}

    def __contains__(self, name: str | None) -> bool:
        return name in self._products

    def at(self, place: Hashable) -> str:
        """A name for the dimension at a place in the model, of which nothing else is known.

        It tells the dimension from others, and goes out of what is divided by it.
        """
        if place not in self._places:
            names = (f"? {i}" for i in itertools.count(len(self._places)))
            name = next(name for name in names if name not in self._products)
            self._places[place] = name
            self._products[name] = _Product(1, (name,))
        return self._places[place]

    def sum(self, dimensions: Sequence[Dimension]) -> Dimension:
        """The sum of dimensions; None where one is not known."""
        if None in dimensions:
            return None
        number = sum(d for d in dimensions if isinstance(d, int))
        named = sorted(d for d in dimensions if isinstance(d, str))
        if not named:
            return number
        if len(named) == 1 and number == 0:
            return named[0]
        name = self.at(("sum", number, *named))
        made = set[str]()
        for each in named:
            for factor in self._names_in(each):
                made |= self._of_sums.get(factor, {factor})
        self._of_sums[name] = frozenset(made)
        return name

    def is_sum_with(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is made of a sum with one of an input."""
        return any(name in self._of_sums.get(factor, ()) for factor in self._names_in(dimension))

    def of_inputs(self, dimension: Dimension) -> Dimension:
        """The dimension, if it is a number or made of inputs' dimensions; else None."""
        if self.names.issuperset(self._names_in(dimension)):
            return dimension
        return None

    def may_depend(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension depends on one of an input, or may."""
        if self.of_inputs(dimension) is None:
            return True
        return self.has(dimension, name)

    def has(self, dimension: Dimension, name: str) -> bool:
        """Whether a dimension is a product with one of an input."""
        return self.count(dimension, name) > 0

    def count(self, dimension: Dimension, name: str) -> int:
        """How often one of an input is a factor of a dimension."""
        return self._names_in(dimension).count(name)

    def of(self, dimensions: Iterable[Dimension]) -> Dimension:
        """The product of dimensions; None where it is not known."""
        return self.quotient(dimensions, ())

    def quotient(self, dimensions: Iterable[Dimension], divisors: Iterable[Dimension]) -> Dimension:
        """The product of dimensions, divided by others; None where it is not known or not whole."""
        above = self._multiplied(dimensions)
        below = self._multiplied(divisors)
        if above is None or below is None or below.number == 0:
            return None
        if above.number % below.number != 0:
            return None
        left = Counter(above.names)
        left.subtract(below.names)
        if any(times < 0 for times in left.values()):
            # A name stands only below.
            return None
        names = tuple(sorted(left.elements()))
        return self._name(_Product(above.number // below.number, names))

    def _multiplied(self, dimensions: Iterable[Dimension]) -> _Product | None:
        number = 1
        names: list[str] = []
        for dimension in dimensions:
            if dimension is None:
                return None
            number *= dimension if isinstance(dimension, int) else self._products[dimension].number
            names += self._names_in(dimension)
        return _Product(number, tuple(names))

    def _names_in(self, dimension: Dimension) -> tuple[str, ...]:
        """The names whose product a dimension is; none of a number, or where nothing is known."""
        return self._products[dimension].names if isinstance(dimension, str) else ()

    def _name(self, product: _Product) -> Dimension:
        if product.number == 0 or not product.names:
            return product.number
        if product.number < 0:
            return None
        text = " * ".join(product.names)
        if product.number != 1:
            text = f"{product.number} * {text}"
        # An input's dimension may have such a name, too.
        meant = self._products.setdefault(text, product)
        return text if meant == product else None


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
