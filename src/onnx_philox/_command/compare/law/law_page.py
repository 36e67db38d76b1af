"""The page that `onnx-philox compare --original --html` writes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onnx_philox._command import pages
from onnx_philox._command.compare.law.change import GoTogether
from onnx_philox._command.compare.law.law_report import ComparedLaws
from onnx_philox._command.compare.law.watched import INFINITE, NOT_A_NUMBER, Watched
from onnx_philox._command.pages import BAD, GOOD, SOME, Look, pictures

_SEALS = {True: GOOD, False: BAD, None: SOME}


class Picture(NamedTuple):
    """Two distributions over each other, or how two values go together in both models."""

    name: str
    svg: str
    caption: str


def write_page(report: ComparedLaws, path: Path) -> None:
    """Writes the page of a report.

    Raises:
        OSError: It cannot be written.
    """
    seal: Look = _SEALS[report.is_ok]
    pages.render(
        "compare.html",
        path,
        date=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        report=report,
        seal=seal,
        pictures=[_picture(output) for output in report.paired.outputs],
        together=_together(report),
        versions={report.loaded.runtime: report.loaded.version},
    )


def _picture(output: Watched) -> Picture:
    was, now = output.heights.tolist()
    shape = "[{}]".format(", ".join(map(str, output.shape)))
    looked_at = len(output.places)
    count = "all" if looked_at == output.size else f"{looked_at} of {output.size}"
    caption = f"{output.type.name}{shape}: {count} of its values"
    if not output.every.is_few:
        edges = output.bins.tolist()
        return Picture(output.name, pictures.overlaid(edges, was, now), caption + _left_out(output))
    names = [f"{value:.4g}" for value in output.every.edges.tolist()]
    names.append("other")
    shares_was, shares_now = _shares(was), _shares(now)
    if output.is_bool:
        names = ["true", "false"]
    elif not was[-1] and not now[-1]:
        # Nothing is another value.
        del names[-1], shares_was[-1], shares_now[-1]
    return Picture(output.name, pictures.beside(names, shares_was, shares_now), caption)


def _together(report: ComparedLaws) -> list[Picture]:
    """Which go together otherwise than they did."""
    shapes = {output.name: output.shape for output in report.paired.outputs}
    found = []
    for change in report.differences:
        if not isinstance(change, GoTogether):
            continue
        what = "rank correlation"
        lowest = -1.0
        if not change.is_correlation:
            what = "share of places where both have their frequent value, or have not"
            lowest = 0.0
        values = []
        for name, element in zip(change.both, change.elements, strict=True):
            values.append(_value(name, shapes[name], element))
        svg = pictures.on_a_line(change.was, change.now, lowest)
        caption = f"{what} {change.now:.2f}, was {change.was:.2f}"
        found.append(Picture(" and ".join(values), svg, caption))
    return found


def _value(
    name: str,
    shape: tuple[int, ...],
    element: int | None,
) -> str:
    """A value of an output as it is written; the output itself where it is no single one."""
    if element is None or not shape:
        return name
    place = np.unravel_index(element, shape)
    return f"{name}{[int(number) for number in place]}"


def _shares(counts: list[float]) -> list[float]:
    total = sum(counts) or 1.0
    return [count / total for count in counts]


def _left_out(output: Watched) -> str:
    """What no bar shows: NaN and infinities, of the whole output."""
    runs = output.whole.runs
    is_left_out = [each.kind in (INFINITE, NOT_A_NUMBER) for each in output.statistics]
    was = float(output.whole.was[is_left_out].sum()) / runs
    now = float(output.whole.now[is_left_out].sum()) / runs
    if was == 0 and now == 0:
        return ""
    return f"; without NaN and infinities: {now:.1%}, was {was:.1%}"
