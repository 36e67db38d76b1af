"""The batch of a model of ONNX, and which random nodes draw rows of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._contract.streams import STATE
from onnx_philox._models.onnx_graphs import input_of, onnx_opset_for
from onnx_philox._rewriting.asked import OWNER, Asked
from onnx_philox._rewriting.batches import choose, find_beside, has_name
from onnx_philox._rewriting.in_onnx.earlier import OnnxDraws, names_of_batch
from onnx_philox._rewriting.in_onnx.passes.draw_inputs import asked_shape
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import MultinomialReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.rows.batch import OLDEST_OPSET, Batch
from onnx_philox._rewriting.in_onnx.rows.drawn import DrawnRows
from onnx_philox._rewriting.in_onnx.rows.row_walk import RowWalk
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes
from onnx_philox._rewriting.not_rows import (
    ONE_STATE,
    of_count,
    of_operator,
    of_shape,
    out_of_order,
    unproved,
)
from onnx_philox._rewriting.places import Dimensions, Place
from onnx_philox._rewriting.recorded import Recorded

# Where torch's exporter notes the modules around a node, each with its path, and the node itself.
_SCOPES = "pkg.torch.onnx.name_scopes"
_REMEDY = "Export the model with a batch that is dynamic (dynamic_shapes of torch.onnx.export)"


class BatchRows:
    """The batch of a model, and whether random nodes draw its rows.

    A state with rows that an earlier rewrite left says what the batch is.

    Raises:
        ValueError: The model has no batch, or not the one that is asked for, or an opset that is
            too old.
    """

    def __init__(
        self,
        model: ir.Model,
        nodes: Sequence[Replaceable],
        recorded: Recorded[ir.Value],
        asked: Asked,
    ) -> None:
        opset = onnx_opset_for(model)
        if opset < OLDEST_OPSET:
            allowed = f"{OLDEST_OPSET} or newer for a state for each row"
            remedy = f"Export the model again at a newer opset, or {ONE_STATE}."
            checks.refuse(OWNER, "the model's opset", opset, allowed, remedy)
        self._shapes = SymbolicShapes(model)
        inputs = {
            value.name or "": value
            for value in model.graph.inputs
            if value.name != STATE and value.name not in model.graph.initializers
        }
        shapes = {name: self._shapes.of(value) for name, value in inputs.items()}
        said = asked.batch
        if recorded.has_rows:
            streams = OnnxDraws(model).streams
            if streams is not None and streams.batch in shapes:
                said = names_of_batch(model, streams)[0]
        # One generator walks through all nodes: what one draws moves those behind it.
        self._is_walk = not asked.generator.is_counter_based
        name, input, axis, rivals = choose(
            shapes,
            said,
            lambda batch: [self._sized(node, batch) for node in nodes],
            _REMEDY,
        )
        values = {value.name or "": value for value in model.graph.inputs}

        def is_named(input: str, axis: int) -> bool:
            shape = values[input].shape
            dimension = None if shape is None else shape[axis]
            return isinstance(dimension, ir.SymbolicDim) and has_name(dimension.value)

        given = {name: self._shapes.of(value) for name, value in values.items()}
        beside = find_beside(given, name, axis, is_named)
        if beside.same:
            self._shapes = SymbolicShapes(model, dict.fromkeys(beside.same, name))
            rivals = [other for other in rivals if other not in beside.names]
        named = asked.named or frozenset()
        drawings = {
            each.site.node: DrawnRows.of(
                each.site.node,
                self._shapes.of(each.site.node.outputs[0]),
                is_said=not each.names.isdisjoint(named),
            )
            for each in nodes
        }
        walk = partial(RowWalk, model, self._shapes, name, drawings)
        self._walk = walk(beside.unclear)

        def matter(apart: Iterable[tuple[str, str]]) -> bool:
            """Whether the proof needs that inputs have no batch, as their names say."""
            others = [input for input, _ in apart]
            unnamed = [each for each in nodes if each.names.isdisjoint(named)]
            return bool(others) and self._differs(walk([*beside.unclear, *others]), unnamed)

        # What is drawn beside the batch is another dimension.
        drawn = [each.shape for each in drawings.values() if each.shape and name in each.shape]
        apart = [each for each in beside.apart if all(each[1] not in shape for shape in drawn)]
        if matter(apart):
            apart = [each for each in apart if matter([each])]
        else:
            apart = []
        self.batch = Batch(inputs[input], name, axis, rivals, replace(beside, apart=apart))

    def _differs(self, other: RowWalk, nodes: Sequence[Replaceable]) -> bool:
        """Whether something else is known of draws where other inputs may have the batch."""
        own = self._walk
        for site in (each.site for each in nodes):
            if other.places[site.node] != own.places[site.node]:
                return True
            if (site.node in other.culprits) != (site.node in own.culprits):
                return True
            if any(other.of_how_often(each) != own.of_how_often(each) for each in site.owners):
                return True
        return False

    def _sized(self, random: Replaceable, batch: str) -> list[Place]:
        """Where a dimension of this name stands in what a node draws, by its size alone."""
        shape = self._shapes.of(random.site.node.outputs[0]) or ()
        products = self._shapes.products
        return [
            Place(axis, len(shape), dimension != batch)
            for axis, dimension in enumerate(shape)
            for _ in range(products.count(dimension, batch))
        ]

    def obstacle(self, random: Replaceable, *, is_named: bool = False) -> RefusalError | None:
        """See `order.Rows`."""
        site = random.site
        node = site.node
        title = f"{site.title}{_in_module(node)}"
        shape = self._shapes.of(node.outputs[0])
        batch = self.batch.where
        if isinstance(random.replacement, MultinomialReplacement) and random.replacement.is_one_row:
            what = f"the shape of input {input_of(node, 0).name!r}"
            given = "one dimension, whose draws are one row"
            allowed = f"[rows, classes] with rows that are {batch}, for a state for each row"
            remedy = f"Give it a row for each of the batch, or {ONE_STATE}."
            return ValueRefusalError(title, what, given, allowed, remedy)
        places = self._walk.places[node]
        if shape is not None and not places and self._is_never_batch(shape):
            return of_shape(title, shape, batch, self.batch.rivals)
        operator = random.replacement.operator
        error = of_operator(title, operator, shape, places, batch, self.batch.rivals)
        if error:
            return error
        for index, owner in enumerate(site.owners):
            loop = next((o for o in site.owners[:index] if o.node.op_type != "If"), None)
            if (loop is not None or self._is_walk) and self._walk.of_how_often(owner):
                return of_count(title, owner.label, loop.label if loop else "")
            if self._walk.goes_along_batch(owner.node):
                return of_count(title, owner.label, "")
        culprit = self._walk.culprits.get(node)
        if not places:
            return unproved(title, site.called, shape, batch, culprit, asked_shape(node))
        if culprit is not None and not is_named:
            return out_of_order(title, site.called, culprit, batch, shape, places[0])
        (self.batch.places[node],) = places
        return None

    def _is_never_batch(self, shape: Dimensions) -> bool:
        """Whether a draw has no dimension that may be the batch."""
        has_it = any(self._shapes.has(d, self.batch.name) for d in shape)
        return not shape or has_it or isinstance(shape[0], int)


def _in_module(node: ir.Node) -> str:
    """The module of torch's that a node is from, where its exporter has noted it.

    The name of the node says nothing of it where torch draws inside a module, as in an LSTM.
    """
    *_, module, _ = ["", "", *re.findall("'([^']*)'", node.metadata_props.get(_SCOPES, ""))]
    return f" in the module {module!r}" if module else ""
