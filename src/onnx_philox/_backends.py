"""The choice between the backends of a runtime: the native library, or the operator in Python.

A backend is one module with the same few functions; each runtime lists its own, best first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Protocol, TypeVar

AUTO = "auto"

_log = logging.getLogger("onnx_philox")


class Backend(Protocol):
    """What every backend module says of itself; what else it does is its runtime's matter."""

    def unavailable(self) -> str | None:
        """Why this backend cannot be used here and what to do; None where it can."""


B = TypeVar("B", bound=Backend)


def choose(runtime: str, backends: Mapping[str, B], requested: str) -> B:
    """The backend of a runtime by its name, or the first available one for "auto".

    Raises:
        ValueError: There is no backend of that name in this version.
        ImportError: The backend, or every one of them, lacks something that must be installed.
    """
    if requested == AUTO:
        reasons: list[str] = []
        for name, backend in backends.items():
            reason = backend.unavailable()
            if reason is None:
                _say_once(runtime, name, " ".join(reasons))
                return backend
            reasons.append(reason)
        raise ImportError(" ".join(reasons))
    if requested not in backends:
        allowed = ", ".join(repr(name) for name in (AUTO, *backends))
        raise ValueError(
            f"onnx_philox.{runtime}: backend is {requested!r}; allowed: {allowed}. "
            "Choose one of these, or install an onnx-philox that has it."
        )
    reason = backends[requested].unavailable()
    if reason is not None:
        raise ImportError(reason)
    return backends[requested]


@cache
def _say_once(runtime: str, name: str, why_no_better: str) -> None:
    if why_no_better:
        _log.warning("onnx_philox.%s: backend 'auto' is %r here. %s", runtime, name, why_no_better)
    else:
        _log.info("onnx_philox.%s: backend 'auto' is %r here", runtime, name)
