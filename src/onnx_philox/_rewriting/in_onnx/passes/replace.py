"""The pass that replaces the random nodes by those of this package."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.generators import PHILOX, TORCH, Generator
from onnx_philox._contract.operators import DOMAIN, OPSET_VERSION, Operator
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._models.opsets import onnx_opset_of
from onnx_philox._models.surgery import remove, take_over
from onnx_philox._rewriting.in_onnx.passes.same_shape import SameShape
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import STATELESS
from onnx_philox._rewriting.in_onnx.replacements.as_torch import as_torch, composed, narrowed
from onnx_philox._rewriting.in_onnx.replacements.outcome import Carried
from onnx_philox._rewriting.in_onnx.rows.batch import Batch


class Replace:
    """Replaces nodes; names, types and whoever reads the outputs stay as they are."""

    def __init__(
        self,
        names: Names,
        global_seed: int,
        batch: Batch | None = None,
        generator: Generator = PHILOX,
    ) -> None:
        self._generator = generator
        self._batch = batch
        self._names = names
        self._global_seed = global_seed
        self._constants: dict[tuple[Hashable, ...], ir.Value] = {}
        self._same_shape = SameShape()

    def all(self, model: ir.Model, nodes: Sequence[Carried]) -> None:
        """Replaces all nodes of a model."""
        for carried in nodes:
            emitter = Emitter(self._names, onnx_opset_of(model.opset_imports), carried.prefix)
            self._replace(model, carried, emitter)
        model.opset_imports[DOMAIN] = OPSET_VERSION

    def _replace(self, model: ir.Model, carried: Carried, emitter: Emitter) -> None:
        random = carried.random
        old, last = random.site.node, random.last

        def draw(
            op: Operator,
            dtype: ir.DataType,
            inputs: dict[str, ir.Value],
            attributes: dict[str, int | str],
        ) -> ir.Value:
            own = random.seeds or (self._global_seed, carried.stream)
            seeds: Mapping[str, Any] = dict(zip(("global_seed", "op_seed"), own, strict=True))
            if not self._generator.is_counter_based:
                seeds = {}
            asked = dtype
            if self._generator is TORCH:
                drawn = as_torch(random, emitter, op, dtype, inputs, attributes)
                inputs, attributes, dtype = drawn.inputs, drawn.attributes, drawn.dtype
            attributes = {**attributes, **self._generator.attributes}
            state = self._checked(old, carried.state, emitter, op, inputs)
            ordered = [{**inputs, "state": state}.get(declared.name) for declared in op.inputs]
            values = emitter.emit(
                op.name, "values", ordered, dtype, None, {**attributes, **seeds}, DOMAIN
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
            return narrowed(emitter, values, asked)

        new = random.replacement.emit(old, emitter, draw)
        if self._generator is TORCH:
            new = composed(random, emitter, new)
        assert last.graph is not None
        last.prepend([node for node in emitter.nodes if not self._is_shared(node, last.graph)])
        for ours, theirs in zip(new, last.outputs, strict=False):
            take_over(ours, theirs)
        seeded = model if old.op_type.startswith(STATELESS) else None
        for gone in (*reversed(random.absorbed), old):
            remove(gone, seeded)

    def _is_shared(self, node: ir.Node, graph: ir.Graph) -> bool:
        """Whether a node has a place of its own, once for all that read it: see `_shares_shape`.

        A constant comes first in the graph.

        No other graph reads it: OpenVINO takes no f32 into an If or Loop in f16. And no draw shares
        it with other nodes, for which OpenVINO may round it.
        """
        if node.op_type == "Shape":
            return self._shares_shape(node, graph)
        if node.op_type != "Constant":
            return False
        (value,) = node.outputs
        array = constant(value)
        assert array is not None
        is_drawn_by = frozenset(use.node.domain == DOMAIN for use in value.uses())
        key = (graph, is_drawn_by, array.dtype, array.shape, array.tobytes())
        first = self._constants.setdefault(key, value)
        if first is value:
            graph[0].prepend(node)
        else:
            value.replace_all_uses_with(first)
        return True

    def _shares_shape(self, node: ir.Node, graph: ir.Graph) -> bool:
        """Puts the shape of a tensor behind the first one that surely has it, once in a graph."""
        (given,), (shape,) = node.inputs, node.outputs
        assert given is not None, "a tensor has the shape"
        source = self._same_shape.source(given) if given.graph is graph else given
        producer = source.producer()
        if producer is not None and producer.graph is None:
            return False
        first = self._constants.setdefault(("Shape", graph, source), shape)
        if first is not shape:
            shape.replace_all_uses_with(first)
            return True
        node.replace_input_with(0, source)
        if producer is None or producer.graph is not graph:
            graph[0].prepend(node)
        else:
            producer.append(node)
        return True

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
