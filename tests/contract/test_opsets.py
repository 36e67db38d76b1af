"""The opsets of a model: those that ONNX Runtime writes for itself, and each one of ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from onnx_philox import PhiloxState, graphs, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.exhaustive import marked
from tests.common.foreign import (
    STATE,
    TWO,
    Run,
    drawn,
    evaluate,
    in_onnxruntime,
    in_openvino,
    parse,
)
from tests.common.runtimes import OpenVino

FEED = {"random_state": STATE}
OPENVINO = OpenVino("native")


def test_a_model_that_onnx_runtime_saved_after_one_of_ours_was_loaded_is_no_newer_one(
    tmp_path: Path, ort_backend: str
) -> None:
    InferenceSession(graphs.random_generator([3]), backend="native")
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ort.InferenceSession(parse(TWO).SerializeToString(), options)
    saved = onnx.load(tmp_path / "saved.onnx")
    assert opset_of(saved, "onnx_philox") == 1000
    InferenceSession(saved, backend=ort_backend)
    rewritten = make_reproducible(saved)
    assert opset_of(rewritten, "onnx_philox") == 1
    expected = drawn(parse(TWO), {})
    assert_all_same(in_onnxruntime(ort_backend)(rewritten, FEED)[:2], expected)


def test_a_model_that_names_an_opset_from_the_future_runs_with_our_nodes(ort_backend: str) -> None:
    model = make_reproducible(parse(TWO))
    model.opset_import[-1].version = 1000
    for run in (evaluate, in_onnxruntime(ort_backend)):
        expected = drawn(parse(TWO), {})
        assert_all_same(run(model, FEED)[:2], expected)


NEWEST = onnx.defs.onnx_opset_version()
KINDS = {
    "RandomUniform": (1, "y = RandomUniform <shape = [2, 3]> ()"),
    "RandomUniformLike": (1, "y = RandomUniformLike (x)"),
    "RandomNormal": (1, "y = RandomNormal <shape = [2, 3]> ()"),
    "RandomNormalLike": (1, "y = RandomNormalLike (x)"),
    "Multinomial": (7, "c = Multinomial <sample_size = 3> (x) y = Cast <to = 1> (c)"),
    "Dropout": (12, "y = Dropout (x, ratio, mode)"),
    "Bernoulli": (15, "p = Sigmoid (x) y = Bernoulli (p)"),
    "bernoulli_": (9, "u = RandomUniformLike (x) b = Less (u, ratio) y = Cast <to = 1> (b)"),
    "bernoulli_ of each": (9, "u = RandomUniformLike (x) b = Less (u, ps) y = Cast <to = 1> (b)"),
    "randint": (9, "u = RandomUniform <shape = [2, 3], high = 9.0> () y = Cast <to = 6> (u)"),
}

HELD = {"float ratio": "{0.25}", "bool mode": "{1}", "float[3] ps": "{0.1, 0.5, 0.9}"}


def model_of(kind: str, opset: int) -> onnx.ModelProto:
    """A model of the oldest IR version that a model of the opset may have."""
    # An opset of a version of onnx that is not out yet has no line in onnx's own table.
    known = onnx.helper.OP_SET_ID_VERSION_MAP
    ir_version = known.get(("ai.onnx", opset), onnx.IR_VERSION) if opset > 4 else 3
    dtype = "int32" if kind == "randint" else "float"
    # There an initializer is an input.
    inputs = ", ".join(["float[2, 3] x", *(HELD if ir_version < 4 else ())])
    held = ", ".join(f"{name} = {value}" for name, value in HELD.items())
    text = f"g ({inputs}) => ({dtype}[2, 3] y) <{held}> {{ {KINDS[kind][1]} }}"
    return parse(text, opset, ir_version)


ALL = [
    (kind, opset)
    for kind, (first, _) in KINDS.items()
    for opset in range(max(first, 7), NEWEST + 1)
]
X = np.float32([[0.1, 0.7, 0.2], [0.5, 0.3, 0.9]])


def check(
    kind: str,
    opset: int,
    seed: int | None,
    run: Run,
) -> None:
    """What a rewritten model draws is what one of opset 20 draws before any rewrite."""
    model = make_reproducible(model_of(kind, opset), seed=seed)
    state = PhiloxState.for_run(seed or 0).to_array()
    feed = {"x": X} | ({"random_state": state} if seed is None else {})
    expected = model_of(kind, 20)
    if kind == "randint":
        # Which are drawn as integers.
        wanted = [reference.random_uniform([2, 3], 0, 9, "i32", state=state)[0]]
    else:
        wanted = drawn(expected, {"x": X}, state)
    assert_same_bits(np.asarray(run(model, feed)[0]), wanted[0])


@pytest.mark.parametrize("seed", [None, 0, 42])
@pytest.mark.parametrize(("kind", "opset"), ALL)
def test_a_model_of_any_opset_from_7_on_is_rewritten_and_valid(
    kind: str, opset: int, seed: int | None
) -> None:
    original = model_of(kind, opset)
    model = make_reproducible(original, seed=seed)
    onnx.checker.check_model(model)
    assert (opset_of(model, ""), model.ir_version) == (opset, original.ir_version)
    assert make_reproducible(model) is make_reproducible(model, seed=seed) is model
    check(kind, opset, seed, evaluate)


# The first opsets and IR versions with something new for a runtime, and the newest it has.
IN_BOTH = [(kind, opset) for kind, opset in ALL if opset in (7, 8, 9, 13, 15, 22)]


@pytest.mark.parametrize("seed", [None, 42])
@pytest.mark.parametrize(
    ("kind", "opset"),
    [pytest.param(*case, marks=marks) for case, marks in marked(IN_BOTH, tuple)],
)
def test_both_runtimes_run_the_rewritten_model(
    kind: str, opset: int, seed: int | None, ort_backend: str
) -> None:
    for run in (in_onnxruntime(ort_backend), in_openvino(OPENVINO)):
        check(kind, opset, seed, run)


OLD = [
    *((kind, opset) for kind in list(KINDS)[:4] for opset in range(1, 7)),
    ("Dropout of 2016", 1),
    ("Dropout of 2016", 6),
]
KINDS["Dropout of 2016"] = (1, "y, mask = Dropout (x)")


@pytest.mark.parametrize("seed", [None, 42])
@pytest.mark.parametrize(("kind", "opset"), OLD)
def test_a_model_of_an_older_opset_is_refused_or_left_as_it_is(
    kind: str, opset: int, seed: int | None
) -> None:
    model = model_of(kind, opset)
    text = f"the model's opset must be 7 or newer: got {opset}. Export the model again"
    with pytest.raises(ValueError, match=text):
        make_reproducible(model, seed=seed)
    (node,) = find_random_nodes(model)
    assert node.replacement is None
    assert node.problem is not None
    assert text in node.problem
    with pytest.warns(UserWarning, match=text):
        assert make_reproducible(model, seed=seed, keep_unknown=True) is model


def opset_of(model: onnx.ModelProto, domain: str) -> int:
    return {entry.domain: entry.version for entry in model.opset_import}[domain]
