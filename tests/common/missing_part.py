"""Tests of a part that is not installed: left out, and said at the end. For `.ci/parts`, which
deletes a part's folder and runs the rest.

No list says which these are. A file of tests is left out whose imports name the part, and a test
that is told in words that the part is not installed. Whatever else fails without the part is red.
"""

from __future__ import annotations

import importlib.util
import re
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onnx_philox import _parts

PARTS = (_parts.TORCH_PART, _parts.COMMAND_PART, _parts.GPU_PART, _parts.CUDA_PART)
NEVER_LEFT_OUT = "test_without_the_parts_every_door_of_the_core_works"
"""Whatever a door of the core says, it must not be that a part is missing."""
LEFT_OUT = "asks for a part that is missing"


def _is_missing(part: _parts.OptionalPart) -> bool:
    try:
        return importlib.util.find_spec(part.package) is None
    except ModuleNotFoundError:
        return True  # the folder that it is in


MISSING = [part for part in PARTS if _is_missing(part)]
_files: list[str] = []


def _is_told(text: str) -> bool:
    """Whether an error says in words that a part is missing; its beginning may be cut off."""
    return any(f"the folder onnx_philox/{part.folder} is missing" in text for part in MISSING)


def _is_imported(text: str) -> bool:
    """Whether a test, and not the package, imports a module of a part, by an error's traceback."""
    if re.search(r"\b(src|site-packages)/onnx_philox/", text):
        return False
    # In what a child printed, quotes are escaped.
    modules = re.findall(r"No module named \\?'(onnx_philox\.[\w.]+?)\\?'", text)
    return any(part.has(module) for part in MISSING for module in modules)


def _is_of_a_file_left_out(text: str) -> bool:
    """Whether a file imports another one of tests that was left out."""
    return "cannot import name" in text and any(name in text for name in _files)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-of-each", action="store_true", help="each with its first parameters")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.one_of_each:
        # The name of the function; its parameters stand in brackets behind it.
        first: dict[str, pytest.Item] = {}
        others = []
        for item in items:
            name = item.nodeid.partition("[")[0]
            if first.setdefault(name, item) is not item:
                others.append(item)
        items[:] = first.values()
        config.hook.pytest_deselected(items=others)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    text = str(report.longrepr)
    if (
        MISSING
        and report.failed
        and (_is_told(text) or _is_imported(text) or _is_of_a_file_left_out(text))
    ):
        _files.append(collector.nodeid)
        report.outcome = "passed"
        report.result = []
    return report


@contextmanager
def _leaves_out(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if MISSING and item.name != NEVER_LEFT_OUT:
            text = "".join(traceback.format_exception(error))
            if _is_told(text) or _is_imported(text):
                pytest.skip(LEFT_OUT)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    with _leaves_out(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    with _leaves_out(item):
        return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how much was left out."""
    if MISSING:
        skipped = terminalreporter.stats.get("skipped", ())
        count = sum(LEFT_OUT in str(report.longrepr) for report in skipped)
        folders = ", ".join(part.folder for part in MISSING)
        terminalreporter.section(f"without {folders}", yellow=True)
        names = " ".join(Path(name).stem for name in _files)
        terminalreporter.line(f"Left out: {len(_files)} files ({names}), {count} other tests.")
