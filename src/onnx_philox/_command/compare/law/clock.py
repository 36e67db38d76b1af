"""How long both models run: no longer than a user allows, with what is counted at the end."""

from __future__ import annotations

import collections
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from onnx_philox._progress import Progress

_TELLING_SECONDS = 0.1
_SPARE = 0.03
"""Of the time, what is left for what nobody measured."""
_SPARE_COUNTING = 0.1
"""Counting, of which a few runs were measured, may take so much longer."""
_SPARE_END = 0.5
"""And the end, which was measured once."""
_LATER = 65
"""The median of so many last runs says how long a later one takes."""
LEAST_RUNS = 2
"""Fewer do not even say whether the original repeats itself, nor how long a run takes."""


@dataclass(frozen=True)
class Times:
    """How long the runs took, in seconds; one run is one of each model."""

    all: float
    """All of them, with what was counted."""
    first: float
    """The first one, in which a runtime may prepare the model."""
    each: float
    """A later one, or the first one alone; with what is counted of it."""
    end: float
    """What is counted once, at the end."""
    limit: float | None
    """How long they were allowed to take."""
    is_over: bool
    """Whether that ended them."""

    def of(self, runs: int) -> int:
        """How long so many runs take, in whole seconds, rounded up to two digits."""
        seconds = math.ceil(self.first + (runs - 1) * self.each + self.end)
        digits = len(str(seconds))
        unit: int = 10 ** max(digits - 2, 0)
        return math.ceil(seconds / unit) * unit

    def said(self, runs: int) -> list[str]:
        """What there is to know of the time: that a first run took much of it, or that all did."""
        if self.limit is None:
            return []
        said = []
        if self.first > self.limit / 2:
            said.append(
                f"The first run of each took {self.first:.2g} s of --seconds {self.limit:g}."
            )
        if self.all > self.limit:
            more = f"The runs took {self.all:.3g} s, more than --seconds {self.limit:g}"
            reason = ": fewer say nothing" if runs <= LEAST_RUNS else ""
            said.append(f"{more}{reason}.")
        return said


class Clock:
    """Says whether another run begins, and tells how far they are.

    The first run always begins, and the second one if any time is left. Each other one begins if it
    will end in time, with what is counted after it.

    Args:
        runs: How many there are, at most.
        seconds: For how long they run; None for no limit.
        progress: Is told.
        now: The time, in seconds from any moment.

    The time begins with the first question.
    """

    def __init__(
        self,
        runs: int,
        seconds: float | None,
        progress: Progress,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._seconds = seconds
        self._progress = progress
        self.now = now
        self._began: float | None = None
        self._told = -_TELLING_SECONDS
        self._first = 0.0
        self._others = 0.0
        self._last: collections.deque[float] = collections.deque(maxlen=_LATER)
        self._done = 0
        self._is_over = False
        self._adding = 0.0
        self._count_first: float | None = None
        """How long it takes to count the first runs."""
        self._count_each = 0.0
        """And each of the others that waits."""
        self._end = 0.0
        """How long it takes to judge all that was counted."""

    @property
    def has_limit(self) -> bool:
        """Whether the runs must end in time."""
        return self._seconds is not None

    def goes_on(self, waiting: int) -> bool:
        """Whether another run begins, where so many are not counted yet."""
        passed = self._passed()
        if passed - self._told >= _TELLING_SECONDS:
            self._told = passed
            self._tell(passed)
        if self._done == 0:
            return True
        if self._done >= self._runs:
            return False
        if self._seconds is None:
            return True
        end = passed
        if self._done >= LEAST_RUNS:
            counting = (waiting + 1) * self._count_each
            end += self._each + (1 + _SPARE_COUNTING) * counting
            end += (1 + _SPARE_END) * self._at_end
        self._is_over = end >= self._seconds * (1 - _SPARE)
        return not self._is_over

    @contextmanager
    def running(self) -> Iterator[None]:
        """While a run is made of each model."""
        began = self.now()
        yield
        took = self.now() - began
        if self._done == 0:
            self._first = took
        else:
            self._others += took
            self._last.append(took)
        self._done += 1

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While something is done that is no part of the runs."""
        passed = self._passed()
        yield
        self._began = self.now() - passed

    @contextmanager
    def adding(self) -> Iterator[None]:
        """While a run is added to the others, of which some are counted."""
        began = self.now()
        yield
        self._adding += self.now() - began

    def rehearsed(self, counting: float) -> None:
        """Takes down how long it takes to count all runs: first `LEAST_RUNS` of them, then more."""
        if self._count_first is None:
            self._count_first = counting
        others = self._done - LEAST_RUNS
        if others:
            self._count_each = max(counting - self._count_first, 0) / others

    def counted(self, runs: int) -> None:
        """Takes down that so many runs are counted, and none waits."""
        self._count_first = None
        self._count_each = self._adding / runs

    def judged(self, judging: float) -> None:
        """Takes down how long it takes to judge what was counted."""
        self._end = judging

    def times(self) -> Times:
        """How long it took until now."""
        return Times(
            all=self._passed(),
            first=self._first,
            each=self._each_later + self._count_each,
            end=self._at_end,
            limit=self._seconds,
            is_over=self._is_over,
        )

    @property
    def _each(self) -> float:
        """How long a run takes; a first one is seldom like the others."""
        if self._done <= 1:
            return self._first
        return self._others / (self._done - 1)

    @property
    def _at_end(self) -> float:
        """How long it takes to begin to count, where nothing is counted yet, and to judge."""
        return (self._count_first or 0) + self._end

    @property
    def _each_later(self) -> float:
        """How long a later run takes, whatever the first ones loaded."""
        return statistics.median(self._last) if self._last else self._first

    def _passed(self) -> float:
        now = self.now()
        if self._began is None:
            self._began = now
        return now - self._began

    def _tell(self, passed: float) -> None:
        expected = self._runs
        if self._seconds and passed:
            expected = min(self._runs, int(self._done * self._seconds / passed))
        self._progress(self._done, max(expected, 1), "running both")
