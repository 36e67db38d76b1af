"""Names the dimensions of a model of OpenVINO's, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. Three things are added here: what a Reshape merges and takes
apart is a product, a node of this package draws the shape that it is given, and a body takes and
returns symbols, of which a loop keeps those that no iteration changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8
from openvino.op import util

from onnx_philox._contract.declaration import Role
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.graphs import bodies, constant, is_ours
from onnx_philox._rewriting.places import Dimension, Dimensions, Products

_BATCH = "N"
"""What OpenVINO calls the batch in a Layout."""
_MOVES = {
    *("Convert", "Gather", "Reshape", "Slice", "Split", "Squeeze", "StridedSlice", "Unsqueeze"),
    "VariadicSplit",
}
"""They put numbers of their first input elsewhere."""
_MOST_NUMBERS = 64
"""A tensor with more of them is no shape."""


class Symbols:
    """The dimensions of a model's tensors, by the names of its inputs' dynamic ones: "input:axis".

    It gives the model's tensors symbols, until it is validated again.

    Args:
        model: The model.
        inputs: Its inputs by their names.
        said: The dimension that has been said to be the batch. Inputs whose Layouts have it share
            it.
    """

    def __init__(self, model: ov.Model, inputs: dict[str, ov.Node], said: str | None) -> None:
        self._symbols: list[tuple[ov.Symbol, str]] = []
        self.laid: str | None = None
        """The dimension that Layouts call what has been said."""
        self._unknown: list[tuple[ov.Symbol, str]] = []
        shared: dict[str, ov.Symbol] = {}
        for name, node in inputs.items():
            shape, layout = node.get_partial_shape(), node.get_layout()
            for axis in range(0 if shape.rank.is_dynamic else len(shape)):
                dimension = shape[axis]
                if dimension.is_static:
                    continue
                if not dimension.has_symbol():
                    dimension.set_symbol(ov.Symbol())
                for word in {said or _BATCH, _BATCH}:
                    if layout.has_name(word) and layout.get_index_by_name(word) == axis:
                        dimension.set_symbol(shared.setdefault(word, dimension.get_symbol()))
                shape[axis] = dimension
                if self.of_dimension(dimension) is None:
                    self._symbols.append((dimension.get_symbol(), f"{name}:{axis}"))
            node.set_partial_shape(shape)
        if said in shared:
            self.laid = next(name for symbol, name in self._symbols if symbol == shared[said])
        self.products = Products(name for _, name in self._symbols)
        self._follow(model)

    def of(self, output: ov.Output) -> Dimensions | None:
        """The dimensions of a tensor; None where not even their number is known."""
        return self.of_shape(output.get_partial_shape())

    def of_shape(self, shape: ov.PartialShape) -> Dimensions | None:
        """The dimensions of a shape."""
        if shape.rank.is_dynamic:
            return None
        return tuple(self.of_dimension(shape[axis]) for axis in range(len(shape)))

    def of_dimension(self, dimension: ov.Dimension) -> Dimension:
        """A number, a product of names, or None for what is not known."""
        if dimension.is_static:
            return int(dimension.get_length())
        if not dimension.has_symbol():
            return None
        return self._of_symbol(dimension.get_symbol())

    def of_unknown(self, dimension: ov.Dimension) -> Dimension:
        """A name for a dimension of which nothing but its symbol is known; None without one."""
        if not dimension.has_symbol():
            return None
        own = dimension.get_symbol()
        for symbol, name in self._unknown:
            if symbol == own:
                return name
        name = self.products.at(("symbol", len(self._unknown)))
        self._unknown.append((own, name))
        return name

    def numbers(self, value: ov.Output) -> list[Dimension] | None:
        """The integers that a tensor is, some of which may be dimensions; None for others."""
        known = known_numbers(value)
        if known is None and value.get_node().get_type_name() == "Range":
            ends = [constant(end) for end in value.get_node().input_values()]
            if all(end is not None and end.size == 1 for end in ends):
                known = np.arange(*(end.item() for end in ends if end is not None))
        if known is not None:
            return known.reshape(-1).tolist()
        if not _is_small(value):
            return None
        symbols = value.get_tensor().get_value_symbol()
        if not symbols:
            return None
        named = [self._of_symbol(symbol) for symbol in symbols]
        bounds = _bounds(value)
        if bounds is not None:
            low, high = (bound.reshape(-1).tolist() for bound in bounds)
            same = [a if a == b else None for a, b in zip(low, high, strict=True)]
            named = [d if d is not None else e for d, e in zip(named, same, strict=True)]
        return named

    def _of_symbol(self, own: ov.Symbol) -> Dimension:
        return next((name for symbol, name in self._symbols if symbol == own), None)

    def _of_name(self, dimension: Dimension) -> ov.Symbol:
        """The symbol of a product, or one that nothing else has."""
        for symbol, name in self._symbols:
            if name == dimension:
                return symbol
        symbol = ov.Symbol()
        if isinstance(dimension, str):
            self._symbols.append((symbol, dimension))
        return symbol

    def _named(
        self, shape: ov.PartialShape, *others: Sequence[Dimension] | None
    ) -> ov.PartialShape:
        """A shape whose dynamic dimensions are those that all the others have."""
        for axis in range(0 if shape.rank.is_dynamic else len(shape)):
            dimension = shape[axis]
            if dimension.is_dynamic:
                found = {None if d is None or len(d) != len(shape) else d[axis] for d in others}
                dimension.set_symbol(self._of_name(found.pop() if len(found) == 1 else None))
                shape[axis] = dimension
        return shape

    def _give(self, output: ov.Output, *others: Sequence[Dimension] | None) -> None:
        """Gives a tensor the dimensions that all others have."""
        shape = self._named(output.get_partial_shape(), *others)
        output.get_node().set_output_type(output.get_index(), output.get_element_type(), shape)

    def _follow(self, model: ov.Model) -> None:
        for node in model.get_ordered_ops():
            node.validate_and_infer_types()
            if bodies(node):
                self._follow_bodies(node)
            elif is_ours(node):
                for output in node.outputs()[:-1]:
                    self._give(output, self.of_shape(drawn(node)))
            elif node.get_type_name() == "Reshape":
                self._follow_reshape(node)
            elif node.get_type_name() == "OneHot":
                self._follow_one_hot(node)
            _follow_numbers(node)
            if node.get_type_name() in ("Multiply", "ReduceProd"):
                self._follow_product(node)

    def _follow_product(self, node: ov.Node) -> None:
        """A product of dimensions is one, too: front ends compute the sizes of a Flatten so."""
        output = node.output(0)
        if not _is_small(output) or known_numbers(output) is not None:
            return
        first, *others = (self.numbers(value) for value in node.input_values())
        if first is None:
            return
        if node.get_type_name() == "ReduceProd":
            made = [self.products.of(first)]
        else:
            second = others[0]
            if second is None or len(second) != len(first):
                return
            made = [self.products.of(pair) for pair in zip(first, second, strict=True)]
        if len(made) == np.prod(list(output.get_shape())):
            output.get_tensor().set_value_symbol([self._of_name(each) for each in made])

    def _follow_reshape(self, node: ov.Node) -> None:
        """It gives as many elements as it takes."""
        given, made = self.of(node.input_value(0)), self.of(node.output(0))
        if given is not None and made is not None and made.count(None) == 1:
            rest = self.products.quotient(given, [d for d in made if d is not None])
            self._give(node.output(0), [rest if d is None else d for d in made])

    def _follow_one_hot(self, node: ov.Node) -> None:
        """Its new dimension is as long as an input says, which may be a dimension."""
        made, depth = self.of(node.output(0)), self.numbers(node.input_value(1))
        if made is not None and depth is not None and len(depth) == 1:
            axis = int(node.get_attributes()["axis"]) % len(made)
            given = self.of(node.input_value(0)) or made[1:]
            self._give(node.output(0), [*given[:axis], depth[0], *given[axis:]])

    def _follow_bodies(self, node: ov.Node) -> None:
        returned: dict[int, list[ov.Output]] = {}
        stacked: dict[int, int] = {}
        for index, (_, body) in enumerate(bodies(node)):
            given, made = descriptions(node, index)
            inner, results = body.get_parameters(), body.get_results()
            carried = {}
            for each in given:
                value = node.input_value(each.input_index)
                outer = self.of(value)
                parameter = inner[each.body_parameter_index]
                parameter.set_partial_shape(self._named(parameter.get_partial_shape(), outer))
                if isinstance(each, util.MergedInputDescription):
                    carried[each.body_value_index] = parameter
                elif isinstance(each, util.InvariantInputDescription):
                    _hand_over(value, parameter.output(0))
            is_changed = True
            while is_changed:
                self._follow(body)
                is_changed = False
                for i, parameter in carried.items():
                    own, back = self.of(parameter.output(0)), self.of(results[i].input_value(0))
                    shape = self._named(parameter.get_partial_shape(), own, back)
                    parameter.set_partial_shape(shape)
                    is_changed |= own != self.of_shape(shape)
            for each in made:
                i = each.body_value_index
                ends = returned.setdefault(each.output_index, [])
                ends.append(results[i].input_value(0))
                if isinstance(each, util.ConcatOutputDescription):
                    stacked[each.output_index] = each.axis
                elif i in carried:
                    # Without an iteration it gives what it was given.
                    ends.append(carried[i].output(0))
        for i, ends in returned.items():
            known = [self.of(end) or () for end in ends]
            cut = [[None if a == stacked.get(i) else d for a, d in enumerate(e)] for e in known]
            self._give(node.output(i), *cut)


def _follow_numbers(node: ov.Node) -> None:
    """Says which numbers in a tensor are dimensions: OpenVINO goes on saying what they were."""
    kind, given = node.get_type_name(), node.input_values()
    for output in node.outputs():
        # It may have followed a body as if no iteration changed a dimension.
        if kind != "Parameter" and _is_small(output):
            output.get_tensor().set_value_symbol([])
    if kind == "ShapeOf" and given[0].get_partial_shape().rank.is_static:
        shape = given[0].get_partial_shape()
        dims = [shape[axis] for axis in range(len(shape))]
        own = [d.get_symbol() if d.has_symbol() else ov.Symbol() for d in dims]
        node.output(0).get_tensor().set_value_symbol(own)
    count = {"Concat": len(given), "Select": 2}.get(kind, int(kind in _MOVES))
    first = int(kind == "Select")
    is_flag = node.get_output_size() and node.get_output_element_type(0) == ov.Type.boolean
    if not count or is_flag or not all(map(_is_small, [*given, *node.outputs()])):
        return
    # What is moved are the indices of symbols.
    symbols: list[ov.Symbol] = []
    tensors = []
    for i, value in enumerate(given):
        numbers = known_numbers(value)
        if first <= i < first + count:
            size = int(np.prod(list(value.get_shape())))
            numbers = np.arange(len(symbols), len(symbols) + size)
            symbols += value.get_tensor().get_value_symbol() or [ov.Symbol() for _ in range(size)]
        elif numbers is None:
            return
        as_given = numbers.astype(value.get_element_type().to_dtype())
        tensors.append(ov.Tensor(as_given.reshape(value.get_shape())))
    moved = [ov.Tensor(output.get_element_type(), output.get_shape()) for output in node.outputs()]
    if node.evaluate(moved, tensors):
        for output, tensor in zip(node.outputs(), moved, strict=True):
            own = [symbols[i] for i in tensor.data.reshape(-1)]
            output.get_tensor().set_value_symbol(own)


def _hand_over(source: ov.Output, target: ov.Output) -> None:
    """Says that a tensor has the numbers of another one."""
    given, own = source.get_tensor(), target.get_tensor()
    if _is_small(source) and given.get_value_symbol():
        own.set_lower_value(given.get_lower_value())
        own.set_upper_value(given.get_upper_value())
        own.set_value_symbol(given.get_value_symbol())


def known_numbers(value: ov.Output) -> NDArray[Any] | None:
    """The numbers that a tensor always is, as far as OpenVINO or a constant says."""
    bounds = _bounds(value)
    if bounds is None:
        return constant(value)
    low, high = bounds
    return low if np.array_equal(low, high) else None


def _bounds(value: ov.Output) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The least and the greatest numbers that a tensor may be; None where nobody says."""
    tensor = value.get_tensor()
    try:
        return tensor.get_lower_value().data, tensor.get_upper_value().data
    except RuntimeError:  # not computed
        return None


def _is_small(value: ov.Output) -> bool:
    """Whether a tensor may be a shape, or a part of one."""
    shape = value.get_partial_shape()
    is_whole = value.get_element_type() in (ov.Type.i32, ov.Type.i64, ov.Type.boolean)
    return is_whole and shape.is_static and np.prod(list(shape.to_shape())) <= _MOST_NUMBERS


def descriptions(node: ov.Node, index: int) -> tuple[list[Any], list[Any]]:
    """What goes into a body of a node, and what comes out."""
    which = [index] if node.get_type_name() == "If" else []
    return node.get_input_descriptions(*which), node.get_output_descriptions(*which)


def drawn(node: ov.Node) -> ov.PartialShape:
    """The shape of what a random node draws, with symbols, which our own nodes do not carry on."""
    if node.get_type_name() == "Multinomial":
        return node.input_value(0).get_partial_shape()
    if not is_ours(node):
        return node.output(0).get_partial_shape()
    return opset8.broadcast(np.int32(0), _sizes(node)).output(0).get_partial_shape()


def _sizes(node: ov.Node) -> ov.Node | ov.Output:
    """The dimensions of what a node of this package draws."""
    operator, given = OPERATORS[node.get_type_name()], node.input_value(0)
    if operator.has_shape:
        return given
    sizes = opset8.shape_of(given)
    if operator.size_input.role is Role.DATA:
        return sizes
    rows = opset8.gather(sizes, np.array([0]), np.int64(0))
    samples = node.output(0).get_partial_shape()[1].get_length()
    return opset8.concat([rows, np.array([samples])], 0)
