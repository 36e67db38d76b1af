"""What differs between two laws, a sentence each; the tests have decided that something does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law.runs import (
    BELOW,
    MEAN,
    NOT_FINITE,
    SHARE,
    SIZE,
    SPREAD,
    Look,
    PairedRuns,
    Watched,
)
from onnx_philox._command.compare.law.seen import Least, Seen
from onnx_philox._command.compare.law.statistics import Paired

Array = NDArray[Any]

_UNSEEN = 0.3
"""A correlation that counts as one, where none would be seen for certain."""


def changes(runs: PairedRuns, look: Look, seen: Seen) -> list[str]:
    """What differs: in each output, then of which go together."""
    said = []
    for number, output in enumerate(runs.outputs):
        if look.repeats[number] and any(output.always_repeats):
            said.append(_repeats(output))
            continue
        fired = look.whole[number]
        said += _of_output(output, fired, look.elements[number], seen.outputs[number])
        if look.repeats[number]:
            said.append(_repeats(output))
    said += _together(runs, look, seen)
    if look.is_any and not said:
        said.append("which values go together differs, in what no correlation says")
    return said


def _repeats(output: Watched) -> str:
    now, was = output.repeating[0, 1] / output.pairs, output.repeating[0, 0] / output.pairs
    return f"{output.name}: as in the run before it in {now:.1%}, was {was:.1%}"


def _of_output(output: Watched, whole: Array, elements: Array, least: Least) -> Iterator[str]:
    """What differs in an output: the element that differs most, where few do; else the whole."""
    kinds = [each.kind for each in output.statistics]
    which = np.asarray(elements.any(axis=1))
    count, differing = len(output.places), int(which.sum())
    lines = [*_moments(output, whole, which, least)]
    fired = np.flatnonzero(whole).tolist()
    of_share = [i for i in fired if kinds[i] == SHARE]
    if of_share:
        lines.append(_share(output, max(of_share, key=lambda i: _parted(output.whole, i))))
    of_numbers = [i for i in fired if kinds[i] == NOT_FINITE]
    if of_numbers:
        lines.insert(0, _not_finite(output, of_numbers[0]))
    elif differing and (2 * differing <= count or not lines):
        lines.insert(0, _element(output, elements, differing))
    of_quantile = [i for i in fired if kinds[i] == BELOW]
    if not lines and of_quantile:
        lines.append(_below(output, max(of_quantile, key=lambda i: _parted(output.whole, i))))
    if output.statistics[-1].kind == SIZE and whole[-1]:
        now, was = (each[-1] * output.size / output.whole.runs for each in _both(output.whole))
        lines.append(f"{output.name}: {now:.4g} elements in a run, was {was:.4g}")
    if not lines and whole.any():
        lines.append(f"{output.name}: how far its values lie from their mean differs")
    yield from lines


def _both(of: Paired) -> tuple[Array, Array]:
    return of.now, of.was


def _parted(of: Paired, which: int) -> float:
    return float(abs(of.now[which] - of.was[which]))


def _moments(output: Watched, fired: Array, differing: Array, least: Least) -> Iterator[str]:
    """That the mean or the spread of an output differs, also without the elements that differ."""
    runs = output.whole.runs
    means, squares = output.sums / runs, output.squares / runs
    variances = np.maximum(squares - np.square(means), 0)
    if 2 * differing.sum() <= len(differing) and output.size > differing.sum():
        alone = output.places_of(differing)
        means, variances = np.delete(means, alone, axis=1), np.delete(variances, alone, axis=1)
    for i, each in enumerate(output.statistics):
        if not fired[i]:
            continue
        if each.kind == MEAN:
            was, now = output.raw / runs
            shift = float((means[1] - means[0]).mean())
            if abs(shift) < (least.shift or 0) / 2:
                continue
            yield (
                f"{output.name}: its mean is {now:.4g}, was {was:.4g} "
                f"(a shift of {shift:.2g} standard deviations)"
            )
        elif each.kind == SPREAD:
            was, now = variances.mean(axis=1)
            if was <= 0:
                yield f"{output.name}: its values vary, and did not"
                continue
            ratio = float(np.sqrt(now / was))
            # What moves the mean moves the mean square, too.
            if abs(np.log(max(ratio, 1e-9))) > np.log(least.scale or 1) / 2:
                yield f"{output.name}: its spread is {ratio:.3g} times what it was"


def _share(output: Watched, which: int) -> str:
    runs = output.whole.runs
    now, was = output.whole.now[which] / runs, output.whole.was[which] / runs
    value = output.statistics[which].value
    event = "true" if output.is_bool else f"{value:.6g}"
    return f"{output.name}: {event} in {now:.1%}, was {was:.1%}"


def _not_finite(output: Watched, which: int) -> str:
    runs = output.whole.runs
    now, was = output.whole.now[which] / runs, output.whole.was[which] / runs
    return f"{output.name}: NaN or infinite in {now:.1%}, was {was:.1%}"


def _below(output: Watched, which: int) -> str:
    """The distribution function at a quantile, by the edge of the first element."""
    runs = output.whole.runs
    now, was = output.whole.now[which] / runs, output.whole.was[which] / runs
    level = output.statistics[which].level
    edges = [c.edges[level] for c in output.elements.columns if not c.is_few]
    where = f"up to {edges[0]:.6g}" if len(edges) == 1 else f"up to its quantile {level + 1} of 13"
    return f"{output.name}: {where} in {now:.1%}, was {was:.1%}"


def _element(output: Watched, fired: Array, differing: int) -> str:
    """The share that differs most; of several that differ as much a zero, which a mask leaves."""
    elements = output.elements
    apart = np.where(fired, np.abs(elements.now - elements.was), -1)
    most = apart.max()
    places = [(int(i), int(j)) for i, j in np.argwhere(apart >= most - 1e-9)]
    element, test = max(places, key=lambda at: elements.columns[at[0]].edges[at[1]] == 0)
    column = elements.columns[element]
    value = column.edges[test]
    event = "true" if output.is_bool else f"{'' if column.is_few else 'up to '}{value:.6g}"
    name, note = output.name, ""
    if len(output.places) > 1:
        name += str([*output.places[element]])
        note = f" ({differing} of {len(output.places)} values differ)"
    runs = output.whole.runs
    now, was = elements.now[element, test] / runs, elements.was[element, test] / runs
    return f"{name}: {event} in {now:.1%}, was {was:.1%}{note}"


def _together(runs: PairedRuns, look: Look, seen: Seen) -> Iterator[str]:
    """The outputs whose values go together in one model; of each two those that part most.

    A pair is told where its correlations differ, each by the means of its own model, so that a
    share that differs is not told once more as what goes together.
    """
    together = runs.together
    was, now = together.correlations()
    varies = together.varies()
    told: dict[tuple[int, int], tuple[int, int]] = {}
    fired = look.together & varies[:, None] & varies
    for at in sorted(np.argwhere(fired), key=lambda at: abs(now[*at] - was[*at])):
        one, other = int(at[0]), int(at[1])
        least = seen.correlation_of(one, other)
        if abs(now[one, other] - was[one, other]) > (least if np.isfinite(least) else _UNSEEN) / 2:
            told[int(together.owners[one]), int(together.owners[other])] = one, other
    for pair, place in told.items():
        least = seen.correlation_of(*place)
        sides = float(now[place]), float(was[place])
        yield _in_words(runs, pair, sides, (least if np.isfinite(least) else _UNSEEN) / 2)
    if runs.places is None:
        return
    mean = (runs.places.now / runs.runs, runs.places.was / runs.runs)
    for number in np.flatnonzero(look.places):
        pair = runs.place_pairs[number]
        is_product = runs.place_pairs.index(pair) == number
        both = mean[0][number], mean[1][number]
        explained = any(look.whole[i].any() or any(runs.outputs[i].always_repeats) for i in pair)
        if pair in told or explained:
            continue
        told[pair] = pair
        if is_product:
            yield _in_words(runs, pair, both, _UNSEEN / 2)
        else:
            names = " and ".join(repr(runs.outputs[i].name) for i in pair)
            agree = f"in {both[0]:.1%} of equal places, was {both[1]:.1%}"
            yield f"{names} have their frequent values, or have not, together {agree}"


def _in_words(
    runs: PairedRuns, pair: tuple[int, int], found: tuple[float, float], least: float
) -> str:
    """Two correlations, now and before."""
    names = [repr(runs.outputs[i].name) for i in pair]
    which = f"values of {names[0]}" if pair[0] == pair[1] else " and ".join(names)
    goes, went = (abs(each) >= least for each in found)
    what = "went together, now they do not" if went else "go together, and did not"
    if goes == went:
        what = "go together otherwise"
    return f"{which} {what}: rank correlation {found[0]:.2f}, was {found[1]:.2f}"
