"""The tensors and subgraphs of a protobuf model, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
from onnx import numpy_helper

_MISREAD: dict[int, str] = {
    onnx.TensorProto.UINT32: "uint64_data",
    onnx.TensorProto.BFLOAT16: "int32_data",
}
"""The fields in which ONNX keeps numbers of these types; OpenVINO reads other fields."""


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors: initializers and attributes, in subgraphs and functions too."""
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from _of_nodes(function.node)


def subgraphs(attribute: onnx.AttributeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in an attribute, by its type; where it has none, an empty one, as in onnx-ir."""
    if attribute.type == onnx.AttributeProto.GRAPHS:
        yield from attribute.graphs
    elif attribute.type == onnx.AttributeProto.GRAPH or attribute.HasField("g"):
        yield attribute.g


def misread_by_openvino(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors that OpenVINO's front end (2026.4) reads as different numbers."""
    for tensor in tensors(model):
        field = _MISREAD.get(tensor.data_type)
        if field is not None and len(getattr(tensor, field)):
            yield tensor


def store_raw(model: onnx.ModelProto) -> None:
    """Stores these tensors as raw data, which OpenVINO reads correctly."""
    for tensor in misread_by_openvino(model):
        raw = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
        tensor.ClearField(_MISREAD[tensor.data_type])
        tensor.raw_data = raw


def _of_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            if attribute.HasField("sparse_tensor"):
                yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
            for sparse in attribute.sparse_tensors:
                yield from (sparse.values, sparse.indices)
            for graph in subgraphs(attribute):
                yield from _of_graph(graph)
