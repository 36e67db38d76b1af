"""A node of OpenVINO as the rules see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._openvino_models.openvino_graphs import constant, opset_of
from onnx_philox._rewriting.places import Dimension, Dimensions, Products
from onnx_philox._rewriting.rows import counting, masks
from onnx_philox._rewriting.rows.known import Knowledge
from onnx_philox._rewriting.rows.step import Step


@dataclass(frozen=True)
class Sizes:
    """What is known of the sizes of tensors."""

    products: Products
    dims: Callable[[ov.Output], Dimensions | None]
    """The dimensions of a tensor."""
    numbers: Callable[[ov.Output], Sequence[Dimension] | None]
    """The integers that a tensor is."""


def step_of(
    node: ov.Node,
    known: Sequence[Knowledge],
    sizes: Sizes,
    batch: str = "",
    is_alike: Callable[[ov.Output], bool] = lambda _: False,
    at_home: Callable[[ov.Output], ov.Output] = lambda value: value,
) -> Step:
    """A node, given what is known of its inputs.

    Args:
        node: The node.
        known: What is known of its inputs.
        sizes: What is known of sizes.
        batch: The name of the dimension that is the batch.
        is_alike: Whether a batch makes a value longer, at most.
        at_home: What a parameter of a body stands for.
    """
    values = node.input_values()
    attributes = _Attributes(node)

    def numbers(index: int) -> Sequence[Dimension] | None:
        if index >= len(values):
            return None
        return sizes.numbers(values[index])

    producers = counting.Producers(_producer, sizes.dims, sizes.numbers, is_alike)

    def begins_with_row(index: int) -> bool:
        return counting.begins_with_row(producers, values[index], batch)

    def are_own_indices(index: int) -> bool:
        value = values[index]
        return counting.begins_with_row(producers, value, batch, are_others_alike=True)

    def maker(value: ov.Output) -> counting.Producer[ov.Output]:
        return _maker(at_home(value))

    def constant_at(value: ov.Output) -> NDArray[Any] | None:
        return _array(at_home(value))

    def may_mask(index: int, use: masks.Use) -> bool:
        return masks.may_mask(values[index], maker, constant_at, use)

    def array(index: int) -> NDArray[Any] | None:
        return masks.constant_of(values[index], maker, constant_at)

    return Step(
        label=f"{node.get_friendly_name()!r} ({node.get_type_name()})",
        names=[value.get_node().get_friendly_name() for value in values],
        known=known,
        dims=[sizes.dims(value) for value in values],
        made=[sizes.dims(value) for value in node.outputs()],
        products=sizes.products,
        batch=batch,
        ints=attributes.ints,
        text=attributes.text,
        numbers=numbers,
        begins_with_row=begins_with_row,
        are_own_indices=are_own_indices,
        masks=may_mask,
        array=array,
        repeated=lambda index: counting.repeated_number(producers, values[index]),
        opset=opset_of(node) or 1,
    )


def _producer(value: ov.Output) -> counting.Producer[ov.Output] | None:
    return _maker(value) if value.get_element_type() in (ov.Type.i32, ov.Type.i64) else None


def _maker(value: ov.Output) -> counting.Producer[ov.Output]:
    node = value.get_node()
    return counting.Producer(node.get_type_name(), node.input_values())


def _array(value: ov.Output) -> NDArray[Any] | None:
    shape = value.get_partial_shape()
    is_small = shape.is_static and np.prod(shape.to_shape()) <= masks.MOST_NUMBERS
    return constant(value) if is_small else None


class _Attributes:
    """Those of a node, which are read when the first of them is asked for."""

    def __init__(self, node: ov.Node) -> None:
        self._node = node
        self._read: dict[str, Any] | None = None

    def _of(self, name: str) -> Any:
        if self._read is None:
            self._read = self._node.get_attributes()
        return self._read.get(name)

    def ints(self, name: str) -> Sequence[int] | None:
        """See `Step`."""
        found = self._of(name)
        if found is None or isinstance(found, str):
            return None
        if isinstance(found, Sequence):
            return list(found)
        number: Any = found if isinstance(found, float) else int(found)
        return [number]

    def text(self, name: str) -> str | None:
        """See `Step`."""
        found = self._of(name)
        return found.lower() if isinstance(found, str) else None
