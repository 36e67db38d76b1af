"""What each operator of OpenVINO does to the dimensions of its inputs: a line each.

The rules are those of ONNX's operators; where an operator says its axes is another matter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import constant_rules, gap_rules, index_rules, masks, rules
from onnx_philox._rewriting.rows.known import Total
from onnx_philox._rewriting.rows.meetings import Meeting
from onnx_philox._rewriting.rows.moves import REORDERS
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    UNREAD,
    ByAxis,
    Fate,
    Moves,
    UnclearError,
)


def _axis_given(index: int, *, of: int = 0) -> rules.Axes:
    """The axes that an input says; all where it says none."""

    def axes(step: Step) -> Collection[int]:
        return [rules.axis_of(step, axis, of) for axis in step.said(index, "axes")]

    return axes


def _complex_axes(step: Step) -> Collection[int]:
    """The axes of complex numbers, counted without the last dimension: their two parts, mixed."""
    parts = step.rank(0) - 1
    found = [parts]
    for axis in step.said(1, "axes"):
        if axis not in range(-parts, parts):
            raise UnclearError("means a dimension that its input has not")
        found.append(axis % parts)
    return found


def _keeps(step: Step) -> bool:
    return step.number("keep_dims", 0) != 0


def _order(step: Step) -> Sequence[int] | None:
    said = step.said(1, "an order")
    return said or None


def _squeezed_axes(step: Step) -> Sequence[int] | None:
    return step.said(1, "axes") if step.has(1) else None


def _new_axes(step: Step) -> Sequence[int]:
    return step.said(1, "axes")


def _slices(step: Step) -> dict[int, gap_rules.Cut]:
    """What a Slice takes, by axes."""
    starts = step.numbers(1)
    ends = step.numbers(2)
    steps = step.said(3, "steps")
    axes = step.said(4, "axes") if step.has(4) else list(range(len(steps)))
    found = {}
    for i, axis in enumerate(axes):
        cut = gap_rules.Cut(_at(starts, i), _at(ends, i), steps[i])
        found[rules.axis_of(step, axis)] = cut
    return found


def _at(numbers: Sequence[Dimension] | None, index: int) -> Dimension:
    if numbers is None or index >= len(numbers):
        return None
    return numbers[index]


def _sliced_axes(step: Step) -> dict[int, bool]:
    return gap_rules.not_whole(step, _slices(step))


def _masks(step: Step) -> dict[str, list[int]]:
    """Those of a StridedSlice: of which dimensions it leaves the beginning or the end alone."""
    masks = {
        name: list(step.ints(name) or ())
        for name in ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    }
    if any(masks["ellipsis_mask"]) or any(masks["new_axis_mask"]):
        raise UnclearError("has a mask that is not followed")
    return masks


def _strided_slices(step: Step) -> dict[int, gap_rules.Cut]:
    """What a StridedSlice takes, by axes."""
    masks = _masks(step)
    starts, ends = step.numbers(1), step.numbers(2)
    count = max(len(starts or ()), len(ends or ()), len(masks["begin_mask"]))
    steps = step.said(3, "strides") if step.has(3) else [1] * count

    def is_set(name: str, index: int) -> bool:
        return index < len(masks[name]) and masks[name][index] != 0

    found = {}
    for i in range(count):
        start = 0 if is_set("begin_mask", i) else _at(starts, i)
        end = rules.INT64_MAX if is_set("end_mask", i) else _at(ends, i)
        found[rules.axis_of(step, i)] = gap_rules.Cut(start, end, steps[i])
    return found


def _strided_axes(step: Step) -> dict[int, bool]:
    return gap_rules.not_whole(step, _strided_slices(step))


def _strided(step: Step, _: int) -> Sequence[Moves | None]:
    cut = _strided_axes(step)
    shrunk = [i for i, is_set in enumerate(_masks(step)["shrink_axis_mask"]) if is_set]
    to: list[int | Fate] = []
    for axis in range(step.rank(0)):
        before = sum(1 for other in shrunk if other < axis)
        to.append(MOVED if axis in cut or axis in shrunk else axis - before)
    bounds = rules.others_free(step, 1)
    if all(cut.values()):
        return [ByAxis(to), *[UNREAD] * len(bounds)]
    return [ByAxis(to), *bounds]


def _pads(step: Step) -> dict[int, gap_rules.Ends]:
    """How many elements a Pad adds before and behind, by axes."""
    before, after = step.said(1, "pads"), step.said(2, "pads")
    return dict(enumerate(zip(before, after, strict=True)))


def _padded_axes(step: Step) -> Collection[int]:
    return [axis for axis, pads in _pads(step).items() if pads != (0, 0)]


def _repeats(step: Step) -> Sequence[Dimension]:
    repeats = step.numbers(1)
    rank = step.rank(0)
    if repeats is None or len(repeats) > rank:
        raise UnclearError("has repeats that only a run knows")
    return [*[1] * (rank - len(repeats)), *repeats]


def _joined_axes(step: Step) -> Collection[int]:
    return [rules.axis_of(step, step.number("axis", 0))]


def _interpolated(step: Step) -> Sequence[bool]:
    """The dimensions whose length stays: all that are not among the axes, and those of scale 1."""
    rank, dims = step.rank(0), step.dims[0] or ()
    pads = [*(step.ints("pads_begin") or ()), *(step.ints("pads_end") or ())]
    if any(pads) or step.opset < 4:
        raise UnclearError("has pads, or axes that are not followed")
    mode = step.text("shape_calculation_mode")
    axes_at = 2
    values_at = 1
    if step.opset < 11:
        axes_at = 3
        values_at = 1 if mode == "sizes" else 2
    axes = step.said(axes_at, "axes") if step.has(axes_at) else list(range(rank))
    values = step.numbers(values_at)
    same = [True] * rank
    for i, said in enumerate(axes):
        axis = rules.axis_of(step, said)
        value = values[i] if values is not None and len(values) == len(axes) else None
        wanted = 1 if mode == "scales" else dims[axis]
        same[axis] = value is not None and value == wanted
    return same


def _gather_axis(step: Step) -> int:
    return step.said(2, "an axis")[0]


def _gather(step: Step, output: int) -> Sequence[Moves | None]:
    shared = step.number("batch_dims", 0)
    if shared < 0:
        shared += step.rank(1)
    return index_rules.picked(_gather_axis, lambda _: shared)(step, output)


def _batch_dims(step: Step) -> int:
    return step.number("batch_dims", 0)


def _gathered_at(step: Step, output: int) -> Sequence[Moves | None]:
    """Before opset 8 it makes one dimension of all that are shared."""
    if step.opset < 8 and _batch_dims(step) > 1:
        raise UnclearError("makes one dimension of several")
    return index_rules.picked_at(_batch_dims)(step, output)


def _turns(step: Step) -> tuple[bool, bool]:
    return step.number("transpose_a", 0) != 0, step.number("transpose_b", 0) != 0


def _reversed_sequence(step: Step, _: int) -> Sequence[Moves | None]:
    time = rules.axis_of(step, step.number("seq_axis", 1))
    batch = rules.axis_of(step, step.number("batch_axis", 0))
    to: list[int | Fate] = [MOVED if axis == time else axis for axis in rules.all_axes(step)]
    return [ByAxis(to), ByAxis([batch])]


def _one_hot(step: Step, _: int) -> Sequence[Moves | None]:
    new = step.number("axis", -1) % (step.rank(0) + 1)
    indices = [axis if axis < new else axis + 1 for axis in rules.all_axes(step)]
    # One of all along the new dimension is on.
    totals = constant_rules.totals_along([new], Total)
    return [ByAxis(indices, constant_totals=totals), *rules.others_free(step, 1)]


def _sequence(states: int) -> Rule:
    """An LSTM, GRU or RNN: [batch, time, features], states [batch, directions, features]."""

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        # Lengths may end a row before its last time.
        data: list[int | Fate] = [0, 2, GONE] if not output else [0, MOVED, GONE]
        state: list[int | Fate] = [0, 1, 3] if not output else [0, 1, 2]
        looks = () if output else [1]
        ends_early = not output and gap_rules.ends_early(step, states + 1, 1)
        has_gaps = ends_early or constant_rules.has_silent_units(step, states + 2)
        moves: list[Moves | None] = [ByAxis(data, looks, has_gaps=has_gaps)]
        moves += [ByAxis(state, [2], has_gaps=has_gaps) for _ in range(states)]
        moves.append(ByAxis([0]))
        return [*moves, *rules.others_free(step, states + 2)]

    return rule


def _cell(states: int) -> Rule:
    """One step of it: [batch, features], states [batch, features]."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        has_gaps = constant_rules.has_silent_units(step, states + 1)
        moves: list[Moves | None] = [ByAxis([0, GONE], has_gaps=has_gaps)]
        moves += [ByAxis([0, 1], [1], has_gaps=has_gaps) for _ in range(states)]
        return [*moves, *rules.others_free(step, states + 1)]

    return rule


def _attention(step: Step, output: int) -> Sequence[Moves | None]:
    rank = step.rank(0)
    if step.rank(1) != rank or step.rank(2) != rank:
        raise UnclearError("has queries, keys and values of several ranks")
    same: list[int | Fate] = list(range(rank - 2))
    # A causal one lets a query see as many keys as its own index says.
    is_causal = step.number("causal", 0) != 0
    numbered = [rank - 2] if is_causal else []
    # A mask may keep a query from some keys.
    keys = MOVED if is_causal or step.has(3) else GONE
    count = (step.dims[1] or ())[rank - 2]
    # What sees one key gives its value, whatever it asks.
    may_be_one = keys is MOVED or not constant_rules.are_several_or_rows(step, count)
    query = ByAxis(
        [*same, rank - 2, GONE],
        ones=step.ones(0),
        numbered=numbered,
        may_say_nothing=may_be_one,
    )
    key = ByAxis([*same, keys, GONE], ones=step.ones(1), may_say_nothing=may_be_one)
    is_of_none = constant_rules.may_be_over_nothing(step, 1, [rank - 2], output)
    value = ByAxis([*same, keys, rank - 1], ones=step.ones(2), may_say_nothing=is_of_none)
    moves: list[Moves | None] = [query, key, value]
    if step.has(3):
        whole: list[int | Fate] = [*same, rank - 2, GONE]
        own = whole[rank - step.rank(3) :]
        moves.append(ByAxis(own, ones=step.ones(3), may_say_nothing=True))
    return [*moves, *rules.others_free(step, 4)]


def _elementwise(step: Step, output: int) -> Sequence[Moves | None]:
    """As ONNX's operators, unless an attribute says that inputs are broadcast as PaddlePaddle does.

    There the dimensions of a lesser input begin at an axis of the first. The CPU does so for some
    operators; others, as Subtract and Less, it broadcasts as NumPy does all the same.
    """
    if step.text("auto_broadcast") != "pdpd":
        return rules.elementwise(step, output)
    rank = step.rank_made(output)
    first = step.number("auto_broadcast.auto_broadcast_axis", -1)
    moves: list[Moves | None] = []
    for index, known in enumerate(step.known):
        start = rank - step.rank(index)
        if start == 0 or first in (-1, start):
            moves.append(rules.aligned(step, index, rank))
        elif known is None or not known.is_placed:
            behind = range(first, first + step.rank(index))
            moves.append(ByAxis(behind, ones=step.ones(index)))
        else:
            raise UnclearError("broadcasts rows in a way of which runtimes have several")
    return moves


def _compared(step: Step, output: int) -> Sequence[Moves | None]:
    # It refuses what draws must not be compared with.
    rules.compared(step, output)
    return _elementwise(step, output)


def _sloped(step: Step, output: int) -> Sequence[Moves | None]:
    """A PRelu: slopes of one dimension as long as the second of the data belong to that one."""
    rank = step.rank(0)
    if rank < 3 or step.rank(1) != 1:
        return rules.elementwise(step, output)
    known = step.known[1]
    if known is None or not known.is_placed:
        return [rules.kept(step), ByAxis([1], ones=step.ones(1))]
    data, slopes = step.dims[0] or (), step.dims[1] or ()
    if slopes[0] is None or slopes[0] != data[1]:
        raise UnclearError("has slopes of which only a run knows to which dimension they belong")
    return [rules.kept(step), ByAxis([1])]


def _broadcast(step: Step, _: int) -> Sequence[Moves | None]:
    rank = step.rank_made()
    mode = step.text("mode")
    if mode == "pdpd" and step.rank(0) != rank:
        raise UnclearError("broadcasts in a way that is not followed")
    # What opset 1 calls none is explicit.
    if mode in ("explicit", "none"):
        axes = step.said(2, "axes")
        if len(axes) != step.rank(0):
            raise UnclearError("has other axes than one for each dimension")
        return [ByAxis(axes, ones=step.ones(0)), UNREAD, UNREAD]
    return [rules.aligned(step, 0, rank), UNREAD]


def _like_the_first(step: Step, _: int) -> Sequence[Moves | None]:
    return [rules.kept(step), *[UNREAD] * (len(step.known) - 1)]


def _put_at_axis(step: Step, _: int) -> Sequence[Moves | None]:
    """A ScatterUpdate: slices of a dimension are replaced."""
    axis = rules.axis_of(step, step.said(3, "an axis")[0])
    more = step.rank(1) - 1
    updates: list[int | Fate] = []
    for own in range(step.rank(2)):
        if own < axis:
            updates.append(own)
        else:
            updates.append(MOVED if own <= axis + more else own - more)
    indices: list[int | Fate] = [MOVED] * step.rank(1)
    return [rules.kept(step, 0, [axis]), ByAxis(indices), ByAxis(updates)]


def _softmax_axes(step: Step) -> Collection[int]:
    return [rules.axis_of(step, step.number("axis", 1))]


def _batch_norm(step: Step, _: int) -> Sequence[Moves | None]:
    return [rules.kept(step), *rules.others_free(step, 1)]


def _named(names: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


_ELEMENTWISE = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor Ceiling Clamp Convert Cos Cosh Divide Elu Erf Exp
    FakeConvert FakeQuantize Floor FloorMod Gelu HSigmoid HSwish HardSigmoid
    Identity IsFinite IsInf IsNaN Log LogicalAnd LogicalNot LogicalOr LogicalXor
    Maximum Minimum Mish Mod Multiply Negative Power ReLU Relu Round Select Selu
    Sigmoid Sign Sin Sinh SoftPlus SoftSign Sqrt SquaredDifference Subtract Swish Tan Tanh
    ConvertPromoteTypes
"""
_COMPARISONS = "Equal Greater GreaterEqual Less LessEqual NotEqual"
_EXTREMES = "ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMin ReduceProd"

_SAMPLED = rules.by_table(([0, 1, MOVED, MOVED], [0, 2, 3, GONE]))

_LINEAR = constant_rules.linear(_elementwise)
_REDUCED = rules.reduced(_axis_given(1), _keeps)

RULES: dict[str, Rule] = {
    **_named(_ELEMENTWISE, _elementwise),
    **_named("Convert Identity Negative", _LINEAR),
    "Exp": constant_rules.exponential(_elementwise),
    "Log": constant_rules.logarithm(_elementwise),
    **_named("Add Subtract", constant_rules.added(_LINEAR)),
    **_named("BitwiseAnd LogicalAnd Multiply", constant_rules.absorbed(_LINEAR, masks.SCALES)),
    **_named("BitwiseLeftShift BitwiseRightShift", constant_rules.absorbed(_LINEAR, masks.SHIFTS)),
    "BitwiseOr": constant_rules.absorbed(_elementwise, masks.BITS),
    "Clamp": constant_rules.clipped(_elementwise),
    "Divide": constant_rules.absorbed(_LINEAR, masks.QUOTIENT),
    "HardSigmoid": constant_rules.absorbed(_elementwise, (None, masks.WEIGHS)),
    "LogicalOr": constant_rules.absorbed(_elementwise, masks.IS_TRUE),
    "Maximum": constant_rules.absorbed(_elementwise, masks.HIGHEST),
    "Minimum": constant_rules.absorbed(_elementwise, masks.LOWEST),
    **_named("FloorMod Mod", constant_rules.absorbed(_elementwise, masks.REST)),
    "Power": constant_rules.absorbed(_elementwise, masks.POWER),
    "Select": constant_rules.chosen(_elementwise),
    "SquaredDifference": constant_rules.absorbed(_elementwise, masks.ENDLESS),
    **_named(_COMPARISONS, constant_rules.absorbed(_compared, masks.ENDLESS)),
    "PRelu": _sloped,
    **_named("ReduceL1 ReduceSum", constant_rules.totalled(_REDUCED, Total.SUM)),
    "ReduceL2": constant_rules.totalled(_REDUCED, Total.SQUARES),
    **_named(_EXTREMES, constant_rules.totalled(_REDUCED, Total.EXTREMES)),
    "ReduceMean": constant_rules.totalled(_REDUCED, Total.SUM, is_mean=True),
    "ConvertLike": _like_the_first,
    "Broadcast": _broadcast,
    **_named("Eye Range ShapeOf", rules.size_alone),
    **_named("NonMaxSuppression NonZero Unique", rules.nowhere),
    "LogSoftmax": constant_rules.shared_out(_softmax_axes, [Total.EXPONENTIALS]),
    **_named("Softmax SoftMax", constant_rules.shared_out(_softmax_axes, [Total.SUM])),
    "CumSum": gap_rules.cumulated(_axis_given(1), Total.SUM),
    "MVN": constant_rules.without_mean(rules.looking(_axis_given(1)), _axis_given(1)),
    "NormalizeL2": constant_rules.of_length_one(rules.looking(_axis_given(1)), _axis_given(1)),
    "LRN": rules.looking(_axis_given(1)),
    "BatchNormInference": constant_rules.absorbed(_batch_norm, (None, masks.WEIGHS)),
    "GroupNormalization": constant_rules.without_mean(
        rules.normalised(rules.behind_first, 1), rules.behind_first, 1
    ),
    "Transpose": rules.turned(_order),
    "Reshape": rules.in_order,
    "Squeeze": rules.squeezed(_squeezed_axes),
    "Unsqueeze": rules.unsqueezed(_new_axes),
    "Slice": gap_rules.sliced(_slices),
    "StridedSlice": gap_rules.cut_off(_strided, _strided_slices),
    "Pad": gap_rules.padded(_padded_axes, "pad_mode", _pads),
    "Tile": rules.tiled(_repeats),
    "Roll": rules.cut(_axis_given(2)),
    "TopK": constant_rules.greatest(rules.axis_said(-1)),
    **_named("Split VariadicSplit", rules.split(_axis_given(1), rules.count_made)),
    "Concat": rules.joined(_joined_axes),
    **_named("DepthToSpace SpaceToDepth", rules.cut(rules.behind_first)),
    "ShuffleChannels": rules.cut(rules.axis_said(1)),
    "ReverseSequence": _reversed_sequence,
    "OneHot": _one_hot,
    "Gather": _gather,
    "GatherElements": index_rules.picked_along(rules.axis_said(0)),
    "GatherND": _gathered_at,
    "ScatterElementsUpdate": index_rules.put_along(_axis_given(3)),
    "ScatterNDUpdate": index_rules.put_at,
    "ScatterUpdate": _put_at_axis,
    "MatMul": constant_rules.summed(rules.multiplied(_turns)),
    "Einsum": constant_rules.summed(rules.of_equation),
    **_named("Convolution GroupConvolution", gap_rules.convolved),
    **_named("ConvolutionBackpropData GroupConvolutionBackpropData", gap_rules.convolved_back),
    "DeformableConvolution": gap_rules.gappy(rules.convolved),
    **_named("AdaptiveAvgPool AdaptiveMaxPool", rules.pooled),
    "AvgPool": gap_rules.pooled(rules.pooled, Total.SUM),
    "MaxPool": gap_rules.pooled(rules.pooled, Total.EXTREMES),
    "ROIAlign": rules.by_table(([MOVED, 1, MOVED, MOVED], [0, GONE], [0])),
    "GridSample": gap_rules.gappy(_SAMPLED, gap_rules.is_sampled_outside),
    "Interpolate": rules.resized(_interpolated),
    "LSTMSequence": _sequence(2),
    **_named("GRUSequence RNNSequence", _sequence(1)),
    "LSTMCell": _cell(2),
    **_named("GRUCell RNNCell", _cell(1)),
    "ScaledDotProductAttention": _attention,
    **_named("DFT IDFT IRDFT", rules.cut(_complex_axes)),
    "RDFT": rules.cut(_axis_given(1)),
    # Col2Im and STFT may have no batch.
    "Col2Im": rules.first_stays(0, least_rank=3),
    "ExtractImagePatches": gap_rules.gappy(rules.first_stays(0)),
    "STFT": rules.first_stays(0, least_rank=2),
}
"""By the names of their types."""


ELEMENTWISE = frozenset(f"{_ELEMENTWISE} {_COMPARISONS} PRelu".split())
"""Those whose inputs are broadcast to each other."""
CUT: dict[str, rules.Axes] = {"Slice": _sliced_axes, "StridedSlice": _strided_axes}
"""Which dimensions an operator does not leave whole."""
_DEEDS = {
    "Concat": "puts rows of {} and of others one behind the other",
    "Reshape": "mixes the rows of {} with what stands before them",
    "ReverseSequence": "turns the rows of {} round",
    **dict.fromkeys(("Roll", "ShuffleChannels"), "moves the rows of {}"),
    "Tile": "repeats the rows of {}",
    **dict.fromkeys(
        ("Gather", "GatherElements", "GatherND", "TopK"),
        "orders the rows of {} by their values, or by numbers",
    ),
    **dict.fromkeys(("Slice", "StridedSlice"), "takes some of the rows of {}, or turns them round"),
    **dict.fromkeys(("Split", "VariadicSplit"), "parts the rows of {}"),
}


def meeting_of(kind: str) -> Meeting:
    """How an operator makes its output's elements of its inputs."""
    return rules.meeting_of(kind, ELEMENTWISE)


def deed_of(kind: str, name: str) -> str:
    """What an operator does to rows, in words, given the name of its first input."""
    return _DEEDS.get(kind, REORDERS).format(repr(name))
