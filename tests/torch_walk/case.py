"""A case: a call of torch's in one of its forms, with what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NEAR = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-6, "f64": 1e-6}
"""How far, relatively, arithmetic around a draw may be off: a few units in the last place."""


@dataclass(frozen=True)
class Case:
    """A call of torch's.

    Attributes:
        name: The call, its form and its type: each case has its own.
        call: The names that a refusal may know the call by, the operation's first.
        make: Gives the function of the input x, f32 of [batch, 4], or a module, in training mode
            or not.
        near: How far the values may be off, relatively; 0 where they are only drawn.
        dead: Which of its draws nothing reads, in the default alignment: they take no stream.
        near_torch: The same for torch's own numbers.
    """

    name: str
    call: tuple[str, ...]
    make: Callable[[], Any]
    near: float = 0.0
    dead: frozenset[int] = frozenset()
    near_torch: float = 0.0
