"""Modules that carry noise from call to call, which no file does: `-m engines`."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import onnx_philox
from tests.common.torch_modules import IGNORES

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from tests.torch_numbers.torch_walk.made import exported  # noqa: E402

nn = torch.nn
functional = torch.nn.functional
pytestmark = [
    pytest.mark.engines,
    pytest.mark.newest_torch,
    IGNORES,
    # torch's, of attributes that are no buffers.
    pytest.mark.filterwarnings("ignore:The tensor attribute"),
]
X = torch.linspace(-1, 1, 6).reshape(2, 3)


class Keeping(nn.Module):
    """A module of a function of itself and x, in a submodule, with buffers or other attributes."""

    def __init__(
        self,
        function: Callable[..., Any],
        buffers: dict[str, Any],
        attributes: dict[str, Any],
    ) -> None:
        super().__init__()
        self.function = function
        for name, buffer in buffers.items():
            # What no checkpoint holds, too.
            persistent = len(name) % 2 == 0
            self.register_buffer(name, buffer, persistent=persistent)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def with_buffers(function: Callable[..., Any], **buffers: Any) -> Any:
    return nn.Sequential(Keeping(function, buffers, {})).train()


def with_attributes(function: Callable[..., Any], **attributes: Any) -> Any:
    return nn.Sequential(Keeping(function, {}, attributes)).train()


def assigned(m: Any, x: Any) -> Any:
    m.prev = 0.9 * m.prev + torch.randn_like(x)
    return x + m.prev


def copied(m: Any, x: Any) -> Any:
    m.prev.copy_(0.9 * m.prev + torch.randn_like(x))
    return x + m.prev


def through_another(m: Any, x: Any) -> Any:
    m.first.add_(torch.randn_like(x))
    m.second.add_(m.first)
    return x + m.second


def a_schedule_of_deviations(m: Any, x: Any) -> Any:
    m.deviation.mul_(0.9)
    return x + m.deviation * torch.randn_like(x)


def a_schedule_of_probabilities(m: Any, x: Any) -> Any:
    m.p.mul_(0.9)
    return x * torch.bernoulli(m.p.expand_as(x))


def counted_deviation(m: Any, x: Any) -> Any:
    m.steps += 1
    return x + torch.randn_like(x) / m.steps


def in_a_list(m: Any, x: Any) -> Any:
    m.kept[0] = 0.9 * m.kept[0] + torch.randn_like(x)
    return x + m.kept[0]


def in_a_dict(m: Any, x: Any) -> Any:
    m.kept["noise"] = m.kept["noise"] + torch.randn_like(x)
    return x + m.kept["noise"]


def appended(m: Any, x: Any) -> Any:
    m.kept.append(torch.randn_like(x))
    return x + sum(m.kept)


def drawn_once(m: Any, x: Any) -> Any:
    if m.mask is None:
        m.mask = torch.bernoulli(torch.full_like(x, 0.5))
    return x * m.mask


def chosen_by_a_counter(m: Any, x: Any) -> Any:
    m.calls += 1
    return x + (torch.randn_like(x) if m.calls % 2 else torch.rand_like(x))


def dropout_of_a_schedule(m: Any, x: Any) -> Any:
    m.p += 0.1
    return functional.dropout(x, m.p)


def trained_by_noise() -> Any:
    class Drifting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x: Any) -> Any:
            self.weight.add_(torch.randn(3))
            return x * self.weight

    return nn.Sequential(Drifting())


ZEROS = torch.zeros(2, 3)
CARRIED: dict[str, tuple[Callable[[], Any], str]] = {
    "assigned": (
        lambda: with_buffers(assigned, prev=ZEROS.clone()),
        "'0.prev'",
    ),
    "copied": (
        lambda: with_buffers(copied, prev=ZEROS.clone()),
        "'0.prev'",
    ),
    "through another": (
        lambda: with_buffers(through_another, first=ZEROS.clone(), second=ZEROS.clone()),
        "'0.first' and '0.second'",
    ),
    "deviations": (
        lambda: with_buffers(a_schedule_of_deviations, deviation=torch.ones(3)),
        "'0.deviation'",
    ),
    "probabilities": (
        lambda: with_buffers(a_schedule_of_probabilities, p=torch.ones(3)),
        "'0.p'",
    ),
    "a counter of deviations": (
        lambda: with_buffers(counted_deviation, steps=torch.zeros(())),
        "'0.steps'",
    ),
    "a parameter": (trained_by_noise, "'0.weight'"),
    "an attribute": (
        lambda: with_attributes(assigned, prev=ZEROS.clone()),
        "'0.prev'",
    ),
    "a list": (
        lambda: with_attributes(in_a_list, kept=[ZEROS.clone()]),
        "'0.kept'",
    ),
    "a dict": (
        lambda: with_attributes(in_a_dict, kept={"noise": ZEROS.clone()}),
        "'0.kept'",
    ),
    "a deque": (
        lambda: with_attributes(appended, kept=deque(maxlen=2)),
        "'0.kept'",
    ),
    "a mask": (
        lambda: with_attributes(drawn_once, mask=None),
        "'0.mask'",
    ),
    "a number": (
        lambda: with_attributes(chosen_by_a_counter, calls=0),
        "'0.calls'",
    ),
    "a rate": (
        lambda: with_attributes(dropout_of_a_schedule, p=0.1),
        "'0.p'",
    ),
}


@pytest.mark.parametrize("case", CARRIED)
def test_noise_that_a_module_carries_from_call_to_call_is_named_by_export_and_by_the_verdict(
    case: str,
) -> None:
    make, name = CARRIED[case]
    said = f"forward changes {name}, on which the noise depends, and a model does not keep"
    for alignment in ("tensorflow", "pytorch"):
        with pytest.warns(UserWarning, match="on which the noise depends") as warned:
            verdict = exported(make(), X, alignment=alignment).verdict
        sentences = [str(each.message) for each in warned]
        assert sum(f"onnx_philox.torch.export: {said}" in each for each in sentences) == 1
        assert not verdict.is_ok
        assert all(
            f"Its second run differs from the module's: {said}" in ran.problem
            for ran in verdict.runtimes
        )


@pytest.mark.parametrize("case", ["copied", "a list", "a number"])
def test_a_verdict_leaves_what_a_module_carries_as_it_was(case: str) -> None:
    module = CARRIED[case][0]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = exported(module, X, verify=False)
    before = [str(value) for value in (vars(module[0]), list(module.buffers()))]
    assert not onnx_philox.torch.verify_export(module, (X,), file).is_ok
    assert [str(value) for value in (vars(module[0]), list(module.buffers()))] == before


def counted(m: Any, x: Any) -> Any:
    m.steps += 1
    return x + torch.randn_like(x)


def counted_for_the_caller(m: Any, x: Any) -> Any:
    m.steps = m.steps + 1
    return x + torch.randn_like(x), m.steps + 0


def shown(m: Any, x: Any) -> Any:
    m.last = torch.randn_like(x)
    return x + m.last


def of_its_shape(m: Any, x: Any) -> Any:
    m.last.add_(1)
    return x + torch.randn_like(m.last)


def averaged(m: Any, x: Any) -> Any:
    m.mean.mul_(0.9).add_(x.mean(0))
    return functional.dropout(x - m.mean)


SILENT: dict[str, Callable[[], Any]] = {
    "a counter": lambda: with_buffers(counted, steps=torch.zeros(())),
    "a number": lambda: with_attributes(counted, steps=0),
    "a counter that is an output": lambda: with_buffers(
        counted_for_the_caller, steps=torch.zeros(())
    ),
    "an attribute that is an output": lambda: with_attributes(
        counted_for_the_caller, steps=torch.zeros(())
    ),
    "noise that nobody reads again": lambda: with_buffers(shown, last=ZEROS.clone()),
    "noise that is shown": lambda: with_attributes(shown, last=None),
    "a shape": lambda: with_buffers(of_its_shape, last=ZEROS.clone()),
    "a mean of inputs": lambda: with_buffers(averaged, mean=torch.zeros(3)),
}


@pytest.mark.parametrize("case", SILENT)
def test_a_module_that_changes_what_no_draw_reads_is_verified_without_a_warning(case: str) -> None:
    for alignment in ("tensorflow", "pytorch"):
        # A warning would be an error.
        verdict = exported(SILENT[case](), X, alignment=alignment).verdict
        assert verdict.is_ok, verdict
        assert not verdict.notes


def test_the_running_statistics_of_a_batchnorm_are_no_noise_that_is_carried() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3)).train()
    exported(module, X, verify=False)


GLOBAL: list[float] = []


def test_a_second_run_finds_what_no_attribute_shows() -> None:
    def forward(x: Any) -> Any:
        GLOBAL.append(1.0)
        return x + torch.randn_like(x) * len(GLOBAL)

    module = nn.Module()
    module.forward = forward
    GLOBAL.clear()
    file = exported(module, X, verify=False)
    GLOBAL.clear()
    verdict = onnx_philox.torch.verify_export(module, (X,), file)
    assert not verdict.is_ok
    assert "In a second run, from the state after the first: The output " in str(verdict)


def test_openvino_s_front_end_is_told_of_a_buffer_that_carries_noise() -> None:
    openvino = pytest.importorskip("openvino")
    module = with_buffers(copied, prev=ZEROS.clone())
    program = torch.export.export(module, (X,))
    extensions = onnx_philox.openvino.pytorch_extensions()
    said = r"pytorch_extensions: forward changes '0\.prev', on which the noise depends"
    with pytest.warns(UserWarning, match=said):
        openvino.convert_model(program, extension=extensions)
