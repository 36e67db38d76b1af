"""Whether a module sets torch's generator itself, which a model cannot."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

_AROUND_ITS_FUNCTIONS = (
    ("random.py",),
    ("_compile.py",),
    ("_dynamo", "eval_frame.py"),
)


@contextlib.contextmanager
def watched() -> Iterator[list[bool]]:
    """The list is not empty if something sets torch's generator meanwhile, or sets it back."""
    import torch

    sets: list[bool] = []
    module: Any = torch.random
    own = module.default_generator
    module.default_generator = _WatchedGenerator(own, sets)
    try:
        yield sets
    finally:
        module.default_generator = own


class _WatchedGenerator:
    """What the functions of `torch.random` take for torch's generator, as long as it is watched."""

    def __init__(self, generator: Any, sets: list[bool]) -> None:
        self._generator = generator
        self._sets = sets

    def __getattr__(self, name: str) -> Any:
        import torch

        if name in ("manual_seed", "seed", "set_state"):
            folder = os.path.dirname(torch.__file__)
            own = (folder, os.path.dirname(__file__))
            through = [os.path.join(folder, *path) for path in _AROUND_ITS_FUNCTIONS]
            frame: Any = sys._getframe(1)
            while frame.f_code.co_filename in (contextlib.__file__, *through):
                frame = frame.f_back
            # torch's compiler, and what runs a program here, leave it as it was.
            if not frame.f_code.co_filename.startswith(own):
                self._sets.append(True)
        return getattr(self._generator, name)
