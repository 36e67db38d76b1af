"""How modules are written down: their parts with their class, and the rest is `forward`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn


class Made(nn.Module):
    """A module of the parts that its class names, each made when the module is."""

    made: ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init_subclass__(cls, **parts: Callable[[], Any]) -> None:
        super().__init_subclass__()
        cls.made = cls.made | parts

    def __init__(self) -> None:
        super().__init__()
        for name, make in self.made.items():
            setattr(self, name, make())
