"""Proves that draws of a model of OpenVINO's are rows of its batch, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. So each dynamic dimension of an input gets a symbol, and a
draw of which a dimension has that symbol draws the rows of the input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import openvino as ov

from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import name_of
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.batches import Beside, choose, find_beside
from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import asked_shape
from onnx_philox._rewriting.in_openvino.drawn_shapes import shape_of_drawn
from onnx_philox._rewriting.in_openvino.openvino_drawn import DrawnRows
from onnx_philox._rewriting.in_openvino.openvino_row_walk import RowWalk
from onnx_philox._rewriting.in_openvino.replacements import NewDraw
from onnx_philox._rewriting.in_openvino.symbols import BATCH_IN_LAYOUTS, Symbols
from onnx_philox._rewriting.not_rows import (
    ONE_STATE,
    of_count,
    of_operator,
    of_shape,
    out_of_order,
    unproved,
)
from onnx_philox._rewriting.places import Place, called, written_place


@dataclass(frozen=True)
class Batch:
    """The dimension of an input that gives a model its rows."""

    input: ov.Node
    name: str
    """The input's."""
    axis: int
    rivals: Sequence[str]
    """The dimensions that it could be as well."""
    beside: Beside
    """What is taken of the other inputs."""
    places: dict[str, Place] = field(default_factory=dict)
    """Where it stands in what random nodes draw, by `get_name`."""

    @property
    def called(self) -> str:
        """The input, and which dimension of it where that is not the first."""
        return called(self.name, self.axis)

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.beside.added(f"the batch, {written_place(self.name, self.axis)}")

    @property
    def dimension(self) -> ov.Dimension:
        """The number of rows."""
        return self.input.output(0).get_partial_shape()[self.axis]


def _is_laid(
    inputs: Mapping[str, ov.Node],
    said: str | None,
    name: str,
    axis: int,
) -> bool:
    """Whether a Layout says that a dimension of an input is another one than the batch."""
    layout = inputs[name].get_layout()
    if layout.empty:
        return False
    words = {said or BATCH_IN_LAYOUTS, BATCH_IN_LAYOUTS}
    return not any(
        layout.has_name(word) and layout.get_index_by_name(word) == axis for word in words
    )


class Rows:
    """The batch of a model, and whether draws are its rows. It gives the model's inputs symbols.

    Raises:
        ValueError: The model has no batch, or not the one that is asked for.
    """

    def __init__(self, model: ov.Model, draws: Sequence[NewDraw], asked: Asked) -> None:
        inputs = {name_of(node): node for node in model.get_parameters()}
        self._symbols = Symbols(model, inputs, asked.batch)
        shapes = {name: self._symbols.of(node.output(0)) for name, node in inputs.items()}
        self._shapes = {each.site.node.get_name(): shape_of_drawn(each.site.node) for each in draws}
        said = self._symbols.laid or asked.batch
        remedy = "Convert or reshape the model with a batch of -1"

        def places_of(name: str) -> list[list[Place]]:
            return [self._sized(draw, name) for draw in draws]

        name, input, axis, rivals = choose(shapes, said, places_of, remedy)
        beside = find_beside(shapes, name, axis, partial(_is_laid, inputs, asked.batch))
        if beside.same:
            same = [(input, axis), *beside.same]
            self._symbols = Symbols(model, inputs, asked.batch, same)
            dims = self._symbols.of(inputs[input].output(0))
            assert dims is not None
            name = str(dims[axis])
            rivals = [other for other in rivals if other not in beside.names]
        named = asked.named or frozenset()
        drawings = {}
        for draw in draws:
            is_said = not draw.names.isdisjoint(named)
            key = draw.site.node.get_name()
            for node in (draw.site.node, *draw.also):
                shape = self._symbols.of_drawn(node)
                drawings[node.get_name()] = DrawnRows.of(node, key, shape, is_said=is_said)
        self._walk = RowWalk(model, self._symbols, name, drawings, beside.unclear)
        # Layouts are given on purpose.
        beside = replace(beside, apart=())
        self.batch = Batch(inputs[input], input, axis, rivals, beside)
        self._is_shared = len(inputs) > 1

    def obstacle(self, draw: NewDraw, *, is_named: bool = False) -> RefusalError | None:
        """See `order.Rows`."""
        site = draw.site
        key = site.node.get_name()
        batch = self.batch.where
        rivals = self.batch.rivals
        if not draw.generator.is_counter_based:
            given = repr(draw.generator.alignment)
            allowed = f"{TENSORFLOW!r} where seeds are kept, for a state for each row"
            remedy = f"Rewrite the model without keep_seeds, or {ONE_STATE}."
            return ValueRefusalError(site.title, "the alignment", given, allowed, remedy)
        known = arrays.known_dimensions(self._shapes[key])
        places = self._walk.places[key]
        if known == () or (known and known[0] is not None and not places):
            return of_shape(site.title, known, batch, rivals, is_shared=self._is_shared)
        error = of_operator(site.title, draw.operator, known, places, batch, rivals)
        if error is not None:
            return error
        # How often a body inside of a loop runs must not depend on the rows.
        loop = None
        for owner in site.owners:
            if loop is not None and self._walk.of_how_often(owner):
                return of_count(site.title, owner.label, loop.label)
            if loop is None and owner.node.get_type_name() != "If":
                loop = owner
            if self._walk.goes_along_batch(owner.node):
                return of_count(site.title, owner.label, "")
        culprit = self._walk.culprits.get(key)
        if not places:
            asked = asked_shape(site.node)
            return unproved(site.title, site.called, known, batch, culprit, asked)
        if culprit is not None and not is_named:
            return out_of_order(site.title, site.called, culprit, batch, known, places[0])
        (place,) = places
        self.batch.places[key] = place
        return None

    def _sized(self, draw: NewDraw, name: str) -> list[Place]:
        """Where a dimension of this name stands in what a node draws, by its size alone."""
        shape = self._symbols.of_shape(self._shapes[draw.site.node.get_name()]) or ()
        places = []
        for axis, dimension in enumerate(shape):
            count = self._symbols.products.count(dimension, name)
            places += [Place(axis, len(shape), dimension != name)] * count
        return places
