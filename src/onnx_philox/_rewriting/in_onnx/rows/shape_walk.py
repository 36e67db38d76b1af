"""A walk through a model that finds the shape of each value.

Node by node: ONNX's own inference says what a node makes of its inputs' types, and `dimensions.py`
follows the integers that shapes are computed from, further than ONNX does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx
import onnx_ir as ir
from onnx import shape_inference

from onnx_philox._models import onnx_graphs
from onnx_philox._models.constants import constant, small_constant, tensor_in
from onnx_philox._rewriting.in_onnx.random_nodes import foreign, tensorflow_random_nodes
from onnx_philox._rewriting.in_onnx.rows.dimensions import MOST_NUMBERS, Arithmetic, Numbers, whole
from onnx_philox._rewriting.in_onnx.rows.shapes_of_outputs import ShapeRules, common
from onnx_philox._rewriting.places import Dimension, Dimensions, Products

# What ONNX's inference raises of a node that is wrong.
_WRONG = (ValueError, RuntimeError, shape_inference.InferenceError, onnx.checker.ValidationError)

_WHOLE = {
    ir.DataType.BOOL,
    ir.DataType.INT8,
    ir.DataType.INT16,
    ir.DataType.INT32,
    ir.DataType.INT64,
    ir.DataType.UINT8,
    ir.DataType.UINT16,
    ir.DataType.UINT32,
    ir.DataType.UINT64,
}

# ONNX does not infer the shapes of these.
_LIKE_THEIR_INPUT = ("GroupNormalization", "MeanVarianceNormalization")


@dataclass(frozen=True)
class CarriedValue:
    """A value that a Loop carries from iteration to iteration."""

    initial: ir.Value
    given: ir.Value
    """What the body is given in each iteration."""
    returned: ir.Value
    """What it returns for the next one."""


Assumed = Mapping[ir.Value, Dimensions]


class Walk:
    """One walk through a model, with assumed shapes of what bodies of Loops are given."""

    def __init__(
        self,
        model: ir.Model,
        inputs: Mapping[ir.Value, Dimensions],
        products: Products,
        assumed: Assumed,
    ) -> None:
        self._model = model
        self._inputs = inputs
        self._products = products
        self._assumed = assumed
        self._imports: Mapping[str, int] = model.opset_imports
        self._attributes: Mapping[str, ir.Attr] = {}
        # The calls of functions around the node, from the main graph inwards.
        self._calls: tuple[ir.Node, ...] = ()
        # A function's values are others in each call.
        self._of_calls: dict[tuple[ir.Node, ...], dict[ir.Value, onnx.TypeProto]] = {}
        self._types = self._of_calls.setdefault((), {})
        # What has been read of these types, since it is asked for often.
        self._read_in_calls: dict[tuple[ir.Node, ...], dict[ir.Value, Dimensions | None]] = {}
        self._read = self._read_in_calls.setdefault((), {})
        self._numbers = Arithmetic(products, self.dimensions, self._is_whole)
        self._rules = ShapeRules(products, self._numbers, self.dimensions)
        self.carried: list[CarriedValue] = []
        self._graph(model.graph)

    @property
    def numbers(self) -> Arithmetic:
        """The integers that values are."""
        return self._numbers

    def enter(self, calls: tuple[ir.Node, ...]) -> None:
        """Goes to the function that is called by the last of some calls; to the graph by none."""
        self._calls = calls
        self._types = self._of_calls.setdefault(calls, {})
        self._read = self._read_in_calls.setdefault(calls, {})
        self._numbers.enter(calls)

    def dimensions(self, value: ir.Value | None) -> Dimensions | None:
        """The shape of a value, as far as it is known."""
        if value is None:
            return None
        if value not in self._read:
            self._read[value] = self._dimensions_of(self._type(value))
        return self._read[value]

    def _type(self, value: ir.Value) -> onnx.TypeProto:
        if value not in self._types:
            self._declare(value)
        return self._types[value]

    def _declare(
        self,
        value: ir.Value,
        inferred: onnx.TypeProto | None = None,
    ) -> None:
        """Notes what the model declares of a value, and what is inferred of it."""
        self._read.pop(value, None)
        dtype, dims = value.dtype or ir.DataType.UNDEFINED, self._declared(value)
        if inferred is not None:
            if inferred.WhichOneof("value") not in (None, "tensor_type"):
                self._types[value] = inferred
                return
            dtype = ir.DataType(inferred.tensor_type.elem_type) or dtype
            dims = _merged(dims, self._dimensions_of(inferred))
        if dims is not None:
            places = ((*self._calls, value, axis) for axis in range(len(dims)))
            named = zip(dims, places, strict=True)
            dims = tuple(self._products.at(place) if d is None else d for d, place in named)
        self._types[value] = _type_of(dtype, dims)

    def _declared(self, value: ir.Value) -> Dimensions | None:
        if value in self._inputs:
            return self._inputs[value]
        if value.shape is None:
            return None
        dims = (d if isinstance(d, int) else d.value for d in value.shape)
        return tuple(d if isinstance(d, int) or d in self._products.names else None for d in dims)

    def _dimensions_of(self, type: onnx.TypeProto) -> Dimensions | None:
        if not type.tensor_type.HasField("shape"):
            return None
        return tuple(
            d.dim_value
            if d.HasField("dim_value")
            else d.dim_param
            if d.dim_param in self._products
            else None
            for d in type.tensor_type.shape.dim
        )

    def _graph(self, graph: ir.Graph) -> None:
        for node in graph:
            self._node(node)

    def _node(self, node: ir.Node) -> None:
        rules = {"If": self._if, "Loop": self._loop, "Scan": self._scan}
        if node.op_identifier() in self._model.functions:
            self._call(node, self._model.functions[node.op_identifier()])
        elif node.domain in onnx_graphs.STANDARD_DOMAINS and node.op_type in rules:
            rules[node.op_type](node)
        else:
            for _, graph in onnx_graphs.subgraphs(node):
                self._graph(graph)
            self._plain(node)

    def _plain(self, node: ir.Node) -> None:
        inferred, is_known = self._inferred(node), not _has_references(node)
        if is_known and node.outputs and (dims := self._rules.of(node)) is not None:
            first = node.outputs[0]
            type = inferred.get(first.name or "", onnx.TypeProto())
            declared = (
                first.dtype or tensorflow_random_nodes.declared_type(node) or ir.DataType.FLOAT
            )
            dtype = ir.DataType(type.tensor_type.elem_type) or declared
            dims = _merged(dims, self._dimensions_of(type))
            inferred[first.name or ""] = _type_of(dtype, dims)
        for output in node.outputs:
            self._declare(output, inferred.get(output.name or ""))
        if is_known:
            self._numbers.follow(node)

    def _is_whole(self, value: ir.Value) -> bool:
        return self._element_type(value) in _WHOLE

    def _element_type(self, value: ir.Value) -> ir.DataType:
        return ir.DataType(self._type(value).tensor_type.elem_type)

    def _inferred(self, node: ir.Node) -> dict[str, onnx.TypeProto]:
        """What ONNX infers of a node's outputs, by their names."""
        is_constant = node.op_type == "Constant" and node.domain in onnx_graphs.STANDARD_DOMAINS
        if is_constant and not _has_references(node):
            return _of_constant(node)
        schema = foreign.schema_of(node, onnx_graphs.opset_of(self._imports, node.domain))
        is_like = schema is not None and node.op_type in _LIKE_THEIR_INPUT
        if (is_like or tensorflow_random_nodes.is_shuffle(node)) and node.inputs and node.inputs[0]:
            return {node.outputs[0].name or "": self._type(node.inputs[0])}
        if schema is None or any(True for _ in onnx_graphs.subgraphs(node)):
            return {}
        values = {value.name or "": value for value in node.inputs if value is not None}
        types = {name: self._type(value) for name, value in values.items()}
        data = {name: t for name, value in values.items() if (t := self._data(value)) is not None}
        imports = [
            onnx.helper.make_operatorsetid(domain, number)
            for domain, number in self._imports.items()
        ]
        try:
            proto = self._serialised(node)
            return shape_inference.infer_node_outputs(
                schema,
                proto,
                types,
                data,
                opset_imports=imports,
            )
        except _WRONG:
            # The node is wrong, or too little is known of its inputs.
            return {}

    def _serialised(self, node: ir.Node) -> onnx.NodeProto:
        """A node as a message, with the attributes of the call in a function."""
        proto = ir.serde.serialize_node(node)
        for attribute in [a for a in proto.attribute if a.ref_attr_name]:
            given = self._attributes.get(attribute.ref_attr_name)
            name = attribute.name
            proto.attribute.remove(attribute)
            if given is not None:
                proto.attribute.append(ir.serde.serialize_attribute(given))
                proto.attribute[-1].name = name
        return proto

    def _data(self, value: ir.Value) -> onnx.TensorProto | None:
        """A small tensor that is the same in every run."""
        array = small_constant(value, MOST_NUMBERS)
        if array is None:
            numbers, dtype = whole(self._numbers.of(value)), self._element_type(value)
            if numbers is None or not dtype:
                return None
            array = numbers.astype(dtype.numpy())
        if array.dtype.kind not in "iubf":
            return None
        return onnx.numpy_helper.from_array(array, value.name)

    def _call(self, node: ir.Node, function: ir.Function) -> None:
        """Walks through a function of the model, as it is called here."""
        if node in self._calls:
            return
        imports, attributes, calls = self._imports, self._attributes, self._calls
        given = [None if v is None else (self._type(v), self._numbers.of(v)) for v in node.inputs]
        self.enter((*calls, node))
        self._imports = function.opset_imports
        self._attributes = onnx_graphs.attributes_of_call(node, function, attributes)
        for known, inner in zip(given, function.inputs, strict=False):
            if known is not None:
                self._hand_over(*known, inner)
        self._graph(function.graph)
        made = [(self._type(value), self._numbers.of(value)) for value in function.outputs]
        self.enter(calls)
        self._imports, self._attributes = imports, attributes
        for known, output in zip(made, node.outputs, strict=False):
            self._hand_over(*known, output)

    def _hand_over(self, type: onnx.TypeProto, numbers: Numbers | None, target: ir.Value) -> None:
        """Says what a value is, that is another one."""
        self._declare(target, type)
        self._numbers.give(target, numbers)

    def _if(self, node: ir.Node) -> None:
        branches = [branch for _, branch in onnx_graphs.subgraphs(node)]
        for branch in branches:
            self._graph(branch)
        ends = (branch.outputs for branch in branches)
        for output, *values in zip(node.outputs, *ends, strict=False):
            first, *others = (self._type(value) for value in values)
            if first.WhichOneof("value") == "tensor_type":
                dims = self._dimensions_of(first)
                if dims is not None:
                    dims = common(dims, *map(self._dimensions_of, others))
                first = _type_of(ir.DataType(first.tensor_type.elem_type), dims)
            self._declare(output, first)

    def _loop(self, node: ir.Node) -> None:
        ((_, body),) = onnx_graphs.subgraphs(node)
        # The body is given the iteration and the condition first, and returns the condition first.
        for value, dtype in zip(body.inputs, (ir.DataType.INT64, ir.DataType.BOOL), strict=False):
            self._declare(value, _type_of(dtype, ()))
        parts = zip(node.inputs[2:], body.inputs[2:], body.outputs[1:], node.outputs, strict=False)
        carried = list(parts)
        for initial, given, returned, _ in carried:
            if initial is not None:
                self._give(given, initial, self._assumed.get(given))
                self.carried.append(CarriedValue(initial, given, returned))
        self._graph(body)
        for initial, given, _, final in carried:
            if initial is not None:
                self._give(final, initial, self._assumed.get(given))
        for returned, stacked in zip(
            body.outputs[1 + len(carried) :],
            node.outputs[len(carried) :],
            strict=False,
        ):
            dims = self.dimensions(returned)
            known = None if dims is None else (None, *dims)
            self._declare(stacked, _type_of(self._element_type(returned), known))

    def _give(self, value: ir.Value, initial: ir.Value, dims: Dimensions | None) -> None:
        """What goes round in a Loop: of the type of what goes in, of the shape that is assumed."""
        type = self._type(initial)
        if type.WhichOneof("value") == "tensor_type":
            type = _type_of(self._element_type(initial), dims)
        self._declare(value, type)

    def _scan(self, node: ir.Node) -> None:
        ((_, body),) = onnx_graphs.subgraphs(node)
        count = node.attributes["num_scan_inputs"].as_int()
        states = len(node.inputs) - count
        for initial, given in zip(node.inputs[:states], body.inputs, strict=False):
            if initial is not None:
                self._declare(given, self._type(initial))
        axes = node.attributes.get_ints("scan_input_axes", [0] * count)
        length: Dimension = None
        for outer, inner, at in zip(node.inputs[states:], body.inputs[states:], axes, strict=False):
            if outer is None:
                continue
            dims = self.dimensions(outer)
            if dims is not None:
                axis = range(len(dims))[at]
                length = dims[axis] if length is None else length
                dims = dims[:axis] + dims[axis + 1 :]
            self._declare(inner, _type_of(self._element_type(outer), dims))
        self._graph(body)
        for inner, outer in zip(body.outputs[:states], node.outputs, strict=False):
            # A state keeps its shape.
            self._declare(outer, self._type(inner))
        stacked = list(zip(body.outputs[states:], node.outputs[states:], strict=False))
        axes = node.attributes.get_ints("scan_output_axes", [0] * len(stacked))
        for (inner, outer), at in zip(stacked, axes, strict=False):
            dims = self.dimensions(inner)
            if dims is not None:
                axis = range(len(dims) + 1)[at]
                dims = (*dims[:axis], length, *dims[axis:])
            self._declare(outer, _type_of(self._element_type(inner), dims))


def _has_references(node: ir.Node) -> bool:
    """Whether attributes of a call say what those of a node are."""
    return any(attribute.is_ref() for attribute in node.attributes.values())


def _of_constant(node: ir.Node) -> dict[str, onnx.TypeProto]:
    """The type of a Constant, whose numbers may still be in the file."""
    attribute = node.attributes.get("value")
    if attribute is None:
        array = constant(node.outputs[0])
        if array is None:
            return {}
        type = _type_of(ir.DataType.from_numpy(array.dtype), array.shape)
    else:
        tensor = tensor_in(attribute)
        type = _type_of(tensor.dtype, tuple(tensor.shape.numpy()))
    return {node.outputs[0].name or "": type}


def _type_of(dtype: ir.DataType, dims: Dimensions | None) -> onnx.TypeProto:
    type = onnx.TypeProto()
    type.tensor_type.elem_type = dtype.value
    if dims is not None:
        type.tensor_type.shape.SetInParent()
        for d in dims:
            dimension = type.tensor_type.shape.dim.add()
            if isinstance(d, int):
                dimension.dim_value = d
            elif d is not None:
                dimension.dim_param = d
    return type


def _merged(declared: Dimensions | None, inferred: Dimensions | None) -> Dimensions | None:
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        return declared
    return tuple(e if d is None else d for d, e in zip(declared, inferred, strict=True))
