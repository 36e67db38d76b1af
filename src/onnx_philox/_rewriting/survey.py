"""What a rewrite would do to a model, node by node, without doing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._rewriting import earlier_rewrite
from onnx_philox._rewriting.in_onnx.passes.find import find_nodes
from onnx_philox._rewriting.in_onnx.passes.inline import InlineRandomFunctions
from onnx_philox._rewriting.in_onnx.passes.order import check_rows_beside
from onnx_philox._rewriting.in_onnx.passes.prove_rows import BatchRows
from onnx_philox._rewriting.in_onnx.replacements.outcome import (
    Irreplaceable,
    Numbered,
    Outcome,
    Replaceable,
)
from onnx_philox._rewriting.may_stay import MayStayError
from onnx_philox._rewriting.numbering import number_nodes
from onnx_philox._rewriting.report import RandomNode


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
class ByRows:
    """Whether a rewrite could give each row of the batch a state of its own."""

    batch: str | None
    """The dimension that is the batch; None where there is none."""
    obstacle: Exception | None
    """What stands in the way of every node; None where nothing does."""
    problems: Mapping[ir.Node, Exception]
    """What stands in the way of single nodes."""


@dataclass(frozen=True)
class Survey:
    """What was found in a model."""

    nodes: list[Unrewritten]
    recorded: earlier_rewrite.Recorded
    """What an earlier rewrite left."""
    obstacle: str | None
    """Why the model, whatever its nodes, cannot be rewritten; None where it can."""
    per_row: ByRows


def survey(model: ir.Model) -> Survey:
    """Surveys a model, whose functions that hold random nodes it inlines, as a rewrite does."""
    InlineRandomFunctions()(model)
    found = find_nodes(model)
    obstacle = None
    numbered: list[Numbered] = []
    replaceable = [node for node in found if isinstance(node, Replaceable)]
    recorded = earlier_rewrite.Recorded()
    try:
        recorded = earlier_rewrite.read(model, None)
        numbered = number_nodes(replaceable, recorded)
    except ValueError as error:
        obstacle = str(error)
    per_row = _per_row(model, replaceable, recorded)
    if recorded.has_rows and obstacle is None:
        first = per_row.obstacle or next(iter(per_row.problems.values()), None)
        obstacle = None if first is None else str(first)
    streams = {node.random.site.node: node.stream for node in numbered}
    return Survey([_unrewritten(node, streams) for node in found], recorded, obstacle, per_row)


def _per_row(
    model: ir.Model, nodes: Sequence[Replaceable], recorded: earlier_rewrite.Recorded
) -> ByRows:
    try:
        check_rows_beside(has_state=recorded.state is not None, has_rows=recorded.has_rows)
        rows = BatchRows(model, nodes, recorded)
    except ValueError as error:
        return ByRows(None, error, {})
    problems = {node.site.node: rows.obstacle(node) for node in nodes}
    found = {node: error for node, error in problems.items() if error is not None}
    return ByRows(rows.batch.name, None, found)


def _unrewritten(found: Outcome, streams: Mapping[ir.Node, int | None]) -> Unrewritten:
    if isinstance(found, Irreplaceable):
        return Unrewritten(found, found.record())
    return Unrewritten(found, found.record(streams.get(found.site.node)))
