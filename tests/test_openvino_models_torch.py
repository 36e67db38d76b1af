"""What `openvino.convert_model` makes of PyTorch modules, rewritten: `-m engines`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest
from runtimes import infer

import onnx_philox as op

pytestmark = pytest.mark.engines

X = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
STATE = op.PhiloxState.for_run(42).to_array()


def converted(forward: Callable[..., Any], *, is_scripted: bool = False) -> ov.Model:
    """A module of one function, as OpenVINO's front end writes it."""
    import torch

    class Module(torch.nn.Module):
        def forward(self, x):
            return forward(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = torch.jit.script(forward) if is_scripted else Module()
        return ov.convert_model(given, example_input=torch.tensor(X))


def answer(model: ov.Model, hint: str = "f32") -> np.ndarray:
    core = op.openvino.register(ov.Core())
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    return infer(compiled, [X, STATE])[0].copy()


def reference(operator: str, *arguments: Any, stream: int = 0, **keywords: Any) -> np.ndarray:
    draw = getattr(op.reference, f"random_{operator}")
    return draw(*arguments, op_seed=stream, state=STATE, **keywords)[0]


NAMES = (
    *("rand_like", "randn_like", "normal_", "bernoulli", "rand < p", "multinomial"),
    "multinomial without replacement",
)


def cases() -> dict[str, tuple[Callable[..., Any], str, Callable[[], np.ndarray]]]:
    import torch

    ones = np.zeros_like(X)
    return {
        "rand_like": (
            lambda x: torch.rand_like(x),
            "RandomUniform",
            lambda: reference("uniform", [3, 4], 0, 1, "f32"),
        ),
        "randn_like": (
            lambda x: torch.randn_like(x),
            "RandomNormal",
            lambda: reference("normal", [3, 4], 0, 1, "f32"),
        ),
        "normal_": (
            lambda x: torch.empty_like(x).normal_(1.5, 2.0),
            "RandomNormal",
            lambda: reference("normal", [3, 4], 1.5, 2, "f32"),
        ),
        "bernoulli": (
            lambda x: torch.bernoulli(x),
            "RandomBernoulli",
            lambda: reference("bernoulli", [3, 4], X).astype(np.float32),
        ),
        "rand < p": (
            lambda x: (torch.rand_like(x) < 0.3).float(),
            "RandomBernoulli",
            lambda: reference("bernoulli", [3, 4], np.float32(0.3)).astype(np.float32),
        ),
        "multinomial": (
            lambda x: torch.multinomial(torch.ones_like(x), 5, replacement=True),
            "RandomCategorical",
            lambda: reference("categorical", ones, 5),
        ),
        "multinomial without replacement": (
            lambda x: torch.multinomial(torch.ones_like(x), 3),
            "RandomCategorical",
            lambda: reference("categorical", ones, 3, replacement=False),
        ),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_traced_draw_is_the_reference_s(name, tmp_path) -> None:
    forward, operator, wants = cases()[name]
    given = converted(forward)
    ov.save_model(given, tmp_path / "m.xml", compress_to_fp16=True)
    for model in (given, tmp_path / "m.xml"):
        (node,) = op.rewriting.find_random_nodes(model)
        assert node.replacement == operator
        new = op.make_reproducible(model)
        for hint in ("f32", "bf16"):
            assert np.array_equal(answer(new, hint), wants())


def test_a_scripted_loop_draws_on() -> None:
    import torch

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros_like(x)
        for _ in range(x.shape[0]):
            y = y + torch.rand_like(x)
        return y

    new = op.make_reproducible(converted(forward, is_scripted=True))
    total, state = np.zeros_like(X), STATE
    for _ in range(3):
        values, state = op.reference.random_uniform([3, 4], 0, 1, "f32", state=state)
        total = total + values
    assert np.array_equal(answer(new), total)


def test_a_vae_draws_the_noise_of_its_onnx_file() -> None:
    import torch

    torch.manual_seed(0)
    encode, decode = (torch.nn.Linear(4, n).requires_grad_(False) for n in (8, 4))

    def forward(x):
        mean, spread = encode(x).chunk(2, dim=1)
        return decode(mean + torch.exp(0.5 * spread) * torch.randn_like(mean))

    with torch.no_grad():
        mean, spread = encode(torch.tensor(X)).chunk(2, dim=1)
        noise = torch.tensor(reference("normal", [3, 4], 0, 1, "f32"))
        wanted = decode(mean + torch.exp(0.5 * spread) * noise).numpy()
    got = answer(op.make_reproducible(converted(forward)))
    assert np.abs(got - wanted).max() < 1e-6
