"""Where a random node stands, of ONNX or of OpenVINO, and what becomes of it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from onnx_philox._contract import checks, shown
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._rewriting.doubts import Doubt
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.report import MAIN_GRAPH, RandomNode
from onnx_philox._rewriting.seeded import Seeded
from onnx_philox._rewriting.shares import Share

Node = TypeVar("Node")


class Owner(Protocol):
    """A node that holds a subgraph."""

    @property
    def label(self) -> str:
        """The step of a path, ``Loop 'name' body``."""


OwnerOf = TypeVar("OwnerOf", bound=Owner)


@dataclass(frozen=True)
class Site(Generic[Node, OwnerOf]):
    """A random node and its place; what is said here of both is as in `RandomNode`."""

    node: Node
    owners: tuple[OwnerOf, ...]
    """From the main graph inwards."""
    label: str
    """Its operator and its name."""
    name: str
    op_type: str
    domain: str
    version: int | None
    outputs: tuple[str, ...]
    opset: int = 0
    """Of a model of ONNX, in ONNX's own domain."""
    function: str | None = None
    seeds: tuple[int, int] | None = None
    explicit_seed: str | None = None
    seeded: Seeded | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """See `RandomNode`."""
        return tuple(owner.label for owner in self.owners)

    @property
    def title(self) -> str:
        """What messages call it."""
        place = " > ".join((MAIN_GRAPH, *self.path))
        origin = f", from function {self.function}" if self.function else ""
        opset = "opset not imported"
        if self.version is not None:
            opset = f"opset {self.version}"
        title = f"{self.domain} {self.label} ({opset}, {place}{origin})"
        return title.lstrip()

    @property
    def called(self) -> str:
        """What messages call it where they name it alone: its name, or its first output's."""
        return self.name or self.outputs[0]

    def refuse(self, *parts: Any) -> NoReturn:
        """Raises an error that names the node; its other parts are those of `checks.refuse`."""
        checks.refuse(self.title, *parts)

    def record(
        self,
        operator: Operator | None,
        output_type: str | None,
        stream: int | None = None,
        error: Exception | None = None,
        *,
        outputs: tuple[str, ...] | None = None,
        keeps_seeds: bool = False,
        share: Share | None = None,
        doubt: Doubt | None = None,
    ) -> RandomNode:
        """The line of a report, given what draws in its place, and more of it than a site knows.

        Its outputs are those of the site where no others are given.
        """
        return RandomNode(
            name=self.name,
            op_type=self.op_type,
            domain=self.domain,
            version=self.version,
            path=self.path,
            function=self.function,
            outputs=self.outputs if outputs is None else outputs,
            output_type=output_type,
            replacement=None if operator is None else operator.name,
            stream=stream,
            problem=None if error is None else str(error),
            seeds=self.seeds,
            keeps_seeds=keeps_seeds,
            share=None if share is None else str(share),
            doubt=None if doubt is None else str(doubt),
            explicit_seed=self.explicit_seed,
            seeded=self.seeded,
        )


LEAVE_IT = ", or leave the node as it is with {}"
"""What the remedy offers beside its own, given the name of the option that does it."""


class MayStayError(ValueRefusalError):
    """A random node cannot be replaced, and `keep_unknown` lets it stay as it is.

    Args:
        operator: The node.
        what: What is wrong with it.
        given: What that is.
        allowed: What it may be.
        way_out: What to do, a sentence without its full stop.
        note: What to know of the way out, one or more sentences, each after a space.
        option: What the option is called; empty where the remedy is not to offer it.
    """

    def __init__(
        self,
        operator: str,
        what: str,
        given: Any,
        allowed: str,
        way_out: str,
        note: str = "",
        option: str = "keep_unknown",
    ) -> None:
        offer = LEAVE_IT.format(option) if option else ""
        remedy = f"{way_out}{offer}.{note}"
        super().__init__(operator, what, given, allowed, remedy)
        self.parts = (operator, what, self.given, allowed, way_out, note, option)

    def offering(self, option: str) -> MayStayError:
        """The same refusal to those who know the option by another name, or by none."""
        operator, what, given, allowed, way_out, note, _ = self.parts
        return MayStayError(operator, what, given, allowed, way_out, note, option)


def leave(error: ValueError | TypeError, *, keep_unknown: bool) -> None:
    """Warns of a random node that stays as it is; raises what is wrong with any other."""
    if not (isinstance(error, MayStayError) and keep_unknown):
        raise error
    left = error.offering("")
    warnings.warn(f"left as it is: {left}", stacklevel=shown.stacklevel())


@dataclass(frozen=True)
class Replaceable(ABC):
    """A random node and what replaces it."""

    site: Site[Any, Any]
    seeds: tuple[int, int] | None = field(
        default=None,
        kw_only=True,
    )
    """The seeds that it keeps, the global one first; None for a node that takes a stream."""
    stream: int | None = field(
        default=None,
        kw_only=True,
    )
    """The number that a rewrite gives it; None for a node that keeps its own seeds."""
    generator: Generator = field(
        default=PHILOX,
        kw_only=True,
    )
    """The generator by which it draws."""
    share: Share | None = field(
        default=None,
        kw_only=True,
    )
    """How often it is true, if it is a Bernoulli; None for all others."""
    doubt: Doubt | None = field(
        default=None,
        kw_only=True,
    )
    """What says that the model may not draw what was meant; None where nothing does."""
    same: Hashable = field(
        default=None,
        kw_only=True,
    )
    """What all nodes have that draw its numbers; None where they are its own."""

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
        names = {self.site.name, *self.site.outputs[:1]}
        return frozenset(names - {""})

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

    @property
    def prefix(self) -> str:
        """What the names of its tensors begin with."""
        if self.stream is None:
            return "seeded."
        return f"{self.stream}."

    def record(self) -> RandomNode:
        """The line of a report."""
        operator, output_type = self.drawn
        return self.site.record(
            operator,
            output_type,
            self.stream,
            outputs=self.outputs,
            keeps_seeds=self.seeds is not None,
            share=self.share,
            doubt=self.doubt,
        )


@dataclass(frozen=True)
class Irreplaceable:
    """A random node that has no replacement, and why."""

    site: Site[Any, Any]
    error: ValueError | TypeError

    @classmethod
    def of(cls, site: Site[Any, Any], error: ValueError | TypeError) -> Irreplaceable:
        """A node, and the error of what has read it, which need not know the node's place."""
        if not isinstance(error, RefusalError):
            kind = type(error)
            return cls(site, kind(f"{site.title}: {error}"))
        if error.operator == site.title:
            return cls(site, error)
        return cls(site, error.within(site.title))

    def record(self) -> RandomNode:
        """The line of a report."""
        return self.site.record(None, None, error=self.error)


Random = TypeVar("Random", bound=Replaceable)
