"""Models of OpenVINO by hand, of each operator set from 8 to 15: the reference's bits, every way.

A test takes one of the ways to rewrite and run each model; the others are `-m exhaustive`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset8, opset9, opset10, opset11, opset12, opset13, opset14, opset15

import onnx_philox as op
from tests.common.cases import assert_same_bits
from tests.common.exhaustive import marked
from tests.common.openvino_models import CORE, model, multinomial, normal, parameter, uniform
from tests.common.runtimes import array_of, infer

OPSETS = (opset8, opset9, opset10, opset11, opset12, opset13, opset14, opset15)
# Of few bits, so that no precision rounds them.
X = np.float32(
    [
        [0, 0.5, 1, 0.25],
        [1, -1, 0.75, 0],
        [0.5, 2, 0.125, -0.5],
    ]
)
SHAPE = [3, 4]

P = np.float32(0.25)


class Given:
    """An operator set of OpenVINO's, the input of a model, and its shape."""

    def __init__(self, ops: Any) -> None:
        self.ops = ops
        self.x = parameter("x", [-1, 4])
        self.of_x = ops.shape_of(self.x)


# A draw as a model writes it, and what the reference draws.
KINDS = {
    "uniform f32": (
        lambda of: uniform(
            of.of_x,
            -0.25,
            3,
            "f32",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -0.25, 3, "f32"),
    ),
    "uniform f64": (
        lambda of: uniform(
            of.of_x,
            -0.25,
            3,
            "f64",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -0.25, 3, "f64"),
    ),
    "uniform f16": (
        lambda of: uniform(
            of.of_x,
            -0.25,
            3,
            "f16",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -0.25, 3, "f16"),
    ),
    "uniform bf16": (
        lambda of: uniform(
            of.of_x,
            -0.25,
            3,
            "bf16",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -0.25, 3, "bf16"),
    ),
    "uniform i32": (
        lambda of: uniform(
            of.of_x,
            -3,
            300,
            "i32",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -3, 300, "i32"),
    ),
    "uniform i64": (
        lambda of: uniform(
            of.of_x,
            -3,
            300,
            "i64",
            (3, 4),
            ops=of.ops,
        ),
        lambda draw: draw("uniform", -3, 300, "i64"),
    ),
    "uniform of torch": (
        lambda of: uniform(of.of_x, alignment="pytorch", ops=of.ops),
        lambda draw: draw("uniform", 0, 1, "f32"),
    ),
    "normal": (
        lambda of: normal(of.of_x),
        lambda draw: draw("normal", 0, 1, "f32"),
    ),
    "normal of a sine": (
        lambda of: normal(of.of_x, wave=of.ops.sin, is_folded=False),
        lambda draw: draw("normal", 0, 1, "f32"),
    ),
    "normal f16": (
        lambda of: normal(of.of_x, "f16"),
        lambda draw: draw("normal", 0, 1, "f16"),
    ),
    "normal with a mean and a scale": (
        lambda of: of.ops.add(of.ops.multiply(np.float32(2), normal(of.of_x)), np.float32(1.5)),
        lambda draw: draw("normal", 1.5, 2, "f32"),
    ),
    "less": (
        lambda of: of.ops.less(uniform(of.of_x, ops=of.ops), P),
        lambda draw: draw("bernoulli", P),
    ),
    "less_equal": (
        lambda of: of.ops.less_equal(P, uniform(of.of_x, ops=of.ops)),
        lambda draw: ~draw("bernoulli", P),
    ),
    "greater": (
        lambda of: of.ops.greater(uniform(of.of_x, ops=of.ops), P),
        lambda draw: draw("uniform", 0, 1, "f32") > P,
    ),
    "greater, the input first": (
        lambda of: of.ops.greater(of.x, uniform(of.of_x, ops=of.ops)),
        lambda draw: draw("uniform", 0, 1, "f32") < X,
    ),
    "floor": (
        lambda of: of.ops.convert(of.ops.floor(uniform(of.of_x, 0, 7, ops=of.ops)), "i64"),
        lambda draw: draw("uniform", 0, 7, "i32").astype(np.int64),
    ),
    "classes": (
        lambda of: multinomial(of.x, 2, replaces=True, is_log=True),
        lambda draw: draw("categorical", 2, replacement=True),
    ),
    "classes, each once": (
        lambda of: multinomial(of.x, 2, replaces=False, is_log=True),
        lambda draw: draw("categorical", 2, replacement=False),
    ),
}


Expect = Callable[[Callable[..., np.ndarray]], np.ndarray]


def wanted(expect: Expect, **stream: Any) -> np.ndarray:
    """What the reference draws of a row, from a state in a stream."""

    def draw(operator: str, *arguments: Any, **more: Any) -> np.ndarray:
        given = X if operator == "categorical" else SHAPE
        return getattr(op.reference, f"random_{operator}")(given, *arguments, **more, **stream)[0]

    return expect(draw)


# Each kind in every second operator set, and 72 models in all.
MODELS = [(kind, n) for i, kind in enumerate(KINDS) for n in range(i % 2, len(OPSETS), 2)]
WAYS = list(
    itertools.product(
        ["f32", "bf16", "f16"],
        [False, True],
        [None, False, True],
    )
)


# Both draws of a model have the same seeds.
pytestmark = pytest.mark.filterwarnings("ignore:nodes of equal seeds repeat each other")


def by_hand(kind: str, number: int) -> ov.Model:
    """A model that draws twice, so that its draws have the streams 0 and 1."""
    given = Given(OPSETS[number])
    build, _ = KINDS[kind]
    return model({"a": build(given), "b": build(given)}, [given.x])


def check(
    kind: str,
    number: int,
    way: tuple[str, bool, bool | None],
    tmp_path: Any,
) -> None:
    hint, is_saved, per_row = way
    _, expect = KINDS[kind]
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
            expected = wanted(expect, state=words, op_seed=stream)
            assert_same_bits(got[name], expected)
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
def test_each_kind_of_model_draws_the_last_integers_in_every_way(kind, number, tmp_path) -> None:
    for way in WAYS:
        check(kind, number, way, tmp_path)


SAVED_MODEL = Path(__file__).parents[1] / "models" / "saved_model"


# What its draws are, in the order of OpenVINO's conversion.
OF_TENSORFLOW: dict[str, Expect] = {
    "uniform_f64": lambda draw: draw("uniform", 0, 1, "f64"),
    "uniform_f16": lambda draw: draw("uniform", 0, 1, "f16"),
    "uniform": lambda draw: draw("uniform", -1, 3, "f32"),
    "integers_64": lambda draw: draw("uniform", -3, 7, "i64"),
    "integers": lambda draw: draw("uniform", -3, 7, "i32"),
    "dropout": lambda draw: np.where(
        draw("bernoulli", 0.5),
        0,
        2 * X,
    ),
    "branch": lambda draw: draw("uniform", 0, 1, "f32"),
    "below": lambda draw: draw("bernoulli", 0.3),
}


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
    for stream, (name, expect) in enumerate(OF_TENSORFLOW.items()):
        expected = wanted(expect, state=state, op_seed=stream)
        assert_same_bits(outputs[name], expected.astype(np.float32))
