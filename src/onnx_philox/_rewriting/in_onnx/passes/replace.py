"""The pass that replaces the random nodes by those of this package."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.operators import DOMAIN, OPERATORS, OPSET_VERSION, Operator
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._models.constants import constant, small_constant
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, onnx_opset_of, remove, take_over
from onnx_philox._rewriting.in_onnx.random_nodes.bernoulli_nodes import inlined_comparison
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import STATELESS
from onnx_philox._rewriting.in_onnx.replacements.outcome import Carried
from onnx_philox._rewriting.in_onnx.replacements.tensorflow_replacements import (
    TruncatedNormalReplacement,
)
from onnx_philox._rewriting.in_onnx.rows.batch import Batch
from onnx_philox._rewriting.in_onnx.rows.stand import stand_first
from onnx_philox._rewriting.places import Place

OF_EACH_ELEMENT = {
    "Abs",
    "Cast",
    "Ceil",
    "Clip",
    "Cos",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "Neg",
    "Not",
    "RandomNormalLike",
    "RandomUniformLike",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Sqrt",
    "Tanh",
}
"""The operators whose first output has an element for each of their first input."""
OF_TWO_ELEMENTS = {"Add", "Div", "Mul", "Pow", "Sub"}
"""Those of two inputs, one of which is broadcast to the other."""
_LIKE_THEIR_INPUT = OF_EACH_ELEMENT | {"Bernoulli", "LogSoftmax", "Mish", "Softmax"}
# How far back one search goes. A longer way only ends earlier: what is found there has the shape.
_MOST_STEPS = 50


class SameShape:
    """For each value, the first one before it that surely has its shape, whatever is declared.

    So many draws of one shape read one Shape node. It stays a node: a model may get another batch.
    """

    def __init__(self) -> None:
        self._found: dict[ir.Value, ir.Value] = {}

    def source(self, value: ir.Value, steps: int = _MOST_STEPS) -> ir.Value:
        """The value of the same shape that it comes from; the value itself where there is none."""
        if value not in self._found:
            before = None
            if steps:
                before = self._before(value, steps - 1)
            # A subgraph may have another value of an outer one's name.
            if before is None or before.graph is not value.graph:
                before = value
            self._found[value] = before
        return self._found[value]

    def _before(self, value: ir.Value, steps: int) -> ir.Value | None:
        node = value.producer()
        if node is None or value is not node.outputs[0]:
            return None
        given = node.inputs[0] if node.inputs else None
        if node.domain == DOMAIN:
            given = _sized_by(node)
        elif node.domain not in STANDARD_DOMAINS:
            return None
        elif node.op_type in OF_TWO_ELEMENTS:
            return self._of_both(node, steps)
        elif node.op_type not in _LIKE_THEIR_INPUT:
            return None
        if given is None:
            return None
        return self.source(given, steps)

    def _of_both(self, node: ir.Node, steps: int) -> ir.Value | None:
        """The one source of all inputs but constants of rank 0."""
        inputs = [value for value in node.inputs if value is not None]
        inputs = [value for value in inputs if not _is_scalar(value)]
        sources = {self.source(value, steps) for value in inputs}
        if len(sources) != 1:
            return None
        return sources.pop()


def _sized_by(node: ir.Node) -> ir.Value | None:
    """The tensor of which a node of this package draws the shape; None where it is not known."""
    operator = OPERATORS.get(node.op_type)
    if operator is None:
        return None
    index = operator.inputs.index(operator.size_input)
    size = node.inputs[index]
    if not operator.has_shape:
        if operator.size_input.role is not Role.DATA:
            return None
        return size
    if size is None:
        return None
    shape = size.producer()
    if shape is None or shape.op_type != "Shape":
        return None
    if shape.domain not in STANDARD_DOMAINS:
        return None
    if shape.attributes:
        return None
    return shape.inputs[0]


def _is_scalar(value: ir.Value) -> bool:
    """Whether a value is a constant of rank 0."""
    array = small_constant(value, 1)
    return array is not None and array.ndim == 0


def _invert(node: ir.Node, emitter: Emitter) -> None:
    """Gives the complement of a node's booleans to all that read them."""
    booleans = node.outputs[0]
    complement = emitter.emit("Not", "complement", [booleans], ir.DataType.BOOL)
    take_over(complement, booleans)
    emitter.declare(booleans, "inverted", ir.DataType.BOOL, complement.shape)
    for made in emitter.nodes:
        made.replace_input_with(0, booleans)
    node.append(emitter.nodes)


class Shared:
    """The constants, and the shapes of tensors, that stand once in a graph for all that read them.

    No other graph reads a constant: OpenVINO takes no f32 into an If or Loop in f16. And no draw
    shares it with other nodes, for which OpenVINO may round it.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[Hashable, ...], ir.Value] = {}
        self._same_shape = SameShape()

    def take(self, node: ir.Node, graph: ir.Graph) -> bool:
        """Gives a new node its place in a graph, or lets its readers read an earlier one.

        A constant comes first in the graph.

        Returns:
            Whether it is such a node; else its place is where all others are.
        """
        if node.op_type == "Shape":
            return self._take_shape(node, graph)
        if node.op_type != "Constant":
            return False
        (value,) = node.outputs
        array = constant(value)
        assert array is not None
        readers = frozenset(use.node.domain == DOMAIN for use in value.uses())
        first = self._first.setdefault(_constant_key(graph, readers, array), value)
        if first is value:
            graph[0].prepend(node)
        else:
            value.replace_all_uses_with(first)
        return True

    def constant_of_draws(self, graph: ir.Graph, array: NDArray[Any]) -> ir.Value | None:
        """The constant that draws of a graph read already; None where there is none."""
        return self._first.get(_constant_key(graph, _DRAWS_ALONE, array))

    def shape_of(self, graph: ir.Graph, given: ir.Value) -> ir.Value | None:
        """The shape of a tensor, or of one of its shape, where a graph has it already."""
        return self._first.get(("Shape", graph, self._source(graph, given)))

    def _source(self, graph: ir.Graph, given: ir.Value) -> ir.Value:
        """The first tensor of a graph that surely has the shape of one."""
        if given.graph is not graph:
            return given
        return self._same_shape.source(given)

    def _take_shape(self, node: ir.Node, graph: ir.Graph) -> bool:
        """Puts the shape of a tensor behind the first one that surely has it, once in a graph."""
        (given,) = node.inputs
        (shape,) = node.outputs
        assert given is not None, "a tensor has the shape"
        source = self._source(graph, given)
        producer = source.producer()
        if producer is not None and producer.graph is None:
            return False
        first = self._first.setdefault(("Shape", graph, source), shape)
        if first is not shape:
            shape.replace_all_uses_with(first)
            return True
        node.replace_input_with(0, source)
        if producer is None or producer.graph is not graph:
            graph[0].prepend(node)
        else:
            producer.append(node)
        return True


_DRAWS_ALONE = frozenset({True})
"""The readers of a constant that is no other node's: whether each is one of this package."""


def _constant_key(
    graph: ir.Graph,
    readers: frozenset[bool],
    array: NDArray[Any],
) -> tuple[Hashable, ...]:
    return graph, readers, array.dtype, array.shape, array.tobytes()


class SharingEmitter(Emitter):
    """Makes the nodes of one draw in a graph, but those that the graph has already.

    The names of these are taken all the same, so that no name depends on what is shared.
    """

    def __init__(
        self,
        names: Names,
        opset: int,
        prefix: str,
        shared: Shared,
        graph: ir.Graph,
    ) -> None:
        super().__init__(names, opset, prefix)
        self._shared = shared
        self._graph = graph

    def constant_of_draw(self, what: str, array: NDArray[Any]) -> ir.Value:
        first = self._shared.constant_of_draws(self._graph, array)
        if first is None:
            return super().constant_of_draw(what, array)
        self.new_name(what)
        return first

    def shape(self, value: ir.Value) -> ir.Value:
        first = self._shared.shape_of(self._graph, value)
        if first is None:
            return super().shape(value)
        self.new_name("shape")
        return first


class Replace:
    """Replaces nodes; names, types and whoever reads the outputs stay as they are."""

    def __init__(
        self,
        names: Names,
        global_seed: int,
        batch: Batch | None,
        generator: Generator,
    ) -> None:
        self._generator = generator
        self._own = generator.rewriting()
        self._batch = batch
        self._names = names
        self._global_seed = global_seed
        self._shared = Shared()

    def all(self, model: ir.Model, nodes: Sequence[Carried]) -> None:
        """Replaces all nodes of a model."""
        opset = onnx_opset_of(model.opset_imports)
        for carried in nodes:
            graph = carried.random.last.graph
            assert graph is not None
            prefix = carried.random.prefix
            emitter = SharingEmitter(self._names, opset, prefix, self._shared, graph)
            self._replace(model, graph, carried, emitter)
        model.opset_imports[DOMAIN] = OPSET_VERSION

    def _replace(
        self,
        model: ir.Model,
        graph: ir.Graph,
        carried: Carried,
        emitter: Emitter,
    ) -> None:
        random = carried.random
        old = random.site.node
        last = random.last

        def draw(
            op: Operator,
            dtype: ir.DataType,
            inputs: dict[str, ir.Value],
            attributes: dict[str, int | str],
        ) -> ir.Value:
            own = random.seeds or (self._global_seed, random.stream)
            global_seed, op_seed = own
            seeds: Mapping[str, Any] = {"global_seed": global_seed, "op_seed": op_seed}
            asked = dtype
            if self._own is not None:
                seeds = {}
                drawn = self._own.draw(random, emitter, op, dtype, inputs, attributes)
                dtype, inputs, attributes = drawn
            attributes = {**attributes, **self._generator.attributes}
            state = self._checked(old, carried.state, emitter, op, inputs)
            by_name = {**inputs, "state": state}
            ordered = [by_name.get(declared.name) for declared in op.inputs]
            values = emitter.emit(
                op.name,
                "values",
                ordered,
                dtype,
                None,
                {**attributes, **seeds},
                DOMAIN,
            )
            node = values.producer()
            assert node is not None
            if old.name:
                node.name = old.name
            node.doc_string = old.doc_string
            node.metadata_props.update(old.metadata_props)
            node.metadata_props.pop(AWAITS_STATE, None)
            if carried.next_state_cast is not None:
                node.resize_outputs(len(op.outputs))
                drawn_state = node.outputs[-1]
                emitter.declare(drawn_state, "drawn_state", ir.DataType.UINT32, state.shape)
                carried.next_state_cast.replace_input_with(0, drawn_state)
            if dtype is not asked:
                values = self._own.narrowed(emitter, values, asked)
            return values

        comparison = inlined_comparison(old)
        new = random.replacement.emit(old, emitter, draw)
        if self._own is not None:
            new = self._own.composed(random, emitter, new)
        place = Place()
        if self._batch is not None:
            place = self._batch.places.get(old, place)
        if not place.is_first:
            (drawing,) = (node for node in emitter.nodes if node.domain == DOMAIN)
            if isinstance(random.replacement, TruncatedNormalReplacement):
                # Its candidates are one more dimension, the last.
                place = replace(place, rank=place.rank + 1)
            new = stand_first(emitter, drawing, place, new)
        for node in emitter.nodes:
            if not all(value.name for value in node.outputs):
                # A mask that nothing reads: onnx-ir would give it a name of a graph around.
                first = node.outputs[0]
                emitter.mask_of(first, first.shape)
        own = [node for node in emitter.nodes if not self._shared.take(node, graph)]
        last.prepend(own)
        for ours, theirs in zip(new, last.outputs, strict=False):
            take_over(ours, theirs)
        seeded = model if old.op_type.startswith(STATELESS) else None
        for gone in (*reversed(random.absorbed), old):
            remove(gone, seeded)
        if random.share is not None and random.share.is_inverted:
            drawn = next(node for node in emitter.nodes if node.domain == DOMAIN)
            inverted = drawn if comparison is None else comparison
            _invert(inverted, emitter.again())

    def _checked(
        self,
        old: ir.Node,
        state: ir.Value,
        emitter: Emitter,
        op: Operator,
        inputs: dict[str, ir.Value],
    ) -> ir.Value:
        """The state, checked against the shape of a draw that is not proved to be of the batch."""
        if self._batch is None or old not in self._batch.unproved:
            return state
        given = inputs[op.size_input.name]
        shape = given if op.has_shape else emitter.shape(given)
        what = f"must_draw_one_row_for_each_row_of_{self._batch.input.name}"
        words = emitter.cast("words", state, ir.DataType.INT64)
        checked = self._batch.check(emitter, what, words, shape)
        return emitter.cast("checked_state", checked, ir.DataType.UINT32)
