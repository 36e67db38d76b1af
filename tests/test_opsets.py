"""The opsets of a model: those that ONNX Runtime writes for itself, and each one of ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cases import assert_same_bits
from onnx.reference import ReferenceEvaluator

import onnx_philox
from onnx_philox import PhiloxState, graphs, make_reproducible
from onnx_philox.onnxruntime import InferenceSession

STATE = PhiloxState.for_run(42).to_array()

TWO = """<ir_version: 8, opset_import: ["": 17]> g () => (float[2] a, float[3] b) {
    a = RandomUniform <shape = [2]> ()
    b = RandomUniform <shape = [3]> ()
}"""


# ------------------------------------------------------------------ 1000, by ONNX Runtime


def test_a_model_that_onnx_runtime_saved_after_one_of_ours_was_loaded_is_no_newer_one(
    tmp_path: Path, ort_backend: str
) -> None:
    InferenceSession(graphs.random_generator([3]), backend="native")
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ort.InferenceSession(onnx.parser.parse_model(TWO).SerializeToString(), options)
    saved = onnx.load(tmp_path / "saved.onnx")
    assert opset_of_the_domain(saved) == 1000

    InferenceSession(saved, backend=ort_backend)
    rewritten = make_reproducible(saved)
    assert opset_of_the_domain(rewritten) == 1
    feed = {"random_state": STATE}
    actual = InferenceSession(rewritten, backend=ort_backend).run(None, feed)
    expected = reference_run(make_reproducible(onnx.parser.parse_model(TWO)), feed)
    for ours, theirs in zip(actual, expected, strict=True):
        assert_same_bits(ours, theirs)


def test_nodes_of_a_model_that_names_no_real_opset_are_those_of_ours(ort_backend: str) -> None:
    model = make_reproducible(onnx.parser.parse_model(TWO))
    feed = {"random_state": STATE}
    expected = reference_run(model, feed)
    model.opset_import[-1].version = 1000
    session = InferenceSession(model, backend=ort_backend)
    for ours in (reference_run(model, feed), session.run(None, feed)):
        for one, other in zip(ours, expected, strict=True):
            assert_same_bits(one, other)


@pytest.mark.parametrize("version", [2, 999, 1001])
def test_any_other_opset_is_a_newer_one(version: int) -> None:
    model = make_reproducible(onnx.parser.parse_model(TWO))
    model.opset_import[-1].version = version
    with pytest.raises(ValueError, match=f"is {version}; .* saved by a newer onnx-philox"):
        make_reproducible(model)


def opset_of_the_domain(model: onnx.ModelProto) -> int:
    return {entry.domain: entry.version for entry in model.opset_import}["onnx_philox"]


def reference_run(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS).run(None, feed)
