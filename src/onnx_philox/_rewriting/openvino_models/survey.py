"""What a rewrite would do to a model of OpenVINO, node by node, without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import openvino as ov

from onnx_philox._rewriting.openvino_models import earlier
from onnx_philox._rewriting.openvino_models.find import Found, find_nodes
from onnx_philox._rewriting.openvino_models.rows import Rows
from onnx_philox._rewriting.passes.number import stream_numbers
from onnx_philox._rewriting.passes.order import check_rows_beside
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class Survey:
    """What was found in a model."""

    nodes: list[tuple[Found, RandomNode]]
    """Each with the record that a rewrite would make of it."""
    recorded: earlier.Recorded
    """What an earlier rewrite left."""
    batch: str | None
    """The input whose rows could each have a state."""
    row_obstacle: Exception | None
    """What stands in the way of every node; None where nothing does."""
    row_problems: Sequence[Exception | None]
    """What stands in the way of each."""


def survey(model: ov.Model) -> Survey:
    """Surveys a model, and gives its inputs symbols."""
    recorded = earlier.read(model)
    streams = stream_numbers(recorded.streams, recorded.next_stream)
    nodes = [
        (found, found.record(None if found.draw is None else next(streams)))
        for found in find_nodes(model)
    ]
    replaceable = [found for found, _ in nodes if found.draw is not None]
    try:
        check_rows_beside(has_state=recorded.state is not None, has_rows=recorded.has_rows)
        rows = Rows(model, replaceable)
    except ValueError as error:
        return Survey(nodes, recorded, None, error, [found.error for found, _ in nodes])
    problems = [found.error or rows.obstacle(found) for found, _ in nodes]
    return Survey(nodes, recorded, rows.batch.name, None, problems)
