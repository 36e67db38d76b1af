"""The pass that gives every random node a stream number of its own."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

from onnx_philox._contract import checks
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.earlier_rewrite import Recorded
from onnx_philox._rewriting.in_onnx.replacements.outcome import Numbered, Replaceable
from onnx_philox._rewriting.kept_seeds import STREAMS, check_streams, streams_of


def number_nodes(nodes: Iterable[Replaceable], recorded: Recorded) -> list[Numbered]:
    """Numbers nodes in order, as `stream_numbers` says; the model does not change yet.

    Raises:
        ValueError: There is no number left, or a node's own seeds are those of a number that stays.
    """
    nodes = list(nodes)
    new = [node.kept for node in nodes if node.kept is not None]
    check_streams(new, recorded.streams if recorded.state is not None else {})
    taken = {*recorded.streams, *streams_of([*recorded.kept, *new])}
    streams = stream_numbers(taken, recorded.next_stream)
    return [Numbered(node, None if node.seeds else next(streams)) for node in nodes]


def stream_numbers(taken: Collection[int], first: int) -> Iterator[int]:
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
