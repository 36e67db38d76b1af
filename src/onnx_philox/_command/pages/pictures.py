"""Pictures of numbers, as SVG that takes its colours from the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
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
    top = 1.12 * max(highest, *curve)

    def x(value: float) -> float:
        share = (value - low) / (high - low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        return _BOTTOM - value / top * (_BOTTOM - _TOP)

    bars = ""
    for left, right, height in zip(edges[:-1], edges[1:], density, strict=True):
        bars += _bar(x(left), x(right), y(height))
    places = []
    for point, height in zip(points, curve, strict=True):
        places.append(f"{x(point):.1f} {y(height):.1f}")
    line = "L".join(places)
    middle = (low + high) / 2
    ticks = [(x(tick), f"{tick:g}") for tick in (low, middle, high)]
    body = f'<path class="bar" d="{bars}"/><path class="curve" d="M{line}"/>'
    return _svg(body + _axis(ticks))


def _bar(left: float, right: float, top: float) -> str:
    """The path of a bar between two places, with a gap on both sides."""
    begin = left + 0.4
    end = right - 0.4
    return f"M{begin:.1f} {_BOTTOM}V{top:.1f}H{end:.1f}V{_BOTTOM}z"


def bars(values: NDArray[Any], names: Sequence[str], shares: Sequence[float]) -> str:
    """How often each of the values 0, 1, 2 ... was drawn, and the exact shares."""
    whole = values.astype(np.int64).reshape(-1)
    counts = np.bincount(whole, minlength=len(shares))
    drawn = counts / values.size
    return beside(names, drawn.tolist(), shares, over=6)


def overlaid(edges: Sequence[float], was: Sequence[float], now: Sequence[float]) -> str:
    """Two histograms over each other: bars, and a line of steps.

    Args:
        edges: The edges of the bars, one more than there are bars.
        was: How many lie between each two, for the bars.
        now: Likewise, for the line.
    """
    low = edges[0]
    high = edges[-1]
    of_bars = _shares(was)
    of_line = _shares(now)
    highest = max(*of_bars, *of_line)
    top = 1.12 * (highest or 1)

    def x(value: float) -> float:
        share = (value - low) / (high - low)
        return _LEFT + share * (_RIGHT - _LEFT)

    def y(share: float) -> float:
        return _BOTTOM - share / top * (_BOTTOM - _TOP)

    body = ""
    steps = ""
    for i, (left, right) in enumerate(itertools.pairwise(edges)):
        body += _bar(x(left), x(right), y(of_bars[i]))
        steps += f"V{y(of_line[i]):.1f}H{x(right):.1f}"
    line = f"M{x(low):.1f} {_BOTTOM}{steps}V{_BOTTOM}"
    middle = (low + high) / 2
    ticks = [(x(tick), f"{tick:.3g}") for tick in (low, middle, high)]
    drawn = f'<path class="bar" d="{body}"/><path class="curve" d="{line}"/>'
    return _svg(drawn + _axis(ticks))


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
    top = 1.15 * (highest or 1)
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
        height = _BOTTOM - before / top * (_BOTTOM - _TOP)
        level = _BOTTOM - after / top * (_BOTTOM - _TOP)
        bar = f"M{left:.1f} {_BOTTOM}V{height:.1f}H{right:.1f}V{_BOTTOM}z"
        body += f'<path class="bar" d="{bar}"/>'
        begin = left - over
        end = right + over
        body += f'<path class="curve" d="M{begin:.1f} {level:.1f}H{end:.1f}"/>'
        if i % shown_every == 0:
            middle = (left + right) / 2
            ticks.append((middle, names[i]))
    return _svg(body + _axis(ticks, is_centred=True))


def on_a_line(was: float, now: float, low: float) -> str:
    """Two numbers between a lowest one and 1: a bar from 0, and a line across it for the other."""

    def x(value: float) -> float:
        share = (value - low) / (1 - low)
        return _LEFT + share * (_RIGHT - _LEFT)

    bar = f"M{x(0):.1f} {_BAR_TOP}H{x(was):.1f}V{_BAR_BOTTOM}H{x(0):.1f}z"
    line = f"M{x(now):.1f} {_BAR_TOP - _OVER}V{_BAR_BOTTOM + _OVER}"
    zero = f"M{x(0):.1f} {_BAR_TOP - _OVER}V{_BAR_AXIS}"
    ticks = [(x(low), f"{low:g}"), (x(0), "0"), (x(1), "1")]
    if low == 0:
        ticks = [(x(0), "0"), (x(0.5), "0.5"), (x(1), "1")]
    drawn = (
        f'<path class="axis" d="{zero}"/><path class="bar" d="{bar}"/>'
        f'<path class="curve" d="{line}"/>'
    )
    return _svg(drawn + _axis(ticks, at=_BAR_AXIS), height=_BAR_AXIS + 20)


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
        f'<path class="same" d="{dots}"/>'
        f'<path class="differs" d="{squares}"/></svg>'
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
    line = f'<path class="axis" d="M{_LEFT} {at}.5H{_RIGHT}"/>'
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
