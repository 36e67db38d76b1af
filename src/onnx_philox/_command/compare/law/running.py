"""Both models, run in turn until the time is over or a difference is certain."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

import numpy as np

from onnx_philox._command.compare.differences import Tolerances
from onnx_philox._command.compare.law.clock import LEAST_RUNS, Clock
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.seen import Shown
from onnx_philox._command.compare.law.statistics import ERROR
from onnx_philox._command.run.beginning import Serving
from onnx_philox._contract.shown import listed
from onnx_philox._runtimes.port import ArgumentError, Arrays

_LOOKS = (1000, 4000, 16_000, 64_000)
"""After so many runs a difference that is certain ends them, where their number is open."""
_OF_EARLY_LOOKS = 0.5
"""Of the error, all early looks together; the last look has the rest.

By Boole's inequality all looks err with the sum of their errors at most, which is `ERROR`.
"""
_REHEARSALS = (LEAST_RUNS, 16)
"""After so many runs it is tried how long counting takes, as long as nothing is counted."""
_LONGER = 4
"""And from the first look on, each time there are so many times as many."""
_OWN_NAME = re.compile(r"Result_\d+")
"""What OpenVINO calls an output without a name."""
_TEXTS = "OSU"
"""The kinds of NumPy's types of texts."""
_NOTHING = np.empty(0)


class Running:
    """Both models, run in turn.

    Args:
        olds: The original, as it is served.
        news: The model.
        by: A float so near to a frequent value counts as it.
    """

    paired: PairedRuns

    def __init__(self, olds: Serving, news: Serving, by: Tolerances) -> None:
        self._olds = olds
        self._news = news
        self._by = by
        self._names: dict[str, str] = {}
        """Of the outputs that are compared: the original's, and the model's."""
        self.not_compared: list[str] = []
        """What of the outputs is not compared, a sentence each."""
        self._measured = _LOOKS[0]
        """After how many runs it is measured again how long the end takes."""

    def run(self, clock: Clock, *, may_end: bool, has_faults: Callable[[], bool]) -> Verdicts:
        """Runs both until the time is over or, with `may_end`, a difference is certain.

        A difference that a known fault of the original may explain ends nothing: there may be
        another. `has_faults` says whether there are faults, and is asked once at most. How many
        runs there are does not depend on what was drawn, but for the early looks.

        Raises:
            ArgumentError: One of the models has outputs that the other has not.
            RunError: A run fails.
        """
        early = _LOOKS if may_end else ()
        error = ERROR
        if early:
            error = ERROR * (1 - _OF_EARLY_LOOKS)
        done = 0
        while clock.goes_on(self._waiting):
            with clock.running():
                old = _run(self._olds)
                new = _run(self._news)
            with clock.adding():
                self._add(old, new)
            done += 1
            if done in early:
                look = self.paired.look(ERROR * _OF_EARLY_LOOKS / len(early))
                if look.is_any:
                    with clock.stopped():
                        may_be_explained = has_faults()
                    if not may_be_explained:
                        return look
                    early = ()
            if clock.has_limit:
                self._measure(clock, done)
        return self.paired.look(error)

    @property
    def _waiting(self) -> int:
        """How many runs are not counted yet."""
        return self.paired.waiting if self._names else 0

    def _measure(self, clock: Clock, done: int) -> None:
        """Tries how long the end will take. What is found is not looked at."""
        paired = self.paired
        if not paired.runs and done in _REHEARSALS:
            rehearsal = paired.rehearsal()
            began = clock.now()
            rehearsal.count()
            counting = clock.now() - began
            clock.rehearsed(counting)
            if done == LEAST_RUNS:
                # That takes hardly longer with more runs.
                clock.judged(_judging(rehearsal, clock))
        elif paired.runs and not paired.waiting:
            clock.counted(paired.runs)
            if paired.runs >= self._measured:
                self._measured = _LONGER * paired.runs
                clock.judged(_judging(paired, clock))

    def _add(self, old: Arrays, new: Arrays) -> None:
        if not self._names:
            self._names = self._paired_names(old, new)
            first = {name: old[name] for name in self._names}
            self.paired = PairedRuns(first, self._by)
        # A sequence may be shorter than it was.
        olds = [old.get(name, _NOTHING) for name in self._names]
        news = [new.get(name, _NOTHING) for name in self._names.values()]
        self.paired.add(olds, news)

    def _paired_names(self, old: Arrays, new: Arrays) -> dict[str, str]:
        """The outputs that are compared, of real numbers: the original's name, and the model's.

        Outputs to which OpenVINO gave a name, since they had none, are compared by their places.

        Raises:
            ArgumentError: One of the models has outputs that the other has not, or none.
        """
        by_place = {}
        unnamed = [name for name in old if _OWN_NAME.fullmatch(name)]
        new_unnamed = [name for name in new if _OWN_NAME.fullmatch(name)]
        if len(unnamed) == len(new_unnamed):
            by_place = dict(zip(unnamed, new_unnamed, strict=True))
        names = {name: by_place.get(name, name) for name in old}
        check_same("outputs, of numbers", set(names.values()) ^ set(new))
        compared = {}
        for name, new_name in names.items():
            was = old[name].dtype
            now = new[new_name].dtype
            if was.kind in _TEXTS or now.kind in _TEXTS:
                self.not_compared.append(f"{name!r}, which is text")
                continue
            if was.kind == "c" or now.kind == "c":
                self.not_compared.append(f"{name!r}, which is of complex numbers")
                continue
            compared[name] = new_name
            if was != now:
                types = f"{now.name} and was {was.name}"
                self.not_compared.append(f"the type of {name!r}, which is {types}")
        if not compared:
            check_same("outputs, of numbers", set(), is_empty=True)
        return compared


def _judging(paired: PairedRuns, clock: Clock) -> float:
    """How many seconds it takes to judge what is counted."""
    began = clock.now()
    Shown(paired, paired.look(ERROR))
    return clock.now() - began


def check_same(what: str, alone: Set[str], *, is_empty: bool = False) -> None:
    """Refuses two models of which one has inputs or outputs that the other has not.

    Raises:
        ArgumentError: They are such models.
    """
    if alone or is_empty:
        got = f"{listed(sorted(alone))} in one of them alone" if alone else "none"
        raise ArgumentError(
            f"the model and its original must have the same {what}: got {got}. Pass the model that "
            "was rewritten."
        )


def _run(serving: Serving) -> Arrays:
    """The outputs of the next run, without the next state."""
    outputs = serving.run()
    if serving.state is not None and serving.state.next is not None:
        outputs.pop(serving.state.next)
    return outputs
