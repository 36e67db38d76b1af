"""A plugin for pytest: the package's tests of ONNX Runtime, with the native library alone.

It takes the place of `tests/conftest.py`, which needs OpenVINO too.
"""

from __future__ import annotations

import pytest

from tests.common import exhaustive


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(exhaustive, "exhaustive")


@pytest.fixture(scope="session", params=["native"])
def ort_backend(request: pytest.FixtureRequest) -> str:
    return request.param
