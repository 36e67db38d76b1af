"""The choice between the backends of a runtime: the native library, or the operator in Python.

A backend is one module with the same few functions; each runtime lists its own, best first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

from onnx_philox._contract import choices
from onnx_philox._versions import install_command

AUTO = "auto"

_log = logging.getLogger("onnx_philox")

CUDA_PROVIDERS = ("CUDAExecutionProvider", "CudaPluginExecutionProvider")
"""ONNX Runtime's providers for which the native library has kernels on cards."""


class NotInstalledError(ImportError):
    """A package that one of our extras brings is not installed.

    Args:
        who: The module or backend that needs it.
        package: What it needs, by the name that people know.
        extra: The extra that brings it.

    Attributes:
        command: What to run in a shell.
    """

    def __init__(self, who: str, package: str, extra: str) -> None:
        self.command = install_command(extra)
        self._parts = (who, package, extra)
        super().__init__(f"{who} needs {package}: {self.command}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Copying and pickling call the class with its parts, not with the text in `args`.
        return type(self), self._parts, self.__dict__


class Backend(Protocol):
    """What every backend module provides; each runtime adds what else it needs."""

    def unavailable(self) -> ImportError | None:
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
        missing = " ".join(str(reason) for reason in reasons.values() if reason)
        for position, (name, reason) in enumerate(reasons.items()):
            if reason is None:
                _say_once(runtime, name, missing, best=position == 0)
                return backends[name]
        raise ImportError(missing)
    allowed = "one of " + ", ".join(repr(name) for name in (AUTO, *backends))
    remedy = "Choose one of these, or install an onnx-philox that has it."
    choices.check_choice(f"onnx_philox.{runtime}", "backend", requested, backends, remedy, allowed)
    reason = backends[requested].unavailable()
    if reason is not None:
        raise reason
    return backends[requested]


@cache
def _say_once(
    runtime: str,
    name: str,
    missing: str,
    *,
    best: bool,
) -> None:
    level = logging.INFO if best else logging.WARNING
    said = f"onnx_philox.{runtime}: backend 'auto' is {name!r} here. {missing}".rstrip()
    _log.log(level, "%s", said)
