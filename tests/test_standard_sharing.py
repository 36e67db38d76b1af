"""Many draws in one model: they share functions in ONNX Runtime, and a generator in OpenVINO."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_same_bits
from foreign import parse, uniform
from standard_targets import RUN, drawn, loaded, nodes

import onnx_philox as op

# The second carries through all words of the counter.
STATES = [op.PhiloxState(counter, 2**64 - 1) for counter in (2**32 - 3, 2**128 - 2)]
target = pytest.mark.parametrize("target", RUN)


def count(model: onnx.ModelProto) -> int:
    return sum(node.op_type != "Constant" for node in nodes(model))


def growth(model: onnx.ModelProto, target: str) -> int:
    standard = op.to_standard_nodes(model, target=target)
    return len(standard.SerializeToString()) - len(model.SerializeToString())


def model_of(lines: list[str], outputs: list[str], inputs: str) -> onnx.ModelProto:
    return parse(
        f"""g ({inputs}) => ({", ".join(outputs)})
        <int64[1] n8 = {{8}}, int64[1] n5 = {{5}}, int64[1] n0 = {{0}}, float half = {{0.5}},
         float mean = {{0}}, float scale = {{1}}> {{ {" ".join(lines)} }}""",
        18,
    )


def of_normals() -> onnx.ModelProto:
    lines = [
        f'v{i} = onnx_philox.RandomNormal <output_type = "f32", op_seed = {i}> '
        "(n8, mean, scale, state)"
        for i in range(20)
    ]
    return model_of(lines, [f"float[8] v{i}" for i in range(20)], "uint32[6] state")


def of_booleans(*, key: int = 0, stateful: bool = True) -> onnx.ModelProto:
    """Draws of odd, even and no size; one asks for the next state."""
    outputs, lines = [], []
    for i, size in enumerate((8, 5, 0, 5) * 5):
        second = ", next" if i == 3 else ""
        lines.append(
            f"v{i}{second} = onnx_philox.RandomBernoulli <op_seed = {i + key}, global_seed = {key}>"
            f" (n{size}, half{', state' * stateful})"
        )
        outputs.append(f"bool[{size}] v{i}")
    return model_of(lines, [*outputs, "uint32[6] next"], "uint32[6] state" if stateful else "")


def booleans(key: int, state: np.ndarray | None) -> list[np.ndarray]:
    """What `of_booleans` draws."""
    found, following = [], None
    for i, size in enumerate((8, 5, 0, 5) * 5):
        seeds = {"op_seed": i + key, "global_seed": key}
        half = np.float32(0.5)
        values, after = op.reference.random_bernoulli([size], half, **seeds, state=state)
        found.append(values)
        following = after if i == 3 else following
    assert following is not None
    return [*found, following]


@target
@pytest.mark.parametrize("key", [0, 2**40 + 7])
def test_each_draws_what_it_draws_alone(target: str, key: int) -> None:
    draw = loaded(target, of_booleans(key=key))
    for state in (state.to_array() for state in STATES):
        assert_all_same(draw({"state": state}), booleans(key, state))
    of_seeds = of_booleans(key=key or 9, stateful=False)
    assert_all_same(drawn(target, of_seeds, {}), booleans(key or 9, None))


def test_draws_of_functions_in_onnxruntime_are_their_own() -> None:
    state = STATES[0].to_array()
    for i, output in enumerate(drawn("onnxruntime", of_normals(), {"state": state})):
        expected, _ = op.reference.random_normal([8], 0, 1, "f32", op_seed=i, state=state)
        assert_same_bits(output, expected)


def test_draws_of_several_generators_are_their_own() -> None:
    """They hold a limited number of words, 2^22: all of them are in memory at once."""
    size, state = 2**21, STATES[0].to_array()
    lines = [
        f"v{i} = onnx_philox.RandomBernoulli <op_seed = {i}> (big, half, state)" for i in range(3)
    ]
    big = f"big = Constant <value_ints = [{size}]> ()"
    model = model_of([big, *lines], [f"bool[{size}] v{i}" for i in range(3)], "uint32[6] state")
    for i, output in enumerate(drawn("openvino", model, {"state": state})):
        half = np.float32(0.5)
        expected = op.reference.random_bernoulli([size], half, op_seed=i, state=state)[0]
        assert_same_bits(output, expected)
    assert count(op.to_standard_nodes(model, target="openvino")) > 2 * 360


def test_a_model_with_twenty_draws_grows_by_little() -> None:
    normals, booleans_ = of_normals(), of_booleans()
    assert growth(normals, "onnxruntime") < 20_000
    assert count(op.to_standard_nodes(normals)) < 160 + 20 * 12
    assert growth(booleans_, "openvino") < 40_000
    assert count(op.to_standard_nodes(booleans_, target="openvino")) < 440 + 20 * 15


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


def test_a_state_drawn_on_has_generators_of_its_own() -> None:
    """The second draw begins where the first one ends."""
    lines = [
        "a, next = onnx_philox.RandomGenerator (state, n5)",
        "b, last = onnx_philox.RandomGenerator (next, n8)",
        "c = onnx_philox.RandomGenerator <op_seed = 1> (next, n5)",
    ]
    model = model_of(
        lines, ["uint32[5] a", "uint32[8] b", "uint32[5] c", "uint32[6] last"], "uint32[6] state"
    )
    state = STATES[1].to_array()
    a, following = op.reference.random_generator(state, [5])
    b, last = op.reference.random_generator(following, [8])
    c, _ = op.reference.random_generator(following, [5], op_seed=1)
    assert_all_same(drawn("openvino", model, {"state": state}), (a, b, c, last))


def test_one_draw_is_as_before() -> None:
    standard = op.to_standard_nodes(op.graphs.random_generator([9]), target="openvino")
    assert "Gather" in {node.op_type for node in nodes(standard)}
    assert "Expand" not in {node.op_type for node in nodes(standard)}
