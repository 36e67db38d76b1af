"""The table of cases: how they are written down."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from tests.torch_numbers.torch_walk.case import NEAR, Case

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
SHORT = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
}

Calls = str | Sequence[str]
WIDE = 1e-6


class Table:
    """Cases in order, with names of their own."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def add(
        self,
        name: str,
        forward: Callable[[Any], Any],
        call: Calls = "",
        *,
        near: float = 0.0,
        near_torch: float = 0.0,
        dead: Iterable[int] = (),
        is_module: bool = False,
    ) -> None:
        """A case of a function, or of what makes a module; its call is the name's first word unless
        it is given."""
        calls = (call or name.split()[0].rstrip("_"),) if isinstance(call, str) else tuple(call)
        assert name not in {case.name for case in self.cases}, name
        make = forward if is_module else lambda: forward
        self.cases.append(Case(name, calls, make, near, frozenset(dead), near_torch))

    def each(
        self,
        name: str,
        forward: Callable[[Any, torch.dtype], Any],
        types: Iterable[torch.dtype],
        call: Calls = "",
        *,
        is_near: float = 0,
        near_torch: float = 0.0,
    ) -> None:
        call = call or name.split()[0].rstrip("_")
        for dtype in types:
            short = SHORT[dtype]
            of_type = functools.partial(_of_type, forward, dtype)
            near = is_near and NEAR[short] * is_near
            self.add(
                f"{name} {short}",
                of_type,
                call,
                near=near,
                near_torch=near_torch,
            )


def _of_type(
    forward: Callable[[Any, torch.dtype], Any],
    dtype: torch.dtype,
    x: Any,
) -> Any:
    return forward(x, dtype)
