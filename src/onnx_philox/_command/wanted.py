"""The runs that a user asks `run` and `compare` for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MOST_RUNS_OF_A_LAW = 100_000
"""So many runs `compare --original` makes at most where no number is given."""


class RowSeeds(tuple[int, ...]):
    """One for each row."""

    def __str__(self) -> str:
        """The runs as a user writes them."""
        return ",".join(map(str, self))


Seed = int | RowSeeds
"""One for all rows, or one for each."""


def option_of(seed: Seed | None) -> str:
    """The option that gave it."""
    if isinstance(seed, RowSeeds):
        return "--seeds"
    return "--seed"


@dataclass(frozen=True)
class WantedRuns:
    """The runs that a user asks for."""

    seed: Seed | None = None
    """The first state is `PhiloxState.for_run(seed, first_run)`, or for a model with a state for
    each row `row_states(seed, range(rows), first_run)`, or for torch's numbers
    `TorchState.from_seed(seed)`. Of several, each is a row's. None for 0, for a model that takes no
    state, and if `inputs` has it."""
    first_run: int = 0
    """The number of the first run; 0 if the model's state counts no runs or is given."""
    runs: int = 1
    inputs: Sequence[str] = ()
    """The other inputs, as `ports.read_inputs` takes them."""
    fills: bool = False
    """Whether to make up the inputs that are not there."""
    draw: Mapping[str, str] = field(default_factory=dict)
    """Inputs that become draws first, and their laws: see `onnx_philox.make_reproducible`."""

    @property
    def numbers(self) -> range:
        """The numbers of the runs."""
        return range(self.first_run, self.first_run + self.runs)
