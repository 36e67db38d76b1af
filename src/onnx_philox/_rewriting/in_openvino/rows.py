"""Proves that draws of a model of OpenVINO's are rows of its batch, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. So the first dimension of each input gets a symbol, and a
draw whose first dimension has that symbol draws the rows of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import OPERATORS, RANDOM_DROPOUT
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.graphs import is_ours
from onnx_philox._rewriting.in_openvino.replacements import NewDraw
from onnx_philox._rewriting.not_rows import (
    ONE_STATE,
    of_operator,
    of_shape,
    unproved,
    without_batch,
    written,
)


@dataclass(frozen=True)
class Batch:
    """The input whose first dimension gives a model its rows."""

    input: ov.Node
    name: str
    symbol: ov.Symbol

    @property
    def dimension(self) -> ov.Dimension:
        """The number of rows."""
        return self.input.output(0).get_partial_shape()[0]


class Rows:
    """The batch of a model, and whether draws are its rows. It gives the model's inputs symbols.

    Raises:
        ValueError: The model has no batch.
    """

    def __init__(self, model: ov.Model, draws: Sequence[NewDraw]) -> None:
        batches = [batch for node in model.get_parameters() if (batch := _batch(node)) is not None]
        if not batches:
            given = [f"{_name(node)} {_shape(node)}" for node in model.get_parameters()]
            without_batch(given, "Convert or reshape the model with a batch of -1")
        model.validate_nodes_and_infer_types()
        self._shapes = {each.site.node.get_name(): _drawn(each.site.node) for each in draws}
        shapes = [shape for shape in self._shapes.values() if shape.rank.is_static and len(shape)]
        drawn = [b for b in batches if any(_has(shape[0], b.symbol) for shape in shapes)]
        self.batch = (drawn or batches)[0]

    def obstacle(self, draw: NewDraw) -> RefusalError | None:
        """What stands in the way of a draw of rows of the batch; None where nothing does."""
        site = draw.site
        batch = f"the batch, the first of the input {self.batch.name!r}"
        if not draw.generator.is_counter_based:
            allowed = f"{TENSORFLOW!r} where seeds are kept, for a state for each row"
            remedy = f"Rewrite the model without keep_seeds, or {ONE_STATE}."
            return ValueRefusalError(
                site.title, "the alignment", repr(draw.generator.alignment), allowed, remedy
            )
        if site.owners:
            given = f"the body of {site.owners[-1].label}"
            allowed = "the main graph, for a state for each row of an OpenVINO model"
            remedy = f"Export the model with onnx_philox.torch.export, or {ONE_STATE}."
            return ValueRefusalError(site.title, "its place", given, allowed, remedy)
        shape = self._shapes[site.node.get_name()]
        known = arrays.known_dimensions(shape)
        if known == () or (known and known[0] is not None):
            return of_shape(site.title, known, batch)
        if (error := of_operator(site.title, draw.operator, known)) is not None:
            return error
        if known is None or not _has(shape[0], self.batch.symbol):
            return unproved(site.title, site.called, known, batch)
        return None


def _batch(node: ov.Node) -> Batch | None:
    """What the first dimension of an input is, which gets a symbol; None where it is known."""
    shape = node.get_partial_shape()
    if shape.rank.is_dynamic or len(shape) == 0 or shape[0].is_static:
        return None
    first = shape[0]
    if not first.has_symbol():
        first.set_symbol(ov.Symbol())
        shape[0] = first
        node.set_partial_shape(shape)
    return Batch(node, _name(node), first.get_symbol())


def _has(dimension: ov.Dimension, symbol: ov.Symbol) -> bool:
    return bool(dimension.has_symbol() and dimension.get_symbol() == symbol)


def _drawn(node: ov.Node) -> ov.PartialShape:
    """The shape of what a random node draws, with symbols, which our own nodes do not carry on."""
    kind = node.get_type_name()
    if kind == "Multinomial":
        return node.input_value(0).get_partial_shape()
    if not is_ours(node):
        return node.output(0).get_partial_shape()
    operator = OPERATORS[kind]
    if operator is RANDOM_DROPOUT:
        return node.input_value(0).get_partial_shape()
    names = [given.name for given in operator.inputs]
    if "shape" not in names:
        return _rows_of(node.input_value(0))
    shape = node.input_value(names.index("shape"))
    return opset8.broadcast(np.int32(0), shape).output(0).get_partial_shape()


def _rows_of(weights: ov.Output) -> ov.PartialShape:
    """The shape of weights of classes, whose draws are one row where they have one dimension."""
    shape = weights.get_partial_shape()
    is_one = shape.rank.is_static and len(shape) == 1
    return ov.PartialShape([1, shape[0]]) if is_one else shape


def _name(node: ov.Node) -> str:
    names = node.output(0).get_names()
    friendly: str = node.get_friendly_name()
    return friendly if friendly in names or not names else min(names)


def _shape(node: ov.Node) -> str:
    return written(arrays.known_dimensions(node.get_partial_shape()))
