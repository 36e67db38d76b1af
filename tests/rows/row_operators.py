"""Small models in which one operator of ONNX stands between an input and a draw."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from tests.common.cases import parse


@dataclass(frozen=True)
class Between:
    """What makes f of x, and the noise r of f."""

    body: str
    dims: str = "N, 4, 6"
    kind: str = "float"
    """The type of x."""
    opset: int = 21
    needs_cast: bool = False
    """Whether f is no float."""

    @property
    def axis(self) -> int:
        return [size.strip() for size in self.dims.split(",")].index("N")

    @property
    def model(self) -> onnx.ModelProto:
        given = "c = Cast <to = 1> (f)" if self.needs_cast else "c = Identity (f)"
        model = parse(
            f"""g ({self.kind}[{self.dims}] x) => (float y, float r) {{ {self.body}
            {given} r = RandomUniformLike <dtype = 1> (c) y = Add (c, r) }}""",
            opset=self.opset,
            ir_version=10,
        )
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
        del model.graph.output[:]
        model.graph.output.extend(inferred)
        return model


def ints(name: str, *numbers: int) -> str:
    return f"{name} = Constant <value_ints = [{', '.join(map(str, numbers))}]> ()"


def floats(name: str, *shape: int, value: str = "1") -> str:
    """A constant of this shape, of one number."""
    of_shape = f"{name} = ConstantOfShape <value = float[1] {{{value}}}> (s_{name})"
    return f"{ints(f's_{name}', *shape)} {of_shape}"


ONE_TO_ONE = [
    "Abs",
    "Acos",
    "Asin",
    "Atan",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Hardmax",
    "Softmax",
    "Mish",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Clip",
    "Acosh",
    "Asinh",
    "Atanh",
    "LpNormalization",
    "Trilu",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "GlobalLpPool",
    "Flatten",
    "Transpose",
]
TWO = ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "PRelu"]
TESTS = ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]
REDUCED = [
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
]
MASK = "zero = Constant <value_float = 0.0> () a = Greater (x, zero)"
WEIGHTS = f"{floats('w', 1, 9, 6)} {floats('v', 1, 9, 3)}"

BETWEEN = {
    **{name: Between(f"f = {name} (x)") for name in ONE_TO_ONE},
    **{name: Between(f"f = {name} (x, x)") for name in TWO},
    **{name: Between(f"f = {name} (x, x)", needs_cast=True) for name in TESTS},
    **{name: Between(f"{ints('k', 1)} f = {name} (x, k)") for name in REDUCED},
    "And": Between(f"{MASK} f = And (a, a)", needs_cast=True),
    "Or": Between(f"{MASK} f = Or (a, a)", needs_cast=True),
    "Xor": Between(f"{MASK} f = Xor (a, a)", needs_cast=True),
    "Not": Between(f"{MASK} f = Not (a)", needs_cast=True),
    "IsInf": Between("f = IsInf (x)", needs_cast=True),
    "IsNaN": Between("f = IsNaN (x)", needs_cast=True),
    "Where": Between(f"{MASK} f = Where (a, x, zero)"),
    "Mod": Between("f = Mod <fmod = 1> (x, x)"),
    "Cast": Between("d = Cast <to = 11> (x) f = Cast <to = 1> (d)"),
    "CastLike": Between("i = Constant <value_int = 1> () f = CastLike (x, i)", needs_cast=True),
    "BitShift": Between(
        'i = Cast <to = 13> (x) f = BitShift <direction = "LEFT"> (i, i)', needs_cast=True
    ),
    "BitwiseAnd": Between("i = Cast <to = 6> (x) f = BitwiseAnd (i, i)", needs_cast=True),
    "BitwiseOr": Between("i = Cast <to = 6> (x) f = BitwiseOr (i, i)", needs_cast=True),
    "BitwiseXor": Between("i = Cast <to = 6> (x) f = BitwiseXor (i, i)", needs_cast=True),
    "BitwiseNot": Between("i = Cast <to = 6> (x) f = BitwiseNot (i)", needs_cast=True),
    "ArgMax": Between("f = ArgMax <axis = 1> (x)", needs_cast=True),
    "ArgMin": Between("f = ArgMin <axis = 2, keepdims = 0> (x)", needs_cast=True),
    "CumSum": Between("k = Constant <value_int = 1> () f = CumSum (x, k)"),
    "Reshape": Between(f"{ints('k', -1, 2, 2, 6)} f = Reshape (x, k)"),
    "Unsqueeze": Between(f"{ints('k', 1)} f = Unsqueeze (x, k)"),
    "Squeeze": Between(f"{ints('k', 1)} f = Squeeze (x, k)", "N, 1, 6"),
    "Expand": Between(f"{ints('k', 5, 1, 1, 1)} f = Expand (x, k)"),
    "Tile": Between(f"{ints('k', 1, 2, 1)} f = Tile (x, k)"),
    "Pad": Between(f"{ints('k', 0, 1, 0, 0, 0, 2)} f = Pad (x, k)"),
    "Slice": Between(f"{ints('a', 1)} {ints('b', 3)} {ints('k', 2)} f = Slice (x, a, b, k)"),
    "Split": Between("f, g2 = Split <axis = 1, num_outputs = 2> (x)"),
    "Concat": Between("f = Concat <axis = 1> (x, x)"),
    "Gather": Between(f"{ints('k', 3, 0)} f = Gather <axis = 1> (x, k)"),
    "GatherElements": Between(
        "z = Sub (x, x) i = Cast <to = 7> (z) f = GatherElements <axis = 2> (x, i)"
    ),
    "GatherND": Between(
        f"""i = ArgMax <axis = 1, keepdims = 0> (x) {ints("k", -1)} u = Unsqueeze (i, k)
        {ints("p", 0, 2, 1)} t = Transpose <perm = [0, 2, 1]> (x)
        f = GatherND <batch_dims = 2> (t, u)"""
    ),
    "ScatterElements": Between(
        "z = Sub (x, x) i = Cast <to = 7> (z) f = ScatterElements <axis = 2> (x, i, x)"
    ),
    "TopK": Between(f"{ints('k', 2)} f, i = TopK (x, k)"),
    "DepthToSpace": Between("f = DepthToSpace <blocksize = 2> (x)", "N, 8, 2, 3"),
    "SpaceToDepth": Between("f = SpaceToDepth <blocksize = 2> (x)", "N, 1, 4, 6"),
    "ReverseSequence": Between(
        f"""d = Shape <start = 0, end = 1> (x) {ints("k", 4)} l = Expand (k, d)
        f = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l)"""
    ),
    "Resize": Between("s = Constant <value_floats = [1.0, 1.0, 2.0]> () f = Resize (x, , s)"),
    "Upsample": Between(
        "s = Constant <value = float[4] {1, 1, 2, 2}> () f = Upsample (x, s)",
        "N, 2, 3, 4",
        opset=9,
    ),
    "OneHot": Between(
        """i = Cast <to = 7> (x) d = Constant <value_int = 5> ()
        v = Constant <value_floats = [0.0, 1.0]> () f = OneHot (i, d, v)"""
    ),
    "CenterCropPad": Between(f"{ints('k', 3, 5)} f = CenterCropPad <axes = [1, 2]> (x, k)"),
    "Col2Im": Between(f"{ints('i', 3, 3)} {ints('b', 2, 2)} f = Col2Im (x, i, b)", "N, 4, 4"),
    "MatMul": Between(f"{floats('w', 6, 5)} f = MatMul (x, w)"),
    "MatMul of two": Between("t = Transpose <perm = [0, 2, 1]> (x) f = MatMul (x, t)"),
    "Gemm": Between(f"{floats('w', 6, 5)} f = Gemm (x, w)", "N, 6"),
    "Gemm of a transposed": Between(f"{floats('w', 6, 5)} f = Gemm <transA = 1> (x, w)", "6, N"),
    "Einsum": Between(f'{floats("w", 6, 5)} f = Einsum <equation = "abc,cd->bad"> (x, w)'),
    "Conv": Between(f"{floats('w', 3, 4, 2)} f = Conv (x, w)"),
    "ConvTranspose": Between(f"{floats('w', 4, 3, 2)} f = ConvTranspose (x, w)"),
    "MatMulInteger": Between(
        f"""i = Cast <to = 2> (x) {floats("w", 6, 5)} j = Cast <to = 2> (w)
        f = MatMulInteger (i, j)""",
        needs_cast=True,
    ),
    "AveragePool": Between("f = AveragePool <kernel_shape = [2]> (x)"),
    "MaxPool": Between("f = MaxPool <kernel_shape = [2]> (x)"),
    "LpPool": Between("f = LpPool <kernel_shape = [2]> (x)"),
    "BatchNormalization": Between(f"{floats('s', 4)} f = BatchNormalization (x, s, s, s, s)"),
    "InstanceNormalization": Between(f"{floats('s', 4)} f = InstanceNormalization (x, s, s)"),
    "GroupNormalization": Between(
        f"{floats('s', 4)} f = GroupNormalization <num_groups = 2> (x, s, s)"
    ),
    "LayerNormalization": Between(f"{floats('s', 6)} f = LayerNormalization (x, s, s)"),
    "RMSNormalization": Between(f"{floats('s', 6)} f = RMSNormalization (x, s)", opset=23),
    "MeanVarianceNormalization": Between("f = MeanVarianceNormalization (x)", "N, 4, 3, 2"),
    "LRN": Between("f = LRN <size = 3> (x)", "N, 4, 3, 2"),
    "RNN": Between(
        f"{floats('w', 1, 3, 6)} {floats('v', 1, 3, 3)} f, h = RNN <hidden_size = 3> (x, w, v)",
        "4, N, 6",
    ),
    "GRU": Between(f"{WEIGHTS} f, h = GRU <hidden_size = 3> (x, w, v)", "4, N, 6"),
    "LSTM": Between(
        f"{floats('w', 2, 12, 6)} {floats('v', 2, 12, 3)} "
        'f, h, c2 = LSTM <hidden_size = 3, direction = "bidirectional"> (x, w, v)',
        "4, N, 6",
    ),
    "the last state of LSTM": Between(
        f"{floats('w', 1, 12, 6)} {floats('v', 1, 12, 3)} "
        "g2, f, c2 = LSTM <hidden_size = 3> (x, w, v)",
        "4, N, 6",
    ),
    "Attention": Between("f = Attention (x, x, x)", "N, 2, 4, 6", opset=23),
    "RotaryEmbedding": Between(
        f"""{floats("c2", 1, 4, 3)} d = Shape <start = 0, end = 1> (x) {ints("k", 4, 3)}
        e = Concat <axis = 0> (d, k) w = Expand (c2, e) f = RotaryEmbedding (x, w, w)""",
        "N, 2, 4, 6",
        opset=23,
    ),
    "Dropout": Between("f, m = Dropout (x)"),
    "QuantizeLinear": Between(
        """s = Constant <value_float = 0.1> () z = Constant <value = uint8 {7}> ()
        q = QuantizeLinear (x, s, z) f = DequantizeLinear (q, s, z)"""
    ),
    "DFT": Between("k = Constant <value_int = 1> () f = DFT (x, , k)", "N, 8, 1", opset=20),
    "Det": Between("t = Transpose <perm = [0, 2, 1]> (x) m = MatMul (x, t) f = Det (m)"),
    "GridSample": Between(
        f"""d = Shape <start = 0, end = 1> (x) {ints("k", 3, 3, 2)} e = Concat <axis = 0> (d, k)
        g2 = ConstantOfShape (e) f = GridSample (x, g2)""",
        "N, 2, 4, 4",
    ),
    "SequenceAt": Between(
        "s = SequenceConstruct (x, x) i = Constant <value_int = 1> () f = SequenceAt (s, i)"
    ),
    "ConcatFromSequence": Between(
        "s = SplitToSequence <axis = 1> (x) f = ConcatFromSequence <axis = 1> (s)"
    ),
    "SequenceInsert": Between(
        """s = SequenceConstruct (x) t = SequenceInsert (s, x) u = SequenceErase (t)
        f = ConcatFromSequence <axis = 1> (u)"""
    ),
    "SequenceMap": Between(
        """s = SequenceConstruct (x, x) t = SequenceMap (s) <body = b (float[N, 4, 6] v)
        => (float[N, 4, 6] w) { w = Neg (v) }>
        i = Constant <value_int = 0> () f = SequenceAt (t, i)"""
    ),
    "If": Between(
        """go = Constant <value = bool {1}> () f = If (go)
        <then_branch = t () => (float[a, b, c] n) { n = Neg (x) },
         else_branch = e () => (float[a, b, c] m) { m = Identity (x) }>"""
    ),
    "Loop": Between(
        """n = Constant <value_int = 2> () go = Constant <value = bool {1}> ()
        f = Loop (n, go, x) <body = b (int64 i, bool ci, float[p, q, s] v)
        => (bool co, float[p, q, s] w) { co = Identity (ci) w = Neg (v) }>"""
    ),
    "Scan": Between(
        """f = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        body = b (float[N, 6] v) => (float[N, 6] w) { w = Neg (v) }> (x)"""
    ),
    "ConstantOfShape": Between("s = Shape (x) f = ConstantOfShape (s)"),
    "EyeLike": Between("e = EyeLike (x) f = Add (x, e)", "N, 6"),
    "SoftmaxCrossEntropyLoss": Between(
        "l = ArgMax <axis = 1, keepdims = 0> (x) "
        'f = SoftmaxCrossEntropyLoss <reduction = "none"> (x, l)'
    ),
    "NegativeLogLikelihoodLoss": Between(
        "l = ArgMax <axis = 1, keepdims = 0> (x) "
        'f = NegativeLogLikelihoodLoss <reduction = "none"> (x, l)'
    ),
    "Optional": Between("o = Optional (x) f = OptionalGetElement (o)"),
    "Size": Between("n = Size (x) c2 = Cast <to = 1> (n) f = Div (x, c2)"),
    "Range": Between(
        """a = Constant <value_float = 0.0> () d = Constant <value_float = 1.0> ()
        e = Constant <value_float = 6.0> () r2 = Range (a, e, d) f = Add (x, r2)"""
    ),
    "Compress": Between(
        "c2 = Constant <value = bool[4] {1, 0, 1, 1}> () f = Compress <axis = 1> (x, c2)"
    ),
    "ScatterND": Between(
        f"""k = Constant <value = int64[2, 1] {{3, 1}}> () t = Transpose <perm = [1, 0, 2]> (x)
        {ints("a", 0)} {ints("b", 2)} u = Slice (t, a, b) f = ScatterND (t, k, u)"""
    ),
    "Unique": Between("u = Unique <axis = 0> (x) f = Identity (u)"),
    "NonZero": Between("f = NonZero (x)", needs_cast=True),
}

MS = "com.microsoft"
FUSED: dict[str, Between] = {
    **{
        f"{kind} of ONNX Runtime": Between(f"f = {MS}.{kind} (x)")
        for kind in ("FastGelu", "Gelu", "QuickGelu")
    },
    "BiasGelu": Between(f"{floats('b', 6)} f = {MS}.BiasGelu (x, b)"),
    "FastGelu with a bias": Between(f"{floats('b', 6)} f = {MS}.FastGelu (x, b)"),
    "SkipLayerNormalization": Between(
        f"""{floats("g", 6)} {floats("b", 6)} s = Neg (x)
        f = {MS}.SkipLayerNormalization <epsilon = 0.001> (x, s, g, b)"""
    ),
    "SkipSimplifiedLayerNormalization": Between(
        f"""{floats("g", 6)} s = Sqrt (x)
        f = {MS}.SkipSimplifiedLayerNormalization <epsilon = 0.001> (x, s, g)"""
    ),
    "EmbedLayerNormalization": Between(
        f"""{floats("g", 6)} {floats("b", 6)} {floats("w", 9, 6)} {floats("p", 4, 6)}
        i = Cast <to = 6> (x) f, m = {MS}.EmbedLayerNormalization (i, , w, p, , g, b)""",
        "N, 4",
    ),
    "FusedMatMul": Between(
        f"""{floats("w", 6, 6)} m = {MS}.FusedMatMul <transB = 1> (x, w)
        s = Shape (x) f = Reshape (m, s)"""
    ),
    "MultiHeadAttention": Between(f"f = {MS}.MultiHeadAttention <num_heads = 2> (x, x, x)"),
    "Attention of ONNX Runtime": Between(
        f"""{floats("w", 6, 18)} {floats("b", 18)} a = {MS}.Attention <num_heads = 2> (x, w, b)
        s = Shape (x) f = Reshape (a, s)"""
    ),
    "RotaryEmbedding of ONNX Runtime": Between(
        f"""{floats("cosines", 9, 2)} {floats("sines", 9, 2)} {ints("at", 0)}
        f = {MS}.RotaryEmbedding <num_heads = 2> (x, at, cosines, sines)""",
        "N, 4, 8",
    ),
    "FusedConv": Between(
        f"""{floats("w", 4, 4, 3, 3)} {floats("b", 4)}
        m = {MS}.FusedConv <activation = "Relu", pads = [1, 1, 1, 1]> (x, w, b)
        s = Shape (x) f = Reshape (m, s)""",
        "N, 4, 6, 6",
    ),
    "FusedGemm": Between(
        f"""{floats("w", 6, 6)} {floats("b", 6)}
        m = {MS}.FusedGemm <activation = "Relu"> (x, w, b) s = Shape (x) f = Reshape (m, s)""",
        "N, 6",
    ),
}
"""ONNX Runtime's own operators, which its optimiser writes."""
BETWEEN |= FUSED
