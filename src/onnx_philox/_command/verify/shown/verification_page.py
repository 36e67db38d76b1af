"""The page that `onnx-philox verify --html` writes."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from pathlib import Path

from onnx_philox._command import pages
from onnx_philox._command.pages import pictures
from onnx_philox._command.verify.cases import SEEDED_DRAWS
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict
from onnx_philox._command.verify.runners import choice
from onnx_philox._command.verify.runners.interface import Runner
from onnx_philox._command.verify.runners.openvino_own import OpenvinoOwnRunner
from onnx_philox._command.verify.shown import samples
from onnx_philox._command.verify.shown.matrix import Cell, Standing, matrix
from onnx_philox._command.verify.shown.verification_printed import Verification


def write_page(report: Verification, path: Path) -> None:
    """Writes the page of a report.

    Raises:
        OSError: It cannot be written.
    """
    rows = matrix(report.results)
    columns = [cell.by for cell in rows[0].cells] if rows else []
    drawn, plots = _plots(columns)
    found = {cell.standing for row in rows for cell in row.cells}
    pages.render(
        "verify.html",
        path,
        date=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        report=report,
        headline="Every number of onnx-philox is the published one"
        if report.is_ok
        else "Some numbers are wrong",
        groups=[(n, list(g)) for n, g in itertools.groupby(columns, lambda by: by.group)],
        width=len(columns),
        operators=[(n, list(g)) for n, g in itertools.groupby(rows, lambda r: r.operator)],
        standings=[standing for standing in Standing if standing in found],
        details=_details,
        failures=[_failure(result) for result in report.results if result.is_failure],
        plots_by=drawn,
        plots=plots,
        peers=list(_peers(report.results)),
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
        what = " ".join(word for word in words if word)
        yield what, result.vectors, outcome


def _plots(columns: list[Runner]) -> tuple[str, list[samples.Plot]]:
    """What the best backend drew, and its name."""
    ours = [column for column in columns if not column.is_peer]
    ours = [column for column in ours if column.backend != "numpy"]
    # ONNX's reference comes last, if there is a runtime.
    in_order = sorted(ours or columns, key=lambda column: column.runtime == "reference")
    for column in in_order:
        (runner,) = choice.select([column.runtime], [column.backend])
        assert isinstance(runner, Runner), "it has drawn before"
        try:
            plots = samples.plots(runner)
        except Exception:
            # What a runtime raises is in the matrix already.
            continue
        what = f"{samples.COUNT:,} draws of the seed {samples.SEED}"
        return f"{what}, by {column.title}", plots
    return "", []


def _failure(result: CaseResult) -> samples.Plot:
    assert result.case is not None
    first = result.compared.first
    title = f"{result.case.name} in {result.by.title}"
    if first is None:
        return samples.Plot(title, "", f"{result.draw}: {result.reason}")
    index = "" if first.index is None else str(list(first.index))
    return samples.Plot(
        title,
        pictures.grid(result.compared.differs),
        f"First at {first.output}{index} of {first.parameters}: expected {first.expected} "
        f"{first.expected_hex or ''}, got {first.got} {first.got_hex or ''}.",
    )


def _peers(results: list[CaseResult]) -> Iterator[samples.Plot]:
    """Each kind of seeded draw that a peer does not draw as documented."""
    for result in results:
        case = result.case
        by = result.by
        compared = result.compared
        if result.verdict is not CaseVerdict.OTHER:
            continue
        assert case is not None
        assert compared.first is not None
        assert isinstance(by, OpenvinoOwnRunner)
        if case.family != SEEDED_DRAWS:
            continue
        caption = (
            f"{compared.equal} of {compared.total} as documented. The first that is not should be "
            f"{compared.first.expected}, and is {compared.first.got}."
        )
        where = by.where.replace("on CPU", "on the CPU")
        title = f"{case.type.name} {case.part}, {where}"
        yield samples.Plot(title, pictures.grid(compared.differs), caption)
