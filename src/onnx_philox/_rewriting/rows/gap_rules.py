"""What operators do that leave elements out, or give some that are made of none of their input's.

In ONNX and in OpenVINO; see `rules.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import masks, rules
from onnx_philox._rewriting.rows.constant_rules import (
    has_constant_total,
    leaves_lines_out,
    leaves_out,
    masked,
    with_gaps,
)
from onnx_philox._rewriting.rows.known import InPlace, Knowledge, Margin, Rows, Total
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import GONE, ByAxis, Moves

Ends = tuple[int, int]
"""How many elements before a dimension's others, and how many behind them."""
Pads = Callable[[Step], Mapping[int, Ends] | None]
"""How many an operator adds there; None where only a run knows."""


@dataclass(frozen=True)
class Cut:
    """What a slice takes of a dimension; None is what only a run knows."""

    start: Dimension
    end: Dimension
    step: int

    def ends(self, size: Dimension) -> Ends | None:
        """How many elements it takes away, at least, at the ends of a dimension of this size.

        None where it does not take those between as they come.
        """
        if self.step != 1:
            return None
        start = self.start
        end = self.end
        if isinstance(size, int):
            if isinstance(start, int) and start < 0:
                start += size
            if isinstance(end, int) and end >= 0:
                end -= size
        before = 0
        if isinstance(start, int) and start > 0:
            before = start
        after = 0
        if isinstance(end, int) and end < 0:
            after = -end
        return before, after


Cuts = Callable[[Step], Mapping[int, Cut]]
"""What an operator takes of some dimensions."""


def cumulated(axes: rules.Axes, total: Total) -> Rule:
    """A cumulative sum or product; an exclusive one leaves out the end of each line.

    Args:
        axes: The dimension along which it goes.
        total: What the last element is.
    """

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        along = axes(step)
        rank = range(step.rank(0))
        is_exclusive = step.number("exclusive", 0) != 0
        numbered = along if is_exclusive else ()
        # The last sum along a Softmax is 1.
        ends_alike = has_constant_total(step, 0, along, total)
        has_gaps = is_exclusive or ends_alike
        whole = ByAxis(rank, along, step.ones(0), numbered, has_gaps=has_gaps)
        return [whole, *rules.others_free(step, 1)]

    return rule


def triangle(step: Step, _: int) -> Sequence[Moves | None]:
    """What it keeps depends on the indices of the last two dimensions."""
    rank = step.rank(0)
    numbered = range(rank - 2, rank)
    whole = ByAxis(range(rank), ones=step.ones(0), numbered=numbered, has_gaps=True)
    return [whole, *rules.others_free(step, 1)]


def padded(axes: rules.Axes, mode: str, pads: Pads) -> Rule:
    """A Pad, whose mode an attribute says."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rules.cut(axes)(step, output)
        if step.text(mode) not in (None, "constant") or not axes(step):
            return [data, *others]
        added = pads(step)
        before = _margins(step.known[0])
        if added is None or before is None:
            return [with_gaps(data), *others]
        dims = step.dims[0] or ()
        made = dict(before)
        for axis, (start, end) in added.items():
            margin = before.get(axis) or Margin(axis, 0, 0, _is_at_least(dims[axis], 1))
            made[axis] = _grown(margin, start, end)
        return [_with_margins(data, made), *others]

    return rule


def cut_off(rule: Rule, cuts: Cuts) -> Rule:
    """A Slice, which may take away what a Pad has added."""

    def with_margins(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        before = _margins(step.known[0])
        dims = step.made[output]
        if not before or dims is None or len(dims) != step.rank(0):
            return [data, *others]
        sizes = step.dims[0] or ()
        made = dict(before)
        for axis, cut in cuts(step).items():
            if axis not in made:
                continue
            ends = cut.ends(sizes[axis])
            if ends is None:
                return [data, *others]
            start, end = ends
            made[axis] = _grown(made[axis], -start, -end)
        return [_with_margins(data, made), *others]

    return with_margins


def sliced(cuts: Cuts) -> Rule:
    """A Slice."""
    return cut_off(rules.cut_by_bounds(lambda step: not_whole(step, cuts(step))), cuts)


def not_whole(step: Step, cuts: Mapping[int, Cut]) -> dict[int, bool]:
    """The axes of which not all is taken, in order; and whether it is always the same.

    Raises:
        UnclearError: The shape is unknown.
    """
    dims = step.dims[0]
    if dims is None:
        raise step.shapeless(0)
    found = {}
    for axis, cut in cuts.items():
        if not rules.is_whole(cut.start, cut.end, cut.step, dims[axis]):
            found[axis] = isinstance(cut.start, int) and isinstance(cut.end, int)
    return found


def convolved(step: Step, output: int) -> Sequence[Moves | None]:
    """A convolution, some of whose windows may lie in what is padded."""
    data, weights, *others = masked(rules.convolved)(step, output)
    data = _windowed(step, data, _kernel(step))
    if isinstance(data, ByAxis) and _has_empty_channels(step):
        data = replace(data, margins=None, has_gaps=True)
    if isinstance(data, ByAxis) and data.margins is not None and leaves_out(step, 1, masks.WEIGHS):
        # A weight of 0 may leave out the only element of a window.
        is_padded = bool(_margins(step.known[0])) or any(map(any, _pads(step)))
        if is_padded or _pads_itself(step):
            data = replace(data, margins=None, has_gaps=True)
    if isinstance(data, ByAxis) and (data.has_gaps or data.margins):
        weights = with_gaps(weights)
    return [data, weights, *others]


def _has_empty_channels(step: Step) -> bool:
    """Whether the weights may be zeros for all of a channel that a convolution gives."""
    # OpenVINO has the groups before the channels.
    channels = 1 + step.rank(1) - step.rank(0)
    if channels < 1:
        # Of a quantised convolution the second input is a scale.
        return False
    axes = range(channels, step.rank(1))
    is_level = has_constant_total(step, 0, [1], Total.SUM)
    return leaves_lines_out(step, 1, axes, has_constant_sum=is_level)


def gappy(rule: Rule, is_so: Callable[[Step], bool] = lambda _: True) -> Rule:
    """What gives some elements that are made of none of its inputs', where the function says so."""

    def with_some(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        if not is_so(step):
            return moves
        return [with_gaps(each) for each in moves]

    return with_some


def is_sampled_outside(step: Step) -> bool:
    """Whether a GridSample gives zeros where its grid, without rows, means no element."""
    grid = step.known[1]
    is_of_zeros = step.text("padding_mode") in (None, "zeros")
    return is_of_zeros and grid is not None and grid.rows is not Rows.SURE


def ends_early(step: Step, lengths: int, time: int) -> bool:
    """Whether a recurrent layer may give zeros behind times that an input without rows says."""
    known = step.known[lengths]
    if known is None or not known.is_free:
        return False
    dims = step.dims[0]
    if dims is None or dims[time] is None:
        return True
    return step.repeated(lengths) != dims[time]


def is_over_others(step: Step) -> bool:
    """Whether what is written over depends on no row."""
    written_over = step.known[0]
    return written_over is not None and written_over.rows is not Rows.SURE


def pooled(rule: Rule, *totals: Total) -> Rule:
    """Windows of each channel, some of which may lie in what is padded.

    Args:
        rule: What it does to dimensions.
        totals: What it makes of a window.
    """

    def with_margins(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        kernel = step.ints("kernel_shape") or step.ints("kernel")
        if _pads_itself(step) and any(each != 1 for each in _of(step, "dilations", 1)):
            # ONNX Runtime pads as if there were no holes in a window.
            return [with_gaps(data), *others]
        if kernel:
            data = _windowed(step, data, kernel)
        is_level = has_constant_total(step, 0, rules.spatial_axes(step), *totals)
        if isinstance(data, ByAxis) and is_level:
            # A window may be as long as all of it.
            data = replace(data, margins=None, has_gaps=True)
        return [data, *others]

    return with_margins


def _windowed(step: Step, data: Moves | None, kernel: Sequence[Dimension]) -> Moves | None:
    """What windows take of an input: each needs an element of it that is not in its margins."""
    before = _margins(step.known[0])
    if before is None:
        made = _margins_of_windows(step, {}, kernel)
        # The rows that it has beside others may have nothing there either.
        return data if made == {} else with_gaps(data)
    left = {}
    for axis, margin in before.items():
        is_summed = data is not None and data.of(InPlace(axis)) is GONE
        # A sum over all channels has some between the padded ones.
        if not (margin.is_around and is_summed):
            left[axis] = margin
    made = _margins_of_windows(step, left, kernel)
    return with_gaps(data) if made is None else _with_margins(data, made)


def _margins_of_windows(
    step: Step,
    before: Mapping[int, Margin],
    kernel: Sequence[Dimension],
) -> dict[int, Margin] | None:
    """Those of the output, given those of the input; None where nobody knows."""
    if any(axis < 2 for axis in before):
        return None
    made: dict[int, Margin] = {}
    dims = step.dims[0] or ()
    starts, ends = _pads(step)
    strides = _of(step, "strides", 1)
    dilations = _of(step, "dilations", 1)
    rounding = step.text("rounding_type") or ""
    is_longer = step.number("ceil_mode", 0) != 0 or rounding.startswith("ceil")
    for i, size in enumerate(kernel):
        axis = i + 2
        stride = strides[i]
        dilation = dilations[i]
        margin = before.get(axis) or Margin(axis, 0, 0)
        has_none = not margin.before and not margin.after
        if not isinstance(size, int) or stride < 1:
            return None
        if _pads_itself(step):
            # It pads less than a window, in two halves: the element in the middle is none of them.
            has_middle = dilation == 1 or size % 2 == 1
            if not (has_none and has_middle):
                return None
            continue
        all_before = margin.before + starts[i]
        all_behind = margin.after + ends[i]
        is_padded = all_before > 0 or all_behind > 0
        reach = (size - 1) * dilation + 1
        if dilation > 1 and stride > 1 and is_padded:
            padded_by = starts[i] + ends[i]
            if not _is_at_least(dims[axis], reach - padded_by):
                # ONNX Runtime rounds towards a window that goes on behind the padding.
                return None
        if is_longer:
            all_behind += stride - 1
        is_there = margin.is_around or (has_none and _is_at_least(dims[axis], 1))
        if dilation == 1 and is_there:
            # Of a window without holes nothing is between elements that are there.
            start = max(0, all_before - size + 1)
            end = max(0, all_behind - size + 1)
        else:
            start, end = _ends_of_windows(all_before, all_behind, size, dilation)
        if start or end:
            windows_before = math.ceil(start / stride)
            windows_behind = math.ceil(end / stride)
            made[axis] = Margin(axis, windows_before, windows_behind)
    return made


def _pads_itself(step: Step) -> bool:
    said = step.text("auto_pad") or ""
    return said.lower().startswith("same")


def _ends_of_windows(before: int, after: int, size: int, dilation: int) -> Ends:
    """How many windows at either end may lie in what is padded, however long a dimension is.

    That is said of the element of a window for which these are fewest, the last one where several
    are: causal convolutions cut off the end.
    """
    found = []
    for index in range(size):
        start = max(0, before - index * dilation)
        end = max(0, after - (size - 1 - index) * dilation)
        found.append((start, end))
    return min(found, key=lambda ends: (sum(ends), ends))


def convolved_back(step: Step, output: int) -> Sequence[Moves | None]:
    """A transposed convolution, which may leave gaps between what it writes."""
    data, *others = masked(rules.convolved)(step, output)
    if leaves_lines_out(step, 1, _channels_summed(step)):
        return [with_gaps(data), *others]
    strides = _of(step, "strides", 1)
    dilations = _of(step, "dilations", 1)
    added = _of(step, "output_padding", 0)
    _, ends = _pads(step)
    lengths = (step.dims[0] or ())[2:]
    sizes = zip(_kernel(step), strides, dilations, added, ends, lengths, strict=False)
    for kernel, stride, dilation, more, end, length in sizes:
        if stride == 1:
            is_short = not isinstance(length, int) or length < dilation
            # What one weight makes of all elements must reach to what the next one makes.
            is_dense = dilation == 1 or kernel == 1 or not is_short
        else:
            is_wide = isinstance(kernel, int) and stride <= kernel
            is_dense = dilation == 1 and is_wide
        if not is_dense or more > end:
            return [with_gaps(data), *others]
    return [data, *others]


def _channels_summed(step: Step) -> Sequence[int]:
    """The dimension of the weights of a transposed convolution along which it sums.

    ONNX's have all groups in it, which are not summed: then it is none.
    """
    if step.rank(1) > step.rank(0):
        return [1]
    return [0] if step.number("group", 1) == 1 else []


def _with_margins(moves: Moves | None, margins: Mapping[int, Margin]) -> Moves | None:
    if not isinstance(moves, ByAxis):
        return moves
    return replace(moves, margins=[m for m in margins.values() if m.before or m.after])


def _margins(known: Knowledge | None) -> dict[int, Margin] | None:
    """By their dimensions, the only parts of an input that may not depend on rows; else None."""
    if known is None:
        return None
    if known.rows is Rows.SURE:
        return {}
    return {each.axis: each for each in known.margins} or None


def _grown(margin: Margin, start: int, end: int) -> Margin:
    before = max(0, margin.before + start)
    after = max(0, margin.after + end)
    is_cut = start < 0 or end < 0
    is_around = margin.is_around and not is_cut
    return replace(margin, before=before, after=after, is_around=is_around)


def _is_at_least(dimension: Dimension, number: int) -> bool:
    return isinstance(dimension, int) and dimension >= number


def _kernel(step: Step) -> Sequence[Dimension]:
    """The size of the kernel along each dimension behind the second."""
    said = step.ints("kernel_shape")
    if said:
        return said
    count = step.rank(0) - 2
    step.rank(1)
    return (step.dims[1] or ())[-count:] or [None] * count


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
