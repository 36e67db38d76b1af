"""What a backend knows of a node's input: less at load than at run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import sentences
from onnx_philox._contract.types import BY_DTYPE, ElementType


@dataclass(frozen=True)
class Known:
    """What is known of an input so far; None, also as a dimension, means not known yet."""

    type: ElementType | np.dtype[Any] | None = None
    shape: tuple[int | None, ...] | None = None
    value: NDArray[Any] | None = None

    @classmethod
    def array(cls, value: NDArray[Any]) -> Known:
        """The value itself: everything is known."""
        return cls(BY_DTYPE.get(value.dtype, value.dtype), value.shape, value)

    @property
    def type_name(self) -> str:
        """The type as messages name it."""
        if self.type is None:
            return sentences.NO_KNOWN_TYPE
        return self.type.name


UNKNOWN = Known()


def sizes_of(dimensions: Iterable[Any]) -> tuple[int | None, ...]:
    """Dimensions as numbers; None for one that has a name, or nothing."""
    return tuple(d if isinstance(d, int) else None for d in dimensions)
