"""How the elements of an operator's output are made of those of its inputs.

Drawn elements may stand beside rows of the inputs, as behind a Concat of both. Whether each sum of
a product has some of either depends on the dimension over which it goes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows.known import ConstantTotal, InPlace, Knowledge, Margin, Rows, Total
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    ByAxis,
    Fate,
    InOrder,
    Moves,
)


class Meeting(Enum):
    """How the elements of an output are made of those of several inputs."""

    ELEMENTWISE = "each of one of each input: here draws meet rows"
    SUMS = "each of many of each input"
    PRODUCTS = "each of many, which are one of each input, multiplied"
    SIDE_BY_SIDE = "each of one of one input"
    CHOICE = "each of one of two inputs, as the first says"
    PICKED = "each of one of the first input, at a place that others say"
    WRITTEN = "each of one of the first or of the last input, as those between them say"
    OTHER = "any other way: an input may say only where to look in another"


@dataclass(frozen=True)
class Part:
    """An input of an operator: what is known of it, and where it comes to be in an output."""

    known: Knowledge
    moves: Moves
    dims: Dimensions | None = None
    """Its shape."""


_SUMS = """
    Attention CausalConvWithState Conv ConvInteger ConvTranspose Convolution ConvolutionBackpropData
    DeformConv DeformableConvolution GRU GRUCell GRUSequence LSTM LSTMCell LSTMSequence
    LinearAttention QLinearConv RNN RNNCell RNNSequence ScaledDotProductAttention
"""
_PRODUCTS = "Einsum FusedMatMul Gemm MatMul MatMulInteger QLinearMatMul"
_PICKED = "Gather GatherElements GatherND GridSample"
_WRITTEN = "Scatter ScatterElements ScatterElementsUpdate ScatterND ScatterNDUpdate ScatterUpdate"
MEETINGS: dict[str, Meeting] = {
    **dict.fromkeys(_SUMS.split(), Meeting.SUMS),
    **dict.fromkeys(_PRODUCTS.split(), Meeting.PRODUCTS),
    "Concat": Meeting.SIDE_BY_SIDE,
    **dict.fromkeys(("Where", "Select"), Meeting.CHOICE),
    **dict.fromkeys(_PICKED.split(), Meeting.PICKED),
    **dict.fromkeys(_WRITTEN.split(), Meeting.WRITTEN),
}
"""Those of operators of ONNX and of OpenVINO, but for convolutions of groups of channels."""
BROADCAST = (Meeting.ELEMENTWISE, Meeting.CHOICE)
"""The inputs are broadcast to each other."""


def rows_of(parts: Sequence[Part], meeting: Meeting) -> Rows:
    """Whether the output depends on rows of the inputs."""
    read = [_as_read(part) for part in parts]
    rows = _rows_of_made(read, meeting)
    is_by_place = any(part.known.is_by_place for part in parts)
    if rows is Rows.GAPS and is_by_place:
        # They may say what is in a gap, or which rows have one.
        return Rows.PART
    return rows


def _as_read(part: Part) -> Part:
    """An input, with what is known of those of its elements of which an output is made."""
    known = part.known
    moves = part.moves
    are_alone = all(_keeps_alone(moves, place) for place in known.places)
    if known.rows is Rows.GAPS and not are_alone:
        # As a sum along the batch, of which a gap holds the number of rows.
        known = replace(known, rows=Rows.PART)
    if not isinstance(moves, ByAxis):
        return replace(part, known=known)
    if moves.margins is not None:
        rows = Rows.GAPS if moves.margins else Rows.SURE
        known = replace(known, rows=rows)
    elif moves.has_gaps or moves.may_say_nothing:
        is_by_number = any(map(moves.asks_where, known.places))
        most = Rows.PART if is_by_number else Rows.GAPS
        none = frozenset[Margin]()
        known = replace(known, rows=min(known.rows, most), lines=frozenset(), margins=none)
    return replace(part, known=known)


def _keeps_alone(moves: Moves, place: InPlace) -> bool:
    """Whether what becomes of a row's elements does not depend on how many rows there are."""
    if not isinstance(moves.of(place), InPlace):
        return False
    return not moves.looks_along(place) and not moves.asks_where(place)


def _rows_of_made(parts: Sequence[Part], meeting: Meeting) -> Rows:
    """The same of those elements that are made of some of the inputs'."""
    rows = max((part.known.rows for part in parts), default=Rows.NONE)
    if meeting is Meeting.SIDE_BY_SIDE:
        return _of_one_of(parts)
    if meeting is Meeting.CHOICE:
        alternatives = _alternatives(parts)
        if not alternatives:
            return rows
        return max(_of_one_of(alternatives), min(rows, Rows.MAYBE))
    if meeting is Meeting.WRITTEN:
        return max(_of_one_of([parts[0], parts[-1]]), min(rows, Rows.MAYBE))
    of_drawn = [part.known.rows for part in parts if part.known.noise]
    is_mixed = rows in (Rows.PART, Rows.GAPS)
    if not of_drawn and not is_mixed:
        return rows
    if meeting in (Meeting.SUMS, Meeting.PRODUCTS):
        return Rows.SURE if is_mixed and _is_sum_of_lines(parts) else rows
    if not of_drawn:
        return rows
    if meeting is Meeting.PICKED:
        # What says where to look may be of rows, and what is there of noise alone.
        return max(min(of_drawn), min(rows, Rows.MAYBE))
    if meeting is Meeting.OTHER:
        return max(*of_drawn, min(rows, Rows.MAYBE))
    return rows


def _of_one_of(parts: Sequence[Part]) -> Rows:
    """The same where each element is one of one of these inputs."""
    rows = max(part.known.rows for part in parts)
    if all(part.known.rows is Rows.SURE for part in parts):
        return rows
    are_gaps = all(part.known.is_free or part.known.rows >= Rows.GAPS for part in parts)
    return min(rows, Rows.GAPS if are_gaps else Rows.PART)


def _alternatives(parts: Sequence[Part]) -> Sequence[Part]:
    """The inputs of which a choice gives the elements, unless it is by rows, or drawn of them."""
    condition, *alternatives = parts
    has_noise = any(part.known.noise for part in alternatives)
    is_drawn = bool(condition.known.noise) and not has_noise
    return () if is_drawn or condition.known.rows is Rows.SURE else alternatives


def _is_sum_of_lines(parts: Sequence[Part]) -> bool:
    """Whether each sum is over whole lines of an input that have an element of the inputs' rows.

    A factor may not leave that one out, as attention does of which a mask leaves the noise alone.
    """
    for part in filter(_sums_lines, parts):
        if not any(_may_leave_out(other) for other in parts if other is not part):
            return True
    return False


def _sums_lines(part: Part) -> bool:
    """Whether it is over lines of this input."""
    margins = part.known.margins
    are_around = bool(margins) and all(each.is_around for each in margins)
    if are_around and all(_is_gone(part, each.axis) for each in margins):
        return True
    return any(_is_gone(part, axis) for axis in part.known.lines)


def _is_gone(part: Part, axis: int) -> bool:
    return part.moves.of(InPlace(axis)) is GONE


def _may_leave_out(part: Part) -> bool:
    """Whether a factor may be zero for some elements of another."""
    moves = part.moves
    has_zeros = isinstance(moves, ByAxis) and (moves.has_zeros or moves.has_gaps)
    return has_zeros or part.known.is_masked


def margins_of(
    parts: Sequence[Part],
    meeting: Meeting,
    made: Dimensions | None,
) -> frozenset[Margin]:
    """Outside of which parts of the output each element depends on rows; empty where unknown.

    Args:
        parts: The inputs.
        meeting: How the output is made of them.
        made: Its shape.
    """
    if meeting not in (Meeting.ELEMENTWISE, Meeting.OTHER):
        parts = [part for part in parts if _says_margins(part)]
    elif meeting is Meeting.OTHER:
        placed = [part for part in parts if part.known.is_placed]
        parts = placed if len(placed) == 1 else []
    kept = (_margins_kept(part, made) for part in parts)
    return next(filter(None, kept), frozenset())


def _says_margins(part: Part) -> bool:
    return isinstance(part.moves, ByAxis) and part.moves.margins is not None


def _margins_kept(part: Part, made: Dimensions | None) -> frozenset[Margin]:
    """Those of an input, as the output has them."""
    moves = part.moves
    if isinstance(moves, InOrder):
        if not all(moves.keeps(each.axis) for each in part.known.margins):
            return frozenset()
        return part.known.margins
    if not isinstance(moves, ByAxis):
        return frozenset()
    if moves.margins is not None:
        return frozenset(moves.margins)
    if moves.has_gaps or moves.may_say_nothing:
        return frozenset()
    kept = set()
    for each in part.known.margins:
        end = moves.of(InPlace(each.axis))
        if each.axis in moves.numbered or not isinstance(end, InPlace):
            return frozenset()
        # One element may be broadcast.
        if part.dims is None or made is None or part.dims[each.axis] != made[end.axis]:
            return frozenset()
        kept.add(replace(each, axis=end.axis))
    return frozenset(kept)


def is_masked(parts: Sequence[Part], meeting: Meeting) -> bool:
    """Whether some elements of the output may be zeros for all rows, or a Softmax may make them."""
    by_axis = [part.moves for part in parts if isinstance(part.moves, ByAxis)]
    if any(moves.has_gaps for moves in by_axis):
        return True
    if any(moves.has_zeros for moves in by_axis):
        return meeting is Meeting.ELEMENTWISE
    if meeting in (Meeting.SUMS, Meeting.PRODUCTS):
        return False
    # What says only where to look, or which to choose, gives no elements.
    givers = parts
    has_constants = False
    if meeting is Meeting.CHOICE:
        givers = parts[1:]
        has_constants = any(part.known.is_free for part in givers)
    elif meeting is Meeting.SIDE_BY_SIDE:
        has_constants = any(part.known.is_free for part in givers)
    elif meeting is Meeting.PICKED:
        givers = parts[:1]
    elif meeting is Meeting.WRITTEN:
        givers = [parts[0], parts[-1]]
        has_constants = any(part.known.is_free for part in givers)
    return has_constants or any(part.known.is_masked for part in givers)


def constant_totals_of(
    parts: Sequence[Part],
    meeting: Meeting,
    made: Dimensions | None,
) -> frozenset[ConstantTotal]:
    """Which totals of the output may be the same whatever the rows hold.

    Args:
        parts: The inputs.
        meeting: How the output is made of them.
        made: Its shape.
    """
    placed = [part for part in parts if part.known.is_placed]
    if len(placed) != 1 or meeting in (Meeting.SUMS, Meeting.PRODUCTS):
        return frozenset()
    (part,) = placed
    moves = part.moves
    before = part.known.constant_totals
    if isinstance(moves, ByAxis):
        if moves.constant_totals is not None:
            return frozenset(moves.constant_totals)
        if meeting is Meeting.ELEMENTWISE and not moves.keeps_totals:
            # Of elements that are always the same, in whatever order, each function gives such.
            always_same = {each.axis for each in before if each.total is Total.EXTREMES}
            before = frozenset(each for each in before if each.axis in always_same)
    totals = set[ConstantTotal]()
    for each in before:
        end = _end_of(moves, each.axis)
        if end is MOVED:
            # It may be along any.
            totals.update(replace(each, axis=axis) for axis in range(len(made or ())))
        elif isinstance(end, int):
            totals.add(replace(each, axis=end))
    return frozenset(totals)


def _end_of(moves: Moves, axis: int) -> int | Fate:
    """The dimension of the output that is one of an input."""
    if isinstance(moves, InOrder):
        return axis if moves.keeps(axis) else MOVED
    end = moves.of(InPlace(axis))
    return end.axis if isinstance(end, InPlace) else end


def lines_of(parts: Sequence[Part], meeting: Meeting) -> frozenset[int]:
    """The dimensions of the output along which each line has an element that depends on rows."""
    parts = list(map(_as_read, parts))
    if meeting is Meeting.SIDE_BY_SIDE:
        return _lines_of_joined(parts)
    if meeting is Meeting.CHOICE:
        parts = [part for part in parts[1:] if part.known.rows is not Rows.SURE]
        # Of two it may take the elements of noise alone.
        if len(parts) > 1:
            return frozenset()
    if meeting is Meeting.WRITTEN:
        return frozenset()
    if meeting in (Meeting.PICKED, Meeting.OTHER):
        placed = [part for part in parts if part.known.is_placed]
        if len(placed) > 1:
            return frozenset()
        moves = placed[0].moves
        if isinstance(moves, InOrder):
            return frozenset(filter(moves.keeps, placed[0].known.lines))
        if not _keeps_elements(moves):
            return frozenset()
    axes = [part.moves.of(InPlace(axis)) for part in parts for axis in part.known.lines]
    found = {to.axis for to in axes if isinstance(to, InPlace)}
    if meeting is Meeting.ELEMENTWISE:
        # It may be a mask of constants, that leaves the elements of rows out.
        free = [part for part in parts if not part.known.is_placed]
        found = {axis for axis in found if not any(part.moves.reaches(axis) for part in free)}
    return frozenset(found)


def _keeps_elements(moves: Moves) -> bool:
    """Whether each element of the input goes into one of the output, be it with others."""
    return (
        isinstance(moves, ByAxis)
        and not moves.numbered
        and not any(isinstance(to, Fate) for to in moves.to)
    )


def _lines_of_joined(parts: Sequence[Part]) -> frozenset[int]:
    """The same of inputs that stand end to end."""
    found = set()
    for axis in range(max(len(part.moves.to) for part in parts if isinstance(part.moves, ByAxis))):
        if parts[0].moves.of(InPlace(axis)) is MOVED:
            has_line = any(_has_line(part, axis, is_filled=False) for part in parts)
        else:
            has_line = all(_has_line(part, axis, is_filled=True) for part in parts)
        if has_line:
            found.add(axis)
    return frozenset(found)


def _has_line(part: Part, axis: int, *, is_filled: bool) -> bool:
    """Whether each line of an input has such an element; `is_filled` where none is empty."""
    if axis in part.known.lines:
        return True
    may_be_empty = isinstance(part.moves, ByAxis) and axis in part.moves.may_be_empty
    return part.known.rows is Rows.SURE and (is_filled or not may_be_empty)


def has_several_along(parts: Sequence[Part], kept: Collection[InPlace]) -> bool:
    """Whether an input that no batch makes longer may have several numbers along the rows."""
    constant = [part for part in parts if not part.known.is_placed and not part.known.is_of_batch]
    return any(part.moves.reaches(place.axis) for part in constant for place in kept)


def meets_rows(parts: Sequence[Part], meeting: Meeting, rows: Rows) -> bool:
    """Whether what surely depends on rows of the inputs meets all that is drawn.

    Args:
        parts: The inputs.
        meeting: How the output is made of them.
        rows: Whether the output depends on rows.
    """
    if meeting in (Meeting.SUMS, Meeting.PRODUCTS):
        # What was drawn had met rows, but for gaps, and now is summed up with some.
        drawn = [part for part in parts if part.known.noise]
        return rows is Rows.SURE and all(part.known.rows is Rows.GAPS for part in drawn)
    sure = [part for part in parts if part.known.rows is Rows.SURE and part.known.places]
    if meeting is Meeting.CHOICE and _alternatives(parts):
        return len(sure) == len(parts) - 1
    return meeting in BROADCAST and len(parts) > 1 and bool(sure)
