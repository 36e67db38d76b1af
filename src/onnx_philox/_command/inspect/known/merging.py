"""The rule by which OpenVINO makes one node of two, for the models of both formats.

It takes nodes of equal attributes for one if they read the same, which it looks for from each
output that several nodes read. It leaves two alone that are both results of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, TypeVar

Node = TypeVar("Node")


def merged_with(
    node: Node,
    alike: Iterable[Node],
    read_by: Callable[[Node], Set[Any]],
    is_result: Callable[[Node], bool],
) -> Node | None:
    """The first of other nodes that OpenVINO takes for this one; None for none.

    Args:
        node: A node without a seed.
        alike: Others of equal attributes, whose inputs are equal.
        read_by: What a node reads, and what that is computed of.
        is_result: Whether what a node draws is an output of the model.
    """
    read = read_by(node)
    is_own_result = is_result(node)
    for other in alike:
        are_results = is_own_result and is_result(other)
        if not are_results and not read.isdisjoint(read_by(other)):
            return other
    return None
