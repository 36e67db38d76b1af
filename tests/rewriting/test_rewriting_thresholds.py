"""Uniform floats compared with what may be any number: Metropolis ratios, logits, NaN.

The comparison becomes RandomBernoulli of the clamped threshold. The thresholds are the very numbers
that are drawn and those right above them, so each draw changes where one is rounded. OpenVINO would
compute the clamp in bf16 or f16, so our node takes the number before it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import make_reproducible, reference, row_states
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.openvino import random_bernoulli
from tests.common.cases import assert_same_bits
from tests.common.foreign import STATE, evaluate, in_onnxruntime, nodes, parse
from tests.common.half_precision import differing, in_half_precision
from tests.common.half_precision import evaluate as evaluate_in_openvino
from tests.common.runtimes import OpenVino

ROWS, COLUMNS = 60, 16
SHAPE = [ROWS, COLUMNS]
ODD = np.float32(
    [
        -1,
        7,
        np.nan,
        np.inf,
        -np.inf,
        -0.0,
        1,
        np.nextafter(np.float32(1), 2),
        1e-42,
    ]
)
BELOW: Callable[..., np.ndarray] = np.less
FORMS = {
    "u < x": ("Less (u, x)", BELOW),
    "x > u": ("Greater (x, u)", BELOW),
    "u >= x": ("GreaterOrEqual (u, x)", np.greater_equal),
    "x <= u": ("LessOrEqual (x, u)", np.greater_equal),
}


def thresholds_at(uniforms: np.ndarray) -> np.ndarray:
    """The uniforms, the numbers right above them, and numbers that are not probabilities."""
    thresholds = np.nextafter(uniforms, np.float32(2))
    thresholds.flat[::3] = uniforms.flat[::3]
    thresholds.flat[1::3] = np.resize(ODD, thresholds.flat[1::3].shape)
    return thresholds


UNIFORMS = reference.random_uniform(SHAPE, 0, 1, "f32", state=STATE)[0]
THRESHOLDS = thresholds_at(UNIFORMS)


def model_of(form: str, *, per_row: bool = False) -> onnx.ModelProto:
    """Draws that are no output, and a MatMul: OpenVINO computes what is before it in bf16."""
    eye = ", ".join(map(str, np.eye(COLUMNS).flat))
    model = parse(
        f"""g (float[n, {COLUMNS}] x) => (float[n, {COLUMNS}] z)
        <float[{COLUMNS}, {COLUMNS}] w = {{{eye}}}> {{
            u = RandomUniformLike (x) y = {FORMS[form][0]}
            numbers = Cast <to = 1> (y) z = MatMul (numbers, w) }}""",
        18,
    )
    return make_reproducible(model, per_row=per_row)


def expected(form: str) -> np.ndarray:
    return FORMS[form][1](UNIFORMS, THRESHOLDS).astype(np.float32)


FEEDS = {"x": THRESHOLDS, "random_state": STATE}


@pytest.mark.parametrize("form", FORMS)
def test_onnx_runtime_and_onnx_s_reference_compare_with_any_number(
    form: str, ort_backend: str
) -> None:
    for run in (in_onnxruntime(ort_backend), evaluate):
        assert_same_bits(run(model_of(form), FEEDS)[0], expected(form))


@pytest.mark.parametrize("precision", [None, "f32", "bf16", "f16"])
@pytest.mark.parametrize("form", FORMS)
def test_openvino_compares_with_any_number(
    form: str, precision: str | None, openvino: OpenVino
) -> None:
    read = openvino.read(model_of(form))
    # No node that it could narrow is before the draw.
    (draw,) = [n for n in read.get_ops() if n.get_type_name() == "RandomBernoulli"]
    assert draw.input_value(1).get_node().get_type_name() == "Parameter"
    assert not {n.get_type_name() for n in read.get_ordered_ops()} & {"Less", "Select", "Minimum"}
    assert_same_bits(openvino(read, FEEDS, precision)[0], expected(form))
    # Where the plugin computes in f16 thresholds are exact.
    in_f16 = in_half_precision(openvino.read(model_of(form)))
    assert_same_bits(evaluate_in_openvino(in_f16, FEEDS)[0], expected(form))


@pytest.mark.parametrize("form", ["u < x", "u >= x"])
@pytest.mark.parametrize("writer", ["native", "python"])
def test_files_keep_the_comparison(
    form: str, writer: str, openvino: OpenVino, tmp_path: Path
) -> None:
    path = tmp_path / "model.xml"
    again = tmp_path / "again.xml"
    ov.save_model(OpenVino(writer).read(model_of(form)), path)
    clamped = f'clamped="nan to {int(form == "u >= x")}"'
    assert clamped in path.read_text()
    ov.save_model(openvino.read(path), again)
    for file in (path, again):
        assert_same_bits(openvino(file, FEEDS)[0], expected(form))
    path.write_text(path.read_text().replace(clamped, 'clamped="nan to 2"'))
    with pytest.raises(RuntimeError, match=r"'clamped' must be 'nan to 0'.*: got 'nan to 2'"):
        openvino.read(path)


def test_a_cached_model_keeps_its_comparison(openvino_backend: str, tmp_path: Path) -> None:
    # Not the core of the other tests: they compile anew.
    openvino = OpenVino(openvino_backend)
    openvino.core.set_property({"CACHE_DIR": str(tmp_path)})
    for _ in range(2):
        assert_same_bits(openvino(model_of("u >= x"), FEEDS)[0], expected("u >= x"))


@pytest.mark.parametrize("form", ["u < x", "u >= x"])
def test_rows_compare_with_any_number(form: str, ort_backend: str, openvino: OpenVino) -> None:
    states = row_states(np.arange(ROWS) + 5)
    uniforms = reference.random_uniform(SHAPE, 0, 1, "f32", state=states)[0]
    thresholds = thresholds_at(uniforms)
    wanted = FORMS[form][1](uniforms, thresholds).astype(np.float32)
    model = model_of(form, per_row=True)
    feeds = {"x": thresholds, "random_state": states}
    session = InferenceSession(model, backend=ort_backend)
    assert_same_bits(session.run(["z"], feeds)[0], wanted)
    for precision in differing(["f32", "bf16"]):
        assert_same_bits(openvino(model, feeds, precision)[0], wanted)


IN_A_BODY = """one_trip = Constant <value_int = 1> () first = Constant <value_int = 0> ()
    end, all = Loop (one_trip, , x) <body = b (int64 i, bool c, float[60, 16] v)
        => (bool co, float[60, 16] w, bool[60, 16] made) {
        q = Sigmoid (v) u = RandomUniformLike (v) made = COMPARED
        w = Identity (v) co = Constant <value = bool {1}> () }>
    p = Sigmoid (x) y = Gather (all, first)"""
COMPUTED = {
    "Sigmoid": "p = Sigmoid (x)",
    "HardSigmoid": "p = HardSigmoid (x)",
    "Softmax": "p = Softmax (x)",
    "Clip": "p = Clip (x, zero, one)",
    "the like, moved": "q = Sigmoid (x) p = Identity (q)",
    "any number": "p = Exp (x)",
    # Whose own input is no input of the model.
    "in a body": IN_A_BODY,
}


def model_that_computes(name: str, form: str) -> onnx.ModelProto:
    """A model that has its thresholds as an output."""
    body = COMPUTED[name]
    comparison = FORMS[form][0]
    if name == "in a body":
        body = body.replace("COMPARED", comparison.replace("x", "q"))
    else:
        body += f" u = RandomUniformLike (p) y = {comparison.replace('x', 'p')}"
    text = f"""g (float[n, {COLUMNS}] x) => (bool[n, {COLUMNS}] y, float[n, {COLUMNS}] p)
        <float zero = {{0}}, float one = {{1}}> {{ {body} }}"""
    return make_reproducible(parse(text, 18))


def check_computed(form: str, given: list[np.ndarray]) -> None:
    y, p = given[:2]
    assert_same_bits(y, FORMS[form][1](UNIFORMS, p))


@pytest.mark.parametrize("name", COMPUTED)
def test_a_threshold_that_is_computed_may_be_nan(name: str, openvino: OpenVino) -> None:
    for form in ("u < x", "u >= x"):
        model = model_that_computes(name, form)
        outputs = InferenceSession(model).run(["y", "p"], FEEDS)
        assert np.isnan(outputs[1]).any()
        check_computed(form, outputs)
        if name == "any number":
            # Exp of these numbers is above 1 and infinite too: it stays a comparison.
            continue
        assert "RandomBernoulli" in {node.op_type for node in nodes(model)}
        # A body rounds by itself.
        for precision in differing(["f32"] if name == "in a body" else ["f32", "bf16"]):
            check_computed(form, openvino(model, FEEDS, precision))
        if name == "Sigmoid":
            check_computed(form, evaluate_in_openvino(openvino.read(model), FEEDS))


@pytest.mark.usefixtures("factories")
def test_constants_are_clamped_too(openvino: OpenVino) -> None:
    """At first, and where one takes the place of the input later."""
    zero, one = (opset8.constant(np.float32(number)) for number in (0, 1))
    for is_input in (False, True):
        constant = opset8.constant(THRESHOLDS)
        x = opset8.parameter(SHAPE, np.float32) if is_input else constant
        p = opset8.select(
            opset8.less(zero, x),
            opset8.minimum(x, one),
            zero,
        )
        draw = random_bernoulli(SHAPE, p, state=STATE)
        if is_input:
            draw.input(1).replace_source_output(constant.output(0))
        y = opset8.convert(draw.output(0), "f32")
        model = ov.Model([y], [], "m")
        model.validate_nodes_and_infer_types()
        for precision in differing(["f32", "bf16"]):
            assert_same_bits(openvino(model, {}, precision)[0], expected("u < x"))
        assert_same_bits(evaluate_in_openvino(in_half_precision(model), {})[0], expected("u < x"))


@pytest.mark.parametrize("name", ["limit", "number", "cut", "rest", "order", "rank"])
@pytest.mark.usefixtures("factories")
def test_a_select_that_is_no_clamp_is_left_as_it_is(name: str) -> None:
    rank = [1] * (name == "rank")
    zero, one = (opset8.constant(np.full(rank, number, np.float32)) for number in (0, 1))
    x, y = (opset8.parameter(SHAPE, np.float32) for _ in range(2))
    for end, other, cut in ((zero, one, opset8.minimum), (one, zero, opset8.maximum)):
        sides = (end, x) if (end is zero) != (name == "order") else (x, end)
        within = cut(y if name == "number" else x, end if name == "limit" else other)
        taken = x if name == "cut" else within
        rest = other if name == "rest" else end
        p = opset8.select(opset8.less(*sides), taken, rest)
        draw = random_bernoulli(SHAPE, p, state=STATE)
        assert draw.input_value(1).get_node().get_type_name() == "Select"
