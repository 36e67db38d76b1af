"""The passes of a rewrite in their order, for models of ONNX and of OpenVINO."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.found import Irreplaceable, Numbered, Random
from onnx_philox._rewriting.kept_seeds import warn_of_repeats
from onnx_philox._rewriting.may_stay import leave
from onnx_philox._rewriting.not_rows import check_names
from onnx_philox._rewriting.numbering import number_nodes
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.report import RandomNode, Report
from onnx_philox._rewriting.rows import BatchOf, Rows, prove_rows

_log = logging.getLogger("onnx_philox")


@dataclass(frozen=True)
class Plan(Generic[Random, BatchOf]):
    """What is to be done to a model, which nothing speaks against."""

    nodes: Sequence[Numbered[Random]]
    seed: int | None
    """None for a state that is an input."""
    has_key: bool
    """Whether the state has the seed as its key, and the nodes have not."""
    batch: BatchOf | None
    """None for a model with one state."""
    unproved: Sequence[Random]
    """The nodes that are only said to draw rows of the batch."""


class Rewritable(ABC, Generic[Random, BatchOf]):
    """A model to rewrite, in place."""

    @abstractmethod
    def find(self, asked: Asked) -> Sequence[Random | Irreplaceable]:
        """What becomes of each random node, in the order of their streams; changes nothing."""

    @abstractmethod
    def read(self) -> Recorded[Any]:
        """What an earlier rewrite left.

        Raises:
            ValueError: A tensor has the name of the state but is no state.
        """

    @abstractmethod
    def check(self, asked: Asked, found: Sequence[Random | Irreplaceable]) -> None:
        """Refuses what a model that was rewritten before cannot be given.

        Raises:
            ValueError: It is asked for that.
        """

    @abstractmethod
    def rows(self, nodes: Sequence[Random]) -> Rows[Random, BatchOf]:
        """The batch of the model.

        Raises:
            ValueError: There is none.
        """

    def settle(self) -> int:
        """Replaces the nodes that draw nothing and cannot stay; returns how many there were."""
        return 0

    @abstractmethod
    def replace(self, plan: Plan[Random, BatchOf]) -> None:
        """Makes the state, carries it to the nodes, replaces them, and records their streams."""


def rewrite(model: Rewritable[Random, BatchOf], asked: Asked) -> Report:
    """Replaces the random nodes of a model.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement; the model cannot be given
            what is asked for; or a draw is not proved to be rows of the batch.
    """
    found = model.find(asked)
    recorded = model.read()
    recorded.check_seed(asked.seed)
    model.check(asked, found)
    named = asked.named
    if named is not None:
        recorded.check_rows()
    elif recorded.has_rows:
        named = frozenset()
    nodes: list[Random] = []
    kept = []
    for each in found:
        if isinstance(each, Irreplaceable):
            leave(each.error, keep_unknown=asked.keep_unknown)
            kept.append(each.record())
        else:
            nodes.append(each)
    report = Report(
        kept=tuple(kept),
        recorded=recorded.nodes,
        seed=recorded.seed,
        is_per_row=recorded.has_rows,
    )
    if not nodes:
        check_names(() if recorded.has_rows else asked.named or (), ())
        _log.info("onnx_philox: no random nodes to replace")
        return replace(report, settled=model.settle())
    seed = asked.seed if recorded.state is None else recorded.seed
    batch, unproved = None, list[Random]()
    if named is not None:
        batch, unproved = prove_rows(nodes, named, lambda: model.rows(nodes))
    numbered = number_nodes(nodes, recorded)
    new = [node.kept for node in nodes if node.kept is not None]
    warn_of_repeats(new, recorded.kept)
    has_key = recorded.has_key or (recorded.state is None and bool(new))
    records = tuple(node.record() for node in numbered)
    settled = model.settle()
    model.replace(Plan(numbered, seed, has_key, batch, unproved))
    return replace(
        report, replaced=records, seed=seed, is_per_row=batch is not None, settled=settled
    )


def find_random_nodes(model: Rewritable[Any, Any]) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed.

    Ignores nodes that an earlier rewrite made.
    """
    return [each.record() for each in model.find(Asked())]
