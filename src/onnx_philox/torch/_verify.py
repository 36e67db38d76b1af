"""Runs a module in torch and its exported model in the runtimes, and compares what they draw."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._backends import AUTO
from onnx_philox._contract.inputs import PYTORCH
from onnx_philox._contract.operators import RANDOM_EXPONENTIAL, RANDOM_NORMAL, Operator
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import STATE
from onnx_philox._contract.torch_state import TorchState, torch_seed
from onnx_philox._numbers import call as calls_of_nodes
from onnx_philox._rewriting.earlier_rewrite import NEXT_STATE
from onnx_philox._rewriting.passes.order import rewrite
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError, Settings
from onnx_philox._runtimes.port import ArgumentError
from onnx_philox.torch._check import fitting, read
from onnx_philox.torch._program import require_torch

if TYPE_CHECKING:
    from onnx_philox.torch._eager import Call, Eager

OWNER = "onnx_philox.torch.verify_export"
DEFAULT_SEED = 42

# Contract, section 14: f64 normals and exponentials are sequences of our own.
_OWN_IN_F64 = (RANDOM_NORMAL, RANDOM_EXPONENTIAL)
_ULPS = 2
_FIRST_RELEASE = (2, 13)


@dataclass(frozen=True)
class Ran:
    """What a runtime drew and computed, beside torch.

    Attributes:
        runtime: Its name and version.
        equal: How many draws, from the first one on, are torch's.
        close: How many of these are f64 numbers that differ by at most 2 units in the last place.
        problem: The first thing that differs, in words; None if nothing does.
    """

    runtime: str
    equal: int
    close: int
    problem: str | None


@dataclass(frozen=True)
class Verdict:
    """Whether a model draws what its module draws in torch.

    Attributes:
        seed: What both drew from.
        draws: How many calls of the module drew, in torch.
        runtimes: What each runtime drew.
        notes: What this torch draws by other means, so that a difference may be torch's.
    """

    seed: int
    draws: int
    runtimes: tuple[Ran, ...]
    notes: tuple[str, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all draws are torch's in every runtime, and the outputs within the tolerances."""
        return all(ran.problem is None for ran in self.runtimes)

    def __str__(self) -> str:
        """The verdict in words."""
        lines = []
        for ran in self.runtimes:
            close = f" ({ran.close} in f64 within {_ULPS} ulp)" if ran.close else ""
            what = f"{ran.runtime}: {_equal(ran.equal, self.draws)} torch's{close}"
            lines.append(
                f"{what}, outputs too" if ran.problem is None else f"{what}. {ran.problem}"
            )
        word = "Equal" if self.is_ok else "Different"
        return "\n".join((f"{word}, seed {self.seed}.", *lines, *self.notes))


def _equal(equal: int, draws: int) -> str:
    """How many draws of a model are equal, up to "torch's"."""
    if draws == 1:
        return "its draw equals" if equal else "its draw does not equal"
    if equal == draws:
        return f"all of {draws} draws equal"
    if equal == 0:
        return f"none of {draws} draws equals"
    if equal == 1:
        return f"only the first of {draws} draws equals"
    return f"only the first {equal} of {draws} draws equal"


@dataclass(frozen=True)
class Tolerances:
    """How far an output may be from torch's `y`: atol + rtol * |y|."""

    rtol: float = 1e-3
    atol: float = 1e-4


@dataclass(frozen=True)
class _Drawn:
    """What a node drew."""

    operator: Operator
    values: NDArray[Any]
    after: TorchState

    @property
    def title(self) -> str:
        return f"{self.operator.name} of {list(self.values.shape)}"


def verify_export(
    model: Any,
    args: Sequence[Any],
    f: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    rtol: float = Tolerances.rtol,
    atol: float = Tolerances.atol,
) -> Verdict:
    """Runs a module in torch and its model in each runtime, from one seed: are the draws equal?

    The module runs after `torch.manual_seed(seed)`, in the mode that it is in. The model runs in
    ONNX Runtime and in OpenVINO, those that are installed, from the same state. Every draw is
    compared to the bit, also those inside of If and Loop, and the outputs within tolerances. The
    module's buffers and torch's generator are afterwards as before.

    Args:
        model: The `torch.nn.Module`, or a `torch.export.ExportedProgram`.
        args: Its inputs.
        f: What was exported of it: a file, an `onnx.ModelProto`, an `onnx_ir.Model` or a
            `torch.onnx.ONNXProgram`. It is rewritten with alignment "pytorch" unless it was before.
        kwargs: Its inputs by name.
        seed: For `torch.manual_seed`. A model with a seed inside is run with that one.
        rtol: How far an output may be from torch's, relative to that.
        atol: How far it may be in any case.

    Returns:
        The verdict: `is_ok`, and as a text the sentence that says what differs first.

    Raises:
        ImportError: PyTorch is not installed, or no runtime.
        TypeError: The model or the seed is of a wrong type.
        ValueError: The model draws Philox numbers, or what no rule of torch's makes; or it has
            other inputs than the module.
    """
    require_torch()
    from onnx_philox.torch import _eager

    seed = torch_seed(OWNER, "seed", seed)
    made = read(f)
    report = rewrite(made, alignment=PYTORCH)
    seed = seed if report.seed is None else report.seed
    proto = ir.to_proto(made)
    eager = _eager.run(model, args, dict(kwargs or {}), seed)
    feeds = _feeds(proto, eager)
    by = Tolerances(rtol, atol)
    ran = [_run(runtime, proto, feeds, seed, eager, by) for runtime in _installed()]
    return Verdict(seed, len(eager.calls), tuple(ran), tuple(_notes(eager)))


def _installed() -> list[type[LoadedModel]]:
    found, errors = [], []
    for runtime in RUNTIMES.values():
        if runtime.package is None or runtime.is_only_asked_for:
            continue
        try:
            found.append(runtime.models())
        except ImportError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def _feeds(proto: onnx.ModelProto, eager: Eager) -> dict[str, NDArray[Any]]:
    """The module's inputs by the names of the model's."""
    names = [i.name for i in proto.graph.input if i.name != STATE]
    given = [leaf for leaf in eager.inputs if isinstance(leaf, np.ndarray)]
    if len(given) != len(names):
        given = [np.asarray(leaf) for leaf in eager.inputs]
    if len(given) != len(names):
        remedy = "Pass the model that was exported from this module, and the same arguments."
        refuse(OWNER, "the inputs", f"{len(given)}", f"the model's {len(names)}", remedy)
    return dict(zip(names, given, strict=True))


def _run(
    runtime: type[LoadedModel],
    proto: onnx.ModelProto,
    feeds: dict[str, NDArray[Any]],
    seed: int,
    eager: Eager,
    by: Tolerances,
) -> Ran:
    """Runs the model in one runtime, by the Python backend, whose draws can be seen.

    Then by the best backend, which must end in the same state, and within the same tolerances.
    """
    title = f"{runtime.runtime} {runtime.version}"
    drawn: list[_Drawn] = []

    def see(op: Operator, before: NDArray[np.uint32], result: tuple[NDArray[Any], ...]) -> None:
        after = result[-1]
        if not np.array_equal(before, after):
            drawn.append(_Drawn(op, result[op.drawn_output], TorchState.from_array(after)))

    precision = "f32" if RUNTIMES[runtime.runtime].precisions else None
    state = {STATE: TorchState.from_seed(seed).to_array()}
    try:
        with calls_of_nodes.watched(see):
            seen = _outcome(runtime, proto, feeds | state, "python", precision)
        best = _outcome(runtime, proto, feeds | state, AUTO, precision)
    except (ArgumentError, RunError) as error:
        return Ran(title, 0, 0, f"It was not run: {error}")
    equal, close, problem = _compare(eager.calls, drawn)
    problem = problem or _outputs(seen.outputs, eager.outputs, by)
    if problem is None and seen.after != best.after:
        problem = f"The backend {best.backend} ends in another state than the backend python."
    return Ran(title, equal, close, problem or _outputs(best.outputs, eager.outputs, by))


@dataclass(frozen=True)
class _Outcome:
    """What came of a run."""

    backend: str
    after: TorchState | None
    outputs: dict[str, NDArray[Any]]


def _outcome(
    runtime: type[LoadedModel],
    proto: onnx.ModelProto,
    feeds: Mapping[str, NDArray[Any]],
    backend: str,
    precision: str | None,
) -> _Outcome:
    loaded = runtime.load(proto, Settings(backend=backend, precision=precision))
    names = {port.name for port in loaded.inputs}
    outputs = dict(loaded.run({k: v for k, v in feeds.items() if k in names}))
    after = outputs.pop(NEXT_STATE, None)
    state = None if after is None else TorchState.from_array(after)
    return _Outcome(loaded.backend, state, outputs)


def _compare(calls: Sequence[Call], drawn: Sequence[_Drawn]) -> tuple[int, int, str | None]:
    """How many draws are equal, how many of those are close alone, and the first difference."""
    left, close = list(drawn), 0
    for number, call in enumerate(calls):
        name = f"Draw {number + 1} of torch's, {call.title}"
        counts = f"torch made {len(calls)} draws, and the model {len(drawn)}"
        if call.values is None:
            # What it drew is not seen: the state shows how much of the model's it is.
            ends = [i for i, mine in enumerate(left) if mine.after == call.after]
            if not ends:
                return number, close, f"{name}, takes other words in the model; {counts}."
            del left[: ends[0] + 1]
            continue
        if not left:
            return number, close, f"{name}, is not in the model: {counts}."
        mine = left.pop(0)
        allowed = fitting(call.kind)
        is_kind = allowed is None or mine.operator.name in allowed
        if not is_kind or mine.values.size != call.values.size:
            said = f"{name}, is not what the model draws there, {mine.title}"
            return number, close, f"{said}: {counts}."
        difference, is_close = _difference(call, mine)
        if difference is not None:
            return number, close, f"{name}, differs from {mine.title}: {difference}."
        close += is_close
    if left:
        said = f"The model draws {left[0].title} after torch's last draw"
        counts = f"torch made {len(calls)} draws, and the model {len(drawn)}"
        return len(calls), close, f"{said}: {counts}."
    return len(calls), close, None


def _difference(call: Call, mine: _Drawn) -> tuple[str | None, bool]:
    """How two draws differ, in words; None if they do not, and whether they are only close."""
    assert call.values is not None
    torchs = call.values.reshape(-1)
    ours = mine.values.reshape(-1).astype(torchs.dtype)
    bits = np.dtype(f"u{torchs.dtype.itemsize}")
    unequal = int(np.count_nonzero(torchs.view(bits) != ours.view(bits)))
    if not unequal:
        if mine.after == call.after:
            return None, False
        return "the values are equal, and the generator's states after it are not", False
    wide, other = torchs.astype(np.float64), ours.astype(np.float64)
    apart = np.abs(wide - other)
    if (
        mine.operator in _OWN_IN_F64
        and torchs.dtype == np.float64
        and mine.after == call.after
        and np.all(apart <= _ULPS * np.spacing(np.abs(wide)))
    ):
        return None, True
    return f"{unequal:,} of {torchs.size:,} values, by up to {apart.max():.2g}", False


def _outputs(
    outputs: Mapping[str, NDArray[Any]], expected: Sequence[NDArray[Any]], by: Tolerances
) -> str | None:
    """The first output that differs, in words."""
    if len(outputs) != len(expected):
        return f"The model has {len(outputs)} outputs, and the module {len(expected)}."
    for (name, ours), torchs in zip(outputs.items(), expected, strict=True):
        if ours.shape != torchs.shape:
            shapes = f"{list(ours.shape)}, and torch's {list(torchs.shape)}"
            return f"The output {name!r} has the shape {shapes}."
        one, other = ours.astype(np.float64), torchs.astype(np.float64)
        if not np.allclose(one, other, rtol=by.rtol, atol=by.atol, equal_nan=True):
            with np.errstate(invalid="ignore"):
                most = np.nanmax(np.abs(one - other))
            limit = f"rtol {by.rtol:g}, atol {by.atol:g}"
            return f"The output {name!r} differs by up to {most:.2g}, beyond {limit}."
    return None


def _notes(eager: Eager) -> list[str]:
    """What this torch draws by other means than the ones that are repeated here."""
    import torch

    notes = []
    if platform.machine().lower() not in ("x86_64", "amd64"):
        notes.append(
            f"This torch runs on {platform.machine()}: its normals differ in the last bits from "
            "those of x86-64 with AVX2, which the model draws."
        )
    elif torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        notes.append(
            "This torch runs without AVX2 (its CPU capability is DEFAULT): its normals differ in "
            "the last bits from those with AVX2, which the model draws."
        )
    numbers = torch.__version__.split(".")[:2]
    if tuple(int(n) for n in numbers) < _FIRST_RELEASE:
        notes.append(
            f"This is torch {torch.__version__}: before 2.13, bernoulli_, dropout and exponential_ "
            "could draw with MKL's generator on Intel processors."
        )
    if eager.devices:
        devices = " and ".join(sorted(eager.devices))
        notes.append(f"The module draws on {devices}, from another generator than the CPU's.")
    return notes
