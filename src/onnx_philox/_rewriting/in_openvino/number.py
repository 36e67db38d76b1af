"""Gives every random node of a model of OpenVINO a stream number, but for those with seeds."""

from __future__ import annotations

from collections.abc import Sequence

from onnx_philox._openvino_models.graphs import awaits_state
from onnx_philox._rewriting.in_openvino.earlier import Recorded
from onnx_philox._rewriting.in_openvino.find import Found
from onnx_philox._rewriting.kept_seeds import check_streams, streams_of
from onnx_philox._rewriting.numbering import stream_numbers

Numbered = tuple[Found, int | None]
"""A random node and its stream; None for one that keeps its own seeds."""


def number_nodes(nodes: Sequence[Found], recorded: Recorded) -> list[Numbered]:
    """Numbers nodes that can be replaced, in order; the model does not change.

    Raises:
        ValueError: There is no number left, or a node's own seeds are those of a number that an
            earlier rewrite recorded or a conversion gave.
    """
    new = [found.kept for found in nodes if found.kept is not None]
    kept = [*recorded.kept, *new]
    converted = [found for found in nodes if awaits_state(found.site.node)]
    # A conversion has numbered its nodes: they have the first numbers, whatever others keep.
    given = stream_numbers(recorded.streams, recorded.next_stream)
    numbers = {found.site.node.get_name(): next(given) for found in converted}
    titles = {numbers[found.site.node.get_name()]: found.site.title for found in converted}
    check_streams(kept, titles)
    check_streams(new, recorded.streams if recorded.state is not None else {})
    taken = {*recorded.streams, *titles, *streams_of(kept)}
    others = stream_numbers(taken, recorded.next_stream)
    numbered: list[Numbered] = []
    for found in nodes:
        stream = numbers.get(found.site.node.get_name())
        if stream is None and found.kept is None:
            stream = next(others)
        numbered.append((found, stream))
    return numbered
