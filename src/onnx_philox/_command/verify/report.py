"""What `onnx-philox verify` prints: a table for people, a JSON document for machines."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from onnx_philox._command.verify.cases import (
    COUNTER_EXAMPLE,
    ERRATUM,
    NORMAL_TOLERANCES,
    SEEDED_DRAWS,
    TENSORFLOW_NORMAL,
    Case,
)
from onnx_philox._command.verify.comparison import NOTHING, Comparison


class Verdict(Enum):
    """The outcome of a case."""

    SAME = "same bits"
    MISMATCH = "mismatch"
    ERROR = "error"
    NOT_CARRIED = "not carried"
    NOT_INSTALLED = "not installed"
    OTHER = "other bits"
    """What a mismatch is for a peer: something to know, no failure."""


_PLURALS = {Verdict.MISMATCH.value: "mismatches", Verdict.ERROR.value: "errors"}
_STYLES = {Verdict.MISMATCH: "bold red", Verdict.ERROR: "bold red", Verdict.SAME: "green"}
_PACKAGES = ("onnx-philox", "numpy", "onnx", "onnxruntime", "onnxruntime-extensions", "openvino")


@dataclass(frozen=True, kw_only=True)
class Result:
    """A case in a backend, or a missing runtime or backend (which has no case)."""

    runtime: str
    version: str = ""
    backend: str = ""
    title: str
    is_peer: bool = False
    case: Case | None = None
    verdict: Verdict
    reason: str | None = None
    """Why there are no numbers to compare."""
    draw: str | None = None
    """The draw that ended in an error."""
    compared: Comparison = NOTHING

    @property
    def how_to_install(self) -> str | None:
        """The command, if there is nothing else to say."""
        command = re.search(r"pip install \S+$", self.reason or "")
        return command[0] if command else None

    @property
    def is_failure(self) -> bool:
        """Whether the command must fail."""
        return not self.is_peer and self.verdict in (Verdict.MISMATCH, Verdict.ERROR)

    @property
    def vectors(self) -> int:
        """How many vectors the verdict covers."""
        return len(self.case.vectors) if self.case else 0


@dataclass(frozen=True)
class Report:
    """All results, in the order in which they appear."""

    results: list[Result]

    @property
    def is_ok(self) -> bool:
        """Whether none of our own operators failed."""
        return not any(result.is_failure for result in self.results)

    def to_json(self) -> str:
        """Returns one JSON document; its keys never change."""
        return json.dumps(
            {
                "ok": self.is_ok,
                "versions": _versions(),
                "cases": [_case_json(result) for result in self.results],
                "summary": {
                    "ours": _counts(r for r in self.results if not r.is_peer),
                    "peer": _counts(r for r in self.results if r.is_peer),
                },
            },
            indent=2,
        )

    def print(self, console: Console) -> None:
        """Prints the table, what went wrong, the counts, and what it means."""
        console.print(_table(self.results, console.width))
        explained = set()
        for result in self.results:
            # A library that does not load breaks every case for the same reason: once is enough.
            key = (result.title, result.reason or id(result))
            is_open = result.verdict is Verdict.NOT_INSTALLED and not result.how_to_install
            if (result.is_failure or is_open) and key not in explained:
                explained.add(key)
                console.print(_explanation(result))
        for note in _notes(self.results):
            console.print(Text(note, "dim"))
        console.print()
        console.print(Text(_summary(self.results)))
        console.print(self._meaning())

    def _meaning(self) -> Text:
        failed = [r for r in self.results if r.is_failure]
        if failed:
            where = list(dict.fromkeys(f"{r.runtime} {r.backend}" for r in failed))
            draws_others = any(r.verdict is Verdict.MISMATCH for r in failed)
            what = "other numbers than are documented" if draws_others else "an error"
            return Text(
                f"Do not rely on {_listed(where)} here: what came was {what}. Please report it, "
                "with the output of onnx-philox verify --json.",
                style="bold red",
            )
        tried = list(
            dict.fromkeys(
                f"{r.runtime} {r.backend}" for r in self.results if r.case and not r.is_peer
            )
        )
        draw, they = ("draw", "they carry") if len(tried) > 1 else ("draws", "it carries")
        meaning = (
            f"All is well: {_listed(tried)} {draw} the documented numbers, to the last bit, in "
            f"every type that {they}."
        )
        missing = [r.title for r in self.results if r.verdict is Verdict.NOT_INSTALLED]
        if missing:
            meaning += f" Not tried: {_listed(missing)}."
        return Text(meaning, "bold")


@dataclass
class _Row:
    """A line of the table: results of one family that have the same verdict."""

    results: list[Result]
    part: str = ""
    is_whole_family: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.results[0].verdict

    @property
    def what(self) -> str:
        """The types and the part of the family; empty for all of it."""
        types = dict.fromkeys(r.case.type.name for r in self.results if r.case)
        return "" if self.is_whole_family else " ".join(filter(None, (*types, self.part)))

    @property
    def label(self) -> str:
        case = self.results[0].case
        if case is None:
            return Verdict.NOT_INSTALLED.value
        if self.is_whole_family:
            types = len({r.case.type for r in self.results if r.case})
            return f"{case.family}, all {types} types" if types > 1 else case.family
        return f"{case.family} {self.what}"

    @property
    def outcome(self) -> Text:
        style = "" if self.results[0].is_peer else _STYLES.get(self.verdict, "")
        return Text(self._outcome(), style)

    def _outcome(self) -> str:
        compared = self.results[0].compared
        match self.verdict:
            case Verdict.OTHER | Verdict.MISMATCH:
                first = compared.first
                element = None if first is None else first.element
                where = "another form" if element is None else f"first at {element}"
                if self.verdict is Verdict.MISMATCH:
                    return f"{self.verdict.value}, {where} (see below)"
                return f"{self.verdict.value} ({where}; {compared.equal} of {compared.total} equal)"
            case Verdict.ERROR:
                return f"{self.verdict.value} (see below)"
            case Verdict.NOT_INSTALLED:
                return self.results[0].how_to_install or "see below"
            case _:
                vectors = sum(r.vectors for r in self.results)
                return f"{self.verdict.value}, {vectors} vector{'s' if vectors > 1 else ''}"


def _groups(results: Iterable[Result]) -> list[list[Result]]:
    """The results of each runner."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.title, []).append(result)
    return list(groups.values())


def _rows(results: list[Result]) -> list[_Row]:
    """The lines of one runner, as few as possible."""
    families: dict[str, list[Result]] = {}
    for result in results:
        families.setdefault(result.case.family if result.case else "", []).append(result)
    return [row for family in families.values() for row in _family_rows(family)]


def _family_rows(family: list[Result]) -> list[_Row]:
    mergeable = (Verdict.SAME, Verdict.NOT_CARRIED, Verdict.ERROR)
    if len({r.verdict for r in family}) == 1 and family[0].verdict in mergeable:
        return [_Row(family, is_whole_family=True)]
    by_type: dict[str, list[Result]] = {}
    for result in family:
        by_type.setdefault(result.case.type.name if result.case else "", []).append(result)
    rows: dict[Any, _Row] = {}
    for results in by_type.values():
        is_uniform = len({r.verdict for r in results}) == 1
        for result in results:
            part = "" if is_uniform or result.case is None else result.case.part
            key: Any = (part, result.verdict)
            if result.verdict not in mergeable:
                part = "" if result.case is None else result.case.part
                key = id(result)
            rows.setdefault(key, _Row([], part)).results.append(result)
    order = list(Verdict)
    return sorted(rows.values(), key=lambda row: order.index(row.verdict))


def _table(results: list[Result], width: int) -> RenderableType:
    """Five columns if they fit; otherwise three of them become headings."""
    groups = [(group[0], _rows(group)) for group in _groups(results)]
    table = _new_table("runtime", "version", "backend", "case", "verdict")
    for first, rows in groups:
        who = (first.runtime, first.version, first.backend)
        for row in rows:
            table.add_row(*who, row.label, row.outcome, end_section=row is rows[-1])
            who = ("", "", "")
    # rich cuts text that does not fit, so there must always be room.
    if Measurement.get(_UNLIMITED, _UNLIMITED.options, table).maximum <= width:
        return table
    all_rows = [row for _, rows in groups for row in rows]
    widest = max(len(row.label) for row in all_rows)
    fits = widest + 2 + max(len(row.outcome) for row in all_rows) <= width
    # If not all blocks can be aligned, each has its own width.
    labels = widest if fits else None
    blocks: list[RenderableType] = []
    for first, rows in groups:
        block = Table.grid(padding=(0, 2))
        block.add_column(width=labels)
        block.add_column(overflow="fold")
        for row in rows:
            block.add_row(row.label, row.outcome)
        blocks += [Text(first.title, "bold"), block, ""]
    return Group(*blocks)


_UNLIMITED = Console(width=1000)


def _new_table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, no_wrap=True)
    return table


def _explanation(result: Result) -> RenderableType:
    """What the table has no room for: a mismatch in full, an error, how to install."""
    what = f"{result.case.name} in {result.title}" if result.case else result.title
    lines = [(result.verdict.value.capitalize(), what)]
    first = result.compared.first
    if result.draw is not None:
        lines.append(("draw", result.draw))
    if result.reason is not None:
        lines.append(("because", result.reason))
    if first is not None:
        index = "" if first.index is None else str(list(first.index))
        lines += [
            ("draw", first.parameters),
            ("where", f"{first.output}{index}; {result.compared.equal:,} of "
             f"{result.compared.total:,} elements are equal"),
            ("expected", " ".join(filter(None, (first.expected, first.expected_hex)))),
            ("got", " ".join(filter(None, (first.got, first.got_hex)))),
        ]  # fmt: skip
    (head, text), *rest = lines
    style = "bold red" if result.is_failure else "bold"
    details = Table.grid(padding=(0, 1))
    for name, value in rest:
        details.add_row(f"  {name}:", Text(value))
    return Group(Text(f"{head}: {text}", style), details, "")


def _notes(results: list[Result]) -> list[str]:
    families = {r.case.family for r in results if r.case}
    notes = [ERRATUM] if COUNTER_EXAMPLE in families else []
    if TENSORFLOW_NORMAL in families:
        distances = _listed(f"{limit:g} ({t.name})" for t, limit in NORMAL_TOLERANCES.items())
        notes.append(
            f"TensorFlow normal: the same bits in every runtime here, and within {distances} of "
            "TensorFlow's values, whose ln, sin and cos are others."
        )
    refused = [r for r in results if r.verdict is Verdict.NOT_CARRIED]
    for group in _groups(refused):
        types = _listed(dict.fromkeys(r.case.type.name for r in group if r.case))
        notes.append(
            f"Not carried: {types}, which {group[0].runtime}'s backend {group[0].backend} refuses "
            "when it loads a model."
        )
    peers = [group for group in _groups(results) if group[0].is_peer]
    if peers:
        right = "; ".join(f"{_PEERS[g[0].backend]}: {_right(g)}" for g in peers)
        notes.append(
            f"Why ours: OpenVINO's own RandomUniform, which takes no state, has only some of the "
            f"seeded draws right; {right}."
        )
    return notes


_PEERS = {"built-in": "on CPU", "evaluate": "in Model.evaluate"}


def _right(results: list[Result]) -> str:
    """The seeded draws that a peer gets right."""
    family = [r for r in results if r.case and r.case.family == SEEDED_DRAWS]
    rows = [row for row in _family_rows(family) if row.verdict is Verdict.SAME]
    if not rows:
        return "none"
    return _listed("all" if row.is_whole_family else row.what for row in rows)


def _summary(results: list[Result]) -> str:
    """The counts, in one sentence for each party."""
    lines = []
    for name, chosen in (("Ours", False), ("OpenVINO's own", True)):
        counts = _counts(r for r in results if r.case and r.is_peer is chosen)
        if not counts["cases"]:
            continue
        verdicts = ", ".join(
            f"{count} {_PLURALS.get(verdict, verdict) if count != 1 else verdict}"
            for verdict, count in counts["verdicts"].items()
            # Readers look for mismatches, so it also says that there are none.
            if count or (verdict == Verdict.MISMATCH.value and not chosen)
        )
        lines.append(f"{name}: {counts['cases']} cases, {counts['vectors']} vectors; {verdicts}.")
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _counts(results: Iterable[Result]) -> dict[str, Any]:
    results = list(results)
    by_verdict = Counter(result.verdict for result in results)
    return {
        "cases": sum(result.case is not None for result in results),
        "vectors": sum(result.vectors for result in results),
        "verdicts": {verdict.value: by_verdict[verdict] for verdict in Verdict},
    }


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _case_json(result: Result) -> dict[str, Any]:
    first = result.compared.first
    compared = result.compared if result.compared.total else None
    return {
        "runtime": result.runtime,
        "version": result.version or None,
        "backend": result.backend or None,
        "is_peer": result.is_peer,
        "case": result.case.name if result.case else None,
        "vectors": result.vectors,
        "verdict": result.verdict.value,
        "detail": {
            "reason": result.reason,
            "draw": result.draw,
            "equal_elements": compared.equal if compared else None,
            "elements": compared.total if compared else None,
            "first_difference": None if first is None else asdict(first),
        },
    }
