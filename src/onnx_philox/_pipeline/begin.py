"""The states that seeds begin at."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.refusal import refuse, refusing_as, shown
from onnx_philox._contract.state import integer
from onnx_philox._contract.streams import Streams
from onnx_philox._numbers.states import Integers, check_count, integers_of, row_states
from onnx_philox._pipeline.result import Seed

Start = tuple[Seed, NDArray[np.uint32]]
"""The seed or seeds, and the state or states that they begin at."""


def of_seed(owner: str, streams: Streams, seed: int | None) -> Start:
    """One state, of a seed or of one from the operating system."""
    _check_single(owner, seed)
    generator = streams.generator
    seed = secrets.randbits(generator.seed_bits) if seed is None else seed
    words = generator.of_seed(owner, seed)
    return int(seed), words


def of_rows(owner: str, streams: Streams, seed: int | None, rows: int) -> Start:
    """A state for each row: by one seed, or by one from the operating system for each."""
    if seed is None:
        with refusing_as(owner):
            check_count(rows)
        kept = np.uint64(64 - streams.generator.seed_bits)
        seeds = np.frombuffer(secrets.token_bytes(8 * rows), np.uint64) >> kept
        return of_seeds(owner, streams, seeds)
    if not streams.generator.is_counter_based:
        refuse_one_seed(owner, streams, seed)
    _check_single(owner, seed)
    seed = integer(owner, "seed", seed, 2**64, "2^64-1")
    with refusing_as(owner):
        states = row_states(seed, range(rows))
    return seed, states


def of_seeds(owner: str, streams: Streams, seeds: Integers) -> Start:
    """A state for each row, by a seed for each."""
    generator = streams.generator
    if not generator.is_counter_based:
        is_list = isinstance(seeds, Sequence) or (isinstance(seeds, np.ndarray) and seeds.ndim > 0)
        for i, seed in enumerate(seeds if is_list else []):  # type: ignore[arg-type]
            if isinstance(seed, int | np.integer) and seed < 0:
                generator.check_seed(owner, f"seeds[{i}]", seed)
    with refusing_as(owner):
        checked = integers_of("seeds", seeds, 64).reshape(-1)
        check_count(checked.size, generator.words)
        return tuple(checked.tolist()), generator.of_seeds(checked)


def _check_single(owner: str, seed: object) -> None:
    """Refuses several seeds in the place of one."""
    if isinstance(seed, list | tuple | np.ndarray):
        remedy = "Pass seeds=... to a model with a state for each row, or one seed."
        refuse(owner, "seed", shown(seed), "a single integer", remedy, TypeError)


def refuse_one_seed(owner: str, streams: Streams, seed: int | None) -> NoReturn:
    """Refuses a seed for all rows of a model whose generator does not number them."""
    given = "nothing" if seed is None else seed
    whose = streams.generator.owner
    allowed = f"given for each row, since {whose} has no rule that numbers rows"
    refuse(owner, "seed", given, allowed, "Pass seeds, one for each row, or their states.")
