"""The page that `onnx-philox inspect --html` writes."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from onnx_philox._command import pages
from onnx_philox._command.inspect import printed as texts
from onnx_philox._command.inspect.trials import Behaviour, Trial
from onnx_philox._command.pages import BAD, GOOD, NONE, SOME, Look
from onnx_philox._command.refusals import PER_ROW
from onnx_philox._rewriting.in_onnx import unrun

_KEY = (
    (GOOD, "the same numbers in every runtime"),
    (SOME, "draws, but its own numbers"),
    (BAD, "does not draw"),
)


@dataclass(frozen=True)
class _NodeCell:
    kind: Look
    text: str
    more: str


@dataclass(frozen=True)
class _NodeRow:
    name: str
    operator: str
    place: str
    stream: str
    cells: list[_NodeCell]


def write_inspection(report: texts.Inspection, path: Path) -> None:
    """Writes the page of a report.

    Raises:
        OSError: It cannot be written.
    """
    has_places = any(found.node.path or found.node.function for found in report.found)
    rows = [
        _NodeRow(
            found.node.called,
            texts.operator_of(found.node),
            texts.place_of(found.node) if has_places else "",
            texts.stream_of(found.node),
            [*(_today(report.trial(r, found)) for r in report.runtimes), _after(found)],
        )
        for found in report.found
    ]
    headline, seal = _headline(report)
    lines, command = report.lost() if report.has_no_draws else [], report.run
    if report.standard is not None:
        lines = list(report.standard.lines)
    if report.found:
        meaning, command = report.meaning()
        lines = [*lines, *report.lost_in_conversion(), meaning]
    lines = [*unrun.about(report.of_no_runtime, report.for_training), *report.faults, *lines]
    answer, apart = report.per_row()
    pages.render(
        "inspect.html",
        path,
        name=report.model.name,
        model=str(report.model),
        opset=report.opset,
        headline=headline,
        seal=seal,
        lines=lines,
        command=command,
        columns=[*(f"{r.title} today" for r in report.runtimes), "after a rewrite"],
        rows=rows,
        key=_KEY,
        rewritten=report.rewritten,
        state=report.about_state if report.state else "",
        per_row=[_rows(answer), *(f"{name}: {why}" for name, why in apart)] if report.found else [],
        shares=[f"{name}: {share}" for name, share in report.shares()],
        seeds=[f"{name}: {what}" for name, what in report.seeds()],
        versions={"python": platform.python_version()}
        | {runtime.name: runtime.version for runtime in report.runtimes},
    )


def _headline(report: texts.Inspection) -> tuple[str, Look]:
    if report.found:
        nodes = f"{len(report.found)} random node{'s'[: len(report.found) > 1]}"
        return f"{nodes}{_difference(report)}", SOME
    if report.standard is not None:
        heading = report.standard.heading
        return f"{heading[:1].upper()}{heading[1:]}", GOOD
    if report.rewritten:
        return "It draws the same numbers in every runtime", GOOD
    return "No random nodes, nothing to rewrite", NONE


def _difference(report: texts.Inspection) -> str:
    """How the draws of several runtimes differ; empty where some are equal."""
    if not report.is_other_in_each:
        return ""
    installed = [runtime for runtime in report.runtimes if runtime.version is not None]
    draws = {report.trial(r, f).draw is not None for r in installed for f in report.found}
    if draws == {False}:
        return f": no runtime draws {'it' if len(report.found) == 1 else 'them'}"
    return (
        ", different numbers in each runtime" if all(draws) else ", not the same in both runtimes"
    )


def _rows(answer: str) -> str:
    """The answer about rows below its heading, which does not name the option."""
    possible = "possible, "
    if answer.startswith(possible):
        return f"Possible with {PER_ROW}: {answer.removeprefix(possible)}"
    return answer[:1].upper() + answer[1:]


def _today(trial: Trial) -> _NodeCell:
    kind = SOME
    if trial.behaviour in (*texts.FAILURES, Behaviour.REMOVED):
        kind = BAD
    elif trial.behaviour is Behaviour.NOT_INSTALLED:
        kind = NONE
    return _NodeCell(kind, trial.behaviour.value, trial.sentence)


def _after(found: texts.InspectedNode) -> _NodeCell:
    becomes = texts.becomes(found.node).plain
    if found.problem is not None:
        return _NodeCell(BAD, becomes, found.problem)
    return _NodeCell(GOOD, becomes, "the same numbers in every runtime, from a state that you give")
