"""make_reproducible(per_row=True): draws of which another dimension is as long as rows say."""

from __future__ import annotations

import onnx
import pytest

from onnx_philox import make_reproducible
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino

NUMBERS = """d = Shape <start = 0, end = 1> (x) t = Shape <start = 1, end = 2> (x)
    zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
    two = Constant <value_ints = [2]> () four = Constant <value_ints = [4]> ()
    nine = Constant <value_ints = [9]> () most = Constant <value_ints = [9223372036854775807]> ()
    none = Constant <value_int = 0> () step = Constant <value_int = 1> ()
    half = Constant <value_floats = [0.5]> ()"""
"""What the bodies use: x is [batch, time], d and t its dimensions."""
DRAW = "r = RandomUniformLike <dtype = 1> (f)"


def model_of(body: str, rank: int = 2) -> onnx.ModelProto:
    dims = ", ".join("abc"[:rank])
    return parse(f"g (float[batch, time] x) => (float[{dims}] r) {{ {NUMBERS} {body} {DRAW} }}", 20)


def sized(how: str) -> str:
    """[batch, h] for a number h."""
    return f"{how} s = Concat <axis = 0> (d, h) f = ConstantOfShape (s)"


HOT = """i = Cast <to = 7> (x) values = Constant <value_floats = [0.0, 1.0]> ()
    o = OneHot (i, d, values)"""


def looped(count: str, made: str) -> str:
    """A Loop that runs as often as a vector of one number says; its body makes w of v."""
    return f"""c = Squeeze ({count}) go = Constant <value = bool {{1}}> () f = Loop (c, go, x) <
        body = b (int64 i, bool ci, float[p, q] v) => (bool co, float[u, e] w)
        {{ co = Identity (ci) w = {made} }}>"""


def chosen(condition: str, made: str) -> str:
    """Either u, which is made of x, or x."""
    return f"""{condition} f = If (c) <then_branch = t () => (float[p, q] u) {{ u = {made} }},
        else_branch = e () => (float[k, l] w) {{ w = Identity (x) }}>"""


FEW = "g = Greater (d, four) c = Squeeze (g)"
LARGE = "g = ReduceMax <keepdims = 0> (x) c = Cast <to = 9> (g)"

# -- Made of the batch -----------------------------------------------------------------------------

OF_THE_BATCH: dict[str, tuple[str, int]] = {
    "a quotient": (sized("g = Add (d, two) h = Div (g, two)"), 2),
    "a rest": (sized("g = Mod (d, four) h = Add (g, one)"), 2),
    "a sum": (sized("h = Add (d, one)"), 2),
    "a difference": (sized("g = Add (d, nine) h = Sub (g, one)"), 2),
    "the lesser of two": (sized("h = Min (d, four)"), 2),
    "the greater of two": (sized("h = Max (d, four)"), 2),
    "as a comparison chooses": (sized("c = Greater (d, four) h = Where (c, two, one)"), 2),
    "as a branch chooses": (
        sized(
            """g = Greater (d, four) c = Squeeze (g) h = If (c) <
            then_branch = a () => (int64[1] u) { u = Identity (two) },
            else_branch = b () => (int64[1] v) { v = Identity (one) }>"""
        ),
        2,
    ),
    "of floating-point numbers": (
        sized("g = Cast <to = 1> (d) e = Mul (g, half) c = Ceil (e) h = Cast <to = 7> (c)"),
        2,
    ),
    "a sum of ones": (
        sized(
            """ones = ConstantOfShape <value = int64[1] {1}> (d)
            h = ReduceSum <keepdims = 1> (ones, zero)"""
        ),
        2,
    ),
    "how often a Loop runs": (
        sized(
            """c = Squeeze (d) go = Constant <value = bool {1}> () h = Loop (c, go, one) <
            body = b (int64 i, bool ci, int64[1] v) => (bool co, int64[1] w)
            { co = Identity (ci) w = Add (v, one) }>"""
        ),
        2,
    ),
    "a part of a constant": (
        """g = Div (d, two) table = ConstantOfShape (nine) h = Slice (table, zero, g, zero)
        s = Concat <axis = 0> (d, one) c = ConstantOfShape (s) f = Add (c, h)""",
        2,
    ),
    "one-hot": (f"{HOT} f = Identity (o)", 3),
    "one-hot, all of it": (f"{HOT} f = Slice (o, zero, most, two)", 3),
    "one-hot, a part of it": (f"{HOT} f = Slice (o, one, most, two)", 3),
    "one-hot, twice": (f"{HOT} f = Concat <axis = 2> (o, o)", 3),
    "one-hot, made longer": (
        f"""{HOT} pads = Constant <value_ints = [0, 0, 0, 0, 0, 1]> () f = Pad (o, pads)""",
        3,
    ),
    "one-hot, parted and joined": (
        f"{HOT} a, b = Split <num_outputs = 2, axis = 2> (o) f = Concat <axis = 2> (b, a)",
        3,
    ),
    "as often as a Loop puts more behind it": (looped("d", "Concat <axis = 1> (v, x)"), 2),
    "of a branch that puts more behind it": (chosen(FEW, "Concat <axis = 1> (x, x)"), 2),
    "of a branch, as the largest value of all rows chooses": (
        chosen(LARGE, "Concat <axis = 1> (x, x)"),
        2,
    ),
    "one-hot, parted and joined in a Loop": (
        f"""{HOT} c = Squeeze (two) go = Constant <value = bool {{1}}> () f = Loop (c, go, o) <
        body = b (int64 i, bool ci, float[p, q, m] v) => (bool co, float[u, e, k] w)
        {{ co = Identity (ci) g = Slice (v, one, most, two) h = Slice (v, zero, one, two)
        w = Concat <axis = 2> (g, h) }}>""",
        3,
    ),
    "one-hot, as the time chooses": (
        f"""{HOT} g = Greater (t, four) c = Squeeze (g) f = If (c) <
        then_branch = y () => (float[p, q, m] u) {{ u = Identity (o) }},
        else_branch = e () => (float[k, l, j] w) {{ w = Unsqueeze (x, two) }}>""",
        3,
    ),
    "as many zeros as rows": (
        """n = Squeeze (d) places = Range (none, n, step) c = Cast <to = 1> (places)
        e = Unsqueeze (c, zero) s = Concat <axis = 0> (d, one) z = ConstantOfShape (s)
        f = Add (z, e)""",
        2,
    ),
}


def read(model: onnx.ModelProto) -> object:
    return OpenVino("native").read(model)


@pytest.mark.parametrize("name", OF_THE_BATCH)
def test_a_second_dimension_that_is_made_of_the_batch_is_refused(name: str) -> None:
    model = model_of(*OF_THE_BATCH[name])
    said = "for a state for each row|that may be as long as the number of rows says"
    with pytest.raises(ValueError, match=rf"({said})"):
        make_reproducible(model, per_row=True, batch="batch")
    with pytest.raises(ValueError, match=rf"({said})"):
        make_reproducible(read(model), per_row=True, batch="x:0")


def test_a_dimension_that_is_as_long_as_values_say_is_refused_with_the_name_of_these() -> None:
    most = "most_of_all = ReduceMax <keepdims = 0> (x) i = Cast <to = 7> (most_of_all)"
    model = model_of(f"{most} k = Reshape (i, one) f = Slice (x, zero, k, one)")
    said = (
        "'f' (Slice) makes a dimension that may be as long as 'k' says, which depends on all rows"
    )
    with pytest.raises(ValueError, match="for a state for each row") as error:
        make_reproducible(model, per_row=True, batch="batch")
    assert said in str(error.value)


OF_SEQUENCES = {
    "as many parts as rows": (
        f"""{HOT} q = SplitToSequence <axis = 2> (o) fewer = SequenceErase (q)
        f = ConcatFromSequence <axis = 2> (fewer)""",
        "'q' (SplitToSequence) parts a dimension that is as long as the number of rows says",
        3,
    ),
    "as many tensors as a Loop puts into it": (
        """c = Squeeze (d) go = Constant <value = bool {1}> () first = SequenceConstruct (x)
        q = Loop (c, go, first) <body = b (int64 i, bool ci, seq(float[p, q]) v)
        => (bool co, seq(float[u, e]) w) { co = Identity (ci) w = SequenceInsert (v, x) }>
        f = ConcatFromSequence <axis = 1> (q)""",
        "'q' (Loop) makes a dimension that may be as long as the number of rows says",
        2,
    ),
}


@pytest.mark.parametrize("name", OF_SEQUENCES)
def test_a_sequence_that_is_as_long_as_the_batch_says_is_refused(name: str) -> None:
    body, said, rank = OF_SEQUENCES[name]
    with pytest.raises(ValueError, match="must be") as error:
        make_reproducible(model_of(body, rank), per_row=True, batch="batch")
    assert said in str(error.value)


def test_a_draw_in_a_scan_along_such_a_dimension_is_refused() -> None:
    scanned = f"""{HOT} r = Scan <num_scan_inputs = 1, scan_input_axes = [2],
        scan_output_axes = [2], body = b (float[u, v] w) => (float[p, q] z)
        {{ n = RandomNormalLike (w) z = Add (w, n) }}> (o)"""
    model = parse(f"g (float[batch, time] x) => (float[a, b, c] r) {{ {NUMBERS} {scanned} }}", 20)
    for given, batch in ((model, "batch"), (read(model), "x:0")):
        with pytest.raises(ValueError, match="how often it draws must be the same for every batch"):
            make_reproducible(given, per_row=True, batch=batch)


# -- Made of others --------------------------------------------------------------------------------

OF_OTHERS: dict[str, tuple[str, int]] = {
    "half of the time": (sized("h = Div (t, two)"), 2),
    "a rest of the time": (sized("h = Mod (t, four)"), 2),
    "the time, at most": (sized("h = Min (t, four)"), 2),
    "the time and one more": (sized("h = Add (t, one)"), 2),
    "of floating-point numbers": (
        sized("g = Cast <to = 1> (t) e = Mul (g, half) c = Ceil (e) h = Cast <to = 7> (c)"),
        2,
    ),
    "as the time chooses": (sized("c = Greater (t, four) h = Where (c, two, one)"), 2),
    "a part of the time": ("f = Slice (x, one, most, one)", 2),
    "twice the time": ("f = Concat <axis = 1> (x, x)", 2),
    "positions of a table": (
        """shape = Constant <value_ints = [1, 99]> () table = ConstantOfShape (shape)
        h = Slice (table, zero, t, one) f = Add (x, h)""",
        2,
    ),
    "a convolution's": (
        """c = Unsqueeze (x, one) three = Constant <value_ints = [2, 1, 3]> ()
        w = ConstantOfShape (three) f = Conv <strides = [2]> (c, w)""",
        3,
    ),
    "as often as the time says": (looped("t", "Concat <axis = 1> (v, x)"), 2),
    "of either branch": (chosen(FEW, "Neg (x)"), 2),
    "of each iteration": (looped("d", "Neg (v)"), 2),
    "of one element": ("h = Shape (x) e = Concat <axis = 0> (h, one) f = Reshape (x, e)", 3),
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_a_second_dimension_that_is_made_of_others_is_accepted(name: str) -> None:
    model = model_of(*OF_OTHERS[name])
    make_reproducible(model, per_row=True, batch="batch")
    make_reproducible(read(model), per_row=True, batch="x:0")
