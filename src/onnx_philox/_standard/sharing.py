"""Draws that share a generator, where a target has no functions that they could share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from onnx_philox._standard import emitting
from onnx_philox._standard.builder import Builder
from onnx_philox._standard.targets import DrawnNode, Target

_MOST_WORDS = 2**22
"""Of the draws that share a generator: all of them are in memory from the first draw on."""


@dataclass
class _SharedStates:
    """Draws from the same states, with the same key, in one graph."""

    draws: dict[ir.Node, DrawnNode] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)


def words(
    draws: Mapping[ir.Node, DrawnNode], target: Target, builder: Callable[[], Builder]
) -> dict[ir.Node, ir.Value]:
    """The words of the draws that share a generator, made before the first of its draws.

    Draws share one whose states, graph and `global_seed` are the same, and whose sizes are known.

    Nodes:
        state -> one generator -> Split -+-> words of the first draw -> its values
                                         +-> words of the second draw -> its values
    """
    found: dict[ir.Node, ir.Value] = {}
    for group in _groups(draws):
        first = next(iter(group.draws))
        b = builder()
        rows = emitting.rows_of(b, target, group.draws[first])
        made = target.words_of_several(b, list(group.draws.values()), rows, group.counts)
        first.prepend(b.nodes)
        found.update(zip(group.draws, made, strict=True))
    return found


def _groups(draws: Mapping[ir.Node, DrawnNode]) -> Iterator[_SharedStates]:
    open_: dict[tuple[Any, ...], _SharedStates] = {}
    closed = []
    for node, draw in draws.items():
        count = emitting.words_of_state(draw)
        if count is None:
            continue
        key = _key(node, draw)
        if sum(open_.get(key, _SharedStates()).counts) + count > _MOST_WORDS and key in open_:
            closed.append(open_.pop(key))
        group = open_.setdefault(key, _SharedStates())
        group.draws[node] = draw
        group.counts.append(count)
    yield from (
        group for group in [*closed, *open_.values()] if len(group.draws) > 1 and any(group.counts)
    )


def _key(node: ir.Node, draw: DrawnNode) -> tuple[Any, ...]:
    """What draws of one generator have in common."""
    constant = draw.constant("state")
    state: Any = draw.inputs.get("state")
    if constant is not None:
        state = constant.shape, constant.tobytes()
    return id(node.graph), state, draw.attributes["global_seed"]
