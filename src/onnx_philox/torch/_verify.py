"""Runs a module in torch and its exported model in the runtimes, and compares what they draw."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.generators import TORCH, Generator
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.streams import STATE
from onnx_philox._contract.torch_state import TorchState, torch_seed
from onnx_philox._models.ours import seed_of
from onnx_philox._numbers.call import Called
from onnx_philox._numbers.states import row_states
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.in_onnx import earlier
from onnx_philox._rewriting.in_onnx.model import rewrite
from onnx_philox._rewriting.in_onnx.rows.stand import is_put_back
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError
from onnx_philox._runtimes.port import ArgumentError
from onnx_philox._torch_calls.programs import DECOMPOSED
from onnx_philox.torch import _against, _seen
from onnx_philox.torch._against import TorchTolerances
from onnx_philox.torch._check import read_exported
from onnx_philox.torch._pair import Pair
from onnx_philox.torch._program import check_program, require_torch
from onnx_philox.torch._verdict import Ran, Verdict

if TYPE_CHECKING:
    from onnx_philox.torch._eager import Eager

OWNER = "onnx_philox.torch.verify_export"
DEFAULT_SEED = 42
_FIRST_RELEASE = (2, 13)


def verify_export(
    model: Any,
    args: Sequence[Any],
    f: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    rtol: float = TorchTolerances.rtol,
    atol: float = TorchTolerances.atol,
) -> Verdict:
    """Runs a module in torch and its model in each runtime, from one seed: are the draws equal?

    The module runs after `torch.manual_seed(seed)`, in the mode that it is in. The model runs in
    ONNX Runtime and in OpenVINO, those that are installed, from the same state. The module's
    buffers and torch's generator are afterwards as before.

    - With alignment "pytorch" every draw is compared with torch's to the bit, also those inside of
      If and Loop, and the outputs within tolerances. With a state for each row, row b runs in torch
      alone, after `torch.manual_seed(seed + b)`.
    - A model that draws Philox numbers must have every draw of the program, and draw to the bit
      what `onnx_philox.reference` draws by the state and the node's stream. Its draws are then put
      into torch in the place of torch's own, and the outputs are compared.

    Args:
        model: The `torch.nn.Module`, or a `torch.export.ExportedProgram`.
        args: Its inputs.
        f: What was exported of it: a file, an `onnx.ModelProto`, an `onnx_ir.Model` or a
            `torch.onnx.ONNXProgram`. It is rewritten with alignment "pytorch" unless it was
            rewritten before.
        kwargs: Its inputs by name.
        seed: For `torch.manual_seed`. A model with a seed inside is run with that one.
        rtol: How far an output may be from torch's, relative to that.
        atol: How far it may be in any case. Outputs of 16 bits may be a few roundings away.

    Returns:
        The verdict: `is_ok`, and as a text the sentence that says what differs first, and the
        causes that are known: `torch.manual_seed` in the module, a BatchNorm in training, a dropout
        of attention or of an RNN that is off, torch's fast path, strides, a program that is
        decomposed already, a runtime that does not load the model.

    Raises:
        ImportError: PyTorch is not installed, or no runtime.
        TypeError: The model or the seed is of a wrong type.
        ValueError: The model draws what no rule of torch's makes; it has other inputs than the
            module; or each row has a generator, and the module does not run with one row.
    """
    require_torch()
    seed = torch_seed(OWNER, "seed", seed)
    for name, number in (("rtol", rtol), ("atol", atol)):
        # A NaN is not either: every output would be within it, or none.
        if not (isinstance(number, int | float) and number >= 0):
            refuse(OWNER, name, repr(number), "a number, 0 or more", "Pass such a number.")
    check_program(OWNER, model, args)
    made = read_exported(OWNER, f)
    generator = _generator(made)
    report = rewrite(made, Asked(alignment=generator.alignment))
    seed = seed if report.seed is None else report.seed
    pair, by = Pair(OWNER, made, model, args, kwargs or {}), TorchTolerances(rtol, atol)
    if generator is TORCH:
        return _torch_s(pair, seed, by)
    return _philox(pair, seed, by, is_inside=report.seed is not None)


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


def _torch_s(pair: Pair, seed: int, by: TorchTolerances) -> Verdict:
    """Of a model that draws torch's numbers; with a generator for each row, row by row."""
    rows = [None] if pair.rows is None else list(range(pair.rows))
    seeds = [seed + (row or 0) for row in rows]
    states = np.array([TorchState.from_seed(s).to_array() for s in seeds], np.uint32)
    feeds = pair.feeds() | {STATE: states[0] if pair.rows is None else states}
    eager = [pair.eager(s, row) for s, row in zip(seeds, rows, strict=True)]
    tried = [_tried(runtime, pair, feeds) for runtime in _installed()]
    ran = [
        run if isinstance(run, Ran) else _ran_as_torch(*run, rows, eager, by)
        for run in tried
        if not isinstance(run, str)
    ]
    notes = [*(run for run in tried if isinstance(run, str)), *_notes(pair, eager)]
    notes += filter(None, [_passed_over(pair, eager)])
    draws = max((len(each.calls) for each in eager), default=0)
    return Verdict(seed, draws, tuple(ran), tuple(notes))


def _tried(
    runtime: type[LoadedModel], pair: Pair, feeds: dict[str, NDArray[Any]]
) -> tuple[str, _seen.Seen] | Ran | str:
    """What a runtime does: its title and what it drew; or that it fails; or what it lacks."""
    title = f"{runtime.runtime} {runtime.version}"
    try:
        return title, _seen.run(runtime, pair.proto, feeds)
    except (runtime.not_carried_error, _seen.NotLoadedError) as error:
        is_loaded = not isinstance(error, _seen.NotLoadedError)
        said = str(RunError.of(title, "run the model", error) if is_loaded else error).rstrip(".")
        return f"{said}. So nothing was compared there; this says nothing of the draws."
    except (ArgumentError, RunError) as error:
        return Ran(title, 0, 0, f"It was not run: {error}")


def _ran_as_torch(
    title: str,
    seen: _seen.Seen,
    rows: Sequence[int | None],
    eager: Sequence[Eager],
    by: TorchTolerances,
) -> Ran:
    equal, close, problem = 0, 0, seen.problem
    for row, torchs in zip(rows, eager, strict=True):
        drawn = _against.drawn_by(seen, row)
        equal, close, found = _against.with_torch(torchs.calls, drawn, is_whole=seen.is_whole)
        if found is None:
            found = _ends(seen, row, torchs) or _computed(seen, row, torchs.outputs, by)
        if found is not None:
            row_s = "" if row is None else f"Row {row}: "
            problem = problem or f"{row_s}{found}"
            break
    return Ran(title, equal, close, problem)


def _ends(seen: _seen.Seen, row: int | None, eager: Eager) -> str | None:
    """Whether a run ends elsewhere than torch, in words."""
    for run in seen.runs:
        if run.after is not None:
            after = run.after if row is None else run.after[row]
            if TorchState.from_array(after) != eager.after and not eager.reseeds:
                return f"The backend {run.backend} ends in another state than torch."
    return None


def _computed(
    seen: _seen.Seen, row: int | None, expected: Sequence[NDArray[Any]], by: TorchTolerances
) -> str | None:
    """The first output that differs, of the rows of one row."""
    for run in seen.runs:
        computed = run.outputs
        if row is not None:
            rows = len(run.after) if run.after is not None else 1
            computed = computed | {
                name: _row_of(array, row, rows, like)
                for (name, array), like in zip(computed.items(), expected, strict=False)
            }
        if problem := _against.outputs(computed, expected, by):
            return problem
    return None


def _row_of(array: NDArray[Any], row: int, rows: int, like: NDArray[Any]) -> NDArray[Any]:
    """A row of an output, wherever the batch stands in it, given the output for that row alone."""
    for axis, size in enumerate(like.shape):
        before, behind = like.shape[:axis], like.shape[axis + 1 :]
        if array.shape == (*before, rows * size, *behind):
            of_row: NDArray[Any] = array.reshape(*before, rows, size, *behind).take(row, axis)
            return of_row
    return array


def _in_place(model: ir.Model, called: Called) -> NDArray[Any]:
    """What a node draws with the batch where it stands in the model."""
    seed = called.attributes["op_seed"]
    made = (n for n in model.graph if n.domain == DOMAIN and seed_of(n, "op_seed") == seed)
    for use in (use for node in made for output in node.outputs for use in output.uses()):
        if is_put_back(use.node):
            return called.values.transpose(use.node.attributes.get_ints("perm"))
    return called.values


def _philox(pair: Pair, seed: int, by: TorchTolerances, *, is_inside: bool) -> Verdict:
    """Of a model that draws Philox numbers: they are put into torch in the place of its own."""
    if pair.rows is None:
        state = PhiloxState.for_run(seed).to_array()
    else:
        state = row_states(seed, np.arange(pair.rows))
    feeds = pair.feeds() | {STATE: state}
    ran: list[Ran] = []
    notes, draws = [], 0
    program = pair.of_program()
    lost = "" if program is None else program.lost()
    own = [pair.eager(seed)]
    for runtime in _installed():
        tried = _tried(runtime, pair, feeds)
        if isinstance(tried, Ran):
            ran.append(tried)
            continue
        if isinstance(tried, str):
            notes.append(tried)
            continue
        title, seen = tried
        draws = max(draws, len(seen.drawn))
        equal, problem = _against.with_reference(seen, None if is_inside else state)
        # Runtimes choose the order, and the streams are numbered in the program's.
        ordered = sorted(seen.drawn, key=lambda called: called.attributes["op_seed"])
        values = [_in_place(pair.model, called) for called in ordered]
        is_looped = len({called.attributes["op_seed"] for called in ordered}) < len(ordered)
        eager = None
        if is_looped or not seen.is_whole:
            unplaced = "the order of draws in a loop or branch is not known"
        elif program is None:
            unplaced = "torch.export does not export the module"
        else:
            eager = program.eager(seed, given=values)
            unplaced = eager.unplaced
        if unplaced:
            notes.append(f"The outputs were not compared with torch's: {unplaced}.")
        elif problem is None and eager is not None:
            problem = _computed(seen, None, eager.outputs, by)
        if problem is None and len({_bytes(run.after) for run in seen.runs}) > 1:
            problem = "Its backends end in different states."
        problem = problem or _passed_over(pair, own)
        ran.append(Ran(title, equal, 0, f"The model draws otherwise: {lost}." if lost else problem))
    notes += _notes(pair, own)
    return Verdict(seed, draws, tuple(ran), tuple(dict.fromkeys(notes)), TENSORFLOW)


def _bytes(state: NDArray[np.uint32] | None) -> bytes:
    return b"" if state is None else state.tobytes()


def _generator(model: ir.Model) -> Generator:
    """The generator by which a model draws; torch's, if it was not rewritten yet."""
    recorded = earlier.read(model)
    return TORCH if recorded.state is None else recorded.generator


def _passed_over(pair: Pair, eager: Sequence[Eager]) -> str | None:
    """Why torch drops nothing where the model does, in words."""
    names = pair.evaluated_encoders() if any(each.is_fast for each in eager) else ""
    if not names:
        return None
    return (
        f"{names} is an encoder layer in evaluation whose dropouts are in training: without "
        "gradients torch takes a fast path there that drops nothing, and the model drops. Call "
        "train() on the layer before the export, and in torch."
    )


def _notes(pair: Pair, eager: Sequence[Eager]) -> list[str]:
    """What this module does, or this torch draws, that a model does not repeat."""
    import torch

    notes = [DECOMPOSED] if pair.is_decomposed else []
    notes += [
        f"The module sets torch's generator itself (before {place}), as torch.manual_seed does: a "
        "model cannot, and draws on from where it is. Take the call out of forward."
        for place in sorted({place for each in eager for place in each.reseeds})
    ]
    if names := pair.training_norms():
        notes.append(
            f"{names} is a BatchNorm in training: it normalises by this batch, and changes its "
            "statistics in each run. Call eval() on it before the export."
        )
    if names := pair.evaluated_dropouts():
        notes.append(
            f"{names} is in evaluation, so its own dropout is off in torch and in the model, while "
            "others are on. Call train() on it if it is to drop."
        )
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
    if devices := sorted({device for each in eager for device in each.devices}):
        notes.append(
            f"The module draws on {' and '.join(devices)}, from another generator than the CPU's."
        )
    return notes
