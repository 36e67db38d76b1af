"""Which runtime something ran in: the same words in every text, and keys in every JSON document."""

from __future__ import annotations

from typing import Protocol


class Identified(Protocol):
    """What ran in a runtime."""

    @property
    def runtime(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def how(self) -> str:
        """What else decides the numbers, in words; "" for nothing."""


def identity(of: Identified) -> dict[str, str | None]:
    """The keys that say it in a JSON document."""
    names = ("runtime", "version", "backend", "how")
    return {name: getattr(of, name) or None for name in names}


def title(of: Identified) -> str:
    """It in words."""
    backend = f"backend {of.backend}" if of.backend else ""
    return ", ".join(filter(None, (f"{of.runtime} {of.version}".strip(), backend, of.how)))
