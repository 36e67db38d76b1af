"""The choice between the backends of a runtime: the native library, or the operator in Python.

A backend is one module with the same few functions; each runtime lists its own, best first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Protocol, TypeVar

from onnx_philox._contract.refusal import refuse

AUTO = "auto"

_log = logging.getLogger("onnx_philox")


class Backend(Protocol):
    """What every backend module provides; each runtime adds what else it needs."""

    def unavailable(self) -> str | None:
        """Why this backend cannot be used here, and what to do; None if it can."""


B = TypeVar("B", bound=Backend)


def choose(runtime: str, backends: Mapping[str, B], requested: str) -> B:
    """The backend of a runtime by its name, or the first available one for "auto".

    Raises:
        ValueError: There is no backend of that name in this version.
        ImportError: The backend, or each of them for "auto", lacks something that you must install.
    """
    if requested == AUTO:
        reasons = {name: backend.unavailable() for name, backend in backends.items()}
        missing = " ".join(filter(None, reasons.values()))
        for position, (name, reason) in enumerate(reasons.items()):
            if reason is None:
                _say_once(runtime, name, missing, best=position == 0)
                return backends[name]
        raise ImportError(missing)
    if requested not in backends:
        allowed = ", ".join(repr(name) for name in (AUTO, *backends))
        refuse(
            f"onnx_philox.{runtime}",
            "backend",
            repr(requested),
            allowed,
            "Choose one of these, or install an onnx-philox that has it.",
        )
    reason = backends[requested].unavailable()
    if reason is not None:
        raise ImportError(reason)
    return backends[requested]


@cache
def _say_once(runtime: str, name: str, missing: str, *, best: bool) -> None:
    level = logging.INFO if best else logging.WARNING
    said = f"onnx_philox.{runtime}: backend 'auto' is {name!r} here. {missing}".rstrip()
    _log.log(level, "%s", said)
