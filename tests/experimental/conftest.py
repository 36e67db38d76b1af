"""Fixtures: a card that is played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """NVIDIA's driver, played, in a process where the CPU's provider takes the place of CUDA's."""
    from tests.experimental import cuda_sessions

    monkeypatch.setenv("ONNX_PHILOX_CUDA_PROVIDER", "CPUExecutionProvider")
    with cuda_sessions.stand_in().checked():
        yield cuda_sessions.stand_in()
