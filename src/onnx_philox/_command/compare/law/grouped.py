"""Differences that read alike, of which a report tells the first few."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from onnx_philox._command.compare.law.change import Change
from onnx_philox._command.compare.law.faults_of_original import Cause

_MOST = 3
"""So many that read alike are told."""
_NAME_OR_NUMBER = re.compile(r"'[^']*'|[-+]?\d[\d.]*")


@dataclass(frozen=True)
class Explained:
    """What differs, and why that is known."""

    change: Change
    causes: Sequence[Cause] = ()
    """The faults of the original that it comes of, or may come of."""

    @property
    def known(self) -> list[str]:
        """The faults that explain it, as tests say."""
        return [cause.text for cause in self.causes if cause.is_tested]

    @property
    def may_come_of(self) -> list[str]:
        """Those of which no test says that."""
        return [cause.text for cause in self.causes if not cause.is_tested]

    @property
    def said_of_causes(self) -> list[str]:
        """A line on each fault."""
        certain = [f"known: {fault}" for fault in self.known]
        return certain + [f"may come of: {fault}" for fault in self.may_come_of]

    @property
    def reads(self) -> tuple[object, ...]:
        """What is equal for differences that read alike: all but names and numbers."""
        text = self.change.text
        for name in self.change.outputs:
            text = text.removeprefix(name)
        sentences = [text, *self.said_of_causes]
        return len(self.change.outputs), *(_NAME_OR_NUMBER.sub("", each) for each in sentences)


@dataclass(frozen=True)
class Told:
    """A difference that is told, or how many others read like it."""

    text: str
    causes: Sequence[str] = ()
    """A line on each of its faults."""

    @property
    def lines(self) -> list[str]:
        """It, and each fault below it."""
        return [self.text, *(f"  {line}" for line in self.causes)]


def grouped(differences: Sequence[Explained]) -> list[Told]:
    """What is told of differences: of those that read alike the first few, and how many more."""
    alike: dict[tuple[object, ...], list[Explained]] = {}
    for each in differences:
        alike.setdefault(each.reads, []).append(each)
    told = []
    for group in alike.values():
        # Of one more a line would say no less.
        shown = group if len(group) == _MOST + 1 else group[:_MOST]
        told += [Told(each.change.text, each.said_of_causes) for each in shown]
        more = len(group) - len(shown)
        if more:
            of_two = len(group[0].change.outputs) > 1
            told.append(Told(f"and {more} {'pairs of outputs' if of_two else 'outputs'} likewise"))
    return told
