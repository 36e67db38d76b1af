"""`onnx-philox compare --original`: whether a rewritten model still draws by the same law.

The law of a model is how each of its values is distributed, and how its values depend on each
other. The model and its original run many times in one runtime, with equal inputs, and each run of
the one is compared with the run of the same number of the other.

`running` runs both, as long as `clock` allows; `noise` feeds an original that takes its noise as an
input. `paired_runs` counts what all runs gave; `watched` does so for one output, and `first_runs`
chooses from the first runs which of its values are watched. `statistics` and `bounds` hold the
tests. `changes` lists the differences; `least` computes how small a difference these runs could
have shown, and `seen` says it. `faults_of_original` lists what the runtime does wrong with the
original, and which differences that explains, and `one_seed` which nodes a rewrite parts;
`reached` knows which outputs read a random node.
`law_report` prints, and `law_page` writes a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from onnx_philox._command import inside_model, paths
from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law.clock import Clock
from onnx_philox._command.compare.law.faults_of_original import of_original
from onnx_philox._command.compare.law.law_page import write_page
from onnx_philox._command.compare.law.law_report import ComparedLaws, OpenBatch
from onnx_philox._command.compare.law.noise import FedInputs, FedServing, with_letters
from onnx_philox._command.compare.law.running import Running, check_same
from onnx_philox._command.compare.law.seen import Shown
from onnx_philox._command.draw_option import with_draws
from onnx_philox._command.run import loading
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.shown import listed
from onnx_philox._files.given import Given
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting.look import ModelLook, OpenvinoLook, look
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port

__all__ = ["ComparedLaws", "compare_laws", "write_page"]


def compare_laws(
    model: Path,
    original: Path,
    wanted: WantedRuns,
    *,
    seconds: float | None = None,
    may_end: bool = False,
    runtimes: Sequence[str] = (),
    precisions: Sequence[str] = (),
    devices: Sequence[str] = (),
    tolerances: Tolerances | None = None,
    progress: Progress = ignore,
) -> ComparedLaws:
    """Runs a rewritten model and its original many times in one runtime, with equal inputs.

    That is the first that takes the original, or one that is named. All runs, with what is counted
    of them, end after so many seconds, but for those of which `clock` says that they must be. With
    `may_end`, a difference that is certain ends the runs. A float within the tolerances of a value
    that comes often counts as it. An input of `wanted.draw` is drawn inside the model, and fed to
    the original.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the models.
        RunError: The runtime does not load a model, or a run fails.
    """
    loading.check_once("--runtime", runtimes, "here")
    loading.check_once("--precision", precisions, "here")
    loading.check_once("--device", devices, "here")
    given = paths.given("compare", model)
    given_original = paths.given("compare", original)
    clock = Clock(wanted.runs, seconds, progress)
    seen = look(given)
    seen_original = look(given_original)
    with (
        given.kept_open(),
        given_original.kept_open(),
        # What the model still takes as an input becomes a draw first, as without --original.
        with_draws(seen, _still_inputs(seen, wanted.draw)) as served,
    ):
        inside = inside_model.inside(served)
        inside.check_rewritten(model, wanted.seed)
        inside_original = inside_model.inside(seen_original)
        runtime = next(iter(runtimes), None) or _first_runtime(served.given, given_original)
        precision = next(iter(precisions), None) or loading.precision_in(runtime)
        device = next(iter(devices), loading.Settings.device)
        settings = loading.Settings(precision=precision, device=device)
        before = loading.load_model(seen_original, runtime, settings)
        after = loading.load_model(served, runtime, settings)
        inputs = before.inputs
        if isinstance(seen_original, OpenvinoLook):
            inputs = with_letters(inputs, seen_original.model)
        noise = FedInputs(inputs, wanted.draw, after.inputs, wanted.first_run)
        _check_inputs(noise.others, after.inputs, set(inside.inputs))
        of_original_alone = replace(wanted, first_run=0)
        # The model alone says which shapes it asks for.
        inside_original = replace(inside_original, asked_shapes=inside.asked_shapes)
        olds = FedServing(before, of_original_alone, inside_original, noise)
        news = Serving(after, wanted, inside, like=olds)
        both = Running(olds, news, tolerances or Tolerances())
        # It tries the original's nodes, which takes seconds.
        known = cache(partial(of_original, seen_original, runtime))
        looked = both.run(clock, may_end=may_end, has_faults=lambda: bool(known().faults))
    report = ComparedLaws(
        model,
        original,
        after,
        seed=(wanted.seed or 0) if inside.takes_seed else None,
        filled=olds.filled,
        paired=both.paired,
        look=looked,
        seen=Shown(both.paired, looked),
        times=clock.times(),
        not_compared=both.not_compared,
        fed=[f"{name}={law}" for name, law in wanted.draw.items()],
        batch=_open_batch(noise.others, olds.inputs),
    )
    if report.changes or report.repeats:
        progress(wanted.runs, wanted.runs, "trying the original's random nodes")
        report.of_original = known()
    return report


def _still_inputs(seen: ModelLook, draw: Mapping[str, str]) -> dict[str, str]:
    """Of the inputs that are to be drawn those that the model still takes."""
    taken = inside_model.inside(seen).inputs
    return {name: law for name, law in draw.items() if name in taken}


def _first_runtime(given: Given, given_original: Given) -> str:
    """The name of the first runtime that takes files of both forms."""
    has_ir = given.of_openvino or given_original.of_openvino
    return next(each.name for each in RUNTIMES.values() if each.takes_ir or not has_ir)


def _open_batch(ports: Sequence[Port], given: Arrays) -> OpenBatch | None:
    """The first input whose first dimension the original leaves open."""
    for port in ports:
        # Integers without rows may be a shape.
        is_of_rows = port.dtype is not None and (port.dtype.kind == "f" or port.rank > 1)
        if port.name in given and is_of_rows and port.has_open_batch:
            return OpenBatch(port.name, given[port.name].shape[0])
    return None


def _check_inputs(
    before: Sequence[Port],
    after: Sequence[Port],
    inside: Set[str],
) -> None:
    """Refuses an original that does not take what the model takes, or more than that.

    Args:
        before: The inputs of the original, without those that are fed.
        after: The inputs of the model in the runtime.
        inside: The inputs that its file has, also those that the runtime has not.

    Raises:
        ArgumentError: It is such an original.
    """
    required = {port.name for port in before if port.is_required}
    only_before = required - {port.name for port in after} - inside
    of_shapes = {f"{name}_shape" for name in only_before}
    wants = {port.name for port in after if port.is_required and not port.is_state}
    check_same("inputs", wants - {port.name for port in before} - of_shapes)
    if only_before:
        options = " ".join(f"--draw {name}=normal" for name in sorted(only_before))
        raise ArgumentError(
            f"the original must have no inputs but the model's: got {listed(sorted(only_before))}. "
            f"If the model draws this noise, say by which law, such as {options}; or pass the "
            "model that was rewritten."
        )
