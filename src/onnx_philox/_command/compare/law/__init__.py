"""`onnx-philox compare --original`: whether a rewritten model draws by the law of its original.

Both run many times in one runtime, with equal inputs, and run k of the one stands beside run k of
the other. `runs` gathers and counts them, by what `reference` takes from the first ones. `bounds`
and `statistics` hold the tests, `changes` and `seen` put into words what they say and what they
would have said, and `faults` what the runtime does wrong with the original. `printed` prints, and
`page` draws.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path

import numpy as np

from onnx_philox._command import inside_model, paths
from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law.faults import of_original
from onnx_philox._command.compare.law.noise import FedModel
from onnx_philox._command.compare.law.page import write_page
from onnx_philox._command.compare.law.printed import ComparedLaws
from onnx_philox._command.compare.law.runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.statistics import ERROR
from onnx_philox._command.draw_option import with_draws
from onnx_philox._command.run import loading
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.declaration import listed
from onnx_philox._files.given import Given
from onnx_philox._progress import Progress, ignore
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port

__all__ = ["ComparedLaws", "compare_laws", "write_page"]

_LOOKS = (1000, 4000, 16_000, 64_000)
"""After so many runs a difference that is certain ends them, where their number is open."""
_OF_EARLY_LOOKS = 0.5
"""Of the error, all early looks together; the last look has the rest.

By Boole's inequality all looks err with the sum of their errors at most, which is `ERROR`.
"""
_ONCE = ("--runtime", "--precision", "--device")
_OWN_NAME = re.compile(r"Result_\d+")
"""What OpenVINO calls an output without a name."""
_TELLING_SECONDS = 0.1
_NOTHING = np.empty(0)


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

    That is the first that takes the original, or one that is named. No run begins that would end
    after so many seconds, but the first one. With `may_end`, a difference that is certain ends the
    runs. A float within the tolerances of a value that comes often counts as it. An input of
    `wanted.draw` is drawn inside the model, and fed to the original.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the models.
        RunError: The runtime does not load a model, or a run fails.
    """
    given = paths.given("compare", model)
    taken = inside_model.inside(given).inputs
    # What the model still takes as an input becomes a draw first, as without --original.
    still = {name: law for name, law in wanted.draw.items() if name in taken}
    clock = Clock(wanted.runs, seconds, progress)
    with with_draws(given, still) as served:
        inside = inside_model.inside(served)
        inside.check_rewritten(model, wanted.seed)
        given_original = paths.given("compare", original)
        for option, given_ones in zip(_ONCE, (runtimes, precisions, devices), strict=True):
            loading.check_once(option, given_ones, "here")
        runtime = next(iter(runtimes), None) or _first_runtime(served, given_original)
        precision = next(iter(precisions), None) or loading.precision_in(runtime)
        device = next(iter(devices), loading.Settings.device)
        settings = loading.Settings(precision=precision, device=device)
        before = loading.load_model(given_original, runtime, settings)
        after = loading.load_model(served, runtime, settings)
        if wanted.draw:
            before = FedModel(before, wanted.draw, after.inputs, wanted.first_run)
        _check_inputs(before.inputs, after.inputs, set(inside.inputs))
        of_original_alone = replace(wanted, first_run=0)
        olds = Serving(before, of_original_alone, inside_model.inside(given_original))
        news = Serving(after, wanted, inside, like=olds)
        both = Running(olds, news, tolerances or Tolerances())
        look = both.run(clock, may_end=may_end)
    seed = (wanted.seed or 0) if inside.takes_seed else None
    report = ComparedLaws(model, original, after, seed, olds.filled, both.paired, look)
    report.fed = [f"{name}={law}" for name, law in wanted.draw.items()]
    if report.changes or report.repeats:
        progress(wanted.runs, wanted.runs, "trying the original's random nodes")
        found = of_original(original, runtime)
        report.nodes, report.faults = found.nodes, found.faults
    return report


def _first_runtime(given: Given, given_original: Given) -> str:
    """The name of the first runtime that takes files of both forms."""
    has_ir = given.of_openvino or given_original.of_openvino
    return next(each.name for each in RUNTIMES.values() if each.takes_ir or not has_ir)


class Clock:
    """Says whether another run begins, and tells how far they are.

    Args:
        runs: How many there are, at most.
        seconds: For how long they run; None for no limit.
        progress: Is told.

    The time begins with the first question.
    """

    def __init__(self, runs: int, seconds: float | None, progress: Progress) -> None:
        self._runs, self._seconds, self._progress = runs, seconds, progress
        self._began: float | None = None
        self._told = -_TELLING_SECONDS

    def goes_on(self, done: int) -> bool:
        """Whether another run begins after so many; the first one always does."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        passed = now - self._began
        if passed - self._told >= _TELLING_SECONDS:
            self._told = passed
            self._tell(done, passed)
        if done == 0:
            return True
        # As long as the runs until now.
        end_of_next = passed * (done + 1) / done
        is_late = self._seconds is not None and end_of_next > self._seconds
        return done < self._runs and not is_late

    def _tell(self, done: int, passed: float) -> None:
        of_time = passed / self._seconds if self._seconds else 0.0
        expected = min(self._runs, int(done / of_time)) if of_time else self._runs
        self._progress(done, max(expected, 1), "running both")


class Running:
    """Both models, run in turn."""

    paired: PairedRuns

    def __init__(self, olds: Serving, news: Serving, by: Tolerances) -> None:
        self._olds, self._news, self._by = olds, news, by
        self._names: dict[str, str] = {}
        """Of the outputs of the original, and of the model's."""

    def run(self, clock: Clock, *, may_end: bool) -> Verdicts:
        """Runs both until the time is over or, with `may_end`, a difference is certain.

        How many runs there are does not depend on what was drawn, but for the early looks.
        """
        early = _LOOKS if may_end else ()
        error = ERROR * (1 - _OF_EARLY_LOOKS) if early else ERROR
        done = 0
        while clock.goes_on(done):
            self._run_both()
            done += 1
            if done in early:
                look = self.paired.look(ERROR * _OF_EARLY_LOOKS / len(early))
                if look.is_any:
                    return look
        return self.paired.look(error)

    def _run_both(self) -> None:
        old, new = _run(self._olds), _run(self._news)
        if not self._names:
            self._names = dict(_paired_names(old, new))
            self.paired = PairedRuns({name: old[name] for name in self._names}, self._by)
        # A sequence may be shorter than it was.
        names = self._names
        before = [old.get(name, _NOTHING) for name in names]
        after = [new.get(other, _NOTHING) for other in names.values()]
        self.paired.add(before, after)


def _run(serving: Serving) -> Arrays:
    """The outputs of the next run, without the next state."""
    outputs = serving.run()
    if serving.state is not None and serving.state.next is not None:
        outputs.pop(serving.state.next)
    return outputs


def _paired_names(old: Arrays, new: Arrays) -> Iterator[tuple[str, str]]:
    """The outputs that are compared, of real numbers: the original's name, and the model's.

    Outputs to which OpenVINO gave a name, since they had none, are compared by their places.
    """
    unnamed = [name for name in old if _OWN_NAME.fullmatch(name)]
    new_unnamed = [name for name in new if _OWN_NAME.fullmatch(name)]
    by_place = {}
    if len(unnamed) == len(new_unnamed):
        by_place = dict(zip(unnamed, new_unnamed, strict=True))
    named = set(old) - set(by_place)
    new_named = set(new) - set(by_place.values())
    numbers = [name for name, array in old.items() if array.dtype.kind not in "cOSU"]
    _check_same("outputs, of numbers", named ^ new_named, is_empty=not numbers)
    for name in numbers:
        yield name, by_place.get(name, name)


def _check_same(what: str, alone: Set[str], *, is_empty: bool = False) -> None:
    """Refuses two models of which one has inputs or outputs that the other has not."""
    if alone or is_empty:
        got = f"{listed(sorted(alone))} in one of them alone" if alone else "none"
        raise ArgumentError(
            f"the model and its original must have the same {what}: got {got}. Pass the model that "
            "was rewritten."
        )


def _check_inputs(before: Sequence[Port], after: Sequence[Port], inside: Set[str]) -> None:
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
    _check_same("inputs", wants - {port.name for port in before} - of_shapes)
    if only_before:
        options = " ".join(f"--draw {name}=normal" for name in sorted(only_before))
        raise ArgumentError(
            f"the original must have no inputs but the model's: got {listed(sorted(only_before))}. "
            f"If the model draws this noise, say by which law, such as {options}; or pass the "
            "model that was rewritten."
        )
