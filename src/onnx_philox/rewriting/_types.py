"""The element types of values, inferred where the model does not declare them."""

from __future__ import annotations

import itertools

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass


class Types:
    """The element type of each value of a model; the model itself is left as it is."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._inferred: dict[ir.Value, ir.DataType | None] | None = None

    def __call__(self, value: ir.Value) -> ir.DataType | None:
        """The declared type, else the inferred one, else None."""
        if value.dtype is not None:
            return value.dtype
        if self._inferred is None:
            self._inferred = self._infer()
        return self._inferred.get(value)

    def _infer(self) -> dict[ir.Value, ir.DataType | None]:
        # The clone shares the tensors, and the inference sees none of the large ones.
        try:
            clone = self._model.clone()
        except RuntimeError:
            # A node reads what nothing gives that onnx-ir knows: a sparse initializer, or nothing.
            return {}
        ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(clone)
        return {
            ours: theirs.dtype
            for graph, copy in zip(self._model.graphs(), clone.graphs(), strict=True)
            for ours, theirs in zip(_values(graph), _values(copy), strict=True)
        }


def _values(graph: ir.Graph) -> itertools.chain[ir.Value]:
    outputs = (value for node in graph for value in node.outputs)
    return itertools.chain(graph.inputs, outputs)
