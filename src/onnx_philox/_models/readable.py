"""What onnx-ir cannot read of a model, and what it reads in its place.

It knows no maps and no opaque types, so a value of such a type has none. It knows no sparse
tensors, so where one is stands a tensor whose contents stay in the model.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from onnx_philox._files import tensors
from onnx_philox._files.without_weights import placeholder

_SPARSE = (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS)
_OF_TYPES = (onnx.AttributeProto.TYPE_PROTO, onnx.AttributeProto.TYPE_PROTOS)
_Unreadable = onnx.ValueInfoProto | onnx.AttributeProto | onnx.GraphProto


def readable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model as onnx-ir can read it: the very same where it can."""
    if not any(_unreadable(proto)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for message in list(_unreadable(copy)):
        if isinstance(message, onnx.ValueInfoProto):
            message.ClearField("type")
        elif isinstance(message, onnx.GraphProto):
            message.initializer.extend(map(_in_place_of, message.sparse_initializer))
        else:
            _make_readable(message)
    return copy


def _make_readable(attribute: onnx.AttributeProto) -> None:
    if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
        # A Constant has it so.
        attribute.name = attribute.name.removeprefix("sparse_")
        attribute.t.CopyFrom(_in_place_of(attribute.sparse_tensor))
        attribute.type = onnx.AttributeProto.TENSOR
    elif attribute.type == onnx.AttributeProto.SPARSE_TENSORS:
        attribute.tensors.extend(map(_in_place_of, attribute.sparse_tensors))
        attribute.type = onnx.AttributeProto.TENSORS
    else:
        attribute.type = onnx.AttributeProto.UNDEFINED


def _in_place_of(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    values = sparse.values
    return placeholder(
        onnx.TensorProto(name=values.name, data_type=values.data_type, dims=sparse.dims),
        0,
        0,
    )


def _unreadable(model: onnx.ModelProto) -> Iterator[_Unreadable]:
    yield from _in_graph(model.graph)
    # Nodes of functions may come into the graph, where nothing keeps what they were.
    for function in model.functions:
        yield from filter(_has_no_type, function.value_info)


def _in_graph(graph: onnx.GraphProto) -> Iterator[_Unreadable]:
    if graph.sparse_initializer:
        yield graph
    declared = (*graph.input, *graph.output, *graph.value_info)
    yield from filter(_has_no_type, declared)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type in _SPARSE:
                yield attribute
            elif attribute.type in _OF_TYPES:
                types = (attribute.tp, *attribute.type_protos)
                if any(map(_is_unreadable, types)):
                    yield attribute
            for inner in tensors.subgraphs(attribute):
                yield from _in_graph(inner)


def _has_no_type(info: onnx.ValueInfoProto) -> bool:
    return _is_unreadable(info.type)


def _is_unreadable(type: onnx.TypeProto) -> bool:
    kind = type.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        element = getattr(type, kind).elem_type
        return not element.WhichOneof("value") or _is_unreadable(element)
    return kind in ("map_type", "opaque_type")
