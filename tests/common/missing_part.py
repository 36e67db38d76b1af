"""Tests of a part that is not installed: left out, and said at the end. For `.ci/parts`, which
deletes a part's folder and runs the rest.

No list says which these are. A file of tests is left out whose imports name the part, and a test
that ends in `PartNotInstalledError`. Whatever else fails without the part is red.
"""

from __future__ import annotations

import importlib.util
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


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was raised from or while they were handled."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__


def _asks_for_a_missing_part(error: BaseException) -> bool:
    """Whether the package says that a part is missing, or a test imports a module of one."""
    for each in _causes(error):
        if isinstance(each, _parts.PartNotInstalledError):
            return True
        if isinstance(each, ModuleNotFoundError) and not _is_raised_in_the_package(each):
            if any(part.has(str(each.name)) for part in MISSING):
                return True
    return False


def needs(part: _parts.OptionalPart) -> None:
    """Says that a test needs a part which it asks for in a process of its own.

    Raises:
        PartNotInstalledError: It is missing.
    """
    if part in MISSING:
        raise part.not_installed("this test")


def _is_raised_in_the_package(error: BaseException) -> bool:
    """Whether a module of the package is among the frames between a test and an error."""
    package = Path(str(_parts.__file__)).parent
    frames = traceback.extract_tb(error.__traceback__)
    return any(Path(frame.filename).is_relative_to(package) for frame in frames)


def _is_of_a_file_left_out(error: BaseException) -> bool:
    """Whether a file imports another one of tests that was left out."""
    modules = {name.removesuffix(".py").replace("/", ".") for name in _files}
    return any(isinstance(each, ImportError) and each.name in modules for each in _causes(error))


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
    if not MISSING or not report.failed:
        return report
    error = report.call.excinfo.value
    if _asks_for_a_missing_part(error) or _is_of_a_file_left_out(error):
        _files.append(collector.nodeid)
        report.outcome = "passed"
        report.result = []
    return report


@contextmanager
def _leaves_out(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if MISSING and item.name != NEVER_LEFT_OUT and _asks_for_a_missing_part(error):
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
