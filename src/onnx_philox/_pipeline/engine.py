"""What a pipeline needs of a runtime."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.streams import Streams
from onnx_philox._pipeline.inputs import Feed

Outputs = dict[str, Any]
Ran = tuple[Outputs, NDArray[np.uint32]]
"""The outputs by name without the next state, and the next state."""


class Engine(Protocol):
    """A model in a runtime; any number of threads may run it at once."""

    streams: Streams

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the model."""
