"""The rows of a batch, as the inputs that carry it show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnx_philox._contract import arrays, feeds
from onnx_philox._contract.refusal import refuse
from onnx_philox._runtimes.port import Port

_NAME = "Pipeline"


class RowCount:
    """Counts the rows of feeds, for a model with a state for each row.

    Every dimension that has the name of the batch must be of one size: the runtimes would repeat a
    single row for the others, and then several rows had the numbers of one seed.

    Args:
        batch: The input whose first dimension is the batch, or the state where no other input is.
        ports: The inputs beside the state.
        aliases: Other names of inputs, and the inputs that they mean.
    """

    def __init__(self, batch: str, ports: Iterable[Port], aliases: Mapping[str, str]) -> None:
        named = {port.name: port for port in ports if port.shape}
        self._aliases = aliases
        self._carriers: list[tuple[Port, int]] = []
        if batch in named:
            first = (named.pop(batch), 0)
            name = (first[0].shape or (None,))[0]
            others = [
                (port, axis)
                for port in (first[0], *named.values())
                for axis, dimension in enumerate(port.shape or ())
                if isinstance(dimension, str) and dimension == name and (port, axis) != first
            ]
            self._carriers = [first, *others]

    def of(self, feed: Mapping[str, Any]) -> int | None:
        """How many rows a feed has; None if no input shows it.

        Raises:
            ValueError: An input has another rank than the model's or is lists that make no array;
                or two inputs differ in their rows.
        """
        by_name = {self._aliases.get(name, name): value for name, value in feed.items()}
        found: tuple[str, int] | None = None
        for port, axis in self._carriers:
            shape = _shape_of(port.name, by_name.get(port.name))
            if shape is None:
                continue
            if len(shape) != len(port.shape or ()):
                feeds.refuse_shape(_NAME, port.name, str([*shape]), port.shape_name)
            if found is None:
                found = port.name, shape[axis]
            elif shape[axis] != found[1]:
                what = f"dimension {axis} of {port.name!r}" if axis else f"{port.name!r}"
                allowed = f"{found[1]}, as that of {found[0]!r} is"
                remedy = "Feed all of them with a row for each seed or state."
                refuse(_NAME, f"the number of rows of {what}", shape[axis], allowed, remedy)
        return None if found is None else found[1]


def _shape_of(name: str, value: Any) -> tuple[int, ...] | None:
    """The shape of an array, of lists, or of a runtime's own value; None if it has none."""
    if value is None:
        return None
    shape = getattr(value, "shape", None)
    if callable(shape):
        # An `onnxruntime.OrtValue`.
        shape = shape()
    if shape is None:
        shape = arrays.array_of(_NAME, feeds.title(name), value).shape
    return tuple(map(int, shape))
