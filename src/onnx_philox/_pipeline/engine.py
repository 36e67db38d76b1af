"""What a pipeline needs of a runtime."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse
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


def check_feed(owner: str, feed: Feed, required: Collection[str]) -> None:
    """Refuses what is no mapping, and None where an array should be.

    Args:
        owner: Who refuses.
        feed: The inputs by name.
        required: The inputs that may not be None.

    Raises:
        TypeError: It is such a feed.
    """
    if not isinstance(feed, Mapping):
        given, remedy = f"of type {type(feed).__name__}", "Pass the inputs by name."
        refuse(owner, "the feed", given, "a mapping of names to arrays", remedy, TypeError)
    for name in required:
        if name in feed and feed[name] is None:
            refuse(owner, f"the input {name!r}", None, "an array", "Pass the array.", TypeError)


def rows_of(feed: Feed, name: str) -> int | None:
    """The first dimension of an input; None if the feed does not say it."""
    if not isinstance(feed, Mapping) or name not in feed:
        return None
    shape = np.shape(feed[name])
    return shape[0] if shape else None
