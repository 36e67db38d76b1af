"""The states that seeds begin at, of Philox or of torch's generator."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import alignment
from onnx_philox._contract.inputs import ALIGNMENT
from onnx_philox._contract.refusal import refuse, refusing_as, shown
from onnx_philox._contract.state import integer, run_words
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.torch_state import TorchState, torch_seed
from onnx_philox._numbers.states import Integers, check_count, integers_of, row_states
from onnx_philox._pipeline.result import Seed

_BITS = 63
"""Of a seed from the operating system: a signed column of a database holds it."""
_TORCH_BITS = 32
"""Likewise: torch draws by the low 32 bits of a seed."""

Start = tuple[Seed, NDArray[np.uint32]]
"""The seed or seeds, and the state or states that they begin at."""


def words_of(streams: Streams) -> int:
    """How many words a state has."""
    return alignment.state_words({ALIGNMENT.name: streams.alignment})


def of_seed(owner: str, streams: Streams, seed: int | None) -> Start:
    """One state, of a seed or of one from the operating system."""
    _check_single(owner, seed)
    if not streams.is_pytorch:
        seed = secrets.randbits(_BITS) if seed is None else seed
        words = run_words(owner, seed)
        return int(seed), words
    seed = torch_seed(owner, "seed", secrets.randbits(_TORCH_BITS) if seed is None else seed)
    return seed, TorchState.from_seed(seed).to_array()


def of_rows(owner: str, streams: Streams, seed: int | None, rows: int) -> Start:
    """A state for each row: by one seed, or by one from the operating system for each."""
    if seed is None:
        with refusing_as(owner):
            check_count(rows)
        kept = np.uint64(64 - (_TORCH_BITS if streams.is_pytorch else _BITS))
        seeds = np.frombuffer(secrets.token_bytes(8 * rows), np.uint64) >> kept
        return of_seeds(owner, streams, seeds)
    if streams.is_pytorch:
        refuse_one_seed(owner, seed)
    _check_single(owner, seed)
    seed = integer(owner, "seed", seed, 2**64, "2^64-1")
    with refusing_as(owner):
        states = row_states(seed, range(rows))
    return seed, states


def of_seeds(owner: str, streams: Streams, seeds: Integers) -> Start:
    """A state for each row, by a seed for each."""
    if streams.is_pytorch:
        is_list = isinstance(seeds, Sequence) or (isinstance(seeds, np.ndarray) and seeds.ndim > 0)
        for i, seed in enumerate(seeds if is_list else []):  # type: ignore[arg-type]
            if isinstance(seed, int | np.integer) and seed < 0:
                torch_seed(owner, f"seeds[{i}]", seed)  # says which seed torch takes it for
    with refusing_as(owner):
        checked = np.atleast_1d(integers_of("seeds", seeds, 64))
        numbers = tuple(map(int, checked))
        if not streams.is_pytorch:
            return numbers, row_states(checked)
    states = [TorchState.from_seed(seed).to_array() for seed in numbers]
    return numbers, np.array(states, np.uint32).reshape(-1, words_of(streams))


def _check_single(owner: str, seed: object) -> None:
    """Refuses several seeds in the place of one."""
    if isinstance(seed, list | tuple | np.ndarray):
        remedy = "Pass seeds=... to a model with a state for each row, or one seed."
        refuse(owner, "seed", shown(seed), "a single integer", remedy, TypeError)


def refuse_one_seed(owner: str, seed: int | None) -> NoReturn:
    """Refuses a seed for all rows of a model that draws torch's numbers."""
    given = "nothing" if seed is None else seed
    allowed = "given for each row, since torch has no rule that numbers rows"
    refuse(owner, "seed", given, allowed, "Pass seeds, one for each row, or their states.")
