"""Many draws in one model: they share functions in ONNX Runtime, and a generator in OpenVINO."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_same_bits
from foreign import evaluate, nodes, parse, uniform
from standard_targets import RUN, loaded

import onnx_philox as op

# The second carries through all words of the counter.
STATES = [op.PhiloxState(counter, 2**64 - 1) for counter in (2**32 - 3, 2**128 - 2)]


def count(model: onnx.ModelProto) -> int:
    return sum(node.op_type != "Constant" for node in nodes(model))


def growth(model: onnx.ModelProto, target: str) -> int:
    standard = op.to_standard_nodes(model, target=target)
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
        [f"v{i} = {NORMAL.format(i)}" for i in range(20)], [f"float[8] v{i}" for i in range(20)]
    ),
    "booleans": of_booleans(),
    "booleans of a key": of_booleans(2**40 + 7),
    "booleans of seeds alone": of_booleans(9, stateful=False),
    "booleans of large seeds alone": of_booleans(2**40 + 7, stateful=False),
    # A generator holds a limited number of words, 2^22: all of them are in memory at once.
    "several generators": model_of(
        [f"v{i} = {BIG.format(i)}" for i in range(3)], [f"bool[{2**21}] v{i}" for i in range(3)]
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
def test_each_draws_what_it_draws_alone(name: str, target: str) -> None:
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
        assert count(op.to_standard_nodes(MODELS[name], target=target)) < most
    several = op.to_standard_nodes(MODELS["several generators"], target="openvino")
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


def test_one_draw_is_as_before() -> None:
    standard = op.to_standard_nodes(op.graphs.random_generator([9]), target="openvino")
    assert "Gather" in {node.op_type for node in nodes(standard)}
    assert "Expand" not in {node.op_type for node in nodes(standard)}
