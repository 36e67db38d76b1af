"""A p up to 4 ulp above 1, as the sum of a softmax can be: always true, in every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, reference

STATE = PhiloxState(3, 4).to_array()
SHAPE = [50, 41]
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def above_one(ulps: int, dtype: np.dtype[Any]) -> np.generic:
    return dtype.type(1 + ulps * float(np.finfo(dtype).eps))


def p_of(ulps: int, dtype: np.dtype[Any], *, each: bool) -> np.ndarray[Any, Any]:
    return np.full(SHAPE if each else (), above_one(ulps, dtype), dtype)


def model_of(ulps: int, dtype: np.dtype[Any], *, each: bool) -> onnx.ModelProto:
    """Sets p after building, since the builder checks it too."""
    one = np.ones(SHAPE if each else (), dtype)
    model = graphs.random_bernoulli(SHAPE, one, stateful=True)
    for initializer in model.graph.initializer:
        if initializer.name == "p":
            new = onnx.numpy_helper.from_array(p_of(ulps, dtype, each=each), "p")
            initializer.CopyFrom(new)
            return model
    raise AssertionError("the model has no initializer p")


KINDS = [(dtype, each) for dtype in (F32, F64) for each in (False, True)]


@pytest.mark.parametrize(("dtype", "each"), KINDS)
@pytest.mark.parametrize("ulps", [1, 2, 3, 4])
def test_the_reference_and_the_core_draw_nothing_but_true(
    dtype: np.dtype[Any], each: bool, ulps: int
):
    p = p_of(ulps, dtype, each=each)
    values, state = reference.random_bernoulli(SHAPE, p, state=STATE)
    assert values.all()
    of_one, state_of_one = reference.random_bernoulli(SHAPE, p_of(0, dtype, each=each), state=STATE)
    np.testing.assert_array_equal(state, state_of_one)
    assert of_one.all()
    out = np.zeros(SHAPE, bool)
    generate(PhiloxState(3, 4), out=out, p=p)
    assert out.all()


@pytest.mark.parametrize(("dtype", "each"), KINDS)
@pytest.mark.parametrize("ulps", [1, 4])
def test_the_runtimes_draw_nothing_but_true(
    dtype: np.dtype[Any], each: bool, ulps: int, ort_backend: str, openvino: OpenVino
):
    model = model_of(ulps, dtype, each=each)
    session = onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    assert session.run(None, {"state": STATE})[0].all()
    assert openvino(model, {"state": STATE})[0].all()


@pytest.mark.parametrize(("dtype", "each"), KINDS)
def test_one_ulp_more_is_refused_everywhere(
    dtype: np.dtype[Any], each: bool, ort_backend: str, openvino: OpenVino
):
    p = p_of(5, dtype, each=each)
    text = f": got {p.flat[0].item()!r}"
    rule = "input 'p' must be from 0 to 1, or at most 4 ulp above 1: got "
    with pytest.raises(ValueError, match="input 'p'") as raised:
        reference.random_bernoulli(SHAPE, p, state=STATE)
    said = [str(raised.value)]
    model = model_of(5, dtype, each=each)
    with pytest.raises(Exception, match="input 'p'") as raised:
        onnx_philox.onnxruntime.InferenceSession(model, backend=ort_backend)
    said.append(str(raised.value))
    with pytest.raises(RuntimeError, match="input 'p'") as raised:
        openvino(model, {"state": STATE})
    said.append(str(raised.value))
    for error in said:
        assert text in error
        assert rule in error


def test_a_number_of_python_s_is_held_to_the_same_rule():
    at_most = 1 + 4 * 2**-23
    assert reference.random_bernoulli(SHAPE, at_most, op_seed=1)[0].all()
    with pytest.raises(ValueError, match="or at most 4 ulp above 1"):
        reference.random_bernoulli(SHAPE, np.nextafter(at_most, 2).item(), op_seed=1)


def test_the_sum_of_a_softmax_is_a_probability_in_a_rewritten_model(
    ort_backend: str, openvino: OpenVino
):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[400, 50] x) => '
        "(float[400, 1] y, float[400, 1] p) { s = Softmax<axis = 1>(x) "
        "axis = Constant<value_ints = [1]>() p = ReduceSum(s, axis) y = Bernoulli(p) }"
    )
    rewritten = onnx_philox.make_reproducible(model)
    x = np.random.default_rng(1).normal(size=(400, 50)).astype(np.float32) * 3
    feeds = {"x": x, "random_state": PhiloxState.for_run(1).to_array()}
    session = onnx_philox.onnxruntime.InferenceSession(rewritten, backend=ort_backend)
    y, p, _ = session.run(None, feeds)
    assert p.max() > 1  # or this shows nothing
    np.testing.assert_array_equal(y[p >= 1], 1)
    y, p, _ = openvino(rewritten, feeds, "f32")
    np.testing.assert_array_equal(y[p >= 1], 1)
