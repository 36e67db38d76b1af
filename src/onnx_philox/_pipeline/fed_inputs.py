"""The inputs that a model takes beside its state, and what a feed holds for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import feeds, given_arrays
from onnx_philox._contract.refusal import refuse
from onnx_philox._runtimes.first_state import carriers, rows_along
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Port

Feed = Any
"""A mapping of names to arrays, or what else an engine takes in its place."""

_NAME = "Pipeline"


class Inputs:
    """Checks feeds, in one way for every runtime.

    The pipeline feeds the state. The other inputs have no type where the runtime decides what it
    takes; the model knows other names of them, and takes values that are no arrays.
    """

    def __init__(self, state: str, ports: Iterable[Port], model: LoadedModel) -> None:
        self._state = state
        self._model = model
        self._aliases = model.aliases
        self._ports = {port.name: port for port in ports}
        self._types = {port.name: port.dtype for port in self._ports.values()}
        self._of_one = [
            port.name for port in self._ports.values() if feeds.takes_one_number(port.shape)
        ]
        self._required = [port.name for port in self._ports.values() if port.is_required]

    def of(self, feed: Feed) -> dict[str, Any]:
        """What a feed holds, with arrays whose memory is as their type says.

        Raises:
            TypeError: The feed is no mapping, or an input is None or an array of another type.
            ValueError: An input is missing, unknown or masked in part.
        """
        check_mapping(feed)
        if self._aliases:
            feed = self._by_own_names(feed)
        types = self._types
        array = np.ndarray
        taken = dict(feed)
        for name, value in feed.items():
            # An array of the input's own type needs no check.
            if type(value) is not array or value.dtype is not types.get(name):
                taken[name] = self._checked(name, value)
        feeds.with_one_element(taken, self._of_one)
        for name in self._required:
            if name not in taken:
                remedy = f"Pass an array for each of {', '.join(self._listed(self._required))}."
                feeds.refuse_missing(_NAME, [name], remedy)
        return taken

    def _by_own_names(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """The feed, by the names that the model gives its inputs."""
        named: dict[str, Any] = {}
        for name, value in feed.items():
            own = self._aliases.get(name, name)
            if own in named:
                remedy = f"Leave one of its names out: {name!r} is another."
                refuse(_NAME, feeds.title(own), "two values", "given once", remedy)
            named[own] = value
        return named

    def _checked(self, name: str, value: Any) -> Any:
        if name == self._state:
            refuse_state(name)
        port = self._ports.get(name)
        what = feeds.title(name)
        if port is None:
            remedy = feeds.OWN_VALUE if name in self._model.own_values else feeds.RENAME
            known = self._listed(self._ports) or [self._state]
            feeds.refuse_unknown(_NAME, repr(name), known, remedy)
        wanted = port.dtype
        if value is None:
            if port.is_required:
                type_ = "an array" if wanted is None else wanted.name
                feeds.refuse_type(_NAME, name, None, type_)
            return None
        taken = self._model.taken(value)
        if taken is not None:
            given_arrays.check_input(_NAME, what, taken)
        elif wanted is None and not isinstance(value, np.ndarray | np.generic):
            # A sequence, or text, say: the runtime decides.
            return value
        else:
            taken = given_arrays.array_of(_NAME, what, value)
            if wanted is not None and not hasattr(value, "__array__"):
                taken = _in_type(taken, wanted)
        if wanted is not None and isinstance(taken, np.ndarray) and taken.dtype != wanted:
            type_ = taken.dtype.name
            is_of_numbers = taken.dtype.kind not in "OU"
            if not is_of_numbers and not isinstance(value, np.ndarray | list | tuple):
                type_ = type(value).__name__
            feeds.refuse_type(_NAME, name, type_, wanted.name)
        return taken

    def check_shapes(self, taken: Mapping[str, Any]) -> None:
        """Refuses arrays of other shapes, where a runtime has failed: it may not say which.

        Raises:
            ValueError: The shape of an input is another than the model's.
        """
        for name, value in taken.items():
            port = self._ports.get(name)
            if port is None or not isinstance(value, np.ndarray):
                continue
            if not port.takes(value.shape):
                shape = str([*value.shape])
                feeds.refuse_shape(_NAME, name, shape, port.shape_name)

    def _listed(self, names: Iterable[str]) -> list[str]:
        """The inputs of these names, with their types."""
        listed = []
        for name in names:
            dtype = self._ports[name].dtype
            listed.append(name if dtype is None else f"{name} ({dtype.name})")
        return listed


def _in_type(numbers: NDArray[Any], wanted: np.dtype[Any]) -> NDArray[Any]:
    """Python's numbers in an input's type, to which floats are rounded; else as they are."""
    if numbers.dtype.kind not in "biuf":
        return numbers
    with np.errstate(invalid="ignore", over="ignore"):
        cast = numbers.astype(wanted)
    if wanted.kind in "biu" and not (cast == numbers).all():
        return numbers
    return cast


def refuse_state(name: str) -> NoReturn:
    """Refuses a state in a feed, or in a binding."""
    allowed = "left out of the feed, since the pipeline feeds the state of its seed"
    refuse(_NAME, feeds.title(name), "a value", allowed, "Pass it as state=... instead.")


def check_mapping(feed: Feed) -> None:
    """Refuses what is no feed.

    Raises:
        TypeError: It is no mapping.
    """
    if type(feed) is not dict and not isinstance(feed, Mapping):
        given = type(feed).__name__
        remedy = "Pass the inputs by name."
        refuse(_NAME, "the feed", given, "a mapping of names to arrays", remedy, TypeError)


class RowCount:
    """Counts the rows of feeds, for a model with a state for each row.

    Every dimension that has the name of the batch must be of one size: the runtimes would repeat a
    single row for the others, and then several rows had the numbers of one seed.

    Args:
        batch: The input of which a dimension is the batch, or the state where no other input is.
        axis: That dimension.
        ports: The inputs beside the state.
        aliases: Other names of inputs, and the inputs that they mean.
    """

    def __init__(
        self,
        batch: str,
        axis: int,
        ports: Iterable[Port],
        aliases: Mapping[str, str],
    ) -> None:
        self._aliases = aliases
        self._carriers = carriers(ports, batch, axis)

    def of(self, feed: Mapping[str, Any]) -> int | None:
        """How many rows a feed has; None if no input shows it.

        Raises:
            ValueError: An input has another rank than the model's or is lists that make no array;
                or two inputs differ in their rows.
        """
        by_name = feed
        if self._aliases:
            by_name = {self._aliases.get(name, name): value for name, value in feed.items()}
        first = ""
        rows = None
        for port, axis in self._carriers:
            shape = _shape_of(port.name, by_name.get(port.name))
            if shape is None:
                continue
            if len(shape) != port.rank:
                feeds.refuse_shape(_NAME, port.name, str([*shape]), port.shape_name)
            of_port = rows_along(axis, shape)
            if rows is None:
                first = port.name
                rows = of_port
            elif of_port is not None and of_port != rows:
                what = f"{port.name!r}"
                if axis:
                    what = f"dimension {axis} of {what}"
                allowed = f"{rows}, as that of {first!r} is"
                remedy = "Feed all of them with a row for each seed or state."
                refuse(_NAME, f"the number of rows of {what}", of_port, allowed, remedy)
        return rows


def _shape_of(name: str, value: Any) -> tuple[int, ...] | None:
    """The shape of an array, of lists, or of a runtime's own value; None if it has none."""
    if type(value) is np.ndarray:
        array_shape: tuple[int, ...] = value.shape
        return array_shape
    if value is None:
        return None
    shape = getattr(value, "shape", None)
    if callable(shape):
        # An `onnxruntime.OrtValue`.
        shape = shape()
    if shape is None:
        shape = given_arrays.array_of(_NAME, feeds.title(name), value).shape
    return tuple(map(int, shape))
