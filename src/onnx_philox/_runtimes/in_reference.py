"""A model in `onnx.reference`: slow, but it defines the right numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

import onnx
from onnx.reference import ReferenceEvaluator

from onnx_philox import _backends
from onnx_philox._runtimes.models import LoadedModel, ToOpen, port_of
from onnx_philox.onnx_reference import OPS


class ReferenceModel(LoadedModel):
    """A ReferenceEvaluator."""

    runtime = "reference"
    version = onnx.__version__
    backend = "onnx"

    def __init__(self, model: onnx.ModelProto) -> None:
        self._evaluator = ReferenceEvaluator(model, new_ops=OPS)
        defaults = {i.name for i in model.graph.initializer}
        self.inputs = []
        for value in model.graph.input:
            is_required = value.name not in defaults
            self.inputs.append(port_of(value, is_required))
        self.outputs = list(self._evaluator.output_names)

    @staticmethod
    def backends() -> Mapping[str, _backends.Backend]:
        return {ReferenceModel.backend: SimpleNamespace(unavailable=lambda: None)}

    @classmethod
    def open(cls, asked: ToOpen) -> Self:
        model, drawn = asked.proto()
        loaded = cls(model)
        loaded.drawn = drawn
        return loaded

    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        return list(self._evaluator.run(None, dict(feeds)))
