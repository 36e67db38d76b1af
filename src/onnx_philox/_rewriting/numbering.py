"""Gives every random node a stream number of its own, but for those that keep their seeds."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from onnx_philox._contract import checks
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.found import Numbered, Random
from onnx_philox._rewriting.kept_seeds import STREAMS, check_streams, streams_of
from onnx_philox._rewriting.recorded import Recorded


def number_nodes(nodes: Sequence[Random], recorded: Recorded[Any]) -> list[Numbered[Random]]:
    """Numbers nodes in order, as `_stream_numbers` says; the model does not change yet.

    A conversion has numbered its nodes: they have the first numbers, whatever others keep.

    Raises:
        ValueError: There is no number left, or a node's own seeds are those of a number that an
            earlier rewrite recorded or a conversion gave.
    """
    new = [node.kept for node in nodes if node.kept is not None]
    kept = [*recorded.kept, *new]
    given = _stream_numbers(recorded.streams, recorded.next_stream)
    converted = {next(given): node.site.title for node in nodes if node.is_numbered}
    check_streams(kept, converted)
    check_streams(new, recorded.streams if recorded.state is not None else {})
    taken = {*recorded.streams, *converted, *streams_of(kept)}
    others = _stream_numbers(taken, recorded.next_stream)
    first = iter(converted)

    def stream_of(node: Random) -> int | None:
        if node.is_numbered:
            return next(first)
        return None if node.kept is not None else next(others)

    return [Numbered(node, stream_of(node)) for node in nodes]


def _stream_numbers(taken: Collection[int], first: int) -> Iterator[int]:
    """The numbers for new nodes from the first on, between those that are taken already.

    A number is the node's word 2 of the counter, so no two nodes may have the same one. Numbers of
    an earlier rewrite stay, and the next one follows the largest of them.

    Raises:
        ValueError: There is no number left.
    """
    for stream in itertools.count(first):
        if stream in taken:
            continue
        if stream >= STREAMS:
            checks.refuse(
                OWNER,
                "the next stream number (op_seed)",
                stream,
                f"from 0 to {STREAMS - 1}",
                "Rewrite the model that this one was made from.",
            )
        yield stream
