"""Tries probes in the installed runtimes, each in its own processes."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import queue
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from onnx_philox import _runtime_errors
from onnx_philox._command import libraries
from onnx_philox._command.inspect import processes, together
from onnx_philox._command.inspect.known import probed
from onnx_philox._command.inspect.known.row import Said
from onnx_philox._command.inspect.probes import Probe
from onnx_philox._command.inspect.rest import Rest
from onnx_philox._progress import Progress
from onnx_philox._runtimes import RUNTIMES, Runtime
from onnx_philox._versions import install_command

_WORKER = Path(__file__).with_name("worker.py")
_ROLES = ("all", "first")
# Longer than the runtimes' clock may lag.
_CLOCK_SECONDS = 0.02
_START_SECONDS = 60
_PROBE_SECONDS = 20
_POLL_SECONDS = 0.2


class Behaviour(Enum):
    """What a runtime does with a random node today."""

    NOT_INSTALLED = "not installed"
    NOT_LOADED = "does not load"
    NOT_RUN = "fails when run"
    CRASHED = "ends the process"
    HUNG = "does not end"
    OTHER_IN_EACH_RUN = "different numbers each run"
    OTHER_IN_EACH_SESSION = "different numbers each session"
    IGNORES_SEED = "ignores the seed"
    SAME_SEQUENCE = "same sequence each session"
    SAME_IN_EACH_RUN = "same numbers every run"
    REMOVED = "draws nothing"
    SAME_IN_A_SECOND = "same numbers within a second"


FAILURES = (Behaviour.NOT_LOADED, Behaviour.NOT_RUN, Behaviour.CRASHED, Behaviour.HUNG)
UNDRAWN = (*FAILURES, Behaviour.REMOVED, Behaviour.NOT_INSTALLED)
"""Where a runtime draws nothing."""


@dataclass(frozen=True)
class Trial:
    """What a runtime did with a probe."""

    behaviour: Behaviour
    reason: str = ""
    """The runtime's own words, or what the behaviour means in full."""
    draw: str | None = None
    """The first numbers that it drew, as a hash."""
    known: tuple[Said, ...] = ()
    """The rows of the table that it met."""

    @property
    def sentence(self) -> str:
        """What it did, in a sentence."""
        if not self.reason:
            return self.behaviour.value
        separator = "," if self.reason.startswith("and ") else ":"
        return f"{self.behaviour.value}{separator} {self.reason}"


@dataclass(frozen=True)
class Trials:
    """A runtime, and what it did with each probe."""

    name: str
    version: str | None
    """None where it is not installed."""
    trials: dict[str, Trial]
    """By the key of the probe."""
    in_the_way: str | None = ""
    """Why it does not load the rest of the model; empty where it does, None where nobody knows."""

    @property
    def title(self) -> str:
        """Name and version."""
        return " ".join(filter(None, (self.name, self.version)))


Tell = Callable[[str], None]


def run(
    probes: Sequence[Probe],
    progress: Progress,
    rest: Rest | None = None,
    *,
    of_ir: bool = False,
) -> list[Trials]:
    """Tries each probe in each runtime; equal probes once. Those of an IR only where it loads.

    `rest` is what is left of the model without the nodes; None where nobody asks for it.
    """
    runtimes = []
    for runtime in RUNTIMES.values():
        takes_it = runtime.takes_ir or not of_ir
        if runtime.bare and takes_it:
            runtimes.append(runtime)
    distinct = {}
    for probe in probes:
        distinct[probe.key] = probe
    counts = Counter(probe.key for probe in probes)
    count = itertools.count(1)
    total = len(runtimes) * len(_ROLES) * len(distinct)
    line = None if of_ir else together.line_of(list(distinct.values()))

    def tell(runtime: str) -> None:
        progress(next(count), total, f"trying the random nodes in {runtime}")

    progress(0, total, "loading the runtimes")
    with contextlib.ExitStack() as started:
        # Two processes, since a runtime may choose its first seed once for each process.
        workers = {
            runtime.name: [started.enter_context(_Worker(runtime, role)) for role in _ROLES]
            for runtime in runtimes
            if _is_installed(runtime.name)
        }

        def try_in(runtime: Runtime) -> Trials:
            return _try(runtime, workers.get(runtime.name), distinct, line, counts, rest, tell)

        with ThreadPoolExecutor(len(runtimes)) as pool:
            return list(pool.map(try_in, runtimes))


def _try(
    runtime: Runtime,
    workers: Sequence[_Worker] | None,
    probes: Mapping[str, Probe],
    line: str | None,
    counts: Mapping[str, int],
    rest: Rest | None,
    tell: Tell,
) -> Trials:
    """Tries probes in a runtime: first by the `line` that asks for all, if there is one.

    `counts` says of how many nodes of the model each probe is.
    """
    name = runtime.name
    if workers is None:
        absent = Trial(Behaviour.NOT_INSTALLED, install_command(name))
        return Trials(name, None, dict.fromkeys(probes, absent), None)
    first, second = workers
    lines = {key: probe.line for key, probe in probes.items()}
    both = None if line is None else _together(first, second, line, probes, tell)
    if both is None:
        here = _answers(first, lines, tell)
    else:
        here = both[0]
    # What failed or was removed needs no second process.
    drawn = {}
    for key, probe in probes.items():
        if _verdict(probe, here[key]) is None:
            drawn[key] = probe
    of_kinds: Counter[str] = Counter()
    for key, probe in drawn.items():
        of_kinds[probe.kind] += counts[key]
    in_twos = {
        f"{key} {i}": line
        for key, probe in drawn.items()
        if of_kinds[probe.kind] > 1
        for i, line in enumerate(probe.twins)
    }
    twins = _answers(first, in_twos, lambda _: None)
    in_the_way = _in_the_way(first, rest)
    repeating = set()
    for asked, answer in twins.items():
        key = asked.rpartition(" ")[0]
        # Of two that are removed neither draws.
        is_drawn = "first" in answer and answer["first"] != probes[key].undrawn
        if is_drawn and answer["first"] == answer["second"]:
            repeating.add(key)
    if both is None:
        if drawn:
            _wait_for_a_second()
        there = _answers(second, {key: lines[key] for key in drawn}, tell)
        for _ in range(len(probes) - len(there)):
            tell(name)
    else:
        there = both[1]
    trials = {
        key: _verdict(probe, here[key])
        or _trial(probe, here[key], there[key], repeats=key in repeating)
        for key, probe in probes.items()
    }
    return Trials(name, libraries.version_of(name) or "", trials, in_the_way)


def _together(
    first: _Worker,
    second: _Worker,
    line: str,
    probes: Mapping[str, Probe],
    tell: Tell,
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]] | None:
    """What both processes answer for each probe, all in one model; None where one fails."""
    of_both = []
    for worker in (first, second):
        if worker is second:
            _wait_for_a_second()
        answer = worker.ask(line)
        if "of" not in answer:
            return None
        of_both.append(dict(zip(probes, answer["of"], strict=True)))
    for _ in range(len(_ROLES) * len(probes)):
        tell(first.runtime.name)
    here, there = of_both
    return here, there


def _wait_for_a_second() -> None:
    """Waits for another second, since the seed may be the current one: OpenVINO's Multinomial."""
    time.sleep(1 - time.time() % 1 + _CLOCK_SECONDS)


def _in_the_way(worker: _Worker, rest: Rest | None) -> str | None:
    """What a runtime says of the rest of a model; see `Trials`."""
    if rest is None:
        return None
    answer = _answers(worker, {"rest": rest.line}, lambda _: None)["rest"]
    if "failed" not in answer:
        return ""
    reason = _runtime_errors.sentence(answer["reason"])
    is_said = answer["failed"] == "load" and rest.stands_in_the_way(reason)
    return reason if is_said else None


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        # find_spec raises this for a module that `sys.modules[name] = None` hides.
        return False


def _answers(
    worker: _Worker,
    probes: Mapping[str, str],
    tell: Tell,
) -> dict[str, dict[str, str]]:
    """The answer to each probe; after a probe that ended its process, a new process goes on."""
    answers = {}
    with contextlib.ExitStack() as others:
        for key, line in probes.items():
            if not worker.is_alive:
                worker = others.enter_context(_Worker(worker.runtime, worker.role))
            answers[key] = worker.ask(line)
            tell(worker.runtime.name)
    return answers


class _Worker:
    """A process that answers probes one after the other."""

    def __init__(self, runtime: Runtime, role: str) -> None:
        self.runtime = runtime
        self.role = role
        program = (str(_WORKER), runtime.name, str(runtime.bare), role)
        self._process = processes.start(program, RUNTIMES)
        self._seconds = _START_SECONDS
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        # A thread reads, since a read cannot be abandoned: if the runtime forked, the pipe stays
        # open after the process has ended.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self.is_alive = True

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if self._reader.ident is None:
            self._process.stdout.close()
        self._process.wait()

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a probe's line, which may have ended the process."""
        if self._reader.ident is None:
            self._reader.start()
        with contextlib.suppress(OSError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            code = self._process.poll()
            try:
                answer: dict[str, Any] = json.loads(self._lines.get(timeout=_POLL_SECONDS))
            except queue.Empty:
                if code is None:
                    continue
                self.is_alive = False
                reason = f"exit code {code}"
                if code < 0:
                    reason = f"signal {-code} ({signal.strsignal(-code)})"
                return {"failed": "crash", "reason": reason}
            self._seconds = _PROBE_SECONDS
            return answer
        self.is_alive = False
        return {"failed": "hang", "reason": f"stopped after {self._seconds} s"}

    def _read(self) -> None:
        with self._process.stdout as answers:
            for line in answers:
                self._lines.put(line)


_DRAWS_ONCE = (Behaviour.OTHER_IN_EACH_SESSION, Behaviour.SAME_IN_EACH_RUN)


def frozen(
    runtime: str,
    trial: Trial,
    is_subtracted: bool,
    is_read_elsewhere: bool,
) -> list[Said]:
    """What to say of a node that a runtime drew once, since a Subtract follows it."""
    row = probed.FROZEN_IN_PART if is_read_elsewhere else probed.FROZEN
    if not is_subtracted or runtime not in row.seen_in:
        return []
    if trial.behaviour not in _DRAWS_ONCE:
        return []
    return [row.said()]


_FAILURES = {
    "load": Behaviour.NOT_LOADED,
    "run": Behaviour.NOT_RUN,
    "crash": Behaviour.CRASHED,
    "hang": Behaviour.HUNG,
}


def _verdict(probe: Probe, answer: dict[str, str]) -> Trial | None:
    """What one process's answer says by itself; None where another process has to be asked."""
    if "failed" in answer:
        return Trial(_FAILURES[answer["failed"]], _runtime_errors.sentence(answer["reason"]))
    if probe.undrawn and answer["first"] == probe.undrawn:
        return Trial(Behaviour.REMOVED, known=(probed.REMOVED.said(),))
    return None


def _trial(
    probe: Probe,
    here: dict[str, str],
    there: dict[str, str],
    *,
    repeats: bool,
) -> Trial:
    """What the answers of two processes say together, and what two nodes in one model drew.

    Whether those of the user's model repeat each other depends on the shapes and nodes around them.
    """
    if "failed" in there:
        return Trial(_FAILURES[there["failed"]], _runtime_errors.sentence(there["reason"]))
    behaviour, reason = _behaviour(probe, here, there)
    first = here["first"]
    known = []
    if "ones" in here and probe.p is not None:
        ones = float(here["ones"])
        p = probe.p
        if abs(ones - p) >= abs(ones - (1 - p)):
            share = f"{round(ones, 1):.0%}"
            known.append(probed.INVERTED.said(p=str(p), share=share))
    if behaviour is Behaviour.SAME_IN_A_SECOND:
        known.append(probed.CLOCK.said())
    if behaviour is Behaviour.SAME_IN_EACH_RUN and probe.is_multinomial:
        known.append(probed.MULTINOMIAL.said())
    if here.get("request", first) != first and behaviour is Behaviour.SAME_SEQUENCE:
        known.append(probed.REQUESTS.said())
    if repeats:
        known.append(probed.MERGED.said())
    return Trial(behaviour, reason, first, tuple(known))


def _behaviour(
    probe: Probe,
    here: dict[str, str],
    there: dict[str, str],
) -> tuple[Behaviour, str]:
    """The behaviour, judged by which draws had the same numbers."""
    first = here["first"]
    is_same_in_process = first == there["first"]
    is_same_in_run = first == here["second"]
    if is_same_in_run and here.get("later", first) != first:
        return Behaviour.SAME_IN_A_SECOND, "its seed is the time in seconds"
    if probe.has_seed and not is_same_in_process:
        return Behaviour.IGNORES_SEED, "a new process draws different numbers for the same seed"
    if probe.has_seed and first == here["other_seed"]:
        if is_same_in_run:
            return Behaviour.SAME_IN_EACH_RUN, "it never draws others, whatever its seed"
        return Behaviour.IGNORES_SEED, "another seed draws the same numbers"
    if is_same_in_process and is_same_in_run:
        return Behaviour.SAME_IN_EACH_RUN, "it never draws others"
    if is_same_in_process:
        reason = "run after run draws on, and a new session begins again"
        return Behaviour.SAME_SEQUENCE, reason
    if is_same_in_run:
        return Behaviour.OTHER_IN_EACH_SESSION, "and the same ones in each of its runs"
    where = "process" if first == here["session"] else "session"
    return Behaviour.OTHER_IN_EACH_RUN, f"and in each {where}: none can be reproduced"
