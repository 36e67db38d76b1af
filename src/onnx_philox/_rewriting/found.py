"""What becomes of a random node, of ONNX or of OpenVINO."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.site import Site


@dataclass(frozen=True)
class Replaceable(ABC):
    """A random node and what replaces it."""

    site: Site[Any, Any]
    seeds: tuple[int, int] | None = field(default=None, kw_only=True)
    """Those that it keeps, the global one first; None for a node that takes a stream."""
    generator: Generator = field(default=PHILOX, kw_only=True)
    """The generator by which it draws."""

    @property
    @abstractmethod
    def drawn(self) -> tuple[Operator, str]:
        """What draws in its place, and the type of the values."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """As in `RandomNode`."""
        return self.site.outputs

    @property
    def names(self) -> frozenset[str]:
        """What a user may call it: its name, or that of its first output."""
        return frozenset({self.site.name, *self.site.outputs[:1]} - {""})

    @property
    def is_numbered(self) -> bool:
        """Whether a conversion has numbered it."""
        return False

    @property
    def kept(self) -> KeptSeeds | None:
        """The seeds that it keeps, with what messages call it; None for a node with a stream."""
        if self.seeds is None:
            return None
        return KeptSeeds(self.site.title, *self.seeds, self.generator)

    def record(self, stream: int | None = None) -> RandomNode:
        """The line of a report."""
        record = self.site.record(*self.drawn, stream)
        return replace(record, outputs=self.outputs, keeps_seeds=self.seeds is not None)


@dataclass(frozen=True)
class Irreplaceable:
    """A random node that has no replacement, and why."""

    site: Site[Any, Any]
    error: ValueError | TypeError

    def record(self) -> RandomNode:
        """The line of a report."""
        return self.site.record(None, None, error=self.error)


Random = TypeVar("Random", bound=Replaceable)


@dataclass(frozen=True)
class Numbered(Generic[Random]):
    """A random node with its replacement and its stream."""

    random: Random
    stream: int | None
    """None for a node that keeps its own seeds."""

    @property
    def prefix(self) -> str:
        """What the names of its tensors begin with."""
        return "seeded." if self.stream is None else f"{self.stream}."

    def record(self) -> RandomNode:
        """The line of a report."""
        return self.random.record(self.stream)
