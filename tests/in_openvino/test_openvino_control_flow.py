"""States through If, Loop and Scan in OpenVINO: at each precision, in IR, and as constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import onnx_philox
from tests.common.cases import assert_same_bits
from tests.common.constructs import CONSTRUCTS, Node, build, in_bodies
from tests.common.operators import OPERATORS, plain, with_constant
from tests.common.runtimes import OpenVino, infer


def check(
    compiled: ov.CompiledModel,
    feeds: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    outputs = infer(compiled, feeds)
    for name, wanted in expected.items():
        assert_same_bits(np.array(outputs[name]), wanted)


@pytest.mark.parametrize("operator", [op for op in OPERATORS if op != "RandomGenerator"])
@pytest.mark.parametrize("construct", CONSTRUCTS)
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_each_construct_draws_what_the_reference_draws_at_each_precision_and_in_ir(
    openvino: OpenVino, tmp_path: Path, construct: str, operator: str, precision: str
) -> None:
    model, feeds, expected = build(construct, Node(in_bodies(operator), shape_type=np.int32))
    config = {"INFERENCE_PRECISION_HINT": precision}
    check(openvino.core.compile_model(openvino.read(model), "CPU", config), feeds, expected)
    ov.save_model(openvino.read(model), tmp_path / "model.xml")
    for backend in onnx_philox.openvino.BACKENDS:
        core = OpenVino(backend).core
        check(core.compile_model(tmp_path / "model.xml", "CPU"), feeds, expected)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_constant_state_with_large_seeds_is_exact(openvino: OpenVino, construct: str) -> None:
    """With everything constant the plugin may compute a Loop when it compiles the model."""
    (normal,) = (case for case in plain("RandomNormal") if case.values.name == "f32")
    zeros = np.zeros(6, np.uint32)
    model, feeds, expected = build(construct, Node(normal, 2**62 + 12345), zeros)
    for constant in (["random_state"], list(feeds)):
        frozen = model
        for name in constant:
            frozen = with_constant(frozen, name, np.asarray(feeds[name]))
        compiled = openvino.core.compile_model(openvino.read(frozen), "CPU")
        check(compiled, {k: v for k, v in feeds.items() if k not in constant}, expected)
