"""The page that `onnx-philox compare --original --html` writes."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import NamedTuple

from onnx_philox._command import pages
from onnx_philox._command.compare.law.printed import ComparedLaws
from onnx_philox._command.compare.law.runs import Watched
from onnx_philox._command.pages import BAD, GOOD, SOME, Look, pictures

_SEALS = {True: GOOD, False: BAD, None: SOME}


class Picture(NamedTuple):
    """Two distributions over each other."""

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
        versions={report.loaded.runtime: report.loaded.version},
    )


def _picture(output: Watched) -> Picture:
    was, now = output.heights.tolist()
    shape = "[{}]".format(", ".join(map(str, output.shape)))
    looked_at = len(output.places)
    count = "all" if looked_at == output.size else f"{looked_at} of {output.size}"
    caption = f"{output.type.name}{shape}: {count} of its values"
    if not output.every.is_few:
        return Picture(output.name, pictures.overlaid(output.bins.tolist(), was, now), caption)
    total = sum(was) or 1.0, sum(now) or 1.0
    shares = [
        [count / of for count in counts] for counts, of in zip((was, now), total, strict=True)
    ]
    names = [f"{value:.4g}" for value in output.every.edges.tolist()] + ["other"]
    if output.is_bool:
        names = ["true", "false"]
    elif not was[-1] and not now[-1]:
        names, shares = names[:-1], [each[:-1] for each in shares]
    return Picture(output.name, pictures.beside(names, *shares), caption)
