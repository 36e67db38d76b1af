"""Which nodes of ONNX are random: the one table of operators and the opsets that have them.

A version is an opset in which the operator's schema changed. A node means the newest version that
is not above its model's opset.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class StandardOperator:
    """A standard operator with random nodes."""

    versions: tuple[Version, ...]

    def at(self, opset: int) -> Version | None:
        """The version that an opset means; None if the operator is newer."""
        return max(
            (v for v in self.versions if v.since <= opset), key=lambda v: v.since, default=None
        )


_HALF_TO_DOUBLE = (F16, F32, F64)
_WITH_BF16 = (*_HALF_TO_DOUBLE, BF16)


def _always(*versions: tuple[int, tuple[ElementType, ...]]) -> StandardOperator:
    return StandardOperator(
        tuple(Version(since, RandomWhen.ALWAYS, types) for since, types in versions)
    )


STANDARD_OPERATORS = {
    "RandomUniform": _always((1, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "RandomUniformLike": _always((1, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "RandomNormal": _always((1, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "RandomNormalLike": _always((1, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "Bernoulli": _always((15, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "Multinomial": _always((7, _HALF_TO_DOUBLE), (22, _WITH_BF16)),
    "Dropout": StandardOperator(
        (
            Version(1, RandomWhen.IS_TEST_IS_ZERO, _HALF_TO_DOUBLE),
            Version(6, RandomWhen.IS_TEST_IS_ZERO, _HALF_TO_DOUBLE),
            Version(7, RandomWhen.NEVER, _HALF_TO_DOUBLE),
            Version(10, RandomWhen.NEVER, _HALF_TO_DOUBLE),
            Version(12, RandomWhen.TRAINING_MODE, _HALF_TO_DOUBLE),
            Version(13, RandomWhen.TRAINING_MODE, _WITH_BF16),
            # ONNX allows the float8 types too; nothing computes with them.
            Version(22, RandomWhen.TRAINING_MODE, _WITH_BF16),
        )
    ),
}
