"""`onnx_philox.torch`: what torch's own exporter makes of it, in both runtimes: `-m engines`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import scipy

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.torch_modules import IGNORES, by_torch, of_a_function

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.torch_numbers.torch_walk import made  # noqa: E402

d = torch.distributions
functional = torch.nn.functional
STATE = PhiloxState.for_run(42)
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

pytestmark = [pytest.mark.engines, IGNORES]


def exported(forward: Callable[..., Any], **options: Any) -> onnx.ModelProto:
    """The file of a function of X, with Philox's numbers."""
    options = {"alignment": "tensorflow", "verify": False, **options}
    return made.exported(forward, torch.tensor(X), **options).model_proto


def answers(model: onnx.ModelProto) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What both runtimes give for a seed."""
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    pipes = Pipeline(model), Pipeline(model, runtime="openvino", config=config)
    one, other = (pipe({"x": X}, seed=42) for pipe in pipes)
    return list(one.values()), [other[name] for name in one]


def drawn(operator: str, stream: int, *arguments: Any, **keywords: Any) -> np.ndarray:
    function = getattr(reference, f"random_{operator}")
    return function(*arguments, op_seed=stream, state=STATE.to_array(), **keywords)[0]


def test_what_openvino_refuses_of_a_file_names_the_call_of_torch_s() -> None:
    model = exported(lambda x: torch.bernoulli(x.abs().double()))
    said = r"(?s)RandomBernoulli\): aten::bernoulli 0.*'p' must be a constant"
    with pytest.raises(RuntimeError, match=said):
        Pipeline(model, runtime="openvino")({"x": X}, seed=42)


def test_tiny_parameters_of_a_beta_give_no_nan() -> None:
    """In ONNX Runtime: OpenVINO's plugin computes with no f64."""

    def shares(x: torch.Tensor) -> torch.Tensor:
        few = torch.full((10**6,), 0.01)
        return d.Beta(few, few, validate_args=False).sample() + 0 * x.sum()

    (tiny,) = Pipeline(exported(shares))({"x": X}, seed=42).values()
    # Nearly all are close to 0 or 1, as many to either.
    assert tiny.min() >= 0
    assert tiny.max() <= 1
    assert abs(tiny.mean(dtype=np.float64) - 0.5) < 5 * np.sqrt(0.25 / 1.02 / 10**6)


def test_an_export_with_the_translation_table_alone_is_completed_by_a_rewrite() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x - x + torch.randn_like(x)

    table = onnx_philox.torch.translations()
    model = by_torch(of_a_function(forward), torch.tensor(X), custom_translation_table=table)
    assert [i.name for i in model.graph.input] == ["x"]
    for (answer,) in answers(make_reproducible(model)):
        expected = drawn("normal", 0, [3, 4], 0, 1, "f32")
        assert_same_bits(answer, expected)


def test_what_the_export_would_lose_is_said() -> None:
    x = (torch.tensor(X),)
    with pytest.warns(UserWarning, match="its dropout is in evaluation mode: call train"):
        onnx_philox.torch.export(torch.nn.Dropout(0.5).eval(), x, verbose=False)
    with pytest.warns(UserWarning, match="noise that NumPy or __init__ makes is a constant"):
        exported(lambda x: x + torch.tensor(np.random.default_rng(1).normal(size=4)))
    with pytest.raises(ValueError, match=r"dynamo must be True, or left out.*: got False"):
        onnx_philox.torch.export(torch.nn.Dropout(0.5), x, dynamo=False)


def test_the_check_names_what_torch_s_exporter_loses_and_alters() -> None:
    class Program(
        made.Made,
        weight=lambda: torch.nn.Parameter(torch.ones(4, 4)),
        drop=lambda: torch.nn.Dropout(0.5),
        attention=lambda: torch.nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True),
    ):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            return [
                x @ functional.dropout(self.weight, 0.5),
                torch.stack([self.drop(x) for _ in range(5)]),
                torch.normal(0.0, x.abs()),
                self.attention(x[None], x[None], x[None], need_weights=False)[0],
                torch.randn_like(x),
            ]

    x = (torch.tensor(X),)
    check = onnx_philox.torch.check_export
    with pytest.raises(
        ValueError, match="must be one with every draw of the program: got one that does not"
    ) as refused:
        check(Program(), x, by_torch(Program(), *x))
    place = r" \(test_torch_export.py:\d+{}\) "
    for lost in (
        r"dropout of \[4, 4\]" + place.format("") + "lost",
        r"4 of 5 dropout of \[3, 4\]" + place.format(" in 'drop'") + "lost",
        r"normal of \[3, 4\]" + place.format("") + "drawn as 1 number",
        r"of \[1, 2, 3, 3\]" + place.format(" in 'attention'") + "lost",
    ):
        assert re.search(lost, str(refused.value)), lost
    assert "randn_like" not in str(refused.value)

    kept = onnx_philox.torch.export(Program(), x, verbose=False)
    draws = check(Program(), x, kept)
    assert [draw.shape for draw in draws].count((3, 4)) == 7
    assert len({draw.node for draw in draws}) == len(draws) == 9


def test_the_check_finds_what_was_drawn_with_replacement_or_is_gone_from_a_file(
    tmp_path: Path,
) -> None:
    def forward(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.rand_like(x), torch.multinomial(x.abs() + 1, 2)]

    module = of_a_function(forward)
    x = (torch.tensor(X),)
    check = onnx_philox.torch.check_export
    model = by_torch(module, *x)
    with pytest.raises(ValueError, match=r"multinomial of \[3, 2\] .* drawn with replacement"):
        check(module, x, model)
    for node in model.graph.node:
        # As another exporter writes it.
        node.ClearField("metadata_props")
    del model.graph.node[[n.op_type for n in model.graph.node].index("Multinomial")]
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(
        ValueError,
        match=r"must be one with every draw of the program: got one that does not .*multinomial",
    ):
        check(module, x, tmp_path / "m.onnx")


def test_an_operation_without_a_translation_is_named_with_its_line() -> None:
    class Program(torch.nn.Module):  # torch records no lines of a function alone
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.function(x[:, :3] + torch.rand(3, 3))

    program = Program()
    # The last two are parts of calls, which the exporter takes apart.
    for name, function in {
        "aten::linalg_eig": lambda x: torch.linalg.eig(x)[0].real,
        "aten::linalg_cholesky_ex": torch.linalg.cholesky,
        "prims::erf_inv": torch.erfinv,
    }.items():
        program.function = function
        said = rf"got {name} \(test_torch_export.py:\d+\), which has no translation"
        with pytest.raises(ValueError, match=said):
            onnx_philox.torch.export(program, (torch.tensor(X),), verbose=False)


def test_an_operation_inside_another_has_its_own_name_and_the_line_of_the_caller() -> None:
    class NoGrad(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                noise = torch.randn_like(x)
            return x + noise

    class Branches(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            def add(a: torch.Tensor) -> torch.Tensor:
                return a + torch.randn_like(a)

            return torch.cond(x.sum() > 0, add, torch.rand_like, (x,))

    def found(module: torch.nn.Module) -> list[tuple[str, str]]:
        x = (torch.ones(2, 3),)
        program = onnx_philox.torch.export(module, x, verbose=False)
        draws = onnx_philox.torch.check_export(module, x, program)
        return [(draw.operation, draw.where.partition(":")[0]) for draw in draws]

    # Torch forgets the lines inside no_grad.
    assert found(NoGrad()) == [("randn_like", "")]
    here = Path(__file__).name
    expected = [("randn_like", here), ("rand_like", here)]
    assert found(Branches()) == expected


def test_distributions_that_ask_for_checks_export_and_are_verified() -> None:
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        normal = d.Independent(d.Normal(x, x.exp(), validate_args=True), 1, validate_args=True)
        return normal.rsample(), d.Categorical(x.exp(), validate_args=True).sample()

    module = of_a_function(forward)
    x = torch.tensor(X)
    begin = d.Distribution.__init__
    checks = d.Distribution._validate_args
    for alignment in ("tensorflow", "pytorch"):
        program = made.exported(module, x, alignment=alignment)
        assert program.verdict.is_ok, program.verdict
        assert not program.verdict.notes
        onnx_philox.torch.check_export(module, (x,), program)
    assert d.Distribution.__init__ is begin
    assert d.Distribution._validate_args is checks


def logistic(loc: Any) -> Any:
    t = torch.normal(loc, loc + 1) - torch.arange(loc.shape[-1], 0, -1).log()
    stick = functional.pad(
        functional.logsigmoid(-t).cumsum(-1).exp(),
        (1, 0),
        value=1,
    )
    return (
        functional.pad(
            torch.sigmoid(t),
            (0, 1),
            value=1,
        )
        * stick
    )


def low_rank(loc: Any) -> Any:
    drawn = torch.randn(*loc.shape[:-1], 3) @ FACTOR.T
    return loc + drawn + DIAGONAL.sqrt() * torch.randn_like(loc)


TRIL = torch.tensor([[2.0, 0], [1, 1]])
FACTOR = torch.ones(2, 3)
DIAGONAL = torch.ones(2) * 2
Draw = Callable[[Any], Any]
# What a page or a refusal names in place of a draw of numbers, and that draw of torch's.
NUMBERS_INSTEAD: dict[str, tuple[Draw, Draw]] = {
    "Beta": (
        lambda x: d.Beta(x, x + 1).sample(),
        lambda x: d.Beta(x, x + 1).sample(),
    ),
    "Dirichlet": (
        lambda x: d.Dirichlet(x).sample(),
        lambda x: d.Dirichlet(x).sample(),
    ),
    "MultivariateNormal": (
        lambda x: d.MultivariateNormal(x, scale_tril=TRIL).sample(),
        lambda x: d.MultivariateNormal(x, TRIL @ TRIL.T).sample(),
    ),
    "LowRankMultivariateNormal": (
        low_rank,
        lambda x: d.LowRankMultivariateNormal(x, FACTOR, DIAGONAL).sample(),
    ),
    "LogisticNormal": (
        logistic,
        lambda x: d.LogisticNormal(x, x + 1).sample(),
    ),
    "geometric_": (
        lambda x: torch.poisson(torch.empty_like(x).exponential_(0.3 / 0.7)) + 1,
        lambda x: torch.empty_like(x).geometric_(0.3),
    ),
}
# Likewise of classes, of which each may be drawn again, or is drawn once.
CLASSES_INSTEAD: dict[str, tuple[Draw, Draw]] = {
    "again": (
        lambda x: torch.multinomial(x[:, 0].expand(x.shape[0], -1), 1),
        lambda x: torch.multinomial(x[:, 0], x.shape[0], replacement=True)[:, None],
    ),
    "once": (
        lambda x: (
            ((p := x[:, :1]).clone().exponential_() / p)
            .topk(x.shape[0] // 2, 0, largest=False)
            .indices
        ),
        lambda x: torch.multinomial(x[:, 0], x.shape[0] // 2)[:, None],
    ),
}


def drawn_of_a_batch(
    ours: Draw,
    torch_s: Draw,
    x: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """What a model of ours draws, exported for a batch of any size, and what torch draws."""
    example = torch.rand(6, 2) + 0.5
    batch = ({0: torch.export.Dim("batch", min=4)},)
    options: Any = {"alignment": "tensorflow", "verify": False, "dynamic_shapes": batch}
    model = made.exported(ours, example, **options).model_proto
    (drawn,) = Pipeline(model)({model.graph.input[0].name: x}, seed=1).values()
    expected = torch_s(torch.tensor(x)).numpy()
    assert drawn.shape == expected.shape
    return drawn, expected


@pytest.mark.parametrize("name", NUMBERS_INSTEAD)
def test_the_replacement_that_a_refusal_names_draws_the_same_distribution(
    name: str,
) -> None:
    ours, torch_s = NUMBERS_INSTEAD[name]
    x = np.tile(np.float32([0.7, 1.4]), (20_000, 1))
    drawn, expected = drawn_of_a_batch(ours, torch_s, x)
    for column in range(drawn.shape[1]):
        assert scipy.stats.ks_2samp(drawn[:, column], expected[:, column]).pvalue > 1e-6
    assert np.allclose(
        np.corrcoef(drawn.T),
        np.corrcoef(expected.T),
        atol=0.05,
    )


@pytest.mark.parametrize("name", CLASSES_INSTEAD)
def test_what_is_named_in_place_of_multinomial_draws_classes_by_their_weights(name: str) -> None:
    ours, torch_s = CLASSES_INSTEAD[name]
    x = np.tile(np.float32([0.7, 1.4]), (20_000, 1))
    # Half of the classes are twice as likely as the others.
    x[::2] *= 2
    drawn, expected = drawn_of_a_batch(ours, torch_s, x)
    assert abs((drawn % 2).mean() - (expected % 2).mean()) < 0.02
    is_without_repeats = len(np.unique(drawn)) == len(drawn)
    assert is_without_repeats == (name == "once")


INSTEAD = [
    (
        lambda x: x[:, 0].abs().multinomial(x.shape[0], replacement=True),
        "multinomial: argument 'num_samples' must be ...expand(n, -1), 1)",
    ),
    (
        lambda x: x[:, 0].abs().multinomial(x.shape[0]),
        "multinomial: argument 'num_samples' must be ...exponential_() / weights",
    ),
    (
        lambda x: x.clone().geometric_(0.3),
        "the call must be another one, since ...: got geometric...poisson",
    ),
]


@pytest.mark.parametrize(("call", "said"), INSTEAD)
def test_an_operator_without_a_draw_is_refused_with_one_that_has_it(call: Draw, said: str) -> None:
    shapes = ({0: torch.export.Dim("batch")},)
    assert_refused(lambda: exported(call, dynamic_shapes=shapes), said)


def test_beta_and_dirichlet_are_refused_by_name_in_openvino() -> None:
    for draw in (lambda a: d.Beta(a, a).sample(), lambda a: torch._sample_dirichlet(a)):
        file = exported(draw)
        feed = {file.graph.input[0].name: np.full((3, 4), 0.7, np.float32)}
        assert len(Pipeline(file)(feed, seed=1))
        with pytest.raises(ValueError, match=r"without aten::_sample_dirichlet in OpenVINO"):
            Pipeline(file, runtime="openvino")
