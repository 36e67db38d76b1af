"""What constants compute upstream of a node, before OpenVINO folds them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract.openvino_plugin import EXTENSION, MAX_ELEMENTS, NEVER_CONSTANT
from onnx_philox._openvino_models import arrays

_NUMPY_RANK = 32
"""Every NumPy has arrays of so many dimensions; no input is allowed more than 8."""


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
                for passed, _ in way:
                    known[passed] = False
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
                value = None
                if inputs is not None:
                    value = self._compute(last)
                self._values[name] = value
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
            source_name = source.get_node().get_name()
            value = self._values[source_name]
            if value is None:
                return None
            shape = ov.Shape(value.shape)
            tensor = ov.Tensor(source.get_element_type(), shape)
            arrays.memory(tensor)[...] = value
            tensors.append(tensor)
        output = node.output(0)
        result = ov.Tensor(output.get_element_type(), output.get_shape())
        try:
            is_computed = node.evaluate([result], tensors)
        except RuntimeError:
            # An operator that OpenVINO cannot compute by itself.
            return None
        if not is_computed:
            return None
        return arrays.memory(result).copy()


def _inputs_unless_varying(node: ov.Node) -> Iterator[ov.Node] | None:
    if node.get_type_name() == "Constant":
        return iter(())
    if _may_vary(node):
        return None
    return (s.get_node() for s in node.input_values())


def _inputs_if_small(node: ov.Node) -> Iterator[ov.Node] | None:
    if not _is_small(node):
        return None
    return (s.get_node() for s in node.input_values())


def _is_small(node: ov.Node) -> bool:
    """Whether a node has one output, with a known type and shape and few plain numbers."""
    if node.get_output_size() != 1:
        return False
    shape = node.get_output_partial_shape(0)
    # Neither texts nor numbers that share a byte.
    bits = node.get_output_element_type(0).bitwidth
    if not shape.is_static or not 8 <= bits <= 64:
        return False
    if len(shape) > _NUMPY_RANK:
        return False
    dimensions = arrays.dimensions(node.get_output_shape(0))
    return math.prod(dimensions) <= MAX_ELEMENTS


def _may_vary(node: ov.Node) -> bool:
    """Whether a node is a source of data but not a constant."""
    return (
        node.get_input_size() == 0
        or node.get_type_name() in NEVER_CONSTANT
        or node.get_type_info().version_id == EXTENSION
    )
