"""What is known not to be drawn: `known.txt` lists faults, `refused.txt` what is refused by name.

A line is a case, a road, a batch (`roads.BATCHES`) and the reason, with bars between them; all else
is drawn. A batch in dimension 1 need not do what a dynamic one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.torch_numbers.torch_walk.roads import ROWS
from tests.torch_numbers.torch_walk.walking import RAW, REFUSED, TORCH, WRONG, Record

_FOLDER = Path(__file__).parent
_FILES = {"known.txt": (WRONG, RAW), "refused.txt": (REFUSED, TORCH)}

Key = tuple[str, str, str]


def _read(name: str) -> dict[Key, str]:
    found = {}
    for line in (_FOLDER / name).read_text().splitlines():
        if line and not line.startswith("#"):
            case, road, batch, _ = (part.strip() for part in line.split(" | ", 3))
            assert (case, road, batch) not in found, f"{name}: {line!r} stands twice"
            found[case, road, batch] = name
    return found


LISTED = {key: name for file in _FILES for key, name in _read(file).items()}
"""The file that has a line for a case, a road and a batch."""

EXPECTED = {(*key[:2], ROWS): name for key, name in LISTED.items() if key[2] == "dynamic"} | LISTED
"""The same, and what follows from it for a batch in dimension 1."""

ENDS_THE_PROCESS = {("Multinomial.sample", "trace", "dynamic")}
"""What is not walked: OpenVINO scatters past the rows that the trace has, and the process ends."""


def faults(
    records: Iterable[Record],
    expected: Mapping[Key, str],
) -> list[str]:
    """What is not drawn, and no line says so."""
    return [
        f"{' | '.join(record.key)} | {record.verdict}: {record.said[:300]}"
        for record in records
        if not record.is_drawn
        and record.verdict not in _FILES.get(expected.get(record.key, ""), ())
    ]


def stale(
    records: Iterable[Record],
    expected: Mapping[Key, str],
) -> list[str]:
    """The lines whose cases are drawn."""
    return [
        f"{' | '.join(record.key)}: remove its line from {expected[record.key]}"
        for record in records
        if record.is_drawn and record.key in expected
    ]
