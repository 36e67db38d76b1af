"""make_reproducible(per_row=True): noise that stands beside rows of the inputs, and then is mixed.

What sums over both depends on the rows, and what comes after is the model's own. Where the sum goes
along another dimension, elements of noise alone are left, which nothing may mix along the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx
import pytest

from onnx_philox import make_reproducible
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino

NUMBERS = """r = RandomNormalLike (x) one = Constant <value_ints = [1]> ()
    zeroth = Constant <value_ints = [0]> () two = Constant <value_ints = [2]> ()
    axis2 = Constant <value_ints = [2]> () four = Constant <value_ints = [4]> ()
    back = Constant <value_ints = [-1]> () far = Constant <value_ints = [-99]> ()
    ones = Constant <value_float = 1.0> ()"""
"""What the bodies use: x is [batch, 4], r the noise like it."""
TURNED = "w = Add (h, ones) y = Slice (w, back, far, zeroth, back)"
"""What meets no rows of its own, and then is turned round along the batch."""
TURNED_BATCH_SECOND = "w = Add (h, ones) y = Slice (w, back, far, one, back)"
IN_TIME = """u = Unsqueeze (r, one) v = Unsqueeze (x, one) c = Concat <axis = 1> (u, v)"""
"""[batch, 2, 4]: the noise, and then the row."""
BATCH_SECOND = (
    """u = Unsqueeze (r, zeroth) v = Unsqueeze (x, zeroth) c = Concat <axis = 0> (u, v)"""
)
"""[2, batch, 4]."""
IN_CHANNELS = "c = Concat <axis = 1> (r, x)"
"""[batch, 8]."""


def filled(name: str, *shape: int) -> str:
    dims = ", ".join(map(str, shape))
    return f"""{name}_shape = Constant <value_ints = [{dims}]> ()
        {name} = ConstantOfShape <value = float[1] {{0.5}}> ({name}_shape)"""


SQUARE = filled("k", 4, 4)
RECURRENT = filled("k", 1, 4, 4)
SUMMED = f"{IN_CHANNELS} {filled('sum', 8, 4)} sums = MatMul (c, sum)"
"""[batch, 4], each of them a sum of noise and of the row."""
MASK = """bits = Constant <value_ints = [1, 1, 1, 0]> () flat = Cast <to = 9> (bits)
    n = Shape <start = 0, end = 1> (x) shape = Concat <axis = 0> (n, four)
    mask = Expand (flat, shape)"""
ZEROS_BESIDE = """n = Shape <start = 0, end = 1> (x) column = Concat <axis = 0> (n, one)
    zeros = ConstantOfShape (column) q = Concat <axis = 1> (zeros, x) wide = RandomNormalLike (q)"""
PADDED = """pads = Constant <value_ints = [0, 1, 0, 0]> () q = Pad (x, pads)
    wide = RandomNormalLike (q)"""
NUMBERED = """places = Constant <value_ints = [0, 1, 2, 3]> () shape = Shape (x)
    index = Expand (places, shape)"""


@dataclass(frozen=True)
class Mixed:
    """How y is made."""

    body: str
    is_read_by_openvino: bool = True
    rank: int = 3
    more: str = ""
    """More inputs than x."""
    function: str = ""
    """A function of the model."""

    @property
    def model(self) -> onnx.ModelProto:
        dims = ", ".join("abcd"[: self.rank])
        inputs = f"float[batch, 4] x {self.more}"
        graph = f"g ({inputs}) => (float[{dims}] y) {{ {NUMBERS} {self.body} }}"
        return parse(f"{graph} {self.function}", 23)


def beside(body: str, *, is_read_by_openvino: bool = True, more: str = "", rank: int = 2) -> Mixed:
    """Noise, beside q."""
    whole = f"{body} v = RandomNormalLike (q) h = Add (q, v) {TURNED}"
    return Mixed(whole, is_read_by_openvino, rank, more)


def row_of(*numbers: object) -> str:
    """Numbers for each of the last dimension."""
    return f"Constant <value = float[1, {len(numbers)}] {{{', '.join(map(str, numbers))}}}> ()"


IN_CHANNEL = "u = Unsqueeze (x, one)"
WHOLE = "whole = Cast <to = 7> (x)"


APART = {
    "a product of the last dimension": Mixed(f"{IN_TIME} {SQUARE} h = MatMul (c, k) {TURNED}"),
    "a product of the last dimension, in time and turned": Mixed(
        f"""{IN_TIME} {filled("k", 2, 4)} t = Transpose <perm = [0, 2, 1]> (c)
        q = Transpose <perm = [0, 2, 1]> (t) p = Transpose <perm = [1, 0]> (k)
        h = MatMul (q, p) {TURNED}"""
    ),
    "an Einsum of the last dimension": Mixed(
        f'{IN_TIME} {SQUARE} h = Einsum <equation = "btc,cd->btd"> (c, k) {TURNED}'
    ),
    "a product of merged rows and times": Mixed(
        f"""{IN_TIME} {SQUARE} flat = Constant <value_ints = [-1, 4]> () q = Reshape (c, flat)
        p = MatMul (q, k) whole = Constant <value_ints = [-1, 2, 4]> () h = Reshape (p, whole)
        {TURNED}"""
    ),
    "a product over both, beside more noise": Mixed(
        f"""{IN_CHANNELS} more = RandomNormalLike (c) u = Unsqueeze (c, one)
        v = Unsqueeze (more, one) d = Concat <axis = 1> (u, v) {filled("k", 8, 4)}
        h = MatMul (d, k) {TURNED}"""
    ),
    "a convolution along time": Mixed(
        f"""{IN_TIME} {filled("k", 4, 4, 1)} t = Transpose <perm = [0, 2, 1]> (c)
        h = Conv (t, k) {TURNED}"""
    ),
    "a convolution of groups": Mixed(
        f"""{IN_CHANNELS} {filled("k", 8, 1, 1)} t = Unsqueeze (c, axis2)
        h = Conv <group = 8> (t, k) {TURNED}"""
    ),
    "a transposed convolution of groups": Mixed(
        f"""{IN_CHANNELS} {filled("k", 8, 1, 1)} t = Unsqueeze (c, axis2)
        h = ConvTranspose <group = 8> (t, k) {TURNED}"""
    ),
    "a recurrent layer, its outputs": Mixed(
        f"""{BATCH_SECOND} {RECURRENT} q, last = RNN <hidden_size = 4> (c, k, k)
        h = Squeeze (q, one) {TURNED_BATCH_SECOND}""",
        is_read_by_openvino=False,
    ),
    "a recurrent layer that may end before the rows": Mixed(
        f"""{BATCH_SECOND} {RECURRENT} n = Shape <start = 0, end = 1> (x)
        times = Expand (one, n) lengths = Cast <to = 6> (times)
        q, last = RNN <hidden_size = 4> (c, k, k, , lengths)
        h = Identity (last) {TURNED_BATCH_SECOND}"""
    ),
    "a causal attention": Mixed(
        f"""{IN_TIME} h = Attention <is_causal = 1, q_num_heads = 1, kv_num_heads = 1> (c, c, c)
        {TURNED}""",
        is_read_by_openvino=False,
    ),
    "an attention with a mask": Mixed(
        f"""{IN_TIME} {filled("k", 2, 2)} mask = Trilu <upper = 0> (k)
        h = Attention <q_num_heads = 1, kv_num_heads = 1> (c, c, c, mask) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "a triangle of both, and a product": Mixed(
        f"""{IN_TIME} q = Trilu (c) {filled("k", 2, 2)} t = Transpose <perm = [0, 2, 1]> (q)
        h = MatMul (t, k) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "a part of both, and a product": Mixed(
        f"""{IN_CHANNELS} q = Slice (c, zeroth, four, one) {SQUARE} h = MatMul (q, k) {TURNED}""",
        rank=2,
    ),
    "one of several in time, and a product": Mixed(
        f"""{IN_TIME} q = Gather <axis = 1> (c, zeroth) {SQUARE} h = MatMul (q, k) {TURNED}"""
    ),
    "a product over noise and no rows": Mixed(
        f"""e = Slice (x, zeroth, zeroth, one) c = Concat <axis = 1> (r, e) {SQUARE}
        h = MatMul (c, k) {TURNED}""",
        rank=2,
    ),
    "an attention to rows of before, of which there may be none": Mixed(
        f"""u = Unsqueeze (r, one) c = Concat <axis = 1> (past, u)
        t = Transpose <perm = [0, 2, 1]> (c) s = MatMul (u, t) p = Softmax (s)
        h = MatMul (p, c) {TURNED}""",
        more=", float[batch, before, 4] past",
    ),
    "a sum of all before, and a product": Mixed(
        f"""total = ReduceSum (x, one) c = Concat <axis = 1> (r, total)
        ax = Constant <value_int = 1> () s = CumSum <exclusive = 1> (c, ax) {filled("k", 5, 4)}
        h = MatMul (s, k) {TURNED}""",
        rank=2,
    ),
    "a product of what a mask leaves": Mixed(
        f"""{IN_CHANNELS} bits = Constant <value_ints = [1, 1, 1, 1, 0, 0, 0, 0]> ()
        mask = Cast <to = 1> (bits) q = Mul (c, mask) {filled("k", 8, 4)}
        h = MatMul (q, k) {TURNED}""",
        rank=2,
    ),
    "an attention that is masked by an Add": Mixed(
        f"""{IN_TIME} t = Transpose <perm = [0, 2, 1]> (c) q = MatMul (c, t)
        mask = Constant <value = float[1, 2, 2] {{0.0, -3e38, 0.0, 0.0}}> () s = Add (q, mask)
        p = Softmax (s) h = MatMul (p, c) {TURNED}"""
    ),
    "an attention of noise, that is masked": Mixed(
        f"""{IN_TIME} d = Concat <axis = 1> (u, u) t = Transpose <perm = [0, 2, 1]> (d)
        q = MatMul (d, t) s = Trilu <upper = 0> (q) h = MatMul (s, c) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "an attention of rows to noise of one place": Mixed(
        f"""u = Unsqueeze (r, one) v = Unsqueeze (x, one) t = Transpose <perm = [0, 2, 1]> (u)
        s = MatMul (v, t) p = Softmax (s) h = MatMul (p, u) {TURNED}"""
    ),
    "noise, beside rows or a mask that is true": beside(
        f"""{MASK} zero = Sub (ones, ones) is = Greater (x, zero) any = Or (is, mask)
        q = Cast <to = 1> (any)"""
    ),
    "noise, beside the bits of rows and of a mask": beside(
        f"""{WHOLE} k = Constant <value = int64[1, 4] {{7, 0, 7, 7}}> ()
        b = BitwiseAnd (whole, k) q = Cast <to = 1> (b)"""
    ),
    "noise, beside the bits of rows or of a mask": beside(
        f"""{WHOLE} k = Constant <value = int64[1, 4] {{1, -1, 1, 1}}> ()
        b = BitwiseOr (whole, k) q = Cast <to = 1> (b)"""
    ),
    "noise, beside what is left of rows divided by 1": beside(
        f"""{WHOLE} k = Constant <value = int64[1, 4] {{3, 1, 3, 3}}> ()
        b = Mod (whole, k) q = Cast <to = 1> (b)"""
    ),
    "noise, beside bits that are shifted out": beside(
        """whole = Cast <to = 13> (x) k = Constant <value = uint64[1, 4] {1, 64, 1, 1}> ()
        b = BitShift <direction = "RIGHT"> (whole, k) q = Cast <to = 1> (b)""",
        is_read_by_openvino=False,
    ),
    "noise, beside the least of rows and an endless number": beside(
        f"k = {row_of(1.0, -3.4e38, 1.0, 1.0)} q = Min (x, k)"
    ),
    "noise, beside the greatest of rows and an endless number": beside(
        f"k = {row_of(1.0, '3.4e38', 1.0, 1.0)} q = Max (x, k)"
    ),
    "noise, beside rows between two bounds that are one": beside(
        "q = Clip (x, ones, ones)", is_read_by_openvino=False
    ),
    "noise, beside rows between endless bounds": beside(
        "endless = Constant <value_float = 3.4e38> () q = Clip (x, endless)"
    ),
    "noise, beside powers of 0": beside(f"k = {row_of(1.0, 0.0, 2.0, 1.0)} q = Pow (x, k)"),
    "noise, beside rows to the power of a 0 for all": beside(
        "k = Constant <value_float = 0.0> () q = Pow (x, k)"
    ),
    "noise, beside powers of 1": beside(f"k = {row_of(3.0, 1.0, 2.0, 2.0)} q = Pow (k, x)"),
    "noise, beside 0 divided by rows": beside(f"k = {row_of(1.0, 0.0, 2.0, 1.0)} q = Div (k, x)"),
    "noise, beside rows divided by an endless number": beside(
        f"k = {row_of(1.0, 0.0, 2.0, 1.0)} b = Reciprocal (k) q = Div (x, b)"
    ),
    "noise, beside rows times a 0 for all": beside(
        "k = Constant <value_float = 0.0> () l = Identity (k) q = Mul (x, l)"
    ),
    "noise, beside a comparison of rows with an endless number": beside(
        f"k = {row_of(1.0, '3.4e38', 1.0, 1.0)} b = Less (x, k) q = Cast <to = 1> (b)"
    ),
    "noise, beside exponentials of rows and an endless number": beside(
        f"k = {row_of(0.0, -3.4e38, 0.0, 0.0)} b = Add (x, k) q = Exp (b)"
    ),
    "noise, beside a line of slope 0": beside("q = HardSigmoid <alpha = 0.0> (x)"),
    "noise, beside a product of rows by a column of zeros": beside(
        "k = Constant <value = float[4, 2] {1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0}> () "
        "q = MatMul (x, k)"
    ),
    "noise, beside a product of rows by a column of zeros that is a row": beside(
        "k = Constant <value = float[2, 4] {1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0}> () "
        "q = Gemm <transB = 1> (x, k)"
    ),
    "noise, beside sums of rows times a mask": beside(
        f"""k = {row_of(1.0, 0.0, 1.0, 1.0)} s = Squeeze (k, zeroth)
        q = Einsum <equation = "bi,i->bi"> (x, s)"""
    ),
    "noise, beside a product of rows by a column of zeros, in a function": Mixed(
        f"""k = Constant <value = float[4, 2] {{1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0}}> ()
        q = own.layer (x, k) v = RandomNormalLike (q) h = Add (q, v) {TURNED}""",
        rank=2,
        is_read_by_openvino=False,
        function="""<domain: "own", opset_import: ["": 23]> layer (a, b) => (d)
        { d = MatMul (a, b) }""",
    ),
    "noise, beside the least of rows and an endless number, in a loop": beside(
        f"""k = {row_of(1.0, -3.4e38, 1.0, 1.0)} go = Constant <value = bool {{1}}> ()
        many = Constant <value_int = 3> ()
        q = Loop (many, go, x) <body = body (int64 i, bool on, float[batch, 4] given)
        => (bool goes, float[batch, 4] made) {{ goes = Identity (on) made = Min (given, k) }}>"""
    ),
    "noise, beside a convolution with a channel of zeros": beside(
        f"""{IN_CHANNEL} k = Constant <value = float[2, 1, 2] {{1.0, 0.0, 0.0, 0.0}}> ()
        q = Conv (u, k)""",
        rank=3,
    ),
    "noise, beside a transposed convolution with a weight of 0": beside(
        f"""{IN_CHANNEL} k = Constant <value = float[1, 1, 2] {{1.0, 0.0}}> ()
        q = ConvTranspose <strides = [2]> (u, k)""",
        rank=3,
    ),
    "noise, beside a transposed convolution of groups, one with a weight of 0": beside(
        """u = Unsqueeze (x, axis2)
        k = Constant <value = float[4, 1, 2] {1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0}> ()
        q = ConvTranspose <group = 4, strides = [2]> (u, k)""",
        rank=3,
    ),
    "noise, beside a recurrent layer with a unit that no weight reaches": beside(
        f"""{IN_CHANNEL} k = Constant <value = float[1, 2, 4]
        {{1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0}}> () {filled("l", 1, 2, 2)}
        t = Transpose <perm = [1, 0, 2]> (u) p, last = RNN <hidden_size = 2> (t, k, l)
        q = Squeeze (last, zeroth)""",
        is_read_by_openvino=False,
    ),
    "noise, beside an attention to rows of before, of which there may be none": beside(
        f"""{IN_CHANNEL} p = Attention <q_num_heads = 1, kv_num_heads = 1> (u, past, past)
        q = Squeeze (p, one)""",
        is_read_by_openvino=False,
        more=", float[batch, before, 4] past",
    ),
    "noise, beside a sum of nothing": beside(
        "e = Slice (x, zeroth, zeroth, one) q = ReduceSum (e, one)"
    ),
    "noise, beside a product over nothing": beside(
        f"e = Slice (x, zeroth, zeroth, one) {filled('k', 0, 4)} q = MatMul (e, k)"
    ),
    "noise, beside a sum of rows of before, of which there may be none": beside(
        "q = ReduceSum <keepdims = 0> (past, one)", more=", float[batch, before, 4] past"
    ),
    "noise, beside a sum of all that a Softmax gives": beside(
        "e = Softmax (x) q = ReduceSum (e, one)"
    ),
    "noise, beside a multiple of a sum of all that a Softmax gives, turned": beside(
        """e = Softmax (x) t = Unsqueeze (e, one) p = Transpose <perm = [0, 2, 1]> (t)
        g = Mul (p, ones) q = ReduceSum (g, one)""",
        rank=3,
    ),
    "noise, beside a sum of all that a Softmax gives, in another shape": beside(
        """e = Softmax (x) square = Constant <value_ints = [0, 2, 2]> () s = Reshape (e, square)
        both = Constant <value_ints = [1, 2]> () q = ReduceSum (s, both)""",
        rank=3,
    ),
    "noise, beside a mean of what a Softmax gives, by equal weights": beside(
        f"e = Softmax (x) {SQUARE} q = MatMul (e, k)"
    ),
    "noise, beside sums of what a Softmax gives, up to all": beside(
        "e = Softmax (x) ax = Constant <value_int = 1> () q = CumSum (e, ax)"
    ),
    "noise, beside the greatest of what a Hardmax gives": beside(
        "e = Hardmax (x) q = ReduceMax (e, one)"
    ),
    "noise, beside the product of what a Hardmax gives": beside(
        "e = Hardmax (x) q = ReduceProd (e, one)"
    ),
    "noise, beside a sum of squares of what a Hardmax gives": beside(
        "e = Hardmax (x) q = ReduceSumSquare (e, one)", is_read_by_openvino=False
    ),
    "noise, beside the greatest of windows as long as what a Hardmax gives": beside(
        f"{IN_CHANNEL} e = Hardmax (u) q = MaxPool <kernel_shape = [4]> (e)", rank=3
    ),
    "noise, beside a sum of absolute values of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceL1 (e, one)"
    ),
    "noise, beside the logarithm of a sum of all that a Softmax gives": beside(
        "e = Softmax (x) q = ReduceLogSum (e, one)"
    ),
    "noise, beside the logarithm of a sum of exponentials of what a LogSoftmax gives": beside(
        "e = LogSoftmax (x) q = ReduceLogSumExp (e, one)", is_read_by_openvino=False
    ),
    "noise, beside a length of what has length 1": beside(
        "e = LpNormalization (x) q = ReduceL2 (e, one)", is_read_by_openvino=False
    ),
    "noise, beside a sum of absolute values of which the sum is 1": beside(
        "e = LpNormalization <p = 1> (x) q = ReduceL1 (e, one)", is_read_by_openvino=False
    ),
    "noise, beside the greatest of two without their mean, divided by their deviation": beside(
        """e = Slice (x, zeroth, two, one) g = MeanVarianceNormalization <axes = [1]> (e)
        q = ReduceMax (g, one)"""
    ),
    "noise, beside a length of a sign": beside(
        """u = Unsqueeze (x, axis2) e = LpNormalization (u)
        q = ReduceL1 <keepdims = 0> (e, axis2)""",
        is_read_by_openvino=False,
    ),
    "noise, beside a sum of exponentials of what a LogSoftmax gives": beside(
        "e = LogSoftmax (x) g = Exp (e) q = ReduceSum (g, one)"
    ),
    "noise, beside the logarithm of a sum of exponentials of logarithms of a Softmax": beside(
        "e = Softmax (x) g = Log (e) q = ReduceLogSumExp (g, one)", is_read_by_openvino=False
    ),
    "noise, beside a sum of exponentials of what a Hardmax gives": beside(
        "e = Hardmax (x) g = Exp (e) q = ReduceSum (g, one)"
    ),
    "noise, beside what a Hardmax gives, in order": beside("e = Hardmax (x) q, i = TopK (e, four)"),
    "noise, beside a sum of squares by hand of what a Hardmax gives": beside(
        "e = Hardmax (x) k = Constant <value_float = 2.0> () g = Pow (e, k) q = ReduceSum (g, one)"
    ),
    "noise, beside a sum of all that a Softmax gives, by an equation": beside(
        'e = Softmax (x) q = Einsum <equation = "bi->b"> (e)', rank=1
    ),
    "noise, beside a mean of windows as long as a Softmax": beside(
        f"{IN_CHANNEL} e = Softmax (u) q = AveragePool <kernel_shape = [4]> (e)", rank=3
    ),
    "noise, beside a mean of what has none": beside(
        "e = MeanVarianceNormalization <axes = [1]> (x) q = ReduceMean (e, one)"
    ),
    "noise, beside a normalisation of one": beside(
        """u = Unsqueeze (x, axis2) scale = Constant <value_floats = [1.0]> ()
        q = LayerNormalization (u, scale)""",
        rank=3,
    ),
    "noise, beside a normalisation with a scale of 0": beside(
        """scale = Constant <value_floats = [1.0, 0.0, 1.0, 1.0]> ()
        q = LayerNormalization (x, scale)"""
    ),
    "noise, beside a sum of a Softmax in a branch": beside(
        """go = Constant <value = bool {1}> ()
        e = If (go) <then_branch = t () => (float[batch, 4] f) { f = Softmax (x) },
        else_branch = o () => (float[batch, 4] g) { g = Relu (x) }> q = ReduceSum (e, one)"""
    ),
    "noise, beside a choice by rows of two constants that share one": beside(
        f"""k = {row_of(1.0, 2.0, 3.0, 4.0)} l = {row_of(0.0, 2.0, 0.0, 0.0)}
        zero = Sub (ones, ones) is = Greater (x, zero) q = Where (is, k, l)"""
    ),
    "noise, beside a choice of rows and zeros": Mixed(
        f"""{MASK} zero = Sub (ones, ones) q = Where (mask, zero, x) h = Add (q, r) {TURNED}""",
        rank=2,
    ),
    "noise, beside rows and zeros": Mixed(f"{ZEROS_BESIDE} h = Add (q, wide) {TURNED}", rank=2),
    "noise, beside padded rows": Mixed(f"{PADDED} h = Add (q, wide) {TURNED}", rank=2),
    "noise, beside rows times a mask": Mixed(
        f"""bits = Constant <value = float[1, 4] {{1.0, 0.0, 1.0, 1.0}}> () q = Mul (x, bits)
        h = Add (q, r) {TURNED}""",
        rank=2,
    ),
    "noise, beside rows times a mask that is computed": Mixed(
        f"{MASK} kept = Cast <to = 1> (mask) q = Mul (x, kept) h = Add (q, r) {TURNED}",
        rank=2,
    ),
    "noise, beside windows of padded rows": Mixed(
        f"""more = Constant <value_ints = [0, 2, 0, 0]> () q = Pad (x, more) u = Unsqueeze (q, one)
        {filled("k", 1, 1, 2)} p = Conv (u, k) v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside the greatest of windows of padded rows": Mixed(
        f"""more = Constant <value_ints = [0, 2, 0, 0]> () q = Pad (x, more) u = Unsqueeze (q, one)
        p = MaxPool <kernel_shape = [2]> (u) v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside windows with gaps, wider than the rows": Mixed(
        f"""q = Slice (x, zeroth, one, one) u = Unsqueeze (q, one) {filled("k", 1, 1, 2)}
        p = Conv <pads = [1, 1], dilations = [2]> (u, k) v = RandomNormalLike (p)
        h = Add (p, v) {TURNED}"""
    ),
    "noise, beside windows whose weights of what is no padding are zeros": Mixed(
        f"""u = Unsqueeze (x, one) k = Constant <value = float[1, 1, 3] {{1.0, 0.0, 0.0}}> ()
        p = Conv <pads = [1, 1]> (u, k) v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside one element that a dilated transposed convolution spreads": Mixed(
        f"""q = Slice (x, zeroth, one, one) u = Unsqueeze (q, one) {filled("k", 1, 1, 2)}
        p = ConvTranspose <dilations = [2]> (u, k) v = RandomNormalLike (p)
        h = Add (p, v) {TURNED}"""
    ),
    "noise, times padded rows, and windows that may be of padding alone": Mixed(
        f"""more = Constant <value_ints = [0, 2, 0, 0]> () q = Pad (x, more)
        wide = RandomNormalLike (q) g = Add (q, wide) u = Unsqueeze (g, one)
        {filled("k", 1, 1, 2)} h = Conv (u, k) y = Slice (h, back, far, zeroth, back)"""
    ),
    "noise, beside a dilated convolution that is cut to one more than before": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 2)}
        p = Conv <dilations = [2], pads = [2, 2]> (u, k)
        end = Constant <value_ints = [5]> () g = Slice (p, one, end, axis2) q = Relu (g)
        v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside the means of windows with gaps that pad themselves": Mixed(
        f"""q = Slice (x, zeroth, one, one) u = Unsqueeze (q, one)
        p = AveragePool <kernel_shape = [3], dilations = [2], auto_pad = "SAME_UPPER"> (u)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "noise, beside the mean of a window with gaps that is longer than the padded rows": beside(
        """few = Slice (x, zeroth, one, one) more = Constant <value_ints = [0, 1, 0, 0]> ()
        e = Pad (few, more) u = Unsqueeze (e, one)
        q = AveragePool <kernel_shape = [4], pads = [2, 2], strides = [3], dilations = [2]> (u)""",
        is_read_by_openvino=False,
        rank=3,
    ),
    "noise, beside means of windows, of which the last begins behind the rows": beside(
        """more = Constant <value_ints = [0, 1, 0, 1]> () e = Pad (x, more) u = Unsqueeze (e, one)
        q = AveragePool <kernel_shape = [4], strides = [3], pads = [1, 1], ceil_mode = 1> (u)""",
        rank=3,
    ),
    "noise, beside windows of padding alone, of padded channels": Mixed(
        f"""{PADDED} u = Unsqueeze (q, axis2) {filled("k", 1, 5, 1)}
        p = Conv <pads = [1, 1]> (u, k) v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside a transposed convolution of padded channels, with gaps": Mixed(
        f"""{PADDED} u = Unsqueeze (q, axis2) {filled("k", 5, 1, 1)}
        p = ConvTranspose <strides = [2], output_padding = [1]> (u, k) v = RandomNormalLike (p)
        h = Add (p, v) {TURNED}"""
    ),
    "noise, beside what a grid takes from outside": Mixed(
        f"""sides = Constant <value_ints = [1, 2]> () u = Unsqueeze (x, sides)
        points = Constant <value = float[1, 1, 2, 2] {{0.0, 0.0, 9.0, 9.0}}> ()
        n = Shape <start = 0, end = 1> (x) rest = Constant <value_ints = [1, 2, 2]> ()
        all = Concat <axis = 0> (n, rest) grid = Expand (points, all) p = GridSample (u, grid)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}""",
        rank=4,
    ),
    "noise, beside rows in the middle of zeros": Mixed(
        f"""six = Constant <value_ints = [6]> () q = CenterCropPad <axes = [1]> (x, six)
        wide = RandomNormalLike (q) h = Add (q, wide) {TURNED}""",
        is_read_by_openvino=False,
        rank=2,
    ),
    "noise, beside a recurrent layer that ends before the last time": Mixed(
        f"""u = Unsqueeze (x, zeroth) c = Concat <axis = 0> (u, u) {RECURRENT}
        n = Shape <start = 0, end = 1> (x) times = Expand (one, n) lengths = Cast <to = 6> (times)
        q, last = RNN <hidden_size = 4> (c, k, k, , lengths) p = Squeeze (q, one)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED_BATCH_SECOND}"""
    ),
    "an attention of rows to noise, of which a mask leaves one": Mixed(
        f"""u = Unsqueeze (r, one) d = Concat <axis = 1> (u, u) v = Unsqueeze (x, one)
        t = Transpose <perm = [0, 2, 1]> (d) s = MatMul (v, t)
        mask = Constant <value = float[1, 1, 2] {{0.0, -3e38}}> () m = Add (s, mask)
        p = Softmax (m) h = MatMul (p, d) {TURNED}"""
    ),
    "an attention of rows to noise for each of before": Mixed(
        f"""d = RandomNormalLike (past) v = Unsqueeze (x, one) t = Transpose <perm = [0, 2, 1]> (d)
        s = MatMul (v, t) p = Softmax (s) h = MatMul (p, d) {TURNED}""",
        more=", float[batch, before, 4] past",
    ),
    "a causal attention of rows to noise": Mixed(
        f"""u = Unsqueeze (x, one) v = Unsqueeze (r, one) d = Concat <axis = 1> (v, v)
        q = Concat <axis = 1> (u, u)
        h = Attention <is_causal = 1, q_num_heads = 1, kv_num_heads = 1> (q, d, d) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "a mean of all times before": Mixed(
        f"""{IN_TIME} {filled("k", 2, 2)} p = Trilu <upper = 0> (k) h = MatMul (p, c) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "noise, beside rows that are written over zeros": Mixed(
        f"""{NUMBERED} zeros = ConstantOfShape (shape)
        q = ScatterElements <axis = 1> (zeros, index, x) h = Add (q, r) {TURNED}""",
        rank=2,
    ),
    "noise, beside a triangle of rows": Mixed(
        f"u = Unsqueeze (x, one) q = Trilu (u) v = Unsqueeze (r, one) h = Add (q, v) {TURNED}",
        is_read_by_openvino=False,
    ),
    "noise, beside a sum of all before": Mixed(
        f"""ax = Constant <value_int = 1> () q = CumSum <exclusive = 1> (x, ax)
        h = Add (q, r) {TURNED}""",
        rank=2,
    ),
    "noise, beside a transposed convolution with gaps": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 1)}
        q = ConvTranspose <strides = [2]> (u, k) v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside a convolution of padding": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 1)}
        q = Conv <pads = [1, 1]> (u, k) v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "a choice by a mask": Mixed(f"{MASK} h = Where (mask, r, x) {TURNED}", rank=2),
    "a choice by a mask, of sums and of noise": Mixed(
        f"{MASK} {SUMMED} more = RandomNormalLike (x) h = Where (mask, sums, more) {TURNED}",
        rank=2,
    ),
    "a choice of two that have both": Mixed(
        f"""{MASK} {IN_CHANNELS} d = Concat <axis = 1> (x, r)
        both = Concat <axis = 1> (mask, mask) q = Where (both, c, d) {filled("k", 8, 4)}
        h = MatMul (q, k) {TURNED}""",
        rank=2,
    ),
    "sums, and noise that is written over them": Mixed(
        f"""{SUMMED} {NUMBERED} more = RandomNormalLike (x)
        h = ScatterElements <axis = 1> (sums, index, more) {TURNED}""",
        rank=2,
    ),
    "noise that sums pick": Mixed(
        f"""{SUMMED} s = Sigmoid (sums) n = Round (s) index = Cast <to = 7> (n)
        more = RandomNormalLike (x) h = GatherElements <axis = 1> (more, index) {TURNED}""",
        rank=2,
    ),
}
"""Some elements of what is turned round are of noise alone."""


@pytest.mark.parametrize("name", APART)
def test_noise_beside_rows_is_refused_where_it_is_turned_round(name: str) -> None:
    case = APART[name]
    said = "'.*' \\((Strided)?Slice\\) takes some of the rows of '.*', or turns them round"
    with pytest.raises(ValueError, match=said):
        make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        with pytest.raises(ValueError, match=said):
            make_reproducible(OpenVino("native").read(case.model), per_row=True)


TOGETHER = {
    "a product": Mixed(f"{IN_CHANNELS} {filled('k', 8, 4)} h = MatMul (c, k) {TURNED}", rank=2),
    "a product, behind a normalisation": Mixed(
        f"""{IN_CHANNELS} {filled("k", 8, 4)} scale = Constant <value_floats = [1.0]> ()
        q = LayerNormalization (c, scale) g = Gelu (q) h = MatMul (g, k) {TURNED}""",
        is_read_by_openvino=False,
        rank=2,
    ),
    "a product, by the other dimension": Mixed(
        f"""{IN_TIME} {filled("k", 2, 2)} t = Transpose <perm = [0, 2, 1]> (c)
        h = MatMul (t, k) {TURNED}"""
    ),
    "a product, behind one along time": Mixed(
        f"""{IN_TIME} {SQUARE} m = MatMul (c, k) {filled("l", 2, 2)}
        t = Transpose <perm = [0, 2, 1]> (m) h = MatMul (t, l) {TURNED}"""
    ),
    "a Gemm": Mixed(
        f"""{IN_CHANNELS} {filled("k", 4, 8)} {filled("bias", 4)}
        h = Gemm <transB = 1> (c, k, bias) {TURNED}""",
        rank=2,
    ),
    "a product of more noise on both sides": Mixed(
        f"""more = RandomNormalLike (x) c = Concat <axis = 1> (r, x, more) {filled("k", 12, 4)}
        h = MatMul (c, k) {TURNED}""",
        rank=2,
    ),
    "a convolution": Mixed(
        f"""{IN_CHANNELS} {filled("k", 4, 8, 1)} t = Unsqueeze (c, axis2)
        h = Conv (t, k) {TURNED}"""
    ),
    "a recurrent layer": Mixed(
        f"""{IN_TIME} {RECURRENT} t = Transpose <perm = [1, 0, 2]> (c)
        q, last = RNN <hidden_size = 4> (t, k, k) h = Identity (last) {TURNED_BATCH_SECOND}""",
        is_read_by_openvino=False,
    ),
    "an attention to rows of before, and one of now": Mixed(
        f"""{IN_TIME} d = Concat <axis = 1> (past, c) t = Transpose <perm = [0, 2, 1]> (d)
        s = MatMul (u, t) p = Softmax (s) h = MatMul (p, d) {TURNED}""",
        more=", float[batch, before, 4] past",
    ),
    "a sum of all so far, and a product": Mixed(
        f"""{IN_CHANNELS} ax = Constant <value_int = 1> () s = CumSum (c, ax) {filled("k", 8, 4)}
        h = MatMul (s, k) {TURNED}""",
        rank=2,
    ),
    "a product, behind a scale for all": Mixed(
        f"{IN_CHANNELS} q = Mul (c, ones) {filled('k', 8, 4)} h = MatMul (q, k) {TURNED}", rank=2
    ),
    "an attention without a mask": Mixed(
        f"""{IN_TIME} t = Transpose <perm = [0, 2, 1]> (c) s = MatMul (c, t)
        p = Softmax (s) h = MatMul (p, c) {TURNED}"""
    ),
    "a choice by a mask, of sums": Mixed(
        f"{MASK} {SUMMED} h = Where (mask, sums, x) {TURNED}", rank=2
    ),
    "a choice by rows": Mixed(
        f"zero = Sub (ones, ones) is = Greater (x, zero) h = Where (is, r, x) {TURNED}", rank=2
    ),
    "a choice by noise": Mixed(
        f"zero = Sub (ones, ones) is = Greater (r, zero) h = Where (is, x, zero) {TURNED}", rank=2
    ),
    "an attention": Mixed(
        f"""{IN_TIME} h = Attention <q_num_heads = 1, kv_num_heads = 1> (c, c, c) {TURNED}""",
        is_read_by_openvino=False,
    ),
    "a product, behind a Reshape of what stands behind": Mixed(
        f"""{IN_TIME} parted = Constant <value_ints = [0, 2, 2, 2]> () q = Reshape (c, parted)
        t = Transpose <perm = [0, 2, 3, 1]> (q) {filled("k", 2, 2)} h = MatMul (t, k) {TURNED}""",
        rank=4,
    ),
    "an attention of rows to noise": Mixed(
        f"""u = Unsqueeze (r, one) d = Concat <axis = 1> (u, u) v = Unsqueeze (x, one)
        t = Transpose <perm = [0, 2, 1]> (d) s = MatMul (v, t) p = Softmax (s)
        h = MatMul (p, d) {TURNED}"""
    ),
    "noise, beside a convolution of padded rows": Mixed(
        f"""{PADDED} u = Unsqueeze (q, one) {filled("k", 1, 1, 3)} p = Conv (u, k)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside a dilated convolution of what is padded before": Mixed(
        f"""more = Constant <value_ints = [0, 4, 0, 0]> () q = Pad (x, more) u = Unsqueeze (q, one)
        {filled("k", 1, 1, 3)} p = Conv <dilations = [2]> (u, k)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside a dilated convolution of which the end is cut off": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 2)}
        p = Conv <dilations = [2], pads = [2, 2]> (u, k)
        end = Constant <value_ints = [-2]> () g = Slice (p, zeroth, end, axis2) q = Relu (g)
        v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside windows as long as the padding on both sides": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 2)} p = Conv <pads = [1, 1]> (u, k)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside means of windows, of which the last may be padded more": Mixed(
        f"""u = Unsqueeze (x, one)
        p = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1> (u)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside windows of padded channels": Mixed(
        f"""{PADDED} u = Unsqueeze (q, axis2) {filled("k", 1, 5, 3)}
        p = Conv <pads = [1, 1]> (u, k) v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, beside a dilated transposed convolution": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 2)} p = ConvTranspose <dilations = [2]> (u, k)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED}"""
    ),
    "noise, times padded rows, and windows of that": Mixed(
        f"""{PADDED} g = Mul (q, wide) u = Unsqueeze (g, one) {filled("k", 1, 1, 2)}
        h = Conv (u, k) y = Slice (h, back, far, zeroth, back)"""
    ),
    "noise, times padded rows, and a product of that": Mixed(
        f"""{PADDED} g = Mul (q, wide) {filled("k", 5, 4)} h = MatMul (g, k)
        y = Slice (h, back, far, zeroth, back)""",
        rank=2,
    ),
    "noise, beside a dilated convolution that is cut to the length of before": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 2)}
        p = Conv <dilations = [2], pads = [2, 2]> (u, k)
        end = Constant <value_ints = [4]> () g = Slice (p, zeroth, end, axis2) q = Relu (g)
        v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside a recurrent layer that goes on to the last time": Mixed(
        f"""u = Unsqueeze (x, zeroth) c = Concat <axis = 0> (u, u) {RECURRENT}
        n = Shape <start = 0, end = 1> (x) times = Expand (two, n) lengths = Cast <to = 6> (times)
        q, last = RNN <hidden_size = 4> (c, k, k, , lengths) p = Squeeze (q, one)
        v = RandomNormalLike (p) h = Add (p, v) {TURNED_BATCH_SECOND}"""
    ),
    "noise, beside a product of padded rows": Mixed(
        f"{PADDED} {filled('k', 5, 4)} p = MatMul (q, k) h = Add (p, r) {TURNED}", rank=2
    ),
    "noise, beside the greatest of windows of rows": Mixed(
        f"""u = Unsqueeze (x, one) q = MaxPool <kernel_shape = [3], pads = [1, 1]> (u)
        v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "a causal attention with dropped weights": Mixed(
        f"""u = Unsqueeze (x, one) d = Concat <axis = 1> (u, u) t = Transpose <perm = [0, 2, 1]> (d)
        s = MatMul (d, t) mask = Constant <value = float[1, 2, 2] {{0.0, -3e38, 0.0, 0.0}}> ()
        m = Add (s, mask) p = Softmax (m) v = RandomUniformLike (p) w8 = Mul (p, v)
        h = MatMul (w8, d) {TURNED}"""
    ),
    "an attention to rows of before, and to noise": Mixed(
        f"""v = Unsqueeze (x, one) u = Unsqueeze (r, one) d = Concat <axis = 1> (past, u, v)
        t = Transpose <perm = [0, 2, 1]> (d) s = MatMul (v, t) p = Softmax (s)
        h = MatMul (p, d) {TURNED}""",
        more=", float[batch, before, 4] past",
    ),
    "noise, beside a convolution": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 3)}
        q = Conv <pads = [1, 1]> (u, k) v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside a transposed convolution": Mixed(
        f"""u = Unsqueeze (x, one) {filled("k", 1, 1, 3)}
        q = ConvTranspose <strides = [2], pads = [1, 1], output_padding = [1]> (u, k)
        v = RandomNormalLike (q) h = Add (q, v) {TURNED}"""
    ),
    "noise, beside rows or a mask that is false": beside(
        """bits = Constant <value = bool[1, 4] {0, 0, 0, 0}> () zero = Sub (ones, ones)
        is = Greater (x, zero) any = Or (is, bits) q = Cast <to = 1> (any)"""
    ),
    "noise, beside a choice by rows of two constants": beside(
        f"""k = {row_of(1.0, 2.0, 3.0, 4.0)} l = Constant <value_float = 5.0> ()
        zero = Sub (ones, ones) is = Greater (x, zero) q = Where (is, k, l)"""
    ),
    "noise, beside rows that are no less than the least": beside(
        f"k = {row_of(1.0, -3.4e38, 1.0, 1.0)} q = Max (x, k)"
    ),
    "noise, beside rows between two bounds": beside(
        "up = Constant <value_float = 6.0> () q = Clip (x, ones, up)"
    ),
    "noise, beside squares of rows": beside("k = Constant <value_float = 2.0> () q = Pow (x, k)"),
    "noise, beside rows without a mean, divided": beside(
        f"""k = {row_of(50000.0, -1200.0, 1.0, 0.0)} b = Sub (x, k)
        l = {row_of(900.0, 20.0, 1.0, 2.0)} q = Div (b, l)"""
    ),
    "noise, beside a product of rows by a matrix with some zeros": beside(
        "k = Constant <value = float[4, 2] {1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0}> () "
        "q = MatMul (x, k)"
    ),
    "noise, beside a product of rows, and a bias of zeros": beside(
        f"{filled('k', 4, 2)} l = {row_of(0.0, 1.0)} q = Gemm (x, k, l)"
    ),
    "noise, beside a convolution with some zeros": beside(
        f"""{IN_CHANNEL} k = Constant <value = float[2, 1, 2] {{1.0, 0.0, 0.0, 1.0}}> ()
        q = Conv (u, k)""",
        rank=3,
    ),
    "noise, beside a sum of rows along the new of a Softmax": beside(
        """u = Unsqueeze (x, one) t = Concat <axis = 1> (u, u) e = Softmax (t)
        q = ReduceSum <keepdims = 0> (e, one)"""
    ),
    "noise, beside a product of what a Softmax gives": beside(
        """e = Softmax (x) k = Constant <value = float[4, 1] {1.0, 2.0, 3.0, 4.0}> ()
        q = MatMul (e, k)"""
    ),
    "noise, beside a sum of exponentials of what a normalisation gives, behind a Relu": beside(
        """e = MeanVarianceNormalization <axes = [1]> (x) g = Relu (e) q = ReduceSum (g, one)"""
    ),
    "noise, beside the greatest of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceMax (e, one)"
    ),
    "noise, beside the least of what a LogSoftmax gives": beside(
        "e = LogSoftmax (x) q = ReduceMin (e, one)"
    ),
    "noise, beside the product of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceProd (e, one)"
    ),
    "noise, beside a length of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceL2 (e, one)"
    ),
    "noise, beside a sum of squares of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceSumSquare (e, one)"
    ),
    "noise, beside a sum of what a LogSoftmax gives": beside(
        "e = LogSoftmax (x) q = ReduceSum (e, one)"
    ),
    "noise, beside sums of what a LogSoftmax gives, up to all": beside(
        "e = LogSoftmax (x) ax = Constant <value_int = 1> () q = CumSum (e, ax)"
    ),
    "noise, beside a mean of what a LogSoftmax gives, by equal weights": beside(
        f"e = LogSoftmax (x) {SQUARE} q = MatMul (e, k)"
    ),
    "noise, beside the logarithm of a sum of exponentials of what a Softmax gives": beside(
        "e = Softmax (x) q = ReduceLogSumExp (e, one)"
    ),
    "noise, beside a sum of logarithms of what a Softmax gives": beside(
        "e = Softmax (x) g = Log (e) q = ReduceSum (g, one)"
    ),
    "noise, beside the greatest of a Softmax, in order": beside(
        "e = Softmax (x) q, i = TopK (e, two)"
    ),
    "noise, beside the places of what a Hardmax gives, in order": beside(
        "e = Hardmax (x) a, i = TopK (e, two) q = Cast <to = 1> (i)"
    ),
    "noise, in products by what a Softmax gives": Mixed(
        f"""e = Softmax (x) p = Einsum <equation = "bi,bi->b"> (e, r) h = Identity (p) {TURNED}""",
        rank=1,
    ),
    "noise, beside a sum of squares by hand of what a Softmax gives": beside(
        "e = Softmax (x) k = Constant <value_float = 2.0> () g = Pow (e, k) q = ReduceSum (g, one)"
    ),
    "noise, beside each element of a Softmax, one by one": Mixed(
        f"""e = Softmax (x) h = Scan (e) <num_scan_inputs = 1, scan_input_axes = [1],
        scan_output_axes = [1], body = body (float[batch] v) => (float[batch] made)
        {{ t = Transpose <perm = [0]> (v) n = RandomNormalLike (t) made = Add (t, n) }}>
        {TURNED}""",
        rank=2,
    ),
    "noise, beside the greatest of windows as long as what a Softmax gives": beside(
        f"{IN_CHANNEL} e = Softmax (u) q = MaxPool <kernel_shape = [4]> (e)", rank=3
    ),
    "noise, beside the greatest of what has no mean": beside(
        "e = MeanVarianceNormalization <axes = [1]> (x) q = ReduceMax (e, one)"
    ),
    "noise, beside a sum of what has length 1": beside(
        "e = LpNormalization (x) q = ReduceSum (e, one)"
    ),
    "noise, beside the lengths of numbers of which the sum is 1": beside(
        "e = LpNormalization <p = 1> (x) q = ReduceL2 (e, one)"
    ),
    "noise, beside rows divided by their absolute value": beside(
        "u = Unsqueeze (x, axis2) q = LpNormalization (u)", rank=3
    ),
    "noise, beside a Softmax of rows picked by rows times 0": beside(
        """zero = Constant <value_float = 0.0> () none = Mul (x, zero) index = Cast <to = 7> (none)
        p = GatherElements <axis = 1> (x, index) q = Softmax (p)"""
    ),
    "noise, beside a Softmax of rows written where rows times 0 say": beside(
        """zero = Constant <value_float = 0.0> () none = Mul (x, zero) index = Cast <to = 7> (none)
        p = ScatterElements <axis = 1> (x, index, x) q = Softmax (p)"""
    ),
    "noise, beside a Softmax of rows chosen where a mask is true": beside(
        f"""{MASK} zero = Sub (ones, ones) is = Greater (x, zero) both = And (is, mask)
        half = Add (x, ones) p = Where (both, x, half) q = Softmax (p)"""
    ),
    "noise, beside an attention of rows to all of them": beside(
        """t = Transpose <perm = [0, 2, 1]> (past) s = MatMul (past, t) p = Softmax (s)
        g = MatMul (p, past) q = ReduceMean <keepdims = 0> (g, one)""",
        more=", float[batch, before, 4] past",
    ),
    "noise, beside a mean of rows of before": beside(
        "q = ReduceMean <keepdims = 0> (past, one)", more=", float[batch, before, 4] past"
    ),
    "noise, beside a product of rows and zeros": Mixed(
        f"""{ZEROS_BESIDE} {filled("k", 5, 4)} p = MatMul (q, k) h = Add (p, r) {TURNED}""",
        rank=2,
    ),
}
"""Each element of what is turned round depends on the inputs' rows."""
IN_ORDER = {
    "noise, beside padded rows": Mixed(f"{PADDED} h = Add (q, wide) y = Add (h, ones)", rank=2),
    "noise, beside rows and zeros": Mixed(
        f"{ZEROS_BESIDE} h = Add (q, wide) y = Add (h, ones)", rank=2
    ),
    "a choice by a mask": Mixed(f"{MASK} h = Where (mask, r, x) y = Add (h, ones)", rank=2),
    "noise, times rows without their mean, of which a mask leaves some": Mixed(
        f"""{MASK} mean = ReduceMean <keepdims = 1> (x, zeroth) v = Sub (x, mean)
        zero = Sub (ones, ones) q = Where (mask, v, zero) h = Mul (q, r) y = Add (h, ones)""",
        rank=2,
    ),
}
"""Some elements are of noise alone, but nothing is turned round."""


COUNTED = f"""{PADDED} n = Shape <start = 0, end = 1> (x) zero = Constant <value_int = 0> ()
    step = Constant <value_int = 1> () count = Squeeze (n) numbers = Range (zero, count, step)
    number = Cast <to = 1> (numbers) places = Unsqueeze (number, one)"""
BY_PLACE = {
    "a sum along the batch": "h = CumSum (q, zero)",
    "the number of a row": "h = Add (q, places)",
    "the number of rows": "all = CastLike (count, x) h = Pad (x, pads, all)",
    "a choice by the number of a row": """place = Sub (places, ones) early = Less (place, ones)
        h = Where (early, ones, q)""",
    "a triangle along the batch": "h = Trilu (q)",
    "as many rounds as there are rows": """go = Constant <value = bool {1}> ()
        h = Loop (count, go, q) <body = body (int64 i, bool on, float[batch, 5] given)
        => (bool goes, float[batch, 5] made) { goes = Identity (on) made = Add (given, ones) }>""",
    "a number for each of five rows": """five = Constant <value = float[5, 1]
        {1.0, 2.0, 3.0, 4.0, 5.0}> () h = Add (q, five)""",
}
"""What may stand beside the rows, where a Pad had put zeros."""


@pytest.mark.parametrize("name", BY_PLACE)
def test_noise_is_refused_where_a_gap_holds_numbers_of_rows(name: str) -> None:
    case = Mixed(f"{COUNTED} {BY_PLACE[name]} y = Mul (h, wide)", rank=2)
    with pytest.raises(ValueError, match="combines them with 'h', numbers that depend on how many"):
        make_reproducible(case.model, per_row=True)


@pytest.mark.parametrize("name", TOGETHER)
def test_noise_that_is_summed_with_rows_is_the_models_own(name: str) -> None:
    _is_accepted(TOGETHER[name])


@pytest.mark.parametrize("name", IN_ORDER)
def test_noise_beside_rows_is_accepted_in_order(name: str) -> None:
    _is_accepted(IN_ORDER[name])


def _is_accepted(case: Mixed) -> None:
    make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        make_reproducible(OpenVino("native").read(case.model), per_row=True)
