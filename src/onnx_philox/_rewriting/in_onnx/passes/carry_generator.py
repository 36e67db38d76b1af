"""The pass that takes one generator through every random node, in the order of the file.

Each node's next state is the next node's state, and that of the last one the model's. An If gives
the next state of whichever branch it takes; a Loop or Scan carries it from iteration to iteration.
As in `carry_state`, it crosses the borders of subgraphs as int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.generators import Generator
from onnx_philox._contract.streams import STATE
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._models.onnx_graphs import Owner, onnx_opset_of, subgraphs
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.carry_state import Border, new_constant
from onnx_philox._rewriting.in_onnx.replacements import outcome
from onnx_philox._rewriting.in_onnx.rows.batch import Batch
from onnx_philox._rewriting.recorded import NEXT_STATE

_INT64 = ir.DataType.INT64
_UINT32 = ir.DataType.UINT32


class OneGenerator:
    """What a rewrite asks of a generator that goes through all nodes of a model.

    It draws in each node what Philox would; a generator with rules of its own overrides them.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def pass_by(self, node: ir.Node) -> None:
        """Looks at a node that is not random."""

    def found(self, _random: Any, _types: Types, *, shares: bool) -> outcome.Outcome | None:  # noqa: ARG002
        """What becomes of a random node that may share its key; None for the house's own way."""
        return None

    def carry(
        self,
        model: ir.Model,
        nodes: Sequence[outcome.Replaceable],
        names: Names,
        seed: int | None,
        batch: Batch | None = None,
    ) -> list[outcome.Carried]:
        """Makes the state of the model, and takes it through the nodes; returns them with theirs.

        Without a seed the state is an input, and the last node's next state is an output. With a
        batch it is a generator for each row. Each node leaves an Identity, which stands for its
        next state until the node is replaced: see `close`.
        """
        shape = ir.Shape([self._generator.words])
        if batch is not None:
            shape = batch.state_shape
        way = _Way(model, nodes, names, shape)
        if seed is not None:
            words = self._generator.of_seed(OWNER, seed)
            state = new_constant(model, names, words)
        else:
            state = ir.val(STATE, dtype=_UINT32, shape=shape)
            model.graph.inputs.append(state)
        first = state
        if batch is not None:
            first = way.checked(state, batch)
        last = way.through(model.graph, first)
        if seed is None:
            emitter = way.emitter()
            after = emitter.emit("Identity", "next", [last], _UINT32, shape)
            after.name = NEXT_STATE
            model.graph.extend(emitter.nodes)
            model.graph.outputs.append(after)
        return way.carried

    def draw(
        self,
        _random: outcome.Replaceable,
        _emitter: Emitter,
        _op: Any,
        *drawn: Any,
    ) -> Any:
        """The type, the inputs and the attributes of the node that draws, of those of Philox's."""
        return drawn

    def narrowed(self, emitter: Emitter, drawn: ir.Value, dtype: ir.DataType) -> ir.Value:
        """What was drawn in another type than the one that was asked for, in that one."""
        return emitter.cast("narrow", drawn, dtype)

    def composed(self, _random: outcome.Replaceable, _emitter: Emitter, outputs: Any) -> Any:
        """The outputs of what takes the place of a node."""
        return outputs

    def close(self, carried: Sequence[outcome.Carried]) -> None:
        """Removes what stood for the next states."""
        for link in (node.next_state_cast for node in carried):
            assert link is not None, "there is one behind each draw"
            (drawn,) = link.inputs
            assert drawn is not None, "the node is replaced"
            assert link.graph is not None, "it is closed once"
            link.outputs[0].replace_all_uses_with(drawn)
            link.graph.remove(link, safe=True)


class _Way:
    """The way of the generator through a model."""

    def __init__(
        self,
        model: ir.Model,
        nodes: Sequence[outcome.Replaceable],
        names: Names,
        shape: ir.Shape,
    ) -> None:
        self._shape = shape
        self._model = model
        self._names = names
        self._nodes = {random.site.node: random for random in nodes}
        self._owners: set[ir.Node] = set()
        for random in nodes:
            self._owners.update(owner.node for owner in random.site.owners)
        self.carried: list[outcome.Carried] = []

    def emitter(self, prefix: str = "") -> Emitter:
        """What makes nodes here."""
        opset = onnx_opset_of(self._model.opset_imports)
        return Emitter(self._names, opset, prefix)

    def checked(self, state: ir.Value, batch: Batch) -> ir.Value:
        """The state, once it has as many rows as the batch."""
        emitter = self.emitter()
        words = emitter.cast("words", state, _INT64)
        words = batch.check_all(emitter, words)
        begin = emitter.cast("begin", words, _UINT32)
        self._model.graph[0].prepend(emitter.nodes)
        return begin

    def through(self, graph: ir.Graph, state: ir.Value) -> ir.Value:
        """The state after all nodes of a graph, and of the graphs in them, have drawn."""
        for node in list(graph):
            if node in self._nodes:
                state = self._draw(self._nodes[node], state)
            elif node in self._owners:
                state = self._enter(node, state)
        return state

    def _draw(self, random: outcome.Replaceable, state: ir.Value) -> ir.Value:
        emitter = self.emitter(random.prefix)
        after = emitter.emit("Identity", "after", [state], _UINT32, self._shape)
        (link,) = emitter.nodes
        random.last.append(link)
        self.carried.append(outcome.Carried(random, state, link))
        return after

    def _enter(self, node: ir.Node, state: ir.Value) -> ir.Value:
        """The state after a node with subgraphs, on whose outside the state is."""
        emitter = self.emitter("generator.")
        outer = emitter.cast("in", state, _INT64)
        node.prepend(emitter.nodes)
        border = Border(self.emitter("generator."), self._shape)
        if node.op_type == "If":
            for _, branch in subgraphs(node):
                branch.outputs.append(self._inside(branch, outer))
            after = border.branch_out(node)
        else:
            ((name, body),) = subgraphs(node)
            owner = Owner(node, name, body)
            within = border.carry_in(owner, outer)
            last = self._inside(body, within)
            after = border.carry_out(owner, last)
        emitter = self.emitter("generator.")
        drawn = emitter.cast("out", after, _UINT32)
        node.append(emitter.nodes)
        return drawn

    def _inside(self, graph: ir.Graph, state: ir.Value) -> ir.Value:
        """The state after a subgraph, as int64 inside of it."""
        emitter = self.emitter("generator.")
        draws = any(node in self._nodes or node in self._owners for node in graph)
        if draws:
            taken = emitter.cast("inside", state, _UINT32)
            graph[0].prepend(emitter.nodes)
            last = self.through(graph, taken)
            emitter = self.emitter("generator.")
            after = emitter.cast("leaving", last, _INT64)
        else:
            after = emitter.emit("Identity", "unused", [state], _INT64, self._shape)
        graph.extend(emitter.nodes)
        return after
