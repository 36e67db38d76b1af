"""Tests of ONNX Runtime's Python backend where it cannot be had: skipped, and said at the end."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

from onnx_philox.onnxruntime import _python_backend

# On an older Python its absence is a mistake, and the tests fail.
REASON = (
    _python_backend.unavailable()
    if sys.version_info >= _python_backend.NO_EXTENSIONS_FROM
    else None
)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, Any, Any]:
    """Skips a test that has asked for the backend, by what it is told then."""
    try:
        return (yield)
    except ImportError as error:
        if REASON is not None and str(error) == REASON:
            pytest.skip(REASON)
        raise


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how many tests that were."""
    if REASON is not None:
        skipped = terminalreporter.stats.get("skipped", ())
        count = sum(REASON in str(report.longrepr) for report in skipped)
        terminalreporter.section("not tested", yellow=True)
        terminalreporter.line(f"{count} tests. {REASON}")
