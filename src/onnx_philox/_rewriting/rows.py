"""The proof that every random node draws rows of the batch, for a state for each row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from onnx_philox._contract.refusal import RefusalError
from onnx_philox._rewriting.found import Random
from onnx_philox._rewriting.not_rows import NotRowsError, check_names, of_all


class Batch(Protocol):
    """The input whose first dimension gives a model its rows."""

    @property
    def name(self) -> str:
        """What messages call it."""


BatchOf = TypeVar("BatchOf", bound=Batch, covariant=True)
RandomIn = TypeVar("RandomIn", contravariant=True)


class Rows(Protocol[RandomIn, BatchOf]):
    """The batch of a model, and whether random nodes draw its rows."""

    @property
    def batch(self) -> BatchOf:
        """The batch."""

    def obstacle(self, random: RandomIn, /) -> RefusalError | None:
        """What stands in the way of a node's drawing rows of the batch; None where nothing does."""


def prove_rows(
    nodes: Sequence[Random], named: Collection[str], rows_of: Callable[[], Rows[Random, BatchOf]]
) -> tuple[BatchOf, list[Random]]:
    """Proves that random nodes draw rows of the batch, but for those that are named.

    Returns:
        The batch, and the nodes that are only said to draw its rows.

    Raises:
        ValueError: The model has no batch; a name is not that of a random node; or a node that is
            not named is not proved to draw rows of the batch, or cannot.
    """
    check_names(named, frozenset[str]().union(*(random.names for random in nodes)))
    rows = rows_of()
    said: list[Random] = []
    unnamed: list[NotRowsError] = []
    for random in nodes:
        error = rows.obstacle(random)
        if not isinstance(error, NotRowsError):
            if error is not None:
                raise error
        elif random.names & frozenset(named):
            said.append(random)
        else:
            unnamed.append(error)
    if unnamed:
        raise of_all(unnamed, [random.site.called for random in said])
    return rows.batch, said
