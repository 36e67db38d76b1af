"""OpenVINO's device GPU, and HETERO:GPU,CPU: draws and states. `.ci/gpu` runs it without a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset16 as op

import onnx_philox
from onnx_philox import Pipeline, reference
from onnx_philox import openvino as factory
from onnx_philox._command import verify
from onnx_philox._command.verify import cases
from onnx_philox._files.given import Given
from onnx_philox._runtimes.in_openvino import OpenvinoModel
from onnx_philox._runtimes.models import ToOpen
from onnx_philox._runtimes.options import OpenVinoOptions
from tests.common.cases import assert_all_same, assert_same_bits, parse
from tests.common.openvino_models import CORE
from tests.common.runtimes import infer

pytestmark = pytest.mark.gpu

Draw = Callable[[Any, Any, Any], Any]
HETERO = "HETERO:GPU,CPU"
# All the counter's words carry; high bits in the key.
CARRIES = np.array([0xFFFFFFFE, *[0xFFFFFFFF] * 3, 0xDEADBEEF, 0xFEDCBA98], np.uint32)


def states(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        CARRIES,
        *rng.integers(
            0,
            2**32,
            (count - 1, 6),
            dtype=np.uint32,
        ),
    ]


def elementwise(per_row: bool) -> onnx.ModelProto:
    """Dropout between layers that any device computes exactly, and each row's own normals."""
    text = """g (float[batch, 4] x) => (float[batch, 4] y, float[batch, 4] z)
    <float ratio = {0.3}, bool training = {1}> {
        a = Relu (x)
        b = Dropout (a, ratio, training)
        noise = RandomNormalLike <seed = 1.0> (b)
        c = Add (b, noise)
        z = Relu (c)
        y = Dropout (z, ratio, training)
    }"""
    return onnx_philox.make_reproducible(parse(text), per_row=per_row)


@pytest.mark.parametrize(
    ("backend", "per_row", "precision"),
    [("native", False, "f16"), ("native", True, "f32"), ("python", True, "f16")],
)
def test_under_hetero_the_cpu_draws_and_the_gpu_does_the_rest(
    backend: str, per_row: bool, precision: str
) -> None:
    model = elementwise(per_row)
    asked = (OpenVinoOptions.of(backend, precision, device) for device in ("CPU", HETERO))
    opened = (ToOpen(Given.of("test", model), options, shows_drawn=True) for options in asked)
    loaded = [OpenvinoModel.open(each) for each in opened]
    assert set(loaded[1].compiled.get_property("EXECUTION_DEVICES")) == {"GPU.0", "CPU"}
    assert len(loaded[1].drawn) == 3
    for batch, state in enumerate(states(4), 3):
        words = np.stack([state] * batch) + np.arange(batch, dtype=np.uint32)[:, None]
        feeds = {
            # Of few bits, so that no precision rounds what Dropout scales.
            "x": np.arange(4 * batch, dtype=np.float32).reshape(batch, 4) - 3,
            "random_state": words if per_row else state,
        }
        drawn, again = (one.run(feeds) for one in loaded)
        noise = [name for name, kind in loaded[1].drawn.items() if kind == "RandomNormal"]
        masks = [name for name in loaded[1].drawn if name not in noise]
        assert len(masks) == 2
        for name in (*noise, *masks, "next_random_state"):
            assert_same_bits(again[name], drawn[name])


def test_under_hetero_another_device_may_compute_the_words_of_a_state() -> None:
    state, shift = (op.parameter([6], np.uint32, name) for name in ("state", "shift"))
    words = op.bitwise_xor(op.add(state, shift), shift)
    node = onnx_philox.openvino.random_generator(words, [9])
    model = ov.Model([*node.outputs(), words.output(0)], [state, shift])
    compiled = CORE.compile_model(model, HETERO)
    assert set(compiled.get_property("EXECUTION_DEVICES")) == {"GPU.0", "CPU"}
    shift_words = np.array([3, 2**31, 2**32 - 1, 5, 2**31 + 7, 1], np.uint32)
    for state_words in states(4):
        result = infer(compiled, [state_words, shift_words])
        given = (state_words + shift_words) ^ shift_words
        expected = (*reference.random_generator(given, [9]), given)
        assert_all_same((result[i] for i in range(3)), expected)


SEEDS = {"global_seed": 5, "op_seed": 2**33 + 5}

DRAWS: dict[str, Draw] = {
    "bits": lambda of, n, s: of.random_generator(s, n, **SEEDS),
    "i32": lambda of, n, s: of.random_uniform(
        n,
        -7,
        2**31 - 1,
        "i32",
        state=s,
        **SEEDS,
    ),
    "f32": lambda of, n, s: of.random_uniform(n, 0.1, 0.7, "f32", state=s, **SEEDS),
    "f16": lambda of, n, s: of.random_uniform(
        n,
        -3,
        5.5,
        "f16",
        state=s,
        **SEEDS,
    ),
    "normal": lambda of, n, s: of.random_normal(n, 0.25, 3.1, "f32", state=s, **SEEDS),
    "bernoulli": lambda of, n, s: of.random_bernoulli(
        n,
        np.float32(0.3),
        state=s,
        **SEEDS,
    ),
}
"""Of the factories or the reference."""


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(
    "shape",
    [
        (30,),
        (3, 5, 2, 3),
        (3, 2, 1, 3, 2, 2, 1),
    ],
)
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("are_rows", [False, True])
@pytest.mark.parametrize("hint", ["f32", "f16"])
def test_the_gpu_draws_the_reference_s_bits_and_next_states(
    name: str,
    shape: tuple[int, ...],
    is_dynamic: bool,
    are_rows: bool,
    hint: str,
) -> None:
    draw = DRAWS[name]
    first = shape[0]
    state_shape = [-1 if is_dynamic else first, 6] if are_rows else [6]
    state = op.parameter(state_shape, np.uint32)
    x = op.parameter([-1] * len(shape) if is_dynamic else list(shape), np.float32)
    node = draw(factory, op.shape_of(x) if is_dynamic else list(shape), state)
    model = ov.Model([node.output(0), node.output(1)], [state, x])
    compiled = factory.compile_model(CORE, model, "GPU", {"INFERENCE_PRECISION_HINT": hint})
    assert compiled.get_property("EXECUTION_DEVICES") == ["GPU.0"]
    for words in states(3):
        given = np.stack([words] * first) + np.arange(first, dtype=np.uint32)[:, None]
        given = given if are_rows else words
        drawn = infer(compiled, [given, np.zeros(shape, np.float32)])
        for i, wanted in enumerate(draw(reference, list(shape), given)):
            assert_same_bits(drawn[i], wanted)


def test_next_states_chain_constants_draw_and_nothing_draws_nothing() -> None:
    seeds = {"global_seed": 3}
    x = op.parameter([-1], np.float32)
    first = factory.random_uniform(op.shape_of(x), 0, 1, "f32", **seeds)
    second = factory.random_normal([3, 3], 0, 1, "f32", state=first.output(1), **seeds)
    empty = factory.random_generator(second.output(1), [0, 4])
    model = ov.Model(
        [
            first.output(0),
            second.output(0),
            *empty.outputs(),
        ],
        [x],
    )
    compiled = factory.compile_model(CORE, model, "GPU")
    for n in (5, 0, 9):
        values, state = reference.random_uniform([n], 0, 1, "f32", **seeds)
        normals, after = reference.random_normal([3, 3], 0, 1, "f32", state=state, **seeds)
        nothing = np.empty([0, 4], np.uint32)
        drawn = infer(compiled, [np.zeros(n, np.float32)])
        for i, wanted in enumerate((values, normals, nothing, after)):
            assert_same_bits(drawn[i], wanted)


def test_a_constant_state_of_five_dimensions_draws() -> None:
    state = op.constant(CARRIES.reshape(1, 1, 1, 1, 6))
    x = op.parameter([-1, 5], np.float32)
    node = factory.random_generator(state, op.shape_of(x))
    compiled = factory.compile_model(CORE, ov.Model(node.outputs(), [x]), "GPU")
    drawn = infer(compiled, [np.zeros([3, 5], np.float32)])
    bits, after = reference.random_generator(CARRIES, [3, 5])
    assert_same_bits(drawn[0], bits)
    expected = after.reshape(1, 1, 1, 1, 6)
    assert_same_bits(drawn[1], expected)


@pytest.mark.parametrize("type_", ["f32", "f16"])
@pytest.mark.parametrize("hint", ["f32", "f16"])
def test_a_draw_meets_what_a_gpu_computes_at_any_precision(type_: str, hint: str) -> None:
    state = op.parameter([6], np.uint32)
    x = op.parameter([3, 5], np.dtype(f"f{int(type_[1:]) // 8}"))
    drawn = factory.random_uniform([3, 5], 0, 1, type_, state=state).output(0)
    model = ov.Model([drawn, op.add(drawn, x).output(0)], [state, x])
    compiled = factory.compile_model(CORE, model, "GPU", {"INFERENCE_PRECISION_HINT": hint})
    wanted, _ = reference.random_uniform([3, 5], 0, 1, type_, state=CARRIES)
    found = infer(compiled, [CARRIES, np.zeros_like(wanted)])
    assert_same_bits(found[0], wanted)
    rounded = wanted.astype(np.float16 if hint == "f16" else wanted.dtype)
    rtol = 0 if hint == type_ else 2**-10
    np.testing.assert_allclose(found[1], rounded, rtol=rtol)


@pytest.mark.parametrize("per_row", [False, True])
def test_a_rewritten_model_runs_wholly_on_the_gpu(per_row: bool) -> None:
    model = elementwise(per_row)
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(3, 4) - 3}
    seed = {"seeds": [3, 8, 5]} if per_row else {"seed": 42}
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    options = {"runtime": "openvino", "per_row": per_row, "config": config}
    on_cpu = Pipeline(model, device="CPU", **options)(feeds, **seed)
    on_gpu = Pipeline(model, device="GPU", **options)(feeds, **seed)
    for name in ("y", "z"):
        # Both drop the same elements; a network's arithmetic is the device's.
        assert ((on_gpu[name] == 0) == (on_cpu[name] == 0)).all()
        np.testing.assert_allclose(on_gpu[name], on_cpu[name], rtol=1e-6)
    assert_same_bits(on_gpu.state, on_cpu.state)


def wait_until_nothing_runs() -> None:
    """Waits for a second in which no thread of this process has used the processor.

    Where the processor is the GPU, a busy machine may need many.
    """
    used = -1.0
    while (now := time.process_time()) - used > 0.01:
        used = now
        time.sleep(1)


def test_a_state_for_each_row_must_fit_the_values_on_a_gpu() -> None:
    state = op.parameter([-1, 6], np.uint32)
    x = op.parameter([-1, 2], np.float32)
    node = factory.random_generator(state, op.shape_of(x))
    compiled = factory.compile_model(CORE, ov.Model(node.outputs(), [state, x]), "GPU")
    words = np.stack(states(4))
    with pytest.raises(RuntimeError, match="first dimension of the values"):
        infer(compiled, [words[:3], np.zeros((4, 2), np.float32)])
    # The plugin does not wait for the kernels that a refused run has begun, and nothing tells
    # when they have ended. A run that begins before that is one beside them.
    wait_until_nothing_runs()
    drawn = infer(compiled, [words, np.zeros((4, 2), np.float32)])
    expected = reference.random_generator(words, [4, 2])
    assert_all_same((drawn[0], drawn[1]), expected)


def test_verify_draws_the_published_numbers_there() -> None:
    published = ["Random123 known answers", "TensorFlow uniform", "TensorFlow normal"]
    families = (*published, "Rows of Random")
    some = [case for case in cases.load_cases() if case.family.startswith(families)]
    report = verify.run(device="GPU", backends=["native"], expected=some)
    assert report.is_ok, report.to_json()
    same = {r.case.name for r in report.results if r.case and r.verdict is verify.CaseVerdict.SAME}
    names = zip([*published, "Rows of RandomGenerator"], ("u32", "f32", "f32", "u32"), strict=True)
    assert {" ".join(name) for name in names} <= same
    verdicts = {verify.CaseVerdict.SAME, verify.CaseVerdict.NOT_CARRIED}
    assert {r.verdict for r in report.results} == verdicts
    assert report.notes[-1].startswith("n/a: not carried.")
