"""The command `onnx-philox`, a module or package for each of its parts.

`app` declares the subcommands, which is all that help needs. The modules that run them are
attributes of this package: each is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from onnx_philox._files.signals import held_back

if TYPE_CHECKING:
    from onnx_philox._command import compare as compare
    from onnx_philox._command import inspect as inspect
    from onnx_philox._command import libraries as libraries
    from onnx_philox._command import pages as pages
    from onnx_philox._command import replay as replay
    from onnx_philox._command import rewritten_file as rewritten_file
    from onnx_philox._command import run as run
    from onnx_philox._command import terminal as terminal
    from onnx_philox._command import verify as verify


def __getattr__(name: str) -> Any:
    if find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # What is compiled ends the process where its import is interrupted.
    with held_back():
        return importlib.import_module(f"{__name__}.{name}")
