"""`onnx-philox compare --original`: whether a rewritten model draws by the law of its original.

Both run many times in one runtime, with equal inputs. `statistics` keeps some values of each run
and compares them, and `printed` says what differs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

import numpy as np

from onnx_philox._command import inside_model, paths
from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law.printed import ComparedLaws
from onnx_philox._command.compare.law.statistics import Sample
from onnx_philox._command.run import loading
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.declaration import listed
from onnx_philox._progress import Progress, ignore
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.port import ArgumentError, Arrays

_ONCE = ("--runtime", "--precision", "--device")
_NOTHING = np.empty(0)


def compare_laws(
    model: Path,
    original: Path,
    wanted: WantedRuns,
    *,
    seconds: float = 60,
    runtimes: Sequence[str] = (),
    precisions: Sequence[str] = (),
    devices: Sequence[str] = (),
    tolerances: Tolerances | None = None,
    progress: Progress = ignore,
) -> ComparedLaws:
    """Runs a rewritten model and its original many times in one runtime, with equal inputs.

    That is the first that takes the original, or one that is named. No run begins after so many
    seconds. A float within the tolerances of one of the original's counts as equal to it.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the models.
        RunError: The runtime does not load a model, or a run fails.
    """
    given, given_original = (paths.given("compare", each) for each in (model, original))
    inside, inside_original = inside_model.inside(given), inside_model.inside(given_original)
    inside.check_rewritten(model, wanted.seed)
    has_ir = given.of_openvino or given_original.of_openvino
    takes = [r.name for r in RUNTIMES.values() if r.takes_ir or not has_ir]
    for option, given_ones in zip(_ONCE, (runtimes, precisions, devices), strict=True):
        loading.check_once(option, given_ones, "here")
    runtime = (*runtimes, *takes)[0]
    precision = (*precisions, loading.precision_in(runtime))[0]
    settings = loading.Settings(precision=precision, device=(*devices, loading.Settings.device)[0])
    before = loading.load_model(given_original, runtime, settings)
    after = loading.load_model(given, runtime, settings)
    wants = {port.name for port in after.inputs if port.is_required and not port.is_state}
    _check_same("inputs", wants - {port.name for port in before.inputs})
    olds = Serving(before, replace(wanted, first_run=0), inside_original)
    news = Serving(after, wanted, inside, like=olds)
    samples: list[Sample] = []
    end = time.monotonic() + seconds
    for done in range(wanted.runs):
        if done and time.monotonic() > end:
            break
        progress(done, wanted.runs, "running both")
        old, new = _run(olds), _run(news)
        samples = samples or _samples(old, new)
        for sample in samples:
            # A sequence may be shorter than it was.
            sample.add(*(outputs.get(sample.name, _NOTHING) for outputs in (old, new)))
    seed = (wanted.seed or 0) if inside.takes_seed else None
    for sample in samples:
        sample.finish(tolerances or Tolerances())
    report = ComparedLaws(model, original, after, seed, olds.filled, samples)
    if report.changes or report.repeats:
        progress(wanted.runs, wanted.runs, "trying the original's random nodes")
        report.nodes = _nodes(original, runtime)
    return report


def _run(serving: Serving) -> Arrays:
    """The outputs of the next run, without the next state."""
    following = None if serving.state is None else serving.state.next
    return {name: array for name, array in serving.run().items() if name != following}


def _samples(old: Arrays, new: Arrays) -> list[Sample]:
    """What will be kept of outputs like these: of those that are real numbers."""
    alone = old.keys() ^ new.keys()
    numbers = {name: array for name, array in old.items() if array.dtype.kind not in "cOSU"}
    _check_same("outputs, of numbers", alone, is_empty=not numbers)
    return [Sample(name, array, len(numbers)) for name, array in numbers.items()]


def _check_same(what: str, alone: Set[str], *, is_empty: bool = False) -> None:
    """Refuses two models of which one has inputs or outputs that the other has not."""
    if alone or is_empty:
        got = f"{listed(sorted(alone))} in one of them alone" if alone else "none"
        raise ArgumentError(
            f"the model and its original must have the same {what}: got {got}. Pass the model that "
            "was rewritten."
        )


def _nodes(original: Path, runtime: str) -> list[str]:
    """What the runtime does with the random operators of a model, as `inspect` finds it."""
    # Loaded only where it is needed.
    from onnx_philox._command.inspect import inspect
    from onnx_philox._command.inspect.in_words import operator_of

    with contextlib.suppress(OSError, TypeError, ValueError, ImportError):
        report = inspect(original)
        tried = [trials for trials in report.runtimes if trials.name == runtime]
        said = [
            f"{operator_of(found.node)}: {report.trial(trials, found).sentence}"
            for trials in tried
            for found in report.found
        ]
        faults = [fault for trials in tried for fault in report.faults_in(trials)]
        return [*dict.fromkeys(said), *faults]
    return []
