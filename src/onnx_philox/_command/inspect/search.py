"""Finds the random nodes of a model, what they would become, and the nodes that a rewrite made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir

from onnx_philox._command import paths
from onnx_philox._contract import checks
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.streams import STATE
from onnx_philox._files.model_file import opened
from onnx_philox._models.graphs import Owner, walk
from onnx_philox._models.opsets import STANDARD_DOMAINS
from onnx_philox._models.ours import seed_of
from onnx_philox._models.untouched import Originals
from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.passes.find import find_nodes
from onnx_philox._rewriting.passes.inline import InlineRandomFunctions
from onnx_philox._rewriting.passes.number import number_nodes
from onnx_philox._rewriting.passes.order import check_rows_beside
from onnx_philox._rewriting.passes.prove_rows import BatchRows
from onnx_philox._rewriting.random_nodes.may_stay import MayStayError
from onnx_philox._rewriting.replacements.outcome import (
    Irreplaceable,
    Numbered,
    Outcome,
    Replaceable,
)
from onnx_philox._rewriting.report import RandomNode
from onnx_philox._rewriting.types import Types

_OWNER = "inspect"


@dataclass(frozen=True)
class Unrewritten:
    """A random node."""

    found: Outcome
    record: RandomNode
    """With the stream number that a rewrite would give it."""

    @property
    def node(self) -> ir.Node:
        """The node itself."""
        return self.found.site.node

    @property
    def error(self) -> ValueError | TypeError | None:
        """Why it cannot be replaced; None if it can."""
        return self.found.error if isinstance(self.found, Irreplaceable) else None

    @property
    def may_stay(self) -> bool:
        """Whether `keep_unknown` would leave it as it is, since it cannot be replaced."""
        return isinstance(self.error, MayStayError)


@dataclass(frozen=True)
class PerRow:
    """Whether a rewrite could give each row of the batch a state of its own."""

    batch: str | None
    """The dimension that is the batch; None where there is none."""
    obstacle: Exception | None
    """What stands in the way of every node; None where nothing does."""
    problems: Mapping[ir.Node, Exception]
    """What stands in the way of single nodes."""


@dataclass(frozen=True)
class Rewritten:
    """A node of this package's domain."""

    name: str
    path: tuple[str, ...]
    """The subgraphs it is in; empty in the main graph."""
    operator: str
    global_seed: int
    stream: int
    """Its `op_seed`."""


@dataclass(frozen=True)
class Nodes:
    """What a search found."""

    unrewritten: list[Unrewritten]
    rewritten: list[Rewritten]
    state: str
    """Where the nodes of an earlier rewrite get their state, in words; empty for others."""
    obstacle: str | None
    """Why the model, whatever its nodes, cannot be rewritten; None where it can."""
    type_of: Types
    idle_dropouts: int
    """How many nodes of Dropout draw nothing: they are off, or of ratio 0."""
    per_row: PerRow


def load(path: Path) -> ir.Model:
    """Reads a model, but not its weights.

    Raises:
        ValueError: The file does not exist, or is not an ONNX model.
        OSError: The file cannot be read.
    """
    paths.check_model(path)
    if path.suffix == ".xml":
        remedy = "Pass the ONNX model that it was made from."
        checks.refuse(_OWNER, str(path), "an OpenVINO IR", "an ONNX file", remedy)
    with opened(path, _OWNER) as file:
        return Originals(file.proto, path.parent, owner=earlier_rewrite.OWNER).model


def search(model: ir.Model) -> Nodes:
    """Searches a model, after inlining functions that hold random nodes, as a rewrite does."""
    InlineRandomFunctions()(model)
    found = find_nodes(model)
    state, obstacle = "", None
    numbered: list[Numbered] = []
    replaceable = [node for node in found if isinstance(node, Replaceable)]
    recorded = earlier_rewrite.Recorded()
    try:
        recorded = earlier_rewrite.read(model, None)
        state = _state(recorded)
        numbered = number_nodes(replaceable, recorded)
    except ValueError as error:
        obstacle = str(error)
    per_row = _per_row(model, replaceable, recorded)
    if recorded.has_rows and obstacle is None:
        first = per_row.obstacle or next(iter(per_row.problems.values()), None)
        obstacle = None if first is None else str(first)
    streams = {node.random.site.node: node.stream for node in numbered}
    unrewritten = [_unrewritten(node, streams) for node in found]
    rewritten = [
        _rewritten(node, owners) for node, owners in walk(model.graph) if node.domain == DOMAIN
    ]
    dropouts = len([node for node in _all_nodes(model) if _is_dropout(node)])
    idle_dropouts = dropouts - len([node for node in found if _is_dropout(node.site.node)])
    return Nodes(unrewritten, rewritten, state, obstacle, Types(model), idle_dropouts, per_row)


def _per_row(
    model: ir.Model, nodes: Sequence[Replaceable], recorded: earlier_rewrite.Recorded
) -> PerRow:
    try:
        check_rows_beside(recorded)
        rows = BatchRows(model, nodes, recorded)
    except ValueError as error:
        return PerRow(None, error, {})
    problems = {node.site.node: rows.obstacle(node) for node in nodes}
    found = {node: error for node, error in problems.items() if error is not None}
    return PerRow(rows.batch.name, None, found)


def _all_nodes(model: ir.Model) -> Iterator[ir.Node]:
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    return (node for graph in graphs for node in graph.all_nodes())


def _is_dropout(node: ir.Node) -> bool:
    return node.op_type == "Dropout" and node.domain in STANDARD_DOMAINS


def _state(recorded: earlier_rewrite.Recorded) -> str:
    if recorded.state is None:
        return ""
    if recorded.state.is_graph_input():
        rows = ", for each row of the batch" if recorded.has_rows else ""
        return f"the input {STATE}{rows}"
    return f"a constant inside, of seed {recorded.seed}: every run is the same"


def _unrewritten(found: Outcome, streams: Mapping[ir.Node, int]) -> Unrewritten:
    if isinstance(found, Irreplaceable):
        return Unrewritten(found, found.record())
    return Unrewritten(found, found.record(streams.get(found.site.node)))


def _rewritten(node: ir.Node, owners: tuple[Owner, ...]) -> Rewritten:
    seeds = (seed_of(node, name) for name in ("global_seed", "op_seed"))
    path = tuple(owner.label for owner in owners)
    return Rewritten(node.name or "", path, node.op_type, *seeds)
