"""The long table of `onnx-philox verify --verbose`: every kind of vector in every backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from onnx_philox._command import terminal
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict, groups

_STYLES = {
    CaseVerdict.MISMATCH: "bold red",
    CaseVerdict.ERROR: "bold red",
    CaseVerdict.SAME: "green",
}


@dataclass
class VerdictRow:
    """A line of the table: results of one family that have the same verdict."""

    results: list[CaseResult]
    part: str = ""
    is_whole_family: bool = False

    @property
    def verdict(self) -> CaseVerdict:
        return self.results[0].verdict

    @property
    def what(self) -> str:
        """The types and the part of the family; empty for all of it."""
        if self.is_whole_family:
            return ""
        cases = [result.case for result in self.results if result.case]
        types = dict.fromkeys(case.type.name for case in cases)
        words = [*types, self.part]
        return " ".join(word for word in words if word)

    @property
    def label(self) -> str:
        case = self.results[0].case
        if case is None:
            return CaseVerdict.NOT_INSTALLED.value
        if self.is_whole_family:
            types = len({result.case.type for result in self.results if result.case})
            if types > 1:
                return f"{case.family}, all {types} types"
            return case.family
        return f"{case.family} {self.what}"

    @property
    def outcome(self) -> Text:
        style = ""
        if not self.results[0].by.is_peer:
            style = _STYLES.get(self.verdict, "")
        return Text(self._outcome(), style)

    def _outcome(self) -> str:
        compared = self.results[0].compared
        match self.verdict:
            case CaseVerdict.OTHER | CaseVerdict.MISMATCH:
                first = compared.first
                where = "another form"
                if first is not None and first.element is not None:
                    where = f"first at {first.element}"
                if self.verdict is CaseVerdict.MISMATCH:
                    return f"{self.verdict.value}, {where} (see below)"
                equal = f"{compared.equal} of {compared.total} equal"
                return f"{self.verdict.value} ({where}; {equal})"
            case CaseVerdict.ERROR:
                return f"{self.verdict.value} (see below)"
            case CaseVerdict.NOT_INSTALLED:
                return self.results[0].by.how_to_install or "see below"
            case _:
                vectors = sum(r.vectors for r in self.results)
                noun = "vectors" if vectors > 1 else "vector"
                return f"{self.verdict.value}, {vectors} {noun}"


def _rows(results: list[CaseResult]) -> list[VerdictRow]:
    """The lines of one runner, as few as possible."""
    families: dict[str, list[CaseResult]] = {}
    for result in results:
        name = result.case.family if result.case else ""
        families.setdefault(name, []).append(result)
    rows = []
    for family in families.values():
        rows += family_rows(family)
    return rows


def family_rows(family: list[CaseResult]) -> list[VerdictRow]:
    """The lines of one family of cases; none for a family without any."""
    if not family:
        return []
    mergeable = (CaseVerdict.SAME, CaseVerdict.NOT_CARRIED, CaseVerdict.ERROR)
    verdicts: dict[Any, set[CaseVerdict]] = {}
    for result in family:
        type_ = None if result.case is None else result.case.type
        of_type = verdicts.setdefault(type_, set())
        of_type.add(result.verdict)
    first = family[0].verdict
    every = set().union(*verdicts.values())
    if first in mergeable and every == {first}:
        return [VerdictRow(family, is_whole_family=True)]
    types = list(verdicts)

    def place(result: CaseResult) -> int:
        type_ = None if result.case is None else result.case.type
        return types.index(type_)

    rows: dict[Any, VerdictRow] = {}
    for result in sorted(family, key=place):
        case = result.case
        is_merged = result.verdict in mergeable
        part = ""
        has_one_verdict = case is not None and len(verdicts[case.type]) == 1
        if case is not None and not (is_merged and has_one_verdict):
            part = case.part
        key = (part, result.verdict) if is_merged else id(result)
        row = rows.setdefault(key, VerdictRow([], part))
        row.results.append(result)
    order = list(CaseVerdict)
    return sorted(rows.values(), key=lambda row: order.index(row.verdict))


def table(results: list[CaseResult], width: int) -> RenderableType:
    """Five columns if they fit; otherwise three of them become headings."""
    parts = {by: _rows(group) for by, group in groups(results).items()}
    heads = ("runtime", "version", "backend", "case", "verdict")
    table = terminal.table(*map(terminal.WORD, heads))
    for by, rows in parts.items():
        who = (by.runtime, by.version, by.backend)
        for row in rows:
            is_last = row is rows[-1]
            table.add_row(*who, row.label, row.outcome, end_section=is_last)
            who = ("", "", "")
    # rich cuts text that does not fit, so there must always be room.
    needed = Measurement.get(_UNLIMITED, _UNLIMITED.options, table).maximum
    if needed <= width:
        return table
    all_rows = [row for rows in parts.values() for row in rows]
    widest = max(len(row.label) for row in all_rows)
    longest = max(len(row.outcome) for row in all_rows)
    fits = widest + 2 + longest <= width
    blocks: list[RenderableType] = []
    for by, rows in parts.items():
        block = Table.grid(padding=(0, 2))
        # If not all blocks can be aligned, each has its own width.
        block.add_column(width=widest if fits else None)
        block.add_column(overflow="fold")
        for row in rows:
            block.add_row(row.label, row.outcome)
        blocks += [Text(by.title, "bold"), block, ""]
    return Group(*blocks)


_UNLIMITED = Console(width=1000)
