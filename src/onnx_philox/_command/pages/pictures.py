"""Pictures of numbers, as SVG that takes its colours from the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 320
_HEIGHT = 150
_LEFT = 6
_RIGHT = 314
_TOP = 8
_BOTTOM = 128
_BAR_TOP = 12
_BAR_BOTTOM = 32
_BAR_AXIS = 44
"""Of a bar that lies."""
_OVER = 5
_LETTER = 6.2
"""The width of a letter of a name below an axis."""
_SHOWN = 1920
"""Numbers of a grid."""
_GRID = 48  # marks in a row


@dataclass(frozen=True)
class _Frame:
    """Where numbers from a low to a high one, and heights from 0 to a top, lie in a picture."""

    low: float
    high: float
    top: float = 1

    def x(self, value: float) -> float:
        """How far from the left a number lies."""
        share = (value - self.low) / (self.high - self.low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def y(self, value: float) -> float:
        """How far from the upper edge a height ends."""
        return _BOTTOM - value / self.top * (_BOTTOM - _TOP)


def histogram(
    values: NDArray[Any],
    low: float,
    high: float,
    exact: Callable[[float], float],
) -> str:
    """The density of values between two bounds, and the exact curve."""
    wide = values.astype(np.float64)
    counts, edges = np.histogram(wide, 48, (low, high))
    width = float(edges[1] - edges[0])
    density = counts / (values.size * width)
    points = np.linspace(low, high, 97).tolist()
    curve = [exact(x) for x in points]
    highest = float(density.max())
    frame = _Frame(low, high, 1.12 * max(highest, *curve))
    bars = ""
    for (left, right), height in zip(itertools.pairwise(edges), density, strict=True):
        bars += _bar(frame, left, right, height)
    places = []
    for point, height in zip(points, curve, strict=True):
        x = frame.x(point)
        y = frame.y(height)
        places.append(f"{x:.1f} {y:.1f}")
    line = "L".join(places)
    return _svg(_path("bar", bars) + _path("curve", f"M{line}") + _numbered_axis(frame, "g"))


def _bar(frame: _Frame, low: float, high: float, height: float) -> str:
    """The path of a bar between two numbers, with a gap on both sides."""
    begin = frame.x(low) + 0.4
    end = frame.x(high) - 0.4
    top = frame.y(height)
    return f"M{begin:.1f} {_BOTTOM}V{top:.1f}H{end:.1f}V{_BOTTOM}z"


def _path(kind: str, drawn: str) -> str:
    """A path of a kind of the page's style."""
    return f'<path class="{kind}" d="{drawn}"/>'


def _numbered_axis(frame: _Frame, form: str) -> str:
    """An axis with the lowest number, the middle one and the highest, in a form of digits."""
    middle = (frame.low + frame.high) / 2
    numbers = (frame.low, middle, frame.high)
    return _axis([(frame.x(number), format(number, form)) for number in numbers])


def bars(
    values: NDArray[Any],
    names: Sequence[str],
    shares: Sequence[float],
) -> str:
    """How often each of the values 0, 1, 2 ... was drawn, and the exact shares."""
    whole = values.astype(np.int64).reshape(-1)
    counts = np.bincount(whole, minlength=len(shares))
    drawn = counts / values.size
    return beside(names, drawn.tolist(), shares, over=6)


def overlaid(
    edges: Sequence[float],
    was: Sequence[float],
    now: Sequence[float],
) -> str:
    """Two histograms over each other: bars, and a line of steps.

    Args:
        edges: The edges of the bars, one more than there are bars.
        was: How many lie between each two, for the bars.
        now: Likewise, for the line.
    """
    of_bars = _shares(was)
    of_line = _shares(now)
    highest = max(*of_bars, *of_line)
    frame = _Frame(edges[0], edges[-1], 1.12 * (highest or 1))
    bars = ""
    line = f"M{frame.x(frame.low):.1f} {_BOTTOM}"
    for i, (left, right) in enumerate(itertools.pairwise(edges)):
        bars += _bar(frame, left, right, of_bars[i])
        y = frame.y(of_line[i])
        x = frame.x(right)
        line += f"V{y:.1f}H{x:.1f}"
    line += f"V{_BOTTOM}"
    return _svg(_path("bar", bars) + _path("curve", line) + _numbered_axis(frame, ".3g"))


def _shares(counts: Sequence[float]) -> list[float]:
    """The counts as parts of their sum."""
    total = sum(counts) or 1
    return [count / total for count in counts]


def beside(
    names: Sequence[str],
    was: Sequence[float],
    now: Sequence[float],
    *,
    over: int = 4,
) -> str:
    """The shares of a few values: bars, and across each a line, so much wider, for the others."""
    highest = max(*was, *now)
    frame = _Frame(0, len(names), 1.15 * (highest or 1))
    step = (_RIGHT - _LEFT) / len(names)
    longest = max(len(name) for name in names)
    widest = _LETTER * (1 + longest)
    # Of long names some are left out, so that none lies over the next.
    shown_every = math.ceil(widest / step)
    body = ""
    ticks = []
    for i, (before, after) in enumerate(zip(was, now, strict=True)):
        left = _LEFT + (i + 0.18) * step
        right = _LEFT + (i + 0.82) * step
        height = frame.y(before)
        level = frame.y(after)
        body += _path("bar", f"M{left:.1f} {_BOTTOM}V{height:.1f}H{right:.1f}V{_BOTTOM}z")
        begin = left - over
        end = right + over
        body += _path("curve", f"M{begin:.1f} {level:.1f}H{end:.1f}")
        if i % shown_every == 0:
            middle = (left + right) / 2
            ticks.append((middle, names[i]))
    return _svg(body + _axis(ticks, is_centred=True))


def on_a_line(was: float, now: float, low: float) -> str:
    """Two numbers between a lowest one and 1: a bar from 0, and a line across it for the other."""
    frame = _Frame(low, 1)
    begin = frame.x(0)
    end = frame.x(was)
    across = frame.x(now)
    over = _BAR_TOP - _OVER
    zero = _path("axis", f"M{begin:.1f} {over}V{_BAR_AXIS}")
    bar = _path("bar", f"M{begin:.1f} {_BAR_TOP}H{end:.1f}V{_BAR_BOTTOM}H{begin:.1f}z")
    line = _path("curve", f"M{across:.1f} {over}V{_BAR_BOTTOM + _OVER}")
    numbers = (0, 0.5, 1) if low == 0 else (low, 0, 1)
    ticks = [(frame.x(number), f"{number:g}") for number in numbers]
    return _svg(zero + bar + line + _axis(ticks, at=_BAR_AXIS), height=_BAR_AXIS + 20)


def bits(words: NDArray[np.uint32]) -> str:
    """The bits of words, a mark for each one that is set; four words in a row."""
    in_order = words.astype(">u4").view(np.uint8)
    one_a_byte = np.unpackbits(in_order)
    rows = one_a_byte.reshape(-1, 128)
    scale = (_RIGHT - _LEFT) / rows.shape[1]
    runs = "".join(_runs(row, y) for y, row in enumerate(rows))
    place = f"translate({_LEFT} {_TOP}) scale({scale:.4f})"
    return _svg(f'<path class="ink" transform="{place}" d="{runs}"/>')


def _runs(row: NDArray[Any], y: int) -> str:
    """A path of the ones in a row, neighbours together."""
    padded = np.concatenate([[0], row, [0]])
    steps = np.diff(padded)
    edges = np.flatnonzero(steps).reshape(-1, 2)
    path = ""
    for begin, end in edges:
        length = end - begin
        path += f"M{begin} {y}h{length}v1h{-length}z"
    return path


def grid(differs: bytes) -> str:
    """A mark for each number: a small dot if its bits are equal, a square if they differ.

    Of many numbers it shows those from the row of the first difference on.
    """
    begin = 0
    if len(differs) > _SHOWN:
        first = max(differs.find(1), 0)
        begin = first // _GRID * _GRID
    shown = differs[begin : begin + _SHOWN]
    squares = ""
    dots = ""
    for i, is_other in enumerate(shown):
        x = i % _GRID
        y = i // _GRID
        if is_other:
            squares += f"M{x}.06 {y}.06h.88v.88h-.88z"
        else:
            dots += f"M{x}.28 {y}.5a.22.22 0 1 0 .44 0a.22.22 0 1 0-.44 0"
    part = ""
    if len(shown) != len(differs):
        part = f"; shown are {len(shown)}, from number {begin}"
    height = math.ceil(len(shown) / _GRID)
    return (
        f'<svg viewBox="0 0 {_GRID} {height}" role="img" aria-label="'
        f'{differs.count(1)} of {len(differs)} numbers differ{part}">'
        f"{_path('same', dots)}{_path('differs', squares)}</svg>"
    )


def normal_density(x: float) -> float:
    """The density of the standard normal distribution."""
    height = math.exp(-x * x / 2)
    return height / math.sqrt(2 * math.pi)


def _axis(
    ticks: Sequence[tuple[float, str]],
    *,
    is_centred: bool = False,
    at: int = _BOTTOM,
) -> str:
    line = _path("axis", f"M{_LEFT} {at}.5H{_RIGHT}")
    anchors = ["start", "middle", "end"]
    if is_centred:
        anchors = ["middle"] * len(ticks)
    names = ""
    for (x, name), anchor in zip(ticks, anchors, strict=True):
        place = f'x="{x:.1f}" y="{at + 15}"'
        names += f'<text {place} text-anchor="{anchor}">{name}</text>'
    return line + names


def _svg(body: str, *, height: int = _HEIGHT) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-hidden="true">{body}</svg>'
