"""What classes of operators do to the dimensions of their inputs, in ONNX and in OpenVINO.

Each function makes a rule, or is one: see `moves.Rule`. What differs between the formats, such as
where the axes are said, is a function of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows.known import RowsMeetError
from onnx_philox._rewriting.rows.meetings import MEETINGS, Meeting
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    UNREAD,
    ByAxis,
    Fate,
    InOrder,
    Moves,
    UnclearError,
)

Axes = Callable[[Step], Collection[int]]
"""Which dimensions of its first input an operator means, from 0 on."""
INT64_MAX = 2**63 - 1
_LARGE = 2**31 - 1
"""What exporters write for the end of a dimension is this or more."""


def axis_of(step: Step, axis: int, index: int = 0) -> int:
    """An axis from 0 on, of an input."""
    rank = step.rank(index)
    if axis not in range(-rank, rank):
        raise UnclearError("means a dimension that its input has not")
    return axis % rank


def axis_said(default: int | None = None, name: str = "axis") -> Axes:
    """The dimension that an attribute says."""

    def axes(step: Step) -> Collection[int]:
        said = step.ints(name)
        if said is None and default is None:
            raise UnclearError(f"has no attribute {name!r}")
        axis = said[0] if said else default
        return [axis_of(step, axis or 0)]

    return axes


def axis_given(index: int) -> Axes:
    """The dimensions that an input says."""
    return lambda step: [axis_of(step, axis) for axis in step.said(index, "axes")]


def from_axis(default: int, name: str = "axis") -> Axes:
    """The dimension that an attribute says, and all behind it."""

    def axes(step: Step) -> Collection[int]:
        return range(axis_of(step, step.number(name, default)), step.rank(0))

    return axes


def last_axis(step: Step) -> Collection[int]:
    """The last dimension."""
    return [step.rank(0) - 1]


def spatial_axes(step: Step) -> Collection[int]:
    """All dimensions behind the second."""
    return range(2, step.rank(0))


def behind_first(step: Step) -> Collection[int]:
    """All dimensions behind the first."""
    return range(1, step.rank(0))


def count_made(step: Step) -> int:
    """How many outputs there are."""
    return len(step.made)


def no_axes(_: Step) -> Collection[int]:
    """None of them."""
    return ()


def all_axes(step: Step) -> Collection[int]:
    """All of them."""
    return range(step.rank(0))


def aligned(step: Step, index: int, rank: int) -> Moves:
    """Of an input that is broadcast to so many dimensions."""
    own = step.rank(index)
    return ByAxis(range(rank - own, rank), ones=step.ones(index))


def kept(step: Step, index: int = 0, looks: Collection[int] = ()) -> Moves:
    """Of an input whose dimensions all stay."""
    return ByAxis(range(step.rank(index)), looks, step.ones(index))


def gone(step: Step, index: int) -> Moves:
    """Of an input that is read for all elements."""
    return ByAxis([GONE] * step.rank(index))


def others_free(step: Step, count: int) -> list[None]:
    """Inputs behind so many, which may depend on no row."""
    for index in range(count, len(step.known)):
        known = step.known[index]
        if known is not None and known.is_placed:
            raise step.of_rows(index)
    return [None] * max(len(step.known) - count, 0)


def elementwise(step: Step, _: int) -> Sequence[Moves | None]:
    """Each element of the output is made of one of each input, which are broadcast."""
    there = [i for i in range(len(step.known)) if step.has(i)]
    rank = max(step.rank(i) for i in there)
    return [aligned(step, i, rank) if step.has(i) else None for i in range(len(step.known))]


def compared(step: Step, output: int) -> Sequence[Moves | None]:
    """A comparison: of a uniform with a probability it is a Bernoulli of this parameter.

    Raises:
        RowsMeetError: The probability depends on how many rows there are, or on their order.
    """
    there = [known for known in step.known if known is not None]
    noise = frozenset[Hashable]().union(*(known.noise for known in there))
    for index, known in enumerate(step.known):
        if noise and known is not None and known.is_by_place:
            raise RowsMeetError(noise, step.by_place("compares them with", index))
    return elementwise(step, output)


def of_each(step: Step, _: int) -> Sequence[Moves | None]:
    """Each element of the output is made of one of the first input, by parameters for all."""
    return [kept(step), *others_free(step, 1)]


def looking(axes: Axes) -> Rule:
    """All dimensions stay, but some are looked along, as by a Softmax."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        return [kept(step, 0, axes(step)), *others_free(step, 1)]

    return rule


def normalised(axes: Axes, channel: int | None) -> Rule:
    """As `looking`, with a scale and a bias: of a dimension, or broadcast to the input."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        rank, looks = step.rank(0), axes(step)
        if output and channel is not None:
            of_data = ByAxis([0 if axis == channel else GONE for axis in range(rank)])
            # The mean and the variance of before, in which those of the data are mixed.
            before = [ByAxis([0]) for _ in step.known[3:]]
            return [of_data, UNREAD, UNREAD, *before]
        if output:
            statistics = ByAxis([GONE if axis in looks else axis for axis in range(rank)])
            # No scale or bias is in them.
            return [statistics, *[UNREAD] * (len(step.known) - 1)]
        moves: list[Moves | None] = [kept(step, 0, looks)]
        for index in range(1, len(step.known)):
            if not step.has(index):
                moves.append(None)
            elif channel is None:
                moves.append(aligned(step, index, rank))
            else:
                moves.append(ByAxis([channel] * step.rank(index)))
        return moves

    return rule


def reduced(axes: Axes, keeps: Callable[[Step], bool]) -> Rule:
    """Some dimensions are gone, or have one element."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        along, rank = axes(step), step.rank(0)
        to: list[int | Fate] = []
        for axis in range(rank):
            before = sum(1 for other in along if other < axis and not keeps(step))
            to.append(GONE if axis in along else axis - before)
        return [ByAxis(to), *others_free(step, 1)]

    return rule


def cut(axes: Axes) -> Rule:
    """All dimensions stay in order but some: a sort, a slice, a split."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        along = axes(step)
        to: list[int | Fate] = [MOVED if a in along else a for a in range(step.rank(0))]
        return [ByAxis(to), *others_free(step, 1)]

    return rule


def cut_by_bounds(cuts: Callable[[Step], Mapping[int, bool]]) -> Rule:
    """Some dimensions are cut: the function says which, and whether always at the same places."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        found = cuts(step)
        data, *bounds = cut(lambda _: found)(step, output)
        # Else they hold at most the size of a whole dimension.
        return [data, *[UNREAD] * len(bounds)] if all(found.values()) else [data, *bounds]

    return rule


def turned(order: Callable[[Step], Sequence[int] | None]) -> Rule:
    """The dimensions of the input in another order; none means the other way round."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        rank = step.rank(0)
        axes = list(order(step) or range(rank)[::-1])
        if sorted(axes) != list(range(rank)):
            raise UnclearError("has another order than one of its dimensions")
        return [ByAxis([axes.index(axis) for axis in range(rank)], ones=step.ones(0))]

    return rule


def in_order(step: Step, output: int) -> Sequence[Moves | None]:
    """The elements in order, in the shape of the output: a Reshape."""
    given, made = step.dims[0], step.made[output]
    if given is None or made is None:
        raise UnclearError("has a shape that nobody knows before a run")
    return [InOrder(step.products, step.batch, given, made), UNREAD]


def squeezed(axes: Callable[[Step], Sequence[int] | None]) -> Rule:
    """Some dimensions of one element are left out; where nobody says which, by the shape."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        said = axes(step)
        if said is not None and not said:
            # ONNX Runtime leaves out all of one element, and ONNX's inference of shapes none.
            raise UnclearError("says no axes, and which dimensions a runtime then leaves out")
        if said is None:
            return in_order(step, output)
        rank = step.rank(0)
        out = {axis_of(step, axis) for axis in said}
        left = [axis for axis in range(rank) if axis not in out]
        return [ByAxis([left.index(a) if a in left else GONE for a in range(rank)])]

    return rule


def unsqueezed(axes: Callable[[Step], Sequence[int]]) -> Rule:
    """There are new dimensions of one element."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        said = axes(step)
        rank = step.rank(0) + len(said)
        new = {axis % rank for axis in said}
        return [ByAxis([axis for axis in range(rank) if axis not in new], ones=step.ones(0))]

    return rule


def joined(axes: Axes, *, is_new: bool = False) -> Rule:
    """Inputs end to end, or as a new dimension."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        (along,) = axes(step)
        there = [i for i in range(len(step.known)) if step.has(i)]
        moves: list[Moves | None] = []
        for index in range(len(step.known)):
            if index not in there:
                moves.append(None)
                continue
            ranks = range(step.rank(index))
            if is_new:
                to: list[int | Fate] = [axis if axis < along else axis + 1 for axis in ranks]
            else:
                is_cut = len(there) > 1
                to = [MOVED if axis == along and is_cut else axis for axis in ranks]
            sizes = enumerate(step.dims[index] or ())
            empty = [axis for axis, size in sizes if not isinstance(size, int) or size < 1]
            moves.append(ByAxis(to, may_be_empty=empty))
        return moves

    return rule


def split(axes: Axes, count: Callable[[Step], int]) -> Rule:
    """The input in parts."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        along = axes(step) if count(step) > 1 else ()
        return cut(lambda _: along)(step, output)

    return rule


def tiled(repeats: Callable[[Step], Sequence[Dimension]]) -> Rule:
    """The input several times along each dimension: a dimension of one element is repeated."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        times, ones = repeats(step), step.ones(0)
        to: list[int | Fate] = [MOVED if n != 1 else axis for axis, n in enumerate(times)]
        of_ones = all(isinstance(n, int) or axis in ones for axis, n in enumerate(times))
        to = [axis if axis in ones else to[axis] for axis in range(step.rank(0))]
        return [ByAxis(to, ones=ones), UNREAD if of_ones else None]

    return rule


def is_whole(start: Dimension, end: Dimension, step: int, size: Dimension) -> bool:
    """Whether a slice takes all of a dimension, in order."""
    if start != 0 or step != 1:
        return False
    if isinstance(end, int):
        return end >= _LARGE or (isinstance(size, int) and end >= size)
    return end is not None and end == size


def multiplied(turns: Callable[[Step], tuple[bool, bool]]) -> Rule:
    """A product of matrices, each of which may be transposed first."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        own = step.rank(0), step.rank(1)
        rank = max(*own, 2)
        are_turned = turns(step)
        rows = rank - 2
        # A vector on the left has no rows.
        columns = rank - 1 if own[0] > 1 else rank - 2
        left: list[int | Fate] = [rows, GONE]
        right: list[int | Fate] = [GONE, columns]
        moves: list[Moves | None] = []
        for index, matrix in enumerate((left, right)):
            to: list[int | Fate] = [GONE]
            if own[index] > 1:
                last_two = matrix[::-1] if are_turned[index] else matrix
                to = [*range(rank - own[index], rank - 2), *last_two]
            moves.append(ByAxis(to, ones=step.ones(index)))
        return [*moves, *others_free(step, 2)]

    return rule


def of_equation(step: Step, _: int) -> Sequence[Moves | None]:
    """An Einsum."""
    equation = (step.text("equation") or "").replace(" ", "")
    if not equation or "." in equation:
        raise UnclearError("has an equation that is not followed")
    terms, arrow, made = equation.partition("->")
    inputs = terms.split(",")
    if not arrow:
        letters = "".join(inputs)
        made = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    moves: list[Moves | None] = []
    for index, term in enumerate(inputs):
        if len(term) != step.rank(index) or len(set(term)) != len(term):
            raise UnclearError("has an equation that is not followed")
        to: list[int | Fate] = [made.index(c) if c in made else GONE for c in term]
        moves.append(ByAxis(to, ones=step.ones(index)))
    return moves


def convolved(step: Step, _: int) -> Sequence[Moves | None]:
    """A convolution: windows of all dimensions behind the second, all channels or a group."""
    spatial = step.rank(0) - 2
    channels = GONE if step.number("group", 1) == 1 else MOVED
    data: list[int | Fate] = [0, channels, *[MOVED] * spatial]
    weights: list[int | Fate] = [MOVED] * step.rank(1)
    return [ByAxis(data), ByAxis(weights), *others_free(step, 2)]


def pooled(step: Step, output: int) -> Sequence[Moves | None]:
    """Windows of all dimensions behind the second, each channel by itself.

    The second output says where in the whole tensor an element is from.
    """
    rank = step.rank(0)
    to: list[int | Fate] = [0, 1, *[MOVED] * (rank - 2)]
    numbered = range(rank) if output else ()
    return [ByAxis(to, numbered=numbered), *others_free(step, 1)]


def resized(scales: Callable[[Step], Sequence[bool]], sizes_at: int | None = None) -> Rule:
    """Some dimensions are made longer or shorter; the function says which stay as they are.

    The input `sizes_at` may say the size of each dimension.
    """

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        same = scales(step)
        rank = step.rank(0)
        if len(same) != rank:
            raise UnclearError("has other scales than one for each dimension")
        to: list[int | Fate] = [axis if same[axis] else MOVED for axis in range(rank)]
        others = others_free(step, 1)
        sizes = None if sizes_at is None else step.numbers(sizes_at)
        if sizes is not None and len(sizes) == rank:
            pairs = zip(sizes, same, strict=True)
            if all(is_same or isinstance(size, int) for size, is_same in pairs):
                # What else it says is the size of a dimension that stays.
                return [ByAxis(to), *[UNREAD] * len(others)]
        return [ByAxis(to), *others]

    return rule


def first_stays(*having: int, least_rank: int = 1) -> Rule:
    """The first dimension of some inputs is that of the output; nothing is known of the others.

    Args:
        having: The inputs; no other one may depend on a row.
        least_rank: An input of fewer dimensions has no batch, and is not followed.
    """

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        moves: list[Moves | None] = []
        for index, known in enumerate(step.known):
            if index not in having or known is None:
                if known is not None and known.is_placed:
                    raise step.of_rows(index)
                moves.append(None)
                continue
            rank = step.rank(index)
            if rank < least_rank:
                raise UnclearError("has an input without a dimension for the batch")
            rest: list[int | Fate] = [MOVED] * (rank - 1)
            moves.append(ByAxis([0, *rest][:rank], ones=step.ones(index)))
        return moves

    return rule


def by_table(*tables: Sequence[Sequence[int | Fate] | None]) -> Rule:
    """For each output, where it has the dimensions of each input."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        table = tables[min(output, len(tables) - 1)]
        moves: list[Moves | None] = []
        for index, known in enumerate(step.known):
            to = table[index] if index < len(table) else None
            if to is None or known is None:
                moves.append(None)
            elif len(to) != step.rank(index):
                raise UnclearError("has an input of another rank than its operator says")
            else:
                moves.append(ByAxis(to, ones=step.ones(index)))
            if to is None and known is not None and known.is_placed:
                raise step.of_rows(index)
        return moves

    return rule


def size_alone(step: Step, _: int) -> Sequence[Moves | None]:
    """Nothing but the sizes of the inputs is read, which are what it gives, or say it."""
    return [None] * len(step.known)


def shape_alone(step: Step, _: int) -> Sequence[Moves | None]:
    """Nothing but its own shape depends on the inputs."""
    return [UNREAD] * len(step.known)


def one_for_all(step: Step, _: int) -> Sequence[Moves | None]:
    """One answer for all elements of all inputs."""
    return [gone(step, i) if step.has(i) else None for i in range(len(step.known))]


def nowhere(step: Step, _: int) -> Sequence[Moves | None]:
    """It gives as many elements as the data say, in an order of its own."""
    return [ByAxis([MOVED] * step.rank(i)) if step.has(i) else None for i in range(len(step.known))]


def meeting_of(kind: str, elementwise: Collection[str]) -> Meeting:
    """How an operator, of ONNX or of OpenVINO, makes its output's elements of its inputs."""
    if kind in MEETINGS:
        return MEETINGS[kind]
    return Meeting.ELEMENTWISE if kind in elementwise else Meeting.OTHER
