"""Proves from a model's bytes that ONNX Runtime may load it as it is, without importing onnx.

Importing onnx and onnx-ir takes longer than ONNX Runtime takes to open most models. So this module
reads the protobuf messages itself, and of them only what the nodes of the domain depend on. Without
a proof, onnx-ir reads the model again (`_surgery`): what is wrong gets its sentence there, and what
must change is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.known import UNKNOWN, Known
from onnx_philox._contract.operators import DOMAIN, MAX_RANK, OPERATORS
from onnx_philox._contract.types import BY_ONNX, F32, F64, I32, I64, U32
from onnx_philox._files.wire import Buffer, Field, Message, fields, written

INSERTED_CAST = "InsertedPrecisionFreeCast_"
"""How the names begin that ONNX Runtime gives to what lies between a node and a Cast for it."""

_DOMAIN, _CAST = DOMAIN.encode(), INSERTED_CAST.encode()
_SEARCHED = 2**14
"""A node of up to so many bytes is searched for a field before it is read."""

# The numbers of the fields in onnx.proto, and of the types of attributes.
_GRAPH, _OPSETS, _FUNCTIONS, _FUNCTION_OPSETS = 7, 8, 25, 9
_OPSET_DOMAIN, _OPSET_VERSION = 1, 2
_NODES, _INITIALIZERS, _INPUTS, _OUTPUTS, _INFOS = 1, 5, 11, 12, 13
_NODE_INPUTS, _NODE_OUTPUTS, _OP_TYPE, _ATTRIBUTES, _NODE_DOMAIN = 1, 2, 4, 5, 7
_ATTRIBUTE_NAME, _INT, _STRING, _TENSOR, _SUBGRAPHS, _INTS, _TYPE = 1, 3, 4, 5, (6, 11), 8, 20
_TYPE_IS_INT, _TYPE_IS_STRING = 2, 3
_INFO_NAME, _INFO_TYPE, _TENSOR_TYPE = 1, 2, 1
_ELEMENT_TYPE, _SHAPE, _DIMENSIONS, _DIM_VALUE = 1, 2, 1, 1
_DIMS, _DATA_TYPE, _TENSOR_NAME, _RAW, _EXTERNAL = 1, 2, 8, 9, (13, 14)
# The fields as they stand in the bytes of a node.
_IS_OF_DOMAIN, _IS_CONSTANT = written((_NODE_DOMAIN, _DOMAIN)), written((_OP_TYPE, b"Constant"))
_PACKED_FLOATS = {F32: 4, F64: 10}
_PACKED_INTEGERS = {I32: 5, I64: 7, U32: 11}


class UnprovedError(Exception):
    """Something that only onnx-ir's reader can judge."""


@dataclass(frozen=True)
class Outline:
    """What a model says of the domain before its graph is read."""

    opsets: list[int]
    """The versions of the domain that the model and its functions import."""
    graph: Field
    has_functions: bool


def outline(model: Buffer) -> Outline:
    """Reads whether a model uses the domain.

    Raises:
        ValueError: The bytes are no ONNX model.
    """
    found: dict[int, list[Field]] = {_GRAPH: [], _OPSETS: [], _FUNCTIONS: []}
    for field in fields(model, 0, len(model)):
        if field.number in found:
            found[field.number].append(field)
    if len(found[_GRAPH]) != 1:
        raise ValueError("not one graph")
    functions = [Message.within(model, field) for field in found[_FUNCTIONS]]
    imports = [Message.within(model, field) for field in found[_OPSETS]]
    imports += [opset for function in functions for opset in function.messages(_FUNCTION_OPSETS)]
    opsets = [i.integer(_OPSET_VERSION) for i in imports if i.text(_OPSET_DOMAIN) == _DOMAIN]
    return Outline(opsets, found[_GRAPH][0], bool(functions))


def holds(model: Buffer, outlined: Outline) -> bool:
    """Whether every node of the domain keeps the rules, and the model needs no change."""
    try:
        return not outlined.has_functions and _Scope(model, outlined.graph).check()
    except (UnprovedError, TypeError, ValueError, OverflowError, RecursionError):
        return False


class _Kept:
    """What has been read and checked already: many nodes of a model are alike."""

    def __init__(self) -> None:
        self.attributes: dict[bytes, tuple[str, Any]] = {}
        self.types: dict[bytes, Known] = {}
        self.nodes: dict[tuple[Any, ...], tuple[Known | None, ...]] = {}
        """Their inputs, by these objects and all else but the stream."""


class _Scope:
    """A graph, with the names that its nodes see: its own, and those of the graph around it."""

    def __init__(self, model: Buffer, graph: Field, outer: _Scope | None = None) -> None:
        self._model = model
        self._outer = outer
        self._kept: _Kept = _Kept() if outer is None else outer._kept
        self._seen: dict[bytes, Known] = {}
        kinds = (_NODES, _INITIALIZERS, _INPUTS, _OUTPUTS, _INFOS)
        self._found: dict[int, list[Field]] = {kind: [] for kind in kinds}
        for field in fields(model, graph.value, graph.end):
            if field.number in self._found:
                self._found[field.number].append(field)

    def check(self) -> bool:
        """Checks the nodes of the domain, here and in the graphs inside; returns True.

        Raises:
            UnprovedError: Only onnx-ir's reader can judge one.
            TypeError: One breaks a rule.
            ValueError: Likewise, or the bytes are no model.
        """
        for node in self._with(_IS_OF_DOMAIN):
            if node.text(_NODE_DOMAIN) == _DOMAIN:
                self._check(node)
                continue
            for attribute in node.messages(_ATTRIBUTES):
                for graph in (f for kind in _SUBGRAPHS for f in attribute.fields(kind)):
                    _Scope(self._model, graph, self).check()
        return True

    def _check(self, node: Message) -> None:
        op = OPERATORS.get(node.text(_OP_TYPE).decode(errors="replace"))
        inputs, outputs = node.texts(_NODE_INPUTS), node.texts(_NODE_OUTPUTS)
        if op is None or inputs[-1:] == [b""]:
            raise UnprovedError
        if any(name.startswith(_CAST) for name in outputs):
            # ONNX Runtime has widened it; the library checks such nodes.
            return
        known = tuple(self._known(name) if name else None for name in inputs)
        given = dict(map(self._attribute, node.texts(_ATTRIBUTES)))
        # Models have many nodes that differ in their stream alone.
        alike = {**checks.check_attributes(op, given), "op_seed": bool(given.get("op_seed"))}
        key = (op.name, *map(id, known), len(outputs), *alike.values())
        if key in self._kept.nodes:
            return
        checks.check_counts(op, len(inputs), len(outputs))
        names = (declared.name for declared in op.inputs)
        checks.check_node(op, dict(zip(names, known, strict=False)), given)
        self._kept.nodes[key] = known

    def _attribute(self, attribute: bytes) -> tuple[str, Any]:
        kept = self._kept.attributes
        if attribute not in kept:
            kept[attribute] = _attribute(Message(attribute, 0, len(attribute)))
        return kept[attribute]

    def _known(self, name: bytes) -> Known:
        """What the model says of a value, one object for each name."""
        if name not in self._seen:
            self._seen[name] = self._read(name)
        return self._seen[name]

    def _read(self, name: bytes) -> Known:
        info = self._inputs.get(name)
        # The default of a graph's input is no constant: a run may override it.
        if info is None and name in self._constants:
            return Known.array(self._constants[name]())
        info = info or self._infos.get(name)
        if info is not None:
            kept = self._kept.types
            type_ = Message.within(self._model, info).text(_INFO_TYPE)
            if type_ not in kept:
                kept[type_] = _declared(Message(type_, 0, len(type_)))
            return kept[type_]
        return UNKNOWN if self._outer is None else self._outer._known(name)

    @cached_property
    def _constants(self) -> dict[bytes, Callable[[], NDArray[Any]]]:
        """What reads the initializers, and the values of the nodes Constant."""
        found: dict[bytes, Callable[[], NDArray[Any]]] = {}
        for node in self._with(_IS_CONSTANT):
            if node.text(_OP_TYPE) == b"Constant" and not node.text(_NODE_DOMAIN):
                found[node.text(_NODE_OUTPUTS)] = partial(_constant, node)
        for field in self._found[_INITIALIZERS]:
            tensor = Message.within(self._model, field)
            found[tensor.text(_TENSOR_NAME)] = partial(_array, tensor)
        return found

    @cached_property
    def _inputs(self) -> dict[bytes, Field]:
        return self._by_name(_INPUTS)

    @cached_property
    def _infos(self) -> dict[bytes, Field]:
        return self._by_name(_OUTPUTS) | self._by_name(_INFOS)

    def _by_name(self, kind: int) -> dict[bytes, Field]:
        """Where declarations of values are. Their names come first, or they are read whole."""
        model, found = self._model, {}
        for info in self._found[kind]:
            first = next(fields(model, info.value, info.end), None)
            if first is not None and first.number == _INFO_NAME:
                found[model[first.value : first.end]] = info
            else:
                found[Message.within(model, info).text(_INFO_NAME)] = info
        return found

    def _with(self, part: bytes) -> list[Message]:
        """The nodes that may have a field in them; the search passes by large ones' weights."""
        return [
            Message.within(self._model, field)
            for field in self._found[_NODES]
            if field.end - field.value > _SEARCHED
            or self._model.find(part, field.value, field.end) >= 0
        ]


def _attribute(attribute: Message) -> tuple[str, Any]:
    name, type_ = attribute.text(_ATTRIBUTE_NAME).decode(), attribute.integer(_TYPE)
    if type_ not in (_TYPE_IS_INT, _TYPE_IS_STRING):
        raise UnprovedError
    is_int = type_ == _TYPE_IS_INT
    return name, attribute.integer(_INT) if is_int else attribute.text(_STRING)


def _declared(type_: Message) -> Known:
    """What the declared type of a value says."""
    tensor = type_.message(_TENSOR_TYPE)
    element = BY_ONNX.get(tensor.integer(_ELEMENT_TYPE))
    if element is None:
        raise UnprovedError
    if _SHAPE not in tensor:
        return Known(element)
    dimensions = tensor.message(_SHAPE).messages(_DIMENSIONS)
    return Known(
        element, tuple(d.integer(_DIM_VALUE) if _DIM_VALUE in d else None for d in dimensions)
    )


def _constant(node: Message) -> NDArray[Any]:
    """The value of a node Constant."""
    (attribute,) = node.messages(_ATTRIBUTES)
    match attribute.text(_ATTRIBUTE_NAME):
        case b"value":
            return _array(attribute.message(_TENSOR))
        case b"value_int":
            return np.array(attribute.integer(_INT), np.int64)
        case b"value_ints":
            return np.array(attribute.integers(_INTS), np.int64)
    raise UnprovedError


def _array(tensor: Message) -> NDArray[Any]:
    """The content of a tensor."""
    values = BY_ONNX.get(tensor.integer(_DATA_TYPE))
    dims = tensor.integers(_DIMS)
    if values is None or len(dims) > MAX_RANK or any(kind in tensor for kind in _EXTERNAL):
        raise UnprovedError
    if _RAW in tensor:
        return np.frombuffer(tensor.text(_RAW), values.dtype).reshape(dims)
    if values in _PACKED_INTEGERS:
        integers = tensor.integers(_PACKED_INTEGERS[values])
        return np.array(integers, values.dtype).reshape(dims)
    if values in _PACKED_FLOATS:
        floats = b"".join(tensor.texts(_PACKED_FLOATS[values]))
        return np.frombuffer(floats, values.dtype).reshape(dims)
    raise UnprovedError
