"""What is known of a value of a model: where the rows of the batch are in it, and whose they are.

As in the batching rules of JAX's and torch's vmap, a value either has no batch, or has it in some
dimension. Here a third thing may be known: that the rows are in another order, or that nobody knows
it, and which operator is to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

from onnx_philox._rewriting.places import Dimension, Dimensions, Products


@dataclass(frozen=True)
class InPlace:
    """Slice i of a dimension, or of a factor of one, belongs to row i, whatever else it looks at.

    The dimension is [outer * batch * inner], as a Reshape of [outer, batch, inner] makes it.
    """

    axis: int
    outer: Dimension = 1
    """None where nobody knows which factor it is."""
    inner: Dimension = 1

    @property
    def is_anywhere(self) -> bool:
        """Whether nobody knows which factor of the dimension it is."""
        return self.outer is None


class Rows(IntEnum):
    """Whether a value depends on what the model's inputs hold for the rows of the batch."""

    NONE = 0
    MAYBE = 1
    """By one way through the model, but not by another; or where to look, but not what is there."""
    PART = 2
    """Some elements do, beside others that do not."""
    GAPS = 3
    """Each element does, or is a constant, as the zeros that a Pad puts around a row."""
    SURE = 4


class Remedy(Enum):
    """What may be done outside of a model about a culprit in it."""

    ORDER = "Put the rows into another order outside of the model (sort on the host)"
    NUMBERS = "Make these numbers an input of the model"
    LENGTH = "Make this dimension of the input 1, or give it the batch's name"
    SIZE = "Make this size a constant, or that of an input"


@dataclass(frozen=True)
class Culprit:
    """The operator that put rows into another order, or of which nobody knows what it does."""

    operator: str
    """Its name and its kind."""
    deed: str
    """What it does."""
    remedy: Remedy = Remedy.ORDER

    def __str__(self) -> str:
        return f"{self.operator} {self.deed}"


@dataclass(frozen=True)
class Margin:
    """The ends of a dimension."""

    axis: int
    before: int
    """How many elements, from the first on."""
    after: int
    """How many elements, up to the last."""
    is_around: bool = False
    """Whether there always is an element between them."""


class Total(Enum):
    """What may be the same for all elements along a dimension, whatever they are."""

    SUM = "their sum"
    EXPONENTIALS = "the sum of their exponentials"
    SQUARES = "the sum of their squares"
    EXTREMES = "the least, the greatest, and the product of them"


@dataclass(frozen=True)
class ConstantTotal:
    """A total along a dimension that may be the same whatever the rows hold."""

    axis: int
    total: Total


@dataclass(frozen=True)
class Knowledge:
    """What is known of a value.

    A value of which nothing is said has no batch: it depends on no row. One that depends on rows,
    but has no place and no culprit, looks at all rows at once, as a mean over the batch does.
    """

    places: frozenset[InPlace] = frozenset()
    """Where it has the batch: each of them is true."""
    rows: Rows = Rows.NONE
    noise: frozenset[Hashable] = frozenset()
    """The draws in it that have met no value yet which depends on rows of the inputs."""
    lost: Culprit | None = None
    """What put its rows out of order; None where it is known where they are."""
    resized: Culprit | None = None
    """What may have made a dimension of unknown size depend on the batch."""
    is_of_batch: bool = False
    """Whether it may be another one for another batch, be it by the number of rows alone."""
    is_alike: bool = False
    """Whether a batch makes it longer and nothing else: each row has there what it has alone."""
    stands: frozenset[InPlace] = frozenset()
    """Of one that is alike, where a batch makes it longer, beside its places: each of them is true.

    Along a dimension that is made of one element all are. Empty where nobody knows its shape.
    """
    lines: frozenset[int] = frozenset()
    """Where some elements depend on rows, the dimensions along which each line has one."""
    margins: frozenset[Margin] = frozenset()
    """The same, where all do that are in none of these; empty where nobody knows."""
    is_masked: bool = False
    """Whether some elements may be zeros, or a Softmax may make zeros of them, for all rows."""
    constant_totals: frozenset[ConstantTotal] = frozenset()
    """Such as the sum of what a Softmax gives, which is 1."""

    @property
    def is_placed(self) -> bool:
        """Whether it has rows, in order or not."""
        return bool(self.places or self.lost or self.noise)

    @property
    def is_free(self) -> bool:
        """Whether it depends on no row."""
        return not self.is_placed and self.rows is Rows.NONE

    def counted(self) -> Knowledge:
        """The same of what the number of rows may make another one."""
        # The number of rows may then be what stands in a gap.
        rows = Rows.PART if self.rows is Rows.GAPS else self.rows
        none = frozenset[InPlace]()
        return replace(self, rows=rows, is_of_batch=True, is_alike=False, stands=none)

    @property
    def is_by_place(self) -> bool:
        """Whether it may depend on how many rows there are, or on which of them a row is.

        What depends on the inputs' rows, and has them in place, may depend on other rows as well.
        """
        return self.is_of_batch and not self.is_alike and not self.is_of_rows

    @property
    def is_of_rows(self) -> bool:
        """Whether it has the inputs' rows in place, and all else in it is constants."""
        return bool(self.places) and self.rows >= Rows.GAPS


BY_PLACE = "numbers that depend on how many rows there are, or on their order"
"""What messages call numbers of which `Knowledge.is_by_place` is true."""
OF_PLACES = "which has no batch, but may hold a number for each of several rows"
"""The same of numbers that stand along the batch, and are no row's own."""
RESIZES = "makes a dimension that may be as long as the number of rows says"
"""What messages say of an operator that makes `Knowledge.resized`."""
RESIZES_BY_VALUES = "makes a dimension that may be as long as {} says, which depends on all rows"
"""The same, where an input says it by what it holds."""
FREE = Knowledge()
"""What is known of a constant."""
IN_ROWS = Knowledge(frozenset({InPlace(0)}), Rows.MAYBE, is_of_batch=True, is_alike=True)
"""What is known of the numbers that states for each row make."""


class RowsMeetError(Exception):
    """Draws are out of order, or mixed, before they meet rows of the inputs.

    Args:
        noise: The draws.
        culprit: What has done it.
    """

    def __init__(self, noise: Iterable[Hashable], culprit: Culprit) -> None:
        super().__init__(str(culprit))
        self.noise = frozenset(noise)
        self.culprit = culprit


def lost(culprit: Culprit, values: Iterable[Knowledge]) -> Knowledge:
    """What is known of a value that an operator makes of others, whose order it does not keep.

    Raises:
        RowsMeetError: There are draws among them.
    """
    given = list(values)
    noise = frozenset[Hashable]().union(*(value.noise for value in given))
    if noise:
        raise RowsMeetError(noise, culprit)
    rows = max((value.rows for value in given), default=Rows.NONE)
    return Knowledge(rows=rows, lost=culprit, resized=culprit, is_of_batch=True)


def each_own(known: Knowledge, culprit: Culprit) -> Knowledge:
    """The same knowledge, of a value in which what is drawn for a row is still the row's own.

    Args:
        known: What is known of the value.
        culprit: What makes it.

    Raises:
        RowsMeetError: What was drawn, and has met no rows, depends on how many rows there are.
    """
    if known.noise and known.is_by_place:
        raise RowsMeetError(known.noise, culprit)
    return known


def either(values: Iterable[Knowledge], culprit: Culprit) -> Knowledge:
    """What is known of a value that is one of some, as a run decides.

    Raises:
        RowsMeetError: The rows are in another place in some, and there are draws among them.
    """
    given = list(values)
    if all(value == given[0] for value in given):
        return given[0]
    resized = next((value.resized for value in given if value.resized), None)
    is_of_batch = any(value.is_of_batch for value in given)
    is_alike = are_alike(given)
    blamed = next((value.lost for value in given if value.lost), None)
    if blamed is not None:
        return lost(blamed, given)
    placed = [value.places for value in given if value.places]
    places = frozenset[InPlace]()
    if placed:
        places = placed[0].intersection(*placed[1:])
        if not places:
            return lost(culprit, given)
    rows = Rows.MAYBE
    if all(value.rows is Rows.SURE for value in given):
        rows = Rows.SURE
    elif all(value.rows >= Rows.GAPS for value in given):
        rows = Rows.GAPS
    elif all(value.rows is Rows.NONE for value in given):
        rows = Rows.NONE
    noise = frozenset[Hashable]().union(*(value.noise for value in given))
    stands = common_places(value.stands for value in given)
    if stands is None:
        is_alike = False
        stands = frozenset()
    return Knowledge(
        places,
        rows,
        noise,
        resized=resized,
        is_of_batch=is_of_batch,
        is_alike=is_alike,
        stands=stands,
        is_masked=any(value.is_masked for value in given),
        constant_totals=frozenset[ConstantTotal]().union(
            *(value.constant_totals for value in given)
        ),
    )


def common_places(values: Iterable[Collection[InPlace]]) -> frozenset[InPlace] | None:
    """The places that values agree on, dimension by dimension; None where two of them do not.

    Args:
        values: The places of each, of which each is true; it may have none along a dimension.
    """
    common: dict[int, frozenset[InPlace]] = {}
    for places in values:
        for axis in {place.axis for place in places}:
            own = frozenset(place for place in places if place.axis == axis)
            before = common.get(axis, own)
            if any(place.is_anywhere for place in own):
                common[axis] = before
            elif any(place.is_anywhere for place in before):
                common[axis] = own
            else:
                common[axis] = before & own
    if not all(common.values()):
        return None
    return frozenset[InPlace]().union(*common.values())


def counted(
    known: Knowledge,
    made: Dimensions | None,
    before: Iterable[Dimensions | None],
    products: Products,
    label: str,
    *,
    says_sizes: bool = False,
) -> Knowledge:
    """What is known of a value, where the batch says which branch gives it, or how often a body.

    The batch may say as well how long those dimensions are that no value of before has, but for
    those in which the value has its rows.

    Args:
        known: What is known of it without that.
        made: Its shape.
        before: Those of the values of which it is one, or of which it is made.
        products: The names of dimensions.
        label: What messages call the node that gives it.
        says_sizes: Whether it may be numbers of which nobody knows from which sizes they are made.
    """
    same = {d for dims in before for d in dims or () if d is not None}
    along = {place.axis for place in known.places}
    is_known = made is not None and all(
        axis in along or d in same or products.made_of(d) is not None for axis, d in enumerate(made)
    )
    if known.resized is None and (says_sizes or not is_known):
        known = replace(known, resized=Culprit(label, RESIZES, Remedy.SIZE))
    return known.counted()


def of_several_sizes(
    known: Knowledge,
    made: Dimensions | None,
    before: Iterable[Dimensions | None],
    products: Products,
    batch: str,
    label: str,
) -> Knowledge:
    """What is known of a value that is one of some, which may have other sizes.

    Args:
        known: What is known of it without that.
        made: Its shape.
        before: Those of the values of which it is one.
        products: The names of dimensions.
        batch: That of the batch.
        label: What messages call the node that gives it.
    """
    along = {place.axis for place in known.places}
    of_batch = {
        axis
        for dims in before
        for axis, d in enumerate(dims or ())
        if batch in (products.made_of(d) or ())
    }
    unknown = of_batch
    if made is not None:
        unknown = {axis for axis, d in enumerate(made) if products.made_of(d) is None}
    if known.resized is not None or not (of_batch & unknown) - along:
        return known
    return replace(known, resized=Culprit(label, RESIZES, Remedy.SIZE))


def are_alike(values: Iterable[Knowledge]) -> bool:
    """Whether a batch makes each of some values longer, at most."""
    return all(value.is_alike or not value.is_of_batch for value in values)


def slices_of(
    known: Knowledge,
    rank: int,
    axis: int,
    culprit: Culprit,
) -> Knowledge:
    """What is known of each slice of a value along a dimension, which the slices do not have.

    Args:
        known: What is known of the value.
        rank: How many dimensions it has; 0 where nobody knows.
        axis: The dimension.
        culprit: What takes the slices.

    Raises:
        RowsMeetError: They are slices of rows, and there are draws among them.
    """
    if not known.places and not known.stands:
        return known
    if axis < 0 and not rank:
        # Nobody knows which dimension that is.
        return lost(culprit, [known]) if known.places else known.counted()
    along = axis % rank if rank else axis
    if any(place.axis == along for place in known.places):
        return lost(culprit, [known])
    if any(place.axis == along for place in known.stands):
        known = known.counted()
    # A slice has no total along the dimension that it has not.
    totals = frozenset(each for each in known.constant_totals if each.axis != along)
    known = replace(known, constant_totals=totals)
    return _with_axes(known, lambda axis: axis - 1 if axis > along else axis)


def stacked_along(known: Knowledge, rank: int, axis: int) -> Knowledge:
    """What is known of several such values along a new dimension.

    Args:
        known: What is known of each.
        rank: How many dimensions each has.
        axis: The new dimension.
    """
    along = axis if axis >= 0 else axis + 1 + rank
    return _with_axes(known, lambda axis: axis + 1 if axis >= along else axis)


def _with_axes(known: Knowledge, number: Callable[[int], int]) -> Knowledge:
    """The same knowledge, of a value whose dimensions have other numbers."""
    places = frozenset(replace(place, axis=number(place.axis)) for place in known.places)
    stands = frozenset(replace(place, axis=number(place.axis)) for place in known.stands)
    totals = {replace(each, axis=number(each.axis)) for each in known.constant_totals}
    empty = frozenset[Margin]()
    return replace(
        known,
        places=places,
        stands=stands,
        lines=frozenset(),
        margins=empty,
        constant_totals=frozenset(totals),
    )
