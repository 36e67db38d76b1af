"""The states that seeds begin at, of Philox or of torch's generator."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import alignment
from onnx_philox._contract.inputs import ALIGNMENT
from onnx_philox._contract.refusal import refuse, refusing_as
from onnx_philox._contract.state import run_words
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.torch_state import TorchState, torch_seed
from onnx_philox._numbers.states import Integers, row_states
from onnx_philox._pipeline.result import Seed

Start = tuple[Seed, NDArray[np.uint32]]
"""The seed or seeds, and the state or states that they begin at."""


def words_of(streams: Streams) -> int:
    """How many words a state has."""
    return alignment.state_words({ALIGNMENT.name: streams.alignment})


def of_seed(owner: str, streams: Streams, seed: int | None) -> Start:
    """One state, of a seed or of one from the operating system."""
    if not streams.is_pytorch:
        seed = secrets.randbits(64) if seed is None else seed
        words = run_words(owner, seed)
        return int(seed), words
    # torch's numbers are those of the low 32 bits.
    seed = torch_seed(owner, "seed", secrets.randbits(32) if seed is None else seed)
    return seed, TorchState.from_seed(seed).to_array()


def of_rows(owner: str, streams: Streams, seed: int | None, rows: int) -> Start:
    """A state for each row, by one seed."""
    if streams.is_pytorch:
        refuse_one_seed(owner, seed)
    seed = secrets.randbits(64) if seed is None else seed
    with refusing_as(owner):
        states = row_states(seed, range(rows))
    return int(seed), states


def of_seeds(owner: str, streams: Streams, seeds: Integers) -> Start:
    """A state for each row, by a seed for each."""
    if streams.is_pytorch:
        given: Sequence[Any] = np.atleast_1d(np.asarray(seeds)).tolist()
        checked = tuple(torch_seed(owner, "each seed", seed) for seed in given)
        states = [TorchState.from_seed(seed).to_array() for seed in checked]
        return checked, np.array(states, np.uint32).reshape(-1, words_of(streams))
    with refusing_as(owner):
        states_of_rows = row_states(seeds)
    return _keys(states_of_rows), states_of_rows


def refuse_one_seed(owner: str, seed: int | None) -> NoReturn:
    """Refuses a seed for all rows of a model that draws torch's numbers."""
    given = "nothing" if seed is None else seed
    allowed = "given for each row, since torch has no rule that numbers rows"
    refuse(owner, "seed", given, allowed, "Pass seeds, one for each row, or their states.")


def _keys(states: NDArray[np.uint32]) -> Seed:
    """The seeds of states of rows, as Python's integers."""
    return tuple(int(low) | int(high) << 32 for low, high in states[:, 4:])
