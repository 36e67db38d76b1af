"""What `onnx-philox verify` prints: a verdict and a matrix, or a JSON document."""

from __future__ import annotations

import itertools
import platform
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnx_philox._command import libraries, terminal
from onnx_philox._command.verify import cases
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict, groups
from onnx_philox._command.verify.runners.interface import Runner
from onnx_philox._command.verify.runners.openvino_own import OpenvinoOwnRunner
from onnx_philox._command.verify.shown import vectors_table
from onnx_philox._command.verify.shown.matrix import Standing, TypeRow, matrix
from onnx_philox._contract import generators
from onnx_philox._contract.shown import listed
from onnx_philox._runtimes.port import identity

_FEW_OPERATORS = 5
"""What so many cannot draw is said of each."""
_PLURALS = {
    CaseVerdict.MISMATCH.value: "mismatches",
    CaseVerdict.ERROR.value: "errors",
}
_PACKAGES = (
    "onnx-philox",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-extensions",
    "openvino",
)


@dataclass(frozen=True)
class Verification:
    """All results, in the order in which they appear."""

    results: list[CaseResult]
    is_verbose: bool = False
    """Whether to print every kind of vector."""

    @property
    def is_ok(self) -> bool:
        """Whether none of our own operators failed."""
        return not any(result.is_failure for result in self.results)

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        return terminal.document(
            ok=self.is_ok,
            versions=self.versions,
            cases=[_case_json(result) for result in self.results],
            summary={
                "ours": _counts(r for r in self.results if not r.by.is_peer),
                "peer": _counts(r for r in self.results if r.by.is_peer),
            },
        )

    def print(self, console: Console) -> None:
        """Prints the verdict, the matrix, what went wrong, and what else there is to know."""
        style = "bold green" if self.is_ok else "bold red"
        console.print(Text(self.meaning, style))
        console.print(Text(self.summary))
        width = terminal.columns(console)
        for part in _parts(self.results, width):
            console.print()
            for line in _lines(matrix(part)):
                line.rstrip()
                console.print(line)
        console.print()
        if self.is_verbose:
            console.print(vectors_table.table(self.results, width))
        for how in self.missing:
            console.print(Text(f"not installed: {how}"))
        explained = set()
        for result in self.results:
            is_missing = result.verdict is CaseVerdict.NOT_INSTALLED
            is_open = is_missing and not result.by.how_to_install
            # A library that does not load breaks every case for the same reason: once is enough.
            key = (result.by, result.reason or id(result))
            if (result.is_failure or is_open) and key not in explained:
                explained.add(key)
                console.print(_explanation(result))
        notes = self.notes if self.is_verbose else _notes_on_others(self.results)
        for note in notes:
            console.print(Text(note, "dim"))
        if not self.is_verbose:
            console.print(Text("Every vector: --verbose. As a page: --html FILE.", "dim"))

    @property
    def missing(self) -> list[str]:
        """The commands that install what is not there."""
        commands = [result.by.how_to_install for result in self.results]
        return [command for command in commands if command]

    @property
    def meaning(self) -> str:
        """The verdict, in a sentence."""
        failed = [r for r in self.results if r.is_failure]
        if failed:
            names = [f"{result.by.runtime} {result.by.backend}" for result in failed]
            # Each once, in their order.
            where = list(dict.fromkeys(names))
            what = "an error"
            if any(r.verdict is CaseVerdict.MISMATCH for r in failed):
                what = "numbers that differ from the documented ones"
            return (
                f"Do not rely on {listed(where, 'and')} here: what came was {what}. Please report "
                "it, with the output of onnx-philox verify --json."
            )
        ours = [result for result in self.results if not result.by.is_peer]
        tried = {result.by for result in ours if result.case}
        few = {1: "the backend draws", 2: "both backends draw"}
        draw = few.get(len(tried), f"all {len(tried)} backends draw")
        meaning = f"All is well: {draw} the published numbers, to the last bit."
        missing = []
        for result in self.results:
            if result.verdict is CaseVerdict.NOT_INSTALLED:
                missing.append(result.by.title)
        if missing:
            meaning += f" Not tried: {listed(missing, 'and')}."
        return meaning

    @property
    def summary(self) -> str:
        """The counts, in a sentence for each party."""
        lines = []
        for name, is_peer in (("Ours", False), ("OpenVINO's own", True)):
            of_party = [result for result in self.results if result.by.is_peer is is_peer]
            counts = _counts(result for result in of_party if result.case)
            if not counts["cases"]:
                continue
            verdicts = []
            for verdict, count in counts["verdicts"].items():
                # Readers look for mismatches, so it also says that there are none.
                is_looked_for = verdict == CaseVerdict.MISMATCH.value and not is_peer
                if count or is_looked_for:
                    word = verdict
                    if count != 1:
                        word = _PLURALS.get(verdict, verdict)
                    verdicts.append(f"{count} {word}")
            counted = f"{counts['cases']} cases, {counts['vectors']} vectors"
            each = ", ".join(verdicts)
            lines.append(f"{name}: {counted}; {each}.")
        return "\n".join(lines)

    @property
    def versions(self) -> dict[str, str | None]:
        """The versions of Python and of the packages that matter; None for one not installed."""
        installed = {name: libraries.version_of(name) for name in _PACKAGES}
        return {"python": platform.python_version(), **installed}

    @property
    def notes(self) -> list[str]:
        """All that there is to know beside the numbers."""
        drawn = [result.case for result in self.results if result.case]
        # Each note once, in their order.
        notes = list(dict.fromkeys(case.note for case in drawn if case.note))
        if any(case.family == cases.TENSORFLOW_NORMAL for case in drawn):
            tolerances = cases.NORMAL_TOLERANCES.items()
            limits = [f"{limit:g} ({type_.name})" for type_, limit in tolerances]
            notes.append(
                "TensorFlow normal: the same bits in every runtime here, and within "
                f"{listed(limits, 'and')} of TensorFlow's values, whose ln, sin and cos are others."
            )
        return [*notes, *_notes_on_others(self.results)]


_OPERATOR = 12
_TYPE = 6
_CELL = 8
"""How wide the columns are, with the space after them."""


def _parts(results: list[CaseResult], width: int) -> list[list[CaseResult]]:
    """The results in as many parts as it takes for a matrix to fit, each of whole runtimes."""
    part: list[Runner] = []
    parts = [part]
    used = _OPERATOR + _TYPE
    tried = [by for by in groups(results) if isinstance(by, Runner)]
    for group, members in itertools.groupby(tried, lambda by: by.group):
        same = [*members]
        wide = _width(group, len(same)) * len(same)
        # The last column has no space after it.
        if part and used + wide - 2 > width:
            part = []
            parts.append(part)
            used = _OPERATOR + _TYPE
        part += same
        used += wide
    shown = []
    for part in parts:
        if part:
            shown.append([result for result in results if result.by in part])
    return shown


def _width(group: str, columns: int) -> int:
    """How wide each column of a group is, with the space after it: its heading fits."""
    width = -(-(len(group) + 2) // columns)
    return max(_CELL, width)


def _lines(rows: list[TypeRow]) -> Iterator[Text]:
    """The matrix, a line for each row."""
    groups_ = Text(" " * (_OPERATOR + _TYPE))
    names = Text(" " * (_OPERATOR + _TYPE))
    widths: list[int] = []
    columns = [cell.by for cell in rows[0].cells]
    for group, members in itertools.groupby(columns, lambda column: column.group):
        shown = [column.heading for column in members]
        wide = _width(group, len(shown))
        groups_.append(f"{group:<{wide * len(shown)}}", "bold")
        for name in shown:
            names.append(f"{name:<{wide}}")
        widths += [wide] * len(shown)
    yield from (groups_, names)
    before = ""
    for row in rows:
        operator = ""
        if row.operator != before:
            operator = row.operator.removeprefix("Random")
        before = row.operator
        name = f"{operator:<{_OPERATOR}}"
        line = Text.assemble((name, "bold"), f"{row.type:<{_TYPE}}")
        for cell, wide in zip(row.cells, widths, strict=True):
            standing = cell.standing
            if standing is None:
                line.append(" " * wide)
            else:
                line.append(f"{standing.word:<{wide}}", standing.style)
        yield line


def _explanation(result: CaseResult) -> RenderableType:
    """What the table has no room for: a mismatch in full, an error, how to install."""
    what = result.by.title
    if result.case:
        what = f"{result.case.name} in {what}"
    lines = [(result.verdict.value.capitalize(), what)]
    first = result.compared.first
    if result.draw is not None:
        lines.append(("draw", result.draw))
    if result.reason is not None:
        lines.append(("because", result.reason))
    if first is not None:
        index = ""
        if first.index is not None:
            index = str(list(first.index))
        compared = result.compared
        equal = f"{compared.equal:,} of {compared.total:,} elements are equal"
        lines.append(("draw", first.parameters))
        lines.append(("where", f"{first.output}{index}; {equal}"))
        lines.append(("expected", _beside(first.expected, first.expected_hex)))
        lines.append(("got", _beside(first.got, first.got_hex)))
    (head, text), *rest = lines
    style = "bold red" if result.is_failure else "bold"
    details = Table.grid(padding=(0, 1))
    for name, value in rest:
        details.add_row(f"  {name}:", Text(value))
    return Group(Text(f"{head}: {text}", style), details, "")


def _beside(number: str | None, bits: str | None) -> str:
    """A number and its bits, of which one may be missing."""
    return " ".join(filter(None, (number, bits)))


def _notes_on_others(results: list[CaseResult]) -> list[str]:
    notes = [str(part.not_installed("not compared")) for part in generators.missing()]
    right = []
    for by, group in groups(results).items():
        refused = [r for r in group if r.verdict is CaseVerdict.NOT_CARRIED]
        if refused:
            # Of a type it may carry some draws and refuse others.
            carried = {r.kind for r in group if r.verdict is CaseVerdict.SAME}
            is_part = any(r.kind in carried for r in refused)
            words = Standing.NOT_CARRIED.word
            what = _types_of(refused)
            if is_part:
                words = f"{Standing.PART.word}, {words}"
                what = f"draws of {what}"
            place = f" on {by.how}" if by.how else ""
            notes.append(
                f"{words}: not carried. {by.runtime}'s backend {by.backend}{place} refuses {what} "
                "when it loads a model."
            )
        if isinstance(by, OpenvinoOwnRunner):
            right.append(f"{by.where}: {_right(group)}")
    if right:
        notes.append(
            f"some, other: OpenVINO's own RandomUniform, to compare, draws different bits "
            f"from those that it documents. These seeded draws are as documented: "
            f"{'; '.join(right)}."
        )
    return notes


def _types_of(refused: Iterable[CaseResult]) -> str:
    """What a backend refuses, in words: the types, of each operator where these are few."""
    by_operator: dict[str, dict[str, None]] = {}
    for result in refused:
        operator, type_ = result.kind
        by_operator.setdefault(operator, {})[type_] = None
    if len(by_operator) <= _FEW_OPERATORS:
        are_alike = len({tuple(types) for types in by_operator.values()}) == 1
        if len(by_operator) == 1 or not are_alike:
            parts = []
            for operator, types in by_operator.items():
                parts.append(f"{operator} {listed([*types], 'and')}")
            return "; ".join(parts)
    every: dict[str, None] = {}
    for types in by_operator.values():
        every |= types
    return listed([*every], "and")


def _right(results: list[CaseResult]) -> str:
    """The seeded draws that a peer gets right."""
    family = [r for r in results if r.case and r.case.family == cases.SEEDED_DRAWS]
    rows = [row for row in vectors_table.family_rows(family) if row.verdict is CaseVerdict.SAME]
    if not rows:
        return "none"
    right = ["all" if row.is_whole_family else row.what for row in rows]
    return listed(right, "and")


def _counts(results: Iterable[CaseResult]) -> dict[str, Any]:
    results = list(results)
    by_verdict = Counter(result.verdict for result in results)
    return {
        "cases": sum(result.case is not None for result in results),
        "vectors": sum(result.vectors for result in results),
        "verdicts": {verdict.value: by_verdict[verdict] for verdict in CaseVerdict},
    }


def _case_json(result: CaseResult) -> dict[str, Any]:
    first = result.compared.first
    compared = result.compared if result.compared.total else None
    return {
        **identity(result.by),
        "is_peer": result.by.is_peer,
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
