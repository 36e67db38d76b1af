"""OpenVINO's device GPU, and HETERO:GPU,CPU: `pytest -m gpu`, which `.ci/gpu` runs without a GPU.

Draws and states are compared, not what a network makes of them: an emulated GPU computes matrix
products wrong, and a real one rounds in its own way.
"""

from __future__ import annotations

import numpy as np
import onnx.parser
import openvino as ov
import pytest
from cases import assert_same_bits
from openvino import opset16 as op

import onnx_philox
from onnx_philox import reference
from onnx_philox._runtimes.in_openvino import Model
from onnx_philox._runtimes.models import Settings

pytestmark = pytest.mark.gpu

HETERO = "HETERO:GPU,CPU"
# All the counter's words carry; high bits in the key.
CARRIES = np.array([0xFFFFFFFE, *[0xFFFFFFFF] * 3, 0xDEADBEEF, 0xFEDCBA98], np.uint32)


@pytest.fixture(scope="module")
def core() -> ov.Core:
    return onnx_philox.openvino.register(ov.Core())


def states(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [CARRIES, *rng.integers(0, 2**32, (count - 1, 6), dtype=np.uint32)]


def elementwise(per_row: bool) -> onnx.ModelProto:
    """Dropout between layers that any device computes exactly, and each row's own normals."""
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (float[batch, 4] x) => (float[batch, 4] y, float[batch, 4] z)
    <float ratio = {0.3}, bool training = {1}> {
        a = Relu (x)
        b = Dropout (a, ratio, training)
        noise = RandomNormalLike <seed = 1.0> (b)
        c = Add (b, noise)
        z = Relu (c)
        y = Dropout (z, ratio, training)
    }"""
    return onnx_philox.make_reproducible(onnx.parser.parse_model(text), per_row=per_row)


@pytest.mark.parametrize(
    ("backend", "per_row", "precision"),
    [("native", False, "f16"), ("native", True, "f32"), ("python", True, "f16")],
)
def test_under_hetero_the_cpu_draws_and_the_gpu_does_the_rest(
    backend: str, per_row: bool, precision: str
) -> None:
    model = elementwise(per_row)
    loaded = [
        Model.load(model, Settings(backend, precision, shows_drawn=True, device=device))
        for device in ("CPU", HETERO)
    ]
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


def test_under_hetero_another_device_may_compute_the_words_of_a_state(core: ov.Core) -> None:
    state, shift = (op.parameter([6], np.uint32, name) for name in ("state", "shift"))
    words = op.bitwise_xor(op.add(state, shift), shift)
    node = onnx_philox.openvino.random_generator(words, [9])
    model = ov.Model([*node.outputs(), words.output(0)], [state, shift])
    compiled = core.compile_model(model, HETERO)
    assert set(compiled.get_property("EXECUTION_DEVICES")) == {"GPU.0", "CPU"}
    shift_words = np.array([3, 2**31, 2**32 - 1, 5, 2**31 + 7, 1], np.uint32)
    for state_words in states(4):
        result = compiled([state_words, shift_words])
        given = (state_words + shift_words) ^ shift_words
        for found, expected in zip(
            (result[i] for i in range(3)),
            (*reference.random_generator(given, [9]), given),
            strict=True,
        ):
            assert_same_bits(found, expected)
