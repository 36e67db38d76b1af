"""make_reproducible(per_row=True): a row's draws depend on its state alone, not on its batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from onnx import helper, numpy_helper, parser

import onnx_philox
from onnx_philox import make_reproducible, reference, row_states
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits, table
from tests.common.foreign import evaluate, operators, parse
from tests.common.real_models import (
    DIFFUSION,
    DROPOUT,
    LOADERS,
    MODELS,
    SEED,
    TOKENS,
    VAE,
    Arrays,
    Load,
    RealModel,
    Run,
    draws_of,
    every_model,
    with_draws_as_outputs,
)
from tests.common.runtimes import OpenVino, infer


def states_of(rows: Sequence[int], run: int = 0) -> np.ndarray:
    """A state for each row of a data set."""
    return row_states(SEED, rows=rows, run=run)


def batch_of(real: RealModel) -> int:
    return max(len(value) for value in real.feed.values() if value.ndim)


def fed(real: RealModel, rows: Sequence[int]) -> Arrays:
    return {name: value[rows] if value.ndim else value for name, value in real.feed.items()}


def by_row(draws: list[np.ndarray]) -> list[np.ndarray]:
    """Draws with their rows first: those of a Loop or Scan are stacked, step by step."""
    return [draw.swapaxes(0, 1) if draw.ndim == 3 else draw for draw in draws]


def two_runs(
    run: Run,
    feed: Arrays,
    rows: Sequence[int],
) -> Iterator[Arrays]:
    state = states_of(rows)
    for _ in range(2):
        outputs = run(feed | {"random_state": state})
        state = outputs["next_random_state"]
        yield outputs


def drawn(
    real: RealModel,
    outputs: Arrays,
    states: np.ndarray,
) -> list[np.ndarray]:
    """What the reference draws, each row from its state; of tokens, from the logits of the run."""
    if real is not TOKENS:
        return real.draws(states)
    return [reference.random_categorical(outputs["logits"], 4, "i64", state=states)[0]]


@every_model
def test_a_row_draws_the_same_in_any_batch_at_any_place(real: RealModel, load: Load) -> None:
    model = make_reproducible(real.original, per_row=True)
    run = load(with_draws_as_outputs(model))
    size = batch_of(real)
    order = np.random.default_rng(10).permutation(size)
    whole = list(two_runs(run, real.feed, range(size)))
    for number, outputs in enumerate(whole):
        states = states_of(range(size), number)
        assert_all_same(draws_of(outputs), drawn(real, outputs, states))
        assert_same_bits(outputs["next_random_state"], states_of(range(size), number + 1))
    plain = load(real.visible)
    for row in range(min(3, size) if real not in DIFFUSION else 0):
        (state,) = states_of([row])
        alone = plain(fed(real, [row]) | {"random_state": state})
        outputs = run(fed(real, [row]) | {"random_state": state[np.newaxis]})
        assert_all_same(draws_of(outputs), draws_of(alone))
        assert_same_bits(outputs["next_random_state"], alone["next_random_state"][np.newaxis])
    # A batch of one, one of two, and the rest.
    for rows in np.split(order, [1, min(3, size)]):
        for outputs, expected in zip(two_runs(run, fed(real, rows), rows), whole, strict=True):
            assert_same_bits(outputs["next_random_state"], expected["next_random_state"][rows])
            if real is TOKENS:
                # The logits are each batch's own arithmetic.
                before = outputs["next_random_state"].copy()
                before[:, 3] -= 1
                assert_all_same(draws_of(outputs), drawn(real, outputs, before))
            else:
                parts = [draw[rows] for draw in by_row(draws_of(expected))]
                assert_all_same(by_row(draws_of(outputs)), parts)


# By torch's older exporter, with shapes that the model computes; what each is fed.
LIBRARIES = {
    "bert": np.arange(15).reshape(3, 5) % 12,
    "categorical": np.linspace(-1, 1, 15, dtype=np.float32).reshape(
        3,
        5,
    ),
    "plate": np.linspace(-1, 1, 15, dtype=np.float32).reshape(
        3,
        5,
    ),
    "vision_transformer": np.linspace(-1, 1, 192, dtype=np.float32).reshape(
        3,
        1,
        8,
        8,
    ),
}


def with_dropout(model: onnx.ModelProto) -> onnx.ModelProto:
    """The transformer with dropout where torch puts it: in attention, and where a layer ends."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    # Nothing but the inputs says what the shapes are.
    del graph.value_info[:]
    for array, name in ((np.array(0.1, np.float32), "ratio"), (np.array(True), "training")):
        graph.initializer.append(numpy_helper.from_array(array, name))
    places = {node.output[0]: i for i, node in enumerate(graph.node)}
    names = ("softmax", "softmax_1", "linear_1", "linear_3", "linear_5", "linear_7")
    for name in sorted(names, key=places.__getitem__, reverse=True):
        graph.node[places[name]].output[0] = f"{name}_before"
        drop = parser.parse_node(f"{name} = Dropout ({name}_before, ratio, training)")
        graph.node.insert(places[name] + 1, drop)
    return changed


@pytest.mark.parametrize("name", [*LIBRARIES, "transformer"])
def test_what_libraries_draw_is_proved_to_be_rows(name: str, load: Load) -> None:
    is_ours = name == "transformer"
    original = with_dropout(TOKENS.original) if is_ours else onnx.load(MODELS / f"{name}.onnx")
    run = load(with_draws_as_outputs(make_reproducible(original, per_row=True)))

    def draws(rows: list[int]) -> list[np.ndarray]:
        feed = fed(TOKENS, rows) if is_ours else {"x": LIBRARIES[name][rows]}
        drawn_there = draws_of(run(feed | {"random_state": states_of(rows)}))
        # All but the tokens, which are drawn from logits.
        return drawn_there[:-1] if is_ours else drawn_there

    whole = draws([0, 1, 2])
    if is_ours:
        places = TOKENS.feed["tokens"].shape[1]
        layer = [
            (3, 2, places, places),
            (3, places, 32),
            (3, places, 32),
        ]
        assert [draw.shape for draw in whole] == [*layer, *layer]
    for rows in ([2, 0], [1]):
        assert_all_same(draws(rows), [draw[rows] for draw in whole])


@every_model
def test_the_state_is_named_like_the_batch(real: RealModel) -> None:
    model = make_reproducible(real.original, per_row=True)
    onnx.checker.check_model(model)
    (batch,) = {
        i.type.tensor_type.shape.dim[0].dim_param
        for i in real.original.graph.input
        if i.type.tensor_type.shape.dim
    }
    ports = {value.name: value for value in (*model.graph.input, *model.graph.output)}
    for name in ("random_state", "next_random_state"):
        first, words = ports[name].type.tensor_type.shape.dim
        assert (first.dim_param, words.dim_value) == (batch, 6)
    assert make_reproducible(real.original, per_row=False) == real.reproducible


X = "float[batch, 4] x"
BESIDE = "y = RandomNormalLike (x)"


def model_of(body: str, inputs: str = X, opset: int = 17) -> onnx.ModelProto:
    return parse(f"g ({inputs}) => (float[a, b] y) {{ {body} }}", opset)


SIZE = """dims = Shape (x) zero = Constant <value_int = 0> () size = Gather (dims, zero)
    axes = Constant <value_ints = [0]> () four = Constant <value_ints = [4]> ()
    sizes = Unsqueeze (size, axes) shape = Concat <axis = 0> (sizes, four)"""
TRUE = "go = Constant <value = bool {1}> () three = Constant <value_int = 3> ()"


def looped(
    body: str,
    start: str = "x",
    trips: str = "three",
    inner: str = "",
) -> str:
    """A Loop that carries rows v, of which its body makes w; in a Loop, by names of its own."""
    v, w, names = ("g", "h", "i1, c1, co1, b1") if inner else ("v", "w", "i, ci, co, b")
    i, ci, co, b = names.split(", ")
    return f"""{inner or "y"} = Loop ({trips}, go, {start}) <body = {b} (
        int64 {i}, bool {ci}, float[r, c] {v}) => (bool {co}, float[p, q] {w}) {{
        {co} = Identity ({ci}) {body} }}>"""


WALK = "noise = RandomNormalLike (v) w = Add (v, noise)"
PROVED = {
    "like an input": "y = RandomNormalLike (x)",
    "a shape made of integers": f"{SIZE} z = ConstantOfShape (shape) y = RandomUniformLike (z)",
    "a slice of a shape": """dims = Shape (x) from = Constant <value_ints = [0]> ()
        to = Constant <value_ints = [1]> () size = Slice (dims, from, to)
        seven = Constant <value_ints = [7]> () shape = Concat <axis = 0> (size, seven)
        one = Constant <value_floats = [1.0]> () ones = Expand (one, shape)
        y = RandomNormalLike (ones)""",
    "a part of a shape, by a node of ours": """axes = Constant <value_ints = [0]> ()
        apart = Unsqueeze (x, axes) two = Concat <axis = 0> (apart, apart)
        shape = Shape <start = 1> (two)
        zero = Constant <value_float = 0.0> () one = Constant <value_float = 1.0> ()
        y = onnx_philox.RandomUniform <output_type = "f32", op_seed = 3> (shape, zero, one)""",
    "what matrices make of the batch": """
        weights = Constant <value = float[4, 3] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}> ()
        hidden = MatMul (x, weights) probable = Sigmoid (hidden) y = Bernoulli (probable)""",
    "reshaped and back": """apart = Constant <value_ints = [0, 2, 2]> ()
        parts = Reshape (x, apart) turned = Transpose <perm = [0, 2, 1]> (parts)
        together = Constant <value_ints = [0, 4]> () whole = Reshape (turned, together)
        y = RandomUniformLike (whole)""",
    "sized outside of a Loop": f"{TRUE} {SIZE} start = ConstantOfShape (shape)"
    + looped(
        "zeros = ConstantOfShape (shape) n = RandomNormalLike (zeros) w = Add (n, v)", "start"
    ),
    "carried by a Loop": f"{TRUE} {looped(WALK)}",
    "a Loop in a Loop": f"{TRUE} "
    + looped(looped("noise = RandomNormalLike (g) h = Add (g, noise)", "v", inner="w")),
    "in a branch": f"""{TRUE}
        y = If (go) <then_branch = t () => (float[e, f] n) {{ n = RandomNormalLike (x) }},
                     else_branch = e () => (float[e, f] m) {{ m = Identity (x) }}>""",
    "spread over a shape where -1 means 1": f"""{SIZE} rest = Constant <value_ints = [-1]> ()
        said = Concat <axis = 0> (sizes, rest) length = Shape (said)
        ones = ConstantOfShape <value = int64[1] {{1}}> (length)
        minus_one = Constant <value_int = -1> () negative = Mul (ones, minus_one)
        is_rest = Equal (said, negative) spread = Where (is_rest, ones, said)
        token = Constant <value = float[1, 4] {{1, 2, 3, 4}}> ()
        tokens = Expand (token, spread) y = RandomNormalLike (tokens)""",
    "flattened to rows of the last dimension": """flat = Constant <value_ints = [-1, 4]> ()
        logits = Reshape (x, flat) classes = Multinomial <sample_size = 4> (logits)
        y = Cast <to = 1> (classes)""",
    "cut into windows and put together": """cut = Constant <value_ints = [-1, 2]> ()
        windows = Reshape (x, cut) weights = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
        mixed = MatMul (windows, weights) together = Constant <value_ints = [-1, 4]> ()
        whole = Reshape (mixed, together) y = RandomNormalLike (whole)""",
    "as many as are counted": f"""{SIZE} one = Constant <value_int = 1> ()
        indices = Range (zero, size, one) rows = Shape (indices)
        shape_of_rows = Concat <axis = 0> (rows, four)
        zeros = ConstantOfShape (shape_of_rows) y = RandomNormalLike (zeros)""",
    "after a Loop": f"{TRUE} {looped('w = Add (v, v)').replace('y =', 'rows =', 1)}"
    "y = RandomNormalLike (rows)",
}
ROWS = 5


def checked_rows(model: onnx.ModelProto, load: Load, output: str = "y") -> None:
    """Each row draws in a batch, in a permuted batch and alone the same, also in the next run."""
    run = load(model)
    x = np.linspace(0.1, 0.9, ROWS * 4, dtype=np.float32).reshape(ROWS, 4)
    first = states_of(range(ROWS))
    whole = run({"x": x, "random_state": first})
    after = run({"x": x, "random_state": whole["next_random_state"]})
    assert (whole[output] != after[output]).any()
    for rows in ([3, 0, 4, 2, 1], [2], [1, 4]):
        outputs = run({"x": x[rows], "random_state": first[rows]})
        assert_same_bits(outputs["next_random_state"], whole["next_random_state"][rows])
        assert_same_bits(outputs[output], whole[output][rows])


def forms(
    model: onnx.ModelProto,
    load: Load = LOADERS["openvino native"],
) -> list[Any]:
    """A model of ONNX, and for OpenVINO what it reads of it, if it reads its Bernoulli."""
    kinds = {node.op_type for node in model.graph.node}
    is_read = load is LOADERS["openvino native"] and "Bernoulli" not in kinds
    return [model, OpenVino("native").read(model)] if is_read else [model]


@pytest.mark.parametrize("name", PROVED)
def test_rows_are_proved_and_drawn(name: str, load: Load) -> None:
    for model in forms(model_of(PROVED[name]), load):
        rewritten = make_reproducible(model, per_row=True)
        checked_rows(rewritten, load)
        for per_row in (True, False):
            assert make_reproducible(rewritten, per_row=per_row) is rewritten
        if isinstance(rewritten, onnx.ModelProto):
            # One buffer may be the state and the next one: test_one_state_buffer.py.
            readers = [n.op_type for n in rewritten.graph.node if "random_state" in n.input]
            assert readers == ["Cast"]


def test_dimensions_without_a_name_are_told_apart(load: Load) -> None:
    model = model_of(BESIDE, "float[1, 1] x")
    for dimension in model.graph.input[0].type.tensor_type.shape.dim:
        dimension.Clear()
    with pytest.warns(UserWarning, match=r"every draw has 'x.shape\[1\]', too"):
        model = make_reproducible(model, per_row=True)
    (state,) = (i for i in model.graph.input if i.name == "random_state")
    first, words = state.type.tensor_type.shape.dim
    assert (first.WhichOneof("value"), words.dim_value) == (None, 6)
    checked_rows(model, load)


def test_the_batch_is_the_first_dimension_that_is_drawn_of_those_that_inputs_have() -> None:
    inputs = "float[steps, 4] schedule, float[batch, 4] x"
    model = make_reproducible(model_of(BESIDE, inputs), per_row=True)
    state = model.graph.input[-1]
    assert (state.name, state.type.tensor_type.shape.dim[0].dim_param) == ("random_state", "batch")
    # Names that an exporter invents do not hide it.
    model = model_of("z = Relu (x) y = RandomNormalLike (z)")
    model.graph.value_info.append(helper.make_tensor_value_info("z", 1, ["unk__7", "unk__8"]))
    assert make_reproducible(model, per_row=True).graph.input[-1] == state


def without_shapes(graph: onnx.GraphProto) -> None:
    """Removes all that a graph declares of shapes, but for those of the model's inputs."""
    del graph.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    for inner in (a.g for node in graph.node for a in node.attribute if a.HasField("g")):
        for value in inner.input:
            value.type.tensor_type.ClearField("shape")
        without_shapes(inner)


# TorchScript computes the shape of an Expand by a Where, which ONNX does not follow.
@pytest.mark.parametrize(
    "real",
    [VAE, DROPOUT, *DIFFUSION[1:], TOKENS],
    ids=lambda real: real.name,
)
def test_exports_need_not_declare_their_shapes(real: RealModel) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(real.original)
    without_shapes(model.graph)
    make_reproducible(model, per_row=True)


UNPROVED = {
    "two for each row": ("both = Concat <axis = 0> (x, x) y = RandomNormalLike (both)", "[?, 4]"),
    "another dimension": ("first = RandomNormalLike (x) y = RandomNormalLike (z)", "[other, 4]"),
    "rows that a Loop adds": (
        TRUE + looped("noise = RandomNormalLike (v) w = Concat <axis = 0> (v, noise)"),
        "[?, 4]",
    ),
    "only those that fit": ("kept = Compress <axis = 0> (x, mask) y = RandomNormalLike (kept)", ""),
}
INPUTS = f"{X}, float[other, 4] z, bool[batch] mask"


@pytest.mark.parametrize("name", UNPROVED)
def test_what_is_not_proved_is_refused_by_name(name: str) -> None:
    body, shape = UNPROVED[name]
    model = model_of(body, INPUTS)
    draw = "noise" if "noise" in body else "y"
    reason = f"got {shape}" if shape else "the shape of what it draws must be "
    said = assert_refused(lambda: make_reproducible(model, per_row=True), "RandomNormalLike")
    for words in (reason, "'batch', the first of the input 'x'", f"say so with per_row=[{draw!r}]"):
        assert words in said
    make_reproducible(model, per_row=[draw])
    if "z" not in body and "mask" not in body:  # OpenVINO knows no names, and reads no Compress
        with pytest.raises(ValueError, match=r"RandomUniform .*is proved to have .*the batch"):
            make_reproducible(OpenVino("native").read(model), per_row=True)


def test_all_nodes_that_are_not_proved_are_refused_at_once() -> None:
    model = model_of(
        """y = RandomNormalLike (x) a = RandomNormalLike (z) kept = Compress <axis = 0> (x, mask)
        [named] b = RandomNormalLike (kept) c = RandomUniformLike (z) d = RandomUniformLike (z)""",
        INPUTS,
    )
    for per_row, names in ((True, "['a', 'named', 'c', 'd']"), (["c"], "['c', 'a', 'named', 'd']")):
        with pytest.raises(ValueError, match=r"^\d random nodes: the shape of what each") as error:
            make_reproducible(model, per_row=per_row)
        shapes = "[other, 4] of 'a'" + ", 'c'" * (per_row is True) + ", 'd'"
        way = "If they draw rows of the batch all the same, say so with"
        assert f": got {shapes}, [?, 4] of 'named'" in str(error.value)
        assert f"{way} per_row={names}; or" in str(error.value)
    make_reproducible(model, per_row=["a", "named", "c", "d"])


def test_the_refusal_of_many_nodes_says_each_shape_once() -> None:
    draws = [f"d{i} = RandomNormalLike (z)" for i in range(30)]
    model = model_of(f"{' '.join(draws)} {BESIDE}", INPUTS)
    all_of_it = assert_refused(lambda: make_reproducible(model, per_row=True), "what each draws")
    said, pasted = all_of_it.split("per_row=")
    assert ": got [other, 4] of 'd0', 'd1', 'd2' and 27 more" in said
    assert pasted.startswith(f"{[f'd{i}' for i in range(30)]}; or")


CUT = """<domain: "own", opset_import: ["": 17]> cut <perm> (v, n) => (w) {
    zero = Constant <value_ints = [0]> () turned = Transpose <perm: ints = @perm> (v)
    w = Slice (turned, zero, n, zero) }"""


def test_dimensions_of_two_calls_of_a_function_are_told_apart() -> None:
    # If the first dimension of a and b were one, that of y would be the batch.
    text = f"""g ({X}, int64[1] m, int64[1] n) => (float[p, q] y) {{
        a = own.cut <perm = [1, 0]> (x, m) b = own.cut <perm = [1, 0]> (x, n)
        dims_of_a = Shape <end = 1> (a) dims_of_b = Shape <end = 1> (b)
        dims_of_x = Shape <end = 1> (x) area = Concat <axis = 0> (dims_of_a, dims_of_x)
        one = Constant <value_float = 1.0> () ones = Expand (one, area)
        rest = Constant <value_ints = [-1]> () said = Concat <axis = 0> (dims_of_DIVISOR, rest)
        whole = Reshape (ones, said) turned = Transpose (whole) y = RandomNormalLike (turned)
    }} {CUT}"""
    with pytest.raises(ValueError, match=r"must be .*: got \[\?, \?\]"):
        make_reproducible(parse(text.replace("DIVISOR", "b")), per_row=True)
    proved = make_reproducible(parse(text.replace("DIVISOR", "a")), per_row=True)
    assert proved.graph.input[-1].name == "random_state"
    # A draw like what a call turns by its attribute stands as that does.
    text = (
        f"g ({X}) => (float[p, q] y) {{ a = own.id <perm = [0, 1]> (x) y = RandomNormalLike (a) }}"
    )
    text += CUT.replace("cut <perm> (v, n) => (w)", "id <perm> (v) => (turned)")
    text = f"{text.partition('w = Slice')[0]}}}"
    assert "Transpose" not in operators(make_reproducible(parse(text), per_row=True))


NUMBERS = SIZE + "".join(
    f" {name} = Constant <value_ints = [{number}]> ()"
    for name, number in zip("abcdefg", (1, 2, 3, 64, -1, -3, -4), strict=True)
)
OF_SIZES = "z = ConstantOfShape (said) n = RandomNormalLike (z) y = Flatten (n)"
# Of a negative number, which ONNX rounds to 0, and of more than 64 numbers nothing is known.
SIZED = table("""
[2, ?, 0, 7, ?, 4, ?, 0, 0, ?] -> k = Constant <value_ints = [14, -7, 0, 7, 5]> ()
-> m = Constant <value_ints = [5, 2, 5, 1, 0]> () o = Div (k, m) p = Mod (k, m)
-> said = Concat <axis = 0> (o, p)
[batch, batch, batch, 5, 7, ?, ?] -> l = Constant <value_ints = [5, 6, 7]> ()
-> i = Concat <axis = 0> (f, b) k = Gather (l, i) m = Gather (l, c) o = ConstantOfShape (m)
-> p = Shape (o) q = Add (sizes, axes) r = Add (axes, sizes) s = Sub (sizes, axes) t = Squeeze (a)
-> u = Range (t, size, t) v = Shape (u) said = Concat <axis = 0> (q, r, s, k, p, v)
[batch, batch, 7, 14, ?, ?] -> k = ConstantOfShape <value = int64[1] {7}> (d) l = Add (k, k)
-> m = Add (d, a) o = ConstantOfShape <value = int64[1] {7}> (m) p = Concat <axis = 0> (k, a)
-> q = Gather (k, axes) r = Gather (l, axes) s = Gather (o, axes) t = Gather (p, axes)
-> u = ConstantOfShape (s) v = ConstantOfShape (t) w = Shape (u) h = Shape (v)
-> said = Concat <axis = 0> (sizes, sizes, q, r, w, h)
[7, 6, 5, 7, 6, 5, 2] -> l = Constant <value_ints = [5, 6, 7]> () k = Slice (l, b, g, axes, e)
-> m = Slice (l, b, f, axes, e) o = Slice (l, axes, g) p = Slice (l, axes, b, axes, b)
-> q = Slice (l, axes, sizes) said = Concat <axis = 0> (k, m, o, p, b)
[batch, ?, ?, 2, 2, batch, 4] -> k = Slice (x, axes, sizes, axes) l = Slice (x, a, sizes, axes)
-> m = Slice (x, axes, sizes, axes, b) o = ConstantOfShape (b) p = Expand (o, sizes)
-> q = ConstantOfShape (sizes) r = Expand (q, b) s = Shape <end = 1> (k) t = Shape <end = 1> (l)
-> u = Shape <end = 1> (m) v = Shape (p) w = Shape (r) h = Scan <num_scan_inputs = 1,
-> scan_input_axes = [-1], scan_output_axes = [-1], body = b (float[r] i) => (float[q] j) {
-> j = Neg (i) }> (x) hs = Shape (h) said = Concat <axis = 0> (s, t, u, v, w, hs)
[batch, batch, 1, 3] -> k = onnx_philox.RandomCategorical <op_seed = 1> (x) ks = Shape (k)
-> l = onnx_philox.RandomCategorical <sample_size = 3, op_seed = 1> (x) ls = Shape <start = -1> (l)
-> said = Concat <axis = 0> (sizes, ks, ls)
""")


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("y = RandomNormal <shape = [1, 4]> ()", "[1, 4]"),
        ("y = RandomNormal <shape = [5, 4]> ()", "[5, 4]"),
        ("one = Constant <value_float = 1.0> () n = RandomNormalLike (one) y = Add (x, n)", "[]"),
        (
            """s = Constant <value_ints = [1, -1, 4]> () r = Reshape (x, s)
            t = Constant <value_ints = [2, 1, 1]> () two = Expand (r, t)
            u = Constant <value_ints = [-1, 4]> () f = Reshape (two, u) y = RandomNormalLike (f)""",
            "[2 * batch, 4]",
        ),
        ("t = Transpose (x) m = MatMul (x, t) y = RandomNormalLike (m)", "[batch, batch]"),
        (
            """few = Constant <value_int = 7> () c = Multinomial <output_dtype = 6> (x, few)
            f = Cast <to = 1> (c) t = Transpose (f) m = MatMul (t, f) y = RandomNormalLike (m)""",
            "[7, 7]",
        ),
        (
            f"""{SIZE} t = Transpose (x) said = Concat <axis = 0> (axes, sizes)
            r = Reshape (t, said) m = MatMul (r, x) y = RandomNormalLike (m)""",
            "[4, 4]",
        ),
        *((f"{NUMBERS} {body} {OF_SIZES}", shape) for shape, body in SIZED),
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_another_number_of_rows_for_sure_is_refused_also_by_name(
    body: str, shape: str, is_named: bool
) -> None:
    per_row = ["n" if "n = " in body else "y"] if is_named else True
    words = f"RandomNormal..., for a state for each row: got {shape}"
    assert_refused(lambda: make_reproducible(model_of(body), per_row=per_row), words)


def test_a_node_that_is_named_draws_rows_and_is_checked_in_each_run(load: Load) -> None:
    # The first rows of a shape that the model is given: nobody can prove that they are the batch's.
    model = model_of(
        "zeros = ConstantOfShape (shape) noise = RandomNormalLike (zeros) y = Identity (noise)",
        f"{X}, int64[2] shape",
    )
    run = load(make_reproducible(model, per_row=["noise"]))

    def drawn_for(rows: list[int], shape: list[int]) -> np.ndarray:
        x = np.zeros((len(rows), 4), np.float32)
        given = {
            "x": x,
            "shape": np.array(shape),
            "random_state": states_of(rows),
        }
        return run(given)["y"]

    whole = drawn_for([0, 1, 2], [3, 4])
    assert_same_bits(drawn_for([2, 0], [2, 4]), whole[[2, 0]])
    assert_same_bits(drawn_for([1], [1, 4]), whole[[1]])
    for rows, shape in (([0, 1, 2], [2, 4]), ([0], [2, 4]), ([0, 1], [1, 4])):
        with pytest.raises(Exception, match="must_draw_one_row_for_each_row_of_x"):
            drawn_for(rows, shape)


ONE_ROW = parse("g (float[n] x) => (int32[5] y) { y = Multinomial <sample_size = 5> (x) }")
SHUFFLED = model_of("y = RandomShuffle (x)")
TIMED = model_of(BESIDE, "float[time, batch, 4] x")
OF_ONE_ROW = "for a state for each row: got one dimension, whose draws are one row"
OF_UNKNOWN_RANK = parse(
    """g (float[batch, 4] x) => (float[batch, 4] y) {
    scale = Constant <value_floats = [1.0, 1.0, 1.0, 1.0]> () half = Constant <value_float = 0.5> ()
    go = Constant <value = bool {1}> ()
    h = com.microsoft.BiasSplitGelu (x, scale) y = Dropout (h, half, go) }"""
)
"""A draw of a declared shape, that is put on a tensor whose shape nobody knows."""


@pytest.mark.parametrize(
    ("model", "asked", "words"),
    [
        *((ONE_ROW, {"per_row": each}, OF_ONE_ROW) for each in (True, ["y"])),
        (
            model_of(BESIDE),
            {"per_row": ["nose"]},
            "must be one of the random nodes to r",
        ),
        (model_of(BESIDE), {"per_row": "noise"}, "TypeError: per_row must be True, False, or "),
        (model_of(BESIDE), {"per_row": 1}, "TypeError: rows of the batch: got 1, of type int"),
        (
            model_of(BESIDE),
            {"per_row": True, "seed": 7},
            "seed must be left out for a model with",
        ),
        (
            model_of(BESIDE, "float[3, 4] x"),
            {"per_row": True},
            "with the inputs x [3, 4]",
        ),
        (
            model_of("y = RandomNormal <shape = [3, 4]> ()", ""),
            {"per_row": True},
            "without inputs",
        ),
        (
            model_of(BESIDE, opset=12),
            {"per_row": True},
            "opset must be 13 or newer...: got 12",
        ),
        (
            OF_UNKNOWN_RANK,
            {"per_row": True},
            "Dropout of 'y'...got 'y' (Dropout) has the input 'h', whose shape nobody knows",
        ),
        (SHUFFLED, {"per_row": True}, "RandomShuffle of 'y'...got one order for all rows tog"),
        (TIMED, {"per_row": True, "batch": "N"}, "dynamic dimension ... (time, batch)"),
        (TIMED, {"batch": "batch"}, "batch must be left out for a model with one state"),
        (TIMED, {"per_row": True, "batch": 1}, "TypeError: batch must be the name of a dimension"),
        (
            make_reproducible(model_of(BESIDE)),
            {"per_row": True},
            "without a state yet, ...: got on",
        ),
    ],
)
def test_what_has_no_rows_to_draw_is_refused(
    model: onnx.ModelProto, asked: dict[str, Any], words: str
) -> None:
    assert_refused(lambda: make_reproducible(model, **asked), words)


def within_a_loop(condition: str, inner: str, inputs: str = X) -> onnx.ModelProto:
    return model_of(TRUE + looped(f"{condition} {inner}"), inputs)


NOISY = "noise = RandomNormalLike (g) h = Add (g, noise)"
IF = """w = If (often) <then_branch = t () => (float[e, f] n) { n = RandomNormalLike (v) },
                    else_branch = e () => (float[e, f] m) { m = Identity (v) }>"""
MET_IN_IF = IF.replace("n = RandomNormalLike (v)", "r = RandomNormalLike (v) n = Add (r, v)")
"""Its noise has met rows when the branch ends."""
LOOP = looped(NOISY, "v", "often", "w")
WHILE = looped(NOISY, "v", inner="w").replace(
    "co1 = Identity (c1)",
    """sum = ReduceSum <keepdims = 0> (g) limit = Constant <value_float = 9.0> ()
        co1 = Less (sum, limit)""",
)
OF_ALL = r"how often it draws must be the same .*: got what (If|Loop)"

LATER = f"""{TRUE}
    y, last = Loop (three, go, x, go) <body = b (int64 i, bool ci, float[r, c] v, bool often)
        => (bool co, float[p, q] w, bool later) {{
        co = Identity (ci) {IF} sum = ReduceSum <keepdims = 0> (v)
        later = Cast <to = 9> (sum) }}>"""


@pytest.mark.parametrize(
    ("condition", "inner"),
    [
        (LATER, IF),
        ("sum = ReduceSum <keepdims = 0> (x) often = Cast <to = 9> (sum)", IF),
        ("sum = ReduceSum <keepdims = 0> (v) often = Cast <to = 9> (sum)", IF),
        ("number = Size (x) often = Cast <to = 9> (number)", IF),
        (
            "dims = Shape <end = 1> (x) n = ReduceMax <keepdims = 0> (dims) often = Identity (n)",
            LOOP,
        ),
        (
            """cut = Constant <value_ints = [-1, 2]> () windows = Reshape (x, cut)
            dims = Shape <end = 1> (windows) often = ReduceMax <keepdims = 0> (dims)""",
            LOOP,
        ),
        ("", WHILE),
    ],
)
def test_a_draw_that_depends_on_other_rows_is_refused(condition: str, inner: str) -> None:
    whole = model_of(LATER) if condition is LATER else within_a_loop(condition, inner)
    model, ir = forms(whole)
    draw = "n" if inner is IF else "noise"
    for given, per_row in ((model, True), (model, [draw]), (ir, True)):
        with pytest.raises(ValueError, match=OF_ALL):
            make_reproducible(given, per_row=per_row)
    make_reproducible(model)


OF_DATA = f"sum = ReduceSum <keepdims = 0> (v) often = Cast <to = 9> (sum) {MET_IN_IF}"
OF_SIZE = f"dims = Shape <end = 1> (v) often = ReduceMax <keepdims = 0> (dims) {LOOP}"


@pytest.mark.parametrize("inner", [OF_DATA, OF_SIZE, WHILE])
def test_torch_s_generator_is_refused_where_other_rows_say_how_far_it_walks(inner: str) -> None:
    # Each node has a stream of its own, but torch's one generator draws all that is behind, too.
    model = model_of(f"{TRUE} v = Identity (x) {inner} y = RandomUniformLike (w)")
    make_reproducible(model, per_row=True)
    with pytest.raises(ValueError, match=OF_ALL):
        make_reproducible(model, per_row=True, alignment="pytorch")


@pytest.mark.parametrize(
    ("condition", "inner", "inputs"),
    [
        ("one = Constant <value_int = 1> () often = Less (i, one)", IF, X),
        ("often = Cast <to = 9> (level)", IF, f"{X}, float level"),
        (
            "dims = Shape <start = 1> (x) n = ReduceMax <keepdims = 0> (dims) often = Identity (n)",
            LOOP,
            X,
        ),
        ("often = Identity (three)", LOOP, X),
        (
            """even = Cast <to = 9> (i) often = If (even) <
                then_branch = t1 () => (bool o) { o = Identity (go) },
                else_branch = e1 () => (bool p) { p = Not (go) }>""",
            IF,
            X,
        ),
    ],
)
def test_a_draw_that_depends_on_the_iteration_or_on_a_shared_input_is_rewritten(
    condition: str, inner: str, inputs: str, load: Load
) -> None:
    for given in forms(within_a_loop(condition, inner, inputs), load):
        model = make_reproducible(given, per_row=True)
        if "level" not in inputs:
            checked_rows(model, load)


def test_an_if_outside_of_loops_may_depend_on_the_batch(load: Load) -> None:
    body = "sum = ReduceSum <keepdims = 0> (x) often = Cast <to = 9> (sum) v = Relu (x)"
    model = model_of(f"{body} {MET_IN_IF}")
    model.graph.node[-1].output[0] = "y"
    for given in forms(model, load):
        checked_rows(make_reproducible(given, per_row=True), load)


SIZES = [
    (3, 3),
    (1, 1),
    (0, 0),
    (1, 3),
    (3, 1),
    (3, 4),
    (4, 3),
    (0, 3),
    (3, 0),
    (1, 0),
    (0, 1),
]


def check_only_a_state_of_the_batch_runs(
    run: Callable[[Arrays], list[np.ndarray]],
    sizes: list[tuple[int, int]] = SIZES,
    *,
    is_reference: bool = False,
) -> None:
    for rows, batch in sizes:
        feed = {"x": np.zeros((batch, 4), np.float32), "random_state": states_of(range(rows))}
        if rows == batch:
            y, after = run(feed)
            assert_same_bits(after, states_of(range(rows), 1))
            assert y.shape == (batch, 4)
            continue
        reason = "random_state_must_have_one_row_for_each_row_of_x" if rows and batch else None
        if is_reference:
            reason = f"cannot reshape array of size {6 * rows} into shape"
        with pytest.raises(Exception, match=reason) as error:
            run(feed)
        if reason and not is_reference:
            assert {str(rows), str(batch)} <= {*re.findall(r"\d+", str(error.value))}
    for shape in ([6], [1, 1, 6]) if not is_reference else ():
        plain = {"x": np.zeros((1, 4), np.float32), "random_state": states_of([0]).reshape(shape)}
        with pytest.raises(Exception, match=r"(?i)rank|shape|dimension"):
            run(plain)


@pytest.mark.parametrize("level", ["DISABLE", "ENABLE"])
@pytest.mark.parametrize("opset", [13, 14, 22])
def test_onnx_runtime_refuses_a_state_of_another_batch(
    opset: int, level: str, ort_backend: str
) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}_ALL")
    model = make_reproducible(model_of(BESIDE, opset=opset), per_row=True)
    session = InferenceSession(model, options, backend=ort_backend)
    check_only_a_state_of_the_batch_runs(lambda feed: session.run(None, feed))


def test_the_reference_evaluator_refuses_a_state_of_another_batch() -> None:
    # The first opset whose Reshape takes a size of 0 for what it is.
    model = make_reproducible(model_of(BESIDE, opset=14), per_row=True)
    check_only_a_state_of_the_batch_runs(partial(evaluate, model), is_reference=True)


@pytest.mark.parametrize("precision", [None, "f32", "f16"])
def test_openvino_refuses_a_state_of_another_batch(
    precision: str | None, openvino: OpenVino, tmp_path: Any
) -> None:
    model = make_reproducible(model_of(BESIDE), per_row=True)
    check_only_a_state_of_the_batch_runs(openvino.loaded(model, precision))
    ov.save_model(openvino.read(model), tmp_path / "model.xml")
    check_only_a_state_of_the_batch_runs(openvino.loaded(tmp_path / "model.xml", precision))
    # And where only the batch was fixed.
    read = openvino.read(model)
    read.reshape({"x": [4, 4]})
    check_only_a_state_of_the_batch_runs(
        openvino.loaded(read, precision),
        [
            (4, 4),
            (1, 4),
            (3, 4),
        ],
    )


@pytest.mark.parametrize(
    "real",
    [VAE, DIFFUSION[1]],
    ids=lambda real: real.name,
)
def test_in_openvino_the_states_can_live_in_a_variable(real: RealModel, openvino: OpenVino) -> None:
    model = with_draws_as_outputs(make_reproducible(real.original, per_row=True))
    states = states_of(range(batch_of(real)))
    stateful = onnx_philox.openvino.make_stateful(openvino.read(model), states)
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.core.compile_model(stateful, "CPU", config).create_infer_request()
    for number in range(2):
        outputs = infer(request, real.feed)
        named = {port.get_any_name(): value for port, value in outputs.items()}
        expected = real.draws(states_of(range(batch_of(real)), number))
        assert_all_same(draws_of(named), expected)
    (variable,) = request.query_state()
    variable.state = ov.Tensor(states[:1].view(np.int32).copy())
    with pytest.raises(Exception, match="random_state_must_have_one_row"):
        infer(request, real.feed)


def test_a_node_that_is_added_later_draws_rows_too(load: Load) -> None:
    model = make_reproducible(model_of("a = RandomNormalLike (x) y = Relu (a)"), per_row=True)
    node = parser.parse_node("late = RandomUniformLike (y)")
    model.graph.node.append(node)
    model.graph.output.append(helper.make_tensor_value_info("late", 1, [None, None]))
    assert make_reproducible(model, per_row=True) == make_reproducible(model)
    model = make_reproducible(model)
    onnx.checker.check_model(model)
    checked_rows(model, load, "late")
    # And must be proved.
    model.graph.node.append(parser.parse_node("later = RandomUniform <shape = [3]> ()"))
    with pytest.raises(ValueError, match=r"the shape of what it draws must be .*: got \[3\]"):
        make_reproducible(model)


def test_a_node_that_is_added_later_draws_no_rows_of_another_input() -> None:
    model = model_of("first = RandomNormalLike (x) y = Relu (first)", f"{X}, float[other, 4] z")
    model = make_reproducible(model, per_row=True)
    model.graph.node.append(parser.parse_node("late = RandomUniformLike (z)"))
    with pytest.raises(
        ValueError, match=r"must be .* proved to have .*'batch'.*: got \[other, 4\]"
    ):
        make_reproducible(model)
