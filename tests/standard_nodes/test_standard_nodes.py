"""Operators as nodes of ONNX's own domain: the same bits in runtimes that know nothing of us."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import onnx_philox as op
from onnx_philox import PhiloxState, RefusedInputError, graphs, to_standard_nodes
from tests.common import cli
from tests.common.cases import DTYPES, EDGE_COUNTERS, SEED, assert_all_same, assert_same_bits
from tests.common.foreign import Arrays, evaluate, nodes, parse, uniform
from tests.common.half_precision import rounds_once
from tests.common.standard_targets import RUN, loaded
from tests.numbers.test_distributions_bits import state_before

target = pytest.mark.parametrize("target", RUN)
optimised = pytest.mark.parametrize(
    "optimised",
    [True, False],
    ids=("optimised", "plain"),
)


def count(model: onnx.ModelProto) -> int:
    return sum(node.op_type != "Constant" for node in nodes(model))


def check(
    target: str,
    model: onnx.ModelProto,
    feeds: Arrays,
    *,
    optimised: bool = True,
) -> None:
    assert_all_same(loaded(target, model, optimised=optimised)(feeds), evaluate(model, feeds))


@target
@optimised
def test_bits_carry_as_the_reference_does(target: str, optimised: bool) -> None:
    model = graphs.random_generator(None, rank=1, **SEED)
    draw = loaded(target, model, optimised=optimised)
    for counter, count in itertools.product(EDGE_COUNTERS, (0, 1, 4, 21, 1000)):
        state = PhiloxState(counter, 0xDEADBEEF_FFFFFFFF).to_array()
        feeds = {"state": state, "shape": np.array([count])}
        assert_all_same(draw(feeds), evaluate(model, feeds))


@target
@pytest.mark.parametrize("rank", range(1, 9))
def test_a_state_has_any_rank_and_the_next_one_has_it_too(target: str, rank: int) -> None:
    state = PhiloxState(2**64 - 1, 5).to_array().reshape((1,) * (rank - 1) + (6,))
    model = graphs.random_generator([3, 2])
    (given,) = (i for i in model.graph.input if i.name == "state")
    given.type.tensor_type.shape.Clear()
    for size in state.shape:
        given.type.tensor_type.shape.dim.add().dim_value = size
    next_state = model.graph.output[1].type.tensor_type.shape
    next_state.CopyFrom(given.type.tensor_type.shape)
    check(target, model, {"state": state})


def check_draw(
    target: str, name: str, *arguments: Any, state: PhiloxState, optimised: bool = True
) -> None:
    """A draw of these arguments and of a state that is fed."""
    model = getattr(graphs, f"random_{name}")(*arguments, stateful=True)
    check(target, model, {"state": state.to_array()}, optimised=optimised)


@target
def test_a_draw_of_many_chunks(target: str) -> None:
    state = PhiloxState(2**64 - 3, 7)
    check_draw(target, "uniform", [2**18 + 5], 0, 1, "f32", state=state)


@pytest.mark.parametrize("maxval", [1, 2, 0.1, 6.2831855, 3e38, 1e-30])
def test_openvino_draws_f32_from_0_to_any_number(maxval: float) -> None:
    check_draw(
        "openvino",
        "uniform",
        [2**18],
        0,
        maxval,
        "f32",
        state=PhiloxState(3, 11),
    )


@pytest.mark.parametrize(
    ("name", "parameters", "most"), [("normal", (3, 2), 2e-6), ("uniform", (0.1, 0.7), 1e-7)]
)
def test_openvino_draws_the_inexact_when_that_is_allowed(
    name: str, parameters: tuple[float, float], most: float
) -> None:
    model = getattr(graphs, f"random_{name}")([2**16], *parameters, "f32", stateful=True)
    feeds = {"state": PhiloxState(3, 11).to_array()}
    expected = evaluate(model, feeds)[0]
    standard = to_standard_nodes(model, target="openvino", inexact="allow")
    values, _ = RUN["openvino"](standard, feeds, optimised=True)
    assert np.abs(values - expected).max() < most
    # Scaled in two steps, a uniform need not be refused; but most processors do it in one.
    is_exact = name == "uniform" and not rounds_once()
    assert np.array_equal(values, expected) == is_exact


WIDTHS = [
    *range(1, 20),
    100,
    255,
    257,
    1000,
    65535,
    65536,
    65537,
    2**20 + 1,
    2**24 - 3,
]
WIDTHS += [2**k + d for k in (27, 28, 29, 30, 31) for d in (-1, 0, 1)] + [2**32 - 1]
WIDTHS += [3 * 2**29, 2**28 + 12345, 858993459, 1431655765, 2863311531]

# One of each kind by default: odd and even, powers of two and a neighbour, wide and widest.
SOME_WIDTHS = {1, 7, 100, 65536, 65537, 2**24 - 3, 2**31, 2**32 - 1, 2**28 + 12345}


@pytest.mark.parametrize(
    "width",
    [
        pytest.param(width, marks=[] if width in SOME_WIDTHS else [pytest.mark.exhaustive])
        for width in WIDTHS
    ],
)
def test_openvino_takes_the_remainder_of_any_width(width: int) -> None:
    minval = -(2**31) if width > 2**31 - 1 else -7
    given = ([2**14], minval, minval + width, "i32")
    check_draw("openvino", "uniform", *given, state=PhiloxState(99, 11))


@pytest.mark.parametrize(
    "bounds",
    [
        (0, 1 + 1e-9),
        (1e-310, 1),
        (-1e-60, 1e-60),
    ],
)
def test_onnxruntime_keeps_f64_operations_that_would_change_nothing_in_f32(
    bounds: tuple[float, float],
) -> None:
    check_draw("onnxruntime", "uniform", [99], *bounds, "f64", state=PhiloxState(5, 11))


@optimised
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize(
    "words",
    [
        (0,) * 4,
        (2**32 - 1,) * 4,
        (3037000500, 1, 3037000499, 2**31),
    ],
)
def test_edges_of_exponentials(type_: str, words: Any, optimised: bool) -> None:
    state = state_before(words)
    check_draw("onnxruntime", "exponential", [4], 1, type_, state=state, optimised=optimised)


@pytest.mark.parametrize("inexact", ["refuse", "allow"])
def test_an_operator_that_openvino_has_no_nodes_for_is_refused_as_one_and_not_by_its_type(
    inexact: str,
) -> None:
    for model in (
        graphs.random_exponential([4], 1, "f32", stateful=True),
        graphs.random_exponential([4], 1, "f64", stateful=True),
        graphs.random_categorical(
            np.zeros((2, 3), np.float32),
            sample_size=4,
            stateful=True,
        ),
        graphs.random_gamma([4], 1, "f32", stateful=True),
        graphs.random_token(top_p=0.9, stateful=True),
    ):
        with pytest.raises(RefusedInputError, match="operator must be one of RandomGener") as e:
            to_standard_nodes(model, target="openvino", inexact=inexact)
        (name,) = {node.op_type for node in model.graph.node if node.domain}
        found = f"got {name}, which has no standard nodes that OpenVINO computes exactly. Load the"
        assert found in str(e.value)
        assert "inexact" not in str(e.value)


SCALAR = """g (uint32[6] state, int64[rank] shape, float[1] p) => (bool y) {
    y = onnx_philox.RandomBernoulli (shape, p, state) }"""


@pytest.mark.parametrize(
    ("target", "rank"), [("onnxruntime", "0"), ("onnxruntime", "n"), ("openvino", "0")]
)
def test_a_p_of_shape_1_leaves_a_scalar_a_scalar(target: str, rank: str) -> None:
    model = parse(SCALAR.replace("rank", rank), 18)
    state = PhiloxState(2**64 - 9, 12).to_array()
    check(
        target,
        model,
        {
            "state": state,
            "shape": np.zeros(0, np.int64),
            "p": np.float32([0.6]),
        },
    )


@optimised
@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
@pytest.mark.parametrize("classes", [1, 2, 300])
def test_standard_nodes_draw_the_classes_of_the_operator(
    type_: str, classes: int, optimised: bool
) -> None:
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 40, (4, classes)).astype(DTYPES[type_])
    is_never_drawn = rng.random((3, classes - 1)) < 0.3
    logits[1:, 1:][is_never_drawn] = -np.inf
    state = PhiloxState(2**64 - 9, 12).to_array()
    for output_type in ("i32", "i64"):
        model = graphs.random_categorical(None, 77, output_type, logits_type=type_, stateful=True)
        check("onnxruntime", model, {"state": state, "logits": logits}, optimised=optimised)


@pytest.mark.parametrize(("target", "most"), [("onnxruntime", 160), ("openvino", 440)])
def test_a_draw_of_bits_has_few_nodes(target: str, most: int) -> None:
    assert count(to_standard_nodes(graphs.random_generator([1000], **SEED), target=target)) <= most


# Many in one model share functions in ONNX Runtime, and a generator in OpenVINO.
# The second carries through all words of the counter.
STATES = [PhiloxState(counter, 2**64 - 1) for counter in (2**32 - 3, 2**128 - 2)]


def growth(model: onnx.ModelProto, target: str) -> int:
    standard = to_standard_nodes(model, target=target)
    return len(standard.SerializeToString()) - len(model.SerializeToString())


def model_of(
    lines: list[str], outputs: list[str], state: str = "uint32[6] state"
) -> onnx.ModelProto:
    return parse(
        f"""g ({state}) => ({", ".join(outputs)})
        <int64[1] n8 = {{8}}, int64[1] n5 = {{5}}, int64[1] n0 = {{0}}, int64[1] big = {{{2**21}}},
         float half = {{0.5}}, float mean = {{0}}, float scale = {{1}}> {{ {" ".join(lines)} }}""",
        18,
    )


def of_booleans(key: int = 0, *, stateful: bool = True) -> onnx.ModelProto:
    """Draws of odd, even and no size; one asks for the next state."""
    sizes = (8, 5, 0, 5) * 5
    lines = [
        f"v{i}{', next' * (i == 3)} = onnx_philox.RandomBernoulli <op_seed = {i + key}, "
        f"global_seed = {key}> (n{size}, half{', state' * stateful})"
        for i, size in enumerate(sizes)
    ]
    outputs = [*(f"bool[{size}] v{i}" for i, size in enumerate(sizes)), "uint32[6] next"]
    return model_of(lines, outputs, "uint32[6] state" * stateful)


NORMAL = 'onnx_philox.RandomNormal <output_type = "f32", op_seed = {}> (n8, mean, scale, state)'
BIG = "onnx_philox.RandomBernoulli <op_seed = {}> (big, half, state)"
MODELS = {
    "normals": model_of(
        [f"v{i} = {NORMAL.format(i)}" for i in range(20)],
        [f"float[8] v{i}" for i in range(20)],
    ),
    "booleans": of_booleans(),
    "booleans of a key": of_booleans(2**40 + 7),
    "booleans of seeds alone": of_booleans(9, stateful=False),
    "booleans of large seeds alone": of_booleans(
        2**40 + 7,
        stateful=False,
    ),
    # A generator holds a limited number of words, 2^22: all of them are in memory at once.
    "several generators": model_of(
        [f"v{i} = {BIG.format(i)}" for i in range(3)],
        [f"bool[{2**21}] v{i}" for i in range(3)],
    ),
    "states that are constants": model_of(
        [
            f"s{i} = Constant <value = uint32[6] {{{word}, 2, 3, 4, 5, 6}}> () "
            f"v{i} = onnx_philox.RandomGenerator <op_seed = {i}> (s{i}, n5)"
            for i, word in enumerate((1, 1, 7))
        ],
        [f"uint32[5] v{i}" for i in range(3)],
        "",
    ),
    # The second draw begins where the first one ends.
    "a state drawn on": model_of(
        [
            "a, next = onnx_philox.RandomGenerator (state, n5)",
            "b, last = onnx_philox.RandomGenerator (next, n8)",
            "c = onnx_philox.RandomGenerator <op_seed = 1> (next, n5)",
        ],
        ["uint32[5] a", "uint32[8] b", "uint32[5] c", "uint32[6] last"],
    ),
}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for name in MODELS
        for target in RUN
        if (name, target) != ("normals", "openvino")
    ],
)
def test_several_draws_in_one_model_are_those_of_the_reference(name: str, target: str) -> None:
    draw = loaded(target, MODELS[name])
    for state in STATES:
        feeds = {"state": state.to_array()} if MODELS[name].graph.input else {}
        assert_all_same(draw(feeds), evaluate(MODELS[name], feeds))


def test_a_model_with_twenty_draws_grows_by_little() -> None:
    for name, target, size, most in (
        ("normals", "onnxruntime", 20_000, 160 + 20 * 12),
        ("booleans", "openvino", 40_000, 440 + 20 * 15),
    ):
        assert growth(MODELS[name], target) < size
        assert count(to_standard_nodes(MODELS[name], target=target)) < most
    several = to_standard_nodes(MODELS["several generators"], target="openvino")
    assert count(several) > 2 * 360


@pytest.mark.parametrize("batch", ["3", "n"])
def test_sizes_that_a_model_computes_of_shapes_are_known_too(batch: str) -> None:
    """Of rows, where the batch is not: a row draws the same in any batch."""
    outputs = ", ".join(f"float[{batch}, 5] v{i}" for i in range(20))
    lines = " ".join(f"v{i} = RandomUniformLike (x)" for i in range(20))
    plain = parse(f"g (float[{batch}, 5] x) => ({outputs}) {{ {lines} }}", 18)
    model = op.make_reproducible(plain, per_row=batch == "n")
    assert growth(model, "openvino") < 40_000
    draw = loaded("openvino", model)
    for rows in (1, 3) if batch == "n" else (3,):
        state = op.row_states(range(rows)) if batch == "n" else STATES[0].to_array()
        feeds = {"random_state": state, "x": np.zeros((rows, 5), np.float32)}
        *values, _ = draw(feeds)
        for i, output in enumerate(values):
            assert_same_bits(output, uniform([rows, 5], i, state))


def test_standard_nodes_of_one_draw_have_a_gather_and_no_expand() -> None:
    standard = to_standard_nodes(graphs.random_generator([9]), target="openvino")
    assert "Gather" in {node.op_type for node in nodes(standard)}
    assert "Expand" not in {node.op_type for node in nodes(standard)}


def test_the_target_web_has_no_functions_and_its_draws_are_outputs(tmp_path: Path) -> None:
    model = graphs.random_normal([4], 0, 1, "f32", stateful=True)
    made = to_standard_nodes(model, target="web")
    assert not made.functions
    assert {node.domain for node in made.graph.node} == {""}
    (about,) = (entry.value for entry in made.metadata_props if entry.key == "onnx_philox.web")
    assert json.loads(about)["draws"] == [{"output": "values", "operator": "RandomNormal"}]
    feed = {"state": PhiloxState.from_seed(42).to_array()}
    expected = ort.InferenceSession(to_standard_nodes(model).SerializeToString()).run(None, feed)
    drawn = ort.InferenceSession(made.SerializeToString()).run(None, feed)
    for one, other in zip(drawn, expected, strict=True):
        assert_same_bits(one, other)
    # The command writes the same file.
    onnx.save(model, tmp_path / "model.onnx")
    words = ("--standard", "--target", "web")
    cli.text(
        "rewrite",
        tmp_path / "model.onnx",
        "-o",
        tmp_path / "web.onnx",
        *words,
    )
    assert (tmp_path / "web.onnx").read_bytes() == made.SerializeToString()
