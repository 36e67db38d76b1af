"""Torch's numbers, drawn into memory of another order or read by nothing: `-m engines`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import onnx_philox
from onnx_philox import Pipeline
from tests.common.cases import assert_refused, assert_same_bits, pattern_of
from tests.common.torch_modules import IGNORES, of_a_function

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.torch_numbers.torch_walk.made import Made, X, exported, verdict_of  # noqa: E402

nn = torch.nn
functional = nn.functional
FLAT = pytest.mark.filterwarnings("ignore:.*_flat_weights:UserWarning")
pytestmark = [pytest.mark.engines, IGNORES, FLAT]
SEED = 7


def assert_torch_s_bits(
    forward: Callable[[Any], Any],
    x: Any = X,
    file: Any = None,
    rounded: Any = torch.float32,
) -> None:
    """What a function draws is torch's in both runtimes, to the bit and in its order.

    `rounded` is the type to which answers of f32 are rounded before they are compared.
    """
    file = file or exported(forward, x, verify=False).model_proto
    torch.manual_seed(SEED)
    drawn = forward(x)
    expected = [plain(y) for y in ([drawn] if isinstance(drawn, torch.Tensor) else drawn)]
    narrow = {torch.float16: "float16", torch.bfloat16: "bfloat16"}.get(x.dtype, "float32")
    feeds = {i.name: plain(x).astype(narrow) for i in file.graph.input if i.name == "x"}
    for runtime in ("onnxruntime", "openvino"):
        config = {"config": {"INFERENCE_PRECISION_HINT": "f32"}} if runtime == "openvino" else {}
        ours = Pipeline(file, runtime=runtime, **config)(feeds, seed=SEED)
        for each, torchs in zip(ours.values(), expected, strict=True):
            wide = each.astype(np.float32) if each.dtype.itemsize == 2 else each
            if rounded != torch.float32:
                wide = plain(torch.from_numpy(wide).to(rounded))
            assert_same_bits(np.ascontiguousarray(wide), np.ascontiguousarray(torchs))


def plain(y: Any) -> np.ndarray:
    """As f32, where it is of 16 bits."""
    return (y.float() if y.dtype in (torch.float16, torch.bfloat16) else y).numpy()


def of_16_bits(x: Any) -> Any:
    """By numbers that no type of 16 bits holds."""
    drawn = []
    for dtype in (torch.float16, torch.bfloat16):

        def empty(*size: int, dtype: Any = dtype) -> Any:
            return torch.empty(size, dtype=dtype)

        over = empty(3, 40).uniform_(0.1, 0.7)
        over[1].normal_(-0.1, 0.7)
        lost = empty(20).uniform_(0.1, 0.7)
        lost.zero_()
        drawn += [
            empty(40, 50).uniform_(0.1, 0.7),
            empty(40, 50).t().uniform_(-0.3, 1.1),
            empty(40, 50).uniform_(0.5, 0.75),
            *(empty(n).normal_(0.1, 0.7) for n in (7, 16, 17, 40, 2000)),
            torch.normal(0.1, 0.7, (3, 11), dtype=dtype),
            torch.normal(0.5, 2.0, (33,), dtype=dtype),
            torch.normal(0.1, 0.7, (20,), out=empty(20)),
            over,
            lost,
        ]
    return *drawn, x.relu(), torch.rand(3)


def misstated(x: Any) -> Any:
    """Tensors of which torch's tracer states other strides than a run gives them."""
    turned = x.t()
    deep = x.reshape(4, 2, 3)
    wide = deep.mT + torch.zeros(2, 3, 1).mT.contiguous().mT.reshape(3, 2).sum() * 0
    image = x.reshape(2, 2, 2, 3).mT.contiguous().mT
    found = [
        functional.one_hot((turned > 0).long(), 2) * 1.0,
        torch.isin(turned, x[0]) * 1.0,
        torch.logaddexp(wide, x[:3, :2].t().contiguous().t()),
        torch.logical_and(wide > 0, x[:3, :2].t().contiguous().t() > 0) * 1.0,
        functional.batch_norm(image, None, None, training=True),
    ]
    drawn = [torch.rand_like(each) for each in found]
    drawn += [functional.dropout(each[1:] * 0 + 2, 0.5) for each in found]
    drawn += [torch.rand_like(torch.rand_like(each)) for each in found]
    return *drawn, (torch.isin(turned, x[0]) * 1.0).normal_(), torch.rand(3)


def of_a_size_of_values(x: Any) -> Any:
    is_taken = x[:, 0] > -0.6
    rows = x[is_taken]
    is_above = x > 0
    drawn = (
        torch.rand_like(x[is_above]),
        torch.rand_like(rows.t()),
        functional.dropout(rows.t(), 0.5),
    )
    return (
        *drawn,
        torch.rand_like(functional.one_hot((rows.t() > 0).long(), 2) * 1.0),
        torch.rand(3),
    )


def mapped(x: Any) -> Any:
    def each(y: Any) -> Any:
        return functional.dropout(y + 3), y + torch.randn(6)

    def apart(y: Any) -> Any:
        return *each(y), torch.bernoulli(y.sigmoid()), torch.multinomial(y.exp(), 2)

    drawn = torch.vmap(apart, randomness="different")(x)
    return *drawn, *torch.vmap(each, randomness="same")(x), torch.rand(3)


@pytest.mark.parametrize("forward", [of_16_bits, misstated, of_a_size_of_values, mapped])
def test_draws_are_torch_s_in_the_order_of_memory(forward: Callable[[Any], Any]) -> None:
    program = exported(forward)
    assert program.verdict.is_ok, program.verdict
    assert_torch_s_bits(forward, file=program.model_proto)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_native_dropout_of_16_bits_multiplies_as_torch_does(dtype: Any) -> None:
    def dropped(x: Any) -> Any:
        # As f32: OpenVINO goes on in that where a CPU computes none of 16 bits, and its last Cast
        # to bf16 does not round to nearest there.
        return torch.native_dropout(x, 0.333, True)[0].float()

    x = torch.linspace(-1, 1, 240).to(dtype)
    assert_torch_s_bits(dropped, x, rounded=dtype)


class Kept(Made, runs=lambda: nn.Buffer(torch.zeros(1))):
    """It changes a buffer, returns a dictionary, and reads not all that it draws."""

    def forward(self, input: Any) -> Any:
        self.runs.add_(1)
        torch.randn(3)
        return {"a": functional.dropout(input[0].t(), 0.5) + self.runs, "b": torch.rand(2)}


def in_bodies(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        return i + 1, y + torch.rand_like(y.transpose(1, 2)).transpose(1, 2)

    _, y = torch.while_loop(
        lambda i, _: i < 3,
        step,
        (torch.tensor(0), x),
    )

    def dropped(y: Any, p: float = 0.5) -> Any:
        return functional.dropout(y.transpose(1, 2), p).transpose(1, 2).clone()

    y = torch.cond(
        y.sum() > 1,
        dropped,
        partial(dropped, p=0.4),
        (y,),
    ) + torch.rand(1)

    def misstated(y: Any) -> Any:
        turned = functional.one_hot(((y * 2).mT > 0).long(), 2) * 1.0
        return torch.rand_like(turned)[..., 1].mT.clone()

    def once_more(i: Any, y: Any) -> Any:
        return i + 1, y + misstated(y)

    one_more = torch.while_loop(
        lambda i, _: i < 1,
        once_more,
        (torch.tensor(0), y),
    )
    return torch.cond(y.sum() > 1, misstated, dropped, (y,)) + one_more[1]


MODULES = {
    "encoder": lambda: nn.TransformerEncoderLayer(6, 2, 12, 0.2, batch_first=True),
    "rnn": lambda: nn.RNN(6, 5, 3, dropout=0.5, batch_first=True, bidirectional=True),
    "kept": Kept,
    "bodies": lambda: of_a_function(in_bodies),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_programs_of_them_draw_torch_s_numbers(name: str) -> None:
    torch.manual_seed(1)
    module = MODULES[name]().train()
    x = torch.randn(3, 4, 6)
    capture = torch.export.export
    of_module = exported(module, x)
    assert torch.export.export is capture
    assert of_module.verdict.is_ok, of_module.verdict
    program = torch.export.export(module, (x,), strict=False)
    before = str(program.graph)
    of_program = exported(program, x)
    assert of_program.verdict.is_ok, of_program.verdict
    assert str(program.graph) == before
    assert of_program.verdict.draws == of_module.verdict.draws > 0
    names = [
        [output.name for output in p.model_proto.graph.output] for p in (of_module, of_program)
    ]
    assert names[0] == names[1]


# Of rows, normals of fewer than 16, and of others.
ROWS: dict[str, Callable[[Any], Any]] = {
    "randn_like": lambda x: torch.randn_like(x.permute(1, 0, 2)),
    "normal_": lambda x: torch.empty_like(x.permute(1, 0, 2)).normal_(),
    "few": lambda x: torch.randn_like(x[:, :2, :4].contiguous().permute(2, 0, 1)),
}
OF_ROWS: dict[str, Any] = {
    "dynamic_shapes": ({0: torch.export.Dim("batch", min=1)},),
    "per_row": True,
}
THREE_AXES = torch.linspace(-1, 1, 96).reshape(4, 3, 8)


@pytest.mark.parametrize("name", ROWS)
def test_normals_of_a_row_are_judged_by_the_memory_of_the_row(name: str) -> None:
    verdict_of(ROWS[name], THREE_AXES, **OF_ROWS)


def test_normals_of_a_row_that_do_not_lie_side_by_side_are_refused() -> None:
    with pytest.raises(ValueError, match="normals that do not lie side by side"):
        exported(lambda x: torch.randn_like(x.permute(2, 0, 1)), THREE_AXES, **OF_ROWS)


MANY = "must be contiguous, or of fewer than 16 normals...Call contiguous() on it before the draw"
MAPPED = "got one that vmap maps in another"
SHARED = "must be one with memory of its own for each"
REFUSED = [
    (
        lambda x: torch.randn_like(x.t()),
        "aten::randn_like: ... got one of 24 normals",
    ),
    (
        lambda x: (y := x.clone()).t().normal_().t() + y,
        "aten::normal_: ... got one of 24",
    ),
    (
        lambda x: (y := x.repeat(5, 1))[:, 1].normal_() + y.sum(),
        "got one of 20 normals",
    ),
    (
        lambda x: torch.vmap(lambda y: torch.rand_like(y), 1, randomness="different")(x),
        f"aten::rand_like: ... {MAPPED}",
    ),
    (
        lambda x: torch.vmap(lambda y: functional.dropout(y), 1, randomness="different")(x),
        f"aten::dropout: ... {MAPPED}",
    ),
    (
        lambda x: torch.vmap(lambda y: y.half().uniform_(0.1, 0.7), randomness="different")(x),
        "aten::uniform_: ... exactly inside of vmap",
    ),
    (
        lambda x: torch.empty_strided((4, 6), (2, 1)).bernoulli_(0.5) + x,
        SHARED,
    ),
    (
        lambda x: torch.empty_strided((4, 6), (1, 1)).bernoulli_(0.5) + x,
        SHARED,
    ),
    (
        lambda x: torch.empty_strided((4, 6), (0, 1)).bernoulli_(0.5) + x,
        SHARED,
    ),
]


def few_normals(x: Any) -> Any:
    y = x.clone()
    return y.reshape(24, 1)[::2].normal_().sum() * 0 + y + x


SHARED_BUT_READ: list[Callable[[Any], Any]] = [
    lambda x: torch.rand_like(x) + torch.empty_strided((4, 6), (2, 1)),
    lambda x: torch.rand_like(x) + torch.empty_strided((4, 6), (1, 1)),
    lambda x: torch.rand_like(x) + torch.empty_strided((4, 6), (0, 1)),
]


@pytest.mark.parametrize(("forward", "named"), REFUSED)
def test_draws_that_torch_makes_in_another_order_are_refused(
    forward: Callable[[Any], Any], named: str
) -> None:
    """Many normals into memory that is not contiguous, what vmap maps, and shared elements."""
    said = assert_refused(lambda: exported(forward), named)
    if "normals" in named or "24" in named:
        assert re.search(pattern_of(MANY), said)
        verdict_of(forward, alignment="tensorflow")


def test_few_normals_into_memory_of_another_order_are_torch_s() -> None:
    assert exported(few_normals).verdict.is_ok


@pytest.mark.parametrize("forward", SHARED_BUT_READ)
def test_shared_memory_that_is_only_read_is_exported(forward: Callable[[Any], Any]) -> None:
    # Its numbers are whatever the memory held.
    exported(forward, verify=False)


def test_a_dynamic_batch_has_the_strides_of_a_run_too() -> None:
    def forward(x: Any) -> Any:
        return torch.rand_like(functional.one_hot((x.mT > 0).long(), 2) * 1.0), torch.rand(2)

    module = of_a_function(forward)
    file = exported(module, dynamic_shapes=({0: "batch"},)).model_proto
    larger = torch.linspace(-1, 1, 54).reshape(9, 6)
    verdict = onnx_philox.torch.verify_export(module, (larger,), file)
    assert verdict.is_ok, verdict


class Counting(Made, runs=lambda: nn.Buffer(torch.zeros(1)), norm=lambda: nn.BatchNorm1d(6)):
    """Its strides are misstated, and running it would show."""

    def forward(self, x: Any) -> Any:
        self.runs.add_(1)
        return torch.rand_like(torch.isin(self.norm(x).t(), x[0]) + self.runs)


def test_seeing_the_strides_changes_nothing_of_a_module() -> None:
    module = Counting().train()
    x = X.clone()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    generator = torch.get_rng_state()
    exported(module, x, verify=False)
    assert torch.equal(torch.get_rng_state(), generator)
    assert torch.equal(x, X)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_a_program_that_cannot_be_run_is_warned_of() -> None:
    module = of_a_function(lambda x: torch.rand_like(x.t()))
    program = torch.export.export(module, (X,), strict=False)
    program.example_inputs = None
    with pytest.warns(UserWarning, match="could not be run, .* since it has no example inputs"):
        exported(program, verify=False)


def test_a_program_that_torch_does_not_run_is_warned_of_without_torch_s_advice() -> None:
    def of_column(column: Any) -> Any:
        return torch.rand(2) + column.sum()

    mapped = torch.vmap(of_column, 1, 1, randomness="different")
    with pytest.warns(UserWarning, match="program could not be run, .* torch says") as warned:
        exported(lambda x: mapped(x), verify=False)
    (said,) = (str(each.message) for each in warned if "could not be run" in str(each.message))
    assert "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor). Where" in said


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_floats_of_16_bits_of_a_dynamic_size(dtype: Any) -> None:
    def uniform(x: Any) -> Any:
        # ONNX Runtime expands no bf16, which a transposed tensor of a dynamic size takes.
        like = x.t() if dtype == torch.float16 else x
        # As f32, since OpenVINO goes on in that where a CPU has none of 16 bits.
        return torch.empty_like(like, dtype=dtype).uniform_(0.1, 0.7).float()

    dynamic = {"dynamic_shapes": ({0: "batch"},)}
    module = of_a_function(uniform)
    file = exported(module, **dynamic).model_proto
    larger = torch.linspace(-1, 1, 5400).reshape(900, 6)
    assert onnx_philox.torch.verify_export(module, (larger,), file).is_ok
    assert_torch_s_bits(uniform, larger, file)
    with pytest.raises(ValueError, match=r"its numbers .*: got 0\.1 and"):
        exported(lambda x: torch.empty_like(x, dtype=dtype).normal_(0.1, 0.7), **dynamic)
    verdict_of(lambda x: torch.empty_like(x, dtype=dtype).normal_(0.5, 2), **dynamic)


def test_check_export_finds_a_multinomial_of_transposed_weights() -> None:
    module = of_a_function(lambda x: torch.multinomial(x.exp().t(), 2))
    program = exported(module, verify=False)
    (found,) = onnx_philox.torch.check_export(module, (X,), program)
    assert (found.operation, found.problem) == ("multinomial", None)
    assert found.node is not None
    assert found.node.startswith("RandomExponential")


@pytest.mark.parametrize("size", [(5, 1, 4, 1), (1, 3, 1, 4)])
@pytest.mark.parametrize("draw", ["uniform_", "normal_", "exponential_", "bernoulli_"])
def test_the_stride_of_a_dimension_of_1_changes_no_draw_of_torch_s(
    draw: str, size: tuple[int, ...]
) -> None:
    from onnx_philox._torch.exporter.memory_order import lie_of

    wide = [i for i, n in enumerate(size) if n > 1]
    for order in itertools.permutations(wide):
        strides = dict.fromkeys(range(len(size)), 0)
        reach = 1
        for i in reversed(order):
            strides[i], reach = reach, reach * size[i]
        lies = []
        drawn = set()
        for narrow in itertools.product((0, 1, 3, 1000), repeat=len(size) - len(wide)):
            own = strides | dict(zip(sorted({0, 1, 2, 3} - {*wide}), narrow, strict=True))
            x = torch.empty_strided(size, [own[i] for i in range(len(size))])
            lies.append(lie_of(x))
            for each in (x, torch.empty_like(x)):
                torch.manual_seed(SEED)
                drawn.add(getattr(each, draw)().numpy().tobytes())
        assert len(drawn) == 1
        assert lies == lies[:1] * len(lies)
