"""Names the dimensions of a model of OpenVINO's, by OpenVINO's own symbols.

OpenVINO carries the symbol of a dimension through shapes and what computes with them, and keeps it
where the dimension is surely the same. Three things are added here: what a Reshape merges and takes
apart is a product, a node of this package draws the shape that it is given, and a body takes and
returns symbols, of which a loop keeps those that no iteration changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import openvino as ov
from openvino.op import util

from onnx_philox._contract.operators import OPERATORS
from onnx_philox._openvino_models.openvino_graphs import bodies, constant, is_ours
from onnx_philox._rewriting.in_openvino import dimension_rules
from onnx_philox._rewriting.in_openvino.drawn_shapes import shape_of_drawn
from onnx_philox._rewriting.in_openvino.openvino_steps import Sizes, step_of
from onnx_philox._rewriting.in_openvino.tensor_numbers import (
    bounds,
    follow_numbers,
    hand_over,
    is_short,
    is_small,
    known_numbers,
)
from onnx_philox._rewriting.places import Dimension, Dimensions, Products
from onnx_philox._rewriting.random_names import randomness_of
from onnx_philox._rewriting.rows.sizes import SIZES
from onnx_philox._rewriting.rows.where_dimensions_go import UnclearError

BATCH_IN_LAYOUTS = "N"
"""What OpenVINO calls the batch in a Layout."""
_BY_AXIS = frozenset(
    """
    AvgPool Concat Convolution ConvolutionBackpropData GroupConvolution
    GroupConvolutionBackpropData Interpolate MaxPool Pad Slice Split StridedSlice Tile VariadicSplit
    """.split()  # noqa: SIM905
)
"""Of each dimension they make one, where they make as many."""
_ARITHMETIC = {
    "Add": "Add",
    "Divide": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
    "Mod": "Mod",
    "Multiply": "Mul",
    "ReduceProd": "",
    "Subtract": "Sub",
}
"""What computes sizes, and what ONNX calls it."""
_OF_THEIR_OWN = {"Assign", "Parameter", "ReadValue", "Result"}
"""What they give is not made of their inputs alone."""


class Symbols:
    """The dimensions of a model's tensors, by the names of its inputs' dynamic ones: "input:axis".

    It gives the model's tensors symbols, until it is validated again.

    Args:
        model: The model.
        inputs: Its inputs by their names.
        said: The dimension that has been said to be the batch. Inputs whose Layouts have it share
            it.
        same: Inputs and dimensions that are one, too.
    """

    def __init__(
        self,
        model: ov.Model,
        inputs: dict[str, ov.Node],
        said: str | None,
        same: Sequence[tuple[str, int]] = (),
    ) -> None:
        self._symbols: list[tuple[ov.Symbol, str]] = []
        self.laid: str | None = None
        """The dimension that Layouts call what has been said, or the batch where nobody has."""
        self._unknown: list[tuple[ov.Symbol, str]] = []
        # Of which dimensions numbers are made that have no name each.
        self._made: dict[ov.Output, Sequence[Dimension]] = {}
        shared: dict[str, ov.Symbol] = {}
        if same:
            first, axis = same[0]
            one = inputs[first].get_partial_shape()[axis].get_symbol()
        for name, node in inputs.items():
            shape = node.get_partial_shape()
            layout = node.get_layout()
            rank = 0 if shape.rank.is_dynamic else len(shape)
            for axis in range(rank):
                dimension = shape[axis]
                if dimension.is_static:
                    continue
                if not dimension.has_symbol():
                    dimension.set_symbol(ov.Symbol())
                for word in {said or BATCH_IN_LAYOUTS, BATCH_IN_LAYOUTS}:
                    if layout.has_name(word) and layout.get_index_by_name(word) == axis:
                        symbol = shared.setdefault(word, dimension.get_symbol())
                        dimension.set_symbol(symbol)
                if (name, axis) in same:
                    dimension.set_symbol(one)
                shape[axis] = dimension
                if self.of_dimension(dimension) is None:
                    self._symbols.append((dimension.get_symbol(), f"{name}:{axis}"))
            node.set_partial_shape(shape)
        word = said or BATCH_IN_LAYOUTS
        if word in shared:
            self.laid = next(name for symbol, name in self._symbols if symbol == shared[word])
        self.products = Products(name for _, name in self._symbols)
        self.sizes = Sizes(self.products, self.with_unknown, self.numbers)
        self._follow(model)

    def of(self, output: ov.Output) -> Dimensions | None:
        """The dimensions of a tensor; None where not even their number is known."""
        return self.of_shape(output.get_partial_shape())

    def of_shape(self, shape: ov.PartialShape) -> Dimensions | None:
        """The dimensions of a shape."""
        if shape.rank.is_dynamic:
            return None
        return tuple(self.of_dimension(shape[axis]) for axis in range(len(shape)))

    def of_drawn(self, node: ov.Node) -> Dimensions | None:
        """The dimensions of what a random node draws."""
        dims = self.of_shape(shape_of_drawn(node))
        said = self.numbers(node.input_value(0))
        kind = node.get_type_name()
        has_shape = kind == "RandomUniform"
        if is_ours(node):
            has_shape = OPERATORS[kind].has_shape
        if not has_shape or dims is None or said is None:
            return dims
        if len(said) != len(dims):
            return dims
        return _completed(dims, said)

    def of_dimension(self, dimension: ov.Dimension) -> Dimension:
        """A number, a product of names, or None for what is not known."""
        if dimension.is_static:
            return int(dimension.get_length())
        if not dimension.has_symbol():
            return None
        return self._of_symbol(dimension.get_symbol())

    def with_unknown(self, value: ov.Output) -> Dimensions | None:
        """The dimensions, with a name for each of which nothing else is known but its symbol."""
        dims = self.of(value)
        if dims is None or None not in dims:
            return dims
        shape = value.get_partial_shape()
        named = list(dims)
        for axis, dimension in enumerate(dims):
            if dimension is None:
                named[axis] = self.of_unknown(shape[axis])
        return tuple(named)

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
        if not is_small(value):
            return None
        symbols = value.get_tensor().get_value_symbol()
        if not symbols:
            return None
        named = [self._of_symbol(symbol) for symbol in symbols]
        found = bounds(value)
        if found is None:
            return named
        low = found[0].reshape(-1).tolist()
        high = found[1].reshape(-1).tolist()
        for i, number in enumerate(low):
            if number == high[i]:
                named[i] = number
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
        rank = 0 if shape.rank.is_dynamic else len(shape)
        for axis in range(rank):
            dimension = shape[axis]
            if dimension.is_static:
                continue
            found: set[Dimension] = set()
            for dims in others:
                if dims is None or len(dims) != rank:
                    found.add(None)
                else:
                    found.add(dims[axis])
            name = found.pop() if len(found) == 1 else None
            dimension.set_symbol(self._of_name(name))
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
                    self._give(output, self.of_drawn(node))
            elif node.get_type_name() == "Reshape":
                self._follow_reshape(node)
            elif node.get_type_name() == "Broadcast":
                self._follow_said(node, 1)
            elif node.get_type_name() == "RandomUniform":
                self._follow_said(node, 0)
            elif node.get_type_name() == "OneHot":
                self._follow_one_hot(node)
            elif node.get_type_name() in _BY_AXIS:
                self._follow_axes(node)
            elif node.get_type_name() in dimension_rules.ELEMENTWISE:
                self._follow_broadcast(node)
            follow_numbers(node)
            if node.get_type_name() in _ARITHMETIC:
                self._follow_arithmetic(node)
            self._follow_contents(node)

    def _follow_arithmetic(self, node: ov.Node) -> None:
        """Front ends compute sizes: those of a Flatten are products."""
        output = node.output(0)
        if not is_small(output) or known_numbers(output) is not None:
            return
        given = []
        for value in node.input_values():
            numbers = self.numbers(value)
            if numbers is None:
                return
            array = np.array(numbers, object)
            given.append(array.reshape(list(value.get_shape())))
        kind = node.get_type_name()
        made: list[Dimension] = []
        if kind == "ReduceProd":
            factors = given[0].reshape(-1).tolist()
            made.append(self.products.of(factors))
        else:
            compute = SIZES[_ARITHMETIC[kind]]
            columns = [each.reshape(-1).tolist() for each in np.broadcast_arrays(*given)]
            for elements in zip(*columns, strict=True):
                made.append(compute(self.products, *elements))
        if len(made) == np.prod(list(output.get_shape())):
            symbols = [self._of_name(each) for each in made]
            output.get_tensor().set_value_symbol(symbols)

    def _follow_contents(self, node: ov.Node) -> None:
        """Says of which dimensions numbers are made that are computed of others in any way."""
        kind = node.get_type_name()
        if kind in _OF_THEIR_OWN or bodies(node) or is_ours(node) or randomness_of(kind):
            return
        made: dict[Dimension, None] = {}
        for value in node.input_values():
            given = self.contents(value)
            if given is None:
                return
            names = (each for each in given if isinstance(each, str))
            made.update(dict.fromkeys(names))
        for index, output in enumerate(node.outputs()):
            if not is_short(output):
                continue
            self._made[output] = tuple(made)
            if not is_small(output) or output.get_element_type() == ov.Type.boolean:
                continue
            size = int(np.prod(list(output.get_shape())))
            numbers = self.numbers(output) or [None] * size
            if None not in numbers:
                continue
            symbols = []
            for i, number in enumerate(numbers):
                place = (node.get_name(), index, "element", i)
                name = self.products.computed(place, made, is_signed=True)
                symbols.append(self._of_name(name if number is None else number))
            output.get_tensor().set_value_symbol(symbols)

    def contents(self, value: ov.Output) -> Sequence[Dimension] | None:
        """The numbers of a tensor, or those of which they are made; None where nobody knows."""
        numbers = self.numbers(value) if is_short(value) else None
        if numbers is not None and None not in numbers:
            return numbers
        return self._made.get(value)

    def _follow_axes(self, node: ov.Node) -> None:
        """Each dimension is made of the same one of what is given, and of what inputs say."""
        kind = node.get_type_name()
        given = [self.of(value) for value in node.input_values()]
        first = given[0]
        if first is None:
            return
        cut: Collection[int] = range(len(first))
        if kind in dimension_rules.CUT:
            try:
                step = step_of(node, [], self.sizes)
                cut = dimension_rules.CUT[kind](step)
            except UnclearError:
                return
        for index, output in enumerate(node.outputs()):
            made = self.of(output)
            if made is None or len(made) != len(first) or None not in made:
                continue
            dims = list(made)
            for axis, d in enumerate(made):
                if d is not None:
                    continue
                if kind == "Concat":
                    dims[axis] = self._joined(given, axis)
                elif axis not in cut:
                    dims[axis] = first[axis]
                else:
                    dims[axis] = self._cut(node, index, axis, first[axis])
            self._give(output, dims)

    def _joined(self, given: Sequence[Dimensions | None], axis: int) -> Dimension:
        """The dimension along which a Concat joins; OpenVINO knows the other ones."""
        along = [None if dims is None else dims[axis] for dims in given]
        return self.products.sum(along)

    def _cut(self, node: ov.Node, index: int, axis: int, d: Dimension) -> Dimension:
        """What an operator makes of a dimension as its other inputs say."""
        made = [d]
        for value in node.input_values()[1:]:
            given = self.contents(value)
            if given is None and value.get_partial_shape().rank.get_length() < 2:
                return None
            made += [each for each in given or () if isinstance(each, str)]
        return self.products.computed((node.get_name(), index, axis), made)

    def _follow_broadcast(self, node: ov.Node) -> None:
        """Inputs of other sizes than one have the sizes of the output."""
        made = self.of(node.output(0))
        if made is None or None not in made:
            return
        given = []
        for value in node.input_values():
            own = self.of(value)
            if own is None or len(own) > len(made):
                return
            given.append((1,) * (len(made) - len(own)) + own)
        dims = list(made)
        for axis, dimension in enumerate(made):
            others = {each[axis] for each in given if each[axis] != 1}
            if dimension is None and len(others) == 1:
                dims[axis] = others.pop()
        self._give(node.output(0), dims)

    def _follow_said(self, node: ov.Node, index: int) -> None:
        """An input says the shape, and what is broadcast to it is no longer."""
        made = self.of(node.output(0))
        said = self.numbers(node.input_value(index))
        if made is None or said is None or len(made) != len(said):
            return
        if None not in made:
            return
        dims = list(made)
        given = self.of(node.input_value(0)) if index else ()
        for axis, number in enumerate(said):
            if made[axis] is not None or not isinstance(number, str):
                continue
            own: Dimension = 1
            behind = len(made) - axis
            if given is not None and behind <= len(given):
                own = given[-behind]
            if own in (1, number):
                dims[axis] = number
        self._give(node.output(0), dims)

    def _follow_reshape(self, node: ov.Node) -> None:
        """It gives as many elements as it takes."""
        given = self.of(node.input_value(0))
        made = self.of(node.output(0))
        if given is None or made is None or made.count(None) != 1:
            return
        known = [d for d in made if d is not None]
        rest = self.products.quotient(given, known)
        output = node.output(0)
        axis = made.index(None)
        if isinstance(rest, int):
            shape = output.get_partial_shape()
            shape[axis] = ov.Dimension(rest)
            node.set_output_type(0, output.get_element_type(), shape)
        else:
            dims = list(made)
            dims[axis] = rest
            self._give(output, dims)

    def _follow_one_hot(self, node: ov.Node) -> None:
        """Its new dimension is as long as an input says, which may be a dimension."""
        made = self.of(node.output(0))
        depth = self.numbers(node.input_value(1))
        if made is None or depth is None or len(depth) != 1:
            return
        axis = int(node.get_attributes()["axis"]) % len(made)
        dims = list(self.of(node.input_value(0)) or made[1:])
        dims.insert(axis, depth[0])
        self._give(node.output(0), dims)

    def _follow_bodies(self, node: ov.Node) -> None:
        returned: dict[int, list[ov.Output]] = {}
        stacked: dict[int, int] = {}
        for index, (_, body) in enumerate(bodies(node)):
            given, made = descriptions(node, index)
            inner = body.get_parameters()
            results = body.get_results()
            carried = {}
            for each in given:
                value = node.input_value(each.input_index)
                outer = self.of(value)
                parameter = inner[each.body_parameter_index]
                shape = self._named(parameter.get_partial_shape(), outer)
                parameter.set_partial_shape(shape)
                if isinstance(each, util.MergedInputDescription):
                    carried[each.body_value_index] = parameter
                elif isinstance(each, util.InvariantInputDescription):
                    hand_over(value, parameter.output(0))
            is_changed = True
            while is_changed:
                self._follow(body)
                is_changed = False
                for i, parameter in carried.items():
                    own = self.of(parameter.output(0))
                    back = self.of(results[i].input_value(0))
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
            known = []
            for end in ends:
                dims = list(self.of(end) or ())
                axis = stacked.get(i)
                if axis is not None and 0 <= axis < len(dims):
                    dims[axis] = None
                known.append(dims)
            self._give(node.output(i), *known)


def descriptions(node: ov.Node, index: int) -> tuple[list[Any], list[Any]]:
    """What goes into a body of a node, and what comes out."""
    which = [index] if node.get_type_name() == "If" else []
    return node.get_input_descriptions(*which), node.get_output_descriptions(*which)


def _completed(dims: Sequence[Dimension], said: Sequence[Dimension]) -> Dimensions:
    """The dimensions, with what has been said of those that are not known."""
    found = list(dims)
    for axis, number in enumerate(said):
        if found[axis] is None:
            found[axis] = number
    return tuple(found)
