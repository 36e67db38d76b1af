"""Proves that draws of a model of OpenVINO's are rows of its batch, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. So each dynamic dimension of an input gets a symbol, and a
draw of which a dimension has that symbol draws the rows of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import openvino as ov

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.graphs import constant, is_ours, name_of
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.batches import choose
from onnx_philox._rewriting.in_openvino.depends import BatchDependence
from onnx_philox._rewriting.in_openvino.replacements import NewDraw
from onnx_philox._rewriting.in_openvino.symbols import Symbols, drawn
from onnx_philox._rewriting.not_rows import ONE_STATE, of_count, of_operator, of_shape, unproved
from onnx_philox._rewriting.places import BatchPlaces, MadeBy, Place, called, written_place


@dataclass(frozen=True)
class Batch:
    """The dimension of an input that gives a model its rows."""

    input: ov.Node
    name: str
    """The input's."""
    axis: int
    rivals: Sequence[str]
    """The dimensions that it could be as well."""
    places: dict[str, Place] = field(default_factory=dict)
    """Where it stands in what random nodes draw, by `get_name`."""

    @property
    def called(self) -> str:
        """The input, and which dimension of it where that is not the first."""
        return called(self.name, self.axis)

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"the batch, {written_place(self.name, self.axis)}"

    @property
    def dimension(self) -> ov.Dimension:
        """The number of rows."""
        return self.input.output(0).get_partial_shape()[self.axis]


class Rows:
    """The batch of a model, and whether draws are its rows. It gives the model's inputs symbols.

    Raises:
        ValueError: The model has no batch, or not the one that is asked for.
    """

    def __init__(self, model: ov.Model, draws: Sequence[NewDraw], asked: Asked) -> None:
        inputs = {name_of(node): node for node in model.get_parameters()}
        self._symbols = Symbols(model, inputs, asked.batch)
        shapes = {name: self._symbols.of(node.output(0)) for name, node in inputs.items()}
        self._shapes = {each.site.node.get_name(): drawn(each.site.node) for each in draws}
        names = self._symbols.products.names
        found = {}
        for name in names:
            standing = BatchPlaces(name, self._symbols.products, self._symbols.of, self._source)
            found[name] = [self._places(draw, standing) for draw in draws]
        self._name, input, axis, rivals = choose(
            shapes,
            self._symbols.laid or asked.batch,
            found.__getitem__,
            "Convert or reshape the model with a batch of -1",
        )
        self._found = dict(zip(self._shapes, found[self._name], strict=True))
        self.batch = Batch(inputs[input], input, axis, rivals)
        self._is_shared = len(inputs) > 1

    def obstacle(self, draw: NewDraw, *, is_named: bool = False) -> RefusalError | None:
        """See `order.Rows`."""
        site = draw.site
        batch = self.batch.where
        if not draw.generator.is_counter_based:
            allowed = f"{TENSORFLOW!r} where seeds are kept, for a state for each row"
            remedy = f"Rewrite the model without keep_seeds, or {ONE_STATE}."
            return ValueRefusalError(
                site.title, "the alignment", repr(draw.generator.alignment), allowed, remedy
            )
        known = arrays.known_dimensions(self._shapes[site.node.get_name()])
        places = self._found[site.node.get_name()]
        if is_named and known and known[0] is None and len(places) == 1:
            places = [place for place in places if place.is_first]
        if known == () or (known and known[0] is not None and not places):
            return of_shape(site.title, known, batch, self.batch.rivals, is_shared=self._is_shared)
        if error := of_operator(site.title, draw.operator, known, places, batch, self.batch.rivals):
            return error
        depends = BatchDependence(self._symbols, self._name, site.owners)
        for index, owner in enumerate(site.owners):
            loop = next((o for o in site.owners[:index] if o.node.get_type_name() != "If"), None)
            if loop is not None and depends.of_how_often(index):
                return of_count(site.title, owner.label, loop.label)
        if not places:
            return unproved(site.title, site.called, known, batch)
        (self.batch.places[site.node.get_name()],) = places
        return None

    def _places(self, draw: NewDraw, standing: BatchPlaces[ov.Output]) -> list[Place]:
        """Where a dimension stands in what a node draws."""
        node = draw.site.node
        shape = self._symbols.of_shape(self._shapes[node.get_name()])
        return [] if shape is None else standing.of(shape, _like(node))

    def _source(self, output: ov.Output) -> MadeBy[ov.Output]:
        if output in self._symbols.sources:
            return self._symbols.sources[output]
        node = output.get_node()
        kind, inputs = node.get_type_name(), node.input_values()
        order = constant(inputs[1]) if kind == "Transpose" else None
        if output.get_index() or (kind == "Transpose" and order is None):
            kind = ""
        return MadeBy(kind, inputs, [] if order is None else order.tolist())


def _like(node: ov.Node) -> ov.Output | None:
    """The tensor whose shape a random node draws; None where that is computed."""
    (first, *_) = node.input_values()
    if is_ours(node) and OPERATORS[node.get_type_name()].size_input.role is Role.DATA:
        return first
    source = first.get_node()
    return source.input_value(0) if source.get_type_name() == "ShapeOf" else None
