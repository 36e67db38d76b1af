"""What differs between two laws, a sentence each; the tests have decided that something does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._command.compare.law.change import Change, GoTogether, OfValues, Quantile
from onnx_philox._command.compare.law.paired_runs import PairedRuns, Verdicts
from onnx_philox._command.compare.law.seen import Least, Shown
from onnx_philox._command.compare.law.watched import (
    BELOW,
    INFINITE,
    MEAN,
    NOT_A_NUMBER,
    SHAPE,
    SHARE,
    SIZE,
    SPREAD,
    Watched,
)

Array = NDArray[Any]

_FAR = 1.5
"""So many times as strong a difference below a quantile is another one than that of the mean."""
_UNSEEN = 0.3
"""A correlation that counts as one, where none would be seen for certain."""
_MOST_DIGITS = 6
"""Shares of percent are printed with fewer."""
_STANDARD_ERRORS = 6
"""Of a spread, beside a mean that differs; one is at most 1 over the root of the runs."""
_ROUNDING = 1e-9


def changes(runs: PairedRuns, look: Verdicts, seen: Shown) -> list[Change]:
    """What differs: in each output, then of which go together."""
    found: list[Change] = []
    for number, output in enumerate(runs.outputs):
        found += _of_output(output, number, look, seen.outputs[number])
    found += _ChangesTogether(runs, look, seen).found()
    if look.is_any and not found:
        names = tuple(output.name for output in runs.outputs)
        text = "values depend on each other differently, in a way that no correlation shows"
        found.append(Change(text, names))
    return found


def _of_output(
    output: Watched,
    number: int,
    look: Verdicts,
    least: Least,
) -> list[Change]:
    """What differs in an output; that a run repeats the last where nothing else says it."""
    if not look.repeats[number]:
        return _Changed(output, number, look, least).found()
    found: list[Change] = []
    if not any(side.always_repeats for side in output.sides):
        found = _Changed(output, number, look, least).found()
    if not found:
        was, now = output.repeating[0] / output.pairs
        text = f"{output.name}: as in the run before it in {shares_in_words(now, was)}"
        found = [Change(text, (output.name,))]
    return found


class _Changed:
    """What differs in an output: the whole, or the element that differs most, where few do."""

    def __init__(
        self,
        output: Watched,
        number: int,
        look: Verdicts,
        least: Least,
    ) -> None:
        self._output = output
        self._least = least
        self._is_inverted = look.is_inverted[number]
        self._runs = output.whole.runs
        self._elements = look.elements[number]
        """Which tests of which elements fired."""
        self._strengths = look.strengths[number]
        self._differing = np.asarray(self._elements.any(axis=1))
        is_minority = 2 * self._differing.sum() <= len(self._differing)
        self._rest = ~self._differing if is_minority else np.ones(len(self._differing), bool)
        """The elements that say whether the whole output differs: those that do not by themselves,
        where they are the most."""
        self._fired: dict[str, list[int]] = {}
        """The statistics of the whole output that fired, by their kind."""
        for place in np.flatnonzero(look.whole[number]).tolist():
            self._fired.setdefault(output.statistics[place].kind, []).append(place)

    def found(self) -> list[Change]:
        """Each difference."""
        if SIZE in self._fired or SHAPE in self._fired:
            return [Change(self._shape(), (self._output.name,))]
        not_finite = self._fired.get(INFINITE, []) + self._fired.get(NOT_A_NUMBER, [])
        if not_finite:
            return [Change(self._not_finite(place), (self._output.name,)) for place in not_finite]
        found = [*self._mean(), *self._spread(), *self._share()]
        if self._is_beyond_moments():
            found.insert(0, self._below())
        if found:
            return found
        if self._differing.any():
            return [self._element()]
        if self._fired:
            return [self._of_whole("how far its values lie from their mean differs")]
        return []

    def _of_whole(self, text: str) -> OfValues:
        """A difference of all elements."""
        # Of a single element it is also one of that.
        elements = frozenset((0,)) if self._output.size == 1 else None
        name = self._output.name
        return OfValues(f"{name}: {text}", (name,), elements, is_inverted=self._is_inverted)

    def _strongest(self, *kinds: str) -> float:
        places = [place for kind in kinds for place in self._fired.get(kind, [])]
        return max((float(self._strengths[place]) for place in places), default=0.0)

    def _was(self, place: int) -> float:
        return float(self._output.whole.was[place]) / self._runs

    def _now(self, place: int) -> float:
        return float(self._output.whole.now[place]) / self._runs

    def _shape(self) -> str:
        name = self._output.name
        of_original, of_model = self._output.sides
        if of_original.shape is not None and of_model.shape is not None:
            return f"{name}: its shape is {[*of_model.shape]}, was {[*of_original.shape]}"
        if SIZE in self._fired:
            (place,) = self._fired[SIZE]
            now = self._now(place) * self._output.size
            was = self._was(place) * self._output.size
            return f"{name}: {now:.4g} elements in a run, was {was:.4g}"
        (place,) = self._fired[SHAPE]
        shares = shares_in_words(self._now(place), self._was(place))
        return f"{name}: of shape {[*self._output.usual_shape]} in {shares}"

    def _not_finite(self, place: int) -> str:
        value = self._output.statistics[place].value
        shares = shares_in_words(self._now(place), self._was(place))
        return f"{self._output.name}: {_in_text(value)} in {shares}"

    def _of_rest(self, sums: Array) -> Array:
        """Means of an output's elements in both models, without those that differ by themselves."""
        apart = self._output.places_of(~self._rest)
        return np.asarray(np.delete(sums, apart, axis=1)) / self._runs

    def _mean(self) -> Iterator[Change]:
        if MEAN not in self._fired:
            return
        means = self._of_rest(self._output.sums)
        shift = float((means[1] - means[0]).mean())
        if abs(shift) < (self._least.shift or 0) / 2:
            return
        was, now = self._output.raw / self._runs
        means_in_words = f"its mean is {now:.4g}, was {was:.4g}"
        shift_in_words = f"a shift of {shift:.2g} standard deviations"
        yield self._of_whole(f"{means_in_words} ({shift_in_words})")

    def _spread(self) -> Iterator[Change]:
        if SPREAD not in self._fired:
            return
        means = self._of_rest(self._output.sums)
        squares = self._of_rest(self._output.squares)
        variances = np.maximum(squares - np.square(means), 0)
        was, now = variances.mean(axis=1).tolist()
        if was <= 0:
            yield self._of_whole("its values vary, and did not")
            return
        ratio = math.sqrt(now / was)
        notable = math.log(self._least.scale or 1) / 2
        if MEAN in self._fired:
            # What moves the mean moves the mean square, too: a spread must show by itself.
            notable = max(notable, _STANDARD_ERRORS / math.sqrt(self._runs))
        if abs(math.log(max(ratio, _ROUNDING))) > notable:
            yield self._of_whole(f"its spread is {ratio:.3g} times what it was")

    def _share(self) -> Iterator[Change]:
        """The share that differs most of those that differ in the rest, too."""
        places = [place for place in self._fired.get(SHARE, []) if self._differs_in_rest(place)]
        if not places:
            return
        place = max(places, key=self._apart)
        value = self._output.statistics[place].value
        event = "true" if self._output.is_bool else _in_text(value)
        now = self._now(place)
        was = self._was(place)
        found = self._of_whole(f"{event} in {shares_in_words(now, was)}")
        yield replace(found, now=now, was=was)

    def _apart(self, place: int) -> float:
        """How far apart a share is in both models."""
        return abs(self._now(place) - self._was(place))

    def _differs_in_rest(self, place: int) -> bool:
        """Whether a share also differs in the elements which do not differ much by themselves."""
        if self._rest.all():
            return True
        elements = self._output.elements
        value = self._output.statistics[place].value
        has_value = False
        apart = []
        for element, column in enumerate(elements.columns):
            if not column.is_few:
                continue
            for test in np.flatnonzero(column.edges == value).tolist():
                has_value = True
                if self._rest[element]:
                    now = elements.now[element, test]
                    was = elements.was[element, test]
                    apart.append(now - was)
        if not has_value:
            return True
        # A value that the rest never has differs in the others alone.
        if not apart:
            return False
        mean = float(np.mean(apart)) / self._runs
        return abs(mean) > (self._least.share or 0) / 2

    def _is_beyond_moments(self) -> bool:
        """Whether a mean and a spread that differ do not say it all."""
        below = self._strongest(BELOW)
        return BELOW in self._fired and below > _FAR * self._strongest(MEAN, SPREAD, SHARE)

    def _below(self) -> OfValues:
        """The distribution function at a quantile, in the element where it differs most."""
        elements = self._output.elements
        place = max(self._fired[BELOW], key=self._apart)
        level = self._output.statistics[place].level
        apart = np.abs(elements.now - elements.was)[:, level]
        # Elements of few values have no such level.
        of_many_values = np.where(elements.is_few, -1, apart)
        element = int(of_many_values.argmax())
        count = len(self._output.places)
        return self._of_element(element, level, f"of {count} values it differs most")

    def _element(self) -> OfValues:
        """The share that differs most; of several that do, that of a zero, which a mask leaves."""
        elements = self._output.elements
        columns = elements.columns
        every = np.abs(elements.now - elements.was)
        apart = np.where(self._elements, every, -1)
        differs_most = apart >= apart.max() - _ROUNDING
        places = np.argwhere(differs_most).tolist()
        zeros = []
        for element, test in places:
            if columns[element].edges[test] == 0:
                zeros.append((element, test))
        element, test = (zeros or places)[0]
        differing = int(self._differing.sum())
        count = len(self._output.places)
        if differing == 1:
            return self._of_element(element, test, f"1 of {count} values differs")
        return self._of_element(element, test, f"{differing} of {count} values differ, it most")

    def _of_element(self, element: int, test: int, beside: str) -> OfValues:
        """The share that an element has by a test, and how many others differ in words."""
        output = self._output
        column = output.elements.columns[element]
        value = column.edges[test]
        if output.is_bool:
            event = "true"
        elif column.is_few:
            event = _in_text(value)
        else:
            event = _up_to(value)
        now, was = self._shares_of(element, test)
        text = f"{event} in {shares_in_words(now, was)}"
        if not column.is_few and output.is_finite:
            text += f"; {_moments_in_words(*output.moments_of(element))}"
        name = output.name
        place = output.places[element]
        if len(output.places) == 1:
            said = f"{name}: {text}"
        else:
            said = f"{name}{[*place]}: {text} ({beside})"
        elements = None
        are_some = not self._rest.all() or output.size == 1
        if self._differing.any() and are_some:
            differing = output.places_of(self._differing)
            elements = frozenset(differing.tolist())
        quantiles = () if column.is_few else self._quantiles(element)
        return OfValues(said, (name,), elements, place, now, was, self._is_inverted, quantiles)

    def _shares_of(self, element: int, test: int) -> tuple[float, float]:
        """Of the model, and of the original."""
        elements = self._output.elements
        now = float(elements.now[element, test]) / self._runs
        was = float(elements.was[element, test]) / self._runs
        return now, was

    def _quantiles(self, element: int) -> tuple[Quantile, ...]:
        """The distribution functions of an element of many values."""
        found = []
        for test, edge in enumerate(self._output.elements.columns[element].edges.tolist()):
            now, was = self._shares_of(element, test)
            found.append(Quantile(edge, now, was))
        return tuple(found)


def shares_in_words(now: float, was: float) -> str:
    """Two shares in percent, with as many digits as it takes to tell them apart."""
    for digits in range(1, _MOST_DIGITS):
        new = f"{now:.{digits}%}"
        old = f"{was:.{digits}%}"
        if new != old:
            return f"{new}, was {old}"
    return f"{now:.1%}, was {was:.1%}"


def _moments_in_words(means: Array, deviations: Array) -> str:
    """Two means and two standard deviations: the original's, and the model's."""
    mean_was, mean_now = means.tolist()
    deviation_was, deviation_now = deviations.tolist()
    return (
        f"mean {mean_now:.3g}, was {mean_was:.3g}; "
        f"standard deviation {deviation_now:.3g}, was {deviation_was:.3g}"
    )


def _in_text(value: float) -> str:
    """A value as it is printed: of an infinity its sign, too."""
    if math.isfinite(value):
        # Of -0 it is 0.
        return f"{value + 0:.6g}"
    return "NaN" if math.isnan(value) else f"{value:+}"


def _up_to(edge: float) -> str:
    """What lies up to an edge, in words; nothing lies below -inf."""
    if math.isinf(edge):
        return _in_text(edge)
    digits = _in_text(edge) if edge == round(edge) else f"{edge:.3g}"
    return f"{digits} or less"


class _ChangesTogether:
    """The outputs whose values go together in one model; of each two those that part most."""

    def __init__(self, runs: PairedRuns, look: Verdicts, seen: Shown) -> None:
        self._runs = runs
        self._look = look
        self._seen = seen
        self._told: set[tuple[int, int]] = set()

    def found(self) -> list[GoTogether]:
        """A difference of each two outputs."""
        return [*self._of_elements(), *self._of_places()]

    def _of_elements(self) -> Iterator[GoTogether]:
        """A pair is told where its correlations differ, each by the means of its own model.

        So a share that differs is not told once more as what goes together.
        """
        together = self._runs.together
        was, now = together.correlations()
        was_varies, now_varies = together.varies()
        varies = was_varies & now_varies
        fired = self._look.together & varies[:, None] & varies
        apart = np.abs(now - was)
        strongest: dict[tuple[int, int], tuple[int, int]] = {}
        # The last one of two outputs is kept, which parts most.
        places = np.argwhere(fired).tolist()
        places.sort(key=lambda place: apart[place[0], place[1]])
        for one, other in places:
            outputs = int(together.owners[one]), int(together.owners[other])
            enough = self._notable(one, other)
            if any(self._look.whole[output].any() for output in outputs):
                # Shares that moved make each pair of their values differ, without going together.
                enough *= 2
            if apart[one, other] > enough:
                strongest[outputs] = one, other
        for outputs, (one, other) in strongest.items():
            self._told.add(outputs)
            correlation = float(now[one, other])
            correlation_was = float(was[one, other])
            notable = self._notable(one, other)
            text = self._in_words(outputs, correlation, correlation_was, notable)
            elements = self._element_of(one), self._element_of(other)
            yield GoTogether(text, self._both(outputs), correlation, correlation_was, elements)

    def _element_of(self, column: int) -> int | None:
        """The number of a column's element in its whole output; None of a mean."""
        together = self._runs.together
        if together.is_mean[column]:
            return None
        owner = int(together.owners[column])
        # The columns of an output stand together, in the order of its elements.
        first = int(np.flatnonzero(together.owners == owner)[0])
        return self._runs.outputs[owner].number_of(column - first)

    def _of_places(self) -> Iterator[GoTogether]:
        places = self._runs.places
        for number in np.flatnonzero(self._look.places):
            each = self._runs.at_places[number]
            if each.outputs in self._told or any(map(self._is_explained, each.outputs)):
                continue
            self._told.add(each.outputs)
            now = float(places.now[number]) / places.runs
            was = float(places.was[number]) / places.runs
            if each.is_agreement:
                names = " and ".join(self._names(each.outputs))
                shares = f"in {now:.1%} of equal places, was {was:.1%}"
                text = f"{names} have their frequent values, or have not, together {shares}"
            else:
                text = self._in_words(each.outputs, now, was, _UNSEEN / 2)
            both = self._both(each.outputs)
            yield GoTogether(text, both, now, was, is_correlation=not each.is_agreement)

    def _is_explained(self, number: int) -> bool:
        """Whether what differs in an output also parts its places from another's."""
        output = self._runs.outputs[number]
        is_still = any(side.always_repeats for side in output.sides)
        return is_still or bool(self._look.whole[number].any())

    def _notable(self, one: int, other: int) -> float:
        """A correlation of two columns that is worth a sentence: half of what is seen."""
        least = self._seen.correlation_of(one, other)
        return least / 2 if math.isfinite(least) else _UNSEEN / 2

    def _both(self, outputs: tuple[int, int]) -> tuple[str, ...]:
        """The names of two outputs, or of one."""
        names = (self._runs.outputs[number].name for number in outputs)
        return tuple(dict.fromkeys(names))

    def _names(self, outputs: tuple[int, int]) -> list[str]:
        return [repr(self._runs.outputs[number].name) for number in outputs]

    def _in_words(
        self,
        outputs: tuple[int, int],
        now: float,
        was: float,
        least: float,
    ) -> str:
        """Two correlations, now and before."""
        one, other = self._names(outputs)
        which = f"values of {one}" if one == other else f"{one} and {other}"
        goes = abs(now) >= least
        went = abs(was) >= least
        if goes == went:
            what = "go together otherwise"
        elif went:
            what = "went together, now they do not"
        else:
            what = "go together, and did not"
        return f"{which} {what}: rank correlation {now:.2f}, was {was:.2f}"
