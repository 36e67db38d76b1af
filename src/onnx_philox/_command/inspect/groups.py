"""Many equal nodes in a few words; `onnx-philox inspect --all` shows each."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 20
"""Of more nodes, equal ones are shown as one."""

FEW = 3
"""So many are shown of a list, where its other entries say the same."""

GROUPED = "Equal nodes are shown as one; --all shows each."


def names(given: Sequence[str]) -> str:
    """The first of many names and how many there are; a last one would make a range of them."""
    if len(given) <= FEW:
        return ", ".join(given)
    return f"{', '.join(given[: FEW - 1])}, ... ({len(given)} nodes)"


def numbers(given: Sequence[int]) -> str:
    """Numbers that rise, such as streams: a range, or the first and the last of them."""
    if len(given) > 1 and given[-1] - given[0] == len(given) - 1:
        return f"{given[0]} to {given[-1]}"
    few = given if len(given) <= FEW else (*given[:2], "...", given[-1])
    return ", ".join(map(str, few))
