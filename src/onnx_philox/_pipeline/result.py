"""What a request gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import generators
from onnx_philox._pipeline import recording
from onnx_philox._record.document import Record

Seed = int | tuple[int, ...]
"""A seed for all rows, or one for each."""


class Result(dict[str, Any]):
    """The outputs by name, without the next state.

    Attributes:
        seed: The seed of the call or request; None where it is not known. `seed=` takes it, or
            `seeds=` if it is a tuple with one for each row: that gives the answer of a call again,
            and the first of a request or of `map`.
        state: Where the numbers began, uint32 [6], or [B, 6] if each row has a state of its own.
            Write it into the log: `pipe(feed, state=...)` gives any answer again.
        next_state: Where they ended, in the same form: `pipe.request(state=...)` goes on from it.
    """

    # To make a `__dict__` for each result would take half as long as all else here. Python makes
    # one when a user sets another attribute.
    __slots__ = ("__dict__", "__weakref__", "_origin", "next_state", "seed", "state")

    def __init__(
        self,
        outputs: Mapping[str, Any],
        seed: Seed | None,
        state: NDArray[np.uint32],
        origin: recording.Origin | None = None,
        next_state: NDArray[np.uint32] | None = None,
    ) -> None:
        super().__init__(outputs)
        self.seed = seed
        self.state = state
        self.next_state = next_state
        self._origin = origin

    def __copy__(self) -> Result:
        return self.copy()

    def __reduce__(self) -> Any:
        """The outputs, the seed and the states: another process has no pipeline of theirs."""
        return Result, (dict(self), self.seed, self.state, None, self.next_state)

    def record(self) -> Record:
        """A record of this result for `json.dump`, which `onnx-philox replay` runs again.

        It has the hashes of the model's files, of the inputs, draws and outputs; the streams, the
        seed and the state; and the versions. For this the model is run again: once as it is, and
        once, opened anew, to show what it draws. Inputs of more than 4096 bytes are in it as hashes
        alone.

        Raises:
            ValueError: The pipeline is closed, or was not made of a path or of bytes; or its feed
                or outputs have been changed since.
        """
        return recording.record_of_result(self._origin, self, self.seed, self.state)

    def copy(self) -> Result:
        """A result of the same outputs, seed and states."""
        return Result(self, self.seed, self.state, self._origin, self.next_state)

    def __or__(self, other: Mapping[str, Any]) -> Result:  # type: ignore[override]
        """The same with other outputs beside them."""
        return Result({**self, **other}, self.seed, self.state, None, self.next_state)

    @property
    def states(self) -> list[Any]:
        """The same as states, one a row: `PhiloxState`, or those of another alignment."""
        rows = np.atleast_2d(self.state)
        generator = generators.of_words(rows.shape[1]) or generators.PHILOX
        return [generator.state.from_array(row) for row in rows]
