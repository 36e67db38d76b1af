"""Infers the element types and shapes of values where the model does not declare them."""

from __future__ import annotations

import functools
import importlib.resources
import itertools
import json
from collections.abc import Iterator

import onnx_ir as ir
from onnx.defs import OpSchema
from onnx_ir.passes.common import ShapeInferencePass

from onnx_philox._models.constants import constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, onnx_opset_of, opset_of
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import schema_of
from onnx_philox._rewriting.in_onnx.random_nodes.tensorflow_random_nodes import (
    declared_type,
    is_shuffle,
)

# From this version on Reshape takes the shape as an input.
_RESHAPE_BY_INPUT = 5

_KEEPS_A_DIMENSION = {
    "Abs",
    "Add",
    "And",
    "Cast",
    "Ceil",
    "Clip",
    "Cos",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Less",
    "Log",
    "LogSoftmax",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "PRelu",
    "RandomNormalLike",
    "RandomUniformLike",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
    "Where",
}
"""Operators whose output has a dimension if one of their inputs has."""

Rules = dict[str, dict[str, list[list[int]]]]
Inferred = dict[ir.Value, tuple[ir.DataType | None, ir.Shape | None]]


class Types:
    """The type and the shape of each value of a model; leaves the model itself as it is."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._known: dict[ir.Value, ir.DataType] = {}
        # Whether values are known to have a dimension, by what the model declares alone.
        self._has_dimension: dict[ir.Value, bool] = {}

    def __call__(self, value: ir.Value) -> ir.DataType | None:
        """The declared type, else the inferred one, else None."""
        kept = self._kept(value)
        if kept:
            return kept
        dtype, _ = self._inferred.get(value, (None, None))
        return dtype

    def _kept(self, value: ir.Value) -> ir.DataType | None:
        """The declared type that operators carry on to a value, which takes no inference."""
        way = [value]
        while not way[-1].dtype and way[-1] not in self._known:
            before = _of_the_same_type(way[-1], self._model)
            if before is None:
                return None
            way.append(before)
        last = way[-1]
        dtype = last.dtype or self._known[last]
        self._known.update(dict.fromkeys(way, dtype))
        return dtype

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The declared shape, else the inferred one, else None."""
        if value.shape is not None:
            return value.shape
        _, shape = self._inferred.get(value, (None, None))
        return shape

    def dimensions(self, value: ir.Value) -> tuple[int | str | None, ...] | None:
        """The dimensions of the shape: numbers, names, or None for those that have neither."""
        shape = self.shape(value)
        if shape is None:
            return None
        return tuple(d if isinstance(d, int) else d.value for d in shape)

    def is_scalar(self, value: ir.Value) -> bool:
        """Whether a value surely has no dimension.

        The model is inferred only where what it declares does not say that there is one.
        """
        array = constant(value)
        if array is not None:
            return array.ndim == 0
        if self._surely_has_dimension(value):
            return False
        return self.dimensions(value) == ()

    def _surely_has_dimension(self, value: ir.Value) -> bool:
        """Whether operators that keep a dimension lead to a value from one that has some."""
        before: dict[ir.Value, ir.Value | None] = {value: None}
        waiting: list[ir.Value | None] = [value]
        while waiting:
            each = waiting.pop()
            if each is None:
                continue
            if self._declares_dimension(each):
                while each is not None:
                    self._has_dimension[each] = True
                    each = before[each]
                return True
            node = each.producer()
            if node is None or each.shape is not None or each in self._has_dimension:
                continue
            if node.domain in STANDARD_DOMAINS and node.op_type in _KEEPS_A_DIMENSION:
                given = [value for value in node.inputs if value is not None]
                new = [value for value in given if value not in before]
                before.update(dict.fromkeys(new, each))
                waiting += new
        self._has_dimension.update(dict.fromkeys(before, False))
        return False

    def _declares_dimension(self, value: ir.Value) -> bool:
        """Whether the model says of a value, or of all matrices in a product, that it has one."""
        if self._has_dimension.get(value, False) or value.shape:
            return True
        node = value.producer()
        if node is None or node.op_type != "MatMul":
            return False
        if node.domain not in STANDARD_DOMAINS:
            return False
        given = [each for each in node.inputs if each is not None]
        return any(len(each.shape or ()) > 1 for each in given)

    @functools.cached_property
    def _inferred(self) -> Inferred:
        cloned = clone_of(self._model)
        if cloned is None:
            return {}
        clone, values = cloned
        _hide_maps(clone)
        stand_ins = _stand_in(clone)
        infer = ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)
        infer(clone)
        return {
            ours: (stand_ins.get(theirs, theirs).dtype, theirs.shape)
            for ours, theirs in values.items()
        }


def _of_the_same_type(value: ir.Value, model: ir.Model) -> ir.Value | None:
    """The first input of the node that gives a value, if ONNX says that both have one type."""
    node = value.producer()
    if node is None or not node.inputs or node.domain not in STANDARD_DOMAINS:
        return None
    version = onnx_opset_of(model.opset_imports)
    schema = schema_of(node, version)
    place = value.index() or 0
    if schema is None or not _has_type_of_first_input(schema, place):
        return None
    return node.inputs[0]


@functools.cache
def _has_type_of_first_input(schema: OpSchema, place: int) -> bool:
    """Whether an operator declares so of the output at a place: to ask its schema takes long."""
    if not schema.inputs or not schema.outputs:
        return False
    given = schema.inputs[0]
    # The last one declared stands for all after it.
    output = schema.outputs[: 1 + place][-1]
    if given.type_str != output.type_str:
        return False
    # Each state of a Scan has its own type, under one name.
    return bool(given.is_homogeneous and output.is_homogeneous)


def clone_of(model: ir.Model) -> tuple[ir.Model, dict[ir.Value, ir.Value]] | None:
    """A clone to infer in, and what each value is there; None for a model that has no clone.

    The clone shares the tensors, and ONNX's inference sees none of the large ones.
    """
    try:
        clone = model.clone()
    except Exception:
        # A node reads a value whose source onnx-ir does not know, such as a sparse initializer. Its
        # error shows the graph, and is another one where a tensor cannot be shown.
        return None
    return clone, {
        ours: theirs
        for graph, copy in zip(model.graphs(), clone.graphs(), strict=True)
        for ours, theirs in zip(_values(graph), _values(copy), strict=True)
    }


def _values(graph: ir.Graph) -> itertools.chain[ir.Value]:
    outputs = (value for node in graph for value in node.outputs)
    return itertools.chain(graph.inputs, outputs)


def _hide_maps(model: ir.Model) -> None:
    """Keeps ONNX's inference from maps, which onnx-ir cannot read: one operator makes them."""
    for node in model.graph.all_nodes():
        if node.domain == "ai.onnx.ml" and node.op_type == "ZipMap":
            node.op_type = "OfMaps"


def _stand_in(model: ir.Model) -> dict[ir.Value, ir.Value]:
    """Replaces outputs whose type ONNX does not know by values whose type it does.

    ONNX's inference stops at ONNX Runtime's own operators. Most of their outputs have the type of
    an input, and so does a Reshape of that input to an unknown shape. TensorFlow's operators
    declare their types.
    """
    if onnx_opset_of(model.opset_imports) < _RESHAPE_BY_INPUT:
        return {}
    shape = ir.val("onnx_philox.any_shape", dtype=ir.DataType.INT64)
    stand_ins = {}
    for graph in list(model.graphs()):
        for node in list(graph):
            dtype = declared_type(node)
            if dtype is not None and node.outputs[0].type is None:
                node.outputs[0].type = ir.TensorType(dtype)
            for output, given in list(_inputs_of_the_same_type(node, model)):
                reshape = ir.node("Reshape", [given, shape])
                (known,) = reshape.outputs
                known.name = f"onnx_philox.type_of.{output.name}"
                node.append(reshape)
                output.replace_all_uses_with(known, replace_graph_outputs=True)
                stand_ins[output] = known
    if stand_ins:
        model.graph.inputs.append(shape)
    return stand_ins


def _inputs_of_the_same_type(node: ir.Node, model: ir.Model) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The outputs of a node that ONNX does not know, each with an input of the same type."""
    opset = opset_of(model.opset_imports, node.domain)
    if schema_of(node, opset):
        return
    of_domain = rules().get(node.domain, {})
    of_node = of_domain.get(node.op_type, [])
    if is_shuffle(node):
        of_node = [[0]]
    for output, indices in zip(node.outputs, of_node, strict=False):
        inputs = [node.inputs[i] for i in indices if i < len(node.inputs)]
        given = next((value for value in inputs if value is not None), None)
        if given is not None and output.dtype is None:
            yield output, given


@functools.cache
def rules() -> Rules:
    """The inputs whose type each output has, by domain and operator of ONNX Runtime's own."""
    file = importlib.resources.files(__package__).joinpath("onnxruntime_types.json")
    read: Rules = json.loads(file.read_text())
    return read
