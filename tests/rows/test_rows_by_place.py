"""make_reproducible(per_row=True): draws whose parameters depend on how many rows there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import onnx
import pytest

from onnx_philox import make_reproducible
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino

SIZES = """s = Shape (x) d = Shape <start = 0, end = 1> (x)
    count = Squeeze (d) n = Cast <to = 1> (count)
    zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
    rows = Constant <value_ints = [0]> () columns = Constant <value_ints = [1]> ()
    last = Constant <value_int = 4> () wide = Constant <value_ints = [-1, 1]> ()
    low = Constant <value_float = 0.0> () high = Constant <value_float = 1.0> ()
    half = Constant <value_float = 0.5> () true = Constant <value = bool {1}> ()"""
"""What the bodies use: x is [batch, 4], n the number of its rows."""
SHARE = "p = Div (high, n)"
SHARES = """two = Constant <value_int = 2> () odd = Mod (count, two)
    shares = SequenceConstruct (half, high)"""
"""Two shares, and a number that picks one."""
RANGE = "places = Range (zero, count, one) f = Cast <to = 1> (places) share = Div (f, n)"
BY_ROW = f"{RANGE} apart = Reshape (share, wide)"


@dataclass(frozen=True)
class Drawn:
    """How y is drawn."""

    body: str
    kind: str = "float"
    """The type of y."""
    is_read_by_openvino: bool = True
    function: str = ""
    """A function of the model."""
    opset: int = 20
    dims: str = "a, b"
    """Those of y."""
    inputs: str = ""
    """More of them, behind x."""

    @property
    def model(self) -> onnx.ModelProto:
        inputs = f"float[batch, 4] x{self.inputs}"
        graph = f"g ({inputs}) => ({self.kind}[{self.dims}] y) {{ {SIZES} {self.body} }}"
        return parse(f"{graph} {self.function}", self.opset)


def coins(body: str) -> Drawn:
    """Coins of the probability p."""
    return Drawn(f"{body} y = Bernoulli <dtype = 1> (p)", is_read_by_openvino=False)


def in_branch(share: str) -> str:
    return f"""p = If (true) <then_branch = t () => (float[a, b] u) {{ u = Expand ({share}, s) }},
        else_branch = e () => (float[c, d] v) {{ v = Expand (half, s) }}>"""


# -- What depends on the other rows ----------------------------------------------------------------

NOISY = "r = RandomNormalLike (x)"
FIRST_OF_EACH = """high1 = Concat <axis = 0> (d, columns)
    first = ConstantOfShape <value = int64[1] {0}> (high1)"""
"""The index 0 for each row: [batch, 1]."""
PAIRS = """two1 = Constant <value_ints = [2]> () pair_of = Concat <axis = 0> (d, two1)
    unlike = Constant <value = float[1, 2] {1.0, 9.0}> () pairs = Expand (unlike, pair_of)
    many = Reshape (pairs, wide)"""
"""Two numbers for each row, one below the other: [2 * batch, 1]."""
ONES_AND_NINES = """high1 = Concat <axis = 0> (d, columns)
    ones = ConstantOfShape <value = float[1] {1.0}> (high1)
    nines = ConstantOfShape <value = float[1] {9.0}> (high1)"""
"""Two columns, each of one number for all rows."""
BLOCKS = """four1 = Constant <value_ints = [4]> () high4 = Concat <axis = 0> (four1, d)
    unlike = Constant <value = float[4, 1] {1.0, 2.0, 3.0, 4.0}> ()
    apart4 = Expand (unlike, high4) flat = Constant <value_ints = [-1]> ()
    blocks = Reshape (apart4, flat)"""
"""Four numbers, each as often as there are rows: [4 * batch]."""
HEADS = """two1 = Constant <value_ints = [2]> () heads = Concat <axis = 0> (d, two1, two1)
    pair = Constant <value_ints = [-1, 2]> ()"""
"""The shape [batch, 2, 2], and that of [2 * batch, 2]."""
COMBINED = {
    "noise that is scaled by how many rows there are": Drawn(
        f"{NOISY} q = Div (r, n) y = Add (q, x)"
    ),
    "noise and the number of its row": Drawn(
        f"{NOISY} {RANGE} apart = Reshape (f, wide) q = Add (r, apart) y = Add (q, x)"
    ),
    "one of two, as the number of the row says": Drawn(
        f"""{NOISY} r2 = RandomNormalLike (x) {RANGE} two = Constant <value_int = 2> ()
        odd = Mod (places, two) is_odd = Equal (odd, one) each = Reshape (is_odd, wide)
        q = Where (each, r, r2) y = Add (q, x)"""
    ),
    "an element of a row that its number says": Drawn(
        f"""{NOISY} {RANGE} four = Constant <value_int = 4> () place = Mod (places, four)
        each = Reshape (place, wide) q = GatherElements <axis = 1> (r, each) y = Add (q, x)"""
    ),
    # OpenVINO's runs refuse data that are longer than the indices.
    "elements of twice as many rows, of the same index": Drawn(
        f"""{NOISY} {PAIRS} {FIRST_OF_EACH} q = GatherElements <axis = 1> (many, first)
        z = Mul (r, q) y = Add (z, x)""",
        is_read_by_openvino=False,
    ),
    "noise of which four rows each are written by the number of one": Drawn(
        f"""{NOISY} {FIRST_OF_EACH} nines = ConstantOfShape <value = float[1] {{9.0}}> (high1)
        many = Reshape (r, wide) q = ScatterElements <axis = 1> (many, first, nines)
        z = Reshape (q, s) y = Add (z, x)"""
    ),
    "noise of which the first row alone is written": Drawn(
        f"""{NOISY} at_first = Constant <value = int64[1, 1] {{0}}> ()
        nine = Constant <value = float[1, 1] {{9.0}}> ()
        q = ScatterElements <axis = 1> (r, at_first, nine) y = Add (q, x)"""
    ),
    "zeros of which the first row alone is written": Drawn(
        f"""{NOISY} at_first = Constant <value = int64[1, 1] {{0}}> ()
        nine = Constant <value = float[1, 1] {{9.0}}> () zeros = ConstantOfShape (s)
        many = ScatterElements <axis = 1> (zeros, at_first, nine) q = Mul (r, many)
        y = Add (q, x)"""
    ),
    "noise, and columns of other numbers that are joined along the rows": Drawn(
        f"""{NOISY} {ONES_AND_NINES} both = SequenceConstruct (ones, nines, ones, nines)
        many = ConcatFromSequence <axis = 0> (both) u = Reshape (r, wide) q = Mul (u, many)
        z = Reshape (q, s) y = Add (z, x)""",
        is_read_by_openvino=False,
    ),
    "noise, and a part of pairs that stand one below the other": Drawn(
        f"""{NOISY} {PAIRS} parts = SplitToSequence <axis = 0> (many)
        q = SequenceAt (parts, one) z = Mul (r, q) y = Add (z, x)""",
        is_read_by_openvino=False,
    ),
    "noise, and numbers of four blocks that are read as columns": Drawn(
        f"""{NOISY} {BLOCKS} z = Reshape (blocks, s) q = Mul (r, z) y = Add (q, x)"""
    ),
    "noise below each row's, and numbers of blocks of rows": Drawn(
        f"""{NOISY} {BLOCKS} u = Reshape (r, flat) v = Mul (u, blocks) q = Reshape (v, s)
        y = Add (q, x)"""
    ),
    "noise beside the number of its row": Drawn(
        f"""{NOISY} {RANGE} each = Reshape (f, wide) wider = Concat <axis = 1> (r, each)
        q = ReduceSum (wider, columns) y = Add (q, x)"""
    ),
    "noise and a mean of all rows": Drawn(
        f"{NOISY} m = ReduceMean <keepdims = 1> (x) q = Mul (r, m) y = Add (q, x)"
    ),
    "a triangle of all noise": Drawn(f"{NOISY} q = Trilu (r) y = Add (q, x)"),
}
"""What is made of noise before it meets the inputs' rows."""

WINDOW = """two = Constant <value_ints = [2]> () odd = Mod (d, two) end = Add (odd, two)
    axis = Constant <value_ints = [1]> ()"""
FEW = "few = Less (count, last)"
MANY = """low0 = Constant <value_float = 0.0> () m = ReduceMax <keepdims = 0> (x)
    few = Greater (m, low0)"""
KEYS = """axes = Constant <value_ints = [0, 1]> () wide6 = Constant <value_ints = [1, 1, 6, 4]> ()
    key = ConstantOfShape <value = float[1] {0.1}> (wide6)
    steps = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> ()
    high6 = Constant <value_ints = [6, 1]> () column = Reshape (steps, high6)
    value = Expand (column, wide6)"""
CAUSAL = f"""{KEYS} q = Unsqueeze (r, axes) w = Attention <is_causal = 1> (q, key, value)
    u = Squeeze (w, axes)"""
ATTENDED = f"""{KEYS} ones = ConstantOfShape <value = float[1] {{1.0}}> (s)
    q = Unsqueeze (ones, axes) w = Attention <is_causal = 1> (q, key, value)
    u = Squeeze (w, axes) six = Constant <value_float = 6.0> () p = Div (u, six)"""


def chosen(condition: str) -> str:
    return f"""{NOISY} {condition} y = If (few) <
        then_branch = t () => (float[a, b] u) {{ u = Neg (r) }},
        else_branch = e () => (float[c, d] v) {{ v = Abs (r) }}>"""


REPEATED = f"""{NOISY} ones = ConstantOfShape <value = float[1] {{1.0}}> (d)
    zeroth = Constant <value_ints = [0]> () second = Constant <value_ints = [1]> ()
    third = Constant <value_ints = [2]> () u = Unsqueeze (r, second) v = Unsqueeze (ones, zeroth)
    w = Unsqueeze (v, third) many = Mul (u, w)"""
"""Each row's noise, once for each row of the batch: [batch, batch, 4]."""


def shifted(count: int) -> str:
    """Noise times what a loop hands on from one value to the next, at last the number of rows."""
    inside = [f"float a{i}" for i in range(count)]
    outside = [f"float b{i}" for i in range(count)]
    moves = " ".join(f"b{i} = Identity (a{i + 1})" for i in range(count - 1))
    given = ", ".join(["high"] * count)
    made = ", ".join(f"end{i}" for i in range(count))
    return f"""{NOISY} hundred = Constant <value_int = 100> ()
        {made} = Loop (hundred, true, {given}) <body = b (int64 i, bool go, {", ".join(inside)})
            => (bool on, {", ".join(outside)}) {{
            on = Identity (go) {moves} b{count - 1} = Identity (n) }}>
        y = Mul (r, end0)"""


LEAVING = {
    "noise that is repeated for each row, and summed": Drawn(
        f"{REPEATED} sum = ReduceSum <keepdims = 0> (many, second) y = Add (sum, x)"
    ),
    "noise that is repeated for each row, behind a Softmax": Drawn(
        f"""{REPEATED} shares = Softmax <axis = 1> (many) first = Gather <axis = 1> (shares, zero)
        y = Add (first, x)"""
    ),
    "noise that is repeated as often as all rows say, and summed": Drawn(
        f"""{NOISY} {REPEATED.removeprefix(NOISY)} m = ReduceMax <keepdims = 0> (x)
        longest = Cast <to = 7> (m) flat = Constant <value_ints = [-1]> ()
        length = Reshape (longest, flat) four = Constant <value_ints = [4]> ()
        size = Concat <axis = 0> (d, length, four) long = Expand (u, size)
        sum = ReduceSum <keepdims = 0> (long, second) y = Add (sum, x)"""
    ),
    "noise times what sixty values of a loop hand on": Drawn(
        shifted(60), is_read_by_openvino=False
    ),
    "noise that is cut by a number, and leaves": Drawn(
        f"{NOISY} {WINDOW} y = Slice (r, odd, end, axis)"
    ),
    "noise that is cut by a number, through Identity": Drawn(
        f"{NOISY} {WINDOW} z = Slice (r, odd, end, axis) y = Identity (z)"
    ),
    "a triangle by a number, of each row's noise": Drawn(
        f"""{NOISY} wider = Constant <value_ints = [-1, 2, 2]> () z = Reshape (r, wider)
        two = Constant <value_int = 2> () odd = Mod (count, two) y = Trilu (z, odd)""",
        is_read_by_openvino=False,
        dims="a, 2, 2",
    ),
    "noise that is padded with the number of rows": Drawn(
        f"{NOISY} pads = Constant <value_ints = [0, 1, 0, 0]> () y = Pad (r, pads, n)"
    ),
    "noise that says where the number of rows stands": Drawn(
        f"""{NOISY} wider = Constant <value_ints = [-1]> () zero1 = Constant <value_float = 0.0> ()
        few = Less (r, zero1) k = Cast <to = 7> (few) two = Constant <value_int = 2> ()
        z0 = Reshape (zero1, wider) n0 = Reshape (n, wider) both = Concat <axis = 0> (z0, n0)
        y = OneHot (k, two, both)""",
        dims="a, 4, 2",
    ),
    "a recurrent layer of noise, with a bias that is the number of rows": Drawn(
        f"""{NOISY} zeroth = Constant <value_ints = [0]> () t = Unsqueeze (r, zeroth)
        wide4 = Constant <value_ints = [1, 1, 4]> () one1 = Constant <value_ints = [1, 1, 1]> ()
        w = ConstantOfShape <value = float[1] {{1.0}}> (wide4)
        v = ConstantOfShape <value = float[1] {{1.0}}> (one1)
        two = Constant <value_ints = [1, 2]> () bias = Expand (n, two)
        y1, y = RNN <hidden_size = 1> (t, w, v, bias)""",
        dims="1, a, 1",
    ),
    "noise in a branch that the number of rows chooses": Drawn(chosen(FEW)),
    "noise in a branch that all rows choose": Drawn(chosen(MANY)),
    "noise in a Loop that runs as often as there are rows": Drawn(
        f"""{NOISY} y = Loop (count, true, r) <body = b (int64 i, bool ci, float[e, f] v)
        => (bool co, float[g, h] w) {{ co = Identity (ci) w = Tanh (v) }}>"""
    ),
    "noise in a Loop that runs until all rows say so": Drawn(
        f"""{NOISY} y = Loop (, true, r) <body = b (int64 i, bool ci, float[e, f] v)
        => (bool co, float[g, h] w) {{ w = Tanh (v) k = Cast <to = 1> (i)
        m = ReduceMax <keepdims = 0> (x) co = Greater (m, k) }}>"""
    ),
    "one of two noises, out of a sequence": Drawn(
        f"""{NOISY} q = Neg (r) both = SequenceConstruct (r, q) two = Constant <value_int = 2> ()
        odd = Mod (count, two) y = SequenceAt (both, odd)""",
        is_read_by_openvino=False,
    ),
    "noise that a function cuts by a number": Drawn(
        f"{NOISY} {WINDOW} y = own.cut (r, odd, end, axis)",
        is_read_by_openvino=False,
        function="""<domain: "own", opset_import: ["": 20]> cut (a, b, c, e) => (f) {
            f = Slice (a, b, c, e) }""",
    ),
    "a Dropout of noise that is cut by a number": Drawn(
        f"""{NOISY} {WINDOW} far = Add (d, two) z = Slice (r, d, far, axis)
        y = Dropout (z, half, true)""",
        is_read_by_openvino=False,
        dims="batch, 2",
    ),
    "a Dropout of the number of rows": Drawn(
        "z = Expand (n, s) y = Dropout (z, half, true)", is_read_by_openvino=False
    ),
    "a causal attention of noise to constants": Drawn(
        f"{NOISY} {CAUSAL} y = Add (u, x)", opset=23, is_read_by_openvino=False
    ),
    "a causal attention of noise in three dimensions": Drawn(
        f"""{NOISY} {KEYS} zeroth = Constant <value_ints = [0]> () k3 = Squeeze (key, zeroth)
        v3 = Squeeze (value, zeroth) q = Unsqueeze (r, zeroth)
        w = Attention <is_causal = 1, q_num_heads = 1, kv_num_heads = 1> (q, k3, v3)
        u = Squeeze (w, zeroth) y = Add (u, x)""",
        opset=23,
        is_read_by_openvino=False,
    ),
    "a Bernoulli's share, of a causal attention": replace(coins(ATTENDED), opset=23),
}
"""What leaves a model, or meets the inputs' rows, as soon as noise depends on their number."""

BY_PLACE = {
    **COMBINED,
    **LEAVING,
    "a Bernoulli's share, of the number of rows": coins(
        f"{SHARE.replace('p', 'q')} p = Expand (q, s)"
    ),
    "a Bernoulli's share, of a row's number": coins(f"{BY_ROW} p = Expand (apart, s)"),
    "a Bernoulli's share, of a sum of ones": coins(
        """ones = ConstantOfShape <value = float[1] {0.01}> (s)
        sum = ReduceSum (ones, rows) p = Expand (sum, s)"""
    ),
    "a Bernoulli's share, of a running sum": coins(
        "ones = ConstantOfShape <value = float[1] {0.01}> (s) p = CumSum (ones, zero)"
    ),
    "a Bernoulli's share, of a table's first rows": coins(
        """shape = Constant <value_ints = [9, 4]> ()
        table = ConstantOfShape <value = float[1] {0.1}> (shape) p = Slice (table, rows, d, rows)"""
    ),
    "a Bernoulli's share, of a triangle": coins(
        "ones = ConstantOfShape <value = float[1] {0.3}> (s) p = Trilu (ones)"
    ),
    "a Bernoulli's share, in a branch": coins(f"{SHARE.replace('p', 'q')} {in_branch('q')}"),
    "a Bernoulli's share, as the number of rows chooses": coins(
        """few = Less (count, last) q = If (few) <
        then_branch = t () => (float u) { u = Identity (half) },
        else_branch = e () => (float v) { v = Identity (high) }> p = Expand (q, s)"""
    ),
    "a Bernoulli's share, of another draw and a row's number": coins(
        f"{BY_ROW} u = RandomUniformLike (x) p = Mul (u, apart)"
    ),
    "a Bernoulli's share, of a mean over the rows": coins(
        "m = ReduceMean (x, rows) q = Sigmoid (m) p = Expand (q, s)"
    ),
    "a Bernoulli's share, as a difference chooses that may be negative": coins(
        """less = Sub (count, last) minus = Constant <value_int = -1> () few = Equal (less, minus)
        q = Where (few, half, high) p = Expand (q, s)"""
    ),
    "a Bernoulli's share, of a difference that may be 0": coins(
        """less = Sub (last, count) one1 = Div (less, less) f = Cast <to = 1> (one1)
        q = Mul (f, half) p = Expand (q, s)"""
    ),
    "a Bernoulli's share, of how long a Loop runs": coins(
        """q = Loop (count, true, half) <body = b (int64 i, bool ci, float v) => (bool co, float w)
        { co = Identity (ci) w = Mul (v, half) }> p = Expand (q, s)"""
    ),
    "a Bernoulli's share, that the number of rows picks out of a sequence": coins(
        f"{SHARES} q = SequenceAt (shares, odd) p = Expand (q, s)"
    ),
    "a Bernoulli's share, that is left of a sequence": coins(
        f"{SHARES} left = SequenceErase (shares, odd) q = SequenceAt (left, zero) p = Expand (q, s)"
    ),
    "a Bernoulli's share, where it is put into a sequence": coins(
        f"""{SHARES} more = SequenceInsert (shares, high, odd) q = SequenceAt (more, zero)
        p = Expand (q, s)"""
    ),
    "a Bernoulli's share, of a table that is split": coins(
        f"""{SHARES} size = Add (odd, one) shape = Constant <value_ints = [8]> ()
        table = ConstantOfShape <value = float[1] {{0.1}}> (shape)
        parts = SplitToSequence (table, size) part = SequenceAt (parts, zero)
        q = ReduceSum (part) p = Expand (q, s)"""
    ),
    "a Bernoulli's share, of how many parts a table has": coins(
        f"""{SHARES} size = Add (odd, one) shape = Constant <value_ints = [8]> ()
        table = ConstantOfShape <value = float[1] {{0.1}}> (shape)
        parts = SplitToSequence (table, size) length = SequenceLength (parts)
        f = Cast <to = 1> (length) q = Div (half, f) p = Expand (q, s)"""
    ),
    "the share of a Bernoulli in a Loop": Drawn(
        f"""{SHARE} three = Constant <value_int = 3> ()
        y = Loop (three, true, x) <body = b (int64 i, bool ci, float[r, c] v)
        => (bool co, float[t, u] w) {{ co = Identity (ci) q = Expand (p, s)
        c0 = Bernoulli (q) w = Add (v, c0) }}>""",
        is_read_by_openvino=False,
    ),
    "the share of a Bernoulli in a function": Drawn(
        "y = own.coins (x)",
        is_read_by_openvino=False,
        function="""<domain: "own", opset_import: ["": 20]> coins (v) => (c0) {
            d = Shape <start = 0, end = 1> (v) n = Cast <to = 1> (d) p = Reciprocal (n)
            s = Shape (v) q = Expand (p, s) c0 = Bernoulli (q) }""",
    ),
    "the share of a Bernoulli in a Scan": Drawn(
        f"""{SHARE} y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        body = b (float[r] v) => (float[t] w) {{
        q = Expand (p, d) c0 = Bernoulli (q) w = Add (v, c0) }}> (x)""",
        is_read_by_openvino=False,
    ),
    "a Dropout's ratio": Drawn(f"{SHARE} y = Dropout (x, p, true)", is_read_by_openvino=False),
    "whether a Dropout drops": Drawn(
        "few = Less (count, last) y = Dropout (x, half, few)", is_read_by_openvino=False
    ),
    "a fused dropout's ratio": Drawn(
        f"""{SHARE} width = Constant <value_ints = [4]> () bias = Expand (half, width)
        y = com.microsoft.BiasDropout (x, bias, , p, true)""",
        is_read_by_openvino=False,
    ),
    "a Multinomial's logits": Drawn(
        f"{BY_ROW} logits = Expand (apart, s) y = Multinomial (logits)", "int32"
    ),
    "what a uniform is compared with": Drawn(
        f"{SHARE} u = RandomUniformLike (x) y = Less (u, p)", "bool"
    ),
    "what a uniform is compared with, by a row's number": Drawn(
        f"{BY_ROW} u = RandomUniformLike (x) y = GreaterOrEqual (apart, u)", "bool"
    ),
    "what a uniform is compared with, of how many tensors a SequenceMap makes": Drawn(
        """parts = SplitToSequence (x) made = SequenceMap (parts) <body = b (float[1, 4] v) =>
        (float w) { w = Constant <value_float = 1.0> () }> length = SequenceLength (made)
        f = Cast <to = 1> (length) q = Div (half, f) p = Reshape (q, columns)
        u = RandomUniformLike (x) y = Less (u, p)""",
        "bool",
        is_read_by_openvino=False,
    ),
    "a uniform's lower bound": Drawn(
        f'{SHARE} y = onnx_philox.RandomUniform <op_seed = 1, output_type = "f32"> (s, p, high)'
    ),
    "a uniform's upper bound": Drawn(
        'y = onnx_philox.RandomUniform <op_seed = 1, output_type = "f32"> (s, low, n)'
    ),
    "a normal's mean": Drawn(
        'y = onnx_philox.RandomNormal <op_seed = 1, output_type = "f32"> (s, n, high)'
    ),
    "a normal's scale": Drawn(
        'y = onnx_philox.RandomNormal <op_seed = 1, output_type = "f32"> (s, low, n)'
    ),
    "our Bernoulli's share": Drawn(
        f"{BY_ROW} p = Expand (apart, s) y = onnx_philox.RandomBernoulli <op_seed = 1> (s, p)",
        "bool",
    ),
    "our categorical's logits": Drawn(
        f"""{BY_ROW} logits = Expand (apart, s)
        y = onnx_philox.RandomCategorical <op_seed = 1> (logits)""",
        "int32",
    ),
    "an exponential's rate": Drawn(
        'y = onnx_philox.RandomExponential <op_seed = 1, output_type = "f32"> (s, n)'
    ),
    "a gamma's shape": Drawn(
        f"""{BY_ROW} a = Add (apart, high) alpha = Expand (a, s)
        y = onnx_philox.RandomGamma <op_seed = 1, output_type = "f32"> (s, alpha)"""
    ),
    "a Poisson's rate": Drawn(
        """rate = Expand (n, s)
        y = onnx_philox.RandomPoisson <op_seed = 1, output_type = "i32"> (s, rate)""",
        "int32",
    ),
    "a token's temperature": Drawn(
        """y0 = onnx_philox.RandomToken <op_seed = 1> (x, n) y = Unsqueeze (y0, columns)""", "int64"
    ),
    "a token's temperatures": Drawn(
        f"""{RANGE} y0 = onnx_philox.RandomToken <op_seed = 1> (x, share)
        y = Unsqueeze (y0, columns)""",
        "int64",
    ),
    "how many tokens are considered": Drawn(
        """y0 = onnx_philox.RandomToken <op_seed = 1> (x, half, count)
        y = Unsqueeze (y0, columns)""",
        "int64",
    ),
    "our dropout's ratio": Drawn(f"{SHARE} y = onnx_philox.RandomDropout <op_seed = 1> (x, p)"),
    "TensorFlow's gamma": Drawn(
        "alpha = Expand (n, s) flat = Constant <value = int64[0] {}> ()"
        "y = ai.onnx.converters.tensorflow.RandomGamma (flat, alpha)",
        is_read_by_openvino=False,
    ),
    "TensorFlow's integers": Drawn(
        "y = ai.onnx.converters.tensorflow.RandomUniformInt (s, zero, count)",
        "int64",
        is_read_by_openvino=False,
    ),
}


@pytest.mark.parametrize("name", BY_PLACE)
def test_a_draw_by_the_number_of_rows_is_refused(name: str) -> None:
    case = BY_PLACE[name]
    said = (
        "(draws by|makes of|compares them with|combines them with|treats them by"
        "|chooses a branch by|goes by|runs its body as often as is said by) '.*', numbers that "
        "depend on how many rows there are, or on their order"
        "|keeps of each row what its number says"
    )
    with pytest.raises(ValueError, match=said):
        make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        with pytest.raises(ValueError, match=said):
            make_reproducible(OpenVino("native").read(case.model), per_row=True)


def test_noise_that_is_resized_in_proportion_is_refused() -> None:
    # The scale of the columns, a half, is that of the rows too.
    half_as_wide = Drawn(
        f"""{NOISY} two = Constant <value_ints = [2]> () size = Concat <axis = 0> (d, two)
        y = Resize <mode = "nearest", keep_aspect_ratio_policy = "not_larger"> (r, , , size)"""
    )
    with pytest.raises(ValueError, match=r"'y' \(Resize\) puts the rows of its input into another"):
        make_reproducible(half_as_wide.model, per_row=True)


# -- What has no batch, and a number for each of several rows --------------------------------------


THREE_ROWS = """wide3 = Constant <value_ints = [3, 4]> ()
    steps = Constant <value_floats = [0.1, 0.2, 0.3]> ()
    high3 = Constant <value_ints = [3, 1]> () column = Reshape (steps, high3)
    table = Expand (column, wide3)"""
"""Three rows of other numbers each."""
WINDOWED = CAUSAL.replace("is_causal = 1", "left_window_size = 1, right_window_size = 0")
ALONG_ROWS = {
    "noise and a constant": Drawn(
        f"{NOISY} {THREE_ROWS} q = Add (r, table) y = Add (q, x)", is_read_by_openvino=False
    ),
    "noise beside a constant": Drawn(
        f"""{NOISY} {THREE_ROWS} wider = Concat <axis = 1> (r, table)
        q = ReduceSum (wider, columns) y = Add (q, x)""",
        is_read_by_openvino=False,
    ),
    "noise by a matrix for each row": Drawn(
        f"""{NOISY} {THREE_ROWS} k = Unsqueeze (table, columns) u = Unsqueeze (r, columns)
        q = Mul (u, k) sum = ReduceSum <keepdims = 0> (q, columns) y = Add (sum, x)""",
        is_read_by_openvino=False,
    ),
    "noise and a constant that is made as long as the batch": Drawn(
        f"{NOISY} {THREE_ROWS} k = Expand (table, s) q = Add (r, k) y = Add (q, x)",
        is_read_by_openvino=False,
    ),
    "noise and a constant that is read as rows": Drawn(
        f"""{NOISY} {THREE_ROWS} rest = Constant <value_ints = [-1]> ()
        size = Concat <axis = 0> (d, rest) k = Reshape (table, size) m = ReduceSum (k, columns)
        q = Add (r, m) y = Add (q, x)"""
    ),
    "elements of a constant that noise picks for its row": Drawn(
        f"""{NOISY} {THREE_ROWS} i = Cast <to = 7> (r) q = GatherElements <axis = 1> (table, i)
        y = Add (q, x)""",
        is_read_by_openvino=False,
    ),
    "noise into which rows of a constant are put": Drawn(
        f"""{NOISY} {THREE_ROWS} i = Constant <value = int64[3, 1] {{0, 1, 2}}> ()
        q = ScatterElements <axis = 1> (r, i, column) y = Add (q, x)""",
        is_read_by_openvino=False,
    ),
    "heads of queries that are noise": Drawn(
        f"""{NOISY} {THREE_ROWS} zeroth = Constant <value_ints = [0]> ()
        second = Constant <value_ints = [2]> () u = Unsqueeze (r, zeroth) v = Unsqueeze (u, second)
        k = Unsqueeze (table, zeroth) l = Unsqueeze (k, second) w = Attention (v, l, l)
        t = Squeeze (w, zeroth) q = Squeeze (t, columns) y = Add (q, x)""",
        opset=23,
        is_read_by_openvino=False,
    ),
    "noise that looks through a window": Drawn(
        f"{NOISY} {WINDOWED} y = Add (u, x)", opset=25, is_read_by_openvino=False
    ),
    "the share of a Bernoulli": coins(
        f"""{THREE_ROWS} rest = Constant <value_ints = [-1]> ()
        size = Concat <axis = 0> (d, rest) k = Reshape (table, size) m = ReduceMean (k, columns)
        p = Expand (m, s)"""
    ),
}
"""By which a row's numbers depend on which of them it is."""


@pytest.mark.parametrize("name", ALONG_ROWS)
def test_numbers_for_several_rows_are_no_rows_own(name: str) -> None:
    case = ALONG_ROWS[name]
    said = (
        "'.*', which has no batch, but may hold a number for each of several rows"
        "|'.*', numbers that depend on how many rows there are, or on their order"
        "|keeps of each row what its number says"
    )
    with pytest.raises(ValueError, match=said):
        make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        with pytest.raises(ValueError, match=said):
            make_reproducible(OpenVino("native").read(case.model), per_row=True)


# -- What does not ---------------------------------------------------------------------------------

ALIKE = {
    "noise that has met its row, and how many there are": Drawn(
        f"{NOISY} q = Add (r, x) y = Div (q, n)"
    ),
    "noise and what its row is beside the others": Drawn(
        f"{NOISY} m = ReduceMean (x, rows) d2 = Sub (x, m) q = Mul (r, d2) y = Add (q, x)"
    ),
    "a triangle of each row's noise": Drawn(
        f"""{NOISY} wider = Constant <value_ints = [-1, 2, 2]> () q = Reshape (r, wider)
        u = Trilu (q) v = Reshape (u, s) y = Add (v, x)"""
    ),
    "an element of each row's noise that its own integer says": Drawn(
        f"""{NOISY} {RANGE} k = ReduceMax (x, columns) i = Cast <to = 7> (k)
        each = Reshape (places, wide) at = Concat <axis = 1> (each, i) g = GatherND (r, at)
        q = Tanh (g) y = Reshape (q, wide)"""
    ),
    "noise of which one element of each row is written": Drawn(
        f"""{NOISY} {FIRST_OF_EACH} nines = ConstantOfShape <value = float[1] {{9.0}}> (high1)
        y = ScatterElements <axis = 1> (r, first, nines)"""
    ),
    "noise of which the first of two columns is written": Drawn(
        f"""{NOISY} pair_of = Constant <value_ints = [-1, 2, 2]> () u = Reshape (r, pair_of)
        each1 = Concat <axis = 0> (d, columns, columns)
        first = ConstantOfShape <value = int64[1] {{0}}> (each1)
        nines = ConstantOfShape <value = float[1] {{9.0}}> (each1)
        v = ScatterElements <axis = 2> (u, first, nines) y = Reshape (v, s)"""
    ),
    "noise, and columns of other numbers that are joined in each row": Drawn(
        f"""{NOISY} {ONES_AND_NINES} both = SequenceConstruct (ones, nines, ones, nines)
        many = ConcatFromSequence <axis = 1> (both) y = Mul (r, many)""",
        is_read_by_openvino=False,
    ),
    "noise, and a column of several in a row": Drawn(
        f"""{NOISY} {PAIRS} parts = SplitToSequence <axis = 1> (pairs)
        q = SequenceAt (parts, one) y = Mul (r, q)""",
        is_read_by_openvino=False,
    ),
    "noise, and a mask of each row that is repeated for its heads": Drawn(
        f"""{NOISY} {HEADS} ones2 = Constant <value = float[1, 2] {{1.0, 9.0}}> ()
        m = Expand (ones2, heads) n2 = Reshape (m, pair) u = Reshape (r, pair)
        q = Mul (u, n2) y = Reshape (q, s)"""
    ),
    "noise, and one number that is repeated for blocks of rows": Drawn(
        f"""{NOISY} {HEADS} twice1 = Mul (d, two1) whole = Concat <axis = 0> (twice1, two1)
        m = Expand (half, whole) u = Reshape (r, pair) q = Mul (u, m) y = Reshape (q, s)"""
    ),
    "noise of which all rows are taken": Drawn(
        f"""{NOISY} zeros = Constant <value_ints = [0, 0]> () two = Constant <value_ints = [2]> ()
        ends = Concat <axis = 0> (d, two) y = Slice (r, zeros, ends)"""
    ),
    "noise that is made larger": Drawn(
        f"""{NOISY} eight = Constant <value_ints = [8]> () sizes = Concat <axis = 0> (d, eight)
        y = Resize <mode = "nearest"> (r, , , sizes)""",
        is_read_by_openvino=False,
    ),
    "noise in a branch that an input without a batch chooses": Drawn(
        chosen("few = Identity (true)")
    ),
    "one share for all": coins("p = Expand (half, s)"),
    "a share for each row, of one number": coins(
        """wide0 = Constant <value_ints = [1, 4]> () q = Expand (half, wide0)
        times = Concat <axis = 0> (d, columns) p = Tile (q, times)"""
    ),
    "zeros, and what is computed of each": coins(
        """zeros = ConstantOfShape (s) t = Transpose (zeros) u = Sigmoid (t) v = Transpose (u)
        q = Softmax <axis = 1> (v) p = Mul (q, half)"""
    ),
    "zeros that are summed along another dimension": coins(
        """zeros = ConstantOfShape <value = float[1] {0.1}> (s)
        sum = ReduceSum (zeros, columns) p = Expand (sum, s)"""
    ),
    "zeros like the input": coins("q = Sub (x, x) p = Sigmoid (q)"),
    "a row's own, of which other rows are subtracted": coins(
        "m = ReduceMean (x, rows) q = Sub (x, m) p = Sigmoid (q)"
    ),
    "a row's own, divided by how many there are": coins("q = Div (x, n) p = Sigmoid (q)"),
    "another draw": coins("p = RandomUniformLike (x)"),
    "logits of zeros": Drawn("zeros = ConstantOfShape (s) y = Multinomial (zeros)", "int32"),
    "a ratio for each model": Drawn(
        "p = Mul (half, half) y = Dropout (x, p, true)", is_read_by_openvino=False
    ),
    "as the number of rows never chooses": coins(
        """minus = Constant <value_int = -1> () never = Equal (count, minus)
        q = Where (never, high, half) p = Expand (q, s)"""
    ),
    "the size of another dimension": coins(
        """e = Shape <start = 1, end = 2> (x) f = Cast <to = 1> (e) q = Div (half, f)
        p = Expand (q, s)"""
    ),
}


SENTENCES = {
    "one draw": (
        COMBINED["noise that is scaled by how many rows there are"],
        "'q' (Div) combines them with 'n', numbers that depend on how many rows there are, or on "
        "their order. Make these numbers an input of the model, or draw by the place, so that a "
        "row's numbers depend on its batch, with per_row=['r'], or rewrite the model with one "
        "state for the whole batch.",
    ),
    "two draws": (
        COMBINED["one of two, as the number of the row says"],
        "'q' (Where) combines them with 'each', numbers that depend on how many rows there are, or "
        "on their order, for 'r', 'r2'. Make these numbers an input of the model, or draw by the "
        "place, so that a row's numbers depend on its batch, with per_row=['r', 'r2'], or rewrite "
        "the model with one state for the whole batch.",
    ),
    "a branch": (
        LEAVING["noise in a branch that all rows choose"],
        "'y' (If) chooses a branch by 'few', numbers that depend on how many rows there are, or on "
        "their order. Make these numbers an input of the model, or draw by the place, so that a "
        "row's numbers depend on its batch, with per_row=['r'], or rewrite the model with one "
        "state for the whole batch.",
    ),
    "an input that may be as long as the batch": (
        Drawn(f"{NOISY} q = Mul (r, scale) y = Add (q, x)", inputs=", float[M, 1] scale"),
        "'q' (Mul) makes of 'scale', which has no batch, but may hold a number for each of several "
        "rows, along 'M'. Make this dimension of the input 1, or give it the batch's name, or draw "
        "by the place, so that a row's numbers depend on its batch, with per_row=['r'], or rewrite "
        "the model with one state for the whole batch.",
    ),
    "a mean that may be as long as the batch": (
        Drawn(
            'y = onnx_philox.RandomNormal <output_type = "f32"> (s, means, half)',
            inputs=", float[M, 1] means",
        ),
        "'y' (RandomNormal) draws by a parameter which has no batch, but may hold a number for "
        "each of several rows, along 'M'. Make this dimension of the input 1, or give it the "
        "batch's name, or draw by the place, so that a row's numbers depend on its batch, with "
        "per_row=['y'], or rewrite the model with one state for the whole batch.",
    ),
    # To name it would say that its first dimension is the batch, which it is not.
    "a multiple of the batch": (
        Drawn(
            """three = Constant <value_ints = [3, 1]> () wide3 = Tile (x, three)
            p = Expand (half, s) y = Dropout (wide3, half, true)""",
            is_read_by_openvino=False,
        ),
        "'wide3' (Tile) repeats the rows of 'x'. Put the rows into another order outside of the "
        "model (sort on the host), or rewrite the model with one state for the whole batch.",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_refusal_offers_what_helps(name: str) -> None:
    case, said = SENTENCES[name]
    with pytest.raises(ValueError, match="must be proved") as error:
        make_reproducible(case.model, per_row=True)
    assert str(error.value).endswith(f"got {said}")


@pytest.mark.parametrize("name", ALIKE)
def test_a_draw_by_what_each_row_has_alone_is_accepted(name: str) -> None:
    case = ALIKE[name]
    make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        make_reproducible(OpenVino("native").read(case.model), per_row=True)
