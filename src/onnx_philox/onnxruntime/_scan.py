"""Reads in a model's bytes what ONNX Runtime does not show the library: names, counts, f32 for f16.

The library checks all else while ONNX Runtime loads the model. Importing onnx and onnx-ir takes
longer than ONNX Runtime takes to open most models, so this module reads the protobuf messages
itself, and of them only the nodes of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from onnx_philox._contract import checks
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.operators import DOMAIN, OPERATORS, OUTPUT_TYPE, Operator
from onnx_philox._contract.types import F16, F32
from onnx_philox._files.wire import Buffer, Field, Message, fields, written

_DOMAIN = DOMAIN.encode()
_INSERTED_CAST = b"InsertedPrecisionFreeCast_"
"""How the names begin that ONNX Runtime gives to what lies between a node and a Cast for it."""
_SEARCHED = 2**14
"""A node of up to so many bytes is searched for a field before it is read."""

# The numbers of the fields in onnx.proto.
_GRAPH = 7
_OPSETS = 8
_FUNCTIONS = 25
_FUNCTION_OPSETS = 9
_OPSET_DOMAIN = 1
_OPSET_VERSION = 2
_NODES = 1
_INITIALIZERS = 5
_INFOS = (11, 13)
_INPUTS = 1
_OUTPUTS = 2
_OP_TYPE = 4
_ATTRIBUTES = 5
_NODE_DOMAIN = 7
_ATTRIBUTE_NAME = 1
_STRING = 4
_TENSOR = 5
_SUBGRAPH = 6
_INFO_NAME = 1
_INFO_TYPE = 2
_TENSOR_TYPE = 1
_ELEMENT_TYPE = 1
_DATA_TYPE = 2
_TENSOR_NAME = 8
# The fields as they stand in the bytes of a node.
_IS_OP_SEED = written((_ATTRIBUTE_NAME, b"op_seed"))
_IS_OF_DOMAIN = written((_NODE_DOMAIN, _DOMAIN))
_IS_CONSTANT = written((_OP_TYPE, b"Constant"))


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
    imports = [Message.within(model, field) for field in found[_OPSETS]]
    for field in found[_FUNCTIONS]:
        function = Message.within(model, field)
        imports += function.messages(_FUNCTION_OPSETS)
    ours = [each for each in imports if each.text(_OPSET_DOMAIN) == _DOMAIN]
    opsets = [each.integer(_OPSET_VERSION) for each in ours]
    (graph,) = found[_GRAPH]
    return Outline(opsets, graph, bool(found[_FUNCTIONS]))


class Graph:
    """A graph, with the names that its nodes see: its own, and those of the graph around it."""

    def __init__(self, model: Buffer, where: Field, outer: Graph | None = None) -> None:
        self._model = model
        self._fields = list(fields(model, where.value, where.end))
        self._outer = outer
        # What was read of attributes is shared by all graphs of a model.
        self._read: dict[tuple[bytes, ...], tuple[list[str], bool]] = {}
        if outer is not None:
            self._read = outer._read

    def has_empty_end(self) -> bool:
        """Whether a node of the domain, here or in a graph inside, ends with an input of no name.

        Raises:
            RefusalError: One has what its operator has not, or numbers of f32 for values of f16.
            ValueError: The bytes are no model.
        """
        found = False
        for node in self._with(_IS_OF_DOMAIN):
            if node.text(_NODE_DOMAIN) == _DOMAIN:
                op_type = node.text(_OP_TYPE).decode(errors="replace")
                op = OPERATORS.get(op_type)
                if op:
                    self._check(op, node)
                found |= node.texts(_INPUTS)[-1:] == [b""]
                continue
            for attribute in node.messages(_ATTRIBUTES):
                for graph in attribute.fields(_SUBGRAPH):
                    found |= Graph(self._model, graph, self).has_empty_end()
        return found

    def _check(self, op: Operator, node: Message) -> None:
        inputs = node.texts(_INPUTS)
        outputs = node.texts(_OUTPUTS)
        checks.check_counts(op, len(inputs), len(outputs))
        # Nodes differ in their stream alone.
        attributes = node.texts(_ATTRIBUTES)
        given = tuple(each for each in attributes if not each.startswith(_IS_OP_SEED))
        names, is_f16 = self._attributes(given)
        checks.check_attribute_names(op, names)
        if not is_f16 or _is_widened(outputs):
            return
        # ONNX Runtime may run the node in f32, and then the library cannot tell them apart.
        pairs = list(zip(op.inputs, inputs, strict=False))
        known = {declared.name: UNKNOWN for declared, name in pairs if name}
        for declared, name in pairs:
            if not declared.types and self._is_f32(name):
                inputs_of_f32 = {**known, declared.name: Known(F32)}
                checks.check_node(op, inputs_of_f32, {OUTPUT_TYPE: F16.name})

    def _attributes(self, given: tuple[bytes, ...]) -> tuple[list[str], bool]:
        """Their names, and whether values of f16 are asked for; many nodes have the same ones."""
        if given not in self._read:
            read = [Message(attribute, 0, len(attribute)) for attribute in given]
            texts = []
            for message in read:
                name = message.text(_ATTRIBUTE_NAME).decode(errors="replace")
                texts.append((name, message.text(_STRING)))
            names = [name for name, _ in texts]
            self._read[given] = names, (OUTPUT_TYPE, F16.name.encode()) in texts
        return self._read[given]

    def _is_f32(self, name: bytes) -> bool:
        """Whether the model says so of a value."""
        if name in self._f32:
            return True
        return self._outer is not None and self._outer._is_f32(name)

    @cached_property
    def _f32(self) -> set[bytes]:
        found = set()
        for field in self._fields:
            if field.number in (_INITIALIZERS, *_INFOS):
                value = Message.within(self._model, field)
                is_tensor = field.number == _INITIALIZERS
                type_ = value if is_tensor else value.message(_INFO_TYPE).message(_TENSOR_TYPE)
                if type_.integer(_DATA_TYPE if is_tensor else _ELEMENT_TYPE) == F32.onnx:
                    found.add(value.text(_TENSOR_NAME if is_tensor else _INFO_NAME))
        for node in self._with(_IS_CONSTANT):
            for attribute in node.messages(_ATTRIBUTES):
                if attribute.message(_TENSOR).integer(_DATA_TYPE) == F32.onnx:
                    found.add(node.text(_OUTPUTS))
        return found

    def _with(self, part: bytes) -> list[Message]:
        """The nodes that may have a field in them; the search passes by large ones' weights."""
        return [
            Message.within(self._model, field)
            for field in self._fields
            if field.number == _NODES
            and (
                field.end - field.value > _SEARCHED
                or self._model.find(part, field.value, field.end) != -1
            )
        ]


def _is_widened(outputs: list[bytes]) -> bool:
    """Whether ONNX Runtime turned a float16 node into a float32 one, and saved it so."""
    return any(name.startswith(_INSERTED_CAST) for name in outputs)
