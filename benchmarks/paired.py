"""Two contenders timed against each other, and what came of it as a row of a table.

Figures of two runs cannot be compared: the processor's clock and the neighbours' load differ. So
every ratio here comes from pairs of one run, a burst of each contender right after the other, and
which goes first alternates.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

Call = Callable[[], object]

BURST_SECONDS = 0.002
"""A burst repeats its call until it takes at least so long."""


@dataclass
class Row:
    """One measurement, the target beside it."""

    part: str
    what: str
    peer: str = ""
    threads: int = 1
    size: str = ""
    measured: float | None = None
    """None where nothing could be measured; `note` says why."""
    unit: str = "x"
    """"x" is the peer's time divided by ours, the median over the pairs."""
    quartiles: tuple[float, float] | None = None
    best: float | None = None
    """The peer's shortest burst divided by our shortest: what an idle machine would come near."""
    target: float | None = None
    at_most: bool = False
    """Whether the target is an upper limit."""
    speed: str = ""
    peer_speed: str = ""
    note: str = ""
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """Seconds a call, ours and the peer's."""

    def verdict(self) -> str:
        """Whether the target is met, by the median or at least by the shortest bursts."""
        if self.target is None or self.measured is None:
            return ""
        if self._meets(self.measured):
            return "met"
        return (
            "met in the best pair" if self.best is not None and self._meets(self.best) else "below"
        )

    def _meets(self, value: float) -> bool:
        assert self.target is not None
        return value <= self.target if self.at_most else value >= self.target

    def to_json(self) -> dict[str, Any]:
        """All fields, and the verdict."""
        return asdict(self) | {"verdict": self.verdict()}


def compare(row: Row, ours: Call, peer: Call, pairs: int, describe: Callable[[float], str]) -> Row:
    """Times two contenders in alternating pairs.

    Args:
        row: What is measured; filled in and returned.
        ours: Our contender.
        peer: The other.
        pairs: How many pairs.
        describe: Turns the seconds of a call into words for the table.
    """
    calls = math.ceil(BURST_SECONDS / min(_shortest(ours), _shortest(peer)))
    for index in range(pairs):
        if index % 2:
            theirs = _burst(peer, calls)
            mine = _burst(ours, calls)
        else:
            mine = _burst(ours, calls)
            theirs = _burst(peer, calls)
        row.pairs.append((mine, theirs))
    return summarise(row, describe)


def summarise(row: Row, describe: Callable[[float], str]) -> Row:
    """Fills in what follows from a row's pairs."""
    ratios = [theirs / mine for mine, theirs in row.pairs]
    low, row.measured, high = statistics.quantiles(ratios, n=4)
    row.quartiles = low, high
    row.best = min(theirs for _, theirs in row.pairs) / min(mine for mine, _ in row.pairs)
    row.speed = describe(statistics.median(mine for mine, _ in row.pairs))
    row.peer_speed = describe(statistics.median(theirs for _, theirs in row.pairs))
    return row


def _shortest(call: Call) -> float:
    """Seconds of one call, after it has warmed up."""
    return min(_seconds(call, 1) for _ in range(4))


def _burst(call: Call, calls: int) -> float:
    """Seconds a call; one more before it brings its own code and memory into the caches."""
    call()
    return _seconds(call, calls)


def _seconds(call: Call, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def gigabytes(size: int) -> Callable[[float], str]:
    """Describes calls that write so many bytes."""
    return lambda seconds: f"{size / seconds / 1e9:.2f} GB/s"


def words(count: int) -> Callable[[float], str]:
    """Describes calls that draw so many words of 32 bits."""
    return lambda seconds: f"{count / seconds / 1e6:.0f} Mw/s"


def microseconds(seconds: float) -> str:
    """Describes short calls."""
    return f"{seconds * 1e6:.1f} µs"


HEADINGS = (
    "what",
    "against",
    "threads",
    "size",
    "ours",
    "theirs",
    "ratio",
    "quartiles",
    "best",
    "target",
    "",
)


def cells(row: Row) -> list[str]:
    """A row's text, under HEADINGS."""
    unit = "" if row.unit == "x" else f" {row.unit}"
    sign = "≤" if row.at_most else "≥"
    return [
        row.what,
        row.peer,
        str(row.threads),
        row.size,
        row.speed,
        row.peer_speed,
        row.note if row.measured is None else f"{row.measured:.2f}{unit}",
        "" if row.quartiles is None else "{:.2f}–{:.2f}".format(*row.quartiles),  # noqa: RUF001
        "" if row.best is None else f"{row.best:.2f}",
        "" if row.target is None else f"{sign} {row.target:.2f}",
        row.verdict(),
    ]


def rich_table(title: str, rows: list[Row]) -> Table:
    """For the terminal."""
    table = Table(title=title, title_justify="left")
    for heading in HEADINGS:
        left = heading in ("what", "against", "")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*cells(row))
    return table


def markdown_table(rows: list[Row]) -> str:
    """For README.md: without targets, and without columns that are empty."""
    lines = [HEADINGS, *map(cells, rows)]
    columns = [column for column in list(zip(*lines, strict=True))[:-2] if any(column[1:])]
    for index, (heading, *values) in enumerate(columns):
        left = heading in ("what", "against")
        columns[index] = (heading, "---" if left else "--:", *values)
    table = ["| " + " | ".join(line) + " |" for line in zip(*columns, strict=True)]
    return "\n".join(table).replace("  ", " ")
