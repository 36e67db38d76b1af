"""Modules of torch that are one function, and what torch's own exporter makes of a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

# The exporter's own, on any module.
IGNORES = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def of_a_function(forward: Callable[..., Any]) -> Any:
    """A module whose forward this is."""
    import torch

    module = torch.nn.Module()
    module.forward = forward
    return module


def by_torch(module: Any, x: Any, **options: Any) -> Any:
    """The file, without our table."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module,
            (x,),
            dynamo=True,
            verbose=False,
            **options,
        )
    return program.model_proto
