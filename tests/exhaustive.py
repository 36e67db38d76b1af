"""Chooses the combinations of a test's parameters that the plain `pytest` runs.

A test with several parameters (type, shape, precision, backend, instruction set, ...) has
thousands of combinations. The plain `pytest` runs as few of them as it needs to use every value of
each parameter, in mixed combinations. The others get the marker `exhaustive`, and
`pytest -m exhaustive` runs them. A test with one list of cases, however long, runs them all, but
for those that have the marker already.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence

import pytest

FEW = 4
"""A test with at most this many cases runs them all."""

Case = tuple[object, ...]
"""A value for each list of values that the test has."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec"):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in functions.values():
        if len(cases) > FEW:
            chosen = covering([values(case) for case in cases])
            for i, case in enumerate(cases):
                if i not in chosen:
                    case.add_marker(pytest.mark.exhaustive)


def values(item: pytest.Item) -> Case:
    """An item's value of each list: of each `parametrize`, and of each parametrized fixture."""
    given = {name: id(value) for name, value in item.callspec.params.items()}  # type: ignore[attr-defined]
    case = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.split(",") if isinstance(names, str) else names
        case.append(tuple(given.pop(name.strip(), None) for name in names))
    return (*case, *(given[name] for name in sorted(given)))


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
