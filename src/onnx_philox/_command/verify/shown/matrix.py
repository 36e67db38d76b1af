"""The results as a matrix: an operator and a type in each row, a backend in each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict, groups
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.types import BY_NAME


class Standing(Enum):
    """How all vectors of a cell did together."""

    SAME = "same"
    SOME = "some"
    OTHER = "other"
    PART = "part"
    NOT_CARRIED = "n/a"
    WRONG = "WRONG"
    ERROR = "ERROR"

    @property
    def meaning(self) -> str:
        """What it says, in words."""
        return _MEANINGS[self]


_MEANINGS = {
    Standing.SAME: "every bit is the published one",
    Standing.SOME: "some draws have different bits from those documented",
    Standing.OTHER: "different bits from those documented",
    Standing.PART: "every bit is the published one, of what the backend carries",
    Standing.NOT_CARRIED: "the backend does not carry this type, and says so",
    Standing.WRONG: "different bits from those published: do not rely on it",
    Standing.ERROR: "the runtime failed",
}


@dataclass(frozen=True)
class Column:
    """A backend."""

    runtime: str
    version: str
    backend: str
    title: str
    is_peer: bool

    @property
    def group(self) -> str:
        """What the headings of neighbouring columns share."""
        return f"{self.runtime}'s own" if self.is_peer else self.runtime

    @property
    def name(self) -> str:
        """The heading of the column."""
        return _NAMES.get(self.backend, self.backend)


# How OpenVINO's own operator runs: on the CPU device, and in `Model.evaluate`.
_NAMES = {"built-in": "CPU", "evaluate": "eval"}


@dataclass(frozen=True)
class Cell:
    """The results of a row in a column."""

    column: Column
    results: tuple[CaseResult, ...]

    @property
    def vectors(self) -> int:
        """How many were drawn."""
        return sum(result.vectors for result in self.results)

    @property
    def standing(self) -> Standing | None:
        """How they did; None where there are none."""
        verdicts = {result.verdict for result in self.results}
        if not verdicts:
            return None
        if verdicts == {CaseVerdict.SAME, CaseVerdict.NOT_CARRIED}:
            return Standing.PART
        for verdict, standing in _WORST:
            if verdict in verdicts:
                return standing
        if verdicts == {CaseVerdict.OTHER}:
            return Standing.OTHER
        return Standing.SOME if CaseVerdict.OTHER in verdicts else Standing.SAME


_WORST = (
    (CaseVerdict.MISMATCH, Standing.WRONG),
    (CaseVerdict.ERROR, Standing.ERROR),
    (CaseVerdict.NOT_CARRIED, Standing.NOT_CARRIED),
)


@dataclass(frozen=True)
class TypeRow:
    """An operator and a type of its values."""

    operator: str
    type: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Matrix:
    """All rows, each with a cell for every column."""

    columns: tuple[Column, ...]
    rows: tuple[TypeRow, ...]

    def of(self, columns: Sequence[Column]) -> Matrix:
        """Some columns, and the rows that have anything in them."""
        rows = (
            TypeRow(row.operator, row.type, tuple(c for c in row.cells if c.column in columns))
            for row in self.rows
        )
        return Matrix(tuple(columns), tuple(r for r in rows if any(c.results for c in r.cells)))


def matrix(results: Sequence[CaseResult]) -> Matrix:
    """Sorts results into a matrix; what is not installed is in none of its columns."""
    tried = [result for result in results if result.case is not None]
    columns = tuple(
        Column(first.runtime, first.version, first.backend, first.title, first.is_peer)
        for first, *_ in groups(tried)
    )
    found: dict[tuple[str, str], dict[str, list[CaseResult]]] = {}
    for result in tried:
        assert result.case is not None
        operator = result.case.vectors[0].example.operator
        key = (operator.name, result.case.type.name)
        found.setdefault(key, {}).setdefault(result.title, []).append(result)
    operators, types = list(OPERATORS), list(BY_NAME)
    rows = tuple(
        TypeRow(*key, tuple(Cell(column, tuple(by.get(column.title, ()))) for column in columns))
        for key, by in sorted(
            found.items(), key=lambda row: (operators.index(row[0][0]), types.index(row[0][1]))
        )
    )
    return Matrix(columns, rows)
