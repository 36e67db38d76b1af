"""A node of ONNX as the rules see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.constants import small_constant, tensor_in
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.in_onnx.rows.dimensions import INTEGERS, MOST_NUMBERS
from onnx_philox._rewriting.in_onnx.rows.symbolic_shapes import SymbolicShapes
from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import counting, masks
from onnx_philox._rewriting.rows.known import Knowledge
from onnx_philox._rewriting.rows.step import Step


def label_of(node: ir.Node) -> str:
    """What messages call a node: its name, or what it gives, and its operator."""
    name = node.name or (node.outputs[0].name if node.outputs else "")
    return f"{name!r} ({node.op_type})"


def step_of(
    node: ir.Node,
    known: Sequence[Knowledge | None],
    shapes: SymbolicShapes,
    batch: str,
    of_call: Mapping[str, ir.Attr],
    opset: int,
    is_alike: Callable[[ir.Value], bool],
    at_home: Callable[[ir.Value], ir.Value],
) -> Step:
    """A node as the rules see it.

    Args:
        node: The node.
        known: What is known of its inputs.
        shapes: What is known of shapes.
        batch: The name of the dimension that is the batch.
        of_call: The attributes of the call of the function around it.
        opset: The version of its domain.
        is_alike: Whether a batch makes a value longer, at most.
        at_home: What an input of a function stands for.
    """
    walk = shapes.walk

    def attribute(name: str) -> ir.Attr | None:
        found = node.attributes.get(name)
        if found is not None and found.is_ref():
            return of_call.get(found.ref_attr_name or "")
        return found

    def ints(name: str) -> Sequence[int] | None:
        found = attribute(name)
        if found is None or isinstance(found.value, str | bytes):
            return None
        return found.value if isinstance(found.value, Sequence) else [found.value]

    def text(name: str) -> str | None:
        found = attribute(name)
        if found is None or found.type is not ir.AttributeType.STRING:
            return None
        return found.as_string()

    def numbers(index: int) -> Sequence[Dimension] | None:
        value = node.inputs[index] if index < len(node.inputs) else None
        if value is None:
            return None
        return _numbers(shapes, value)

    def begins_with_row(index: int) -> bool:
        value = node.inputs[index]
        return value is not None and counting.begins_with_row(producers, value, batch)

    def are_own_indices(index: int) -> bool:
        value = node.inputs[index]
        if value is None:
            return False
        return counting.begins_with_row(producers, value, batch, are_others_alike=True)

    def maker(value: ir.Value) -> counting.Producer[ir.Value] | None:
        return _maker(at_home(value))

    def constant_at(value: ir.Value) -> NDArray[Any] | None:
        return _array(at_home(value))

    def may_mask(index: int, use: masks.Use) -> bool:
        value = node.inputs[index]
        if value is None:
            return False
        return masks.may_mask(value, maker, constant_at, use)

    def array(index: int) -> NDArray[Any] | None:
        value = node.inputs[index]
        return None if value is None else masks.constant_of(value, maker, constant_at)

    def repeated(index: int) -> Dimension:
        value = node.inputs[index]
        return None if value is None else counting.repeated_number(producers, value)

    producers = counting.Producers(_producer, walk.dimensions, partial(_numbers, shapes), is_alike)
    return Step(
        label=label_of(node),
        names=["" if value is None else value.name or "" for value in node.inputs],
        known=known,
        dims=[walk.dimensions(value) for value in node.inputs],
        made=[walk.dimensions(value) for value in node.outputs],
        products=shapes.products,
        batch=batch,
        ints=ints,
        text=text,
        numbers=numbers,
        begins_with_row=begins_with_row,
        are_own_indices=are_own_indices,
        masks=may_mask,
        array=array,
        repeated=repeated,
        opset=opset,
    )


def _array(value: ir.Value) -> NDArray[Any] | None:
    """The constant that a value is, or the number that it is all of."""
    node = value.producer()
    if node is None or node.op_type != "ConstantOfShape":
        try:
            return small_constant(value, masks.MOST_NUMBERS)
        except ValueError:
            # It is damaged, or in a file of its own, which is not there.
            return None
    number = node.attributes.get("value")
    if number is None:
        return np.zeros(1, np.float32)
    return None if number.is_ref() else np.asarray(tensor_in(number).numpy())


def _numbers(shapes: SymbolicShapes, value: ir.Value) -> Sequence[Dimension] | None:
    """The integers that a value is, some of which may be dimensions."""
    array = small_constant(value, MOST_NUMBERS)
    if array is None:
        array = shapes.walk.numbers.of(value)
    return None if array is None else array.reshape(-1).tolist()


def _producer(value: ir.Value) -> counting.Producer[ir.Value] | None:
    node = value.producer()
    is_cast = node is not None and node.op_type == "Cast"
    if node is not None and is_cast and node.attributes.get_int("to") not in INTEGERS:
        return None
    return _maker(value)


def _maker(value: ir.Value) -> counting.Producer[ir.Value] | None:
    node = value.producer()
    if node is None or node.domain not in STANDARD_DOMAINS:
        return None
    return counting.Producer(node.op_type, [each for each in node.inputs if each is not None])
