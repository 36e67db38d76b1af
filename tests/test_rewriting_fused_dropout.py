"""make_reproducible on what ONNX Runtime's training tools leave behind: fused dropouts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from cases import assert_all_same, assert_same_bits
from onnx import TensorProto, parser
from runtimes import OpenVino

from onnx_philox import PhiloxState, TorchState, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes

SHAPE = (5, 8)
X = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
B = np.arange(8, dtype=np.float32)
R = X[::-1].copy()
STATE = PhiloxState.for_run(5)
FLOATS = {
    "float": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "double": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}

# By the call: whether it adds the bias, and the residual.
FUSED = {
    "BiasDropout (x, b, r, ratio, on)": (True, True),
    "BiasDropout (x, b, , ratio, on)": (True, False),
    "BitmaskBiasDropout (x, b, r, ratio, on)": (True, True),
    "BitmaskDropout (x, ratio, on)": (False, False),
}


def parse(body: str, type: str = "float", mode: str = "bool t") -> onnx.ModelProto:
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g ({type}[N, 8] x, {type}[8] b, {type}[N, 8] r, {mode}) => ({type}[N, 8] y)
        <float ratio = {{0.25}}, float none = {{0.0}}, bool on = {{1}}, bool off = {{0}}>
        {{ {body} }}"""
    )


def feed(model: onnx.ModelProto, dtype: np.dtype = FLOATS["float"], **more: Any) -> dict[str, Any]:
    given = {"x": X.astype(dtype), "b": B.astype(dtype), "r": R.astype(dtype), "t": np.array(True)}
    given |= {"random_state": STATE.to_array(), **more}
    return {value.name: given[value.name] for value in model.graph.input}


def expected(calls: tuple[bool, bool], dtype: np.dtype = FLOATS["float"]) -> list[np.ndarray]:
    """Dropout(x + b) + r, and the mask."""
    data = X.astype(dtype) + B.astype(dtype) if calls[0] else X.astype(dtype)
    output, mask, _ = reference.random_dropout(data, 0.25, state=STATE.to_array())
    return [output + R.astype(dtype) if calls[1] else output, mask]


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("call", FUSED)
def test_a_fused_dropout_draws_as_a_dropout_does_between_its_additions(
    call: str, type: str
) -> None:
    model = make_reproducible(parse(f"y = com.microsoft.{call}", type))
    dtype = FLOATS[type]
    wanted, _ = expected(FUSED[call], dtype)
    assert wanted.dtype == dtype
    given = feed(model, dtype)
    (y, _) = InferenceSession(model).run(None, given)
    assert_same_bits(y, wanted)
    if type == "float":
        drop = {
            "t",
            *(("r",) if not FUSED[call][1] else ()),
            *(("b",) if not FUSED[call][0] else ()),
        }
        y = OpenVino("native")(model, {k: v for k, v in given.items() if k not in drop}, "f32")[0]
        assert_same_bits(y, wanted)


@pytest.mark.parametrize("name", ["BiasDropout", "BitmaskBiasDropout"])
def test_its_mode_may_be_an_input(name: str) -> None:
    model = make_reproducible(parse(f"y = com.microsoft.{name} (x, b, r, ratio, t)"))
    session = InferenceSession(model)
    (y, _) = session.run(None, feed(model))
    # Operation by operation, so rounded otherwise than RandomDropout rounds.
    np.testing.assert_allclose(y, expected((True, True))[0], rtol=1e-6, atol=1e-6)
    (y, _) = session.run(None, feed(model, t=np.array(False)))
    assert_same_bits(y, X + B + R)


def test_its_boolean_mask_is_that_of_a_dropout() -> None:
    body = "y, mask = com.microsoft.BiasDropout (x, b, r, ratio, on)"
    model = parse(body)
    model.graph.output.append(
        onnx.helper.make_tensor_value_info("mask", TensorProto.BOOL, ["N", 8])
    )
    model = make_reproducible(model)
    y, mask, _ = InferenceSession(model).run(None, feed(model))
    wanted = expected((True, True))
    assert_same_bits(y, wanted[0])
    assert_same_bits(mask, wanted[1])


@pytest.mark.parametrize(
    "call", ["BitmaskDropout (x, ratio, on)", "BitmaskBiasDropout (x, b, r, ratio, on)"]
)
def test_a_packed_mask_that_is_read_is_refused_by_name(call: str) -> None:
    name = call.partition(" ")[0]
    # What remains of the backward pass reads it, for instance.
    body = f"y, m = com.microsoft.{call} g = com.microsoft.BitmaskDropoutGrad (x, m, ratio, on)"
    match = f"com.microsoft {name} of 'y' .*: the mask 'm' must be left alone"
    with pytest.raises(ValueError, match=match):
        make_reproducible(parse(body))
    assert make_reproducible(parse(f"y, m = com.microsoft.{call}"))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("BiasDropout (x, b)", X + B),
        ("BiasDropout (x, b, r, ratio, off)", X + B + R),
        ("BiasDropout (x, b, r, none, on)", X + B + R),
        ("BitmaskDropout (x, none, t)", X),
        ("BitmaskBiasDropout (x, b, , ratio)", X + B),
    ],
)
def test_one_that_drops_nothing_leaves_its_additions_and_takes_no_state(
    call: str, wanted: np.ndarray
) -> None:
    model = parse(f"y = com.microsoft.{call}")
    assert find_random_nodes(model) == []
    model = make_reproducible(model)
    assert "random_state" not in [value.name for value in model.graph.input]
    (y,) = InferenceSession(model).run(None, feed(model))
    assert_same_bits(y, wanted)


def test_each_row_may_have_its_state() -> None:
    model = make_reproducible(
        parse("y = com.microsoft.BiasDropout (x, b, r, ratio, on)"), per_row=True
    )
    states = np.stack([PhiloxState.for_run(seed).to_array() for seed in range(5)])
    (y, _) = InferenceSession(model).run(None, feed(model, random_state=states))
    for i, state in enumerate(states):
        output, _, _ = reference.random_dropout((X + B)[i : i + 1], 0.25, state=state)
        assert_same_bits(y[i : i + 1], output + R[i : i + 1])


def test_it_draws_torch_s_numbers_too() -> None:
    fused, plain = (
        make_reproducible(parse(body), alignment="pytorch")
        for body in (
            "y = com.microsoft.BiasDropout (x, b, r, ratio, on)",
            "s = Add (x, b) d = Dropout (s, ratio, on) y = Add (d, r)",
        )
    )
    state = TorchState.from_seed(3).to_array()
    one, other = (
        InferenceSession(model).run(None, feed(model, random_state=state))
        for model in (fused, plain)
    )
    assert_all_same(one, other)


def test_sampling_is_refused_with_a_word_of_the_operator_that_draws_a_token() -> None:
    model = parse("y = com.microsoft.Sampling (x)")
    with pytest.raises(ValueError, match=r"got Sampling, .* draw each token by RandomToken"):
        make_reproducible(model)
