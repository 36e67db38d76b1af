"""Pictures of numbers, as SVG that takes its colours from the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH, _HEIGHT = 320, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 6, 314, 8, 128
_LETTER = 6.2
"""The width of a letter of a name below an axis."""
_SHOWN = 1920
"""Numbers of a grid."""
_GRID = 48  # marks in a row


def histogram(
    values: NDArray[Any], low: float, high: float, exact: Callable[[float], float]
) -> str:
    """The density of values between two bounds, and the exact curve."""
    counts, edges = np.histogram(values.astype(np.float64), 48, (low, high))
    density = counts / (values.size * float(edges[1] - edges[0]))
    points = np.linspace(low, high, 97).tolist()
    curve = [exact(x) for x in points]
    top = 1.12 * max(float(density.max()), *curve)

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        return _BOTTOM - value / top * (_BOTTOM - _TOP)

    bars = "".join(
        f"M{x(a) + 0.4:.1f} {_BOTTOM}V{y(d):.1f}H{x(b) - 0.4:.1f}V{_BOTTOM}z"
        for a, b, d in zip(edges[:-1], edges[1:], density, strict=True)
    )
    line = "L".join(f"{x(p):.1f} {y(c):.1f}" for p, c in zip(points, curve, strict=True))
    ticks = [(x(t), f"{t:g}") for t in (low, (low + high) / 2, high)]
    return _svg(f'<path class="bar" d="{bars}"/><path class="curve" d="M{line}"/>{_axis(ticks)}')


def bars(values: NDArray[Any], names: Sequence[str], shares: Sequence[float]) -> str:
    """How often each of the values 0, 1, 2 ... was drawn, and the exact shares."""
    drawn = np.bincount(values.astype(np.int64).reshape(-1), minlength=len(shares)) / values.size
    return beside(names, drawn.tolist(), shares, over=6)


def overlaid(edges: Sequence[float], was: Sequence[float], now: Sequence[float]) -> str:
    """Two histograms over each other: bars, and a line of steps.

    Args:
        edges: The edges of the bars, one more than there are bars.
        was: How many lie between each two, for the bars.
        now: Likewise, for the line.
    """
    low, high = edges[0], edges[-1]
    of_bars, of_line = ([count / (sum(counts) or 1) for count in counts] for counts in (was, now))
    top = 1.12 * (max(*of_bars, *of_line) or 1)

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT)

    def y(share: float) -> float:
        return _BOTTOM - share / top * (_BOTTOM - _TOP)

    between = [*itertools.pairwise(edges)]
    body = "".join(
        f"M{x(a) + 0.4:.1f} {_BOTTOM}V{y(share):.1f}H{x(b) - 0.4:.1f}V{_BOTTOM}z"
        for (a, b), share in zip(between, of_bars, strict=True)
    )
    steps = "".join(
        f"V{y(share):.1f}H{x(b):.1f}" for (_, b), share in zip(between, of_line, strict=True)
    )
    line = f"M{x(low):.1f} {_BOTTOM}{steps}V{_BOTTOM}"
    ticks = [(x(t), f"{t:.3g}") for t in (low, (low + high) / 2, high)]
    return _svg(f'<path class="bar" d="{body}"/><path class="curve" d="{line}"/>{_axis(ticks)}')


def beside(
    names: Sequence[str], was: Sequence[float], now: Sequence[float], *, over: int = 4
) -> str:
    """The shares of a few values: bars, and across each a line, so much wider, for the others."""
    top = 1.15 * (max(*was, *now) or 1)
    step = (_RIGHT - _LEFT) / len(names)
    widest = _LETTER * (1 + max(len(name) for name in names))
    # Of long names some are left out, so that none lies over the next.
    shown_every = math.ceil(widest / step)
    body = ""
    ticks = []
    for i, (before, after) in enumerate(zip(was, now, strict=True)):
        left, right = _LEFT + (i + 0.18) * step, _LEFT + (i + 0.82) * step
        height, level = (_BOTTOM - share / top * (_BOTTOM - _TOP) for share in (before, after))
        body += f'<path class="bar" d="M{left:.1f} {_BOTTOM}V{height:.1f}H{right:.1f}V{_BOTTOM}z"/>'
        body += f'<path class="curve" d="M{left - over:.1f} {level:.1f}H{right + over:.1f}"/>'
        if i % shown_every == 0:
            ticks.append(((left + right) / 2, names[i]))
    return _svg(body + _axis(ticks, is_centred=True))


def bits(words: NDArray[np.uint32]) -> str:
    """The bits of words, a mark for each one that is set; four words in a row."""
    rows = np.unpackbits(words.astype(">u4").view(np.uint8)).reshape(-1, 128)
    scale = (_RIGHT - _LEFT) / rows.shape[1]
    runs = "".join(_runs(row, y) for y, row in enumerate(rows))
    place = f"translate({_LEFT} {_TOP}) scale({scale:.4f})"
    return _svg(f'<path class="ink" transform="{place}" d="{runs}"/>')


def _runs(row: NDArray[Any], y: int) -> str:
    """A path of the ones in a row, neighbours together."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row, [0]])))
    return "".join(f"M{a} {y}h{b - a}v1h{a - b}z" for a, b in edges.reshape(-1, 2))


def grid(differs: bytes) -> str:
    """A mark for each number: a small dot if its bits are equal, a square if they differ.

    Of many numbers it shows those from the row of the first difference on.
    """
    begin = max(differs.find(1), 0) // _GRID * _GRID if len(differs) > _SHOWN else 0
    shown = differs[begin : begin + _SHOWN]
    marks: dict[bool, list[str]] = {True: [], False: []}
    for i, is_other in enumerate(map(bool, shown)):
        x, y = i % _GRID, i // _GRID
        square = f"M{x}.06 {y}.06h.88v.88h-.88z"
        dot = f"M{x}.28 {y}.5a.22.22 0 1 0 .44 0a.22.22 0 1 0-.44 0"
        marks[is_other].append(square if is_other else dot)
    part = "" if len(shown) == len(differs) else f"; shown are {len(shown)}, from number {begin}"
    return (
        f'<svg viewBox="0 0 {_GRID} {math.ceil(len(shown) / _GRID)}" role="img" aria-label="'
        f'{differs.count(1)} of {len(differs)} numbers differ{part}">'
        f'<path class="same" d="{"".join(marks[False])}"/>'
        f'<path class="differs" d="{"".join(marks[True])}"/></svg>'
    )


def normal_density(x: float) -> float:
    """Of the standard normal distribution."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _axis(ticks: Sequence[tuple[float, str]], *, is_centred: bool = False) -> str:
    line = f'<path class="axis" d="M{_LEFT} {_BOTTOM}.5H{_RIGHT}"/>'
    anchors = ["middle"] * len(ticks) if is_centred else ["start", "middle", "end"]
    return line + "".join(
        f'<text x="{x:.1f}" y="{_BOTTOM + 15}" text-anchor="{anchor}">{name}</text>'
        for (x, name), anchor in zip(ticks, anchors, strict=True)
    )


def _svg(body: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-hidden="true">{body}</svg>'
