"""Keeps the exact values of constant inputs, before the CPU plugin changes them.

The plugin hands f64 to a custom operator as f32, i64 as i32, and uint32 constants clamped to
2^31-1. So an operator reads the value of a constant input while the constant still has its declared
type. It keeps the value as text in an attribute, which IR stores with the operator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract.openvino_plugin import CAPTURED, EXTENSION, MAX_ELEMENTS, NEVER_CONSTANT
from onnx_philox._contract.operators import Input, Role
from onnx_philox._contract.types import BY_DTYPE, BY_NAME, ElementType
from onnx_philox._openvino_models import arrays

_NUMPY_RANK = 32
"""Every NumPy has arrays of so many dimensions; no input is allowed more than 8."""

_INT32 = np.iinfo(np.int32)


def to_text(array: NDArray[Any], types: Sequence[ElementType]) -> str:
    """The elements, exactly: integers in decimal, floats in hexadecimal.

    If the input may have several types, the type comes first: "f64: 0x1.8p-1".
    """
    elements = array.reshape(-1)
    if np.issubdtype(array.dtype, np.integer):
        numbers = ", ".join(str(x) for x in elements.tolist())
    else:
        numbers = ", ".join(float(x).hex() for x in elements)
    return numbers if len(types) == 1 else f"{BY_DTYPE[array.dtype].name}: {numbers}"


def from_text(text: str, types: Sequence[ElementType]) -> NDArray[Any]:
    """The elements that `to_text` wrote, of rank 1."""
    name, _, numbers = text.rpartition(": ")
    type_ = BY_NAME[name] if name else types[0]
    parse = float.fromhex if type_.is_float else int
    return np.array([parse(x) for x in numbers.split(",") if x], type_.dtype)


class Upstream:
    """What is known of the nodes upstream of a node; it looks at each node once.

    OpenVINO folds the same nodes when it compiles a model, before its plugin narrows types. Use an
    object for one validation only, since a model may change between two. A network may be deep, so
    no walk recurses.
    """

    def __init__(self) -> None:
        self._is_constant: dict[str, bool] = {}
        self._values: dict[str, NDArray[Any] | None] = {}

    def is_constant(self, node: ov.Node) -> bool:
        """Whether a node depends on constants only, of any type and size."""
        known = self._is_constant
        start = node.get_name()
        if start in known:
            return known[start]
        way = [(start, _inputs_unless_varying(node))]
        while way:
            name, inputs = way[-1]
            source = None if inputs is None else next(inputs, None)
            source_name = "" if source is None else source.get_name()
            if inputs is None or known.get(source_name) is False:
                # If one input varies, everything downstream varies.
                known.update((passed, False) for passed, _ in way)
                break
            if source is None:
                known[name] = True
                way.pop()
            elif source_name not in known:
                way.append((source_name, _inputs_unless_varying(source)))
        return known[start]

    def value_of(self, node: ov.Node) -> NDArray[Any] | None:
        """The value of a node's only output; None if it is unknown or large."""
        # If a node is known to vary, skip the look at its shape, which takes longest.
        start = node.get_name()
        if self._is_constant.get(start) is False:
            return None
        if start in self._values:
            return self._values[start]
        if not _is_small(node) or not self.is_constant(node):
            return None
        way = [(node, _inputs_if_small(node))]
        while way:
            last, inputs = way[-1]
            name = last.get_name()
            if name in self._values:
                way.pop()
                continue
            source = None if inputs is None else next(inputs, None)
            if source is None:
                self._values[name] = None if inputs is None else self._compute(last)
            elif source.get_name() not in self._values:
                way.append((source, _inputs_if_small(source)))
            elif self._values[source.get_name()] is None:
                # The other inputs are not looked at.
                self._values[name] = None
        return self._values[start]

    def _compute(self, node: ov.Node) -> NDArray[Any] | None:
        """The value of a computable node whose inputs are all known."""
        if node.get_type_name() == "Constant":
            return arrays.memory(node).copy()
        tensors = []
        for source in node.input_values():
            value = self._values[source.get_node().get_name()]
            if value is None:
                return None
            tensor = ov.Tensor(source.get_element_type(), ov.Shape(value.shape))
            arrays.memory(tensor)[...] = value
            tensors.append(tensor)
        output = node.output(0)
        result = ov.Tensor(output.get_element_type(), output.get_shape())
        try:
            is_computed = node.evaluate([result], tensors)
        except RuntimeError:
            # An operator that OpenVINO cannot compute by itself.
            return None
        return arrays.memory(result).copy() if is_computed else None


def _inputs_unless_varying(node: ov.Node) -> Iterator[ov.Node] | None:
    if node.get_type_name() == "Constant":
        return iter(())
    return None if _may_vary(node) else (s.get_node() for s in node.input_values())


def _inputs_if_small(node: ov.Node) -> Iterator[ov.Node] | None:
    return (s.get_node() for s in node.input_values()) if _is_small(node) else None


def _is_small(node: ov.Node) -> bool:
    """Whether a node has one output, with a known type and shape and few plain numbers."""
    if node.get_output_size() != 1:
        return False
    shape = node.get_output_partial_shape(0)
    # Neither texts nor numbers that share a byte.
    if not shape.is_static or not 8 <= node.get_output_element_type(0).bitwidth <= 64:
        return False
    if len(shape) > _NUMPY_RANK:
        return False
    return math.prod(arrays.dimensions(node.get_output_shape(0))) <= MAX_ELEMENTS


def _may_vary(node: ov.Node) -> bool:
    """Whether a node is a source of data but not a constant."""
    return (
        node.get_input_size() == 0
        or node.get_type_name() in NEVER_CONSTANT
        or node.get_type_info().version_id == EXTENSION
    )


def agree(kept: NDArray[Any], arrived: NDArray[Any]) -> bool:
    """Whether the plugin, or saving in f16, may have turned a constant into `arrived`."""
    if kept.size != arrived.size:
        return False
    arrived = arrived.reshape(-1)
    if np.issubdtype(kept.dtype, np.integer):
        clamped = np.clip(kept, _INT32.min, _INT32.max) if kept.size else kept
        same = (arrived == clamped) | (arrived == kept.astype(np.int32))
        return bool((same | (arrived == kept)).all())
    # A conversion clamps wide numbers to a narrow type's largest. bf16 has the fewest bits, f16 the
    # fewest exponents.
    largest = float(ml_dtypes.finfo(arrived.dtype).max)  # type: ignore[no-untyped-call]
    a, b = (np.clip(x.astype(np.float64), -largest, largest) for x in (arrived, kept))
    return bool((a == b).all() or np.allclose(a, b, rtol=2**-7, atol=2**-24))


def is_captured(declared: Input) -> bool:
    """Whether an attribute holds the value of an input that is constant.

    Data arrive in whichever type the plugin computes them.
    """
    return declared.role not in (Role.SHAPE, Role.DATA)


def captured(declared: Input) -> str:
    """The attribute that holds the value of a constant input."""
    return CAPTURED + declared.name
