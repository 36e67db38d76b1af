"""What the command asks of the libraries in its process, which is its own."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_DEFERRED = ("sympy", "onnx_ir._symbolic_shapes")


def version_of(name: str) -> str | None:
    """The installed version of a package; None where it is not installed under that name."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def prepare() -> None:
    """Prepares the process for a subcommand; again does nothing."""
    # onnx-ir logs tracebacks of damaged models; the command says itself what is wrong.
    logger = logging.getLogger("onnx_ir")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    if _Deferring not in sys.meta_path:
        sys.meta_path.insert(0, _Deferring)


def multiply_in_one_thread() -> None:
    """Makes NumPy start no threads to multiply matrices in, unless a user asks for some.

    It starts them when it is imported, here and in each process that this one starts. What
    multiplies no matrices need not pay for them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class _Deferring:
    """Loads SymPy when its first name is used.

    onnx-ir imports it for arithmetic with symbolic dimensions, which hardly any model needs, and
    that takes longer than all else that a subcommand imports.
    """

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Finds a deferred module as Python would, and lets it wait."""
        if name not in _DEFERRED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec
