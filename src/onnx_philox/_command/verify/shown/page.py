"""The page that `onnx-philox verify --html` writes."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onnx_philox._command import pages
from onnx_philox._command.verify.cases import SEEDED_DRAWS
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict
from onnx_philox._command.verify.runners import choice
from onnx_philox._command.verify.runners.interface import Runner
from onnx_philox._command.verify.shown import pictures, samples
from onnx_philox._command.verify.shown.matrix import Cell, Column, Matrix, Standing, matrix
from onnx_philox._command.verify.shown.printed import Verification

_LOOKS = {
    Standing.SAME: pages.GOOD,
    Standing.SOME: pages.SOME,
    Standing.OTHER: pages.BAD,
    Standing.PART: pages.SOME,
    Standing.NOT_CARRIED: pages.NONE,
    Standing.WRONG: pages.BAD,
    Standing.ERROR: pages.FAILED,
}


@dataclass(frozen=True)
class _Picture:
    title: str
    grid: str
    caption: str


def write_verification(report: Verification, path: Path) -> None:
    """Writes the page of a report.

    Raises:
        OSError: It cannot be written.
    """
    whole = matrix(report.results)
    drawn, plots = _plots(whole)
    failed = [r for r in report.results if r.is_failure]
    found = {cell.standing for row in whole.rows for cell in row.cells}
    pages.render(
        "verify.html",
        path,
        date=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        is_ok=report.is_ok,
        headline="Every number of onnx-philox is the published one"
        if report.is_ok
        else "Some numbers are wrong",
        meaning=report.meaning,
        summary=report.summary,
        missing=report.missing,
        groups=[(n, list(g)) for n, g in itertools.groupby(whole.columns, lambda c: c.group)],
        width=len(whole.columns),
        operators=[(n, list(g)) for n, g in itertools.groupby(whole.rows, lambda r: r.operator)],
        kinds={standing.name: look for standing, look in _LOOKS.items()},
        standings=[standing for standing in Standing if standing in found],
        details=lambda cell: list(_details(cell)),
        failures=[_failure(result) for result in failed],
        plots_by=drawn,
        plots=plots,
        peers=list(_peers(report.results)),
        notes=report.notes,
        versions=report.versions,
    )


def _details(cell: Cell) -> Iterator[tuple[str, int, str]]:
    """The lines of a cell's tip: a case, how many vectors it has, and its outcome."""
    for result in cell.results:
        assert result.case is not None
        words = (result.case.family, result.case.part)
        compared = result.compared
        outcome = result.verdict.value
        if result.verdict in (CaseVerdict.OTHER, CaseVerdict.MISMATCH):
            outcome += f": {compared.equal} of {compared.total} equal"
        yield " ".join(filter(None, words)), result.vectors, outcome


def _plots(whole: Matrix) -> tuple[str, list[samples.Plot]]:
    """What the best backend drew, and its name."""
    ours = [column for column in whole.columns if not column.is_peer and column.backend != "numpy"]
    # ONNX's reference comes last, if there is a runtime.
    for column in sorted(ours or whole.columns, key=lambda column: column.runtime == "reference"):
        runner = _runner(column)
        if runner is not None:
            try:
                drawn = samples.drawn(runner)
            except Exception:
                # What a runtime raises is in the matrix already.
                continue
            by = f"{samples.COUNT:,} draws of the seed {samples.SEED}, by {column.title}"
            return by, samples.plots(drawn)
    return "", []


def _runner(column: Column) -> Runner | None:
    (found,) = choice.select([column.runtime], [column.backend])
    return found if isinstance(found, Runner) else None


def _failure(result: CaseResult) -> _Picture:
    assert result.case is not None
    first = result.compared.first
    title = f"{result.case.name} in {result.title}"
    if first is None:
        return _Picture(title, "", f"{result.draw}: {result.reason}")
    index = "" if first.index is None else str(list(first.index))
    return _Picture(
        title,
        pictures.grid(result.compared.differs),
        f"First at {first.output}{index} of {first.parameters}: expected {first.expected} "
        f"{first.expected_hex or ''}, got {first.got} {first.got_hex or ''}.",
    )


def _peers(results: list[CaseResult]) -> Iterator[_Picture]:
    """Each kind of seeded draw that a peer does not draw as documented."""
    for result in results:
        case = result.case
        if case is None or not result.is_peer or case.family != SEEDED_DRAWS:
            continue
        if result.verdict is not CaseVerdict.OTHER:
            continue
        compared = result.compared
        where = "on the CPU" if result.backend == "built-in" else "in Model.evaluate"
        caption = f"{compared.equal} of {compared.total} as documented."
        if compared.first is not None:
            first = compared.first
            caption += f" The first that is not should be {first.expected}, and is {first.got}."
        yield _Picture(
            f"{case.type.name} {case.part}, {where}", pictures.grid(compared.differs), caption
        )
