"""What came of each case: verdicts and results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from onnx_philox._command.verify.cases import Case
from onnx_philox._command.verify.comparison import NOTHING, Comparison


class CaseVerdict(Enum):
    """The outcome of a case."""

    SAME = "same bits"
    MISMATCH = "mismatch"
    ERROR = "error"
    NOT_CARRIED = "not carried"
    NOT_INSTALLED = "not installed"
    OTHER = "other bits"
    """What a mismatch is for a peer: something to know, no failure."""


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """A case in a backend, or a missing runtime or backend (which has no case)."""

    runtime: str
    version: str = ""
    backend: str = ""
    how: str = ""
    """What else decides the numbers."""
    title: str
    is_peer: bool = False
    case: Case | None = None
    verdict: CaseVerdict
    reason: str | None = None
    """Why there are no numbers to compare."""
    how_to_install: str | None = None
    """The command, if there is nothing else to say."""
    draw: str | None = None
    """The draw that ended in an error."""
    compared: Comparison = NOTHING

    @property
    def is_failure(self) -> bool:
        """Whether the command must fail."""
        return not self.is_peer and self.verdict in (CaseVerdict.MISMATCH, CaseVerdict.ERROR)

    @property
    def vectors(self) -> int:
        """How many vectors the verdict covers."""
        return len(self.case.vectors) if self.case else 0


def groups(results: Iterable[CaseResult]) -> list[list[CaseResult]]:
    """The results of each runner."""
    found: dict[str, list[CaseResult]] = {}
    for result in results:
        found.setdefault(result.title, []).append(result)
    return list(found.values())


def joined(names: Iterable[str]) -> str:
    """Names as a phrase: `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
