"""Which nodes of ONNX are random: the one table of operators and the opsets that have them.

A version is an opset in which the operator's schema changed. A node means the newest version that
is not above its model's opset.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum

from onnx_philox._contract.types import BF16, F16, F32, F64, ElementType


class RandomWhen(Enum):
    """What makes a node random, in a version of its operator."""

    ALWAYS = "always"
    NEVER = "never"
    IS_TEST_IS_ZERO = "its attribute is_test is 0"
    TRAINING_MODE = "its input training_mode is connected, and not the constant false"


@dataclass(frozen=True)
class Version:
    """One version of a standard operator."""

    since: int
    random_when: RandomWhen
    types: tuple[ElementType, ...]
    """The element types it draws, or (Bernoulli, Multinomial, Dropout) takes."""


_HALF_TO_DOUBLE = (F16, F32, F64)
WITH_BF16 = (*_HALF_TO_DOUBLE, BF16)


def _always(*versions: tuple[int, tuple[ElementType, ...]]) -> tuple[Version, ...]:
    return tuple(Version(since, RandomWhen.ALWAYS, types) for since, types in versions)


STANDARD_OPERATORS = {
    **dict.fromkeys(
        ("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike"),
        _always((1, _HALF_TO_DOUBLE), (22, WITH_BF16)),
    ),
    "Bernoulli": _always((15, _HALF_TO_DOUBLE), (22, WITH_BF16)),
    "Multinomial": _always((7, _HALF_TO_DOUBLE), (22, WITH_BF16)),
    "Dropout": (
        *(Version(since, RandomWhen.IS_TEST_IS_ZERO, _HALF_TO_DOUBLE) for since in (1, 6)),
        *(Version(since, RandomWhen.NEVER, _HALF_TO_DOUBLE) for since in (7, 10)),
        Version(12, RandomWhen.TRAINING_MODE, _HALF_TO_DOUBLE),
        # ONNX allows the float8 types too; nothing computes with them.
        *(Version(since, RandomWhen.TRAINING_MODE, WITH_BF16) for since in (13, 22)),
    ),
}
"""The versions of the standard operators with random nodes, oldest first."""


@functools.cache
def version_at(op_type: str, opset: int) -> Version | None:
    """The version that an opset means; None if the operator is newer, or another."""
    known = [v for v in STANDARD_OPERATORS.get(op_type, ()) if v.since <= opset]
    return known[-1] if known else None
