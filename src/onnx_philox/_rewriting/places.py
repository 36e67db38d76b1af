"""Where the batch stands in a tensor: as a dimension, or as the outer factor of one.

A dimension is a number, the name of one of an input, or a product of both.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Generic, NamedTuple, TypeVar

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

    def of_inputs(self, dimension: Dimension) -> Dimension:
        """The dimension, if it is a number or made of inputs' dimensions; else None."""
        if isinstance(dimension, str) and not self.names.issuperset(self._factors[dimension][1]):
            return None
        return dimension

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
        return self._factors[dimension][1].count(name) if isinstance(dimension, str) else 0

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


Value = TypeVar("Value", bound=Hashable)


class MadeBy(NamedTuple, Generic[Value]):
    """What a tensor comes from."""

    kind: str
    """The operator, by either format's name; EITHER for each of the inputs by turns."""
    inputs: Sequence[Value | None]
    order: Sequence[int] = ()
    """How a Transpose turns its input; none for the other way round."""


EITHER = "If"
_IN_ORDER = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}
"""Their elements stay in order."""
_OF_FIRST = {
    *("Abs", "AvgPool", "AveragePool", "BatchNormInference", "BatchNormalization", "Cast", "Ceil"),
    *("Clamp", "Clip", "Conv", "Convert", "Convolution", "Dropout", "Elu", "Erf", "Exp", "Floor"),
    *("Gelu", "Gemm", "HardSigmoid", "HardSwish", "LayerNormalization", "LeakyRelu", "Log"),
    *("LogSoftmax", "MVN", "MatMul", "MaxPool", "Mish", "Neg", "Negative", "PRelu"),
    *("RandomDropout", "Reciprocal", "Relu", "ReLU", "Round", "Selu", "Sigmoid", "Sign", "Sin"),
    *("SoftMax", "Softmax", "SoftPlus", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh"),
}
"""They leave what stands before the last dimension of their first input where it is."""
_OF_ALL = {
    *("Add", "Div", "Divide", "Max", "Maximum", "Min", "Minimum", "Mul", "Multiply", "Pow"),
    *("Power", "Select", "Sub", "Subtract", "Where"),
}
"""They broadcast their inputs to each other."""


_Standing = tuple[Value, int, Dimension]
"""A tensor, a dimension of it, and the outer factor of that behind which the batch stands."""
_Before = list[list[_Standing[Value]]]
"""For each of the inputs that have the batch, where it may stand."""
_MIXED, _UNKNOWN, _STANDS = -1, 0, 1
"""Whether the batch stands there: a Reshape has mixed it, nothing is known, or it does."""


class BatchPlaces(Generic[Value]):
    """Finds where the batch stands in tensors of a model.

    Args:
        batch: Its name.
        products: Those of the model's dimensions.
        dimensions: The shape of a tensor, as far as it is known.
        source: What it comes from; None where that is no operator that is followed.
    """

    def __init__(
        self,
        batch: str,
        products: Products,
        dimensions: Callable[[Value], Dimensions | None],
        source: Callable[[Value], MadeBy[Value] | None],
    ) -> None:
        self._batch = batch
        self._products = products
        self._dimensions = dimensions
        self._source = source
        # Draws follow each other, so the way back from one ends at the one before.
        self._stand: dict[_Standing[Value], int] = {}

    def of(self, shape: Dimensions, like: Value | None) -> list[Place]:
        """The places in a draw, given the tensor whose shape it has: one, or the draw has no rows.

        A dimension of which the batch is a factor, and is not proved to be the outer one, is none;
        nor is one that is the batch only by its size, since a Reshape has mixed rows in it.
        """
        rank, dims = len(shape), shape
        if like is not None:
            # There a factor may be one of which nothing else is known.
            known = self._dimensions(like) or shape
            dims = tuple(e if d is None else d for d, e in zip(shape, known, strict=False))
        places = [
            Place(axis, rank, d != self._batch)
            for axis, d in enumerate(dims)
            for _ in range(self._products.count(d, self._batch))
        ]
        if len(places) != 1:
            return places
        (place,) = places
        stands = not place.is_factor if like is None else self._stands(like, place.axis)
        return places if stands else []

    def _stands(self, value: Value, axis: int) -> bool:
        """Whether a dimension is the batch, or a Reshape has made it of that and those behind."""
        start: _Standing[Value] = (value, axis, 1)
        left, found = [start], dict[_Standing[Value], _Before[Value]]()
        while left:
            each = left.pop()
            if each not in self._stand:
                known, before = self._before(*each)
                self._stand[each] = known
                if before:
                    found[each] = before
                    left += itertools.chain(*before)
        # What goes round in a Loop stands there unless something says that it does not.
        is_changed = True
        while is_changed:
            is_changed = False
            for each, before in reversed(found.items()):
                stand = [max((self._stand[b] for b in some), default=_MIXED) for some in before]
                source = self._source(each[0])
                is_least = _MIXED in stand or (source is not None and source.kind == EITHER)
                known = min(stand) if is_least else max(stand)
                if self._stand[each] != known:
                    self._stand[each], is_changed = known, True
        return self._stand[start] == _STANDS

    def _before(self, value: Value, axis: int, outer: Dimension) -> tuple[int, _Before[Value]]:
        """Whether it stands there; as far as that depends on what the value is made of, on what."""
        dims, source = self._dimensions(value), self._source(value)
        if dims is None or axis >= len(dims):
            return _UNKNOWN, []
        if source is not None and source.kind == EITHER:
            return _STANDS, [[(each, axis, outer)] for each in source.inputs if each is not None]
        before = [] if source is None else self._followed(source, dims, axis, outer)
        is_known = before or (before == [] and (dims[axis], outer) == (self._batch, 1))
        return _STANDS if is_known else _UNKNOWN, before or []

    def _followed(
        self, source: MadeBy[Value], dims: Dimensions, axis: int, outer: Dimension
    ) -> _Before[Value] | None:
        """Where the batch stood in what an operator is given, if followed; None if not known."""
        if not source.inputs or (first := source.inputs[0]) is None:
            return []
        if source.kind == "Transpose":
            order = source.order or range(len(dims))[::-1]
            return [[(first, order[axis], outer)]]
        if source.kind in _IN_ORDER:
            given = self._dimensions(first)
            if given is None:
                return []
            if not any(self._products.has(d, self._batch) for d in given):
                axes = [i for i, d in enumerate(given) if self._products.may_depend(d, self._batch)]
                return [[(first, i, outer) for i in axes]] if axes and outer == 1 else []
            found = []
            for i, d in enumerate(given):
                rest = self._products.quotient((*dims[:axis], outer), given[:i])
                if self._products.quotient((d,), (rest, self._batch)) is not None:
                    found.append((first, i, rest))
            # Of what is not known nobody can say that it is mixed.
            is_known = all(self._products.of_inputs(d) is not None for d in (*given, *dims))
            return [found] if found or is_known else None
        behind = len(dims) - 1 - axis
        is_of_all = source.kind in _OF_ALL or (source.kind == "MatMul" and behind > 1)
        aligned = source.inputs if is_of_all else [first][: source.kind in _OF_FIRST and behind > 0]
        before: _Before[Value] = []
        for each in source.inputs:
            if each is None:
                continue
            sizes = self._dimensions(each)
            if sizes is None:
                # A sequence, say, whose tensors a Reshape may have mixed.
                before.append([(each, axis, outer)])
                continue
            own = len(sizes) - 1 - behind
            if each in aligned and own >= 0 and sizes[own] != 1:
                before.append([(each, own, outer)])
            elif self._products.may_depend(dims[axis], self._batch) and outer == 1:
                # Whatever it does, a Reshape before it may have mixed the rows. It may have cut or
                # filled them, too, and then the dimension before it has no name.
                axes = [own for own, d in enumerate(sizes) if d == self._batch] or [
                    own for own, d in enumerate(sizes) if self._products.may_depend(d, self._batch)
                ]
                if axes:
                    before.append([(each, own, outer) for own in axes])
        return before
