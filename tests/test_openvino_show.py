"""Models of OpenVINO by hand, of each operator set from 8 to 15: the reference's bits, every way.

A test takes one of the ways to rewrite and run each model; the others are `-m exhaustive`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino_models
import pytest
from cases import assert_same_bits, table
from exhaustive import marked
from openvino import opset8, opset9, opset10, opset11, opset12, opset13, opset14, opset15
from openvino_models import CORE, model, parameter
from runtimes import array_of, infer

import onnx_philox as op

OPSETS = (opset8, opset9, opset10, opset11, opset12, opset13, opset14, opset15)
# Of few bits, so that no precision rounds them.
X = np.float32([[0, 0.5, 1, 0.25], [1, -1, 0.75, 0], [0.5, 2, 0.125, -0.5]])
SHAPE = [3, 4]

P = np.float32(0.25)
# A draw as a model writes it, by its operator set, x and x's shape -> what the reference draws.
KINDS = table("""
uniform(of_x, -0.25, 3, "f32", (3, 4), ops=ops) -> draw("uniform", -0.25, 3, "f32")
uniform(of_x, -0.25, 3, "f64", (3, 4), ops=ops) -> draw("uniform", -0.25, 3, "f64")
uniform(of_x, -0.25, 3, "f16", (3, 4), ops=ops) -> draw("uniform", -0.25, 3, "f16")
uniform(of_x, -0.25, 3, "bf16", (3, 4), ops=ops) -> draw("uniform", -0.25, 3, "bf16")
uniform(of_x, -3, 300, "i32", (3, 4), ops=ops) -> draw("uniform", -3, 300, "i32")
uniform(of_x, -3, 300, "i64", (3, 4), ops=ops) -> draw("uniform", -3, 300, "i64")
uniform(of_x, alignment="pytorch", ops=ops) -> draw("uniform", 0, 1, "f32")
normal(of_x) -> draw("normal", 0, 1, "f32")
normal(of_x, wave=ops.sin, is_folded=False) -> draw("normal", 0, 1, "f32")
normal(of_x, "f16") -> draw("normal", 0, 1, "f16")
ops.add(ops.multiply(np.float32(2), normal(of_x)), np.float32(1.5)) -> draw("normal", 1.5, 2, "f32")
ops.less(uniform(of_x, ops=ops), P) -> draw("bernoulli", P)
ops.less_equal(P, uniform(of_x, ops=ops)) -> ~draw("bernoulli", P)
ops.greater(uniform(of_x, ops=ops), P) -> draw("uniform", 0, 1, "f32") > P
ops.greater(x, uniform(of_x, ops=ops)) -> draw("uniform", 0, 1, "f32") < X
ops.convert(ops.floor(uniform(of_x, 0, 7, ops=ops)), "i64")
-> draw("uniform", 0, 7, "i32").astype(np.int64)
multinomial(x, 2, replaces=True, is_log=True) -> draw("categorical", 2, replacement=True)
multinomial(x, 2, replaces=False, is_log=True) -> draw("categorical", 2, replacement=False)
""")


def wanted(drawn: str, **stream: Any) -> np.ndarray:
    """What the reference draws of a row, from a state in a stream."""

    def draw(operator: str, *arguments: Any, **more: Any) -> np.ndarray:
        given = X if operator == "categorical" else SHAPE
        return getattr(op.reference, f"random_{operator}")(given, *arguments, **more, **stream)[0]

    return eval(drawn, globals() | {"draw": draw})


# Each kind in every second operator set, and 72 models in all.
MODELS = [(kind, n) for i, (kind, _) in enumerate(KINDS) for n in range(i % 2, len(OPSETS), 2)]
WAYS = list(itertools.product(["f32", "bf16", "f16"], [False, True], [None, False, True]))


# Both draws of a model have the same seeds.
pytestmark = pytest.mark.filterwarnings("ignore:nodes of equal seeds repeat each other")


def by_hand(kind: str, number: int) -> ov.Model:
    """A model that draws twice, so that its draws have the streams 0 and 1."""
    x = parameter("x", [-1, 4])
    ops = OPSETS[number]
    names = {**vars(openvino_models), "P": P, "ops": ops, "x": x, "of_x": ops.shape_of(x)}
    first, second = (eval(kind, names) for _ in range(2))
    return model({"a": first, "b": second}, [x])


def check(kind: str, number: int, way: tuple[str, bool, bool | None], tmp_path: Any) -> None:
    hint, is_saved, per_row = way
    given = by_hand(kind, number)
    if is_saved:
        ov.save_model(given, tmp_path / "given.xml", compress_to_fp16=True)
        given = tmp_path / "given.xml"
    found = op.rewriting.find_random_nodes(given)
    streams = {node.outputs[0]: stream for stream, node in enumerate(found)}
    assert sorted(streams) == ["a", "b"]
    start = op.PhiloxState.for_run(42)
    if per_row is None:
        # The state is in a variable.
        new = op.openvino.make_stateful(op.make_reproducible(given), start)
    else:
        new = op.make_reproducible(given, per_row=per_row)
    if is_saved:
        ov.save_model(new, tmp_path / "new.xml", compress_to_fp16=True)
        new = CORE.read_model(tmp_path / "new.xml")
    compiled = CORE.compile_model(new, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    request = compiled.create_infer_request()
    words = op.row_states([17, 4, 99]) if per_row else start.to_array()
    for run in range(2):
        infer(request, {"x": X, **({} if per_row is None else {"random_state": words})})
        got = {p.any_name: array_of(request.get_tensor(p)) for p in compiled.outputs}
        for name, stream in streams.items():
            assert_same_bits(got[name], wanted(dict(KINDS)[kind], state=words, op_seed=stream))
        following = op.PhiloxState.for_run(42, run=run + 1).to_array()
        words = op.row_states([17, 4, 99], run=run + 1) if per_row else following
        if per_row is not None:
            assert_same_bits(got["next_random_state"], words)


@pytest.mark.parametrize(
    ("kind", "number"), [pytest.param(*case, marks=marks) for case, marks in marked(MODELS, tuple)]
)
def test_a_model_of_each_operator_set_draws_the_reference_s_bits(kind, number, tmp_path) -> None:
    index = MODELS.index((kind, number))
    # 5 and the number of ways have no common divisor.
    check(kind, number, WAYS[5 * index % len(WAYS)], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "number"), MODELS[::4])
def test_each_kind_draws_them_in_every_way(kind, number, tmp_path) -> None:
    for way in WAYS:
        check(kind, number, way, tmp_path)


SAVED_MODEL = Path(__file__).parent / "models" / "saved_model"


# What its draws are, in the order of OpenVINO's conversion.
OF_TENSORFLOW = table("""
uniform_f64 -> draw("uniform", 0, 1, "f64")
uniform_f16 -> draw("uniform", 0, 1, "f16")
uniform -> draw("uniform", -1, 3, "f32")
integers_64 -> draw("uniform", -3, 7, "i64")
integers -> draw("uniform", -3, 7, "i32")
dropout -> np.where(draw("bernoulli", 0.5), 0, 2 * X)
branch -> draw("uniform", 0, 1, "f32")
below -> draw("bernoulli", 0.3)
""")


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_saved_model_of_tensorflow_draws_the_reference_s_bits(
    is_saved: bool, tmp_path: Path
) -> None:
    given = ov.convert_model(SAVED_MODEL)
    if is_saved:
        ov.save_model(given, tmp_path / "m.xml")
    made = op.make_reproducible(tmp_path / "m.xml" if is_saved else given)
    state = op.PhiloxState.from_seed(3).to_array()
    compiled = CORE.compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    outputs = infer(compiled, {"x": X, "random_state": state})
    assert len(OF_TENSORFLOW) == len(compiled.outputs) - 1
    for stream, (name, text) in enumerate(OF_TENSORFLOW):
        expected = wanted(text, state=state, op_seed=stream)
        assert_same_bits(outputs[name], expected.astype(np.float32))
