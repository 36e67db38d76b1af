"""Models rewritten for rows, then as standard nodes: row i is what the plugin draws for state i."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cases import assert_all_same, assert_same_bits
from foreign import evaluate, parse
from operators import some_states
from standard_targets import RUN, loaded

import onnx_philox as op

VAE = Path(__file__).parent / "models" / "vae_decoder.onnx"
# What each target draws exactly.
MODELS = {
    "onnxruntime": """
        g (float[n, 6] x) => (float[n, 6] noise, float[n, 6] other, float[n, 6] kept, int32[n, 4] c)
        <float ratio = {0.25}, bool on = {1}> {
            noise = RandomNormalLike (x)  other = RandomUniformLike <low = -1.0, high = 3.0> (x)
            kept = Dropout (x, ratio, on)  c = Multinomial <sample_size = 4> (x) }""",
    "openvino": """
        g (float[n, 6] x) => (float[n, 6] noise, float[n, 6] kept, float[n, 2, 5] free)
        <float ratio = {0.25}, bool on = {1}, int64[2] rest = {2, 5}> {
            noise = RandomUniformLike (x)  kept = Dropout (x, ratio, on)
            rows = Shape <start = 0, end = 1> (x)  shape = Concat <axis = 0> (rows, rest)
            like = Expand (ratio, shape)  free = RandomUniformLike (like) }""",
}
target = pytest.mark.parametrize("target", RUN)
STATES = op.row_states([2**64 - 1, 4, 99], rows=[7, 0, 2**32 - 1], run=2**32 - 1)
X = np.random.default_rng(3).normal(size=(3, 6)).astype(np.float32)


def model_of(target: str) -> onnx.ModelProto:
    return parse(MODELS[target], 18)


@target
@pytest.mark.parametrize("optimised", [True, False], ids=("optimised", "plain"))
def test_every_batch_draws_the_same_rows(target: str, optimised: bool) -> None:
    model = op.make_reproducible(model_of(target), per_row=True)
    right = evaluate(model, {"x": X, "random_state": STATES})
    draw = loaded(target, model, optimised=optimised)
    for rows in ([2, 0], []):
        outputs = draw({"x": X[rows], "random_state": STATES[rows]})
        for output, expected in zip(outputs, right, strict=True):
            assert_same_bits(output, expected[rows])


@target
def test_a_state_for_each_row_and_no_other_number_of_them(target: str) -> None:
    model = op.make_reproducible(model_of(target), per_row=True)
    draw = loaded(target, model)
    for states in (STATES[:1], STATES[:2]):
        with pytest.raises(Exception, match=r"(?i)shape|dimension|mismatch"):
            draw({"x": X, "random_state": states})


@target
@pytest.mark.parametrize(
    ("asked", "state"),
    [({}, STATES[0]), ({"per_row": True}, STATES), ({"seed": 42}, None)],
    ids=("a state", "rows", "a seed"),
)
def test_the_command_writes_such_a_file(
    tmp_path: Path, target: str, asked: Any, state: Any
) -> None:
    source, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(model_of(target), source)
    words = {"per_row": ["--per-row"], "seed": ["--seed", 42]}.get("".join(asked), [])
    said = cli.text("rewrite", source, "-o", out, "--standard", "--target", target, *words)
    assert "Its draws are standard ONNX nodes, which need no plugin, made for O" in said
    feeds = {"x": X} if state is None else {"x": X, "random_state": state}
    outputs = RUN[target](onnx.load(out), feeds, optimised=True)
    model = op.make_reproducible(model_of(target), **asked)
    assert_all_same(outputs, evaluate(model, feeds))


def test_a_row_takes_no_longer_in_a_large_batch() -> None:
    standard = op.to_standard_nodes(op.graphs.random_generator([None, 3], per_row=True))
    session = ort.InferenceSession(standard.SerializeToString())
    seconds = []
    for rows in (2**13, 2**16):
        states = some_states(rows)
        times = []
        for _ in range(3):
            start = time.process_time()
            (bits, _) = session.run(None, {"state": states})
            times.append(time.process_time() - start)
        seconds.append(min(times) / rows)
        assert_same_bits(bits, op.reference.random_generator(states, [rows, 3])[0])
    assert seconds[1] < 3 * seconds[0], "before, it took 8 times as long"
