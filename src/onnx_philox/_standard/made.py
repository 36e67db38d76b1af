"""What a model of standard nodes says of itself, in its metadata."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass

from onnx_philox._contract.streams import STANDARD, STANDARD_STATE
from onnx_philox._standard.targets import TARGETS, DrawnNode, Target

_DRAWS = "onnx_philox.standard_draws"

PRECISION = "f32"
"""The only inference precision at which OpenVINO draws the same from standard nodes."""


@dataclass(frozen=True)
class Made:
    """What `to_standard_nodes` made.

    Attributes:
        target: The runtime that it made the nodes for.
        draws: How many nodes of each operator it replaced.
    """

    target: Target
    draws: Mapping[str, int]


def record_made(
    metadata: MutableMapping[str, str],
    target: Target,
    draws: Iterable[DrawnNode],
    state: str,
) -> None:
    """Writes what was made into a model's metadata, added to what was made before.

    `state` is the name of the input that the nodes read; empty if they read none.
    """
    before = made_of(metadata)
    counts: Counter[str] = Counter()
    if before is not None:
        counts.update(before.draws)
    counts.update(draw.operator.name for draw in draws)
    metadata[STANDARD] = target.note
    metadata[STANDARD_STATE] = state
    in_order = dict(sorted(counts.items()))
    metadata[_DRAWS] = json.dumps(in_order)


def made_of(metadata: Mapping[str, str]) -> Made | None:
    """Reads what was made; None for a model of no standard nodes."""
    note = metadata.get(STANDARD)
    targets = [target for target in TARGETS.values() if target.note == note]
    if not targets:
        return None
    try:
        content = json.loads(metadata.get(_DRAWS, "{}"))
        draws = {str(name): int(number) for name, number in content.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        draws = {}
    return Made(targets[0], draws)
