"""`onnx_philox.torch.verify_export`, with `-m engines`: outputs are torch's in both runtimes; of
Philox numbers, rows, types of 16 bits, and what a model cannot repeat."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import onnx_philox
from tests.common.cases import pattern_of
from tests.common.torch_modules import IGNORES, by_torch, of_a_function

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")


from tests.torch_numbers.torch_walk.made import Made, X, exported, verdict_of  # noqa: E402
from tests.torch_numbers.torch_walk.modules import MODULES as WHOLE  # noqa: E402
from tests.torch_numbers.torch_walk.walking import values  # noqa: E402

nn = torch.nn
functional = nn.functional
pytestmark = [pytest.mark.engines, pytest.mark.newest_torch, IGNORES]
Draw = Callable[[Any], Any]


class Block(Made, layer=lambda: nn.TransformerEncoderLayer(6, 2, 12, 0.2, batch_first=True)):
    """A block of a transformer, whose every part drops."""

    def forward(self, x: Any) -> Any:
        return self.layer(x[None])


def in_a_loop(x: Any) -> Any:
    def more(i: Any, _: Any) -> Any:
        return i < 5

    def step(i: Any, y: Any) -> Any:
        return i + 1, y + 0.1 * torch.randn_like(y)

    steps, y = torch.while_loop(more, step, (torch.tensor(0), x))
    return y + torch.rand_like(y), steps


def in_a_branch(x: Any) -> Any:
    y = torch.cond(
        x.sum() > 1, lambda y: y + torch.rand_like(y), lambda y: y * torch.randn_like(y), (x,)
    )
    return y + torch.randn(6)


def one_branch_draws(x: Any) -> Any:
    y = torch.cond(
        x.sum() > 1,
        lambda y: y + torch.rand_like(y),
        lambda y: y * 2,
        (x,),
    )
    return y, torch.randn(3)


IN_BODIES = {each.__name__: each for each in (in_a_loop, in_a_branch, one_branch_draws)}
# As far from each other as they are: `torch_walk` runs all.
WALKED = [
    "Vae",
    "McDropout",
    "CausalAttention",
    "Encoder, batch first",
    "LSTM classifier",
    "TokenSampler",
    "GumbelTopK",
    "Diffusion",
    "CropAndFlip",
    "MaskedTokens",
    "GibbsChain",
    "SelfNormalising",
    "DiscretePolicy",
    "SpecAugment",
]
EXAMPLE = values(3)


def made(name: str) -> nn.Module:
    torch.manual_seed(1)
    given = WHOLE[name].make() if name in WHOLE else of_a_function(IN_BODIES[name])
    return given.train()


@pytest.mark.parametrize("name", [*WALKED, *IN_BODIES])
def test_outputs_and_the_generator_s_end_are_torch_s_in_both_runtimes(name: str) -> None:
    module = made(name)
    before = torch.get_rng_state()
    kept = {key: value.clone() for key, value in module.state_dict().items()}
    verdict = verdict_of(module, EXAMPLE if name in WHOLE else X)
    assert [ran.runtime.split()[0] for ran in verdict.runtimes] == ["onnxruntime", "openvino"]
    assert verdict.draws > 0
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, kept[key]) for key, value in module.state_dict().items())


def test_a_draw_that_another_exporter_folds_is_named_with_its_line() -> None:
    weight = torch.ones(6, 3)

    def forward(x: Any) -> Any:
        return torch.rand_like(x), x @ functional.dropout(weight, 0.5, training=True)

    module = of_a_function(forward)
    file = by_torch(module.eval(), X)
    verdict = onnx_philox.torch.verify_export(module, (X,), file, seed=7)
    assert not verdict.is_ok
    assert (verdict.seed, verdict.draws) == (7, 1)
    assert "dropout of [6, 3] (test_torch_verify.py:" in str(verdict)
    assert "lost" in str(verdict)


@pytest.mark.parametrize("number", [-1e-3, float("nan"), "0.1"])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_a_tolerance_is_a_number_from_0_on(name: str, number: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number, 0 or more: got "):
        onnx_philox.torch.verify_export(
            made("Vae"),
            (EXAMPLE,),
            "no.onnx",
            **{name: number},
        )


def test_what_this_torch_draws_by_other_means_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = of_a_function(lambda x: torch.rand_like(x))
    file = exported(module, verify=False).model_proto
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    verdict = onnx_philox.torch.verify_export(module, (X,), file)
    assert verdict.is_ok, "uniforms are the same"
    assert "without AVX2" in verdict.notes[0]


def test_the_numbers_of_an_f16_module_are_verified_in_both_runtimes() -> None:
    def forward(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return i + 1, y + torch.rand_like(y)

        _, y = torch.while_loop(
            lambda i, _: i < 3,
            step,
            (torch.tensor(0), x),
        )
        return functional.dropout(y + torch.randn_like(x), 0.5), torch.rand(40, dtype=x.dtype)

    module = of_a_function(forward)
    args = torch.ones(2, 20, dtype=torch.float16)
    for alignment in ("pytorch", "tensorflow"):
        verdict = verdict_of(module, args, alignment=alignment)
        assert len(verdict.runtimes) == 2 or alignment == "tensorflow"
    other = of_a_function(lambda x: [y + torch.rand(3).sum() for y in forward(x)])
    file = exported(module, args, verify=False)
    assert not onnx_philox.torch.verify_export(other, (args,), file).is_ok


@pytest.mark.parametrize(
    ("call", "type_", "alignment", "compared", "said"),
    [
        (
            lambda x: x + torch.rand_like(x),
            torch.bfloat16,
            "pytorch",
            "openvino",
            "Could not find an implementation for Add...nothing was compared there",
        ),
        *(
            (
                lambda x: torch.bernoulli(torch.sigmoid(x).double()),
                torch.float32,
                alignment,
                "onnxruntime",
                "openvino...does not load the model: ...Cast p to f32. So nothing was compared",
            )
            for alignment in ("pytorch", "tensorflow")
        ),
    ],
)
def test_what_one_runtime_does_not_load_is_named_and_the_other_is_compared(
    call: Draw, type_: Any, alignment: str, compared: str, said: str
) -> None:
    verdict = verdict_of(call, X.to(type_), alignment=alignment)
    assert [ran.runtime.split()[0] for ran in verdict.runtimes] == [compared]
    assert sum(re.search(pattern_of(said), note) is not None for note in verdict.notes) == 1


def test_a_model_that_no_runtime_loads_is_not_compared() -> None:
    module = of_a_function(lambda x: torch.rand_like(x))
    file = exported(module, verify=False).model_proto
    (rand,) = (node for node in file.graph.node if node.domain == "onnx_philox")
    node = file.graph.node.add(
        op_type="NoSuchOperator",
        input=[rand.output[0]],
        output=["none"],
    )
    file.graph.output.add().CopyFrom(file.graph.output[0])
    file.graph.output[-1].name = node.output[0]
    verdict = onnx_philox.torch.verify_export(module, (X,), file)
    assert not verdict.is_ok
    assert verdict.runtimes == ()
    assert str(verdict).startswith("Not compared, seed 42.")
    assert sum("NoSuchOperator" in note for note in verdict.notes) == 2


def test_a_verdict_without_a_draw_says_that_nothing_was_drawn() -> None:
    with pytest.warns(UserWarning, match="draws nothing"):
        program = exported(lambda x: x + 1)
    assert str(program.verdict).startswith("Nothing was drawn, seed 42.")
    assert "its outputs equal torch's" in str(program.verdict)
    assert "draws equal" not in str(program.verdict)


class _Recurrent(Made, lstm=lambda: nn.LSTM(6, 5, 2, dropout=0.4)):
    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


@pytest.mark.parametrize("table", [None, {}])
@pytest.mark.filterwarnings("ignore:The tensor attribute")
def test_a_program_that_is_decomposed_already_is_named_by_export_and_by_the_verdict(
    table: Any,
) -> None:
    unread = of_a_function(lambda x: (torch.rand(3), torch.rand_like(x))[1])
    for module, draws in ((_Recurrent().train(), 0), (unread, 1)):
        program = torch.export.export(module, (X,)).run_decompositions(table)
        for alignment in ("pytorch", "tensorflow"):
            with pytest.warns(UserWarning, match="torch may have taken draws away") as warned:
                made = exported(program, alignment=alignment)
            said = [str(w.message) for w in warned if "onnx_philox" in str(w.message)]
            assert len(said) == 1, said
            assert "torch.export: The program is decomposed already: " in said[0]
            assert "decomposed already" in made.verdict.notes[0]
            if table is None:
                assert made.verdict.draws == draws
            direct = onnx_philox.torch.verify_export(program, (X,), made)
            assert "decomposed already" in direct.notes[0]


@pytest.mark.parametrize("alignment", ["pytorch", "tensorflow"])
def test_rows_are_verified_row_by_row(alignment: str) -> None:
    def forward(x: Any) -> Any:
        noise = torch.randn_like(x) + functional.dropout(x, 0.3)
        return torch.multinomial(torch.softmax(noise, -1), 1), noise, torch.rand(x.shape[0], 20)

    options: dict[str, Any] = {"alignment": alignment, "dynamic_shapes": ({0: "batch"},)}
    program = exported(forward, per_row=True, **options)
    assert program.verdict.is_ok, program.verdict
    assert len(program.verdict.runtimes) == 2
    other = of_a_function(lambda x: [y + 1.0 * (y > 10) for y in forward(x + 0.5)])
    verdict = onnx_philox.torch.verify_export(other, (X,), program.model_proto)
    assert not verdict.is_ok


def test_a_module_that_needs_a_whole_batch_is_refused_for_rows_of_torch_s() -> None:
    module = nn.Sequential(nn.BatchNorm1d(6), nn.Dropout(0.5)).train()
    with pytest.raises(
        ValueError, match=r"must be one that runs with one row.*: got one that says"
    ):
        exported(module, per_row=True, dynamic_shapes=({0: "batch"},))


@pytest.mark.parametrize("name", ["Vae", "McDropout", "Encoder, batch first", "TokenSampler"])
def test_philox_numbers_are_the_reference_s_and_outputs_are_torch_s_of_them(name: str) -> None:
    verdict = verdict_of(made(name), EXAMPLE, alignment="tensorflow")
    assert verdict.draws > 0
    assert "equal torch's, of draws that equal the reference's" in str(verdict)
    assert not verdict.notes


def test_distributions_made_of_other_draws_are_verified_with_philox_numbers() -> None:
    def forward(x: Any) -> Any:
        positive = torch.empty_like(x)
        drawn = positive.log_normal_(0.5, 0.2), torch.empty_like(x).cauchy_(1, 2)
        return *drawn, torch.poisson(x.abs() * 20), torch._standard_gamma(x.abs() + 0.1)

    assert not verdict_of(forward, alignment="tensorflow").notes


@pytest.mark.parametrize("make", [in_a_loop, in_a_branch])
def test_outputs_of_philox_numbers_in_a_loop_are_not_compared_and_the_verdict_says_so(
    make: Any,
) -> None:
    verdict = verdict_of(make, alignment="tensorflow")
    assert "The outputs were not compared with torch's" in verdict.notes[0]
    assert str(verdict).startswith("Not wholly compared, seed 42.\n")
    assert "its outputs equal torch's" not in str(verdict)


def test_a_file_that_draws_more_than_its_module_fails_the_verdict() -> None:
    module = made("Vae")
    file = exported(module, EXAMPLE, verify=False, alignment="tensorflow").model_proto
    other = of_a_function(lambda x: x * 1000)
    verdict = onnx_philox.torch.verify_export(other, (EXAMPLE,), file)
    assert not verdict.is_ok
    assert (
        "does not draw what the module draws: the module makes fewer draws than the model."
        in str(verdict)
    )


def set(x: Any) -> Any:
    first = torch.rand_like(x)
    torch.manual_seed(3)
    return first + torch.rand_like(x)


def forked(x: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        first = torch.rand_like(x)
    return first + torch.rand_like(x)


@pytest.mark.parametrize("forward", [set, forked])
def test_a_module_that_sets_the_generator_is_named_by_export_and_by_the_verdict(
    forward: Any,
) -> None:
    module = of_a_function(forward)
    watched = torch.random.default_generator
    before = torch.get_rng_state()
    said = r"sets torch's generator in forward.*as torch.manual_seed and fork_rng do.*Take the call"
    with pytest.warns(UserWarning, match=said):
        file = exported(module, verify=False).model_proto
    assert torch.random.default_generator is watched
    assert torch.equal(torch.get_rng_state(), before)
    if forward is set:
        verdict = onnx_philox.torch.verify_export(module, (X,), file)
        assert not verdict.is_ok
        assert "The module sets torch's generator itself" in str(verdict)


def test_draws_in_a_scan_are_torch_s() -> None:
    from torch._higher_order_ops.scan import scan

    def step(sum: Any, row: Any) -> Any:
        return sum + torch.rand_like(row), row + torch.randn(3).sum()

    verdict_of(lambda x: (*scan(step, x[0] * 0, x), torch.rand(3)))


def test_a_draw_in_a_map_or_in_a_scan_of_pairs_is_refused_by_name() -> None:
    from torch._higher_order_ops.associative_scan import associative_scan
    from torch._higher_order_ops.map import map

    def noisy(*rows: Any) -> Any:
        return sum(rows) + torch.rand_like(rows[0])

    with pytest.raises(ValueError, match=r"got higher_order::map.*, which has no translation"):
        exported(lambda x: map(noisy, x))
    with pytest.raises(ValueError, match=r"got one in vmap or associative_scan\. Pass randomness"):
        exported(lambda x: associative_scan(noisy, x, 0, combine_mode="generic"))


def test_a_batchnorm_in_training_is_named() -> None:
    class Norm(Made, norm=lambda: nn.BatchNorm1d(6)):
        def forward(self, x: Any) -> Any:
            return functional.dropout(self.norm(x), 0.5)

    with pytest.warns(UserWarning, match="'norm' is a BatchNorm in training"):
        verdict = exported(Norm().train()).verdict
    assert verdict.draws == 1
    assert not verdict_of(Norm().eval()).notes


@pytest.mark.parametrize("alignment", ["pytorch", "tensorflow"])
def test_dropouts_that_torch_passes_over_are_named(alignment: str) -> None:
    """By the usual recipe: eval(), then the Dropout modules in training."""
    module = Block().eval()
    for each in module.modules():
        each.train(isinstance(each, nn.Dropout))
    with pytest.warns(UserWarning, match="'layer' is an encoder layer in evaluation whose drop"):
        assert not exported(module, alignment=alignment).verdict.is_ok
    assert not verdict_of(module.train(), alignment=alignment).notes


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_rounding_of_an_autocast_is_no_difference(dtype: Any) -> None:
    class Cast(Made, first=lambda: nn.Linear(64, 64), second=lambda: nn.Linear(64, 64)):
        def forward(self, x: Any) -> Any:
            with torch.autocast("cpu", dtype=dtype):
                return self.second(functional.dropout(self.first(x + torch.randn_like(x)))).float()

    torch.manual_seed(1)
    for alignment in ("pytorch", "tensorflow"):
        verdict_of(
            Cast().train(),
            10 * torch.ones(64, 64),
            alignment=alignment,
        )


def test_a_draw_that_differs_by_its_strides_says_so() -> None:
    module = of_a_function(lambda x: torch.rand_like(x.t()))
    with pytest.warns(UserWarning, match="draws like a transposed tensor") as warned:
        verdict = onnx_philox.torch.verify_export(module, (X,), by_torch(module.eval(), X))
    assert __file__ in [w.filename for w in warned if "transposed tensor" in str(w.message)]
    assert "its numbers are torch's in another order, as by" in str(verdict.runtimes[0].problem)


OTHERS: list[tuple[Draw, Draw, dict[str, Any], str]] = [
    *(
        (lambda x: x + torch.rand_like(x), other, {"seed": 3, "alignment": alignment}, said)
        for alignment in ("pytorch", "tensorflow")
        for other, said in (
            (
                lambda x: 2 * x + torch.rand_like(x),
                "seed 3...differs by up to 1, beyond rtol 0.001",
            ),
            (
                lambda x: x + torch.rand_like(x) + functional.dropout(x, 0.5),
                "dropout of [4, 6]...lost",
            ),
        )
    ),
    (
        lambda x: (torch.rand(5), x),
        lambda x: (torch.rand(5), x + 0 * torch.rand(21).sum()),
        {},
        "After the run its generator is in another state than torch's.",
    ),
    (
        lambda x: torch.rand_like(x.t()),
        lambda x: torch.rand_like(x.t().contiguous()),
        {},
        "its numbers are torch's in another order, as by other strides of a draw",
    ),
]


@pytest.mark.parametrize(("call", "other", "options", "said"), OTHERS)
def test_a_file_is_its_module_s_and_how_it_differs_from_another_s_is_named(
    call: Draw,
    other: Draw,
    options: dict[str, Any],
    said: str,
) -> None:
    modules = [of_a_function(each) for each in (call, other)]
    file = exported(modules[0], verify=False, **options).model_proto
    own, of_other = (onnx_philox.torch.verify_export(each, (X,), file) for each in modules)
    assert own.is_ok, own
    assert own.draws == 1
    assert not of_other.is_ok
    assert re.search(pattern_of(said), str(of_other)), of_other
