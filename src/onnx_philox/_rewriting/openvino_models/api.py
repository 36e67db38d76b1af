"""Finds the random nodes of a model of OpenVINO."""

from __future__ import annotations

import openvino as ov

from onnx_philox._rewriting.openvino_models.find import find_nodes
from onnx_philox._rewriting.report import RandomNode


def find_random_nodes(model: ov.Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed."""
    # A clone shares the weights, and has no nodes that only Python still holds.
    return [found.record() for found in find_nodes(model.clone())]
