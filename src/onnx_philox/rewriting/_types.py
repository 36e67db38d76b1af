"""The element types and shapes of values, inferred where the model does not declare them."""

from __future__ import annotations

import itertools

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass

Inferred = dict[ir.Value, tuple[ir.DataType | None, ir.Shape | None]]


class Types:
    """The type and the shape of each value of a model; the model itself is left as it is."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._inferred: Inferred | None = None

    def __call__(self, value: ir.Value) -> ir.DataType | None:
        """The declared type, else the inferred one, else None."""
        return value.dtype if value.dtype is not None else self._of(value)[0]

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The declared shape, else the inferred one, else None."""
        return value.shape if value.shape is not None else self._of(value)[1]

    def _of(self, value: ir.Value) -> tuple[ir.DataType | None, ir.Shape | None]:
        if self._inferred is None:
            self._inferred = self._infer()
        return self._inferred.get(value, (None, None))

    def _infer(self) -> Inferred:
        # The clone shares the tensors, and the inference sees none of the large ones.
        clone = self._model.clone()
        ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(clone)
        return {
            ours: (theirs.dtype, theirs.shape)
            for graph, copy in zip(self._model.graphs(), clone.graphs(), strict=True)
            for ours, theirs in zip(_values(graph), _values(copy), strict=True)
        }


def _values(graph: ir.Graph) -> itertools.chain[ir.Value]:
    outputs = (value for node in graph for value in node.outputs)
    return itertools.chain(graph.inputs, outputs)
