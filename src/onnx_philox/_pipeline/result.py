"""What a request gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.state import PhiloxState

Seed = int | tuple[int, ...]
"""A seed for all rows, or one for each."""


class Result(dict[str, Any]):
    """The outputs by name, without the next state.

    Attributes:
        seed: The seed of the call or request, or one for each row; None where it is not known. It
            gives the answer of a call again, and the first of a request or of `map`.
        state: Where the numbers began, uint32 [6], or [B, 6] if each row has a state of its own.
            Write it into the log: `pipe(feed, state=...)` gives any answer again.
    """

    def __init__(
        self, outputs: Mapping[str, Any], seed: Seed | None, state: NDArray[np.uint32]
    ) -> None:
        super().__init__(outputs)
        self.seed = seed
        self.state = state

    def copy(self) -> Result:
        """A result of the same outputs, seed and state."""
        return Result(self, self.seed, self.state)

    def __or__(self, other: Mapping[str, Any]) -> Result:  # type: ignore[override]
        """The same with other outputs beside them."""
        return Result({**self, **other}, self.seed, self.state)

    @property
    def states(self) -> list[PhiloxState]:
        """The same as states, one a row."""
        return [PhiloxState.from_array(row) for row in np.atleast_2d(self.state)]
