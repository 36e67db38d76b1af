"""What an earlier rewrite left in a model, and what it rules out for the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.streams import STATE
from onnx_philox._rewriting.asked import OWNER, THE_ORIGINAL
from onnx_philox._rewriting.kept_seeds import STREAMS, KeptSeeds

NEXT_STATE = "next_random_state"
THIS_RUN = "this_run"
"""The name of the int64 copy of a state that is an input: all nodes read the copy."""
RUNS = np.zeros((2, STATE_WORDS), np.int64)
"""What is added to the words of a state for this run and for the next one: counter word 3 counts
the runs, and wraps when it is cast back to uint32."""
RUNS[1, 3] = 1


def are_runs(steps: NDArray[Any] | None) -> bool:
    """Whether what is added to a state is what a rewrite adds, of one state or of rows."""
    if steps is None or steps.size != RUNS.size:
        return False
    return bool((steps.reshape(RUNS.shape) == RUNS).all())


Value = TypeVar("Value")


@dataclass(frozen=True)
class Recorded(Generic[Value]):
    """What an earlier rewrite left; all empty for a model that was never rewritten."""

    state: Value | None = None
    """What has the words of the state `random_state`, an input or a constant."""
    is_input: bool = False
    """Whether the state is an input of the model."""
    has_rows: bool = False
    """Whether the state is one for each row of the batch."""
    seed: int | None = None
    """The seed inside the model; None where the state is an input."""
    streams: Mapping[int, str] = field(default_factory=dict)
    """The `op_seed` of every node of this package with a state, whoever put it there, and what
    messages call the node. Those of nodes that kept their own seeds are not among them."""
    kept: tuple[KeptSeeds, ...] = ()
    """The nodes that kept their own seeds."""
    has_key: bool = False
    """Whether the seed stands in the constant state, and not in the nodes."""
    nodes: int = 0
    """How many nodes of this package need no rewrite, in a model that was rewritten."""
    generator: Generator = PHILOX
    """The generator by which these nodes draw."""

    @property
    def next_stream(self) -> int:
        """The first number to try for a new node."""
        if self.state is None:
            return 0
        streams = [stream for stream in self.streams if stream < STREAMS]
        return max(streams, default=-1) + 1

    def check_seed(self, seed: int | None) -> None:
        """Refuses a seed that the model's own, or a state that is an input, contradicts."""
        if seed is None:
            return
        if self.is_input:
            allowed = f"left out for a model whose state is already the graph input {STATE!r}"
            remedy = (
                "Leave the seed out, and pass PhiloxState.for_run(seed).to_array() as that input; "
                "or rewrite the model that this one was made from."
            )
            checks.refuse(OWNER, "seed", seed, allowed, remedy)
        if self.seed is not None and seed != self.seed:
            allowed = f"left out, or {self.seed}, the seed that the model was made with"
            checks.refuse(OWNER, "seed", seed, allowed, THE_ORIGINAL)

    def check_rows(self) -> None:
        """Refuses rows for a model that has one state for the whole batch."""
        if self.state is not None and not self.has_rows:
            given = "one with a single state for the whole batch"
            allowed = "one without a state yet, for a state for each row"
            checks.refuse(OWNER, "the model", given, allowed, THE_ORIGINAL)


def check_draws_beside(recorded: Recorded[Any], *, counts_runs: bool) -> None:
    """Refuses to let other nodes draw from the state that a model has.

    Args:
        recorded: What the model has.
        counts_runs: Whether its next state is that of the next run, as a rewrite makes it: of one
            that anything else moves on, other nodes would draw most of the same numbers again.
    """
    if recorded.state is None:
        return
    if not recorded.generator.is_counter_based:
        given = "one with others beside those that an earlier rewrite replaced"
        allowed = "one whose random nodes are replaced at once, since one generator goes through"
        checks.refuse(OWNER, "the model", given, allowed, THE_ORIGINAL)
    if recorded.is_input and not counts_runs:
        given = "one made otherwise, after which other nodes would repeat their numbers"
        allowed = "that of the next run, as an earlier rewrite makes it"
        remedy = "Rename the state and the output, to move it on yourself: a rewrite adds its own."
        checks.refuse(OWNER, "the next state of the model", given, allowed, remedy)


def refuse_name(name: str, renamed_by: str) -> NoReturn:
    """Refuses a tensor that has the name of the state or of the next one, but is none."""
    allowed = "one that an earlier rewrite made, since a rewrite gives this name to a state"
    checks.refuse(
        OWNER,
        f"the tensor {name!r}",
        "another tensor",
        allowed,
        f"Rename it: {renamed_by}.",
    )
