"""Nodes of equal explicit seeds, whose draws a rewrite parts if it is not asked to keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx_philox._command.compare.law.change import Change
from onnx_philox._command.compare.law.reached import Reached
from onnx_philox._command.refusals import KEEP_SEEDS
from onnx_philox._rewriting import equal_seeds
from onnx_philox._rewriting.report import RandomNode


@dataclass(frozen=True)
class OfOneSeed:
    """Nodes of equal explicit seeds, which go together where no rewrite parts them."""

    text: str
    """What a rewrite does with them, in sentences."""
    reached: Sequence[Reached]
    """The outputs that read each node."""

    def may_explain(self, change: Change) -> bool:
        """Whether a difference is about two of them."""
        one, other = change.outputs[0], change.outputs[-1]
        ones = {number for number, reached in enumerate(self.reached) if one in reached}
        others = {number for number, reached in enumerate(self.reached) if other in reached}
        return bool(ones and others) and len(ones | others) > 1


def of_one_seed(
    nodes: Sequence[RandomNode],
    reached: Mapping[int, Reached],
) -> list[OfOneSeed]:
    """The nodes of equal seeds, with what `inspect` says of them.

    Args:
        nodes: All random nodes.
        reached: By the `id` of a node, the outputs that read it.
    """
    # Loaded only where it is needed.
    from onnx_philox._command.inspect.in_words import few_of

    found = []
    for alike, what in equal_seeds.remarks(nodes, KEEP_SEEDS):
        of_each = [reached[id(node)] for node in alike.nodes if id(node) in reached]
        text = f"{few_of(alike.names)}: {alike.seeds}: {what}"
        found.append(OfOneSeed(text, of_each))
    return found
