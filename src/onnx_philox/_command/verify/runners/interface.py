"""The interface of what draws for `onnx-philox verify`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnx_philox._command.verify.cases import Case
from onnx_philox._command.verify.examples import Example
from onnx_philox._runtimes.port import Arrays, Titled

Loaded = Callable[[], Arrays]
"""A loaded model: calling it runs it once more."""


class NotCarriedError(Exception):
    """A backend does not carry the type of an example, as documented."""


@dataclass(frozen=True)
class Absent(Titled):
    """A runtime or backend that cannot be used here, why, and how to install it if that is all."""

    runtime: str
    backend: str
    reason: str
    how_to_install: str | None = None
    version = how = ""
    is_peer = False


class Runner(Titled, ABC):
    """One backend of one runtime."""

    runtime: str
    how: str = ""
    """What else decides the numbers."""
    is_peer = False
    how_to_install = None

    def __init__(self, version: str, backend: str) -> None:
        self.version = version
        self.backend = self.heading = backend

    @property
    def group(self) -> str:
        """What the headings of neighbouring columns share."""
        if self.is_peer:
            return f"{self.runtime}'s own"
        return self.runtime

    def takes(self, case: Case) -> bool:  # noqa: ARG002
        """Whether the case applies to this runner."""
        return True

    @abstractmethod
    def prepare(self, example: Example) -> Loaded:
        """Loads the example's model; calling the result runs it once more."""

    def prepare_all(self, examples: Sequence[Example]) -> Callable[[], list[Arrays]]:
        """Loads several, of one operator and type; calling the result runs each once more."""
        loaded = [self.prepare(example) for example in examples]
        return lambda: [draw() for draw in loaded]
