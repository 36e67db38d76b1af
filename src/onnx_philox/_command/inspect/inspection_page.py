"""The page that `onnx-philox inspect --html` writes."""

from __future__ import annotations

import platform
from pathlib import Path

from onnx_philox._command import pages
from onnx_philox._command.inspect import in_words
from onnx_philox._command.inspect import inspection_printed as texts
from onnx_philox._command.inspect.today import InspectedNode
from onnx_philox._command.inspect.trials import Behaviour, Trials
from onnx_philox._command.pages import BAD, GOOD, NONE, SOME, Look
from onnx_philox._command.refusals import PER_ROW

_KEY = (
    (GOOD, "the same numbers in every runtime"),
    (SOME, "draws, but its own numbers"),
    (BAD, "does not draw, or not what the model says"),
)


Cell = tuple[Look, str, str]
"""How a cell looks, what it says, and what more there is to it."""


def write_page(report: texts.Inspection, path: Path) -> None:
    """Writes the page of a report.

    Raises:
        OSError: It cannot be written.
    """
    rows = [
        {
            "name": found.node.called,
            "operator": in_words.operator_of(found.node),
            "place": in_words.place_of(found.node) if report.has_places else "",
            "stream": in_words.stream_of(found.node),
            "cells": [*(_today(r, found) for r in report.runtimes), _after(found)],
        }
        for found in report.found
    ]
    headline, seal = _headline(report)
    lines = []
    command = report.run
    if report.has_no_draws:
        lines = report.lost()
        command = report.draw_command
    if report.standard is not None:
        lines = list(report.standard.lines)
    if report.found:
        meaning, command = report.meaning()
        lines = [*lines, *report.lost_in_conversion(), meaning]
    if report.has_no_draws:
        lines = [*report.noise.lines(), *lines]
    else:
        lines += report.noise.lines()
    lines = [*report.in_the_way, *report.faults, *lines]
    answer, apart = report.per_row()
    pages.render(
        "inspect.html",
        path,
        report=report,
        headline=headline,
        seal=seal,
        lines=lines,
        command=command,
        columns=[*(f"{r.title} today" for r in report.runtimes), "after a rewrite"],
        rows=rows,
        key=_KEY,
        per_row=[_rows(answer), *(f"{name}: {why}" for name, why in apart)] if report.found else [],
        shares=[f"{name}: {share}" for name, share in report.shares()],
        doubts=[f"{name}: {doubt}" for name, doubt in report.doubts()],
        seeds=[f"{name}: {what}" for name, what in report.seeds()],
        versions={"python": platform.python_version()}
        | {runtime.name: runtime.version for runtime in report.runtimes},
    )


def _headline(report: texts.Inspection) -> tuple[str, Look]:
    if report.found:
        noun = "random node" if len(report.found) == 1 else "random nodes"
        return f"{len(report.found)} {noun}{_difference(report)}", SOME
    if report.standard is not None:
        heading = report.standard.heading
        return f"{heading[:1].upper()}{heading[1:]}", GOOD
    if report.rewritten:
        return "It draws the same numbers in every runtime", GOOD
    if report.noise.drawable:
        return "No random nodes, but perhaps noise as an input", SOME
    return "No random nodes, nothing to rewrite", NONE


def _difference(report: texts.Inspection) -> str:
    """How the draws of several runtimes differ; empty where some are equal."""
    if not report.is_other_in_each:
        return ""
    installed = [runtime for runtime in report.runtimes if runtime.version is not None]
    draws = {report.trial(r, f).draw is not None for r in installed for f in report.found}
    if draws == {False}:
        which = "it" if len(report.found) == 1 else "them"
        return f": no runtime draws {which}"
    if all(draws):
        return ", different numbers in each runtime"
    return ", not the same in both runtimes"


def _rows(answer: str) -> str:
    """The answer about rows below its heading, which does not name the option."""
    possible = "possible, "
    if answer.startswith(possible):
        return f"Possible with {PER_ROW}: {answer.removeprefix(possible)}"
    return answer[:1].upper() + answer[1:]


def _today(runtime: Trials, found: InspectedNode) -> Cell:
    today = found.today(runtime)
    kind = SOME
    if today.is_wrong:
        kind = BAD
    elif today.trial.behaviour is Behaviour.NOT_INSTALLED:
        kind = NONE
    said = [each.text for each in today.sentences]
    if len(said) > 1:
        # The runtime's own words may end without one.
        said = [f"{text.rstrip('.')}." for text in said]
    return kind, today.label, " ".join(said)


def _after(found: InspectedNode) -> Cell:
    becomes = in_words.becomes(found.node).plain
    if found.problem is not None:
        return BAD, becomes, found.problem
    return GOOD, becomes, "the same numbers in every runtime, from a state that you give"
