"""How the elements of an operator's output are made of those of its inputs.

Drawn elements may stand beside rows of the inputs, as behind a Concat of both. Whether each sum of
a product has some of either depends on the dimension over which it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from onnx_philox._rewriting.rows.known import InPlace, Knowledge, Rows
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
    rows = _rows_of_made(parts, meeting)
    has_gaps = any(isinstance(part.moves, ByAxis) and part.moves.has_gaps for part in parts)
    return min(rows, Rows.PART) if has_gaps else rows


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
    if not of_drawn and rows is not Rows.PART:
        return rows
    if meeting in (Meeting.SUMS, Meeting.PRODUCTS):
        is_sum_of_lines = any(map(_sums_lines, parts))
        if meeting is Meeting.PRODUCTS:
            is_sum_of_lines = is_sum_of_lines and all(map(_leaves_none_out, parts))
        return Rows.SURE if rows is Rows.PART and is_sum_of_lines else rows
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
    are_sure = all(part.known.rows is Rows.SURE for part in parts)
    return rows if are_sure else min(rows, Rows.PART)


def _alternatives(parts: Sequence[Part]) -> Sequence[Part]:
    """The inputs of which a choice gives the elements, unless it is by rows, or drawn of them."""
    condition, *alternatives = parts
    has_noise = any(part.known.noise for part in alternatives)
    is_drawn = bool(condition.known.noise) and not has_noise
    return () if is_drawn or condition.known.rows is Rows.SURE else alternatives


def _sums_lines(part: Part) -> bool:
    """Whether each sum is over whole lines of an input that have an element of the inputs' rows."""
    return any(part.moves.of(InPlace(axis)) is GONE for axis in part.known.lines)


def _leaves_none_out(part: Part) -> bool:
    """Whether a factor has not only noise, or zeros, for what has elements of the inputs' rows.

    It may be attention, of which a mask leaves out all but the noise.
    """
    return not part.known.is_placed or part.known.rows is Rows.SURE or _sums_lines(part)


def lines_of(parts: Sequence[Part], meeting: Meeting) -> frozenset[int]:
    """The dimensions of the output along which each line has an element that depends on rows."""
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


def meets_rows(parts: Sequence[Part], meeting: Meeting) -> bool:
    """Whether an operand that surely depends on rows of the inputs meets another."""
    sure = [part for part in parts if part.known.rows is Rows.SURE and part.known.places]
    if meeting is Meeting.CHOICE and _alternatives(parts):
        return len(sure) == len(parts) - 1
    return meeting in BROADCAST and len(parts) > 1 and bool(sure)
