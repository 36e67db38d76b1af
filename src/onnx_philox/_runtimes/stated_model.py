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
from onnx_philox._runtimes.port import Port

_WORD = np.dtype(np.uint32)


class NotAStateError(ValueError):
    """The output that should be the next state has another type or size."""


class StatedRun(NamedTuple):
    """What a run gives."""

    values: Sequence[Any]
    """The outputs of the model in their order, in the runtime's own types."""
    after: NDArray[np.uint32] | None
    """The next state, in the shape of the one that the run began at; None of a model without."""


class StatedModel:
    """A model in a runtime, and where its state goes in and comes out.

    Args:
        loaded: The model.
        port: The input that is the state; None where it takes none.
        following: The output with the next state; None where it has none.
    """

    def __init__(self, loaded: LoadedModel, port: Port | None, following: str | None) -> None:
        self.loaded = loaded
        self.port = port
        self._following = following
        self.next_index: int | None = None
        """Which of the outputs is the next state."""
        if port is not None and following in loaded.outputs:
            self.next_index = loaded.outputs.index(following)

    def run(self, inputs: Mapping[str, Any], words: NDArray[Any] | None) -> StatedRun:
        """Runs it once, and raises what the runtime raises; its own variables go on.

        Args:
            inputs: All other inputs, by name.
            words: The state, or one for each row; None for a model that takes none.

        Raises:
            NotAStateError: What stands in the place of the next state is none.
        """
        values = self.loaded.values_of(self.with_state(inputs, words))
        return StatedRun(values, self.next_state(values, words))

    def with_state(
        self, inputs: Mapping[str, Any], words: NDArray[Any] | None
    ) -> Mapping[str, Any]:
        """All that a run is given, by name: with the state if the model takes one.

        Without one, these are `inputs` themselves, and no copy.
        """
        if self.port is None or words is None:
            return inputs
        return {**inputs, self.port.name: self.port.holding(words)}

    def next_state(
        self, values: Sequence[Any], words: NDArray[Any] | None
    ) -> NDArray[np.uint32] | None:
        """The next state among the outputs, in the shape of the state that a run was given.

        Raises:
            NotAStateError: What stands in its place is none.
        """
        if self.next_index is None or words is None:
            return None
        given = np.asarray(values[self.next_index])
        shape = words.shape
        if given.dtype is _WORD and given.shape == shape:
            return given
        is_of_words = given.dtype in (np.uint32, np.int32)
        if not is_of_words or given.size != math.prod(shape):
            raise NotAStateError(
                f"the output {self._following!r} must be the next state, uint32 {list(shape)}: got "
                f"{given.dtype.name} {list(given.shape)}. Let the model give what its last random "
                "node leaves, as a rewritten model does."
            )
        return given.view(np.uint32).reshape(shape)
