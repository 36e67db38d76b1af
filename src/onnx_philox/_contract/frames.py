"""Where a user called this package: what a warning points at."""

from __future__ import annotations

import sys


def stacklevel() -> int:
    """The `stacklevel` of a warning that points at the code that called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("onnx_philox."):
        level, frame = level + 1, frame.f_back
    return level
