"""The batch of a model of ONNX, and which random nodes draw rows of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._contract.streams import STATE
from onnx_philox._models.graphs import input_of, onnx_opset_for
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.in_onnx.replacements.of_onnx import MultinomialReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.rows.batch import OLDEST_OPSET, Batch
from onnx_philox._rewriting.in_onnx.rows.depends import BatchDependence
from onnx_philox._rewriting.in_onnx.rows.dimensions import Dimension
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes
from onnx_philox._rewriting.not_rows import (
    ONE_STATE,
    of_operator,
    of_shape,
    unproved,
    without_batch,
    written,
)
from onnx_philox._rewriting.recorded import Recorded

# Where torch's exporter notes the modules around a node, each with its path, and the node itself.
_SCOPES = "pkg.torch.onnx.name_scopes"


class BatchRows:
    """The batch of a model, and whether random nodes draw its rows.

    A state with rows that an earlier rewrite left says what the batch is.

    Raises:
        ValueError: The model has no batch, or an opset that is too old.
    """

    def __init__(
        self, model: ir.Model, nodes: Sequence[Replaceable], recorded: Recorded[ir.Value]
    ) -> None:
        opset = onnx_opset_for(model)
        if opset < OLDEST_OPSET:
            allowed = f"{OLDEST_OPSET} or newer for a state for each row"
            remedy = f"Export the model again at a newer opset, or {ONE_STATE}."
            checks.refuse(OWNER, "the model's opset", opset, allowed, remedy)
        self._shapes = SymbolicShapes(model)
        self.batch = self._find_batch(model, nodes, recorded)
        drawing = {node.site.node for node in nodes}
        self._dependence = BatchDependence(model, self._shapes, self.batch.name, drawing)

    def _find_batch(
        self, model: ir.Model, nodes: Sequence[Replaceable], recorded: Recorded[ir.Value]
    ) -> Batch:
        """The first dimension of an input: of the first one that some node draws."""
        candidates: dict[str, ir.Value] = {}
        inputs = [
            value
            for value in model.graph.inputs
            if value.name != STATE and value.name not in model.graph.initializers
        ]
        for value in inputs:
            dimensions = self._shapes.of(value)
            is_named_alike = not recorded.has_rows or _first(value) == _first(recorded.state)
            if dimensions and isinstance(dimensions[0], str) and is_named_alike:
                candidates.setdefault(dimensions[0], value)
        if not candidates:
            given = [f"{value.name} {written(self._shapes.of(value))}" for value in inputs]
            without_batch(
                given,
                "Export the model with a batch that is dynamic (dynamic_shapes of "
                "torch.onnx.export)",
            )
        shapes = [self._shapes.of(node.site.node.outputs[0]) for node in nodes]
        drawn = {shape[0] for shape in shapes if shape}
        name = next((name for name in candidates if name in drawn), next(iter(candidates)))
        return Batch(candidates[name], name)

    def obstacle(self, random: Replaceable) -> RefusalError | None:
        """What stands in the way of a node's drawing rows of the batch; None where nothing does."""
        site, node = random.site, random.site.node
        title = f"{site.title}{_in_module(node)}"
        shape = self._shapes.of(node.outputs[0])
        batch = f"{self.batch.name!r}, the first of the input {self.batch.input.name!r}"
        if isinstance(random.replacement, MultinomialReplacement) and random.replacement.is_one_row:
            what = f"the shape of input {input_of(node, 0).name!r}"
            given = "one dimension, whose draws are one row"
            allowed = f"[rows, classes] with rows that are {batch}, for a state for each row"
            remedy = f"Give it a row for each of the batch, or {ONE_STATE}."
            return ValueRefusalError(title, what, given, allowed, remedy)
        if shape == () or (shape and self._is_never_batch(shape[0])):
            return of_shape(title, shape, batch)
        if (error := of_operator(title, random.replacement.operator, shape)) is not None:
            return error
        for index, owner in enumerate(site.owners):
            loop = next((o for o in site.owners[:index] if o.node.op_type != "If"), None)
            if loop is not None and self._dependence.of_how_often(owner):
                return ValueRefusalError(
                    title,
                    "how often it draws",
                    f"what {owner.label} inside {loop.label} says, which may depend on the batch",
                    "the same for every batch, for a state for each row",
                    "Draw before it, or let it depend on the iteration and on inputs that have no "
                    f"batch only; or {ONE_STATE}.",
                )
        if shape is None or shape[0] != self.batch.name:
            return unproved(title, site.called, shape, batch)
        return None

    def _is_never_batch(self, dimension: Dimension) -> bool:
        """Whether a dimension is a number, or a multiple of the batch."""
        if dimension == self.batch.name:
            return False
        return isinstance(dimension, int) or isinstance(
            self._shapes.quotient(dimension, self.batch.name), int
        )


def _in_module(node: ir.Node) -> str:
    """The module of torch's that a node is from, where its exporter has noted it.

    The name of the node says nothing of it where torch draws inside a module, as in an LSTM.
    """
    *_, module, _ = ["", "", *re.findall("'([^']*)'", node.metadata_props.get(_SCOPES, ""))]
    return f" in the module {module!r}" if module else ""


def _first(value: ir.Value | None) -> object:
    """The first dimension that a value declares: a number, a name, or None."""
    if value is None or not value.shape:
        return None
    first = value.shape[0]
    return first if isinstance(first, int) else first.value
