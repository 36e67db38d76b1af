"""Where a random node stands in a model, of ONNX or of OpenVINO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from onnx_philox._contract import checks
from onnx_philox._contract.declaration import Operator
from onnx_philox._rewriting.report import RandomNode, title

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

    @property
    def path(self) -> tuple[str, ...]:
        """See `RandomNode`."""
        return tuple(owner.label for owner in self.owners)

    @property
    def title(self) -> str:
        """What messages call it."""
        return title(self.label, self.domain, self.version, self.path, self.function)

    @property
    def called(self) -> str:
        """What messages call it where they name it alone: its name, or its first output's."""
        return self.name or self.outputs[0]

    def refuse(
        self,
        what: str,
        given: Any,
        allowed: str,
        remedy: str,
        error: type[ValueError | TypeError] = ValueError,
    ) -> NoReturn:
        """Raises an error of four parts that names the node."""
        checks.refuse(self.title, what, given, allowed, remedy, error)

    def record(
        self,
        operator: Operator | None,
        output_type: str | None,
        stream: int | None = None,
        error: Exception | None = None,
    ) -> RandomNode:
        """The line of a report, given what draws in its place."""
        return RandomNode(
            name=self.name,
            op_type=self.op_type,
            domain=self.domain,
            version=self.version,
            path=self.path,
            function=self.function,
            outputs=self.outputs,
            output_type=output_type,
            replacement=None if operator is None else operator.name,
            stream=stream,
            problem=None if error is None else str(error),
            seeds=self.seeds,
        )
