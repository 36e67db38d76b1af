"""The precision f16: constants and inputs of the model draw exactly, draws meet other tensors.

The tests run a model as the plugin makes it where there is FP16 (`half_precision`), in OpenVINO's
reference code and in the plugin, and the model itself under the plugin's hint. p is the next number
above the very uniform that is drawn: all booleans are true, and half of them not once p is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import reference
from onnx_philox.openvino import (
    random_bernoulli,
    random_categorical,
    random_exponential,
    random_uniform,
)
from tests.common.cases import DTYPES, assert_same_bits
from tests.common.foreign import parse
from tests.common.half_precision import evaluate, in_half_precision, precision_of
from tests.common.openvino_models import parameter
from tests.common.runtimes import OpenVino, infer, request_of

COUNT = 4001
ONES = np.ones(COUNT, np.float32)
UNIFORMS = reference.random_uniform([COUNT], 0, 1, "f32", op_seed=3)[0]
# The plugin flushes subnormals.
ABOVE = np.nextafter(UNIFORMS, np.float32(2))
SHARP = np.maximum(ABOVE, np.float32(1e-30))
ALL = np.ones(COUNT, np.bool_)
COMPUTED_FROM = (np.arange(1002) * 7 % 113 * 0.037).reshape(2, 501)
HINTS = [None, "f32", "bf16", "f16"]
PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text()
OPSETS = {"opset": 20, "ir_version": 9}
pytestmark = pytest.mark.usefixtures("factories")

Runner = Callable[[ov.Model, dict[str, Any]], list[np.ndarray]]


def in_the_page(text: str) -> str:
    """A message that docs/troubleshooting.md explains."""
    assert text in PAGE
    return text


BORDER = in_the_page("got f32 from outside of an If or Loop, rounded to f16 at its border")


def runner(backend: str, way: str) -> Runner:
    openvino = OpenVino(backend)
    hint = None if way == "None" else way

    def run(
        model: ov.Model,
        feeds: dict[str, Any],
    ) -> list[np.ndarray]:
        feeds = {port.get_any_name(): feeds[port.get_any_name()] for port in model.inputs}
        if way == "as the plugin makes it":
            return evaluate(in_half_precision(model), feeds)
        if way == "and compiled":
            return openvino(in_half_precision(model), feeds)
        return openvino(model, feeds, hint)

    return run


@pytest.fixture(params=["as the plugin makes it", "and compiled", *map(str, HINTS)])
def run(request: pytest.FixtureRequest, factories: str) -> Runner:
    """Runs a model as it is at the precision f16, or under a hint of the plugin's."""
    return runner(factories, request.param)


@pytest.fixture(params=["and compiled", *map(str, HINTS)])
def run_bodies(request: pytest.FixtureRequest, factories: str) -> Runner:
    """The same for If and Loop, whose bodies OpenVINO's reference code does not run."""
    return runner(factories, request.param)


@pytest.fixture(name="half")
def run_in_f16(factories: str) -> Runner:
    return runner(factories, "as the plugin makes it")


def model_of(outputs: list[Any], *parameters: ov.Node) -> ov.Model:
    return ov.Model(
        [getattr(o, "output", lambda _, o=o: o)(0) for o in outputs], [*parameters], "m"
    )


def assert_are_the_draws(values: np.ndarray, draws: np.ndarray) -> None:
    """Checks that a product with 1 is the draw, exact or rounded to 16 bits."""
    words = draws.view(np.uint32)
    bf16 = ((words + 0x7FFF + (words >> 16 & 1)) >> 16 << 16).view(np.float32)
    in_f16 = draws.astype(np.float16)
    is_right = (values == draws) | (values == in_f16) | (values == bf16)
    assert is_right.all()


@pytest.mark.parametrize("is_chosen", [False, True])
def test_p_that_is_an_input_or_a_constant_draws_exactly(run: Runner, is_chosen: bool) -> None:
    """As an output, and where a Select takes the booleans."""
    x = parameter("x", [COUNT])
    p = parameter("p", [COUNT])
    tried = ((p, [x, p]), (SHARP, [x]))
    for probabilities, used in tried:
        node = random_bernoulli([COUNT], probabilities, op_seed=3)
        if is_chosen:
            node = opset8.select(
                node.output(0),
                x,
                opset8.constant(np.float32(9)),
            )
        doubled = opset8.add(x, x)
        drawn, _ = run(model_of([node, doubled], *used), {"x": ONES, "p": SHARP})
        assert_same_bits(drawn, ONES if is_chosen else ALL)


def test_logits_that_are_an_input_draw_exactly(run: Runner) -> None:
    numbers = np.arange(39, dtype=np.float32)
    logits = (numbers * 7 % 11 * 0.37 - 5.1).reshape(3, 13)
    node_input = parameter("logits", [3, 13])
    model = model_of([random_categorical(node_input, 70_001, op_seed=3)], node_input)
    expected, _ = reference.random_categorical(logits, 70_001, op_seed=3)
    assert_same_bits(run(model, {"logits": logits})[0], expected)
    rounded, _ = reference.random_categorical(
        logits.astype(np.float16).astype(np.float32), 70_001, op_seed=3
    )
    assert (rounded != expected).any()


def test_a_p_that_another_node_draws_is_not_rounded(run: Runner) -> None:
    x = parameter("x", [COUNT])
    p = random_uniform([COUNT], 0, 1, "f32", op_seed=5)
    node = random_bernoulli([COUNT], p.output(0), op_seed=3)
    sum_ = opset8.add(x, p.output(0))
    model = model_of([node, sum_], x)
    drawn, _ = reference.random_uniform([COUNT], 0, 1, "f32", op_seed=5)
    expected, _ = reference.random_bernoulli([COUNT], drawn, op_seed=3)
    assert_same_bits(run(model, {"x": ONES})[0], expected)


@pytest.mark.parametrize("shape", ["constant", "input"])
@pytest.mark.parametrize("numbers", ["constants", "inputs", "a shared constant", "computed"])
def test_draws_meet_other_tensors(run: Runner, shape: str, numbers: str) -> None:
    x = parameter("x", [COUNT])
    low = parameter("low", [])
    n = parameter("n", [1], np.int64)
    zero = opset8.constant(np.float32(0))
    row = opset8.constant(np.float32([3, 0]))
    minval = {
        "constants": np.float32(0),
        "inputs": low,
        "a shared constant": zero,
        "computed": opset8.reduce_min(row, np.array([0])),
    }[numbers]
    of_shape = n if shape == "input" else [COUNT]
    node = random_uniform(of_shape, minval, 1, "f32", op_seed=3)
    values = node.output(0)
    moved = opset8.unsqueeze(values, np.array([0]))
    axis = np.array([0])
    squeezed = opset8.squeeze(moved, axis)
    products = [opset8.multiply(values, x), opset8.multiply(x, squeezed)]
    used = [
        x,
        *[low] * (numbers == "inputs"),
        *[n] * (shape == "input"),
    ]
    sum_ = opset8.add(x, zero)
    model = model_of([values, *products, sum_, moved], *used)
    feeds = {
        "x": ONES,
        "low": np.float32(0),
        "n": np.array([COUNT]),
    }
    drawn, product, of_moved, _, out = run(model, feeds)
    assert_same_bits(drawn, UNIFORMS)
    assert_same_bits(out, UNIFORMS[None])
    assert_are_the_draws(product, UNIFORMS)
    assert_are_the_draws(of_moved, UNIFORMS)


def test_what_the_model_computed_in_f16_is_drawn_as_it_is(half: Runner) -> None:
    x = parameter("x", [COUNT])
    computed = opset8.multiply(x, np.float32(0.5))
    node = random_bernoulli([COUNT], computed, op_seed=3)
    model = model_of([node, computed], x)
    drawn, shown = half(model, {"x": 2 * SHARP})
    expected = SHARP.astype(np.float16).astype(np.float32)
    assert_same_bits(shown, expected)
    expected = reference.random_bernoulli([COUNT], shown, op_seed=3)[0]
    assert_same_bits(drawn, expected)
    assert not drawn.all()


@pytest.mark.parametrize("type_", [np.float16, np.float32])
def test_logits_that_the_model_computed_in_f16_are_those_that_it_shows(
    run: Runner, half: Runner, type_: Any
) -> None:
    x = parameter("x", [2, 501], type_)
    computed = opset8.multiply(x, opset8.constant(type_(0.333)))
    node = random_categorical(computed, 70_001, op_seed=3)
    model = model_of([node, computed], x)
    feeds = {"x": COMPUTED_FROM.astype(type_)}
    run_it = run if type_ is np.float16 else half
    drawn, shown = run_it(model, feeds)
    assert shown.dtype == type_
    expected = reference.random_categorical(shown, 70_001, op_seed=3)[0]
    assert_same_bits(drawn, expected)


BODIES = {
    "If": """y = If (yes) <
            then_branch = then () => (bool[c] a) { DRAW (n, s) },
            else_branch = otherwise () => (bool[c] b) { b = Less (p, p) }>""",
    "Loop": """one = Constant <value_ints = [1]> ()
        last, y = Loop (one, yes, p) <body = body (int64 i, bool on, float[COUNT] q)
            => (bool same, float[COUNT] r, bool[c] a) {
                same = Identity (on)  r = Identity (q)  DRAW (n, s)
        }>""",
}


def crossing(openvino: OpenVino, body: str, *, is_wide: bool) -> ov.Model:
    """A p that a body takes from outside, as float or as double."""
    text = BODIES[body].replace("COUNT", f"{COUNT}")
    name = {"If": "p", "Loop": "q"}[body]
    draw, first = "a = onnx_philox.RandomBernoulli <op_seed = 3>", "Identity (p32)"
    if is_wide:
        text = text.replace("float[", "double[")
        first = "Cast <to = 11> (p32)"
        draw = f"s = Cast <to = 1> ({name})  {draw}"
        name = "s"
    given, first = ("p32", f"p = {first}") if is_wide else ("p", "")
    text = text.replace("DRAW (n, s)", f"{draw} (n, {name})")
    shape = "c" if body == "If" else "c, d"
    return openvino.read(
        parse(
            f"""g (float[{COUNT}] {given}, bool yes) => (bool[{shape}] y)
            <int64[1] n = {{{COUNT}}}> {{ {first} {text} }}""",
            **OPSETS,
        )
    )


def but_in_f16(
    openvino: OpenVino,
    model: ov.Model,
    feeds: dict[str, np.ndarray],
    words: str,
) -> list[np.ndarray]:
    """What a model gives at each precision but f16, at which it is refused in these words."""
    with pytest.raises((RuntimeError, ValueError), match=re.escape(words)):
        in_half_precision(model)
    found = []
    for hint in HINTS:
        if precision_of(hint) == "f16":
            with pytest.raises(RuntimeError, match=re.escape(words)):
                openvino(model, feeds, hint)
        else:
            found += openvino(model, feeds, hint)
    return found


@pytest.mark.parametrize("body", BODIES)
def test_a_p_that_crosses_the_border_of_a_body_is_refused_in_f16(factories: str, body: str) -> None:
    openvino = OpenVino(factories)
    model = crossing(openvino, body, is_wide=False)
    feeds = {"p": SHARP, "yes": np.array(True)}
    values = but_in_f16(openvino, model, feeds, BORDER)
    assert all(y.all() for y in values)


@pytest.mark.parametrize("body", BODIES)
def test_a_p_that_enters_a_body_as_a_double_is_exact(
    run_bodies: Runner, factories: str, body: str
) -> None:
    model = crossing(OpenVino(factories), body, is_wide=True)
    feeds = {"p32": SHARP, "yes": np.array(True)}
    (y,) = run_bodies(model, feeds)
    assert y.all()


def test_saved_and_cached_models_draw_the_same(factories: str, tmp_path: Path) -> None:
    p = parameter("p", [COUNT])
    x = parameter("x", [COUNT])
    half = parameter("half", [2, 501], np.float16)
    third = opset8.constant(np.float16(0.333))
    logits = opset8.multiply(half, third)
    draw = random_uniform([COUNT], 0, 1, "f32", op_seed=3).output(0)
    by_inputs = random_bernoulli([COUNT], p, op_seed=3), random_categorical(logits, 9999, op_seed=3)
    outputs = [
        by_inputs[0],
        draw,
        opset8.multiply(draw, x),
        by_inputs[1],
        logits,
    ]
    model = model_of(outputs, p, x, half)
    core = OpenVino(factories).core
    half_of = COMPUTED_FROM.astype(np.float16)
    feeds = {"p": SHARP, "x": ONES, "half": half_of}

    def check(results: list[np.ndarray]) -> None:
        assert_same_bits(results[0], ALL)
        assert_same_bits(results[1], UNIFORMS)
        assert_are_the_draws(results[2], UNIFORMS)
        drawn_and_next = reference.random_categorical(results[4], 9999, op_seed=3)
        expected = drawn_and_next[0]
        assert_same_bits(results[3], expected)

    for is_compressed in (False, True):
        path = tmp_path / "model.xml"
        ov.save_model(model, path, compress_to_fp16=is_compressed)
        check(evaluate(in_half_precision(core.read_model(path)), feeds))
        for hint in HINTS:
            for is_cached in (False, True):
                folder = str(tmp_path / f"{is_compressed}")
                config = {"CACHE_DIR": folder, "NUM_STREAMS": "1"}
                config |= {"INFERENCE_PRECISION_HINT": hint} if hint else {}
                compiled = core.compile_model(path, "CPU", config)
                if is_cached:
                    assert compiled.get_property("LOADED_FROM_CACHE")
                outputs = infer(compiled, feeds)
                check([outputs[i] for i in range(5)])
    # And as the plugin saves it where it computes in f16.
    ov.save_model(in_half_precision(model), tmp_path / "half.xml", compress_to_fp16=False)
    check(evaluate(core.read_model(tmp_path / "half.xml"), feeds))


UNIFORM = 'onnx_philox.RandomUniform <output_type = "f32", op_seed = SEED> (n, low, high)'
DRAWN = f"a = {UNIFORM}", f"b = {UNIFORM}".replace("SEED", "4")


def of_an_if(openvino: OpenVino, then: str, otherwise: str, y: str) -> ov.Model:
    """An If of these branches, whose result `drawn` becomes y."""
    text = f"""g (float[{COUNT}] x, bool yes) => (float[{COUNT}] y)
        <int64[1] n = {{{COUNT}}}, float low = {{0}}, float high = {{1}}> {{
            drawn = If (yes) <then_branch = then () => (float[{COUNT}] a) {{ {then} }},
                else_branch = otherwise () => (float[{COUNT}] b) {{ {otherwise} }}>
            y = {y}
        }}"""
    seeded = text.replace("SEED", "3")
    return openvino.read(parse(seeded, **OPSETS))


COMPUTED = f"v = {UNIFORM} a = Mul (v, x)", "b = Neg (x)"


@pytest.mark.parametrize("branches", [COMPUTED, DRAWN], ids=["computed with", "returned"])
def test_a_body_computes_with_a_draw_or_returns_it_exactly(
    run_bodies: Runner, factories: str, branches: tuple[str, str]
) -> None:
    model = of_an_if(OpenVino(factories), *branches, "Identity (drawn)")
    feeds = {"x": ONES, "yes": np.array(True)}
    (y,) = run_bodies(model, feeds)
    (assert_same_bits if branches is DRAWN else assert_are_the_draws)(y, UNIFORMS)


def test_a_draw_that_a_body_returns_meets_no_f16_in_silence(factories: str) -> None:
    openvino = OpenVino(factories)
    model = of_an_if(openvino, *DRAWN, "Mul (drawn, x)")
    types = "(arg0 element type: f32, arg1 element type: f16)"
    said = in_the_page(f"Arguments do not have the same element type {types}")
    feeds = {"x": ONES, "yes": np.array(True)}
    for y in but_in_f16(openvino, model, feeds, said):
        assert_are_the_draws(y, UNIFORMS)


def test_a_convert_right_behind_a_draw_rounds_it_at_any_precision(
    factories: str,
) -> None:
    core = OpenVino(factories).core
    ones = {"x": ONES}
    exponentials, _ = reference.random_exponential([COUNT], 0.7, "f64", op_seed=3)
    # The Converts of a type stay where the processor has it: the other type shows the rounding.
    for name in ("f16", "bf16"):
        x = parameter("x", [COUNT])
        draws = [random_uniform([COUNT], 0, 1, "f32", op_seed=3).output(0) for _ in range(2)]
        node = random_exponential([COUNT], 0.7, "f64", op_seed=3)
        wide = node.output(0)
        moved = opset8.reshape(
            draws[0],
            np.array([1, -1]),
            False,
        )
        in_f32 = opset8.convert(wide, "f32")
        casts = [opset8.convert(each, name) for each in (moved, in_f32)]
        # Read as f32, too: such a draw stays as it is.
        both = [draws[1], opset8.convert(opset8.convert(draws[1], name), "f32")]
        outputs = [*(opset8.multiply(opset8.convert(each, "f32"), x) for each in casts), *both]
        config = {"INFERENCE_PRECISION_HINT": "f32"}
        compiled = core.compile_model(model_of(outputs, x), "CPU", config)
        of_uniforms, of_exponentials = (
            reference_rounded(each.astype(np.float32), name) for each in (UNIFORMS, exponentials)
        )
        imported = core.import_model(compiled.export_model(), "CPU")
        for each in (compiled, imported):
            of_moved, of_wide, whole, _ = request_of(each)(ones)
            assert_same_bits(of_moved, of_uniforms[None])
            assert_same_bits(of_wide, of_exponentials)
            assert_same_bits(whole, UNIFORMS)


def reference_rounded(numbers: np.ndarray, name: str) -> np.ndarray:
    """In 16 bits, and as f32 again."""
    return numbers.astype(DTYPES[name]).astype(np.float32)
