"""The pass that gives every random node a stream number of its own."""

from __future__ import annotations

from collections.abc import Iterable

from onnx_philox._contract import checks
from onnx_philox._rewriting.earlier_rewrite import OWNER, STREAMS, Recorded
from onnx_philox._rewriting.replacements.outcome import Numbered, Replaceable


def number_nodes(nodes: Iterable[Replaceable], recorded: Recorded) -> list[Numbered]:
    """Numbers nodes in order, after and between the numbers that are taken already.

    A number is the node's word 2 of the counter, so no two nodes may have the same one. Numbers of
    an earlier rewrite stay, and the next one follows the largest of them. The model does not
    change yet.

    Raises:
        ValueError: There is no number left.
    """
    stream = recorded.next_stream
    numbered = []
    for node in nodes:
        while stream in recorded.streams:
            stream += 1
        if stream >= STREAMS:
            checks.refuse(
                OWNER,
                "the next stream number (op_seed)",
                stream,
                f"from 0 to {STREAMS - 1}",
                "Rewrite the model that this one was made from.",
            )
        numbered.append(Numbered(node, stream))
        stream += 1
    return numbered
