"""Keeps the protobuf model behind an `onnx_ir.Model`: what a rewrite does not touch comes from it.

The surgery happens in onnx-ir. Serialising its model would touch everything: the order, value
infos, fields that it does not know. So this module assembles the result from the messages of the
original, wherever a node, a graph or a function is what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._files import tensors
from onnx_philox._files.without_weights import placeholder
from onnx_philox._models.onnx_graphs import subgraphs

_SPARSE = (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS)
_OF_TYPES = (onnx.AttributeProto.TYPE_PROTO, onnx.AttributeProto.TYPE_PROTOS)
_Unreadable = onnx.ValueInfoProto | onnx.AttributeProto | onnx.GraphProto


class Originals:
    """A model for surgery, and the messages that it was made from.

    Args:
        proto: The model.
        folder: Where its external data lies.
        owner: The function that refuses a model that cannot be read.

    Attributes:
        model: The model for surgery. It shares the tensors of the protobuf model.
    """

    def __init__(self, proto: onnx.ModelProto, folder: Path | None = None, *, owner: str) -> None:
        self._proto = proto
        read = readable(proto)
        try:
            self.model = ir.from_proto(read)
        except ir.serde.SerdeError as error:
            cause = error.__cause__ or error
            given = f"one that onnx-ir cannot read ({cause})"
            remedy = (
                "See what onnx.checker.check_model says of it; where that finds nothing, call "
                "onnx.inliner.inline_local_functions first."
            )
            checks.refuse(owner, "the model", given, "a valid ONNX model", remedy)
        if folder is not None and any(map(_is_external, tensors.tensors(read))):
            ir.external_data.set_base_dir(self.model.graph, folder)
        self._nodes: dict[ir.Node, onnx.NodeProto] = {}
        self._graphs: dict[ir.Graph, onnx.GraphProto] = {}
        self._remember(self.model.graph, proto.graph)

    def to_proto(self) -> onnx.ModelProto:
        """The model as it is now; what has not changed is a copy of the original.

        Numbers keep their values, but some are stored as raw data: see `store_raw`.
        """
        result = onnx.ModelProto()
        _copy_all_but(self._proto, result, {"graph", "functions", "opset_import"})
        known = set()
        versions = self.model.opset_imports
        for entry in self._proto.opset_import:
            if entry.domain in versions:
                known.add(entry.domain)
                result.opset_import.append(entry)
                result.opset_import[-1].version = versions[entry.domain]
        for domain, version in versions.items():
            if domain not in known:
                result.opset_import.add(domain=domain, version=version)
        self._write_functions(result)
        entries = {entry.key: entry for entry in result.metadata_props}
        for key, value in self.model.metadata_props.items():
            if key not in entries:
                result.metadata_props.add(key=key, value=value)
            elif entries[key].value != value:
                entries[key].value = value
        self._write_graph(self.model.graph, result.graph)
        # onnx-ir writes raw data itself.
        if any(tensors.misread_by_openvino(self._proto)):
            tensors.store_raw(result)
        return result

    def _write_functions(self, result: onnx.ModelProto) -> None:
        """The functions that are left, as they were, then the new ones."""
        functions = self.model.functions
        given = {(f.domain, f.name, f.overload): f for f in self._proto.functions}
        for key, proto in given.items():
            if key in functions:
                result.functions.append(proto)
        for key, function in functions.items():
            if key not in given:
                result.functions.append(ir.to_proto(function))

    def _remember(self, graph: ir.Graph, proto: onnx.GraphProto) -> None:
        self._graphs[graph] = proto
        for node, message in zip(graph, proto.node, strict=True):
            self._nodes[node] = message
            held_by_node = subgraphs(node)
            if not held_by_node:
                continue
            held = {}
            for attribute in message.attribute:
                held[attribute.name] = list(tensors.subgraphs(attribute))
            for name, subgraph in held_by_node:
                inner = held[name].pop(0)
                self._remember(subgraph, inner)

    def _is_untouched(self, node: ir.Node) -> bool:
        original = self._nodes.get(node)
        if original is None or not _has_names_of(node, original):
            return False
        for _, graph in subgraphs(node):
            if not all(self._is_untouched(inner) for inner in graph):
                return False
            if len(graph) != len(self._graphs[graph].node):
                return False
        return True

    def _write_graph(self, graph: ir.Graph, result: onnx.GraphProto) -> None:
        proto = self._graphs.get(graph)
        if proto is None:
            result.CopyFrom(ir.to_proto(graph))
            return
        _copy_all_but(proto, result, {"node", "input", "output", "initializer", "value_info"})
        _declare(proto.input, graph.inputs, result.input)
        _declare(proto.output, graph.outputs, result.output)
        initializers = {tensor.name for tensor in proto.initializer}
        initializers |= {sparse.values.name for sparse in proto.sparse_initializer}
        kept = graph.initializers.keys()
        for tensor in proto.initializer:
            if tensor.name in kept:
                result.initializer.append(tensor)
        for name, value in graph.initializers.items():
            if name not in initializers and value.const_value is not None:
                tensor = ir.serde.serialize_tensor(value.const_value)
                result.initializer.append(tensor)
        outputs = {}
        for node in graph:
            for value in node.outputs:
                outputs[value.name] = value
        drawn = {name for node in proto.node for name in node.output}
        removed = initializers | drawn
        removed -= kept | outputs.keys()
        for info in proto.value_info:
            if info.name not in removed:
                declared_value = outputs.get(info.name)
                result.value_info.append(_declared(info, declared_value))
        declared = {info.name for info in (*result.value_info, *result.output)}
        for node in graph:
            if self._is_untouched(node):
                result.node.append(self._nodes[node])
                continue
            self._write_node(node, result.node.add())
            for value in node.outputs:
                is_new = value.name and value.name not in declared
                if is_new and value.type is not None:
                    info = ir.serde.serialize_value(value)
                    result.value_info.append(info)

    def _write_node(self, node: ir.Node, result: onnx.NodeProto) -> None:
        original = self._nodes.get(node)
        if original is None:
            ir.serde.serialize_node_into(result, node)
            return
        _copy_all_but(original, result, {"input", "output", "attribute"})
        for value in node.inputs:
            name = value.name if value else None
            result.input.append(name or "")
        result.output.extend(value.name or "" for value in node.outputs)
        for attribute in original.attribute:
            written = result.attribute.add()
            held = [graph for name, graph in subgraphs(node) if name == attribute.name]
            if not held:
                written.CopyFrom(attribute)
                new = node.attributes.get(attribute.name)
                _write_integers(new, written)
                continue
            _copy_all_but(attribute, written, {"g", "graphs"})
            for graph in held:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    inner = written.g
                else:
                    inner = written.graphs.add()
                self._write_graph(graph, inner)


def _declare(original: Any, values: Iterable[ir.Value], result: Any) -> None:
    """Writes the inputs or outputs of a graph, given those of the original."""
    infos = {info.name: info for info in original}
    for value in values:
        original = infos.get(value.name or "")
        result.append(_declared(original, value))


def _declared(original: onnx.ValueInfoProto | None, value: ir.Value | None) -> onnx.ValueInfoProto:
    """What the model says of a value, with its shape where only a pass says it."""
    if original is None:
        assert value is not None
        return ir.serde.serialize_value(value)
    if value is None or value.shape is None:
        return original
    if not original.type.HasField("tensor_type"):
        return original
    if original.type.tensor_type.HasField("shape"):
        return original
    result = onnx.ValueInfoProto()
    result.CopyFrom(original)
    declared = ir.serde.serialize_value(value)
    shape = declared.type.tensor_type.shape
    result.type.tensor_type.shape.CopyFrom(shape)
    return result


def _write_integers(attribute: ir.Attr | None, result: onnx.AttributeProto) -> None:
    """Writes what passes change of a node that stays: how much a Scan scans."""
    if attribute is None or attribute.is_ref():
        return
    if attribute.type is ir.AttributeType.INT:
        result.i = attribute.as_int()
    elif attribute.type is ir.AttributeType.INTS:
        result.ints[:] = attribute.as_ints()


def _is_external(tensor: onnx.TensorProto) -> bool:
    return tensor.data_location == onnx.TensorProto.EXTERNAL


def _has_names_of(node: ir.Node, original: onnx.NodeProto) -> bool:
    """Whether a node has what a rewrite may change: the names of its inputs and outputs."""
    inputs = [value.name or "" if value is not None else "" for value in node.inputs]
    if inputs != list(original.input):
        return False
    outputs = [value.name or "" for value in node.outputs]
    return outputs == list(original.output)


def _copy_all_but(source: Any, target: Any, names: set[str]) -> None:
    """Copies the fields of a message, except some."""
    for field, value in source.ListFields():
        if field.name in names:
            continue
        if hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        elif field.message_type is not None:
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def readable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model as onnx-ir can read it: the very same where it can.

    It knows no maps and no opaque types, so a value of such a type has none. It knows no sparse
    tensors, so where one is stands a tensor whose contents stay in the model.
    """
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
