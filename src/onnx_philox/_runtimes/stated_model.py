"""A run of a model that takes a state and gives the next one: for `Pipeline` and for the command.

What a wrong feed or a failing runtime is called, each of them says itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Arrays, Port


class NotAStateError(ValueError):
    """The output that should be the next state has another type or size."""


class StatedRun(NamedTuple):
    """What a run gives."""

    values: Sequence[Any]
    """The outputs of the model in their order, in the runtime's own types."""
    after: NDArray[np.uint32] | None
    """The next state, in the shape of the one that the run began at; None of a model without."""
    variables: Arrays | None
    """What the model's own variables hold then; None if it has none, or the run is not apart."""


class StatedModel:
    """A model in a runtime, and where its state goes in and comes out.

    Args:
        loaded: The model.
        port: The input that is the state; None where it takes none.
        following: The output with the next state; None where it has none.
        is_apart: Whether each run is told what the model's own variables hold; else they go on from
            run to run.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        port: Port | None,
        following: str | None,
        *,
        is_apart: bool,
    ) -> None:
        self.loaded = loaded
        self.port = port
        self._following = following
        self._is_apart = is_apart
        self.next_index: int | None = None
        """Which of the outputs is the next state."""
        if port is not None and following in loaded.outputs:
            self.next_index = loaded.outputs.index(following)

    def run(
        self,
        inputs: Mapping[str, Any],
        words: NDArray[Any] | None,
        variables: Arrays | None = None,
    ) -> StatedRun:
        """Runs it once, and raises what the runtime raises.

        Args:
            inputs: All other inputs, by name.
            words: The state, or one for each row; None for a model that takes none.
            variables: What the model's own variables hold, in a run apart; None: as at first.

        Raises:
            NotAStateError: What stands in the place of the next state is none.
        """
        fed = dict(inputs)
        if self.port is not None and words is not None:
            fed[self.port.name] = self.port.holding(words)
        then = None
        if self._is_apart:
            values, then = self.loaded.values_from(fed, variables)
        else:
            values = self.loaded.values_of(fed)
        after = None
        if self.next_index is not None and words is not None:
            after = self._state_like(np.asarray(values[self.next_index]), words.shape)
        return StatedRun(values, after, then)

    def _state_like(self, given: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.uint32]:
        """An output as a state of this shape."""
        is_of_words = given.dtype in (np.uint32, np.int32)
        if not is_of_words or given.size != math.prod(shape):
            raise NotAStateError(
                f"the output {self._following!r} must be the next state, uint32 {list(shape)}: got "
                f"{given.dtype.name} {list(given.shape)}. Let the model give what its last random "
                "node leaves, as a rewritten model does."
            )
        return given.view(np.uint32).reshape(shape)
