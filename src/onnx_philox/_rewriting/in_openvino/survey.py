"""What a rewrite would do to a model of OpenVINO, node by node, without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import openvino as ov

from onnx_philox._rewriting.in_onnx.passes.order import check_rows_beside
from onnx_philox._rewriting.in_openvino import earlier
from onnx_philox._rewriting.in_openvino.find import Found, find_nodes
from onnx_philox._rewriting.in_openvino.number import number_nodes
from onnx_philox._rewriting.in_openvino.rows import Rows
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class Survey:
    """What was found in a model."""

    nodes: list[tuple[Found, RandomNode]]
    """Each with the record that a rewrite would make of it."""
    kept: Sequence[Found]
    """What a rewrite that keeps seeds would find."""
    recorded: earlier.Recorded
    """What an earlier rewrite left."""
    obstacle: Exception | None
    """Why the model, whatever its nodes, cannot be rewritten; None where it can."""
    batch: str | None
    """The input whose rows could each have a state."""
    row_obstacle: Exception | None
    """What stands in the way of every node; None where nothing does."""
    row_problems: Sequence[Exception | None]
    """What stands in the way of each."""


def survey(model: ov.Model) -> Survey:
    """Surveys a model, and gives its inputs symbols."""
    recorded = earlier.read(model)
    all_ = find_nodes(model)
    replaceable = [found for found in all_ if found.draw is not None]
    try:
        numbered, obstacle = number_nodes(replaceable, recorded), None
    except ValueError as error:
        numbered, obstacle = [], error
    streams = {found.site.node.get_name(): stream for found, stream in numbered}
    nodes = [(found, found.record(streams.get(found.site.node.get_name()))) for found in all_]
    kept = find_nodes(model, keep_seeds=True)
    try:
        check_rows_beside(has_state=recorded.state is not None, has_rows=recorded.has_rows)
        rows = Rows(model, replaceable)
    except ValueError as error:
        problems: list[Exception | None] = [found.error for found in all_]
        return Survey(nodes, kept, recorded, obstacle, None, error, problems)
    problems = [found.error or rows.obstacle(found) for found in all_]
    return Survey(nodes, kept, recorded, obstacle, rows.batch.name, None, problems)
