"""Where the runs of a model begin: its first state, and which inputs say how many rows that has.

`Pipeline` and the command ask here. What each of them refuses, it says itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.generators import Generator
from onnx_philox._contract.refusal import refuse
from onnx_philox._numbers.states import row_states
from onnx_philox._runtimes.port import Port


def refuse_one_seed(generator: Generator, owner: str, seed: Any) -> NoReturn:
    """Refuses a seed for all rows of a generator that does not number them."""
    given = "nothing" if seed is None else seed
    allowed = f"given for each row, since {generator.owner} has no rule that numbers rows"
    refuse(owner, "seed", given, allowed, "Pass seeds, one for each row, or their states.")


def of_seeds(
    generator: Generator,
    seeds: Sequence[int] | NDArray[np.uint64],
    *,
    run: int = 0,
) -> NDArray[np.uint32]:
    """A state for each row, of a seed of its own: uint32 [rows, words].

    Raises:
        ValueError: A seed is out of its range, or there are more than memory holds states for.
    """
    if generator.is_counter_based:
        return row_states(seeds, run=run)
    return generator.of_seeds(np.asarray(seeds, np.uint64))


def carriers(
    ports: Iterable[Port],
    batch: str | None,
    axis: int,
) -> list[tuple[Port, int]]:
    """The inputs that say how many rows a batch has, and the dimension of each that is the batch.

    Args:
        ports: The inputs that a user feeds.
        batch: The first of them, as the model's streams name it.
        axis: Its dimension.

    Returns:
        That input, and all dimensions of inputs that have the name of its dimension; nothing where
        it is none of these inputs.
    """
    named = {port.name: port for port in ports if port.shape}
    first = named.pop(batch or "", None)
    if first is None:
        return []
    found = [(first, axis)]
    shape = first.shape or ()
    name = None
    if axis < len(shape):
        name = shape[axis]
    if not isinstance(name, str):
        return found
    for port in (first, *named.values()):
        for i, dimension in enumerate(port.shape or ()):
            if dimension == name and (port, i) != (first, axis):
                found.append((port, i))
    return found


def rows_along(axis: int, shape: Sequence[int]) -> int | None:
    """The size of the batch's dimension in an input's shape; None if it has no such dimension."""
    if axis >= len(shape):
        return None
    return shape[axis]
