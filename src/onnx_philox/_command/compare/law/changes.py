"""What differs between two laws, a sentence each; the tests have decided that something does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law.runs import (
    BELOW,
    INFINITE,
    MEAN,
    NOT_A_NUMBER,
    SHARE,
    SIZE,
    SPREAD,
    PairedRuns,
    Verdicts,
    Watched,
)
from onnx_philox._command.compare.law.seen import Least, Shown
from onnx_philox._command.compare.law.statistics import Paired

Array = NDArray[Any]

_FAR = 1.5
"""So many times as strong a difference below a quantile is another one than that of the mean."""

_UNSEEN = 0.3
"""A correlation that counts as one, where none would be seen for certain."""

_MOST_DIGITS = 6
"""Shares of percent are printed with fewer."""


def changes(runs: PairedRuns, look: Verdicts, seen: Shown) -> list[str]:
    """What differs: in each output, then of which go together."""
    said = []
    for number, output in enumerate(runs.outputs):
        lines = []
        if not (look.repeats[number] and any(output.always_repeats)):
            lines = [*_of_output(output, number, look, seen.outputs[number])]
        if look.repeats[number] and not lines:
            lines.append(_repeats(output))
        said += lines
    said += _together(runs, look, seen)
    if look.is_any and not said:
        said.append("which values go together differs, in what no correlation says")
    return said


def _repeats(output: Watched) -> str:
    was, now = output.repeating[0] / output.pairs
    return f"{output.name}: as in the run before it in {shares_in_words(now, was)}"


def _of_output(output: Watched, number: int, look: Verdicts, least: Least) -> Iterator[str]:
    """What differs in an output: the whole, or the element that differs most, where few do."""
    whole, elements = look.whole[number], look.elements[number]
    strengths = look.strengths[number]
    which = np.asarray(elements.any(axis=1))
    rest = ~which if 2 * which.sum() <= len(which) else np.ones(len(which), bool)
    fired: dict[str, list[int]] = {}
    for i in np.flatnonzero(whole).tolist():
        fired.setdefault(output.statistics[i].kind, []).append(i)

    def strongest(*kinds: str) -> float:
        return max((strengths[i] for kind in kinds for i in fired.get(kind, ())), default=0)

    if SIZE in fired:
        now, was = (each[-1] * output.size / output.whole.runs for each in _both(output.whole))
        yield f"{output.name}: {now:.4g} elements in a run, was {was:.4g}"
        return
    not_finite = [i for kind in (INFINITE, NOT_A_NUMBER) for i in fired.get(kind, ())]
    if not_finite:
        yield from (_not_finite(output, i) for i in not_finite)
        return
    lines = [*_moments(output, whole, rest, least)]
    of_share = [i for i in fired.get(SHARE, ()) if _differs_in_rest(output, i, rest, least)]
    if of_share:
        lines.append(_share(output, max(of_share, key=lambda i: _parted(output.whole, i))))
    if BELOW in fired and strongest(BELOW) > _FAR * strongest(MEAN, SPREAD, SHARE):
        # A mean and a spread that differ do not say it all.
        at = max(fired[BELOW], key=lambda i: float(strengths[i]))
        lines.insert(0, _below(output, at))
    if not lines and which.any():
        lines.append(_element(output, elements, int(which.sum())))
    if not lines and whole.any():
        lines.append(f"{output.name}: how far its values lie from their mean differs")
    yield from lines


def _differs_in_rest(output: Watched, which: int, rest: Array, least: Least) -> bool:
    """Whether a share also differs in the elements which do not differ much by themselves."""
    elements, value = output.elements, output.statistics[which].value
    if rest.all():
        return True
    tests = [
        (element, test)
        for element, column in enumerate(elements.columns)
        for test in np.flatnonzero(column.edges == value).tolist()
        if column.is_few
    ]
    if not tests:
        return True
    # A value that the rest never has differs in the others alone.
    of_rest = [at for at in tests if rest[at[0]]]
    if not of_rest:
        return False
    apart = [elements.now[at] - elements.was[at] for at in of_rest]
    mean = float(sum(apart)) / len(apart) / output.whole.runs
    return abs(mean) > (least.share or 0) / 2


def _both(of: Paired) -> tuple[Array, Array]:
    return of.now, of.was


def _parted(of: Paired, which: int) -> float:
    return float(abs(of.now[which] - of.was[which]))


def _moments(output: Watched, fired: Array, rest: Array, least: Least) -> Iterator[str]:
    """That the mean or the spread of an output differs, also in the rest of its elements."""
    runs = output.whole.runs
    means, squares = output.sums / runs, output.squares / runs
    variances = np.maximum(squares - np.square(means), 0)
    if rest.any():
        apart = output.places_of(~rest)
        means, variances = np.delete(means, apart, axis=1), np.delete(variances, apart, axis=1)
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
    event = "true" if output.is_bool else _in_text(value)
    return f"{output.name}: {event} in {shares_in_words(now, was)}"


def _not_finite(output: Watched, which: int) -> str:
    runs = output.whole.runs
    now, was = output.whole.now[which] / runs, output.whole.was[which] / runs
    value = output.statistics[which].value
    return f"{output.name}: {_in_text(value)} in {shares_in_words(now, was)}"


def _below(output: Watched, which: int) -> str:
    """The distribution function at a quantile, in the element where it differs most."""
    elements, level = output.elements, output.statistics[which].level
    apart = np.where(elements.is_few, -1, np.abs(elements.now - elements.was)[:, level])
    element = int(apart.argmax())
    runs = output.whole.runs
    now, was = elements.now[element, level] / runs, elements.was[element, level] / runs
    edge = elements.columns[element].edges[level]
    said = f"{_up_to(edge)} in {shares_in_words(now, was)}"
    if len(output.places) == 1:
        return f"{output.name}: {said}"
    of_all = [each[which] / runs for each in _both(output.whole)]
    note = f"of all values, each by its own quantile: {shares_in_words(*of_all)}"
    return f"{output.name}{[*output.places[element]]}: {said} ({note})"


def _element(output: Watched, fired: Array, differing: int) -> str:
    """The share that differs most; of several that differ as much a zero, which a mask leaves."""
    elements = output.elements
    apart = np.where(fired, np.abs(elements.now - elements.was), -1)
    differs_most = apart >= apart.max() - 1e-9
    places = [(int(i), int(j)) for i, j in np.argwhere(differs_most)]
    element, test = max(places, key=lambda at: elements.columns[at[0]].edges[at[1]] == 0)
    column = elements.columns[element]
    value = column.edges[test]
    if output.is_bool:
        event = "true"
    elif column.is_few:
        event = _in_text(value)
    else:
        event = _up_to(value)
    name = output.name
    note = ""
    if len(output.places) > 1:
        name += str([*output.places[element]])
        note = f" ({differing} of {len(output.places)} values differ)"
    runs = output.whole.runs
    now, was = elements.now[element, test] / runs, elements.was[element, test] / runs
    return f"{name}: {event} in {shares_in_words(now, was)}{note}"


def shares_in_words(now: float, was: float) -> str:
    """Two shares in percent, with as many digits as it takes to tell them apart."""
    for digits in range(1, _MOST_DIGITS):
        new = f"{now:.{digits}%}"
        old = f"{was:.{digits}%}"
        if new != old:
            return f"{new}, was {old}"
    return f"{now:.1%}, was {was:.1%}"


def _in_text(value: float) -> str:
    """A value as it is printed: of an infinity its sign, too."""
    if math.isfinite(value):
        return f"{value:.6g}"
    return "NaN" if math.isnan(value) else f"{value:+}"


def _up_to(edge: float) -> str:
    """What lies up to an edge, in words; nothing lies below -inf."""
    return _in_text(edge) if edge == -math.inf else f"up to {_in_text(edge)}"


def _together(runs: PairedRuns, look: Verdicts, seen: Shown) -> Iterator[str]:
    """The outputs whose values go together in one model; of each two those that part most.

    A pair is told where its correlations differ, each by the means of its own model, so that a
    share that differs is not told once more as what goes together.
    """
    together = runs.together
    was, now = together.correlations()
    varies = np.logical_and(*together.varies())
    told: dict[tuple[int, int], tuple[int, int]] = {}
    fired = look.together & varies[:, None] & varies
    apart = np.abs(now - was)
    # The last one of two outputs is kept, which parts most.
    for at in sorted(np.argwhere(fired), key=lambda at: apart[at[0], at[1]]):
        one, other = int(at[0]), int(at[1])
        # Shares that moved make each pair of their values differ, without going together.
        has_moved = any(look.whole[together.owners[i]].any() for i in (one, other))
        notable = _notable(seen, one, other)
        if apart[one, other] > (2 * notable if has_moved else notable):
            told[int(together.owners[one]), int(together.owners[other])] = one, other
    for pair, (one, other) in told.items():
        sides = float(now[one, other]), float(was[one, other])
        yield _in_words(runs, pair, sides, _notable(seen, one, other))
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


def _notable(seen: Shown, one: int, other: int) -> float:
    """A correlation of two columns that is worth a sentence: half of what is seen."""
    least = seen.correlation_of(one, other)
    return least / 2 if math.isfinite(least) else _UNSEEN / 2


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
