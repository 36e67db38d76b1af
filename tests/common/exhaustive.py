"""Chooses the combinations of a test's parameters that the plain `pytest` runs: as few as it needs
to use every value of each (type, shape, precision, backend, ...), in mixed combinations.

The others get the marker `exhaustive`. A test with one list of cases, however long, runs them all,
but for those that have the marker already.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

MARK = pytest.mark.exhaustive.mark

WITH_TYPE = re.compile(r"(.*?(?:[iuf]\d\d|generator)|)_?(.*)")

Case = tuple[object, ...]
"""A value for each list of values that the test has."""


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Marks the others, or leaves them out where nobody asks for them: two thirds of all tests."""
    calls = metafunc._calls
    lists = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    chosen = covering([values(call.params, lists) for call in calls])
    if is_asked_for(metafunc.config):
        for i, call in enumerate(calls):
            if i not in chosen:
                call.marks.append(MARK)
    else:
        calls[:] = [calls[i] for i in sorted(chosen)]


def is_asked_for(config: pytest.Config) -> bool:
    """Whether `-m` may select them, or somebody names a case, which would not be found."""
    return "not exhaustive" not in config.option.markexpr or any("[" in arg for arg in config.args)


def values(
    params: Mapping[str, object],
    lists: Sequence[str | Sequence[str]],
) -> Case:
    """A call's value of each list: of each `parametrize`, and of each parametrized fixture."""
    given = {name: id(value) for name, value in params.items()}
    case = []
    for names in lists:
        names = names.split(",") if isinstance(names, str) else names
        case.append(tuple(given.pop(name.strip(), None) for name in names))
    return (*case, *(given[name] for name in sorted(given)))


def parts_of(name: str) -> Case:
    """An operator with a type, and what else a name as `normal_f32_state` says."""
    return WITH_TYPE.match(name).groups()


def marked(
    cases: Sequence[Any],
    parts: Callable[[Any], Case] = parts_of,
) -> Iterator[tuple[Any, Sequence[pytest.MarkDecorator]]]:
    """Each case, and the marker of those that only combine the parts that others have already."""
    chosen = covering([parts(case) for case in cases])
    for i, case in enumerate(cases):
        yield case, () if i in chosen else (pytest.mark.exhaustive,)


def covering(cases: Sequence[Case]) -> set[int]:
    """The indices of cases that hold every value of every parameter.

    For each value that no case holds yet, longest lists first: the case whose other values have
    been taken least often, so that the values of short lists are taken in turn.
    """
    holders: dict[tuple[int, object], list[int]] = {}
    for i, case in enumerate(cases):
        for value in enumerate(case):
            holders.setdefault(value, []).append(i)
    lengths = collections.Counter(parameter for parameter, _ in holders)
    taken: collections.Counter[tuple[int, object]] = collections.Counter()
    chosen = set()
    for value in sorted(holders, key=lambda value: (-lengths[value[0]], value[0])):
        if not taken[value]:
            i = min(holders[value], key=lambda i: sum(taken[v] for v in enumerate(cases[i])))
            chosen.add(i)
            taken.update(enumerate(cases[i]))
    return chosen
