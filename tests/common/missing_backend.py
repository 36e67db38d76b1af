"""Tests of ONNX Runtime's Python backend where it cannot be had: skipped, and said at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from onnx_philox.onnxruntime import _python_onnxruntime

# On an older Python its absence is a mistake, and the tests fail.
_ERROR = _python_onnxruntime.unavailable()
REASON = str(_ERROR) if _ERROR and not _python_onnxruntime.HAS_EXTENSIONS else None


def is_missing(runtime: str, backend: str) -> bool:
    """Whether a backend is the one that this Python lacks, for a test of all of them at once."""
    return REASON is not None and (runtime, backend) == ("onnxruntime", "python")


@contextmanager
def _skips() -> Iterator[None]:
    """Skips a test that asks for the backend and is told that it is missing."""
    try:
        yield
    except ImportError as error:
        if REASON is not None and (str(error) == REASON or error.name == "onnxruntime_extensions"):
            pytest.skip(REASON)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skips fixtures that ask for it, and tests whose parameters name it for another process."""
    parameters = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
    if REASON is not None and parameters:
        asked = {parameters.get("ort_backend"), parameters.get("backend")}
        if "python" in asked and "openvino" not in item.nodeid:
            pytest.skip(REASON)
    with _skips():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Skips a test that asks for it itself."""
    with _skips():
        return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how many tests that were."""
    if REASON is not None:
        skipped = terminalreporter.stats.get("skipped", ())
        count = sum(REASON in str(report.longrepr) for report in skipped)
        terminalreporter.section("not tested", yellow=True)
        terminalreporter.line(f"{count} tests. {REASON}")
