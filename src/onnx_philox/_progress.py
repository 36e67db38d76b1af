"""How long-running work reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Called with how much is done, how much there is, and what comes next or is being done."""


def ignore(done: int, total: int, what: str) -> None:
    """A `Progress` that shows nothing."""
