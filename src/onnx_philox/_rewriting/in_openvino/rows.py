"""Proves that draws of a model of OpenVINO's are rows of its batch, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. So each dynamic dimension of an input gets a symbol, and a
draw of which a dimension has that symbol draws the rows of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.graphs import constant, is_ours
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.batches import choose
from onnx_philox._rewriting.in_openvino.replacements import NewDraw
from onnx_philox._rewriting.not_rows import ONE_STATE, of_operator, of_shape, unproved
from onnx_philox._rewriting.places import (
    BatchPlaces,
    Dimensions,
    MadeBy,
    Place,
    Products,
    called,
    written_place,
)


@dataclass(frozen=True)
class Batch:
    """The dimension of an input that gives a model its rows."""

    input: ov.Node
    name: str
    """The input's."""
    axis: int = 0
    rivals: Sequence[str] = ()
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
        inputs = {_name(node): node for node in model.get_parameters()}
        self._symbols: list[tuple[ov.Symbol, str]] = []
        for name, node in inputs.items():
            self._name_dimensions(name, node)
        names = [name for _, name in self._symbols]
        products = Products(names)
        with _symbols_carried(model):
            model.validate_nodes_and_infer_types()
            shapes = {name: self._dimensions(node.output(0)) for name, node in inputs.items()}
            self._shapes = {each.site.node.get_name(): _drawn(each.site.node) for each in draws}
            found = {}
            for name in names:
                standing = BatchPlaces(name, products, self._dimensions, _source)
                found[name] = [self._places(draw, standing) for draw in draws]
        laid = (_laid(name, node, asked.batch) for name, node in inputs.items())
        said = next((at for at in laid if at in names), None)
        name, input, axis, rivals = choose(
            shapes,
            said or asked.batch,
            found.__getitem__,
            "Convert or reshape the model with a batch of -1",
        )
        self._found = dict(zip(self._shapes, found[name], strict=True))
        self.batch = Batch(inputs[input], input, axis, rivals)

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
        if site.owners:
            given = f"the body of {site.owners[-1].label}"
            allowed = "the main graph, for a state for each row of an OpenVINO model"
            remedy = f"Export the model with onnx_philox.torch.export, or {ONE_STATE}."
            return ValueRefusalError(site.title, "its place", given, allowed, remedy)
        known = arrays.known_dimensions(self._shapes[site.node.get_name()])
        places = self._found[site.node.get_name()]
        if is_named and known and known[0] is None and len(places) == 1:
            places = [place for place in places if place.is_first]
        if known == () or (known and known[0] is not None and not places):
            return of_shape(site.title, known, batch, self.batch.rivals)
        if error := of_operator(site.title, draw.operator, known, places, batch, self.batch.rivals):
            return error
        if not places:
            return unproved(site.title, site.called, known, batch)
        (self.batch.places[site.node.get_name()],) = places
        return None

    def _name_dimensions(self, name: str, node: ov.Node) -> None:
        """Gives each dynamic dimension of an input a symbol, and each symbol a name."""
        shape = node.get_partial_shape()
        if shape.rank.is_dynamic:
            return
        for axis in range(len(shape)):
            dimension = shape[axis]
            if dimension.is_static:
                continue
            if not dimension.has_symbol():
                dimension.set_symbol(ov.Symbol())
                shape[axis] = dimension
            self._symbols.append((dimension.get_symbol(), f"{name}:{axis}"))
        node.set_partial_shape(shape)

    def _dimensions(self, output: ov.Output) -> Dimensions | None:
        """The dimensions of a tensor."""
        return self._named(output.get_partial_shape())

    def _named(self, shape: ov.PartialShape) -> Dimensions | None:
        """Numbers, and the names of inputs' dimensions."""
        if shape.rank.is_dynamic:
            return None
        return tuple(self._dimension(shape[i]) for i in range(len(shape)))

    def _dimension(self, dimension: ov.Dimension) -> int | str | None:
        if dimension.is_static:
            return int(dimension.get_length())
        if not dimension.has_symbol():
            return None
        own = dimension.get_symbol()
        return next((name for symbol, name in self._symbols if symbol == own), None)

    def _places(self, draw: NewDraw, standing: BatchPlaces[ov.Output]) -> list[Place]:
        """Where a dimension stands in what a node draws."""
        shape = self._named(self._shapes[draw.site.node.get_name()])
        return [] if shape is None else standing.of(shape, _like(draw.site.node))


@contextmanager
def _symbols_carried(model: ov.Model) -> Iterator[None]:
    """Puts nodes that carry symbols on in the place of ours, which do not, for a time."""
    moved = []
    for node in filter(is_ours, model.get_ordered_ops()):
        for output in node.outputs()[:-1]:
            zero = opset8.convert(np.int32(0), output.get_element_type())
            like = opset8.broadcast(zero, _sizes(node)).output(0)
            for reader in output.get_target_inputs():
                moved.append((reader, output))
                reader.replace_source_output(like)
    try:
        yield
    finally:
        for reader, output in moved:
            reader.replace_source_output(output)


def _sizes(node: ov.Node) -> ov.Node | ov.Output:
    """The dimensions of what a node of this package draws."""
    operator, given = OPERATORS[node.get_type_name()], node.input_value(0)
    if operator.has_shape:
        return given
    sizes = opset8.shape_of(given)
    if operator.size_input.role is Role.DATA:
        return sizes
    # Weights of one dimension are one row.
    rows, drawn = given.get_partial_shape(), node.output(0).get_partial_shape()
    is_one = rows.rank.is_static and len(rows) == 1
    first = opset8.gather(sizes, np.array([0]), np.int64(0))
    samples = drawn[1].get_length() if drawn.rank.is_static and drawn[1].is_static else 1
    return opset8.concat([np.array([1]) if is_one else first, np.array([samples])], 0)


def _laid(name: str, node: ov.Node, said: str | None) -> str | None:
    """A dimension that a Layout of an input calls so, as `batch` names it otherwise."""
    layout = node.get_layout()
    if said is None or not layout.has_name(said):
        return None
    return f"{name}:{layout.get_index_by_name(said)}"


def _source(output: ov.Output) -> MadeBy[ov.Output] | None:
    node = output.get_node()
    kind, inputs = node.get_type_name(), node.input_values()
    order = constant(inputs[1]) if kind == "Transpose" else None
    if output.get_index() or (kind == "Transpose" and order is None):
        return None
    return MadeBy(kind, inputs, [] if order is None else order.tolist())


def _like(node: ov.Node) -> ov.Output | None:
    """The tensor whose shape a random node draws; None where that is computed."""
    (first, *_) = node.input_values()
    if is_ours(node) and OPERATORS[node.get_type_name()].size_input.role is Role.DATA:
        return first
    source = first.get_node()
    return source.input_value(0) if source.get_type_name() == "ShapeOf" else None


def _drawn(node: ov.Node) -> ov.PartialShape:
    """The shape of what a random node draws, with symbols, which our own nodes do not carry on."""
    kind = node.get_type_name()
    if kind == "Multinomial":
        return node.input_value(0).get_partial_shape()
    if not is_ours(node):
        return node.output(0).get_partial_shape()
    return opset8.broadcast(np.int32(0), _sizes(node)).output(0).get_partial_shape()


def _name(node: ov.Node) -> str:
    names = node.output(0).get_names()
    friendly: str = node.get_friendly_name()
    return friendly if friendly in names or not names else min(names)
