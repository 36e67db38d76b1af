"""A p up to 4 ulp above 1, as the sum of a softmax can be: always true, in every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from foreign import in_onnxruntime, in_openvino, parse
from runtimes import OpenVino

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, reference

STATE = PhiloxState(3, 4).to_array()
SHAPE = [50, 41]
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def p_of(ulps: int, dtype: np.dtype[Any], *, each: bool) -> np.ndarray[Any, Any]:
    return np.full(SHAPE if each else (), 1 + ulps * float(np.finfo(dtype).eps), dtype)


def model_of(ulps: int, dtype: np.dtype[Any], *, each: bool) -> onnx.ModelProto:
    """Sets p after building, since the builder checks it too."""
    model = graphs.random_bernoulli(SHAPE, p_of(0, dtype, each=each), stateful=True)
    (held,) = (i for i in model.graph.initializer if i.name == "p")
    held.CopyFrom(onnx.numpy_helper.from_array(p_of(ulps, dtype, each=each), "p"))
    return model


KINDS = [(dtype, each) for dtype in (F32, F64) for each in (False, True)]


@pytest.mark.parametrize(("dtype", "each"), KINDS)
@pytest.mark.parametrize("ulps", [1, 2, 3, 4])
def test_nothing_but_true_is_drawn_in_every_backend(
    dtype: np.dtype[Any], each: bool, ulps: int, ort_backend: str, openvino: OpenVino
):
    p, of_one = (p_of(n, dtype, each=each) for n in (ulps, 0))
    values, state = reference.random_bernoulli(SHAPE, p, state=STATE)
    np.testing.assert_array_equal(state, reference.random_bernoulli(SHAPE, of_one, state=STATE)[1])
    generate(PhiloxState(3, 4), out=(out := np.zeros(SHAPE, bool)), p=p)
    model, feeds = model_of(ulps, dtype, each=each), {"state": STATE}
    for drawn in (
        values,
        out,
        in_onnxruntime(ort_backend)(model, feeds)[0],
        openvino(model, feeds)[0],
    ):
        assert drawn.all()


def test_a_number_of_python_s_is_held_to_the_same_rule():
    at_most = 1 + 4 * 2**-23
    assert reference.random_bernoulli(SHAPE, at_most, op_seed=1)[0].all()
    with pytest.raises(ValueError, match="or at most 4 ulp above 1"):
        reference.random_bernoulli(SHAPE, np.nextafter(at_most, 2).item(), op_seed=1)


def test_the_sum_of_a_softmax_is_a_probability_in_a_rewritten_model(
    ort_backend: str, openvino: OpenVino
):
    model = parse("""g (float[400, 50] x) => (float[400, 1] y, float[400, 1] p)
        <int64[1] axis = {1}> {
        s = Softmax <axis = 1> (x) p = ReduceSum (s, axis) y = Bernoulli (p) }""")
    x = np.random.default_rng(1).normal(size=(400, 50)).astype(np.float32) * 3
    feeds = {"x": x, "random_state": PhiloxState.for_run(1).to_array()}
    most = []
    for run in (in_onnxruntime(ort_backend), in_openvino(openvino, "f32")):
        y, p, _ = run(onnx_philox.make_reproducible(model), feeds)
        most.append(p.max())
        np.testing.assert_array_equal(y[p >= 1], 1)
    assert most[0] > 1  # or this shows nothing
