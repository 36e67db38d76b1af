"""The passes of a rewrite in their order, for models of ONNX and of OpenVINO."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from onnx_philox._contract.generators import Generator
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.found import Irreplaceable, Numbered, Random
from onnx_philox._rewriting.kept_seeds import warn_of_repeats
from onnx_philox._rewriting.may_stay import leave
from onnx_philox._rewriting.not_rows import check_names
from onnx_philox._rewriting.numbering import number_nodes
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.report import Report
from onnx_philox._rewriting.rows import BatchOf, Rows, prove_rows

_log = logging.getLogger("onnx_philox")


Model = TypeVar("Model")
Left = TypeVar("Left", bound=Recorded[Any])


@dataclass(frozen=True)
class Plan(Generic[Random, BatchOf]):
    """What is to be done to a model, which nothing speaks against."""

    nodes: Sequence[Numbered[Random]]
    generator: Generator
    seed: int | None
    """None for a state that is an input."""
    has_key: bool
    """Whether the state has the seed as its key, and the nodes have not."""
    batch: BatchOf | None
    """None for a model with one state."""
    unproved: Sequence[Random]
    """The nodes that are only said to draw rows of the batch."""

    @property
    def global_seed(self) -> int:
        """That of the nodes with a stream."""
        return 0 if self.has_key else self.seed or 0


@dataclass(frozen=True)
class Format(Generic[Model, Random, BatchOf, Left]):
    """What reads models of one format, and changes them in place."""

    find: Callable[[Model, Asked], Sequence[Random | Irreplaceable]]
    """What becomes of each random node, in the order of their streams; changes nothing."""
    recorded: Callable[[Model], Left]
    """What an earlier rewrite left."""
    check: Callable[[Model, Asked, Left, Sequence[Random | Irreplaceable]], None]
    """Refuses what a model that was rewritten before cannot be given."""
    rows: Callable[[Model, Sequence[Random], Left], Rows[Random, BatchOf]]
    """The batch of a model; raises where there is none."""
    replace: Callable[[Model, Left, Plan[Random, BatchOf]], None]
    """Makes the state, carries it to the nodes, replaces them, and records their streams."""
    settle: Callable[[Model], int] = lambda _: 0
    """Replaces the nodes that draw nothing and cannot stay; returns how many there were."""


def rewrite(format: Format[Model, Random, BatchOf, Left], model: Model, asked: Asked) -> Report:
    """Replaces the random nodes of a model, in place.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement; the model cannot be given
            what is asked for; or a draw is not proved to be rows of the batch.
    """
    found = format.find(model, asked)
    recorded = format.recorded(model)
    recorded.check_seed(asked.seed)
    format.check(model, asked, recorded, found)
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
        return replace(report, settled=format.settle(model))
    seed = asked.seed if recorded.state is None else recorded.seed
    batch, unproved = None, list[Random]()
    if named is not None:
        batch, unproved = prove_rows(nodes, named, lambda: format.rows(model, nodes, recorded))
    numbered = number_nodes(nodes, recorded)
    new = [node.kept for node in nodes if node.kept is not None]
    warn_of_repeats(new, recorded.kept)
    has_key = recorded.has_key or (recorded.state is None and bool(new))
    records = tuple(node.record() for node in numbered)
    settled = format.settle(model)
    plan = Plan(numbered, asked.generator, seed, has_key, batch, unproved)
    format.replace(model, recorded, plan)
    return replace(
        report, replaced=records, seed=seed, is_per_row=batch is not None, settled=settled
    )
