"""PyTorch modules by our converters of OpenVINO, beside their files of ONNX: `-m engines`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest
from runtimes import infer

import onnx_philox as op

pytestmark = [
    pytest.mark.engines,
    # torch's tracer and exporter warn: of draws, and of each other.
    pytest.mark.filterwarnings("ignore"),
]

X = np.linspace(0.05, 0.95, 12, dtype=np.float32).reshape(3, 4)
STATE = op.PhiloxState.for_run(42).to_array()


def draws() -> dict[str, Callable[[Any], Any]]:
    """Draws of every kind, whose numbers are only drawn: they must be equal to the bit."""
    import torch
    from torch.nn import functional

    return {
        "rand": lambda x: torch.rand(x.shape[0], 4),
        "rand of f64": lambda x: torch.rand(x.shape, dtype=torch.float64),
        "rand_like": lambda x: torch.rand_like(x),
        "rand_like again": lambda x: torch.rand_like(x),
        "rand_like of a shape alone": lambda _: torch.rand_like(torch.rand(3, 4)),
        "rand < p": lambda x: torch.rand_like(x) < 0.3,
        "randn": lambda _: torch.randn(5),
        "randn_like of f16": lambda x: torch.randn_like(x, dtype=torch.half),
        "randint": lambda x: torch.randint(7, (x.shape[0], 2)),
        "randint from 2": lambda _: torch.randint(2, 7, (3, 2), dtype=torch.int32),
        "randint_like": lambda x: torch.randint_like(x, 9),
        "randint_like from 2": lambda x: torch.randint_like(x, 2, 9, dtype=torch.int64),
        "randperm": lambda _: torch.randperm(6),
        "normal of a size": lambda x: torch.normal(1.0, 2.0, (x.shape[0], 2)),
        "normal_": lambda x: torch.empty_like(x).normal_(0.1, 0.3),
        "uniform_": lambda x: torch.zeros_like(x).uniform_(-0.7, 0.9),
        "exponential_": lambda x: torch.empty_like(x).exponential_(1.7),
        "poisson": lambda x: torch.poisson(x * 5),
        "gamma": lambda x: torch._standard_gamma(x),
        "bernoulli": lambda x: torch.bernoulli(x),
        "bernoulli of p": lambda x: torch.bernoulli(x, 0.3),
        "bernoulli_ of a tensor": lambda x: torch.zeros_like(x).bernoulli_(x),
        "multinomial": lambda x: torch.multinomial(torch.ones_like(x), 5, True),
        "multinomial without": lambda x: torch.multinomial(torch.ones_like(x), 3),
        "multinomial of one row": lambda x: torch.multinomial(torch.ones_like(x)[0], 2),
        "dropout": lambda x: functional.dropout(x, 0.3, True),
        "no dropout": lambda x: functional.dropout(x, 0.3, False),
        "a dropout of 0": lambda x: functional.dropout(x, 0.0, True),
        "native_dropout": lambda x: torch.native_dropout(x, 0.3, True)[0],
        "its mask": lambda x: torch.native_dropout(x, 0.3, True)[1].float(),
        "into another": lambda x: torch.rand(3, 4, out=torch.empty(x.shape)),
        "rand with None": lambda _: torch.rand(3, 4, generator=None),
        "randint with None": lambda _: torch.randint(2, 9, (3, 4), generator=None),
        "randperm with None": lambda _: torch.randperm(9, generator=None),
        "randint_like below a tensor": lambda x: torch.randint_like(x, torch.tensor(9)),
        "rrelu": lambda x: functional.rrelu(x - 0.5, training=True),
        "rrelu_": lambda x: functional.rrelu_(x - 0.5, training=True),
        "rrelu in evaluation": lambda x: functional.rrelu(x - 0.5),
    }


def read_by_others() -> dict[str, Callable[[Any], Any]]:
    """Draws that other draws read, or that are indices, conditions or what is rounded."""
    import torch
    from torch.nn import functional

    def drop(x: Any, p: float) -> Any:
        return functional.dropout(x, p, True)

    return {
        "dropout of dropout": lambda x: drop(drop(drop(x, 0.5), 0.25), 0.1),
        "dropout of randn": lambda x: drop(torch.randn_like(x), 0.25),
        "bernoulli of rand": lambda _: torch.bernoulli(torch.rand(3, 4)),
        "bernoulli of dropout": lambda x: torch.bernoulli(drop(x * 0.5, 0.5)),
        "poisson of exponential_": lambda x: torch.poisson(torch.empty_like(x).exponential_()),
        "x[randperm]": lambda x: x[torch.randperm(3)],
        "x[randint, randint]": lambda x: x[torch.randint(3, (5,)), torch.randint(4, (5,))],
        "x[multinomial]": lambda x: x[torch.multinomial(torch.ones(3), 2)],
        "index_select": lambda x: x.index_select(1, torch.randperm(4)),
        "embedding": lambda x: functional.embedding(torch.randint(3, (5,)), x),
        "one_hot": lambda _: functional.one_hot(torch.randint(4, (8,)), 4),
        "x[rand > 0.5]": lambda x: x[torch.rand(3) > 0.5],
        "x[topk of rand]": lambda x: x[torch.rand(3).topk(2)[1]],
        "abs of a row": lambda _: torch.randn(8).abs().sqrt().isnan(),
        "integers of floats": lambda _: (torch.rand(64) * 10).floor().long(),
    }


def moved() -> dict[str, Callable[[Any], Any]]:
    """Draws with arithmetic of the runtimes after them."""
    import torch
    from torch.nn import functional

    return {
        "normal of tensors": lambda x: torch.normal(x, x + 1),
        "normal of a mean": lambda x: torch.normal(x, 2.0),
        "normal of a deviation": lambda x: torch.normal(1.0, x),
        "normal of two types": lambda x: torch.normal(x, x.double()),
        "log_normal_": lambda x: torch.empty_like(x).log_normal_(),
        "cauchy_": lambda x: torch.empty_like(x).cauchy_(1, 2),
        "dropout in place": lambda x: functional.dropout(x + 1, 0.3, True, True),
        "dropout1d": lambda x: functional.dropout1d(x[:, :, None].expand(-1, -1, 2), 0.3, True),
        "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.3, True),
        "feature_alpha_dropout": lambda x: functional.feature_alpha_dropout(x, 0.3, True),
        "attention": lambda x: attention(x, dropout_p=0.3),
        "causal attention": lambda x: attention(x, dropout_p=0.3, is_causal=True, scale=0.1),
        "attention with a mask": lambda x: attention(x, dropout_p=0.3, attn_mask=mask()),
        "attention without dropout": lambda x: attention(x, is_causal=True),
        "attention of groups": grouped_attention,
        "gumbel_softmax": lambda x: functional.gumbel_softmax(x),
    }


def attention(x: Any, **options: Any) -> Any:
    from torch.nn import functional

    heads = x[None, None]
    return functional.scaled_dot_product_attention(heads, heads, heads, **options)


def grouped_attention(x: Any) -> Any:
    from torch.nn import functional

    query, key = x.expand(1, 4, 3, 4), (x + 1).expand(1, 2, 3, 4)
    attend = functional.scaled_dot_product_attention
    return attend(query, key, key * 2, dropout_p=0.3, enable_gqa=True)


def mask() -> Any:
    import torch

    return torch.tensor([[True, False, True], [True, True, False], [True, True, True]])


def module(functions: dict[str, Callable[[Any], Any]]) -> Any:
    """A module that gives what each function gives, in order."""
    import torch

    class Module(torch.nn.Module):
        def forward(self, x):
            return tuple(function(x) for function in functions.values())

    return Module()


def program(given: Any) -> Any:
    import torch

    return torch.export.export(given, (torch.tensor(X),), strict=False)


def converted(given: Any, way: str) -> ov.Model:
    import torch

    extensions = op.openvino.pytorch_extensions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "exported":
            return ov.convert_model(program(given), extension=extensions)
        if way == "scripted":
            given = torch.jit.script(given)
        example = torch.tensor(X)
        return ov.convert_model(given, example_input=example, extension=extensions)


def answers(model: ov.Model) -> list[np.ndarray]:
    core = op.openvino.register(ov.Core())
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = infer(compiled, [X, STATE])
    return [results[i].copy() for i in range(len(compiled.outputs) - 1)]


def of_onnx(given: Any) -> list[np.ndarray]:
    """What the file of ONNX draws."""
    import torch

    model = op.torch.export(given, (torch.tensor(X),), verbose=False).model_proto
    session = op.onnxruntime.InferenceSession(model.SerializeToString())
    feed = {value.name: X for value in session.get_inputs()} | {"random_state": STATE}
    return session.run(None, feed)[:-1]


@pytest.fixture(scope="module", params=["draws", "read_by_others", "moved"])
def both(request) -> tuple[dict[str, Any], list[np.ndarray], bool]:
    functions = {"draws": draws, "read_by_others": read_by_others, "moved": moved}[request.param]()
    return functions, of_onnx(module(functions)), request.param != "moved"


@pytest.mark.parametrize("way", ["traced", "exported"])
def test_a_module_draws_what_its_file_of_onnx_draws(both, way, tmp_path) -> None:
    functions, wanted, is_drawn = both
    given = converted(module(functions), way)
    nodes = op.rewriting.find_random_nodes(given)
    assert [node.problem for node in nodes] == [None] * len(nodes)
    ov.save_model(given, tmp_path / "m.xml")
    new = op.make_reproducible(given)
    again = op.make_reproducible(tmp_path / "m.xml")
    wrong = {}
    for model in (new, again):
        for name, want, got in zip(functions, wanted, answers(model), strict=True):
            is_exact = want.dtype == got.dtype and np.array_equal(got, want, equal_nan=True)
            # Weights of the saved model are of f16.
            near = 1e-5 if model is new else 1e-2
            if not is_exact and (is_drawn or not np.allclose(got, want, near, near)):
                wrong[name] = got, want
    assert wrong == {}


def test_a_checkpoint_of_the_file_resumes_in_the_model() -> None:
    import torch

    given = module({"drop": lambda x: torch.nn.functional.dropout(x, 0.5, True)})
    file = op.torch.export(given, (torch.tensor(X),), verbose=False).model_proto
    model = op.make_reproducible(converted(given, "exported"))
    request = op.Pipeline(file).request(seed=7)
    (first,) = request({"x": X}).values()
    resumed = op.Pipeline(model, runtime="openvino").request(resume=request.checkpoint())
    second, third = (next(iter(r({"x": X}).values())) for r in (request, resumed))
    assert np.array_equal(second, third)
    assert not np.array_equal(first, second)


def test_extensions_serve_many_modules_and_draws_that_nothing_reads_take_no_stream() -> None:
    import torch

    def forward(x):
        torch.rand_like(x)
        return torch.randn_like(x)

    extensions = op.openvino.pytorch_extensions()
    for _ in range(2):
        model = ov.convert_model(
            module({"": forward}), example_input=torch.tensor(X), extension=extensions
        )
        wanted = op.reference.random_normal([3, 4], 0, 1, "f32", state=STATE)[0]
        assert np.array_equal(answers(op.make_reproducible(model))[0], wanted)


@pytest.mark.parametrize("way", ["traced", "exported"])
def test_draws_of_which_only_the_shape_is_read_take_no_stream(way: str) -> None:
    import torch

    def forward(x):
        given = torch.rand(2, 3), torch.normal(x, x), torch.bernoulli(x), torch.multinomial(x, 2)
        zeros = sum(torch.zeros_like(each, dtype=torch.float32).sum() for each in given)
        return zeros + torch.randn_like(x)

    model = op.make_reproducible(converted(module({"": forward}), way))
    wanted = op.reference.random_normal([3, 4], 0, 1, "f32", state=STATE)[0]
    assert np.array_equal(answers(model)[0], wanted)
    assert op.make_reproducible(model) is model


def test_a_scripted_loop_draws_on() -> None:
    import torch

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros_like(x)
        for _ in range(x.shape[0]):
            y = y + torch.rand_like(x)
        return y

    total, state = np.zeros_like(X), STATE
    for _ in range(3):
        values, state = op.reference.random_uniform([3, 4], 0, 1, "f32", state=state)
        total = total + values
    (got,) = answers(op.make_reproducible(converted(forward, "scripted")))
    assert np.array_equal(got, total)


def written_through(y: Any) -> Any:
    y.detach().uniform_()
    return y


def read_before(y: Any) -> Any:
    part = y[0]
    doubled = part * 2
    return y.uniform_() + doubled + part


def read_behind(y: Any) -> Any:
    part = y[0]
    y.uniform_()
    return part + 0


def test_a_part_of_a_tensor_taken_before_a_write_in_place_reads_the_write() -> None:
    given = module({"": lambda x: read_behind(x + 1)})
    (got,) = answers(op.make_reproducible(converted(given, "traced")))
    assert np.array_equal(got, op.reference.random_uniform([3, 4], 0, 1, "f32", state=STATE)[0][0])


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
        ("bernoulli", lambda x: x.double().bernoulli()),
        ("multinomial", lambda x: x.double().multinomial(1)),
        ("poisson", lambda x: sys.modules["torch"].poisson(x.double())),
        ("_standard_gamma", lambda x: sys.modules["torch"]._standard_gamma(x.double())),
    ],
)
def test_numbers_of_f64_that_a_model_computes_are_refused_by_the_name_of_the_call(
    way: str, call: str, forward: Any
) -> None:
    # Torch has no logits here.
    what = "its weights" if call == "multinomial" else r"input '(?!logits)\w+'"
    said = rf"aten::{call}: {what} must be a constant .*: got f64 .*\. Cast (?!logits)\w+ to f32\."
    with pytest.raises(ov.frontend.OpConversionFailure, match=said):
        converted(module({"": forward}), way)


@pytest.mark.parametrize("way", ["exported", "traced"])
def test_constants_of_f64_are_drawn_by_as_f64(way: str) -> None:
    import torch

    p = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    functions = {
        "computed": lambda x: torch.bernoulli(p * 2).float() + 0 * x,
        "detached": lambda x: torch.bernoulli(p.detach()).float() + 0 * x,
        "expanded": lambda x: torch.bernoulli(p.expand(3, 4)).float() + 0 * x,
        "classes": lambda _: torch.multinomial(p, 3),
        "rates": lambda x: torch.poisson(p.expand(3, 4)).float() + 0 * x,
    }
    given = module(functions)
    got, wanted = answers(op.make_reproducible(converted(given, way))), of_onnx(given)
    for name, one, other in zip(functions, got, wanted, strict=True):
        assert np.array_equal(one, other), name


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
            converted(module({"": forward}), "traced")


def test_dropout_between_layers_of_lstm_with_projections_is_drawn_in_openvino_alone() -> None:
    import torch

    class Program(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 6, 2, dropout=0.3, proj_size=3)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    with pytest.raises(ValueError, match=r"aten::lstm: proj_size .*must be 0 .*convert_model"):
        of_onnx(Program())
    model = op.make_reproducible(converted(Program(), "exported"))
    assert [n.get_type_name() for n in model.get_ops()].count("RandomDropout") == 1


def test_a_program_that_is_decomposed_already_is_warned_of_where_it_may_have_drawn() -> None:
    import torch

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 5, 2, dropout=0.4)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    def warned_of(program: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ov.convert_model(program, extension=op.openvino.pytorch_extensions())
        return [str(each.message) for each in caught if "onnx_philox" in str(each.message)]

    x = (torch.tensor(X),)
    for module in (Recurrent(), torch.nn.Dropout(0.5)):
        program = torch.export.export(module.train(), x)
        assert warned_of(program) == []
        (said,) = warned_of(program.run_decompositions())
        assert "pytorch_extensions: The program is decomposed already: torch may have" in said
    assert warned_of(torch.export.export(torch.nn.Linear(4, 2), x).run_decompositions()) == []
