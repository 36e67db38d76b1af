"""The command `onnx-philox`, a module or package for each of its parts.

`app` declares the subcommands, which is all that help and completion need. The rooms that run them
are attributes of this package, and are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx_philox._command import (
        compare,
        inspect,
        libraries,
        pages,
        replay,
        rewrite,
        run,
        terminal,
        verify,
    )

__all__ = [
    "compare",
    "inspect",
    "libraries",
    "pages",
    "replay",
    "rewrite",
    "run",
    "terminal",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
