"""The table of cases: how they are written down."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from torch_walk.case import NEAR, Case

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

    def __init__(self, names: dict[str, Any]) -> None:
        self.cases: list[Case] = []
        self._names = names

    def rows(self, text: str) -> None:
        """Cases of lines `name | expression | what is known`, of the input x, and of types t.

        A line that begins with a bar goes on with the one before. What is known are the keywords
        of `add`, or with `types` those of `each`. All is read with the names of the module.
        """
        names = globals() | self._names
        for row in text.strip().replace("\n|", " |").splitlines():
            name, made, known = (part.strip() for part in [*row.split(" | "), "", ""][:3])
            options = eval(f"dict({known})", names)
            write = self.each if "types" in options else self.add
            given = "x, t" if "types" in options else "" if options.get("is_module") else "x"
            write(name, eval(f"lambda {given}: {made}", names), **options)

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
            self.add(f"{name} {short}", of_type, call, near=near, near_torch=near_torch)


def _of_type(forward: Callable[[Any, torch.dtype], Any], dtype: torch.dtype, x: Any) -> Any:
    return forward(x, dtype)
