"""The results as a matrix: an operator and a type in each row, a backend in each column."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from onnx_philox._command import pages
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict, groups
from onnx_philox._command.verify.runners.interface import Runner
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.types import BY_NAME


class Standing(Enum):
    """How all vectors of a cell did together: a word, its meaning, its look and its style."""

    SAME = ("same", "every bit is the published one", pages.GOOD, "green")
    SOME = ("some", "some draws have different bits from those documented", pages.SOME, "")
    OTHER = ("other", "different bits from those documented", pages.BAD, "")
    PART = ("part", "every bit is the published one, of what the backend carries", pages.SOME, "")
    NOT_CARRIED = ("n/a", "the backend does not carry this type, and says so", pages.NONE, "dim")
    WRONG = (
        "WRONG",
        "different bits from those published: do not rely on it",
        pages.BAD,
        "bold red",
    )
    ERROR = ("ERROR", "the runtime failed", pages.FAILED, "bold red")

    def __init__(
        self,
        word: str,
        meaning: str,
        look: pages.Look,
        style: str,
    ) -> None:
        self.word = word
        self.meaning = meaning
        self.look = look
        self.style = style


class Cell(NamedTuple):
    """The results of a row in a column."""

    by: Runner
    results: list[CaseResult]

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
        if CaseVerdict.OTHER in verdicts:
            return Standing.SOME
        return Standing.SAME


_WORST = (
    (CaseVerdict.MISMATCH, Standing.WRONG),
    (CaseVerdict.ERROR, Standing.ERROR),
    (CaseVerdict.NOT_CARRIED, Standing.NOT_CARRIED),
)


class TypeRow(NamedTuple):
    """An operator and a type of its values, with a cell for every column."""

    operator: str
    type: str
    cells: list[Cell]


def matrix(results: Sequence[CaseResult]) -> list[TypeRow]:
    """Sorts results into rows; what is not installed is in none of their columns."""
    tried = []
    for by, group in groups(results).items():
        if isinstance(by, Runner):
            tried.append((by, group))
    kinds = {result.kind for _, group in tried for result in group}
    operators = list(OPERATORS)
    types = list(BY_NAME)

    def place(kind: tuple[str, str]) -> tuple[int, int]:
        operator, type_ = kind
        return operators.index(operator), types.index(type_)

    rows = []
    for operator, type_ in sorted(kinds, key=place):
        cells = []
        for by, group in tried:
            of_kind = [result for result in group if result.kind == (operator, type_)]
            cells.append(Cell(by, of_kind))
        rows.append(TypeRow(operator, type_, cells))
    return rows
