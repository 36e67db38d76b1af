"""A random node with its place in the model: what the passes tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.types import BY_ONNX
from onnx_philox._rewriting.report import MAIN_GRAPH, RandomNode

if TYPE_CHECKING:
    from onnx_philox._rewriting.nodes.replacements import Draw


@dataclass(frozen=True)
class Owner:
    """A node that holds a subgraph, and the attribute that the subgraph is."""

    node: ir.Node
    attribute: str
    graph: ir.Graph

    @property
    def label(self) -> str:
        """The step of a path, ``Loop 'name' body``."""
        return f"{label(self.node)} {self.attribute}"


@dataclass
class Site:
    """A random node, what replaces it, and the state that it draws from."""

    node: ir.Node
    version: int | None
    """As in `RandomNode`."""
    opset: int
    """Of the model, in ONNX's own domain."""
    owners: tuple[Owner, ...]
    """From the main graph inwards."""
    function: str | None = None
    """The model-local function that it was inlined from."""
    draw: Draw | None = None
    """What it becomes; None where it cannot be replaced."""
    absorbed: tuple[ir.Node, ...] = ()
    """The nodes after it that the draw stands for too, each reading the one before it."""
    error: ValueError | TypeError | None = None
    """Why it cannot be replaced."""
    may_stay: bool = False
    """Whether `keep_unknown` lets it stay as it is."""
    stream: int | None = None
    state: ir.Value | None = None
    """The uint32 state, once the states are threaded."""
    next_state_cast: ir.Node | None = None
    """The Cast that waits for the next state, inside a Loop or Scan."""

    @property
    def last(self) -> ir.Node:
        """The node whose outputs the draw gives, and in whose place it goes."""
        return self.absorbed[-1] if self.absorbed else self.node

    @property
    def title(self) -> str:
        """What messages call it."""
        place = " > ".join((MAIN_GRAPH, *(owner.label for owner in self.owners)))
        domain = f"{self.node.domain} " if self.node.domain else ""
        origin = f", from function {self.function}" if self.function else ""
        opset = "opset not imported" if self.version is None else f"opset {self.version}"
        return f"{domain}{label(self.node)} ({opset}, {place}{origin})"

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

    def record(self) -> RandomNode:
        """The line of a report."""
        draw = self.draw
        return RandomNode(
            name=self.node.name or "",
            op_type=self.node.op_type,
            domain=self.node.domain,
            version=self.version,
            path=tuple(owner.label for owner in self.owners),
            function=self.function,
            outputs=tuple(value.name or "" for value in self.node.outputs),
            output_type=None if draw is None else _type_name(draw.dtype),
            replacement=None if draw is None else draw.operator.name,
            stream=self.stream,
            problem=None if self.error is None else str(self.error),
        )


def is_wanted(output: ir.Value) -> bool:
    """Whether a node reads an output, or the graph gives it."""
    return bool(output.uses()) or output.is_graph_output()


def label(node: ir.Node) -> str:
    """The operator and the name of a node."""
    if node.name:
        return f"{node.op_type} {node.name!r}"
    return f"{node.op_type} of {node.outputs[0].name!r}" if node.outputs else node.op_type


def _type_name(dtype: ir.DataType) -> str:
    ours = BY_ONNX.get(dtype.value)
    return dtype.name.lower() if ours is None else ours.name
