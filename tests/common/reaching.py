"""Which tests a processor can turn red: found while they run, for `.ci/processors`.

    ONNX_PHILOX_REACHING=FILE pytest ...        writes the names of those tests into a file
    pytest --only-reaching=FILE ...             runs these alone
    pytest --only-reaching=FILE --turn=0/2 ...  runs every second one; 1/2, the others

They are the tests that reach OpenVINO's CPU plugin, and those of the native backends. A test
reaches the plugin that compiles, imports or runs a model, that starts a process (what that one does
nobody sees), or that uses a fixture which did. A model that a module keeps in a cache is seen when
it is run. A test that is marked `any_processor` is none of them: what it starts asks nothing of the
processor, or the test itself names the instruction set, and so has been run with each.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import openvino as ov
import pytest

VARIABLE = "ONNX_PHILOX_REACHING"
METHODS = (
    (ov.Core, "compile_model"),
    (ov.Core, "import_model"),
    (ov.CompiledModel, "create_infer_request"),
    (ov.CompiledModel, "infer_new_request"),
    (ov.CompiledModel, "__call__"),
    (ov.InferRequest, "infer"),
    (ov.InferRequest, "start_async"),
)
# Python's own audit events, and that of child.py.
BEGUN = ("subprocess.Popen", "os.fork", "os.posix_spawn", "child.forked")


class Recorder:
    """Writes a line for each test that a processor can turn red."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._reached = 0
        self._fixtures: set[int] = set()
        for class_, name in METHODS:
            setattr(class_, name, self._counted(getattr(class_, name)))
        sys.addaudithook(self._heard)

    def _counted(
        self,
        method: Callable[..., Any],
    ) -> Callable[..., Any]:
        @functools.wraps(method)
        def counted(*arguments: Any, **named: Any) -> Any:
            self._reached += 1
            return method(*arguments, **named)

        return counted

    def _heard(self, event: str, _: tuple[Any, ...]) -> None:
        if event in BEGUN:
            self._reached += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        """Remembers a fixture that reaches the plugin: other tests use what it made."""
        before = self._reached
        try:
            return (yield)
        finally:
            if self._reached > before:
                self._fixtures.add(id(fixturedef))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        before = self._reached
        said = yield
        fixtures = [
            fixture for all_ in item._fixtureinfo.name2fixturedefs.values() for fixture in all_
        ]
        is_of_a_fixture = any(id(fixture) in self._fixtures for fixture in fixtures)
        is_native = "native" in item.nodeid
        if item.get_closest_marker("any_processor") is not None:
            return said
        if self._reached > before or is_of_a_fixture or is_native:
            # Each of pytest's processes adds whole lines.
            with self._file.open("a") as file:
                file.write(f"{item.nodeid}\n")
        return said


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-reaching", type=Path, metavar="FILE", help="see tests/common/reaching.py"
    )
    parser.addoption(
        "--turn", type=_turn, metavar="TURN/TURNS", default=(0, 1), help="a share of these"
    )


def _turn(text: str) -> tuple[int, int]:
    turn, turns = map(int, text.split("/"))
    if not 0 <= turn < turns:
        raise argparse.ArgumentTypeError(f"must be a number and a greater one: got {text!r}")
    return turn, turns


def pytest_configure(config: pytest.Config) -> None:
    file = os.environ.get(VARIABLE)
    if file:
        config.pluginmanager.register(Recorder(Path(file)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    file = config.option.only_reaching
    if file:
        names = set(file.read_text().splitlines())
        turn, turns = config.option.turn
        # Neighbours differ in a parameter: each turn has some of every function.
        chosen = [item for item in items if item.nodeid in names][turn::turns]
        ids = {item.nodeid for item in chosen}
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in ids])
        items[:] = chosen
