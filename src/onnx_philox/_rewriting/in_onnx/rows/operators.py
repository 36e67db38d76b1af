"""What each operator of ONNX does to the dimensions of its inputs: a line each.

`tests/test_rows_of_operators.py` compares the tables with ONNX's own list of its operators.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from onnx_philox._models.graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import MICROSOFT
from onnx_philox._rewriting.rows import rules
from onnx_philox._rewriting.rows.moves import (
    GONE,
    MOVED,
    REORDERS,
    ByAxis,
    Fate,
    Moves,
    Rule,
    Step,
    UnclearError,
)


def _axes_of(step: Step) -> Collection[int]:
    """The axes of a reduction: an attribute or an input; all where neither says any."""
    said = step.ints("axes")
    if said is None and step.has(1):
        said = step.said(1, "axes")
    if not said:
        return () if step.number("noop_with_empty_axes", 0) else rules.all_axes(step)
    return [rules.axis_of(step, axis) for axis in said]


def _keeps(step: Step) -> bool:
    return step.number("keepdims", 1) != 0


def _softmax_axes(step: Step) -> Collection[int]:
    """Before opset 13 all dimensions from the axis on are one."""
    if step.opset < 13:
        return rules.from_axis(1)(step)
    return rules.axis_said(-1)(step)


def _axes_or_none(step: Step) -> Sequence[int] | None:
    """The axes of a Squeeze: where nobody says them, they are those of one element."""
    said = step.ints("axes")
    if said is None and step.has(1):
        said = step.said(1, "axes")
    return said


def _new_axes(step: Step) -> Sequence[int]:
    said = step.ints("axes")
    return step.said(1, "axes") if said is None else said


def _sliced_axes(step: Step) -> Collection[int]:
    """The axes of which a Slice does not take all, in order."""
    dims = step.dims[0]
    if step.opset < 10:
        starts, ends = step.ints("starts") or (), step.ints("ends") or ()
        axes, steps = step.ints("axes"), None
    else:
        axes = step.said(3, "axes") if step.has(3) else None
        steps = step.said(4, "steps") if step.has(4) else None
        starts, ends = step.numbers(1) or (), step.numbers(2) or ()
    if dims is None:
        raise UnclearError("has an input whose shape nobody knows")
    if axes is None and not starts:
        return rules.all_axes(step)
    axes = list(range(len(starts))) if axes is None else [rules.axis_of(step, a) for a in axes]
    found = []
    for i, axis in enumerate(axes):
        start = starts[i] if i < len(starts) else None
        end = ends[i] if i < len(ends) else None
        by = 1 if steps is None else steps[i]
        if not rules.is_whole(start, end, by, dims[axis]):
            found.append(axis)
    return found


def _padded_axes(step: Step) -> Collection[int]:
    pads = step.ints("pads") or step.ints("paddings")
    if pads is None:
        numbers = step.numbers(1)
        if numbers is None and not step.has(3):
            raise UnclearError("has pads that only a run knows")
    else:
        numbers = list(pads)
    axes = list(rules.all_axes(step))
    if step.has(3):
        axes = [rules.axis_of(step, axis) for axis in step.said(3, "axes")]
    if numbers is None:
        return axes
    half = len(axes)
    if len(numbers) != 2 * half:
        raise UnclearError("has another number of pads than two for each dimension")
    return [a for i, a in enumerate(axes) if (numbers[i], numbers[half + i]) != (0, 0)]


def _tiled_axes(step: Step) -> Collection[int]:
    repeats = step.numbers(1)
    if repeats is None or step.opset < 6:
        raise UnclearError("has repeats that only a run knows")
    return [axis for axis, repeat in enumerate(repeats) if repeat != 1]


def _split_axes(step: Step) -> Collection[int]:
    return rules.axis_said(0)(step)


def _joined_axes(step: Step) -> Collection[int]:
    there = next(i for i in range(len(step.known)) if step.has(i))
    return [rules.axis_of(step, step.number("axis", 1), there)]


def _kept_scales(step: Step) -> Sequence[bool]:
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
    if sizes is not None and len(sizes) == len(axes):
        for axis, size in zip(axes, sizes, strict=True):
            same[axis] = size is not None and size == dims[axis]
        return same
    if scales is not None and len(scales) == len(axes):
        for axis, scale in zip(axes, scales, strict=True):
            same[axis] = scale == 1
        return same
    raise UnclearError("has scales that only a run knows")


def _order(step: Step) -> Sequence[int] | None:
    return step.ints("perm")


def _gemm(step: Step, output: int) -> Sequence[Moves | None]:
    def turns(step: Step) -> tuple[bool, bool]:
        return step.number("transA", 0) != 0, step.number("transB", 0) != 0

    first, second = rules.multiplied(turns)(_of_two(step), output)
    return [first, second, rules.aligned(step, 2, 2) if step.has(2) else None]


def _of_two(step: Step) -> Step:
    """The same operator without the inputs behind the second."""
    return replace(step, known=step.known[:2], dims=step.dims[:2])


def _expanded(step: Step, output: int) -> Sequence[Moves | None]:
    return [rules.aligned(step, 0, step.rank_made(output)), None]


def _first_alone(step: Step, output: int) -> Sequence[Moves | None]:
    """The first input; the mask of a Dropout that drops nothing is true everywhere."""
    first = None if output else rules.kept(step)
    return [first, *[None] * (len(step.known) - 1)]


def _plain(_: Step) -> tuple[bool, bool]:
    return False, False


def _fused_turns(step: Step) -> tuple[bool, bool]:
    if step.number("transBatchA", 0) or step.number("transBatchB", 0):
        raise UnclearError("turns its batches")
    return step.number("transA", 0) != 0, step.number("transB", 0) != 0


def _quantised_product(step: Step, output: int) -> Sequence[Moves | None]:
    """A, its scale and zero point, B, its scale and zero point, those of the output."""
    for known in (*step.known[1:3], *step.known[4:]):
        if known is not None and known.is_placed:
            raise UnclearError("has a parameter that depends on rows of the batch")
    two = replace(
        step, known=[step.known[0], step.known[3]], dims=[step.dims[0], step.dims[3]]
    )
    first, second = rules.multiplied(_plain)(two, output)
    return [first, None, None, second]


def _gather_axis(step: Step) -> int:
    return step.number("axis", 0)


def _no_batch_dims(_: Step) -> int:
    return 0


def _batch_dims(step: Step) -> int:
    return step.number("batch_dims", 0)


def _reversed_sequence(step: Step, _: int) -> Sequence[Moves | None]:
    time, batch = step.number("time_axis", 0), step.number("batch_axis", 1)
    to: list[int | Fate] = [MOVED if axis == time else axis for axis in rules.all_axes(step)]
    return [ByAxis(to), ByAxis([batch])]


def _compressed(step: Step, output: int) -> Sequence[Moves | None]:
    if step.ints("axis") is None:
        return rules.nowhere(step, output)
    return [rules.cut(rules.axis_said())(step, output)[0], ByAxis([MOVED])]


def _one_hot(step: Step, _: int) -> Sequence[Moves | None]:
    rank = step.rank(0) + 1
    new = step.number("axis", -1) % rank
    indices = [axis if axis < new else axis + 1 for axis in rules.all_axes(step)]
    return [ByAxis(indices), *rules.others_free(step, 1)]


def _sampled(step: Step, _: int) -> Sequence[Moves | None]:
    """A GridSample: the grid says for each row where to look in it."""
    spatial = step.rank(0) - 2
    data: list[int | Fate] = [0, 1, *[MOVED] * spatial]
    return [ByAxis(data), ByAxis([0, *range(2, spatial + 2), GONE])]


def _of_regions(step: Step, _: int) -> Sequence[Moves | None]:
    """RoiAlign: a row for each region, which may be of any row of the data."""
    data: list[int | Fate] = [MOVED, 1, MOVED, MOVED]
    return [ByAxis(data), ByAxis([0, GONE]), ByAxis([0])]


def _recurrent(step: Step, output: int) -> Sequence[Moves | None]:
    """An LSTM, GRU or RNN: [time, batch, features], and states [direction, batch, features]."""
    is_batch_first = step.number("layout", 0) == 1
    data: list[int | Fate] = [0, 2, GONE] if not output else [GONE, 1, GONE]
    state: list[int | Fate] = [1, 2, 3] if not output else [0, 1, 2]
    lengths = 2 if not output else 1
    if is_batch_first:
        data = [0, 1, GONE] if not output else [0, GONE, GONE]
        state = [0, 2, 3] if not output else [0, 1, 2]
        lengths = 0
    looks = () if GONE in data[:2] else [1 if is_batch_first else 0]
    moves: list[Moves | None] = [ByAxis(data, looks), None, None, None]
    moves.append(ByAxis([lengths]))
    # The features of a state are looked along.
    moves += [ByAxis(state, [2]), ByAxis(state, [2]), None]
    for index in (1, 2, 3, 7):
        known = step.known[index] if index < len(step.known) else None
        if known is not None and known.is_placed:
            raise UnclearError("has weights that depend on rows of the batch")
    return moves


def _attention(step: Step, output: int) -> Sequence[Moves | None]:
    """Queries, keys, values [batch, heads, places, features], or [batch, places, features]."""
    if output:
        return rules.first_stays(step, output)
    ranks = [step.rank(index) for index in range(3)]
    if any(rank != ranks[0] for rank in ranks):
        raise UnclearError("has queries, keys and values of several ranks")
    is_flat = ranks[0] == 3
    query: list[int | Fate] = [0, 1, MOVED] if is_flat else [0, 1, 2, GONE]
    key: list[int | Fate] = [0, GONE, MOVED] if is_flat else [0, MOVED, GONE, GONE]
    value: list[int | Fate] = [0, GONE, MOVED] if is_flat else [0, MOVED, GONE, 3]
    if not is_flat and _has_equal_heads(step):
        key[1] = value[1] = 1
    moves: list[Moves | None] = [ByAxis(query), ByAxis(key), ByAxis(value)]
    if step.has(3):
        moves.append(_of_mask(step, is_flat=is_flat))
    else:
        moves.append(None)
    for index in range(4, len(step.known)):
        rest: list[int | Fate] = [MOVED] * (step.rank(index) - 1 if step.has(index) else 0)
        moves.append(ByAxis([0, *rest]) if step.has(index) else None)
    return moves


def _has_equal_heads(step: Step) -> bool:
    first, second = step.dims[0], step.dims[1]
    return bool(first and second and first[1] is not None and first[1] == second[1])


def _of_mask(step: Step, *, is_flat: bool) -> Moves:
    """Of [batch, heads, places, places], or its last dimensions."""
    whole: list[int | Fate] = [0, GONE, 1, GONE] if is_flat else [0, 1, 2, GONE]
    return ByAxis(whole[4 - step.rank(3) :], ones=step.ones(3))


def _rotated(step: Step, _: int) -> Sequence[Moves | None]:
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


def _quantised(step: Step, _: int) -> Sequence[Moves | None]:
    """Scales are one, one for each index of a dimension, or one for each block."""
    rank = step.rank(0)
    along = step.number("axis", 1) % max(rank, 1)
    moves: list[Moves | None] = [rules.kept(step)]
    for index in range(1, len(step.known)):
        own = step.rank(index) if step.has(index) else 0
        if own > 1:
            to: list[int | Fate] = [MOVED if a == along else a for a in range(own)]
        else:
            to = [along] * own
        moves.append(ByAxis(to, ones=step.ones(index)) if step.has(index) else None)
    return moves


def _lost_of_classes(step: Step, output: int) -> Sequence[Moves | None]:
    """A loss [batch, classes, ...] with labels [batch, ...]."""
    is_mean = step.text("reduction") != "none"
    ranks = range(step.rank(0)), range(step.rank(1))
    if output:
        return [rules.kept(step, 0, [1]), None, None]
    if is_mean:
        return [rules.gone(step, 0), rules.gone(step, 1)]
    scores: list[int | Fate] = [0, GONE, *ranks[0][1:-1]]
    return [ByAxis(scores), ByAxis(ranks[1])]


def _cropped_axes(step: Step) -> Collection[int]:
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


def _batch_norm_axes(step: Step) -> Collection[int]:
    """In training mode it looks along all dimensions but that of the channels."""
    is_old = step.opset < 14
    # Before opset 7 an attribute says so, and from opset 7 to 13 more outputs than one.
    training = step.number("training_mode", 0) if not is_old else len(step.made) > 1
    if step.opset < 7:
        training = step.number("is_test", 0) == 0
    return [axis for axis in rules.all_axes(step) if axis != 1] if training else ()


def _mvn_axes(step: Step) -> Collection[int]:
    said = step.ints("axes")
    axes = (0, 2, 3) if said is None else said
    return [rules.axis_of(step, axis) for axis in axes]


def _fourier_axes(step: Step) -> Collection[int]:
    rank = step.rank(0)
    along = step.number("axis", 1)
    if step.opset >= 20:
        along = step.said(2, "an axis")[0] if step.has(2) else -2
    return {along % rank, rank - 1}


def _in_matrix(step: Step) -> Collection[int]:
    rank = step.rank(0)
    return [rank - 2, rank - 1]


def _never(_: Step) -> bool:
    return False


def _always(_: Step) -> bool:
    return True


def _unless_one(step: Step) -> Collection[int]:
    """The last dimensions of a string tensor, whose texts may be dropped."""
    return [step.rank(0) - 1]


_ELEMENTWISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr
    BitwiseXor Cast Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater
    GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max
    Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal RegexFullMatch Relu Round Selu Shrink
    Sigmoid Sign Sin Sinh Softplus Softsign Sqrt StringConcat Sub Sum SwiGLU Swish Tan Tanh
    ThresholdedRelu Trilu Where Xor
"""
_REDUCTIONS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
"""
_SIZE_ALONE = "ConstantOfShape EyeLike RandomNormalLike RandomUniformLike Shape Size"
_NUMBERS = "BlackmanWindow HammingWindow HannWindow MelWeightMatrix Range"
_OF_ITS_OWN_ORDER = "NonMaxSuppression NonZero Unique"


def _named(names: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


_PRODUCT = rules.multiplied(_plain)

RULES: dict[str, Rule] = {
    **_named(_ELEMENTWISE, rules.elementwise),
    "Expand": _expanded,
    **_named("CastLike Dropout", _first_alone),
    **_named(_REDUCTIONS, rules.reduced(_axes_of, _keeps)),
    **_named("ArgMax ArgMin", rules.reduced(rules.axis_said(0), _keeps)),
    **_named("GlobalAveragePool GlobalLpPool GlobalMaxPool", rules.reduced(rules.spatial_axes, _always)),
    "Det": rules.reduced(_in_matrix, _never),
    **_named(_SIZE_ALONE, rules.size_alone),
    **_named(_NUMBERS, rules.one_for_all),
    **_named(_OF_ITS_OWN_ORDER, rules.nowhere),
    **_named("Hardmax LogSoftmax Softmax", rules.looking(_softmax_axes)),
    **_named("LpNormalization", rules.looking(rules.axis_said(-1))),
    "LRN": rules.looking(lambda step: [1]),
    "MeanVarianceNormalization": rules.looking(_mvn_axes),
    **_named("CumProd CumSum", rules.looking(rules.axis_given(1))),
    "DynamicQuantizeLinear": rules.normalised(rules.all_axes, None),
    "BatchNormalization": rules.normalised(_batch_norm_axes, 1),
    "InstanceNormalization": rules.normalised(rules.spatial_axes, 1),
    "GroupNormalization": rules.normalised(lambda step: range(1, step.rank(0)), 1),
    **_named("LayerNormalization RMSNormalization", rules.normalised(rules.from_axis(-1), None)),
    "Transpose": rules.turned(_order),
    **_named("Flatten Reshape", rules.in_order),
    "Squeeze": rules.squeezed(_axes_or_none),
    "Unsqueeze": rules.unsqueezed(_new_axes),
    "Slice": rules.cut(_sliced_axes),
    "Pad": rules.cut(_padded_axes),
    "Tile": rules.cut(_tiled_axes),
    "CenterCropPad": rules.cut(_cropped_axes),
    "TopK": rules.cut(rules.axis_said(-1)),
    "Split": rules.split(_split_axes, lambda step: len(step.made)),
    "Concat": rules.joined(_joined_axes),
    **_named("DFT", rules.cut(_fourier_axes)),
    **_named("DepthToSpace SpaceToDepth", rules.cut(lambda step: range(1, step.rank(0)))),
    "Compress": _compressed,
    "ReverseSequence": _reversed_sequence,
    "OneHot": _one_hot,
    "Gather": rules.picked(_gather_axis, _no_batch_dims),
    "GatherElements": rules.picked_along(rules.axis_said(0)),
    "GatherND": rules.picked_at(_batch_dims),
    **_named("Scatter ScatterElements", rules.put_along(rules.axis_said(0))),
    "ScatterND": rules.put_at,
    "MatMul": _PRODUCT,
    "MatMulInteger": _PRODUCT,
    "QLinearMatMul": _quantised_product,
    "Gemm": _gemm,
    "Einsum": rules.of_equation,
    **_named("Conv ConvInteger ConvTranspose DeformConv QLinearConv", rules.convolved),
    **_named("AveragePool LpPool MaxPool", rules.pooled),
    "MaxRoiPool": rules.by_table(([MOVED, 1, MOVED, MOVED], [0, GONE])),
    "RoiAlign": _of_regions,
    "GridSample": _sampled,
    **_named("Resize Upsample", rules.resized(_kept_scales)),
    **_named("GRU LSTM RNN", _recurrent),
    "Attention": _attention,
    "RotaryEmbedding": _rotated,
    **_named("DequantizeLinear QuantizeLinear", _quantised),
    **_named("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", _lost_of_classes),
    **_named(
        "AffineGrid CausalConvWithState Col2Im LinearAttention MaxUnpool STFT TensorScatter",
        rules.first_stays,
    ),
    "StringNormalizer": rules.cut(_unless_one),
    "StringSplit": rules.cut(rules.no_axes),
    "TfIdfVectorizer": rules.cut(_unless_one),
}
"""Of ONNX's own domain, by their names."""

_DEEDS = {
    "Concat": "puts rows of {} and of others one behind the other",
    "Flatten": "mixes the rows of {} with what stands before them",
    "Reshape": "mixes the rows of {} with what stands before them",
    "ReverseSequence": "turns the rows of {} round",
    "Slice": "takes some of the rows of {}, or turns them round",
    "Split": "parts the rows of {}",
    "Tile": "repeats the rows of {}",
    **dict.fromkeys(
        ("Compress", "Gather", "GatherElements", "GatherND", "NonZero", "TopK", "Unique"),
        "orders the rows of {} by their values, or by numbers",
    ),
    **dict.fromkeys(
        ("Scatter", "ScatterElements", "ScatterND"), "puts rows to places that numbers say"
    ),
}


def deed_of(kind: str, name: str) -> str:
    """What an operator does to rows, in words, given the name of its first input."""
    return _DEEDS.get(kind, REORDERS).format(repr(name))


FOREIGN_RULES: dict[str, Rule] = {
    **_named("BiasGelu FastGelu Gelu QuickGelu BiasSoftmax", rules.elementwise),
    "FusedMatMul": rules.multiplied(_fused_turns),
}
"""Of ONNX Runtime's domain."""
RULES["SimplifiedLayerNormalization"] = rules.normalised(rules.from_axis(-1), None)

WITHOUT_A_RULE = {
    "ImageDecoder": "it gives one image",
    **dict.fromkeys(
        (
            "Bernoulli",
            "Multinomial",
            "RandomNormal",
            "RandomUniform",
        ),
        "a draw",
    ),
    "Constant": "it has no input",
    **dict.fromkeys(("If", "Loop", "Scan", "SequenceMap"), "the walk goes into its bodies"),
    **dict.fromkeys(
        (
            "ConcatFromSequence",
            "Optional",
            "OptionalGetElement",
            "OptionalHasElement",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SplitToSequence",
        ),
        "the walk follows sequences",
    ),
}
"""The operators of ONNX without a rule here, and why."""


def rule_of(domain: str, kind: str) -> Rule | None:
    """The rule of an operator; None where it has none."""
    if domain in STANDARD_DOMAINS:
        return RULES.get(kind)
    return FOREIGN_RULES.get(kind) if domain == MICROSOFT else None
