"""`torch.nn.init.trunc_normal_` in an exported module, and other loops that draw until all fit:
`-m engines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnx_philox import Pipeline
from tests.common.torch_modules import IGNORES

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.torch_numbers.torch_walk.made import exported, verdict_of  # noqa: E402

truncated = torch.nn.init.trunc_normal_
pytestmark = [pytest.mark.engines, pytest.mark.newest_torch, IGNORES]
X = torch.zeros(100, 200)
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


def answers(model: Any) -> list[np.ndarray]:
    """What both runtimes give for a seed."""
    pipes = Pipeline(model), Pipeline(model, runtime="openvino", config=F32)
    return [next(iter(pipe({"x": X.numpy()}, seed=42).values())) for pipe in pipes]


BOUNDS = {
    "torch's own": {},
    "those of a narrow weight": {"std": 0.02},
    "of two sides": {
        "mean": 1.0,
        "std": 2.0,
        "a": -1.0,
        "b": 2.0,
    },
    "of a tail": {"a": 1.0, "b": 3.0},
    "one alone": {"a": 0.0, "b": float("inf")},
}


@pytest.mark.parametrize("case", BOUNDS)
def test_truncated_normals_lie_within_the_bounds_and_have_torch_s_law(case: str) -> None:
    words = BOUNDS[case]
    program = exported(
        lambda x: x + truncated(torch.empty_like(x), **words), X, alignment="tensorflow"
    )
    assert program.verdict.is_ok, program.verdict
    one, other = answers(program.model_proto)
    # What is composed around the draw is the runtimes' own.
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert one.min() >= words.get("a", -2.0)
    assert one.max() <= words.get("b", 2.0)
    of_torch = truncated(torch.empty(200_000), **words).numpy()
    error = 5 * of_torch.std() / np.sqrt(one.size)
    assert abs(one.mean(dtype=np.float64) - of_torch.mean(dtype=np.float64)) < error
    assert abs(one.std(dtype=np.float64) - of_torch.std(dtype=np.float64)) < error


def until_all_fit(x: Any) -> Any:
    drawn = torch.randn_like(x)
    while (drawn.abs() > 2).any():
        drawn = torch.where(
            drawn.abs() > 2,
            torch.randn_like(x),
            drawn,
        )
    return drawn


def if_it_is_large(x: Any) -> Any:
    return x + torch.rand_like(x) if torch.rand(1).item() > 0.5 else x


def as_torch(x: Any) -> Any:
    return truncated(torch.empty_like(x))


def far_out(x: Any) -> Any:
    return truncated(torch.empty_like(x), a=3.0, b=4.0)


REFUSED: dict[str, tuple[Callable[..., Any], str, str]] = {
    "a loop": (
        until_all_fit,
        "tensorflow",
        "onnx_philox.torch.export: what forward decides must be decided by shapes and by Python's "
        "numbers: got a branch or loop that a value decides (test_torch_truncated.py:",
    ),
    "a branch": (
        if_it_is_large,
        "tensorflow",
        "onnx_philox.torch.export: what forward decides must be decided by shapes and by Python's "
        "numbers: got a branch or loop that a value decides",
    ),
    "torch's numbers": (
        as_torch,
        "pytorch",
        "torch.nn.init.trunc_normal_: the alignment must be 'tensorflow', since torch draws until "
        "all numbers lie within the bounds: got 'pytorch'. Leave alignment out: the file then "
        "draws the same distribution of Philox numbers.",
    ),
    "bounds far out": (
        far_out,
        "tensorflow",
        "torch.nn.init.trunc_normal_: the bounds must be wider ones, which hold a tenth of the "
        "normals: got 3 and 4, which hold 0.0013 of them. Pass the truncated normals as an input.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_draws_until_all_fit_is_refused_in_a_sentence(case: str) -> None:
    forward, alignment, said = REFUSED[case]
    with pytest.raises(ValueError, match="must be ") as raised:
        exported(forward, X, alignment=alignment)
    assert str(raised.value).startswith(said)


def test_truncated_normals_that_no_bound_cuts_are_torch_s_by_torch_s_numbers() -> None:
    verdict_of(lambda x: truncated(torch.empty_like(x), std=0.02), X)
