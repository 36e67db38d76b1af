"""What each operator of ONNX does to the dimensions of its inputs: a line each.

`tests/rows/test_rows_of_operators.py` compares the tables with ONNX's own list of its operators.
"""

from __future__ import annotations

from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import MICROSOFT
from onnx_philox._rewriting.in_onnx.rows import fused_rules, node_rules
from onnx_philox._rewriting.rows import constant_rules, gap_rules, index_rules, masks, rules
from onnx_philox._rewriting.rows.known import Total
from onnx_philox._rewriting.rows.moves import REORDERS
from onnx_philox._rewriting.rows.step import Rule
from onnx_philox._rewriting.rows.where_dimensions_go import GONE, MOVED

_ELEMENTWISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr
    BitwiseXor Cast Ceil Celu Clip Cos Cosh Div Elu Erf Exp Floor Gelu
    HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Max
    Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal RegexFullMatch Relu Round Selu Shrink
    Sigmoid Sign Sin Sinh Softplus Softsign Sqrt StringConcat Sub Sum SwiGLU Swish Tan Tanh
    ThresholdedRelu Where Xor
"""
_COMPARISONS = "Equal Greater GreaterOrEqual Less LessOrEqual"
_SUMS = "ReduceL1 ReduceLogSum ReduceSum"
_SQUARES = "ReduceL2 ReduceSumSquare"
_EXTREMES = "ReduceMax ReduceMin ReduceProd"
_SIZE_ALONE = "EyeLike Shape Size"
_SHAPE_ALONE = "ConstantOfShape RandomNormalLike RandomUniformLike"
_NUMBERS = "BlackmanWindow HammingWindow HannWindow MelWeightMatrix Range"
_OF_ITS_OWN_ORDER = "NonMaxSuppression NonZero Unique"


def _named(names: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


def _scaled(axes: rules.Axes, channel: int | None) -> Rule:
    """A normalisation with a scale and a bias."""
    return constant_rules.without_mean(rules.normalised(axes, channel), axes, 1)


def _pooled_to_one(*totals: Total) -> Rule:
    """A pool over all of each channel."""
    rule = rules.reduced(rules.spatial_axes, node_rules.always)
    return constant_rules.totalled(rule, *totals, is_mean=True)


_LINEAR = constant_rules.linear(rules.elementwise)
_REDUCED = rules.reduced(node_rules.axes_of, node_rules.keeps)
_PRODUCT = constant_rules.summed(rules.multiplied(node_rules.plain))

RULES: dict[str, Rule] = {
    **_named(_ELEMENTWISE, rules.elementwise),
    **_named("Cast Identity Neg", _LINEAR),
    "Exp": constant_rules.exponential(rules.elementwise),
    "Log": constant_rules.logarithm(rules.elementwise),
    **_named("Add Mean Sub Sum", constant_rules.added(_LINEAR)),
    **_named("And BitwiseAnd Mul", constant_rules.absorbed(_LINEAR, masks.SCALES)),
    **_named("BitShift", constant_rules.absorbed(_LINEAR, masks.SHIFTS)),
    "BitwiseOr": constant_rules.absorbed(rules.elementwise, masks.BITS),
    "Clip": constant_rules.clipped(rules.elementwise),
    "Div": constant_rules.absorbed(_LINEAR, masks.QUOTIENT),
    "HardSigmoid": constant_rules.flat(rules.elementwise, "alpha"),
    "Max": constant_rules.absorbed(rules.elementwise, masks.HIGHEST),
    "Min": constant_rules.absorbed(rules.elementwise, masks.LOWEST),
    "Mod": constant_rules.absorbed(rules.elementwise, masks.REST),
    "Or": constant_rules.absorbed(rules.elementwise, masks.IS_TRUE),
    "Pow": constant_rules.absorbed(rules.elementwise, masks.POWER),
    "Where": constant_rules.chosen(rules.elementwise),
    **_named(_COMPARISONS, constant_rules.absorbed(rules.compared, masks.ENDLESS)),
    "Expand": node_rules.expanded,
    **_named("CastLike Dropout", node_rules.first_alone),
    **_named(_SUMS, constant_rules.totalled(_REDUCED, Total.SUM)),
    "ReduceLogSumExp": constant_rules.totalled(_REDUCED, Total.EXPONENTIALS),
    **_named(_SQUARES, constant_rules.totalled(_REDUCED, Total.SQUARES)),
    **_named(_EXTREMES, constant_rules.totalled(_REDUCED, Total.EXTREMES)),
    "ReduceMean": constant_rules.totalled(_REDUCED, Total.SUM, is_mean=True),
    **_named("ArgMax ArgMin", rules.reduced(rules.axis_said(0), node_rules.keeps)),
    "GlobalAveragePool": _pooled_to_one(Total.SUM),
    "GlobalLpPool": _pooled_to_one(Total.SUM, Total.SQUARES),
    "GlobalMaxPool": _pooled_to_one(Total.EXTREMES),
    "Det": rules.reduced(node_rules.in_matrix, node_rules.never),
    **_named(_SIZE_ALONE, rules.size_alone),
    **_named(_SHAPE_ALONE, rules.shape_alone),
    "Trilu": gap_rules.triangle,
    **_named(_NUMBERS, rules.one_for_all),
    **_named(_OF_ITS_OWN_ORDER, rules.nowhere),
    "Hardmax": constant_rules.shared_out(node_rules.softmax_axes, Total),
    "LogSoftmax": constant_rules.shared_out(node_rules.softmax_axes, [Total.EXPONENTIALS]),
    "Softmax": constant_rules.shared_out(node_rules.softmax_axes, [Total.SUM]),
    "LpNormalization": constant_rules.of_length_one(
        rules.looking(rules.axis_said(-1)), rules.axis_said(-1)
    ),
    "LRN": rules.looking(node_rules.channels),
    "MeanVarianceNormalization": constant_rules.without_mean(
        rules.looking(node_rules.mvn_axes), node_rules.mvn_axes
    ),
    "CumProd": gap_rules.cumulated(rules.axis_given(1), Total.EXTREMES),
    "CumSum": gap_rules.cumulated(rules.axis_given(1), Total.SUM),
    "DynamicQuantizeLinear": rules.normalised(rules.all_axes, None),
    "BatchNormalization": _scaled(node_rules.batch_norm_axes, 1),
    "InstanceNormalization": _scaled(rules.spatial_axes, 1),
    "GroupNormalization": _scaled(rules.behind_first, 1),
    "LayerNormalization": _scaled(rules.from_axis(-1), None),
    "RMSNormalization": constant_rules.of_length_one(
        rules.normalised(rules.from_axis(-1), None), rules.from_axis(-1), 1
    ),
    "Transpose": rules.turned(node_rules.order),
    **_named("Flatten Reshape", rules.in_order),
    "Squeeze": rules.squeezed(node_rules.axes_or_none),
    "Unsqueeze": rules.unsqueezed(node_rules.new_axes),
    "Slice": gap_rules.sliced(node_rules.cuts),
    "Pad": gap_rules.padded(node_rules.padded_axes, "mode", node_rules.pads),
    "Tile": rules.tiled(node_rules.repeats),
    "CenterCropPad": gap_rules.gappy(rules.cut(node_rules.cropped_axes)),
    "TopK": constant_rules.greatest(rules.axis_said(-1)),
    "Split": rules.split(node_rules.split_axes, rules.count_made),
    "Concat": rules.joined(node_rules.joined_axes),
    **_named("DFT", rules.cut(node_rules.fourier_axes)),
    **_named("DepthToSpace SpaceToDepth", rules.cut(rules.behind_first)),
    "Compress": node_rules.compressed,
    "ReverseSequence": node_rules.reversed_sequence,
    "OneHot": node_rules.one_hot,
    "Gather": index_rules.picked(node_rules.gather_axis, node_rules.no_batch_dims),
    "GatherElements": index_rules.picked_along(rules.axis_said(0)),
    "GatherND": index_rules.picked_at(node_rules.batch_dims),
    **_named("Scatter ScatterElements", index_rules.put_along(rules.axis_said(0))),
    "ScatterND": index_rules.put_at,
    "MatMul": _PRODUCT,
    "MatMulInteger": _PRODUCT,
    "QLinearMatMul": node_rules.quantised_product,
    "Gemm": node_rules.GEMM,
    "Einsum": constant_rules.summed(rules.of_equation),
    **_named("Conv ConvInteger QLinearConv", gap_rules.convolved),
    "ConvTranspose": gap_rules.convolved_back,
    "DeformConv": gap_rules.gappy(rules.convolved),
    "AveragePool": gap_rules.pooled(rules.pooled, Total.SUM),
    "LpPool": gap_rules.pooled(rules.pooled, Total.SUM, Total.SQUARES),
    "MaxPool": gap_rules.pooled(rules.pooled, Total.EXTREMES),
    "MaxRoiPool": rules.by_table(([MOVED, 1, MOVED, MOVED], [0, GONE])),
    "RoiAlign": node_rules.OF_REGIONS,
    "GridSample": gap_rules.gappy(node_rules.sampled, gap_rules.is_sampled_outside),
    "Resize": rules.resized(node_rules.kept_scales, 3),
    "Upsample": rules.resized(node_rules.kept_scales),
    **_named("GRU LSTM RNN", node_rules.recurrent),
    "Attention": node_rules.attention,
    "RotaryEmbedding": node_rules.rotated,
    **_named("DequantizeLinear QuantizeLinear", node_rules.quantised),
    **_named("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", node_rules.lost_of_classes),
    **_named("AffineGrid Col2Im STFT", rules.first_stays(0)),
    "CausalConvWithState": rules.first_stays(0, 3),
    "LinearAttention": rules.first_stays(*range(6)),
    "TensorScatter": gap_rules.gappy(rules.first_stays(0, 1, 2), gap_rules.is_over_others),
    "MaxUnpool": rules.nowhere,
    "StringNormalizer": rules.cut(node_rules.unless_one),
    "StringSplit": rules.cut(rules.no_axes),
    "TfIdfVectorizer": rules.cut(node_rules.unless_one),
}
"""Of ONNX's own domain, by their names."""

ELEMENTWISE = frozenset(f"{_ELEMENTWISE} {_COMPARISONS}".split()) | fused_rules.ELEMENTWISE
"""Those whose inputs are broadcast to each other."""
_DEEDS = {
    "Concat": "puts rows of {} and of others one behind the other",
    "Flatten": "mixes the rows of {} with what stands before them",
    "Reshape": "mixes the rows of {} with what stands before them",
    "ReverseSequence": "turns the rows of {} round",
    "Slice": "takes some of the rows of {}, or turns them round",
    "Split": "parts the rows of {}",
    "SplitToSequence": "parts the rows of {}",
    "Tile": "repeats the rows of {}",
    **dict.fromkeys(
        ("Compress", "Gather", "GatherElements", "GatherND", "NonZero", "TopK", "Unique"),
        "orders the rows of {} by their values, or by numbers",
    ),
    **dict.fromkeys(
        ("MaxUnpool", "Scatter", "ScatterElements", "ScatterND"),
        "puts rows to places that numbers say",
    ),
}


def deed_of(kind: str, name: str) -> str:
    """What an operator does to rows, in words, given the name of its first input."""
    return _DEEDS.get(kind, REORDERS).format(repr(name))


RULES["SimplifiedLayerNormalization"] = _scaled(rules.from_axis(-1), None)

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
    return fused_rules.RULES.get(kind) if domain == MICROSOFT else None
