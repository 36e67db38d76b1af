"""How messages show shapes and names, and the place that a warning points at."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from onnx_philox._contract import sentences as say


def shape_of(shape: Sequence[int | None]) -> str:
    """A shape, named as one."""
    return say.SHAPE.format(dims(shape))


def dims(shape: Iterable[int | str | None]) -> str:
    """The dimensions; a question mark for one that is not known."""
    sizes = ["?" if d is None else str(d) for d in shape]
    return f"[{', '.join(sizes)}]"


def listed(names: Sequence[str], word: str = "or") -> str:
    """Names as a sentence lists them: ``f16, f32 or f64``."""
    if len(names) < 2:
        return "".join(names)
    most = ", ".join(names[:-1])
    return f"{most} {word} {names[-1]}"


def stacklevel() -> int:
    """The `stacklevel` of a warning that points at the code that called this package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("onnx_philox."):
        level += 1
        frame = frame.f_back
    return level
