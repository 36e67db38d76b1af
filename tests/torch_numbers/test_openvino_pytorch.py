"""PyTorch modules in OpenVINO, by our converters and by its own alone: `-m engines`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import onnx_philox as op
from onnx_philox import torch
from tests.common.cases import assert_all_same, warned
from tests.common.openvino_models import CORE
from tests.common.runtimes import infer

pytestmark = [
    pytest.mark.engines,
    # torch's tracer and exporter warn: of draws, and of each other.
    pytest.mark.filterwarnings("ignore"),
]

X = np.linspace(0.05, 0.95, 12, dtype=np.float32).reshape(3, 4)
STATE = op.PhiloxState.for_run(42).to_array()


def module(*functions: Callable[[Any], Any]) -> Any:
    """A module that gives what each function gives, in order."""
    import torch

    class Module(torch.nn.Module):
        def forward(self, x):
            return tuple(function(x) for function in functions)

    return Module()


def converted(given: Any, way: str, *, by_us: bool = True) -> ov.Model:
    """By our converters, or as OpenVINO's front end writes torch's draws."""
    import torch

    x = torch.tensor(X)
    extensions = op.openvino.pytorch_extensions() if by_us else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "exported":
            exported = torch.export.export(given, (x,), strict=False)
            return ov.convert_model(exported, extension=extensions)
        given = torch.jit.script(given) if way == "scripted" else given
        return ov.convert_model(given, example_input=x, extension=extensions)


def answers(model: ov.Model, hint: str = "f32") -> list[np.ndarray]:
    compiled = CORE.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    results = infer(compiled, [X, STATE])
    return [results[i].copy() for i in range(len(compiled.outputs) - 1)]


def of_onnx(given: Any) -> list[np.ndarray]:
    """What the file of ONNX draws."""
    import torch

    model = op.torch.export(given, (torch.tensor(X),), verbose=False).model_proto
    session = op.onnxruntime.InferenceSession(model.SerializeToString())
    feed = {value.name: X for value in session.get_inputs()} | {"random_state": STATE}
    return session.run(None, feed)[:-1]


@pytest.mark.parametrize("way", ["traced", "exported"])
def test_a_converted_model_that_is_saved_draws_what_its_file_of_onnx_draws(
    way: str, tmp_path: Path
) -> None:
    """`torch_walk` has every call; these are rewritten from a file, too."""
    import torch

    given = module(
        lambda x: torch.rand_like(x),
        lambda x: torch.randn_like(x, dtype=torch.half),
        lambda x: torch.randint(2, 7, (x.shape[0], 2), dtype=torch.int32),
        lambda _: torch.bernoulli(torch.rand(3, 4)),
        lambda x: torch.multinomial(torch.ones_like(x), 3),
        lambda x: torch.nn.functional.dropout(x, 0.3, True),
        lambda x: torch._standard_gamma(x),
        lambda x: x[torch.randperm(3)],
    )
    wanted = of_onnx(given)
    given = converted(given, way)
    nodes = op.rewriting.find_random_nodes(given)
    expected = [None] * len(nodes)
    assert [node.problem for node in nodes] == expected
    ov.save_model(given, tmp_path / "m.xml")
    for model in (given, tmp_path / "m.xml"):
        made = op.make_reproducible(model)
        assert op.make_reproducible(made) is made
        assert_all_same(answers(made), wanted)


def test_a_checkpoint_of_the_file_resumes_in_the_model() -> None:
    import torch

    given = module(lambda x: torch.nn.functional.dropout(x, 0.5, True))
    file = op.torch.export(given, (torch.tensor(X),), verbose=False).model_proto
    model = op.make_reproducible(converted(given, "exported"))
    request = op.Pipeline(file).request(seed=7)
    (first,) = request({"x": X}).values()
    resumed = op.Pipeline(model, runtime="openvino").request(resume=request.checkpoint())
    second, third = (next(iter(r({"x": X}).values())) for r in (request, resumed))
    assert np.array_equal(second, third)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("by_us", [False, True])
def test_a_scripted_loop_draws_on(by_us: bool) -> None:
    import torch

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros_like(x)
        for _ in range(x.shape[0]):
            y = y + torch.rand_like(x)
        return y

    total = np.zeros_like(X)
    state = STATE
    for _ in range(3):
        values, state = op.reference.random_uniform([3, 4], 0, 1, "f32", state=state)
        total = total + values
    (got,) = answers(op.make_reproducible(converted(forward, "scripted", by_us=by_us)))
    assert np.array_equal(got, total)


def written_through(y: Any) -> Any:
    y.detach().uniform_()
    return y


def read_before(y: Any) -> Any:
    part = y[0]
    doubled = part * 2
    return y.uniform_() + doubled + part


def test_a_scripted_draw_has_the_type_of_a_tensor_that_it_names() -> None:
    import torch

    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.rand([3, 4], dtype=x.dtype) + 0 * x

    (got,) = answers(op.make_reproducible(converted(forward, "scripted")))
    assert np.array_equal(got, op.reference.random_uniform([3, 4], 0, 1, "f32", state=STATE)[0])


@pytest.mark.parametrize("way", ["exported", "traced"])
@pytest.mark.parametrize(
    ("call", "forward"),
    [
        (
            "bernoulli",
            lambda x: x.double().bernoulli(),
        ),
        (
            "multinomial",
            lambda x: x.double().multinomial(1),
        ),
        (
            "poisson",
            lambda x: sys.modules["torch"].poisson(x.double()),
        ),
        (
            "_standard_gamma",
            lambda x: sys.modules["torch"]._standard_gamma(x.double()),
        ),
    ],
)
def test_numbers_of_f64_that_a_model_computes_are_refused_by_the_name_of_the_call(
    way: str, call: str, forward: Any
) -> None:
    # Torch has no logits here.
    what = "its weights" if call == "multinomial" else r"input '(?!logits)\w+'"
    said = rf"aten::{call}: {what} must be a constant .*: got f64 .*\. Cast (?!logits)\w+ to f32\."
    with pytest.raises(ov.frontend.OpConversionFailure, match=said):
        converted(module(forward), way)


def test_what_no_converter_can_keep_is_refused_by_name() -> None:
    import torch

    generator = torch.Generator()
    refused = {
        "aten::normal_: .*a part of another tensor": lambda x: x.clone()[0].normal_(),
        "aten::uniform_: .*a part of another tensor": lambda x: written_through(x + 1),
        "aten::uniform_: .*a part was read before": lambda x: read_before(x + 1),
        "aten::rand: generator": lambda x: torch.rand(x.shape, generator=generator),
        "aten::random_: .*torch.randint": lambda x: torch.empty_like(x).random_(5),
        "aten::geometric_: .*torch.poisson": lambda x: torch.empty_like(x).geometric_(0.3),
        "aten::_sample_dirichlet: .*_standard_gamma": lambda x: torch._sample_dirichlet(x),
        "aten::randn: the type must be a real one": lambda _: torch.randn(3, dtype=torch.cfloat),
    }
    for said, forward in refused.items():
        with pytest.raises(ov.frontend.OpConversionFailure, match=said):
            converted(module(forward), "traced")


def with_lstm(**settings: Any) -> Any:
    import torch

    lstm = torch.nn.LSTM(4, 6, 2, dropout=0.3, **settings)
    made = module(lambda x: lstm(x)[0])
    made.lstm = lstm
    return made


def test_dropout_between_layers_of_lstm_with_projections_is_drawn_in_openvino_alone() -> None:
    given = with_lstm(proj_size=3)
    with pytest.raises(ValueError, match=r"aten::lstm: proj_size .*must be 0 .*convert_model"):
        of_onnx(given)
    model = op.make_reproducible(converted(given, "exported"))
    assert [n.get_type_name() for n in model.get_ops()].count("RandomDropout") == 1


def test_a_program_that_is_decomposed_already_is_warned_of_where_it_may_have_drawn() -> None:
    import torch

    def warned_of(program: Any) -> list[str]:
        extension = op.openvino.pytorch_extensions()
        said = warned(lambda: ov.convert_model(program, extension=extension))
        return [text for text in said if "onnx_philox" in text]

    x = (torch.tensor(X),)
    for module in (with_lstm(), torch.nn.Dropout(0.5)):
        program = torch.export.export(module.train(), x)
        assert warned_of(program) == []
        (said,) = warned_of(program.run_decompositions())
        assert "pytorch_extensions: The program is decomposed already: torch may have" in said
    assert warned_of(torch.export.export(torch.nn.Linear(4, 2), x).run_decompositions()) == []


def reference(
    operator: str,
    *arguments: Any,
    stream: int = 0,
    **keywords: Any,
) -> np.ndarray:
    draw = getattr(op.reference, f"random_{operator}")
    return draw(*arguments, op_seed=stream, state=STATE, **keywords)[0]


SHAPE = [3, 4]
ONES = np.zeros_like(X)
# What is called of torch and x -> what draws it, by which arguments.
# Called with torch, which is loaded where it is needed, and a tensor.
TRACED = [
    (
        lambda torch, x: torch.rand_like(x),
        ["uniform", SHAPE, 0, 1, "f32"],
    ),
    (
        lambda torch, x: torch.randn_like(x),
        ["normal", SHAPE, 0, 1, "f32"],
    ),
    (
        lambda torch, x: torch.empty_like(x).normal_(1.5, 2.0),
        ["normal", SHAPE, 1.5, 2, "f32"],
    ),
    (
        lambda torch, x: torch.bernoulli(x),
        ["bernoulli", SHAPE, X],
    ),
    (
        lambda torch, x: (torch.rand_like(x) < 0.3).float(),
        ["bernoulli", SHAPE, np.float32(0.3)],
    ),
    (
        lambda torch, x: torch.multinomial(torch.ones_like(x), 5, True),
        ["categorical", ONES, 5],
    ),
    (
        lambda torch, x: torch.multinomial(torch.ones_like(x), 3),
        ["categorical", ONES, 3, "i64", False],
    ),
]


@pytest.mark.parametrize(("call", "drawn"), TRACED)
def test_a_traced_draw_is_the_reference_s(
    call: Callable[[Any, Any], Any],
    drawn: list[Any],
    tmp_path: Path,
) -> None:
    import torch

    kind, *arguments = drawn
    given = converted(module(lambda x: call(torch, x)), "traced", by_us=False)
    ov.save_model(given, tmp_path / "m.xml", compress_to_fp16=True)
    wanted = reference(kind, *arguments)
    for model in (given, tmp_path / "m.xml"):
        (node,) = op.rewriting.find_random_nodes(model)
        assert node.replacement == f"Random{kind.title()}"
        for hint in ("f32", "bf16"):
            (got,) = answers(op.make_reproducible(model), hint)
            assert np.array_equal(got, wanted.astype(got.dtype))


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
    (got,) = answers(op.make_reproducible(converted(module(forward), "traced", by_us=False)))
    assert np.abs(got - wanted).max() < 1e-6
