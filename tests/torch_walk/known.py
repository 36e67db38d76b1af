"""What is known not to be drawn: `known.txt` lists faults, `refused.txt` what is refused by name.

A line is a case, a road, a batch ("static", "dynamic") and the reason, with bars between them. Both
lists can only shrink: a case in them that is drawn after all is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from torch_walk.walking import RAW, REFUSED, TORCH, WRONG, Record

_FOLDER = Path(__file__).parent
_FILES = {"known.txt": (WRONG, RAW), "refused.txt": (REFUSED, TORCH)}

Key = tuple[str, str, str]


def _read(name: str) -> dict[Key, str]:
    """The files of the lines' cases, roads and batches."""
    found = {}
    for line in (_FOLDER / name).read_text().splitlines():
        if line and not line.startswith("#"):
            case, road, batch, _ = (part.strip() for part in line.split(" | ", 3))
            assert (case, road, batch) not in found, f"{name}: {line!r} stands twice"
            found[case, road, batch] = name
    return found


EXPECTED = {key: name for file in _FILES for key, name in _read(file).items()}
"""The file that has a line for a case, a road and a batch."""


def differences(records: Iterable[Record], expected: Mapping[Key, str]) -> list[str]:
    """What no line says, and lines that say what is no longer so, in words."""
    said = []
    for record in records:
        title = f"{' | '.join(record.key)} | {record.verdict}: {record.said[:300]}"
        file = expected.get(record.key)
        allowed = () if file is None else _FILES[file]
        if record.verdict in allowed or (file is None and record.is_drawn):
            continue
        said.append(title if file is None else f"{title} (remove its line from {file})")
    return said
