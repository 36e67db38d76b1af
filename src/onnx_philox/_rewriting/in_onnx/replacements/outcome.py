"""What the passes learn of a random node: its replacement, its stream, its state; a type each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import onnx_ir as ir

from onnx_philox._contract.types import BY_ONNX
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site
from onnx_philox._rewriting.in_onnx.replacements.of_onnx import Replacement
from onnx_philox._rewriting.kept_seeds import KeptSeeds
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class Replaceable:
    """A random node and what replaces it."""

    site: Site
    replacement: Replacement
    absorbed: tuple[ir.Node, ...] = ()
    """The nodes after it that the replacement stands for too, each reading the one before it."""
    seeds: tuple[int, int] | None = None
    """Those that it keeps, the global one first; None for a node that takes a stream."""

    @property
    def last(self) -> ir.Node:
        """The node whose outputs the replacement gives, and in whose place it goes."""
        return self.absorbed[-1] if self.absorbed else self.site.node

    def record(self, stream: int | None = None) -> RandomNode:
        """The line of a report."""
        seeds = self.seeds
        record = _record(self.site, self.replacement, stream, None)
        return replace(record, seeds=seeds, keeps_seeds=seeds is not None)

    @property
    def kept(self) -> KeptSeeds | None:
        """The seeds that it keeps, with what messages call it."""
        return None if self.seeds is None else KeptSeeds(self.site.title, *self.seeds)


@dataclass(frozen=True)
class Irreplaceable:
    """A random node that has no replacement, and why."""

    site: Site
    error: ValueError | TypeError

    def record(self) -> RandomNode:
        """The line of a report."""
        return _record(self.site, None, None, self.error)


Outcome = Replaceable | Irreplaceable


@dataclass(frozen=True)
class Numbered:
    """A random node with its replacement and its stream."""

    random: Replaceable
    stream: int | None
    """None for a node that keeps its own seeds."""

    @property
    def prefix(self) -> str:
        """What the names of its tensors begin with."""
        return "seeded." if self.stream is None else f"{self.stream}."

    def record(self) -> RandomNode:
        """The line of a report."""
        return self.random.record(self.stream)


@dataclass(frozen=True)
class Carried(Numbered):
    """A random node with its replacement, its stream and the state that it draws from."""

    state: ir.Value
    """Of uint32."""
    next_state_cast: ir.Node | None
    """The Cast that waits for the next state, inside a Loop or Scan."""


def _record(
    site: Site, replacement: Replacement | None, stream: int | None, error: Exception | None
) -> RandomNode:
    return RandomNode(
        name=site.node.name or "",
        op_type=site.node.op_type,
        domain=site.node.domain,
        version=site.version,
        path=tuple(owner.label for owner in site.owners),
        function=site.function,
        outputs=tuple(value.name or "" for value in site.node.outputs),
        output_type=None if replacement is None else _type_name(replacement.dtype),
        replacement=None if replacement is None else replacement.operator.name,
        stream=stream,
        problem=None if error is None else str(error),
    )


def _type_name(dtype: ir.DataType) -> str:
    ours = BY_ONNX.get(dtype.value)
    return dtype.name.lower() if ours is None else ours.name
