"""Integers that are computed from dimensions.

Exporters compute shapes of them; the nodes that they use for that are followed here, and any other
node gives integers that are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.constants import small_constant, tensor_in
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, input_of
from onnx_philox._rewriting.places import Dimension, Dimensions, Products
from onnx_philox._rewriting.rows.sizes import SIZES

INTEGERS = {ir.DataType.INT32.value, ir.DataType.INT64.value}

_DRAWN = ("Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike")

# A tensor with more numbers than this is neither a shape nor axes.
MOST_NUMBERS = 64

Numbers = NDArray[np.object_]
"""A small tensor of integers or booleans, some of which may be dimensions."""


class Arithmetic:
    """Follows integers through the nodes that exporters compute shapes with."""

    def __init__(
        self,
        products: Products,
        dimensions: Callable[[ir.Value], Dimensions | None],
        is_whole: Callable[[ir.Value], bool],
    ) -> None:
        self._products = products
        self._dimensions = dimensions
        # Whether a value holds integers, or booleans.
        self._is_whole = is_whole
        self._calls: tuple[ir.Node, ...] = ()
        self._of_calls: dict[tuple[ir.Node, ...], dict[ir.Value, Numbers | None]] = {}
        self._known = self._of_calls.setdefault((), {})

    def enter(self, calls: tuple[ir.Node, ...]) -> None:
        """Goes to the function that some calls, the last one in the others, have called."""
        self._calls = calls
        self._known = self._of_calls.setdefault(calls, {})

    def of(self, value: ir.Value | None) -> Numbers | None:
        """The integers that a value is; None where nobody knows of which dimensions it is made.

        A number that is not known, or a floating-point one, has a name of its own.
        """
        if value is None:
            return None
        if value not in self._known and value.producer() is None:
            self._known[value] = self._constant_of(value)
        return self._known.get(value)

    def _constant_of(self, value: ir.Value) -> Numbers | None:
        array = small_constant(value, MOST_NUMBERS)
        if array is None or array.dtype.kind != "f":
            return _of_array(array)
        return self._named(value, array.shape, ())

    def give(self, value: ir.Value, numbers: Numbers | None) -> None:
        """Says what a value is."""
        self._known[value] = numbers

    def follow(self, node: ir.Node) -> None:
        """Computes the output of a node from inputs that have been followed."""
        for output in node.outputs:
            self._known[output] = None
        if node.domain not in STANDARD_DOMAINS:
            return
        rule = _RULES.get(node.op_type)
        try:
            numbers = None if rule is None else rule(self, node)
        except (IndexError, ValueError):  # of NumPy, of a node that is wrong
            return
        if numbers is None:
            numbers = self._made(node)
        if numbers is not None and np.size(numbers) <= MOST_NUMBERS:
            # NumPy gives an element in place of an array without dimensions.
            self._known[node.outputs[0]] = np.array(numbers, object)

    def said_by(self, value: ir.Value | None) -> list[int] | None:
        """The numbers of a vector, or of a scalar; none of them where there is no such input."""
        numbers = None if value is None else whole(self.of(value))
        if numbers is None:
            return [] if value is None else None
        return [int(number) for number in numbers.reshape(-1)]

    def _made(self, node: ir.Node) -> Numbers | None:
        """Names for numbers that are computed of others in any way."""
        given = [self.of(value) for value in node.inputs if value is not None]
        known = [numbers for numbers in given if numbers is not None]
        if not known or len(known) < len(given) or node.op_type in _DRAWN:
            return None
        dims = self._dimensions(node.outputs[0])
        shape = [d for d in dims or () if isinstance(d, int)]
        if dims is None or len(shape) < len(dims) or prod(shape) > MOST_NUMBERS:
            return None
        elements = [number for numbers in known for number in numbers.reshape(-1)]
        return self._named(node.outputs[0], shape, elements)

    def _named(
        self,
        value: ir.Value,
        shape: Sequence[int],
        elements: Sequence[Dimension],
    ) -> Numbers:
        """Names for the elements of a value, each computed of the same numbers."""
        names = [
            self._products.computed(place, elements, is_signed=True)
            for place in ((*self._calls, value, "element", i) for i in range(prod(shape)))
        ]
        return np.array(names, object).reshape(shape)

    def _constant(self, node: ir.Node) -> Numbers | None:
        return self._constant_of(node.outputs[0])

    def _shape(self, node: ir.Node) -> Numbers | None:
        dims = self._dimensions(input_of(node, 0))
        if dims is None:
            return None
        of = node.attributes.get_int
        return np.array(dims[of("start") : of("end")], object)

    def _size(self, node: ir.Node) -> Numbers | None:
        dims = self._dimensions(input_of(node, 0))
        return None if dims is None else np.array(self._products.of(dims), object)

    def _gather(self, node: ir.Node) -> Numbers | None:
        data, indices = self.of(node.inputs[0]), whole(self.of(node.inputs[1]))
        if data is None or indices is None:
            return None
        return data.take(indices, node.attributes.get_int("axis", 0))

    def _slice(self, node: ir.Node) -> Numbers | None:
        data, cuts = self.of(node.inputs[0]), self.cuts(node)
        if data is None or cuts is None:
            return None
        at = [slice(None)] * data.ndim
        for axis, (start, end, step) in cuts.items():
            if not (isinstance(start, int) and isinstance(end, int)):
                return None
            at[axis] = slice(start, end, step)
        return data[tuple(at)]

    def cuts(self, node: ir.Node) -> dict[int, tuple[Dimension, Dimension, int]] | None:
        """Where a Slice begins and ends on each axis, and its steps; None where it is not known."""
        starts, ends, axes, steps = [*node.inputs[1:], None, None, None, None][:4]
        of_starts, of_ends = self.of(starts), self.of(ends)
        along, by = self.said_by(axes), self.said_by(steps)
        if of_starts is None or of_ends is None or along is None or by is None:
            return None
        begins, stops = of_starts.reshape(-1).tolist(), of_ends.reshape(-1).tolist()
        along = along or list(range(len(begins)))
        by = by or [1] * len(begins)
        return dict(zip(along, zip(begins, stops, by, strict=False), strict=False))

    def _concat(self, node: ir.Node) -> Numbers | None:
        parts = [part for value in node.inputs if (part := self.of(value)) is not None]
        if len(parts) < len(node.inputs):
            return None
        return np.concatenate(parts, node.attributes["axis"].as_int())

    def _transpose(self, node: ir.Node) -> Numbers | None:
        data = self.of(node.inputs[0])
        return None if data is None else data.transpose(node.attributes.get_ints("perm") or None)

    def _reshaped(self, node: ir.Node) -> Numbers | None:
        """The same integers in the shape of the output."""
        data, dims = self.of(node.inputs[0]), self._dimensions(node.outputs[0])
        if node.op_type == "Cast" and not self._stays_whole(node):
            return None
        if data is None or dims is None:
            return None
        shape = [d for d in dims if isinstance(d, int)]
        return data.reshape(shape) if len(shape) == len(dims) else None

    def _stays_whole(self, node: ir.Node) -> bool:
        is_whole = node.attributes.get_int("to") in INTEGERS
        return is_whole and self._is_whole(input_of(node, 0))

    def _filled(self, node: ir.Node) -> Numbers | None:
        shape, fill = self.said_by(node.inputs[0]), node.attributes.get("value")
        value = None if fill is None else _of_array(tensor_in(fill).numpy())
        if shape is None or value is None or prod(shape) > MOST_NUMBERS:
            return None
        return np.full(shape, value.item(), object)

    def _elementwise(self, node: ir.Node) -> Numbers | None:
        inputs = [given for value in node.inputs if (given := self.of(value)) is not None]
        if len(inputs) < len(node.inputs) or not self._is_whole(input_of(node, -1)):
            return None
        compute = SIZES[node.op_type]

        def element(*given: Dimension) -> Dimension:
            return compute(self._products, *given)

        return np.array(np.frompyfunc(element, len(inputs), 1)(*inputs), object)


def whole(numbers: Numbers | None) -> NDArray[np.int64] | None:
    """Integers all of which are numbers; None for others."""
    if numbers is None or not all(isinstance(number, int) for number in numbers.reshape(-1)):
        return None
    return numbers.astype(np.int64)


def _of_array(array: NDArray[Any] | None) -> Numbers | None:
    if array is None or array.dtype.kind not in "iub":
        return None
    return np.array(array.astype(object))


_RULES: dict[str, Callable[[Arithmetic, ir.Node], Numbers | None]] = {
    "Constant": Arithmetic._constant,
    "Shape": Arithmetic._shape,
    "Size": Arithmetic._size,
    "Gather": Arithmetic._gather,
    "Slice": Arithmetic._slice,
    "Concat": Arithmetic._concat,
    "Transpose": Arithmetic._transpose,
    "ConstantOfShape": Arithmetic._filled,
    **dict.fromkeys(("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"), Arithmetic._reshaped),
    **dict.fromkeys(SIZES, Arithmetic._elementwise),
}
