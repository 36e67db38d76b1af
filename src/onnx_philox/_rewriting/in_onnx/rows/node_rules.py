"""What operators of ONNX do to the dimensions of their inputs where no class of them says it.

And where an operator says its axes: in an attribute or in an input, by its version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import constant_rules, gap_rules, rules
from onnx_philox._rewriting.rows.known import Total
from onnx_philox._rewriting.rows.step import Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    UNREAD,
    ByAxis,
    Fate,
    Moves,
    UnclearError,
)


def axes_of(step: Step) -> Collection[int]:
    """The axes of a reduction: an attribute or an input; all where neither says any."""
    said = step.ints("axes")
    if said is None and step.has(1):
        said = step.said(1, "axes")
    if not said:
        return () if step.number("noop_with_empty_axes", 0) else rules.all_axes(step)
    return [rules.axis_of(step, axis) for axis in said]


def keeps(step: Step) -> bool:
    return step.number("keepdims", 1) != 0


def softmax_axes(step: Step) -> Collection[int]:
    """Before opset 13 all dimensions from the axis on are one."""
    if step.opset < 13:
        return rules.from_axis(1)(step)
    return rules.axis_said(-1)(step)


def axes_or_none(step: Step) -> Sequence[int] | None:
    """The axes of a Squeeze: where nobody says them, they are those of one element."""
    said = step.ints("axes")
    if said is None and step.has(1):
        said = step.said(1, "axes")
    return said


def new_axes(step: Step) -> Sequence[int]:
    said = step.ints("axes")
    return step.said(1, "axes") if said is None else said


def cuts(step: Step) -> dict[int, gap_rules.Cut]:
    """What a Slice takes, by axes; some starts and ends may be unknown."""
    starts: Sequence[Dimension]
    ends: Sequence[Dimension]
    if step.opset < 10:
        starts = step.ints("starts") or ()
        ends = step.ints("ends") or ()
        axes = step.ints("axes")
        steps = None
    else:
        starts = step.numbers(1) or ()
        ends = step.numbers(2) or ()
        axes = step.said(3, "axes") if step.has(3) else None
        steps = step.said(4, "steps") if step.has(4) else None
    if step.dims[0] is None:
        raise step.shapeless(0)
    if axes is None:
        axes = range(len(starts)) if starts else range(step.rank(0))
    found = {}
    for i, axis in enumerate(axes):
        start = starts[i] if i < len(starts) else None
        end = ends[i] if i < len(ends) else None
        by = 1 if steps is None else steps[i]
        found[rules.axis_of(step, axis)] = gap_rules.Cut(start, end, by)
    return found


def _pads(step: Step) -> dict[int, tuple[Dimension, Dimension]]:
    """How many elements a Pad adds before and behind, by axes; they may be unknown."""
    said = step.ints("pads") or step.ints("paddings")
    numbers = step.numbers(1) if said is None else said
    if numbers is None and not step.has(3):
        raise UnclearError("has pads that only a run knows")
    axes = list(rules.all_axes(step))
    if step.has(3):
        axes = [rules.axis_of(step, axis) for axis in step.said(3, "axes")]
    if numbers is None:
        return dict.fromkeys(axes, (None, None))
    half = len(axes)
    if len(numbers) != 2 * half:
        raise UnclearError("has another number of pads than two for each dimension")
    return {axis: (numbers[i], numbers[half + i]) for i, axis in enumerate(axes)}


def padded_axes(step: Step) -> Collection[int]:
    return [axis for axis, pads in _pads(step).items() if pads != (0, 0)]


def pads(step: Step) -> Mapping[int, gap_rules.Ends] | None:
    """How many elements a Pad adds, by axes; None where only a run knows."""
    found = {}
    for axis, (before, after) in _pads(step).items():
        if not isinstance(before, int) or not isinstance(after, int):
            return None
        found[axis] = (before, after)
    return found


def repeats(step: Step) -> Sequence[Dimension]:
    said = step.numbers(1)
    if said is None or step.opset < 6 or len(said) != step.rank(0):
        raise UnclearError("has repeats that only a run knows")
    return said


def split_axes(step: Step) -> Collection[int]:
    return rules.axis_said(0)(step)


def joined_axes(step: Step) -> Collection[int]:
    there = next(i for i in range(len(step.known)) if step.has(i))
    return [rules.axis_of(step, step.number("axis", 1), there)]


ASPECT_RATIO = "keep_aspect_ratio_policy"
"""The attribute of a Resize that says whether it keeps proportions."""


def is_in_proportion(policy: str | None) -> bool:
    """Whether a Resize of this policy takes one scale for all dimensions, and not each its size."""
    return policy not in (None, "stretch")


def kept_scales(step: Step) -> Sequence[bool]:
    """The dimensions that a Resize leaves as they are."""
    rank = step.rank(0)
    if step.text("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise UnclearError("crops a part that only a run knows")
    axes = list(step.ints("axes") or range(rank))
    scales_at, sizes_at = (1, None) if step.opset < 11 else (2, 3)
    dims = step.dims[0] or ()
    same = [True] * rank
    sizes = None if sizes_at is None or not step.has(sizes_at) else step.numbers(sizes_at)
    scales = step.numbers(scales_at) if step.has(scales_at) else step.ints("scales")
    if sizes is not None and is_in_proportion(step.text(ASPECT_RATIO)):
        # The scale of one dimension holds for all of them.
        for axis in axes:
            same[axis] = False
        return same
    if sizes is not None and len(sizes) == len(axes):
        for axis, size in zip(axes, sizes, strict=True):
            same[axis] = size is not None and size == dims[axis]
        return same
    if scales is not None and len(scales) == len(axes):
        for axis, scale in zip(axes, scales, strict=True):
            same[axis] = scale == 1
        return same
    raise UnclearError("has scales that only a run knows")


def order(step: Step) -> Sequence[int] | None:
    return step.ints("perm")


def _gemm(step: Step, output: int) -> Sequence[Moves | None]:
    def turns(step: Step) -> tuple[bool, bool]:
        return step.number("transA", 0) != 0, step.number("transB", 0) != 0

    first, second = rules.multiplied(turns)(first_inputs(step, 2), output)
    return [first, second, rules.aligned(step, 2, 2) if step.has(2) else None]


GEMM = constant_rules.flat(constant_rules.summed(_gemm, factors=2), "alpha")


def first_inputs(step: Step, count: int) -> Step:
    """The same operator without the inputs behind so many."""
    return replace(step, known=step.known[:count], dims=step.dims[:count])


def _without(step: Step, *left_out: int) -> Step:
    """The same operator without some inputs."""
    known = [None if i in left_out else each for i, each in enumerate(step.known)]
    return replace(step, known=known)


def expanded(step: Step, output: int) -> Sequence[Moves | None]:
    return [rules.aligned(step, 0, step.rank_made(output)), UNREAD]


def first_alone(step: Step, output: int) -> Sequence[Moves | None]:
    """The first input; the mask of a Dropout that drops nothing is true everywhere."""
    first = UNREAD if output else rules.kept(step)
    return [first, *[UNREAD] * (len(step.known) - 1)]


def plain(_: Step) -> tuple[bool, bool]:
    return False, False


def fused_turns(step: Step) -> tuple[bool, bool]:
    if step.number("transBatchA", 0) or step.number("transBatchB", 0):
        raise UnclearError("turns its batches")
    return step.number("transA", 0) != 0, step.number("transB", 0) != 0


def quantised_product(step: Step, output: int) -> Sequence[Moves | None]:
    """A, its scale and zero point, B, its scale and zero point, those of the output."""
    for index, known in enumerate(step.known):
        if index not in (0, 3) and known is not None and known.is_placed:
            raise step.of_rows(index)
    two = replace(
        step,
        names=[step.names[0], step.names[3]],
        known=[step.known[0], step.known[3]],
        dims=[step.dims[0], step.dims[3]],
    )
    first, second = rules.multiplied(plain)(two, output)
    return [first, None, None, second]


def gather_axis(step: Step) -> int:
    return step.number("axis", 0)


def no_batch_dims(_: Step) -> int:
    return 0


def batch_dims(step: Step) -> int:
    return step.number("batch_dims", 0)


def reversed_sequence(step: Step, _: int) -> Sequence[Moves | None]:
    time, batch = step.number("time_axis", 0), step.number("batch_axis", 1)
    to: list[int | Fate] = [MOVED if axis == time else axis for axis in rules.all_axes(step)]
    return [ByAxis(to), ByAxis([batch])]


def compressed(step: Step, output: int) -> Sequence[Moves | None]:
    if step.ints("axis") is None:
        return rules.nowhere(step, output)
    return [rules.cut(rules.axis_said())(step, output)[0], ByAxis([MOVED])]


def one_hot(step: Step, _: int) -> Sequence[Moves | None]:
    rank = step.rank(0) + 1
    new = step.number("axis", -1) % rank
    indices = [axis if axis < new else axis + 1 for axis in rules.all_axes(step)]
    # One of all along the new dimension is on.
    totals = constant_rules.totals_along([new], Total)
    return [ByAxis(indices, constant_totals=totals), *rules.others_free(step, 1)]


def sampled(step: Step, _: int) -> Sequence[Moves | None]:
    """A GridSample: the grid says for each row where to look in it."""
    spatial = step.rank(0) - 2
    data: list[int | Fate] = [0, 1, *[MOVED] * spatial]
    return [ByAxis(data), ByAxis([0, *range(2, spatial + 2), GONE])]


OF_REGIONS = rules.by_table(([MOVED, 1, MOVED, MOVED], [0, GONE], [0]))
"""RoiAlign: a row for each region, which may be of any row of the data."""


def recurrent(step: Step, output: int) -> Sequence[Moves | None]:
    """An LSTM, GRU or RNN: [time, batch, features], and states [direction, batch, features]."""
    is_batch_first = step.number("layout", 0) == 1
    # Lengths may end a row before its last time.
    times = MOVED if step.has(4) else GONE
    data: list[int | Fate]
    state: list[int | Fate]
    if is_batch_first:
        time = 1
        lengths = 0
        data = [0, times, GONE] if output else [0, 1, GONE]
        state = [0, 1, 2] if output else [0, 2, 3]
    elif output:
        time = 0
        lengths = 1
        data = [times, 1, GONE]
        state = [0, 1, 2]
    else:
        time = 0
        lengths = 2
        data = [0, 2, GONE]
        state = [1, 2, 3]
    looks = () if output else [time]
    ends_early = not output and step.has(4) and gap_rules.ends_early(step, 4, time)
    has_gaps = ends_early or constant_rules.has_silent_units(step, 1)
    moves: list[Moves | None] = [ByAxis(data, looks, has_gaps=has_gaps), None, None, None]
    moves.append(ByAxis([lengths]))
    # The features of a state are looked along.
    of_state = ByAxis(state, [2], has_gaps=has_gaps)
    moves += [of_state, of_state, None]
    for index in (1, 2, 3, 7):
        known = step.known[index] if index < len(step.known) else None
        if known is not None and known.is_placed:
            raise step.of_rows(index)
    return moves


def attention(step: Step, output: int) -> Sequence[Moves | None]:
    """Queries, keys, values [batch, heads, places, features], or [batch, places, features]."""
    if output in (1, 2):
        # The keys, or the values, behind those of before.
        return rules.first_stays(output, output + 3)(_without(step, 0, 3), output)
    if output:
        return rules.first_stays(0, 1, 3)(step, output)
    ranks = [step.rank(index) for index in range(3)]
    if any(rank != ranks[0] for rank in ranks):
        raise UnclearError("has queries, keys and values of several ranks")
    is_flat = ranks[0] == 3
    query: list[int | Fate] = [0, 1, MOVED] if is_flat else [0, 1, 2, GONE]
    windows = step.number("left_window_size", -1), step.number("right_window_size", -1)
    is_by_index = step.number("is_causal", 0) != 0 or windows != (-1, -1)
    # A mask, or how many there are, may keep a query from some keys.
    keys = MOVED if is_by_index or step.has(3) or step.has(6) else GONE
    key: list[int | Fate]
    value: list[int | Fate]
    if is_flat:
        key = [0, keys, MOVED]
        value = [0, keys, MOVED]
    else:
        key = [0, MOVED, keys, GONE]
        value = [0, MOVED, keys, 3]
    for index, to in ((1, key), (2, value)):
        known = step.known[index]
        # What has no batch has other heads for other heads of the queries, however many they share.
        is_free = known is not None and not known.is_placed
        if not is_flat and (is_free or _has_equal_heads(step)):
            to[1] = 1
    # A causal one, or a window, lets a query see the keys that its own index says.
    numbered = [1 if is_flat else 2] if is_by_index else []
    count = (step.dims[1] or ())[1 if is_flat else 2]
    # What sees one key gives its value, whatever it asks.
    may_be_one = keys is MOVED or not constant_rules.are_several_or_rows(step, count)
    of_query = ByAxis(query, numbered=numbered, may_say_nothing=may_be_one)
    of_key = ByAxis(key, ones=step.ones(1), may_say_nothing=may_be_one)
    is_of_none = constant_rules.may_be_over_nothing(step, 1, [1 if is_flat else 2], output)
    of_value = ByAxis(value, ones=step.ones(2), may_say_nothing=is_of_none)
    moves: list[Moves | None] = [of_query, of_key, of_value]
    if step.has(3):
        moves.append(replace(_of_mask(step, is_flat=is_flat), may_say_nothing=True))
    else:
        moves.append(None)
    for index in range(4, len(step.known)):
        rest: list[int | Fate] = [MOVED] * (step.rank(index) - 1 if step.has(index) else 0)
        moves.append(ByAxis([0, *rest]) if step.has(index) else None)
    return moves


def _has_equal_heads(step: Step) -> bool:
    first, second = step.dims[0], step.dims[1]
    return bool(first and second and first[1] is not None and first[1] == second[1])


def _of_mask(step: Step, *, is_flat: bool) -> ByAxis:
    """Of [batch, heads, places, places], or its last dimensions."""
    whole: list[int | Fate] = [0, GONE, 1, GONE] if is_flat else [0, 1, 2, GONE]
    return ByAxis(whole[4 - step.rank(3) :], ones=step.ones(3))


def rotated(step: Step, _: int) -> Sequence[Moves | None]:
    """RotaryEmbedding: the last dimension is turned by angles for each place."""
    rank = step.rank(0)
    place = rank - 2
    moves: list[Moves | None] = [rules.kept(step, 0, [rank - 1])]
    for index in (1, 2):
        of_angles: list[int | Fate] = [0, place, GONE] if step.rank(index) == 3 else [GONE, GONE]
        moves.append(ByAxis(of_angles, ones=step.ones(index)))
    if step.has(3):
        moves.append(ByAxis([0, place], ones=step.ones(3)))
    return moves


def quantised(step: Step, _: int) -> Sequence[Moves | None]:
    """Scales are one, one for each index of a dimension, or one for each block."""
    rank = step.rank(0)
    along = step.number("axis", 1) % max(rank, 1)
    moves: list[Moves | None] = [rules.kept(step)]
    for index in range(1, len(step.known)):
        own = step.rank(index) if step.has(index) else 0
        known = step.known[index] if own else None
        if own > 1 and known is not None and known.is_placed:
            to: list[int | Fate] = [MOVED if a == along else a for a in range(own)]
        elif own > 1:
            to = list(range(own))
        else:
            to = [along] * own
        moves.append(ByAxis(to, ones=step.ones(index)) if step.has(index) else None)
    return moves


def lost_of_classes(step: Step, output: int) -> Sequence[Moves | None]:
    """A loss [batch, classes, ...] with labels [batch, ...]."""
    is_mean = step.text("reduction") != "none"
    ranks = range(step.rank(0)), range(step.rank(1))
    if output:
        return [rules.kept(step, 0, [1]), None, None]
    # A weight for each class, of which the labels pick one.
    weights = rules.gone(step, 2) if step.has(2) else None
    if is_mean:
        return [rules.gone(step, 0), rules.gone(step, 1), weights]
    scores: list[int | Fate] = [0, GONE, *ranks[0][1:-1]]
    return [ByAxis(scores), ByAxis(ranks[1]), weights]


def cropped_axes(step: Step) -> Collection[int]:
    said = step.ints("axes")
    axes = rules.all_axes(step) if said is None else said
    sizes = step.numbers(1)
    dims = step.dims[0] or ()
    wrong = []
    for i, axis in enumerate(rules.axis_of(step, a) for a in axes):
        is_same = sizes is not None and sizes[i] is not None and sizes[i] == dims[axis]
        if not is_same:
            wrong.append(axis)
    return wrong


def batch_norm_axes(step: Step) -> Collection[int]:
    """In training mode it looks along all dimensions but that of the channels."""
    is_old = step.opset < 14
    # Before opset 7 an attribute says so, and from opset 7 to 13 more outputs than one.
    training = step.number("training_mode", 0) if not is_old else len(step.made) > 1
    if step.opset < 7:
        training = step.number("is_test", 0) == 0
    return [axis for axis in rules.all_axes(step) if axis != 1] if training else ()


def channels(_: Step) -> Collection[int]:
    return [1]


def mvn_axes(step: Step) -> Collection[int]:
    said = step.ints("axes")
    axes = (0, 2, 3) if said is None else said
    return [rules.axis_of(step, axis) for axis in axes]


def fourier_axes(step: Step) -> Collection[int]:
    rank = step.rank(0)
    along = step.number("axis", 1)
    if step.opset >= 20:
        along = step.said(2, "an axis")[0] if step.has(2) else -2
    return {along % rank, rank - 1}


def in_matrix(step: Step) -> Collection[int]:
    rank = step.rank(0)
    return [rank - 2, rank - 1]


def never(_: Step) -> bool:
    return False


def always(_: Step) -> bool:
    return True


def unless_one(step: Step) -> Collection[int]:
    """The last dimensions of a string tensor, whose texts may be dropped."""
    return [step.rank(0) - 1]
