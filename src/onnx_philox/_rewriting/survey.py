"""What a rewrite would do to a model, node by node, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.found import Irreplaceable, MayStayError, Random
from onnx_philox._rewriting.order import Batch, Format, Left, Model, number_nodes
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class Unrewritten(Generic[Random]):
    """A random node."""

    found: Random | Irreplaceable
    record: RandomNode
    """With the stream number that a rewrite would give it."""
    row_problem: Exception | None
    """What stands in the way of a state for each row; None where nothing of the node does."""

    @property
    def node(self) -> Any:
        """The node itself."""
        return self.found.site.node

    @property
    def error(self) -> ValueError | TypeError | None:
        """Why it cannot be replaced; None if it can."""
        if not isinstance(self.found, Irreplaceable):
            return None
        return self.found.error

    @property
    def may_stay(self) -> bool:
        """Whether `keep_unknown` would leave it as it is, since it cannot be replaced."""
        return isinstance(self.error, MayStayError)


@dataclass(frozen=True)
class Survey(Generic[Random]):
    """What was found in a model."""

    nodes: list[Unrewritten[Random]]
    recorded: Recorded[Any]
    """What an earlier rewrite left."""
    obstacle: Exception | None
    """Why the model, whatever its nodes, cannot be rewritten; None where it can."""
    batch: Batch | None
    """What could each have a state; None where there is none."""
    row_obstacle: Exception | None
    """What stands in the way of a state for each row, whatever the nodes; None if nothing does."""


def survey(format: Format[Model, Random, Any, Left], model: Model) -> Survey[Random]:
    """Surveys a model."""
    found = format.find(model, Asked())
    nodes = [each for each in found if not isinstance(each, Irreplaceable)]
    recorded: Any = Recorded()
    numbered = nodes
    batch: Batch | None = None
    obstacle: Exception | None = None
    row_obstacle: Exception | None = None
    try:
        recorded = format.recorded(model)
        if found:
            format.check(model, Asked(), recorded, found)
        numbered = number_nodes(nodes, recorded)
    except ValueError as error:
        obstacle = error
    problems: Mapping[int, Exception | None] = {}
    try:
        recorded.check_rows()
        rows = format.rows(model, nodes, recorded, Asked())
        batch = rows.batch
        problems = {id(node): rows.obstacle(node) for node in nodes}
    except (TypeError, ValueError) as error:
        row_obstacle = error
    if recorded.has_rows and obstacle is None:
        found_problems = [problem for problem in problems.values() if problem]
        obstacle = row_obstacle or next(iter(found_problems), None)
    known = {}
    for node, each in zip(nodes, numbered, strict=True):
        known[id(node)] = each.record()

    def unrewritten(each: Random | Irreplaceable) -> Unrewritten[Random]:
        if isinstance(each, Irreplaceable):
            return Unrewritten(each, each.record(), each.error)
        problem = problems.get(id(each))
        return Unrewritten(each, known[id(each)], problem)

    return Survey([unrewritten(each) for each in found], recorded, obstacle, batch, row_obstacle)
