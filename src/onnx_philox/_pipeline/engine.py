"""Runs a model of either runtime with a state, and returns the next one."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _runtime_errors
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.types import BF16
from onnx_philox._pipeline.fed_inputs import Feed, Inputs, RowCount, check_mapping
from onnx_philox._pipeline.variables import Variables
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Port
from onnx_philox._runtimes.stated_model import NotAStateError, StatedModel

Outputs = dict[str, Any]


class EngineRun(NamedTuple):
    """What a run gives."""

    outputs: Outputs
    """By name, without the next state."""
    after: NDArray[np.uint32]
    """The next state."""
    variables: Variables
    """What the model's own variables hold then."""
    values: Sequence[Any]
    """All outputs in their order, the next state among them; none of a binding."""
    fed: dict[str, Any] | None
    """The inputs that it ran with, beside the state; None of a binding, whose memory is the user's.
    """


class Engine:
    """A model in a runtime; any number of threads may run it at once."""

    def __init__(self, model: LoadedModel, streams: Streams, stamp: object) -> None:
        self.streams = streams
        self.generator = streams.generator
        """Asked once, since every call needs it."""
        self.model = model
        self.opened_from: Any = None
        """What a pipeline of a path or of bytes was asked for (`opening.Wanted`)."""
        self.device = ""
        """The device that a user named, if one did."""
        self.reference = weakref.ref(self)
        """For results, which do not keep the engine."""
        self.stamp = stamp
        """What its files were when they were read."""
        (state,) = (port for port in model.inputs if port.name == streams.state)
        self._stated = StatedModel(model, state, streams.next_state)
        next_index = self._stated.next_index
        self._outputs = {i: name for i, name in enumerate(model.outputs) if i != next_index}
        ports = [_checkable(port) for port in model.inputs if port is not state]
        ports += map(_checkable, model.dropped)
        self.ports = ports
        """The inputs that a feed holds."""
        batch = streams.batch
        axis = streams.batch_axis
        self._rows = None if batch is None else RowCount(batch, axis, ports, model.aliases)
        self._inputs = Inputs(streams.state, ports, model)
        self._state = state

    @property
    def outputs(self) -> Iterable[str]:
        """The outputs without the next state."""
        return self._outputs.values()

    def rows_of(self, feed: Feed) -> int | None:
        """How many rows a feed has; None if it does not show it, or the model has one state.

        Raises:
            TypeError: The feed is no mapping.
            ValueError: Inputs that carry the batch differ in their rows, or one is of another rank.
        """
        check_mapping(feed)
        if self._rows is None:
            return None
        return self._rows.of(feed)

    def check_rows(self, owner: str, feed: Feed, state: NDArray[np.uint32]) -> None:
        """Refuses a batch of another number of rows than there are states.

        Raises:
            TypeError: As in `rows_of`.
            ValueError: As in `rows_of`; or the numbers differ.
        """
        rows = self.rows_of(feed)
        if rows is not None and rows != len(state):
            what = f"the number of rows of {self.streams.batch!r}"
            allowed = f"{len(state)}, one for each seed or state"
            refuse(owner, what, rows, allowed, "Feed a row for each seed or state.")

    def run(self, feed: Feed, state: NDArray[np.uint32], variables: Variables = None) -> EngineRun:
        """Runs the model, whose variables hold these arrays; with None they are as at first.

        Raises:
            TypeError: The feed is no mapping, or an input that is not optional is None or an array
                of another type.
            ValueError: An input is missing or unknown, or of another shape.
        """
        inputs = self._inputs.of(feed)
        try:
            fed = self._stated.with_state(inputs, state)
            values, then = self.model.values_from(fed, variables)
            after = self._stated.next_state(values, state)
        except NotAStateError as error:
            raise ValueError(f"Pipeline: {error}") from error
        except Exception as error:
            self._inputs.check_shapes(inputs)
            _runtime_errors.raise_of_feed("Pipeline", self.model.runtime, error)
            raise
        assert after is not None
        outputs = {name: values[i] for i, name in self._outputs.items()}
        return EngineRun(outputs, after, then, values, inputs)

    def arrays_of(self, feed: Feed) -> dict[str, NDArray[Any]]:
        """The inputs that a feed holds, as arrays."""
        arrays = {}
        for name, value in self._inputs.of(feed).items():
            taken = self.model.taken(value)
            arrays[name] = np.asarray(value if taken is None else taken)
        return arrays


def _checkable(port: Port) -> Port:
    """The input; without a type where the runtime decides what it takes."""
    dtype = port.dtype
    is_plain = dtype is not None and (dtype.kind in "biufc" or dtype == BF16.dtype)
    return port if is_plain else replace(port, dtype=None)
