"""A case: a call of torch's in one of its forms, with what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NEAR = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-6, "f64": 1e-6}
"""How far, relatively, arithmetic around a draw may be off: a few units in the last place."""


@dataclass(frozen=True)
class Case:
    """A call of torch's in a form, which has a name of its own, of a type.

    `make` gives the function of the input x, f32 of [batch, 4], or a module; `call` what a refusal
    may know the call by, the operation's name first. The values may be off by `near`, relatively,
    and with torch's own numbers by `near_torch`. Nothing reads the draws that are `dead`: in the
    default alignment they take no stream.
    """

    name: str
    call: tuple[str, ...]
    make: Callable[[], Any]
    near: float = 0.0
    dead: frozenset[int] = frozenset()
    near_torch: float = 0.0
