"""The state of a model, which goes from run to run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import row_states
from onnx_philox._contract import generators
from onnx_philox._contract.generators import Generator
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port


@dataclass(frozen=True)
class StatePorts:
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
    def generator(self) -> Generator:
        """The generator whose state it is."""
        return generators.of_words((self.port.shape or (None,))[-1]) or generators.named(None)

    @property
    def counts_runs(self) -> bool:
        """Whether the number of the run is a part of it."""
        return self.is_rewritten and self.generator.is_counter_based

    @property
    def is_per_row(self) -> bool:
        """Whether each row of the batch has a state."""
        shape = self.port.shape or ()
        return len(shape) == 2 and shape[0] != 1 and self.is_rewritten

    def of_seed(self, seed: int, run: int) -> NDArray[Any]:
        """The state of a seed in a run; in the first one, where its generator counts none."""
        owner = self.generator.seeding.partition("(")[0]
        return self.shaped(self.generator.of_seed(owner, seed, run))

    def of_rows(self, seed: int, run: int, ports: Iterable[Port], feeds: Arrays) -> NDArray[Any]:
        """The states of rows 0, 1, ... of a seed in a run, as many as the other inputs have rows.

        Raises:
            ArgumentError: The inputs do not say how many, or the generator does not number rows.
        """
        if not self.generator.is_counter_based:
            raise ArgumentError(
                f"{self.name} must be given, since {self.generator.owner} has no rule that numbers "
                f"rows: got the seed {seed}. Pass --input {self.name}=FILE.npy with "
                f"{self.generator.row_seeding}."
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
