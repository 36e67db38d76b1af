"""The state of a model, which goes from run to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.runtimes.port import Port
from onnx_philox._contract.operators import STATE_WORDS


@dataclass(frozen=True)
class State:
    """The input and the output of a model that hold its state."""

    port: Port
    next: str | None
    """The output that the next run takes; None where the model has none."""
    counts_runs: bool
    """Whether it is a rewritten model's, with the number of the run as word 3 of its counter."""

    @property
    def name(self) -> str:
        """The input."""
        return self.port.name

    def shaped(self, words: NDArray[Any]) -> NDArray[Any]:
        """The six words in the shape of the input, of rank 1 to 8."""
        rank = len(self.port.shape or (STATE_WORDS,))
        return np.ascontiguousarray(words).reshape(*[1] * (rank - 1), STATE_WORDS)
