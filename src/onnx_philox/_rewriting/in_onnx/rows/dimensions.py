"""Integers that are computed from dimensions.

Exporters compute shapes of them; the nodes that they use for that are followed here, and any other
node gives integers that are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.constants import small_constant, tensor_in
from onnx_philox._models.graphs import STANDARD_DOMAINS, input_of
from onnx_philox._rewriting.places import Dimension, Dimensions, Products

_INTEGERS = {ir.DataType.INT32.value, ir.DataType.INT64.value}

# A tensor with more numbers than this is neither a shape nor axes.
MOST_NUMBERS = 64

Numbers = NDArray[np.object_]
"""A small tensor of integers or booleans, some of which may be dimensions."""


class Arithmetic:
    """Follows integers through the nodes that exporters compute shapes with."""

    def __init__(
        self, products: Products, dimensions: Callable[[ir.Value], Dimensions | None]
    ) -> None:
        self._products = products
        self._dimensions = dimensions
        self._of_calls: dict[tuple[ir.Node, ...], dict[ir.Value, Numbers | None]] = {}
        self._known = self._of_calls.setdefault((), {})

    def enter(self, calls: tuple[ir.Node, ...]) -> None:
        """Goes to the function that some calls, the last one in the others, have called."""
        self._known = self._of_calls.setdefault(calls, {})

    def of(self, value: ir.Value | None) -> Numbers | None:
        """The integers that a value is; None where it is anything else."""
        if value is None:
            return None
        if value not in self._known and value.producer() is None:
            self._known[value] = _of_array(small_constant(value, MOST_NUMBERS))
        return self._known.get(value)

    def give(self, value: ir.Value, numbers: Numbers | None) -> None:
        """Says what a value is."""
        self._known[value] = numbers

    def follow(self, node: ir.Node) -> None:
        """Computes the output of a node from inputs that have been followed."""
        rule = _RULES.get(node.op_type) if node.domain in STANDARD_DOMAINS else None
        for output in node.outputs:
            self._known[output] = None
        try:
            numbers = None if rule is None else rule(self, node)
        except (IndexError, ValueError):  # of NumPy, of a node that is wrong
            return
        if numbers is not None and np.size(numbers) <= MOST_NUMBERS:
            # NumPy gives an element in place of an array without dimensions.
            self._known[node.outputs[0]] = np.array(numbers, object)

    def said_by(self, value: ir.Value | None) -> list[int] | None:
        """The numbers of a vector, or of a scalar; none of them where there is no such input."""
        numbers = None if value is None else whole(self.of(value))
        if numbers is None:
            return [] if value is None else None
        return [int(number) for number in numbers.reshape(-1)]

    def _constant(self, node: ir.Node) -> Numbers | None:
        return _of_array(small_constant(node.outputs[0], MOST_NUMBERS))

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
        if node.op_type == "Cast" and node.attributes.get_int("to") not in _INTEGERS:
            return None
        if data is None or dims is None:
            return None
        shape = [d for d in dims if isinstance(d, int)]
        return data.reshape(shape) if len(shape) == len(dims) else None

    def _filled(self, node: ir.Node) -> Numbers | None:
        shape, fill = self.said_by(node.inputs[0]), node.attributes.get("value")
        value = None if fill is None else _of_array(tensor_in(fill).numpy())
        if shape is None or value is None or prod(shape) > MOST_NUMBERS:
            return None
        return np.full(shape, value.item(), object)

    def _elementwise(self, node: ir.Node) -> Numbers | None:
        inputs = [given for value in node.inputs if (given := self.of(value)) is not None]
        if len(inputs) < len(node.inputs):
            return None
        compute = getattr(self, f"_{node.op_type.lower()}")
        numbers: Numbers = np.frompyfunc(compute, len(inputs), 1)(*inputs)
        return numbers

    def _add(self, a: Dimension, b: Dimension) -> Dimension:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return self._products.sum([a, b])

    def _sub(self, a: Dimension, b: Dimension) -> Dimension:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return self._products.sum([a, -b]) if isinstance(b, int) else None

    def _mul(self, a: Dimension, b: Dimension) -> Dimension:
        return self._products.of((a, b))

    def _div(self, a: Dimension, b: Dimension) -> Dimension:
        whole = _divided(a, b)
        return self._products.quotient((a,), (b,)) if whole is None else whole[0]

    def _mod(self, a: Dimension, b: Dimension) -> Dimension:
        return (_divided(a, b) or (None, None))[1]

    def _equal(self, a: Dimension, b: Dimension) -> Dimension:
        if a is None or b is None:
            return None
        if a == b:
            return 1
        if isinstance(a, int) and isinstance(b, int):
            return 0
        # No dimension is negative.
        return 0 if any(isinstance(d, int) and d < 0 for d in (a, b)) else None

    def _where(self, condition: Dimension, a: Dimension, b: Dimension) -> Dimension:
        if condition is None:
            return a if a == b else None
        return a if condition else b


def _divided(a: Dimension, b: Dimension) -> tuple[int, int] | None:
    """The quotient and the rest, of numbers for which all rules are one."""
    if isinstance(a, int) and isinstance(b, int) and a >= 0 and b > 0:
        return divmod(a, b)
    return None


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
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "Equal", "Where"), Arithmetic._elementwise),
}
