"""make_reproducible(per_row=True): draws whose parameters depend on how many rows there are."""

from __future__ import annotations

from dataclasses import dataclass

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

    @property
    def model(self) -> onnx.ModelProto:
        graph = f"g (float[batch, 4] x) => ({self.kind}[a, b] y) {{ {SIZES} {self.body} }}"
        return parse(f"{graph} {self.function}", 20)


def coins(body: str) -> Drawn:
    """Coins of the probability p."""
    return Drawn(f"{body} y = Bernoulli <dtype = 1> (p)", is_read_by_openvino=False)


def in_branch(share: str) -> str:
    return f"""p = If (true) <then_branch = t () => (float[a, b] u) {{ u = Expand ({share}, s) }},
        else_branch = e () => (float[c, d] v) {{ v = Expand (half, s) }}>"""


# -- What depends on the other rows ----------------------------------------------------------------

NOISY = "r = RandomNormalLike (x)"
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

BY_PLACE = {
    **COMBINED,
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
        r"(draws by|compares them with|combines them with) numbers that depend on how many rows "
        "there are, or on|keeps of each row what its number says"
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


@pytest.mark.parametrize("name", ALIKE)
def test_a_draw_by_what_each_row_has_alone_is_accepted(name: str) -> None:
    case = ALIKE[name]
    make_reproducible(case.model, per_row=True)
    if case.is_read_by_openvino:
        make_reproducible(OpenVino("native").read(case.model), per_row=True)
