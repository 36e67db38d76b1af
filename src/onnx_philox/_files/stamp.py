"""What tells whether files are what they were."""

from __future__ import annotations

import os
from collections.abc import Iterable

Stamp = tuple[tuple[int, int, int], ...]


def stamp_of(stats: Iterable[os.stat_result]) -> Stamp:
    """The stamp of files."""
    return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats)
