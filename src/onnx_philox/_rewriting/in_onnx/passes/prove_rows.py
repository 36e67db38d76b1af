"""The pass that proves that every random node draws rows of the batch; it changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._contract.streams import STATE
from onnx_philox._models.graphs import input_of
from onnx_philox._models.opsets import onnx_opset_of
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.earlier_rewrite import Recorded
from onnx_philox._rewriting.in_onnx.replacements.of_onnx import MultinomialReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.rows.batch import OLDEST_OPSET, Batch
from onnx_philox._rewriting.in_onnx.rows.depends import BatchDependence
from onnx_philox._rewriting.in_onnx.rows.dimensions import Dimension
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes
from onnx_philox._rewriting.not_rows import (
    ONE_STATE,
    NotRowsError,
    check_names,
    of_all,
    of_operator,
    written,
)


class BatchRows:
    """The batch of a model, and whether random nodes draw its rows.

    A state with rows that an earlier rewrite left says what the batch is.

    Raises:
        ValueError: The model has no batch, or an opset that is too old.
    """

    def __init__(self, model: ir.Model, nodes: Sequence[Replaceable], recorded: Recorded) -> None:
        opset = onnx_opset_of(model.opset_imports)
        if opset < OLDEST_OPSET:
            checks.refuse(
                OWNER,
                "the model's opset",
                opset,
                f"{OLDEST_OPSET} or newer for a state for each row",
                f"Export the model again at a newer opset, or {ONE_STATE}.",
            )
        self._shapes = SymbolicShapes(model)
        self.batch = self._find_batch(model, nodes, recorded)
        drawing = {node.site.node for node in nodes}
        self._dependence = BatchDependence(model, self._shapes, self.batch.name, drawing)

    def _find_batch(
        self, model: ir.Model, nodes: Sequence[Replaceable], recorded: Recorded
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
            checks.refuse(
                OWNER,
                "the model",
                f"one with the inputs {', '.join(given)}" if given else "one without inputs",
                "one with an input whose first dimension, the batch, is dynamic",
                "Export the model with a batch that is dynamic (dynamic_shapes of "
                f"torch.onnx.export), or {ONE_STATE}.",
            )
        shapes = [self._shapes.of(node.site.node.outputs[0]) for node in nodes]
        drawn = {shape[0] for shape in shapes if shape}
        name = next((name for name in candidates if name in drawn), next(iter(candidates)))
        return Batch(candidates[name], name)

    def obstacle(self, random: Replaceable) -> RefusalError | None:
        """What stands in the way of a node's drawing rows of the batch; None where nothing does."""
        site, node = random.site, random.site.node
        shape = self._shapes.of(node.outputs[0])
        batch = f"{self.batch.name!r}, the first of the input {self.batch.input.name!r}"
        if isinstance(random.replacement, MultinomialReplacement) and random.replacement.is_one_row:
            return ValueRefusalError(
                site.title,
                f"the shape of input {input_of(node, 0).name!r}",
                "one dimension, whose draws are one row",
                f"[rows, classes] with rows that are {batch}, for a state for each row",
                f"Give it a row for each of the batch, or {ONE_STATE}.",
            )
        if shape == () or (shape and self._is_never_batch(shape[0])):
            return ValueRefusalError(
                site.title,
                "the shape of what it draws",
                written(shape),
                f"one whose first dimension is {batch}, for a state for each row",
                f"Draw a row for each of the batch, or {ONE_STATE}.",
            )
        if (error := of_operator(site.title, random.replacement.operator, shape)) is not None:
            return error
        for index, owner in enumerate(site.owners):
            loop = next((o for o in site.owners[:index] if o.node.op_type != "If"), None)
            if loop is not None and self._dependence.of_how_often(owner):
                return ValueRefusalError(
                    site.title,
                    "how often it draws",
                    f"what {owner.label} inside {loop.label} says, which may depend on the batch",
                    "the same for every batch, for a state for each row",
                    "Draw before it, or let it depend on the iteration and on inputs that have no "
                    f"batch only; or {ONE_STATE}.",
                )
        if shape is None or shape[0] != self.batch.name:
            return NotRowsError(
                site.title,
                "the shape of what it draws",
                written(shape),
                f"one whose first dimension is proved to be {batch}, for a state for each row",
                (_name(node),),
            )
        return None

    def _is_never_batch(self, dimension: Dimension) -> bool:
        """Whether a dimension is a number, or a multiple of the batch."""
        if dimension == self.batch.name:
            return False
        return isinstance(dimension, int) or isinstance(
            self._shapes.quotient(dimension, self.batch.name), int
        )


def prove_rows(
    model: ir.Model, nodes: Sequence[Replaceable], named: Collection[str], recorded: Recorded
) -> Batch:
    """Proves that random nodes draw rows of the batch, but for those that are named; returns it.

    A node without a name goes by its first output.

    Raises:
        ValueError: The model has no batch; a name is not that of a random node; or a node that is
            not named is not proved to draw rows of the batch, or cannot.
    """
    names = {random.site.node: _names(random.site.node) for random in nodes}
    known: set[str] = set().union(*names.values())
    check_names(named, known)
    rows = BatchRows(model, nodes, recorded)
    unproved: dict[ir.Node, NotRowsError] = {}
    for random in nodes:
        error = rows.obstacle(random)
        if isinstance(error, NotRowsError):
            unproved[random.site.node] = error
        elif error is not None:
            raise error
    unnamed = [error for node, error in unproved.items() if not names[node] & set(named)]
    if unnamed:
        raise of_all(unnamed, [_name(node) for node in unproved if names[node] & set(named)])
    return Batch(rows.batch.input, rows.batch.name, frozenset(unproved))


def _first(value: ir.Value | None) -> object:
    """The first dimension that a value declares: a number, a name, or None."""
    if value is None or not value.shape:
        return None
    first = value.shape[0]
    return first if isinstance(first, int) else first.value


def _name(node: ir.Node) -> str:
    """What messages call a node."""
    return node.name or node.outputs[0].name or ""


def _names(node: ir.Node) -> set[str]:
    """What a user may call a node: its name, or that of its first output."""
    return {name for name in (node.name, node.outputs[0].name) if name}
