"""Raises a model to the opset that standard nodes need.

ONNX's version converter rewrites the nodes whose operators changed until then. It gets only these,
each with the types of its inputs: so weights, all other nodes and what it knows nothing of stay as
they are.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NoReturn

import onnx
import onnx_ir as ir
from onnx import defs, shape_inference, version_converter

from onnx_philox._contract import checks, shown
from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import Names
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._standard.builder import OPSET

# Operators of which the converter makes nodes that compute something else, without a word: those
# of an older opset than this.
_ALTERED = {"Dropout": 7, "Scan": 9, "Upsample": 10, "Resize": 11, "Hardmax": 13}

# Before this opset a Dropout that drops nothing gives a mask of zeros.
_MASK_OF_TRUE = 12

# What changed of them since then is the types that they take.
_SAME = ("Constant", "If", "Loop", "Scan")

# The errors of the converter, and of the inference that checks its result.
_FAILURES = (RuntimeError, version_converter.ConvertError, shape_inference.InferenceError)


def is_changed(node: ir.Node, opset: int) -> bool:
    """Whether an operator of ONNX is another one in the raised opset, or is unknown."""
    if node.domain not in onnx_graphs.STANDARD_DOMAINS or opset >= OPSET:
        return False
    first_altered = _ALTERED.get(node.op_type, 0)
    if node.op_type in _SAME and opset >= first_altered:
        return False
    try:
        before = defs.get_schema(node.op_type, opset).since_version
        return before != defs.get_schema(node.op_type, OPSET).since_version
    except defs.SchemaError:
        return True


def raise_opset(model: ir.Model, owner: str) -> None:
    """Raises the model's opset, in place, to the oldest with all that is needed.

    Its functions must have no changed nodes.

    Raises:
        ValueError: A node cannot be raised.

    Warns:
        UserWarning: Nodes were rewritten.
    """
    given = onnx_graphs.onnx_opset_of(model.opset_imports)
    if given >= OPSET:
        return
    changed = [node for node, _ in onnx_graphs.walk(model.graph) if is_changed(node, given)]
    for node in changed:
        if given < _ALTERED.get(node.op_type, 0):
            problem = f"would change what {onnx_graphs.label(node)} computes"
            _refuse(given, owner, problem)
        masks = node.outputs[1:]
        has_mask = node.op_type == "Dropout" and any(map(onnx_graphs.is_wanted, masks))
        if has_mask and given < _MASK_OF_TRUE:
            problem = f"would change the mask of {onnx_graphs.label(node)}"
            _refuse(given, owner, problem)
    count: dict[str, int] = {}
    if changed:
        count = _replace(model, changed, given, owner)

    for domain in onnx_graphs.STANDARD_DOMAINS:
        if domain in model.opset_imports:
            model.opset_imports[domain] = OPSET
    if count:
        numbers = [f"{number} {op_type}" for op_type, number in sorted(count.items())]
        rewritten = ", ".join(numbers)
        warnings.warn(
            f"the opset was raised from {given} to {OPSET}, which standard nodes need: "
            f"onnx.version_converter rewrote {rewritten}",
            stacklevel=shown.stacklevel(),
        )


def _replace(
    model: ir.Model,
    nodes: Sequence[ir.Node],
    opset: int,
    owner: str,
) -> Counter[str]:
    """Puts what the converter makes of nodes in their place; returns how many it rewrote."""
    types = Types(model)
    excerpt = _excerpt(nodes, opset, types)
    try:
        converted = _convert(excerpt)
    except _FAILURES:
        for node in nodes:
            try:
                alone = _excerpt([node], opset, types)
                _convert(alone)
            except _FAILURES:
                problem = f"cannot raise {onnx_graphs.label(node)} to {OPSET}"
                _refuse(opset, owner, problem)
        raise
    count: Counter[str] = Counter()
    taken = Names(model)
    names = (taken.new(f"raised.{i}") for i in itertools.count())
    groups = _groups(excerpt.graph, converted.graph)
    for node, before, after in zip(nodes, excerpt.graph.node, groups, strict=True):
        after_meaning = [_meaning(made) for made in after]
        if after_meaning != [_meaning(before)]:
            count[node.op_type] += 1
            _put(after, before, node, names)
    return count


def _excerpt(nodes: Sequence[ir.Node], opset: int, types: Types) -> onnx.ModelProto:
    """A model of these nodes alone, each of which reads inputs."""
    inputs: dict[ir.Value, str] = {}
    model = onnx.ModelProto(ir_version=8)
    model.opset_import.add(version=opset)
    model.graph.name = "excerpt"
    for i, node in enumerate(nodes):
        proto = model.graph.node.add()
        proto.CopyFrom(ir.to_proto(node))
        for place, value in enumerate(node.inputs):
            name = ""
            if value is not None:
                new_name = f"i{len(inputs)}"
                name = inputs.setdefault(value, new_name)
            proto.input[place] = name
        for place, output in enumerate(node.outputs):
            name = f"o{i}_{place}" if output.name else ""
            proto.output[place] = name
            if name:
                model.graph.output.add(name=name)
    for value, name in inputs.items():
        type_ = value.type
        dtype = types(value)
        if type_ is None and dtype is not None:
            type_ = ir.TensorType(dtype)
        shape = types.shape(value)
        given = ir.Value(name=name, type=type_, shape=shape)
        model.graph.input.append(ir.serde.serialize_value(given))
    return model


def _convert(model: onnx.ModelProto) -> onnx.ModelProto:
    converted = version_converter.convert_version(model, OPSET)
    # The converter makes every number that was an attribute an f32, whatever the node's type.
    after = shape_inference.infer_shapes(converted, check_type=True, strict_mode=True)
    before = shape_inference.infer_shapes(model)
    for old, new in zip(before.graph.output, after.graph.output, strict=True):
        types = {old.type.tensor_type.elem_type, new.type.tensor_type.elem_type}
        types.discard(onnx.TensorProto.UNDEFINED)
        if len(types) > 1:
            raise shape_inference.InferenceError(f"{old.name} has another type")
    return converted


def _groups(excerpt: onnx.GraphProto, converted: onnx.GraphProto) -> list[list[onnx.NodeProto]]:
    """The converted nodes, in order, by the node that they were made of."""
    groups: list[list[onnx.NodeProto]] = [[] for _ in excerpt.node]
    place = {}
    for i, node in enumerate(excerpt.node):
        for name in node.output:
            if name:
                place[name] = i
    constants = (
        onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in converted.initializer
    )
    for node in reversed([*constants, *converted.node]):
        # Each output is read by something.
        index = next(place[name] for name in node.output if name in place)
        for name in node.input:
            if name:
                place[name] = index
        groups[index].insert(0, node)
    return groups


def _meaning(node: onnx.NodeProto) -> tuple[object, ...]:
    attributes = [a.SerializeToString(deterministic=True) for a in node.attribute]
    attributes.sort()
    return node.op_type, list(node.input), list(node.output), attributes


def _put(
    protos: Sequence[onnx.NodeProto],
    before: onnx.NodeProto,
    node: ir.Node,
    names: Iterator[str],
) -> None:
    """Puts nodes, which were made of `before`, in the place of the node that this stood for."""
    # Its inputs may have changed since.
    values: dict[str, ir.Value | None] = {"": None}
    values.update(zip(before.input, node.inputs, strict=True))
    nodes = []
    for proto in protos:
        new = ir.Node(
            "",
            proto.op_type,
            [values[name] for name in proto.input],
            [ir.from_proto(attribute) for attribute in proto.attribute],
            num_outputs=len(proto.output),
        )
        nodes.append(new)
        for name, value in zip(proto.output, new.outputs, strict=True):
            is_new = name and name not in before.output
            value.name = next(names) if is_new else ""
            values.setdefault(name, value)
    for name, theirs in zip(before.output, node.outputs, strict=True):
        ours = values[name]
        if ours is not None:
            onnx_graphs.take_over(ours, theirs)
    node.prepend(nodes)
    for new in nodes:
        # onnx-ir names nodes that have no name.
        new.name = ""
    last = nodes[-1]
    last.name = node.name
    last.doc_string = node.doc_string
    last.metadata_props.update(node.metadata_props)
    onnx_graphs.remove(node)


def _refuse(opset: int, owner: str, problem: str) -> NoReturn:
    given = f"{opset}, and onnx.version_converter {problem}"
    remedy = "Export the model with such an opset."
    checks.refuse(owner, "the model's opset", given, f"{OPSET} or newer", remedy)
