"""The tensors of a model, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors: initializers and attributes, in subgraphs and functions too."""
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from _of_nodes(function.node)


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
            if attribute.HasField("g"):
                yield from _of_graph(attribute.g)
            for graph in attribute.graphs:
                yield from _of_graph(graph)
