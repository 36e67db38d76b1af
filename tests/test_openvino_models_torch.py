"""What `openvino.convert_model` makes of PyTorch modules, rewritten: `-m engines`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from cases import table
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


SHAPE, ONES = [3, 4], np.zeros_like(X)
# What is called of torch and x -> what draws it, by which arguments.
TRACED = table("""
torch.rand_like(x) -> "uniform", SHAPE, 0, 1, "f32"
torch.randn_like(x) -> "normal", SHAPE, 0, 1, "f32"
torch.empty_like(x).normal_(1.5, 2.0) -> "normal", SHAPE, 1.5, 2, "f32"
torch.bernoulli(x) -> "bernoulli", SHAPE, X
(torch.rand_like(x) < 0.3).float() -> "bernoulli", SHAPE, np.float32(0.3)
torch.multinomial(torch.ones_like(x), 5, True) -> "categorical", ONES, 5
torch.multinomial(torch.ones_like(x), 3) -> "categorical", ONES, 3, "i64", False
""")


@pytest.mark.parametrize(("call", "drawn"), TRACED)
def test_a_traced_draw_is_the_reference_s(call: str, drawn: str, tmp_path: Path) -> None:
    import torch

    kind, *arguments = eval(drawn)
    given = converted(eval(f"lambda x: {call}", {"torch": torch}))
    ov.save_model(given, tmp_path / "m.xml", compress_to_fp16=True)
    wanted = reference(kind, *arguments)
    for model in (given, tmp_path / "m.xml"):
        (node,) = op.rewriting.find_random_nodes(model)
        assert node.replacement == f"Random{kind.title()}"
        for hint in ("f32", "bf16"):
            got = answer(op.make_reproducible(model), hint)
            assert np.array_equal(got, wanted.astype(got.dtype))


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
