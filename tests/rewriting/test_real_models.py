"""Models as torch exports them, rewritten: the same draws in every runtime, to the last bit.

What a model makes of its draws is the runtime's own arithmetic, and near.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, reference
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.real_models import (
    ALPHABET,
    DROPOUT,
    SEED,
    TOKENS,
    Arrays,
    RealModel,
    Run,
    draws_of,
    every_model,
    load_in_onnxruntime,
    load_in_openvino,
    with_draws_as_outputs,
)
from tests.common.runtimes import OpenVino

# None asks for no precision, as most users do: bf16, where the processor has it.
every_precision = pytest.mark.parametrize("precision", [None, "f32"])


# Loaded once for all tests, with the draws as outputs.
@cache
def in_openvino(openvino: OpenVino, real: RealModel, precision: str | None) -> Run:
    return load_in_openvino(openvino, real.visible, precision)


@cache
def in_onnxruntime(real: RealModel, backend: str) -> Run:
    return load_in_onnxruntime(real.visible, backend)


def two_runs(
    run: Run,
    real: RealModel,
    first: int = 0,
    feed: Arrays | None = None,
) -> list[Arrays]:
    """Two runs, the second from the state that the first returned."""
    state = PhiloxState.for_run(SEED, first).to_array()
    given = real.feed | (feed or {})
    one = run(given | {"random_state": state})
    two = run(given | {"random_state": one["next_random_state"]})
    return [one, two]


@every_precision
@every_model
def test_both_runtimes_draw_identical_bits_and_come_near(
    real: RealModel, precision: str | None, ort_backend: str, openvino: OpenVino
) -> None:
    here = two_runs(in_onnxruntime(real, ort_backend), real)
    there = two_runs(in_openvino(openvino, real, precision), real)
    if precision is None:
        # In a new session, and run 2 without run 1.
        again = (
            load_in_openvino(openvino, real.visible, precision),
            load_in_onnxruntime(real.visible, ort_backend),
        )
        for run, (_, two) in zip(again, (there, here), strict=True):
            directly, _ = two_runs(run, real, first=1)
            assert_all_same(directly.values(), two.values())
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        state = PhiloxState.for_run(SEED, number).to_array()
        following = PhiloxState.for_run(SEED, number + 1).to_array()
        for run in (one, other):
            assert_same_bits(run["next_random_state"], following)
        if real is not TOKENS:
            assert_all_same(draws_of(one), real.draws(state))
            assert_all_same(draws_of(other), draws_of(one))
            name = real.original.graph.output[0].name
            atol = real.atol_f32 if precision == "f32" else real.atol_bf16
            np.testing.assert_allclose(
                other[name],
                one[name],
                rtol=0,
                atol=atol,
            )


@every_precision
@every_model
def test_a_model_saved_as_ir_draws_what_the_model_draws(
    real: RealModel, precision: str | None, openvino: OpenVino, tmp_path: Path
) -> None:
    (direct, *_) = two_runs(in_openvino(openvino, real, precision), real)
    path = tmp_path / "model.xml"
    ov.save_model(openvino.read(real.visible), path, compress_to_fp16=False)
    (copy, *_) = two_runs(load_in_openvino(openvino, path, precision), real)
    assert list(copy) == list(direct)
    assert_all_same(copy.values(), direct.values())
    # As saved by default: weights in f16, so that logits are others, but not what is drawn.
    ov.save_model(openvino.read(real.visible), path)
    (small, *_) = two_runs(load_in_openvino(openvino, path, precision), real)
    if real is TOKENS:
        expected = [tokens_drawn(small["logits"], 0)]
        assert_all_same(draws_of(small), expected)
    else:
        assert_all_same(draws_of(small), draws_of(direct))


@every_model
def test_with_a_seed_inside_every_run_is_run_one_of_that_seed(
    real: RealModel, ort_backend: str, openvino: OpenVino
) -> None:
    model = with_draws_as_outputs(onnx_philox.make_reproducible(real.original, seed=SEED))
    assert {i.name for i in model.graph.input} == set(real.feed)
    for run in (load_in_onnxruntime(model, ort_backend), load_in_openvino(openvino, model, "f32")):
        for outputs in (run(real.feed), run(real.feed)):
            state = PhiloxState.for_run(SEED).to_array()
            expected = [tokens_drawn(outputs["logits"], 0)] if real is TOKENS else real.draws(state)
            assert_all_same(draws_of(outputs), expected)


# Tokens are drawn from logits, which are each runtime's own arithmetic.


def tokens_drawn(logits: np.ndarray, number: int) -> np.ndarray:
    """What the reference draws in a run from the logits that a runtime has computed."""
    state = PhiloxState.for_run(SEED, number).to_array()
    return reference.random_categorical(logits, 4, "i64", state=state)[0]


@pytest.mark.parametrize("precision", [None, "f32", "bf16", "f16"])
def test_given_the_logits_a_runtime_draws_the_tokens_of_the_reference(
    precision: str | None, ort_backend: str, openvino: OpenVino
) -> None:
    for run in (in_openvino(openvino, TOKENS, precision), in_onnxruntime(TOKENS, ort_backend)):
        for number, outputs in enumerate(two_runs(run, TOKENS)):
            expected = [tokens_drawn(outputs["logits"], number)]
            assert_all_same(draws_of(outputs), expected)


def test_the_same_tokens_come_in_both_runtimes_in_f32_and_nearly_all_in_bf16(
    ort_backend: str, openvino: OpenVino
) -> None:
    # 4,000 draws. Logits that are 1e-6 off move a token in one draw of 100,000 or so.
    feed = {"tokens": np.repeat(TOKENS.feed["tokens"], 334, 0)}
    here, _ = two_runs(in_onnxruntime(TOKENS, ort_backend), TOKENS, feed=feed)
    f32, _ = two_runs(in_openvino(openvino, TOKENS, "f32"), TOKENS, feed=feed)
    np.testing.assert_allclose(
        f32["logits"],
        here["logits"],
        rtol=0,
        atol=1e-4,
    )
    assert_same_bits(f32["next_tokens"], here["next_tokens"])
    # Seen: 1% of the tokens.
    bf16, _ = two_runs(in_openvino(openvino, TOKENS, "bf16"), TOKENS, feed=feed)
    assert (bf16["next_tokens"] != here["next_tokens"]).mean() < 0.1


# These still mean what they meant; of the others test_law.py says it.


def test_dropout_still_spreads_further_where_nothing_was_learnt(ort_backend: str) -> None:
    x = np.repeat(np.array([[0.5], [8]], np.float32), 500, axis=0)
    outputs, _ = two_runs(
        in_onnxruntime(DROPOUT, ort_backend),
        DROPOUT,
        feed={"x": x},
    )
    y = outputs["y"].reshape(2, 500)
    assert abs(y[0].mean() - np.sin(1)) < 0.1
    assert 0.01 < y[0].std() < 0.3 * y[1].std()


def test_tokens_still_come_as_often_as_their_probability_says(ort_backend: str) -> None:
    feed = {"tokens": np.repeat(TOKENS.feed["tokens"][:1], 5000, 0)}
    outputs, _ = two_runs(in_onnxruntime(TOKENS, ort_backend), TOKENS, feed=feed)
    weights = np.exp(outputs["logits"][0].astype(np.float64))
    expected = weights / weights.sum()
    got = np.bincount(outputs["next_tokens"].reshape(-1), minlength=len(ALPHABET)) / 20000
    # Four standard deviations.
    assert (np.abs(got - expected) < 4 * np.sqrt(expected / 20000) + 1e-4).all()
