"""How messages show shapes."""

from __future__ import annotations

from collections.abc import Sequence

from onnx_philox._contract import sentences as say


def shape_of(shape: Sequence[int | None]) -> str:
    """A shape, named as one."""
    return say.SHAPE.format(dims(shape))


def dims(shape: Sequence[int | None]) -> str:
    """Its dimensions; a question mark for one that is not known."""
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
