"""What operators do that leave elements out, or give some that are made of none of their input's.

In ONNX and in OpenVINO; see `rules.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import rules
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import ByAxis, Moves


def cumulated(axes: rules.Axes) -> Rule:
    """A cumulative sum or product; an exclusive one leaves out the end of each line."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        along = axes(step)
        rank = range(step.rank(0))
        is_exclusive = step.number("exclusive", 0) != 0
        numbered = along if is_exclusive else ()
        whole = ByAxis(rank, along, step.ones(0), numbered, has_gaps=is_exclusive)
        return [whole, *rules.others_free(step, 1)]

    return rule


def shared_out(axes: rules.Axes) -> Rule:
    """A Softmax, which is 1 where it goes along one element, whatever that is."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rules.looking(axes)(step, output)
        dims = step.dims[0] or ()
        is_of_one = all(dims[axis] == 1 for axis in axes(step))
        return [_with_gaps(data) if is_of_one else data, *others]

    return rule


def triangle(step: Step, _: int) -> Sequence[Moves | None]:
    """What it keeps depends on the indices of the last two dimensions."""
    rank = step.rank(0)
    numbered = range(rank - 2, rank)
    whole = ByAxis(range(rank), ones=step.ones(0), numbered=numbered, has_gaps=True)
    return [whole, *rules.others_free(step, 1)]


def _with_gaps(moves: Moves | None) -> Moves | None:
    return replace(moves, has_gaps=True) if isinstance(moves, ByAxis) else moves


def convolved(step: Step, output: int) -> Sequence[Moves | None]:
    """A convolution, some of whose windows may lie in what is padded.

    A Pad before it is not looked at: its windows are mostly wider than that.
    """
    data, *others = rules.convolved(step, output)
    sizes = zip(_kernel(step), _of(step, "dilations", 1), *_pads(step), strict=False)
    for kernel, dilation, before, after in sizes:
        window = 1 + (kernel - 1) * dilation if isinstance(kernel, int) else 1
        if max(before, after) >= window:
            return [_with_gaps(data), *others]
    return [data, *others]


def convolved_back(step: Step, output: int) -> Sequence[Moves | None]:
    """A transposed convolution, which may leave gaps between what it writes."""
    data, *others = rules.convolved(step, output)
    strides = _of(step, "strides", 1)
    dilations = _of(step, "dilations", 1)
    added = _of(step, "output_padding", 0)
    _, ends = _pads(step)
    sizes = zip(_kernel(step), strides, dilations, added, ends, strict=False)
    for kernel, stride, dilation, more, end in sizes:
        is_dense = stride == 1 or (isinstance(kernel, int) and stride <= kernel and dilation == 1)
        if not is_dense or more > end:
            return [_with_gaps(data), *others]
    return [data, *others]


def _kernel(step: Step) -> Sequence[Dimension]:
    """The size of the kernel along each dimension behind the second."""
    count = step.rank(0) - 2
    step.rank(1)
    return (step.dims[1] or ())[-count:]


def _of(step: Step, name: str, default: int) -> Sequence[int]:
    """An attribute that is a number for each dimension behind the second."""
    return step.ints(name) or [default] * (step.rank(0) - 2)


def _pads(step: Step) -> tuple[Sequence[int], Sequence[int]]:
    """How much is padded before each of these dimensions, and after it."""
    count = step.rank(0) - 2
    pads = step.ints("pads")
    if pads is not None:
        return pads[:count], pads[count:]
    return _of(step, "pads_begin", 0), _of(step, "pads_end", 0)
