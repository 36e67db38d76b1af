"""Modules of torch that are one function."""

from __future__ import annotations

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
