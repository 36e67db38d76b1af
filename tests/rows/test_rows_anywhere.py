"""make_reproducible(per_row=True): rows of a batch that is not the first dimension of a draw."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8

import onnx_philox
from onnx_philox import Pipeline, TorchState, make_reproducible, rewriting, row_states
from onnx_philox._rewriting.rows import following
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.cli import document, text
from tests.common.foreign import parse
from tests.common.openvino_models import model as model_of
from tests.common.openvino_models import parameter
from tests.common.real_models import (
    MODELS,
    Load,
    Run,
    draws_of,
    load_in_onnxruntime,
    load_in_openvino,
    with_draws_as_outputs,
)
from tests.common.runtimes import OpenVino
from tests.common.torch_modules import of_a_function


@dataclass(frozen=True)
class Standing:
    """A model whose draw has the batch somewhere."""

    body: str
    axis: int = 1
    """The dimension of the draw."""
    each: int = 1
    """How often it stands there: [each * batch]."""
    dims: str = "6, batch, 7"
    """Of the input x, f32."""
    said: str | None = None
    """What `batch` says."""
    torch: bool = True
    """Whether torch's numbers have a rule for it."""
    kind: str = "float"
    """The type of the output y."""
    rank: int = 0
    """Of the output, where it is not that of the input."""

    @property
    def model(self) -> onnx.ModelProto:
        rank = self.rank or len(self.dims.split(","))
        ports = f"(float[{self.dims}] x) => ({self.kind}[{', '.join('abcd'[:rank])}] y)"
        return parse(f"g {ports} {{ {self.body} }}")

    def fed(self, rows: list[int]) -> dict[str, np.ndarray]:
        """An input whose rows are these, each with numbers of its own."""
        sizes = [int(d) if d.strip().isdigit() else 3 for d in self.dims.split(",")]
        at = [d.strip() for d in self.dims.split(",")].index(self.said or "batch")
        sizes[at] = 9
        x = np.linspace(0.05, 0.95, int(np.prod(sizes)), dtype=np.float32).reshape(sizes)
        return {"x": x.take(rows, at)}

    def given(self, rows: list[int], alignment: str = "tensorflow") -> dict[str, np.ndarray]:
        """What a model with rows is fed."""
        return {**self.fed(rows), "random_state": states(rows, alignment)}

    def of_rows(self, y: np.ndarray) -> np.ndarray:
        """What was drawn with its rows first."""
        shape = y.shape
        apart = (*shape[: self.axis], -1, self.each, *shape[self.axis + 1 :])
        return np.moveaxis(y.reshape(apart), self.axis, 0)

    def check(self, run: Run, plain: Run, alignment: str = "tensorflow") -> None:
        """A row draws the same in any batch, in any order, and alone in the plain model."""
        whole = run(self.given(list(range(9)), alignment))
        expected = self.of_rows(whole["y"])
        for some in ([5, 0, 8, 2, 7, 1, 6, 3, 4], [4], [2, 6]):
            part = run(self.given(some, alignment))
            assert_same_bits(self.of_rows(part["y"]), expected[some])
            assert_same_bits(part["next_random_state"], whole["next_random_state"][some])
        for row in (0, 7):
            fed = {**self.fed([row]), "random_state": states([row], alignment)[0]}
            assert_same_bits(self.of_rows(plain(fed)["y"]), expected[[row]])
        assert (expected[0] != expected[5]).any()


TRUE = """go = Constant <value = bool {1}> () half = Constant <value = float {0.5}> ()
    three = Constant <value_int = 3> ()"""
ATTENTION = f"""{TRUE}
    apart = Constant <value_ints = [6, -1, 4]> () heads = Reshape (x, apart)
    q = Transpose <perm = [1, 0, 2]> (heads) k = Transpose <perm = [0, 2, 1]> (q)
    scores = MatMul (q, k) shares = Softmax (scores)"""


def looped(body: str) -> str:
    """A Loop that carries v, of which its body makes w."""
    return f"""{TRUE} y = Loop (three, go, x) <body = b (int64 i, bool ci, float[r, c, d] v)
        => (bool co, float[p, q, s] w) {{ co = Identity (ci) {body} }}>"""


STANDING = {
    "like a sequence": Standing("y = RandomNormalLike (x)"),
    "the last dimension": Standing("y = RandomUniformLike (x)", dims="6, batch"),
    "the third of four": Standing("y = RandomUniformLike (x)", 2, dims="2, 3, batch, 5"),
    "of computed sizes": Standing(
        """dims = Shape (x) zeros = ConstantOfShape (dims) i = Cast <to = 7> (zeros)
        g = GatherElements <axis = 2> (x, i) y = RandomNormalLike (g)"""
    ),
    "turned": Standing("t = Transpose (x) y = RandomNormalLike (t)", dims="batch, 20"),
    "like a draw of ours": Standing(
        "h = Constant <value_float = 0.5> () d, m, s = onnx_philox.RandomDropout (x, h) "
        "y = RandomNormalLike <dtype = 1> (d)"
    ),
    "dropout": Standing(f"{TRUE} y = Dropout (x, half, go)"),
    "the mask of a dropout": Standing(f"{TRUE} z, y = Dropout (x, half, go)", kind="bool"),
    "dropout that drops a mask": Standing(
        f"{TRUE} z, m = Dropout (x, half, go) n = Cast <to = 1> (m) y = Add (n, z)"
    ),
    "dropout before a layer": Standing(
        f"""{TRUE} d = Dropout (x, half, go)
        w = Constant <value = float[3, 2] {{1, 2, 3, 4, 5, 6}}> ()
        b = Constant <value = float[2] {{1, 2}}> () m = MatMul (d, w) y = Add (m, b)""",
        dims="3, batch, 3",
    ),
    "probabilities": Standing("p = Sigmoid (x) y = Bernoulli <dtype = 9> (p)", kind="bool"),
    "coins before a layer": Standing(
        """p = Sigmoid (x) n = Bernoulli <dtype = 1> (p)
        w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> () y = MatMul (n, w)""",
        dims="3, batch, 3",
    ),
    "resized beside the rows": Standing(
        """scales = Constant <value = float[3] {1, 1, 2}> ()
        h = Resize <mode = "nearest"> (x, , scales) y = RandomNormalLike (h)"""
    ),
    "resized to sizes": Standing(
        """all = Shape (x) few = Constant <value = int64[2] {0, 1}> () before = Gather (all, few)
        eight = Constant <value = int64[1] {8}> () sizes = Concat <axis = 0> (before, eight)
        h = Resize <mode = "linear"> (x, , , sizes) y = RandomNormalLike (h)"""
    ),
    "split into a sequence and joined": Standing(
        """parts = SplitToSequence <axis = 2> (x) h = ConcatFromSequence <axis = 2> (parts)
        y = RandomNormalLike (h)"""
    ),
    "a comparison": Standing(
        "u = RandomUniformLike (x) p = Sigmoid (x) y = Less (u, p)", kind="bool", torch=False
    ),
    "merged with heads": Standing(
        f"{ATTENTION} y = Dropout (shares, half, go)", 0, 2, "6, batch, 8"
    ),
    "merged in the middle": Standing(
        "apart = Constant <value_ints = [6, -1, 4]> () h = Reshape (x, apart) "
        "y = RandomNormalLike (h)",
        1,
        2,
        "6, batch, 8",
    ),
    "merged where a matrix is multiplied": Standing(
        """r = Constant <value_ints = [-1, 4, 7]> () h = Constant <value_ints = [6, -1, 7]> ()
        w = Constant <value = float[1, 4] {1, 2, 3, 4}> () f = Reshape (x, r) m = MatMul (w, f)
        b = Reshape (m, h) y = RandomNormalLike (b)""",
        dims="6, batch, 4, 7",
        rank=3,
    ),
    "probabilities of heads": Standing(
        f"{ATTENTION} y = Bernoulli <dtype = 9> (shares)", 0, 2, "6, batch, 8", kind="bool"
    ),
    "flattened": Standing(
        "flat = Constant <value_ints = [-1, 4]> () f = Reshape (x, flat) y = RandomNormalLike (f)",
        0,
        3,
        "batch, time, 4",
        rank=2,
    ),
    "carried by a Loop": Standing(looped("noise = RandomUniformLike (v) w = Max (v, noise)")),
    "heads in a Loop": Standing(
        "apart = Constant <value_ints = [6, -1, 4]> ()"
        + looped("""h = Reshape (v, apart) noise = RandomUniformLike (h)
            t = Constant <value_ints = [6, -1, 8]> () n = Reshape (noise, t) w = Max (v, n)"""),
        dims="6, batch, 8",
    ),
    "stacked by a Scan": Standing("""y = Scan <num_scan_inputs = 1,
        body = b (float[batch, 7] v) => (float[batch, 7] w) { w = RandomUniformLike (v) }> (x)"""),
    "in a branch": Standing(f"""{TRUE}
        y = If (go) <then_branch = t () => (float[e, f, g] n) {{ n = RandomNormalLike (x) }},
                     else_branch = e () => (float[e, f, g] m) {{ m = Identity (x) }}>"""),
    "by its name": Standing("y = RandomNormalLike (x)", dims="time, N, 7", said="N"),
}
SEEDS = [3, 1, 4, 1, 5, 9, 2, 6, 8]


def states(rows: list[int], alignment: str = "tensorflow") -> np.ndarray:
    seeds = [SEEDS[row] for row in rows]
    if alignment == "tensorflow":
        return row_states(seeds)
    return np.stack([TorchState.from_seed(seed).to_array() for seed in seeds])


@pytest.mark.parametrize("alignment", ["tensorflow", "pytorch"])
@pytest.mark.parametrize("name", STANDING)
def test_a_row_draws_what_it_draws_alone_wherever_it_stands(
    name: str, alignment: str, load: Load
) -> None:
    case = STANDING[name]
    if alignment == "pytorch" and not case.torch:
        pytest.skip("torch has no rule for it")
    model = make_reproducible(case.model, per_row=True, batch=case.said, alignment=alignment)
    onnx.checker.check_model(model)
    with warnings.catch_warnings():
        # A whole batch of these is transposed in memory, where a row is not.
        warnings.filterwarnings("ignore", ".*draws like a transposed tensor")
        plain = load(make_reproducible(case.model, alignment=alignment))
    case.check(load(model), plain, alignment)


def test_a_draw_whose_type_nobody_infers_is_put_back_in_place() -> None:
    case = Standing(
        """ones = Constant <value_floats = [1.0, 1.0]> () zero = Constant <value_int = 0> ()
        h = Constant <value_float = 0.5> () n = GroupNormalization <num_groups = 1> (x, ones, ones)
        q = SequenceConstruct (n) v = SequenceAt (q, zero)
        d, y = onnx_philox.RandomDropout (v, h)""",
        2,
        dims="6, 2, batch",
        kind="bool",
    )
    model = case.model
    model.opset_import[0].version = 21
    rewritten = make_reproducible(model, per_row=True)
    plain = load_in_onnxruntime(make_reproducible(model), "native")
    case.check(load_in_onnxruntime(rewritten, "native"), plain)


def test_a_batch_of_no_rows_draws_nothing(load: Load) -> None:
    for name in ("like a sequence", "merged in the middle", "flattened", "dropout"):
        case = STANDING[name]
        run = load(make_reproducible(case.model, per_row=True))
        outputs = run(case.fed([]) | {"random_state": states([], "tensorflow").reshape(0, 6)})
        assert outputs["y"].size == 0


def test_a_file_of_before_and_its_model_draw_as_they_did(load: Load) -> None:
    # Where the first dimension is the batch, nothing has changed since 6439aa5 wrote the file.
    kept = onnx.load(MODELS / "rows_by_6439aa5.onnx")
    assert make_reproducible(kept, per_row=True) is kept
    feed = {"x": np.linspace(-1, 1, 192, dtype=np.float32).reshape(3, 1, 8, 8)}
    feed["random_state"] = row_states([3, 1, 4])
    for model in (kept, make_reproducible(MODELS / "vision_transformer.onnx", per_row=True)):
        draws = draws_of(load(with_draws_as_outputs(model))(feed))
        drawn = hashlib.sha256(b"".join(draw.tobytes() for draw in draws)).hexdigest()
        assert (len(draws), drawn[:16]) == (2, "c86caf9b25220981")


@pytest.mark.parametrize("name", ["merged with heads", "carried by a Loop", "dropout"])
def test_standard_nodes_draw_the_same_rows(name: str) -> None:
    case = STANDING[name]
    model = make_reproducible(case.model, per_row=True)
    feed = case.given([5, 0, 8, 2, 7, 1, 6, 3, 4])
    ours = load_in_onnxruntime(model, "native")(feed)
    standard = onnx_philox.to_standard_nodes(model)
    assert not {node.domain for node in standard.graph.node} & {"onnx_philox"}
    drawn = load_in_onnxruntime(standard, "native")(feed)
    for output, values in ours.items():
        assert_same_bits(drawn[output], values)


IN_ORDER = (
    "the rows of what it draws must be proved to be in the order of 'batch', the first of the "
    "input 'x', until they meet values that depend on rows of the inputs and have them in the same "
    "place: got "
)
REFUSED = {
    "twice": ("t = Transpose (x) m = MatMul (x, t) y = RandomNormalLike (m)", "got [batch, batch]"),
    "twice in one dimension": (
        "t = Transpose (x) m = MatMul (x, t) flat = Constant <value_ints = [-1, 1]> () "
        "f = Reshape (m, flat) y = RandomNormalLike (f)",
        "of which one dimension alone is 'batch', the first of the input 'x', for a state for each "
        "row: got [batch * batch, 1]",
    ),
    "the inner factor": (
        "flat = Constant <value_ints = [-1, 4]> () t = Transpose <perm = [1, 0, 2]> (z) "
        "f = Reshape (t, flat) y = RandomNormalLike (f)",
        "got [6 * batch, 4]",
    ),
    "it by its size alone": (
        "parts = Constant <value_ints = [6, -1, 4]> () f = Reshape (z, parts) "
        "c = RandomNormalLike (f) y = Flatten (c)",
        f"{IN_ORDER}'f' (Reshape) mixes the rows of 'z' with what stands before them",
    ),
    "it by its size alone, behind what is not followed": (
        "parts = Constant <value_ints = [6, -1, 4]> () f = Reshape (z, parts) "
        "h, k = Split <axis = 2> (f) c = RandomNormalLike (k) y = Flatten (c)",
        f"{IN_ORDER}'f' (Reshape) mixes the rows of 'z' with what stands before them",
    ),
    **{
        f"it by its size alone, {where}": (
            f"{TRUE} six = Constant <value_ints = [6, -1, 4]> () f = Reshape (z, six) {body}",
            f"{IN_ORDER}'{'m' if 'm = Reshape' in body else 'f'}' (Reshape) mixes the rows of ",
        )
        for where, body in {
            "carried by a Loop": """l = Loop (three, go, f) <body = b (int64 i, bool ci,
                float[r, s, d] v) => (bool co, float[p, q, t] w) { co = Identity (ci)
                c = RandomNormalLike (v) w = Add (v, c) }> y = Flatten (l)""",
            "stacked by a Loop": """d, l = Loop (three, go, f) <body = b (int64 i, bool ci,
                float[r, s, d] v) => (bool co, float[p, q, t] w, float[u, e, g] k)
                { co = Identity (ci) w = Neg (v) k = Abs (f) }>
                c = RandomNormalLike (l) y = Flatten (c)""",
            "mixed by the body of a Loop": """l = Loop (three, go, z) <body = b (int64 i, bool ci,
                float[r, s, d] v) => (bool co, float[p, q, t] w) { co = Identity (ci)
                c = RandomNormalLike (v) m = Reshape (c, six)
                w = Transpose <perm = [1, 0, 2]> (m) }> y = Flatten (l)""",
            "scanned": """l = Scan <num_scan_inputs = 1, body = b (float[r, s] v) => (float[p, q] w)
                { c = RandomNormalLike (v) w = Neg (c) }> (f) y = Flatten (l)""",
            "beside one of its size": """dims = Shape (f)
                i = ConstantOfShape <value = int64[1] {1}> (dims)
                g = GatherElements <axis = 2> (f, i) c = RandomNormalLike (g) y = Flatten (c)""",
            "chosen from beside one that has it": """t = Transpose <perm = [1, 0, 2]> (z)
                is_less = Less (t, t) w = Where (is_less, t, f) c = RandomNormalLike (w)
                y = Flatten (c)""",
            "filled and cut": """more = Constant <value_ints = [0, 1, 0, 0, 0, 0]> ()
                w = Pad (f, more) one = Constant <value_ints = [1]> () big = Constant
                <value_ints = [99999]> () v = Slice (w, one, big, one) dims = Shape (f)
                r = Reshape (v, dims) c = RandomNormalLike (r) y = Flatten (c)""",
            "taken from a sequence": """l = SplitToSequence <axis = 2, keepdims = 0> (f)
                o = Constant <value_int = 1> () k = SequenceAt (l, o)
                c = RandomNormalLike (k) y = Flatten (c)""",
            "multiplied with what has it": """t = Transpose <perm = [1, 0, 2]> (z)
                k = Transpose <perm = [0, 2, 1]> (f) m = MatMul (t, k)
                o = Constant <value_int = 0> () g = Gather <axis = 2> (m, o)
                c = RandomNormalLike (g) y = Flatten (c)""",
            "in every branch": """b = If (go) <then_branch = t () => (float[r, s, d] k)
                { k = Neg (f) }, else_branch = e () => (float[p, q, t] m) { m = Abs (f) }>
                c = RandomNormalLike (b) y = Flatten (c)""",
            "in one branch": """b = If (go) <then_branch = t () => (float[r, s, d] k)
                { k = Transpose <perm = [1, 0, 2]> (z) },
                else_branch = e () => (float[p, q, t] m) { m = Abs (f) }>
                c = RandomNormalLike (b) y = Flatten (c)""",
        }.items()
    },
    "classes along it": (
        "t = Transpose (x) c = Multinomial (t) y = Cast <to = 1> (c)",
        "the shape of what it draws must be one that has 'batch', the first",
    ),
    "classes of several positions": (
        "flat = Constant <value_ints = [-1, 4]> () f = Reshape (z, flat) "
        "c = Multinomial (f) y = Cast <to = 1> (c)",
        "Call torch.multinomial with weights of [batch, classes], once for each position",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_row_for_each_of_the_batch_is_refused_by_name(name: str) -> None:
    body, said = REFUSED[name]
    inputs = "float[batch, 4] x, float[batch, 6, 4] z"
    model = parse(f"g ({inputs}) => (float[a, b] y) {{ {body} }}")
    named = f"of '{'c' if 'c = Random' in body or 'c = Multi' in body else 'y'}' (opset"
    assert_refused(lambda: make_reproducible(model, per_row=True), f"{named}...{said}")
    if "by its size alone" in name:
        with pytest.raises(ValueError, match="proved to be in the order of the batch"):
            make_reproducible(OpenVino("native").read(model), per_row=True)


CUT = """o = Constant <value_ints = [0]> () m = Constant <value_ints = [-1]> ()
    least = Constant <value_ints = [-9223372036854775807]> ()"""
SWAPPED = "t = Transpose (x) s = Shape (x) f = Reshape (t, s)"
MEETS = "c = RandomNormalLike (f) y = Add (c, f)"
OF_CHANNELS = """t = Transpose (x) s = Shape (t) z = ConstantOfShape (s)
    d = Shape <end = 1> (x) w = ConstantOfShape (d) c = RandomNormalLike (w)"""
"""x with its rows as channels, zeros like it, and noise for each channel."""
PICKED = """d = Shape <end = 1> (x) n = Squeeze (d) o = Constant <value_int = 0> ()
    i = Constant <value_int = 1> () last = Constant <value_ints = [-1]> ()
    best = ArgMax <axis = 1> (x)"""
COUNTED = "rows = Range (o, n, i) first = Unsqueeze (rows, last)"
# Operators that put rows into another order before a draw meets them, and what is said of each.
REORDERED = {
    "an element of other rows, from the last on": (
        f"""{PICKED} e = Sub (n, i) m = Constant <value_int = -1> () rows = Range (e, m, m)
        first = Unsqueeze (rows, last) at = Concat <axis = -1> (first, best)
        g = GatherND (x, at) f = Unsqueeze (g, last) {MEETS}""",
        "'g' (GatherND) orders the rows of 'x' by their values, or by numbers",
    ),
    "an element of rows that values say": (
        f"""{PICKED} {COUNTED} at = Concat <axis = -1> (best, first)
        g = GatherND (x, at) f = Unsqueeze (g, last) {MEETS}""",
        "'g' (GatherND) orders the rows of 'x' by their values, or by numbers",
    ),
    "an element of all rows' elements, by the row's number": (
        f"""{PICKED} {COUNTED} z = Reshape (x, last) g = GatherND (z, first)
        f = Unsqueeze (g, last) {MEETS}""",
        "'g' (GatherND) orders the rows of 'z' by their values, or by numbers",
    ),
    "two elements, the second of any row": (
        f"""{PICKED} {COUNTED} four = Concat <axis = -1> (first, best, best, best)
        pairs = Constant <value_ints = [-1, 2, 2]> () at = Reshape (four, pairs)
        f = GatherND (x, at) {MEETS}""",
        "'f' (GatherND) orders the rows of 'x' by their values, or by numbers",
    ),
    "turned round": (
        f"{CUT} f = Slice (x, m, least, o, m) {MEETS}",
        "'f' (Slice) takes some of the rows of 'x', or turns them round",
    ),
    "reversed by lengths": (
        "d = Shape <end = 1> (x) k = Constant <value_ints = [4]> () l = Expand (d, k) "
        f"f = ReverseSequence <batch_axis = 1, time_axis = 0> (x, l) {MEETS}",
        "'f' (ReverseSequence) turns the rows of 'x' round",
    ),
    "sorted": (
        "k = Shape <end = 1> (x) v, i = TopK <axis = 0> (x, k) "
        f"f = GatherElements <axis = 0> (x, i) {MEETS}",
        "(TopK) orders the rows of 'x' by their values, or by numbers",
    ),
    "scanned from the end": (
        "f = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = b (float[4] v) => "
        f"(float[4] w) {{ w = Identity (v) }}> (x) {MEETS}",
        "'f' (Scan) goes through the rows one by one",
    ),
    "read in another order": (
        f"{SWAPPED} {MEETS}",
        "'f' (Reshape) mixes the rows of 't' with what stands before them",
    ),
    "joined and read as rows": (
        "both = Concat <axis = 0> (x, x) two = Constant <value_ints = [-1, 2, 4]> () "
        f"f = Reshape (both, two) {MEETS}",
        "'both' (Concat) puts rows of 'x' and of others one behind the other",
    ),
    "noise, beside a convolution whose windows do not go on": (
        """o = Constant <value_ints = [1]> () u = Unsqueeze (x, o) c = RandomNormalLike (u)
        k = Constant <value = float[1, 1, 2] {1.0, 1.0}> ()
        f = Conv <strides = [0], pads = [2, 2]> (u, k) z = Add (f, c) y = Squeeze (z, o)""",
        "'z' (Add) has the input 'f', whose shape nobody knows",
    ),
    "turned round as noise": (
        f"{CUT} c = RandomNormalLike (x) f = Slice (c, m, least, o, m) y = Add (f, x)",
        "'f' (Slice) takes some of the rows of 'c', or turns them round",
    ),
    "unpooled": (
        """s = Shape (x) i = ConstantOfShape <value = int64[1] {0}> (s)
        o = Constant <value_ints = [1]> () w = Unsqueeze (x, o) j = Unsqueeze (i, o)
        u = MaxUnpool <kernel_shape = [1]> (w, j) f = Squeeze (u, o) """
        + MEETS,
        "'u' (MaxUnpool) puts rows to places that numbers say",
    ),
    "mixed as noise": (
        "o = Constant <value_ints = [0]> () c = RandomNormalLike (x) "
        "mean = ReduceMean <axes = [0]> (c) y = Add (mean, x)",
        "'mean' (ReduceMean) mixes what was drawn for different rows",
    ),
    "mixed as the mean of before": (
        f"""{CUT} {OF_CHANNELS} n, k, v = BatchNormalization <training_mode = 1> (z, w, w, c, w)
        f = Slice (k, m, least, o, m) y = Add (f, t)""",
        "'f' (Slice) takes some of the rows of 'k', or turns them round",
    ),
    "picked as weights of classes": (
        f"""{CUT} {OF_CHANNELS} l = Constant <value_ints = [0, 1, 0, 1]> ()
        e = SoftmaxCrossEntropyLoss <reduction = "none"> (z, l, c)
        k = Unsqueeze (e, m) y = Add (k, t)""",
        "'e' (SoftmaxCrossEntropyLoss) mixes what was drawn for different rows",
    ),
    "left out of dimensions of one element, and summed": (
        """o = Constant <value_ints = [0]> () none = Constant <value = int64[0] {}> ()
        c = RandomNormalLike (x) u = Unsqueeze (c, o) w = Squeeze (u, none)
        sum = ReduceSum (w, o) y = Add (sum, x)""",
        "'w' (Squeeze) says no axes, and which dimensions a runtime then leaves out",
    ),
    "parted along a dimension that is counted from behind": (
        """empty = SequenceEmpty <dtype = 1> () go = Constant <value = bool {1}> ()
        n = Constant <value_int = 1> () c = RandomNormalLike (x)
        all = Loop (n, go, empty) <body = b (int64 i, bool ci, seq(float[a, b]) v)
        => (bool co, seq(float) w) { co = Identity (ci) w = SequenceInsert (v, c) }>
        o = Constant <value_int = 0> () q = SequenceAt (all, o)
        parts = SplitToSequence <axis = -2> (q) y = SequenceAt (parts, o)""",
        "'parts' (SplitToSequence) parts the rows of 'q'",
    ),
    "taken from beside": (
        f"{CUT} c = RandomNormalLike (x) both = Concat <axis = 1> (c, x) "
        "four = Constant <value_ints = [4]> () one = Constant <value_ints = [1]> () "
        "n = Slice (both, o, four, one) f = Slice (n, m, least, o, m) y = Add (f, x)",
        "'f' (Slice) takes some of the rows of 'n', or turns them round",
    ),
}


@pytest.mark.parametrize("name", REORDERED)
def test_rows_in_another_order_are_refused_with_the_operator_that_did_it(name: str) -> None:
    body, said = REORDERED[name]
    rank = "a, b, c0" if name == "joined and read as rows" else "a, b"
    model = parse(f"g (float[batch, 4] x) => (float[{rank}] y) {{ {body} }}", 17)
    with pytest.raises(ValueError, match=r"of 'c' \(opset") as error:
        make_reproducible(model, per_row=True)
    assert said in str(error.value)
    make_reproducible(model, per_row=["c"])


@pytest.mark.parametrize("how", ["ONNX", "IR"])
def test_a_loop_of_which_the_walk_finds_no_end_is_refused(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_ROUNDS_FOR_EACH", 0)
    model: Any = parse(
        """g (float[batch, 4] x) => (float[a, b] y) { c = RandomNormalLike (x)
        n = Constant <value_int = 3> () go = Constant <value = bool {1}> ()
        f = Loop (n, go, c) <body = b (int64 i, bool ci, float[p, q] v)
        => (bool co, float[r, s] w) { co = Identity (ci) w = Neg (v) }> y = Add (f, x) }""",
        17,
    )
    if how == "IR":
        model = OpenVino("native").read(model)
    said = r"\(Loop\) changes what it hands on for more rounds than are followed"
    with pytest.raises(ValueError, match=said):
        make_reproducible(model, per_row=True)


def two_functions(given: str, default: str = "") -> str:
    """Noise that is turned round, behind a sum whose keepdims two calls hand on."""
    return f"""g (float[batch, 4] x) => (float[a, b] y) {{ {CUT} c = RandomNormalLike (x)
        t = Unsqueeze (c, o) n = own.outer {given} (t) f = Slice (n, m, least, o, m)
        y = Add (f, x) }}
        <domain: "own", opset_import: ["": 17, "own": 1]> outer <p> (v) => (w) {{
        w = own.inner <keeps: int = @p> (v) }}
        <domain: "own", opset_import: ["": 17]> inner <keeps{default}> (v) => (w) {{
        o = Constant <value_ints = [0]> () w = ReduceSum <keepdims: int = @keeps> (v, o) }}"""


# What is in functions, and what is said of it.
IN_FUNCTIONS = {
    "a Reshape": (
        f"""g (float[batch, 4] x) => (float[a, b] y) {{ f = own.swap (x) {MEETS} }}
        <domain: "own", opset_import: ["": 17]> swap (x) => (f) {{ {SWAPPED} }}""",
        "'f' (Reshape) mixes the rows of 't'",
    ),
    "an attribute that two calls hand on": (
        two_functions("<p = 0>"),
        "'f' (Slice) takes some of the rows of 'n', or turns them round",
    ),
    "an attribute that a call leaves out": (
        two_functions("", ": int = 0"),
        "'f' (Slice) takes some of the rows of 'n', or turns them round",
    ),
}


@pytest.mark.parametrize("name", IN_FUNCTIONS)
def test_what_is_in_functions_is_looked_at(name: str) -> None:
    text, said = IN_FUNCTIONS[name]
    with pytest.raises(ValueError, match="must be proved to be in the order") as error:
        make_reproducible(parse(text, 17), per_row=True)
    assert said in str(error.value)


# Operators that leave the rows in place, once or whatever else they look at.
IN_PLACE = {
    "an element of each row": (
        f"""{PICKED} {COUNTED} at = Concat <axis = -1> (first, best)
        g = GatherND (x, at) f = Unsqueeze (g, last)"""
    ),
    "two elements of each row": (
        f"""{PICKED} {COUNTED} wide = Constant <value_ints = [1, 2]> () both = Tile (best, wide)
        e = Unsqueeze (both, last) s = Shape (both) many = Expand (first, s)
        each = Unsqueeze (many, last) at = Concat <axis = -1> (each, e) f = GatherND (x, at)"""
    ),
    "tiled once": "k = Constant <value_ints = [1, 2]> () f = Tile (x, k)",
    "made longer": "k = Constant <value_floats = [1.0, 2.0]> () f = Resize (x, , k)",
    "sliced whole": (
        "o = Constant <value_ints = [0]> () k = Constant <value_ints = [9223372036854775807]> () "
        "f = Slice (x, o, k, o)"
    ),
    "a loss by weights of the classes": (
        """l = Constant <value_ints = [0]> () d = Shape <end = 1> (x) k = Expand (l, d)
        w = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () o = Constant <value_ints = [1]> ()
        e = SoftmaxCrossEntropyLoss <reduction = "none"> (x, k, w) f = Unsqueeze (e, o)"""
    ),
    "of a sequence": (
        "l = SequenceConstruct (x, x) o = Constant <value_int = 1> () f = SequenceAt (l, o)"
    ),
    "looked along": "f = Softmax <axis = 0> (x)",
    "an attention over the batch": "t = Transpose (x) s = MatMul (x, t) f = MatMul (s, x)",
    "summed along": "o = Constant <value_int = 0> () f = CumSum (x, o)",
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_leaves_rows_in_place_is_accepted(name: str) -> None:
    model = parse(f"g (float[batch, 4] x) => (float[a, b] y) {{ {IN_PLACE[name]} {MEETS} }}", 17)
    states = make_reproducible(model, per_row=True).graph.input[-1].type.tensor_type.shape.dim
    assert states[0].dim_param == "batch"
    make_reproducible(OpenVino("native").read(model), per_row=True)


TRUNCATED = """g (float[DIMS] x) => (float[a, b, c] y) {
    s = Shape (x) y = ai.onnx.converters.tensorflow.TruncatedNormal <dtype = 1> (s) }"""


def test_a_truncated_normal_has_the_batch_where_it_stands(load: Load) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21, "ai.onnx.converters.tensorflow": 1]> '
        + TRUNCATED.replace("DIMS", "6, batch, 7")
    )
    case = Standing("")
    run = load(make_reproducible(model, per_row=True))
    case.check(run, load(make_reproducible(model)))


def test_a_second_rewrite_takes_the_batch_of_the_first() -> None:
    for is_named in (True, False):
        body = "y = RandomUniformLike (x)"
        first = Standing(body, dims="steps, batch, 8").model
        if not is_named:
            for dimension in first.graph.input[0].type.tensor_type.shape.dim:
                dimension.ClearField("dim_param")
        model = make_reproducible(first, per_row=True, batch="x:1")
        assert (Pipeline(model).streams.batch, Pipeline(model).streams.batch_axis) == ("x", 1)
        model.graph.node.append(onnx.parser.parse_node("more = RandomUniformLike (x)"))
        model.graph.output.append(onnx.helper.make_tensor_value_info("more", 1, [None] * 3))
        with pytest.raises(ValueError, match=r"batch must be left out, or '(batch|x:1)'"):
            make_reproducible(model, per_row=True, batch="x:0")
        again = make_reproducible(model)
        assert (Pipeline(again).streams.batch, Pipeline(again).streams.batch_axis) == ("x", 1)


TWO = parse("g (float[time, batch, 4] x) => (float[a, b, c] y) { y = RandomNormalLike (x) }")


def test_the_first_dimension_is_the_batch_with_a_warning_where_another_could_be() -> None:
    with pytest.warns(UserWarning, match=r"'time', the first of .*; every draw has 'batch', too"):
        model = make_reproducible(TWO, per_row=True)
    assert model.graph.input[-1].type.tensor_type.shape.dim[0].dim_param == "time"
    for said in ("batch", "x:1"):
        model = make_reproducible(TWO, per_row=True, batch=said)
        assert model.graph.input[-1].type.tensor_type.shape.dim[0].dim_param == "batch"
    # Of two that come first the one is that draws have first.
    body = "t = Transpose (x) p = MatMul (z, t) y = RandomNormalLike (p)"
    both = parse(f"g (float[n, 4] x, float[m, 4] z) => (float[a, b] y) {{ {body} }}")
    with pytest.warns(UserWarning, match="every draw has 'n', too"):
        rows = make_reproducible(both, per_row=True).graph.input[-1].type.tensor_type.shape.dim[0]
    assert rows.dim_param == "m"
    # A node that is named draws rows of its first dimension all the same.
    with pytest.warns(UserWarning, match="every draw has"):
        assert make_reproducible(TWO, per_row=["y"]) == make_reproducible(TWO, per_row=True)


def test_attention_along_the_first_dimension_needs_another_one_named_as_batch() -> None:
    body = "q = Transpose <perm = [1, 0, 2]> (x) k = Transpose <perm = [1, 2, 0]> (x)"
    case = Standing(f"{body} m = MatMul (q, k) y = RandomNormalLike (m)", dims="time, batch, 4")
    with pytest.raises(ValueError, match=r"got \[batch, time, time\].*batch='batch' \(--batch"):
        make_reproducible(case.model, per_row=True)
    make_reproducible(case.model, per_row=True, batch="batch")


def test_a_pipeline_counts_the_rows_where_they_stand(tmp_path: Path) -> None:
    case = STANDING["like a sequence"]
    path = tmp_path / "model.onnx"
    onnx.save(case.model, path)
    for runtime in ("onnxruntime", "openvino"):
        pipe = Pipeline(path, runtime=runtime, per_row=True, batch="batch")
        assert (pipe.streams.batch, pipe.streams.batch_axis) == ("x", 1)
        whole = pipe(case.fed([0, 1, 2]), seeds=SEEDS[:3])
        (alone,) = (pipe(case.fed([1]), seeds=SEEDS[1:2])["y"],)
        assert_same_bits(alone, whole["y"][:, 1:2])
        with pytest.raises(ValueError, match="number of rows of 'x'"):
            pipe(case.fed([0, 1]), seeds=SEEDS[:3])
        assert pipe(case.fed([0, 1]), seed=7)["y"].shape == (6, 2, 7)
    # Of dimensions that are numbers, the batch is the first.
    for x, batch in (("batch, 4", "x"), ("4, batch", "random_state")):
        body = "y = RandomNormalLike (x)"
        model = make_reproducible(Standing(body, dims=x).model, per_row=True, batch="batch")
        for value in model.graph.input:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_param:
                    dimension.dim_value = 3
        assert Pipeline(model).streams.batch == batch


def test_a_checkpoint_holds_which_dimension_is_the_batch() -> None:
    pipes = [Pipeline(TWO, per_row=True, batch=said) for said in ("time", "batch")]
    first, second = (pipe.request(seeds=SEEDS[:3]) for pipe in pipes)
    # That of a batch that is first has been written into checkpoints.
    assert first.checkpoint()["model"] == "07ac1a82b6a79cb2"
    with pytest.raises(ValueError, match="resume must be a checkpoint of this model"):
        pipes[0].request(resume=second.checkpoint())


def of_openvino(shape: list[int], layout: str = "", join: Any = None) -> ov.Model:
    """Two dropouts in a row, and one of heads: like x, or what joins it to a z of its shape."""
    x, z = (parameter(name, shape) for name in "xz")
    if layout:
        x.set_layout(ov.Layout(layout))
        z.set_layout(ov.Layout(layout))
    like = join(x, z) if join else x
    first = onnx_philox.openvino.random_dropout(like, np.float32(0.5), 0, 1)
    second = onnx_philox.openvino.random_dropout(first.output(0), np.float32(0.25), 0, 2)
    apart = opset8.reshape(like, np.array([6, -1, 4]), special_zero=False)
    turned = opset8.transpose(apart, np.array([1, 0, 2]))
    third = onnx_philox.openvino.random_dropout(turned, np.float32(0.5), 0, 3)
    # [batch * 2, 6, 4]
    back = opset8.transpose(third.output(0), np.array([1, 0, 2]))
    # As nn.TransformerEncoderLayer does: merged as the inner factor, and taken apart again.
    merged = opset8.relu(opset8.reshape(back, np.array([-1, 8]), special_zero=False))
    whole = opset8.reshape(merged, np.array([6, -1, 8]), special_zero=False)
    fourth = onnx_philox.openvino.random_dropout(whole, np.float32(0.5), 0, 4)
    return model_of({"y": opset8.add(second.output(0), fourth.output(0))}, [x, z] if join else [x])


SEQUENCE = Standing("", dims="6, batch, 8")
product = partial(opset8.matmul, transpose_a=False, transpose_b=False)
OF_OPENVINO: dict[str, tuple[tuple[Any, ...], str | None, Standing]] = {
    "the only dynamic dimension": (([6, -1, 8],), None, SEQUENCE),
    "a Layout's name": (([6, -1, 8], "TNC"), "N", SEQUENCE),
    "a place": (([6, -1, 8],), "x:1", SEQUENCE),
    "the sum of two of a Layout": (([6, -1, 8], "TNC", opset8.add), None, SEQUENCE),
    "the sum of two by a place": (([6, -1, 8], "", opset8.add), "x:1", SEQUENCE),
    "two of a Layout, end to end": (
        ([6, -1, 4], "TNC", lambda x, y: opset8.concat([x, y], 2)),
        *("N", Standing("", dims="6, batch, 4")),
    ),
    "the product of two of a Layout": (
        ([6, -1, 8, 8], "TNCD", lambda x, y: opset8.reduce_max(product(x, y), np.int64(3))),
        *("N", Standing("", dims="6, batch, 8, 8")),
    ),
    **{
        name: ((), None, STANDING[name])
        for name in ("carried by a Loop", "heads in a Loop", "stacked by a Scan", "in a branch")
    },
}


@pytest.mark.parametrize("name", OF_OPENVINO)
def test_a_model_of_openvino_draws_rows_where_they_stand(name: str, tmp_path: Path) -> None:
    (asked, said, case), runtime = OF_OPENVINO[name], OpenVino("native")
    given = of_openvino(*asked) if asked else runtime.read(case.model)
    model = make_reproducible(given, per_row=True, batch=said)
    names = [node.name for node in rewriting.find_random_nodes(given)]
    for each in (model, make_reproducible(given, per_row=names, batch=said)):
        streams = json.loads(str(each.get_rt_info(["onnx_philox.streams"]).value))
        assert (streams["batch"], streams["batch_axis"]) == ("x", 1)
    ov.save_model(model, tmp_path / "model.xml", compress_to_fp16=False)
    run = load_in_openvino(runtime, tmp_path / "model.xml", "f32")
    plain = load_in_openvino(runtime, make_reproducible(given), "f32")

    def both(feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return feeds | ({"z": feeds["x"]} if len(given.inputs) > 1 else {})

    case.check(lambda feeds: run(both(feeds)), lambda feeds: plain(both(feeds)))
    with pytest.raises(Exception, match="random_state_must_have_one_row_for_each_row_of_x:1"):
        run(both(case.given([1, 2, 3]) | {"random_state": states([1, 2])}))


def test_what_a_model_of_openvino_does_not_say_of_its_batch_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"a Layout with an N there \(set_layout\)"):
        make_reproducible(of_openvino([-1, -1, 8], "", opset8.add), per_row=True, batch="x:1")
    model = OpenVino("native").read(STANDING["like a sequence"].model)
    model.reshape(ov.PartialShape.dynamic())
    with pytest.raises(ValueError, match=r"got 'x:1'\. Give the input a rank: reshape the model"):
        make_reproducible(model, per_row=True, batch="x:1")


def test_a_node_of_ours_in_a_model_of_openvino_is_named_with_its_operator_set() -> None:
    model = of_openvino([-1, -1, 8])
    with pytest.raises(ValueError, match=r"RandomDropout '.*' \(opset 1, main graph\)"):
        make_reproducible(model, per_row=True, batch="x:0")


LAYER = "8, 2, 16, 0.2, batch_first=first"
MULTIHEAD = "nn.MultiheadAttention(8, 2, 0.3, batch_first=first)"
# Torch's modules that draw inside, and what is called of each: batch first, and sequence first.
MODULES = {
    "attention": (MULTIHEAD, "m(x, x, x)"),
    "no weights": (MULTIHEAD, "m(x, x, x, need_weights=False)[0]"),
    "encoder": (f"nn.TransformerEncoderLayer({LAYER})", "m(x)"),
    "decoder": (f"nn.TransformerDecoderLayer({LAYER})", "m(x, x * 0.5)"),
    **{
        kind: (f"nn.{kind}(8, 5, num_layers=2, dropout=0.3, batch_first=first)", "m(x)[0]")
        for kind in ("LSTM", "GRU", "RNN")
    },
}
CONVOLUTION = "nn.Sequential(nn.Conv1d(8, 6, 3, padding=1), nn.Dropout1d(0.4), nn.Dropout(0.2))"
HEADS = "q := x.reshape(-1, 3, 2, 4).transpose(1, 2), q, q, dropout_p=0.3"
MODULES_THAT_DRAW = [(*said, first) for said in MODULES.values() for first in (True, False)] + [
    ("nn.Identity()", f"nn.functional.scaled_dot_product_attention({HEADS})", True),
    (CONVOLUTION, "m(x.permute(1, 2, 0)).permute(2, 0, 1)", False),
]


def called(made: str, call: str, is_first: bool) -> tuple[Any, Any, int]:
    """A module, its input and the dimension of its batch."""
    import torch

    torch.manual_seed(1)
    inner = eval(made, {"nn": torch.nn, "first": is_first})
    function = eval(f"lambda m, x: {call}", {"nn": torch.nn})
    module = of_a_function(lambda x: function(inner, x))
    module.inner = inner
    return module, torch.randn((4, 3, 8) if is_first else (3, 4, 8)), int(not is_first)


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["tensorflow", "pytorch", "trace", "program"])
@pytest.mark.parametrize(("made", "call", "is_first"), MODULES_THAT_DRAW)
def test_a_module_of_torch_s_exports_and_converts_with_rows(
    made: str, call: str, is_first: bool, way: str
) -> None:
    import torch

    module, x, axis = called(made, call, is_first)
    dynamic = {"dynamic_shapes": ({axis: torch.export.Dim("batch", min=1)},)}
    if way in ("tensorflow", "pytorch"):
        # Each row is drawn by the model as by torch of that row alone, and outputs are equal.
        asked = {"per_row": True, "verify": True, "verbose": False, "alignment": way}
        verdict = onnx_philox.torch.export(module, (x,), **dynamic, **asked).verdict
        assert verdict.is_ok, verdict
        return
    if way == "trace":
        captured = torch.jit.trace(module, x, check_trace=False)
    else:
        captured = torch.export.export(module, (x,), **dynamic)
    shape = [-1 if i == axis else size for i, size in enumerate(x.shape)]
    extension = onnx_philox.openvino.pytorch_extensions()
    given = ov.convert_model(
        captured, example_input=x, input=[ov.PartialShape(shape)], extension=extension
    )
    given.inputs[0].set_names({"x"})
    given.outputs[0].set_names({"y"})
    run, plain = (
        load_in_openvino(OpenVino("native"), make_reproducible(given, per_row=per_row), "f32")
        for per_row in (True, False)
    )

    def fed(some: list[int]) -> dict[str, np.ndarray]:
        return {"x": np.take(x.numpy(), some, axis)}

    state = states([0, 1, 2, 3], "tensorflow")
    for row in range(4):
        alone = plain(fed([row]) | {"random_state": state[row]})
        one = run(fed([row]) | {"random_state": state[[row]]})
        assert_same_bits(one["y"], alone["y"])
    whole, turned = (run(fed(o) | {"random_state": state[o]})["y"] for o in ([0, 1, 2, 3], [3, 1]))
    assert np.allclose(np.take(whole, [3, 1], axis), turned, atol=1e-5)
    assert not np.allclose(
        whole, run(fed([0, 1, 2, 3]) | {"random_state": state[::-1].copy()})["y"]
    )


def test_run_counts_the_rows_that_an_ir_says_where_no_dimension_is_known(tmp_path: Path) -> None:
    x = opset8.parameter([-1, -1, -1], np.float32, name="x")
    x.output(0).set_names({"x"})
    drawn = onnx_philox.openvino.random_dropout(x, np.float32(0.5), 0, 1)
    model = ov.Model([opset8.result(drawn.output(0))], [x], "dropout")
    ov.save_model(make_reproducible(model, per_row=True, batch="x:1"), tmp_path / "model.xml")
    np.save(tmp_path / "x.npy", np.ones((2, 3, 4), np.float32))
    given = ("--input", f"x={tmp_path / 'x.npy'}", "--seeds", "3,8,5")
    assert document("run", tmp_path / "model.xml", *given)["runs"]
    assert document("inspect", tmp_path / "model.xml")["state"] == STATE_OF_ROWS


STATE_OF_ROWS = "the input random_state, for each row of the batch, dimension 1 of the input 'x'"


def test_the_commands_say_where_the_batch_stands_and_count_it_there(tmp_path: Path) -> None:
    onnx.save(TWO, tmp_path / "two.onnx")
    said = " ".join(text("inspect", tmp_path / "two.onnx").split())
    assert "'x'; every draw has 'batch', too. Say which of them is the batch, with batch=" in said
    onnx.save(make_reproducible(TWO, per_row=True, batch="batch"), tmp_path / "rows.onnx")
    assert document("inspect", tmp_path / "rows.onnx")["state"] == STATE_OF_ROWS
    standard = onnx_philox.to_standard_nodes(onnx.load(tmp_path / "rows.onnx"), inexact="allow")
    onnx.save(standard, tmp_path / "standard.onnx")
    said = " ".join(text("inspect", tmp_path / "standard.onnx").split())
    assert f"Their state: {STATE_OF_ROWS}; the output next_random_state" in said
    # Which run and compare count there.
    np.save(tmp_path / "x.npy", np.ones((6, 3, 4), np.float32))
    given = (tmp_path / "rows.onnx", "--seed", "3", "--input", f"x={tmp_path / 'x.npy'}")
    runs = [document("run", *given, "--runtime", r)["runs"] for r in ("onnxruntime", "openvino")]
    assert runs[0] == runs[1]
    document("compare", *given)
