"""A model in `onnx.reference`: slow, but it defines the right numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

import onnx
from onnx.reference import ReferenceEvaluator

from onnx_philox import _backends
from onnx_philox._runtimes.models import LoadedModel, ToOpen
from onnx_philox._runtimes.port import Port
from onnx_philox.onnx_reference import OPS


class ReferenceModel(LoadedModel):
    """A ReferenceEvaluator."""

    runtime = "reference"
    version = onnx.__version__
    backend = "onnx"

    def __init__(self, model: onnx.ModelProto) -> None:
        self._evaluator = ReferenceEvaluator(model, new_ops=OPS)
        defaults = {i.name for i in model.graph.initializer}
        self.inputs = [_port(i, i.name not in defaults) for i in model.graph.input]
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


def _port(value: onnx.ValueInfoProto, is_required: bool) -> Port:
    if not value.type.HasField("tensor_type"):
        return Port(value.name, None, None, is_required)
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(map(_dimension, tensor.shape.dim))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return Port(value.name, dtype, shape, is_required)


def _dimension(given: onnx.TensorShapeProto.Dimension) -> int | str | None:
    return given.dim_value if given.HasField("dim_value") else given.dim_param or None
