"""Which of TensorFlow's stateless nodes have one key, and in which loops it changes.

A stateless operator is a function of its key, so nodes of one key draw equal numbers. The values of
a model get names in the order of its nodes: values of one name are surely equal, wherever they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.constants import small_constant
from onnx_philox._models.inlining import with_callers
from onnx_philox._models.onnx_graphs import KEY_MAKERS, STANDARD_DOMAINS, opset_of, subgraphs, walk
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import schema_of
from onnx_philox._rewriting.in_onnx.random_nodes.tensorflow_random_nodes import key_of

# A larger constant is named by itself.
_MOST_ELEMENTS = 64
_GIVE_EQUAL: tuple[str, ...] = ("Identity",)
# What gives the numbers that it is given, in their order; a Cast only where none of them changes.
_GIVE_THEIR_NUMBERS = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")

Bodies = frozenset[ir.Graph]

_ITERATION = "iteration"
"""The name of what counts the iterations of a loop, where it is the same in all loops."""


@dataclass(frozen=True)
class _Row:
    """The name of a row that a loop takes of a value, where it is the same in all loops."""

    of: Hashable


@dataclass(frozen=True)
class _Constant:
    """The name of a constant: its type of ONNX, since NumPy has one for several, such as INT4's."""

    type: ir.DataType
    shape: tuple[int, ...]
    elements: Hashable


@dataclass(frozen=True)
class _Computation:
    """What gives equal values wherever it stands."""

    domain: str
    operator: str
    attributes: tuple[tuple[str, Hashable], ...]
    inputs: tuple[Hashable, ...]
    output: int


class Keys:
    """Names the keys of stateless nodes.

    Args:
        model: The model.
        drawing: Its random nodes, of which only the stateless ones give equal values for equal
            inputs.
        types: The types of its values.
        across_loops: Whether what a loop is given anew in each iteration, its number or a row of
            something, is the same in all loops.
    """

    def __init__(
        self,
        model: ir.Model,
        drawing: Iterable[ir.Node],
        types: Types,
        *,
        across_loops: bool = False,
    ) -> None:
        self._types = types
        self._across_loops = across_loops
        # And those of which nobody knows what they do: a clock, a queue, a counter of calls.
        with_no_key = {node for node in drawing if key_of(node) is None}
        self._others = with_no_key | _unknown(model)
        self._names: dict[ir.Value, Hashable] = {}
        # Each operation on inputs of other names has a number, so that names stay short.
        self._operations: dict[Hashable, int] = {}
        # The bodies of the loops whose iterations change a value.
        self._changes: dict[ir.Value, Bodies] = {}
        # What a loop carries round unchanged, and the same outside of it.
        self._outside: dict[ir.Value, ir.Value] = {}
        for node, owners in walk(model.graph):
            loops = (owner.graph for owner in owners if owner.node.op_type != "If")
            self._read(node, frozenset(loops))

    def of(self, node: ir.Node) -> tuple[Hashable, Bodies] | None:
        """The name of a node's key, and the loops that change it; None for a node without a key."""
        key = key_of(node)
        if key is None:
            return None
        numbers = _GIVE_THEIR_NUMBERS
        name = tuple(self._name(each, numbers) for each in key)
        return name, self._changed(key)

    def _read(self, node: ir.Node, around: Bodies) -> None:
        """Names the outputs of a node, and says which loops change them."""
        inner = [each for _, graph in subgraphs(node) for each in graph.all_nodes()]
        nodes = [node, *inner]
        read = [value for each in nodes for value in each.inputs]
        changes = self._changed(read)
        if not self._others.isdisjoint(nodes):
            # Each iteration of any loop around may give others.
            changes |= around
        for index, output in enumerate(node.outputs):
            self._changes[output] = changes
            if node not in self._others and not inner:
                self._names[output] = self._operation(node, index)
        if node.op_type != "If":
            for _, body in subgraphs(node):
                self._enter(node, body, changes)

    def _enter(self, node: ir.Node, body: ir.Graph, changes: Bodies) -> None:
        """Reads what a body is given; what goes round unchanged is what it is outside."""
        self._changes |= dict.fromkeys(body.inputs, changes | {body})
        carried_inputs = 0
        carried_outputs = 0
        counters: Sequence[ir.Value] = ()
        if node.op_type == "Loop":
            # Before what it carries, a Loop takes its trip count and its condition, its body takes
            # the number of the iteration and the condition, and gives back the condition.
            carried_inputs = 2
            carried_outputs = 1
            counters = body.inputs[:1]
        scanned = node.attributes.get_int("num_scan_inputs", 0)
        rows_from = len(node.inputs) - scanned
        if self._across_loops:
            self._names |= dict.fromkeys(counters, _ITERATION)
            rows = zip(node.inputs[rows_from:], body.inputs[rows_from:], strict=False)
            for outer, inner in rows:
                name = self._name(outer, _GIVE_EQUAL)
                self._names[inner] = _Row(name)
        carried = zip(
            node.inputs[carried_inputs:],
            body.inputs[carried_inputs:],
            body.outputs[carried_outputs:rows_from],
            strict=False,
        )
        for outer, inner, after in carried:
            if outer is not None and self._root(after, _GIVE_EQUAL) is inner:
                self._outside[inner] = outer
                self._changes[inner] = self._changed([outer])

    def _changed(self, values: Iterable[ir.Value | None]) -> Bodies:
        bodies: set[ir.Graph] = set()
        for value in values:
            if value is not None:
                bodies |= self._changes.get(value) or set()
        return Bodies(bodies)

    def _operation(self, node: ir.Node, index: int) -> int:
        """The number of the operation that gives an output: equal ones have one number."""
        operator = node.op_type
        passed = _GIVE_EQUAL
        if operator in KEY_MAKERS:
            # They read numbers; one of them gives the algorithm too.
            operator = operator.replace("KeyCounterAlg", "KeyCounter")
            passed = _GIVE_THEIR_NUMBERS
        # A type is none, and two nodes of another type have other inputs.
        attributes = []
        for name, attribute in node.attributes.items():
            if isinstance(attribute.value, Hashable):
                attributes.append((name, attribute.value))
        attributes.sort()
        inputs = tuple(self._name(value, passed) for value in node.inputs)
        what = _Computation(node.domain, operator, tuple(attributes), inputs, index)
        next_number = len(self._operations)
        return self._operations.setdefault(what, next_number)

    def _name(self, value: ir.Value | None, passed: tuple[str, ...]) -> Hashable:
        """What only equal values have: in all, or in their numbers, whatever else operators do."""
        if value is None:
            return None
        root = self._root(value, passed)
        array = small_constant(root, _MOST_ELEMENTS)
        if array is None:
            return self._names.get(root, root)
        if passed is _GIVE_THEIR_NUMBERS:
            return tuple(array.ravel().tolist())
        return _name_of_array(array)

    def _root(self, value: ir.Value, passed: tuple[str, ...]) -> ir.Value:
        """The first value before it from which only such operators lead to it."""
        while True:
            value = self._outside.get(value, value)
            node = value.producer()
            if node is None or node.op_type not in passed:
                return value
            if node.domain not in STANDARD_DOMAINS:
                return value
            given = node.inputs[0]
            if given is None:
                return value
            if node.op_type == "Cast" and self._narrows(node, given):
                return value
            value = given

    def _narrows(self, cast: ir.Node, given: ir.Value) -> bool:
        """Whether a Cast may change numbers."""
        old = self._types(given)
        new = ir.DataType(cast.attributes.get_int("to", 0))
        if old is None or not (old.is_integer() and new.is_integer()):
            return old is not new
        return old.itemsize > new.itemsize


def _name_of_array(array: NDArray[Any]) -> Hashable:
    """What only equal constants have."""
    type_ = ir.DataType.from_numpy(array.dtype)
    if type_ is ir.DataType.STRING:
        # Its bytes would be addresses.
        texts = tuple(array.ravel().tolist())
        return _Constant(type_, array.shape, texts)
    return _Constant(type_, array.shape, array.tobytes())


def _unknown(model: ir.Model) -> set[ir.Node]:
    """The nodes that are no operator of ONNX and have no key; also calls of functions of such."""
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    unknown: dict[ir.Node, ir.Graph | ir.Function] = {}
    for held in holders:
        for node in held.all_nodes():
            if node.op_identifier() in model.functions or node.op_type in KEY_MAKERS:
                continue
            opset = opset_of(held.opset_imports, node.domain)
            if not key_of(node) and not schema_of(node, opset):
                unknown[node] = held
    holding = {held.identifier() for held in unknown.values() if isinstance(held, ir.Function)}
    calls = with_callers(model, holding)
    found = set()
    for node in model.graph.all_nodes():
        if node in unknown or node.op_identifier() in calls:
            found.add(node)
    return found
