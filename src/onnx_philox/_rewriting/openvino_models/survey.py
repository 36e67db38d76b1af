"""What a rewrite would do to a model of OpenVINO, node by node, without doing it."""

from __future__ import annotations

from dataclasses import dataclass

import openvino as ov

from onnx_philox._rewriting.openvino_models import earlier
from onnx_philox._rewriting.openvino_models.find import Found, find_nodes
from onnx_philox._rewriting.passes.number import stream_numbers
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class Survey:
    """What was found in a model."""

    nodes: list[tuple[Found, RandomNode]]
    """Each with the record that a rewrite would make of it."""
    recorded: earlier.Recorded
    """What an earlier rewrite left."""


def survey(model: ov.Model) -> Survey:
    """Surveys a model."""
    recorded = earlier.read(model)
    streams = stream_numbers(recorded.streams, recorded.next_stream)
    nodes = [
        (found, found.record(None if found.draw is None else next(streams)))
        for found in find_nodes(model)
    ]
    return Survey(nodes, recorded)
