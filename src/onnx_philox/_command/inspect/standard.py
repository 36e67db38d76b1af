"""What `onnx-philox inspect` says of draws that are standard nodes already."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._command import inside_model
from onnx_philox._command.inspect.search import rows_in_words
from onnx_philox._contract.known_input import sizes_of
from onnx_philox._contract.state import is_one_state
from onnx_philox._contract.streams import STANDARD, STANDARD_STATE
from onnx_philox._rewriting.look import OnnxLook
from onnx_philox._runtimes.port import STATES
from onnx_philox._standard import made


@dataclass(frozen=True)
class Standard:
    """The draws of a model that `rewrite --standard` made.

    Attributes:
        target: The runtime that they are made for.
        note: The same in words, with how to run them there.
        draws: How many nodes draw by each operator.
        state: The input that says what is drawn; None where a seed inside does.
        next_state: The output with the state of the next run.
        is_per_row: Whether each row of the batch has a state of its own.
        batch: The input of which a dimension is the batch, where each row has one.
        batch_axis: That dimension.
        run: The command line that runs the model.
    """

    target: str
    note: str
    draws: dict[str, int]
    state: str | None
    next_state: str | None
    is_per_row: bool
    batch: str | None
    batch_axis: int
    run: str

    @property
    def heading(self) -> str:
        """How many there are."""
        count = sum(self.draws.values())
        counted = "draws"
        if count:
            counted = "1 draw" if count == 1 else f"{count} draws"
        return f"{counted} in standard ONNX nodes"

    @property
    def lines(self) -> list[str]:
        """What they are, and what they need."""
        drawn = ", ".join(f"{count} {operator}" for operator, count in self.draws.items())
        about_state = "Their seed is inside the model: every run draws the same numbers."
        if self.state is not None:
            rows = rows_in_words(self.batch, self.batch_axis)
            then = ""
            if self.next_state is not None:
                then = f"; the output {self.next_state} is the input of the next run"
            about_state = f"Their state: the input {self.state}{rows}{then}."
        return [
            f"{f'Operators: {drawn}. ' if drawn else ''}They need no plugin, and are {self.note}.",
            about_state,
            "To use float16, convert the model before the rewrite: afterwards, a converter "
            "changes the draws.",
        ]


def find(seen: OnnxLook) -> Standard | None:
    """What a model says of its standard nodes; None if it has none that draw."""
    found = made.made_of(seen.graph.metadata_props)
    if found is None:
        return None
    streams = seen.streams
    return Standard(
        found.target.name,
        found.target.note,
        dict(found.draws),
        _state(seen),
        streams.next_state if streams else None,
        streams is not None and streams.batch is not None,
        streams.batch if streams else None,
        streams.batch_axis if streams else 0,
        command_to_run(seen, found.target.name),
    )


def command_to_run(seen: OnnxLook, target: str | None = None) -> str:
    """The command line that runs a rewritten model; see `onnx_philox._command.inside_model`."""
    return inside_model.command_to_run(seen.given.path, seen.inputs, _state(seen), target)


def _state(seen: OnnxLook) -> str | None:
    """The input that the model's draws read as their state."""
    model = seen.graph
    if seen.has_state or STANDARD not in model.metadata_props:
        return seen.state if seen.has_state else None
    # An earlier version did not name it.
    names = () if STANDARD_STATE in model.metadata_props else STATES
    for value in model.graph.inputs:
        if value.name in names and value.dtype is ir.DataType.UINT32 and value.shape is not None:
            if is_one_state(sizes_of(value.shape)):
                return value.name
    return None
