"""How modules are written down, with their parts at their class, and exported."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar

import torch

import onnx_philox
from tests.common.torch_modules import of_a_function

X = torch.linspace(-1, 1, 24).reshape(4, 6)


def exported(given: Any, x: Any = X, **options: Any) -> Any:
    """What `onnx_philox.torch.export` makes of it: with torch's numbers, verified."""
    module = of_a_function(given) if isinstance(given, FunctionType) else given
    options = {"alignment": "pytorch", "verify": True, "verbose": False, **options}
    return onnx_philox.torch.export(module, (x,), **options)


def verdict_of(given: Any, x: Any = X, **options: Any) -> Any:
    """The verdict on a right export."""
    verdict = exported(given, x, **options).verdict
    assert verdict.is_ok, verdict
    return verdict


class Made(torch.nn.Module):
    """A module of the parts that its class names, each made when the module is."""

    made: ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init_subclass__(cls, **parts: Callable[[], Any]) -> None:
        super().__init_subclass__()
        cls.made = cls.made | parts

    def __init__(self) -> None:
        super().__init__()
        for name, make in self.made.items():
            setattr(self, name, make())
