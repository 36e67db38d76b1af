"""Which indices begin with the number of their row: `x[torch.arange(batch), places]` has such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from onnx_philox._rewriting.places import Dimension, Dimensions

Value = TypeVar("Value")

_AS_THEY_ARE = frozenset({"Cast", "Convert", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""What gives the elements of its first input in their order."""
_REPEATED = frozenset({"Broadcast", "Expand"})
_ALIKE = _AS_THEY_ARE | _REPEATED | {"Tile"}
"""What gives no other numbers than its first input has."""
_MOST_NODES = 20


@dataclass(frozen=True)
class Producer(Generic[Value]):
    """The node that makes a value."""

    kind: str
    """Its operator."""
    inputs: Sequence[Value]


@dataclass(frozen=True)
class Producers(Generic[Value]):
    """What is asked of a graph, of ONNX or of OpenVINO."""

    producer: Callable[[Value], Producer[Value] | None]
    """What makes a value; None for an input, and where it is no int32 or int64."""
    dims: Callable[[Value], Dimensions | None]
    numbers: Callable[[Value], Sequence[Dimension] | None]
    """The integers that a value is, some of which may be dimensions."""
    is_alike: Callable[[Value], bool]
    """Whether a batch makes a value longer, at most."""


def repeated_number(producers: Producers[Value], value: Value) -> Dimension:
    """The integer that each element of a value is; None where nobody knows."""
    for _ in range(_MOST_NODES):
        producer = producers.producer(value)
        if producer is not None and producer.kind == "Gather":
            return _picked_number(producers, producer)
        dims = producers.dims(value)
        is_static = dims is not None and all(isinstance(d, int) for d in dims)
        numbers = producers.numbers(value) if is_static else None
        if numbers and len(set(numbers)) == 1:
            return numbers[0]
        if producer is None or producer.kind not in _ALIKE:
            return None
        value = producer.inputs[0]
    return None


def _picked_number(producers: Producers[Value], gather: Producer[Value]) -> Dimension:
    """What a Gather takes of a vector, as the size of a dimension of its shape."""
    given, indices = gather.inputs[:2]
    numbers = producers.numbers(given)
    shape = producers.producer(given)
    if shape is not None and shape.kind == "ShapeOf":
        # OpenVINO knows no numbers of it where one dimension is dynamic.
        numbers = producers.dims(shape.inputs[0])
    picked = producers.numbers(indices)
    if not numbers or not picked or len(picked) > 1:
        return None
    if producers.dims(given) != (len(numbers),):
        return None
    index = picked[0]
    if not isinstance(index, int):
        return None
    if index not in range(-len(numbers), len(numbers)):
        return None
    return numbers[index]


def begins_with_row(
    producers: Producers[Value],
    value: Value,
    batch: str,
    *,
    are_others_alike: bool = False,
) -> bool:
    """Whether slice i of the first dimension has i as the first of each index.

    Each value on the way from a Range to the indices has the batch as its first dimension.

    Args:
        producers: What is asked of the graph.
        value: The indices.
        batch: The name of the dimension that is the batch.
        are_others_alike: Whether a batch must make what stands behind the first longer, at most.
    """
    of_all = producers.dims(value)
    depth = of_all[-1] if of_all else None
    while True:
        dims, producer = producers.dims(value), producers.producer(value)
        if producer is None or not dims or dims[0] != batch or not producer.inputs:
            return False
        first = producer.inputs[0]
        given = producers.dims(first)
        if producer.kind == "Range":
            ends = [producers.numbers(end) for end in producer.inputs]
            return [None if end is None else [*end] for end in ends] == [[0], [batch], [1]]
        is_same_rank = given is not None and len(given) == len(dims)
        if producer.kind == "Concat":
            # Of one column, with others behind it.
            if given is None or (*dims[:-1], 1) != given or len(dims) < 2:
                return False
            if dims[-1] != depth:
                # What was behind a row's number may be the first of another index.
                return False
            if are_others_alike and not all(map(producers.is_alike, producer.inputs[1:])):
                return False
        elif producer.kind in _REPEATED:
            if not is_same_rank:
                return False
        elif producer.kind not in _AS_THEY_ARE:
            return False
        value = first
