"""The state of a model, which goes from run to run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import PhiloxState, TorchState, row_states
from onnx_philox._contract.operators import TORCH_STATE_WORDS
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port


@dataclass(frozen=True)
class State:
    """The input and the output of a model that hold its state."""

    port: Port
    next: str | None
    """The output that the next run takes; None where the model has none."""
    is_rewritten: bool
    """Whether it is a rewritten model's."""

    @property
    def name(self) -> str:
        """The input."""
        return self.port.name

    @property
    def is_pytorch(self) -> bool:
        """Whether it is the state of torch's generator."""
        return (self.port.shape or (None,))[-1] == TORCH_STATE_WORDS

    @property
    def counts_runs(self) -> bool:
        """Whether word 3 of its counter is the number of the run."""
        return self.is_rewritten and not self.is_pytorch

    @property
    def is_per_row(self) -> bool:
        """Whether each row of the batch has a state."""
        shape = self.port.shape or ()
        return len(shape) == 2 and shape[0] != 1 and self.is_rewritten

    def of_seed(self, seed: int, run: int) -> NDArray[Any]:
        """The state of a seed in a run; of torch's generator, in the first run."""
        if self.is_pytorch:
            return self.shaped(TorchState.from_seed(seed).to_array())
        return self.shaped(PhiloxState.for_run(seed, run).to_array())

    def of_rows(self, seed: int, run: int, ports: Iterable[Port], feeds: Arrays) -> NDArray[Any]:
        """The states of rows 0, 1, ... of a seed in a run, as many as the other inputs have rows.

        Raises:
            ArgumentError: The inputs do not say how many, or torch has no rule for it.
        """
        if self.is_pytorch:
            raise ArgumentError(
                f"{self.name} must be given, since torch has no rule that numbers rows: got the "
                f"seed {seed}. Pass --input {self.name}=FILE.npy with "
                "TorchState.from_seed(seed).to_array() for each row."
            )
        assert self.port.shape is not None
        batch = self.port.shape[0]
        firsts = {port.name: port.shape[0] for port in ports if port.shape and port.name in feeds}
        named = [name for name, first in firsts.items() if batch and first == batch]
        # OpenVINO forgets the names of dimensions.
        dynamic = [name for name, first in firsts.items() if not isinstance(first, int)]
        rows = {len(feeds[name]) for name in named or dynamic}
        if isinstance(batch, int):
            rows = {batch}
        if len(rows) != 1:
            raise ArgumentError(
                f"the inputs must have one number of rows, since {self.name} has a state for each "
                f"row: got {' or '.join(map(str, sorted(rows))) or 'an unknown number'}. Pass "
                f"the states, too: --input {self.name}=FILE.npy with what "
                "onnx_philox.row_states(seed, range(batch), run) gives."
            )
        return row_states(seed, range(rows.pop()), run)

    def words(self, array: NDArray[Any]) -> NDArray[Any]:
        """The state that a run was given, without dimensions that say nothing."""
        return array if self.is_per_row else array.reshape(-1)

    def shaped(self, words: NDArray[Any]) -> NDArray[Any]:
        """The words in the shape of the input; one state may be of rank 1 to 8."""
        if self.is_per_row:
            return words
        rank = len(self.port.shape or (words.size,))
        return np.ascontiguousarray(words).reshape(*[1] * (rank - 1), words.size)
