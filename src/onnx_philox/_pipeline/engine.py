"""What a pipeline needs of a runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.streams import Streams

Outputs = dict[str, Any]
Feed = Any
"""A mapping of names to arrays, or what else an engine takes in its place."""
Ran = tuple[Outputs, NDArray[np.uint32]]
"""The outputs by name without the next state, and the next state."""


class Engine(Protocol):
    """A model in a runtime; any number of threads may run it at once."""

    streams: Streams

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the model."""


def rows_of(feed: Feed, name: str) -> int | None:
    """The first dimension of an input; None if the feed does not say it."""
    if not isinstance(feed, Mapping) or name not in feed:
        return None
    shape = np.shape(feed[name])
    return shape[0] if shape else None
