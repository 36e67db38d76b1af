"""Where operators give elements that are the same whatever the rows hold, in ONNX and in OpenVINO.

As a product by zero, the least of a number and an endless one, a sum over nothing, or over all that
a Softmax gives. See `rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from onnx_philox._rewriting.places import Dimension
from onnx_philox._rewriting.rows import masks, rules
from onnx_philox._rewriting.rows.known import ConstantTotal, Rows, Total
from onnx_philox._rewriting.rows.masks import Use
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import GONE, ByAxis, Moves


def with_gaps(moves: Moves | None) -> Moves | None:
    """The same, where some elements of the output may be made of none of the input."""
    if not isinstance(moves, ByAxis):
        return moves
    return replace(moves, has_gaps=True)


def absorbed(rule: Rule, uses: Sequence[Use | None] | Use) -> Rule:
    """What gives a constant where a constant among its inputs says so.

    Args:
        rule: What it does to dimensions.
        uses: Which constants do, for each input; or for any.
    """

    def with_constants(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        of_inputs = [uses] * len(moves) if isinstance(uses, Use) else uses
        for index, use in enumerate(of_inputs):
            if use is not None and leaves_out(step, index, use):
                return [with_gaps(each) for each in moves]
        return moves

    return with_constants


def leaves_out(step: Step, index: int, use: Use) -> bool:
    """Whether an input without rows may leave out elements of what it meets."""
    known = step.known[index] if index < len(step.known) else None
    if known is None or not known.is_free:
        return False
    if _is_one(step, index):
        # A number that only a run knows is not taken for one that leaves out everything.
        numbers = step.array(index)
        return numbers is not None and masks.finds(use, numbers)
    return step.masks(index, use)


def _is_one(step: Step, index: int) -> bool:
    dims = step.dims[index]
    return dims is not None and all(d == 1 for d in dims)


def added(rule: Rule) -> Rule:
    """A sum of elements, which may be what says to a Softmax what it leaves out."""

    def with_zeros(step: Step, output: int) -> Sequence[Moves | None]:
        moves = list(rule(step, output))
        for index, each in enumerate(moves):
            # Endless numbers are far from others, too.
            is_far = _is_one(step, index) or leaves_out(step, index, masks.IS_ADDED)
            if is_far and leaves_out(step, index, masks.ENDLESS):
                return [with_gaps(each) for each in moves]
            if is_far and isinstance(each, ByAxis) and not _is_one(step, index):
                moves[index] = replace(each, has_zeros=True)
        return moves

    return with_zeros


def linear(rule: Rule) -> Rule:
    """What leaves a total that is the same for all rows so, as a product by a number does."""

    def with_totals(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        return [replace(m, keeps_totals=True) if isinstance(m, ByAxis) else m for m in moves]

    return with_totals


def exponential(rule: Rule) -> Rule:
    """What makes of a LogSoftmax a Softmax, whose sum is 1."""
    return _mapped(rule, Total.EXPONENTIALS, Total.SUM)


def logarithm(rule: Rule) -> Rule:
    """What makes of a Softmax a LogSoftmax."""
    return _mapped(rule, Total.SUM, Total.EXPONENTIALS)


def _mapped(rule: Rule, before: Total, after: Total) -> Rule:
    """A function of each element, by which one total becomes another.

    Args:
        rule: What it does to dimensions.
        before: The total of the elements that are given.
        after: That of those that are made.
    """

    def with_totals(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        known = step.known[0]
        if isinstance(data, ByAxis) and known is not None:
            given = known.constant_totals
            turned = [each.axis for each in given if each.total is before]
            # Of elements that are always the same, in whatever order, each function gives such.
            always_same = [each.axis for each in given if each.total is Total.EXTREMES]
            totals = totals_along(turned, [after]) | totals_along(always_same, Total)
            data = replace(data, constant_totals=totals)
        return [data, *others]

    return with_totals


def clipped(rule: Rule) -> Rule:
    """What lies between two bounds, which may be one."""

    def with_bounds(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        least = _bound(step, "min", 1)
        most = _bound(step, "max", 2)
        is_all_one = least is not None and most is not None and bool((least >= most).all())
        is_too_high = least is not None and masks.finds(masks.HIGHEST, least)
        is_too_low = most is not None and masks.finds(masks.LOWEST, most)
        if is_all_one or is_too_high or is_too_low:
            return [with_gaps(each) for each in moves]
        return moves

    return with_bounds


def _bound(step: Step, name: str, index: int) -> masks.Numbers | None:
    """What an attribute or an input says."""
    said = step.ints(name)
    if said is not None:
        return np.array(said, np.float32)
    numbers = step.array(index) if step.has(index) else None
    return numbers if numbers is not None and numbers.size == 1 else None


def chosen(rule: Rule) -> Rule:
    """A choice of two constants, which is none where both are one."""

    def with_constants(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        first = step.array(1)
        second = step.array(2)
        if first is not None and second is not None and _share_one(first, second):
            return [with_gaps(each) for each in moves]
        return moves

    return with_constants


def _share_one(first: masks.Numbers, second: masks.Numbers) -> bool:
    """Whether a number of one is the same in the other, where they stand beside each other."""
    are_aligned = first.shape == second.shape or 1 in (first.size, second.size)
    are_same = first == second if are_aligned else np.isin(first, second)
    return bool(np.any(are_same))


def flat(rule: Rule, slope: str) -> Rule:
    """What an attribute of 0 makes the same everywhere."""

    def with_slope(step: Step, output: int) -> Sequence[Moves | None]:
        moves = rule(step, output)
        is_flat = step.number(slope, 1) == 0
        return [with_gaps(each) for each in moves] if is_flat else moves

    return with_slope


def summed(rule: Rule, factors: int | None = None) -> Rule:
    """A sum of products along dimensions that are gone.

    Args:
        rule: What it does to dimensions.
        factors: How many inputs are multiplied, the first ones; None for all.
    """
    with_masks = masked(rule, factors)

    def along_lines(step: Step, output: int) -> Sequence[Moves | None]:
        moves = list(with_masks(step, output))
        multiplied = range(len(moves))[:factors]
        for index in multiplied:
            axes = _gone(moves[index])
            others = [other for other in multiplied if other != index]
            is_level = any(
                has_constant_total(step, other, _gone(moves[other]), Total.SUM) for other in others
            )
            if leaves_lines_out(step, index, axes, has_constant_sum=is_level):
                return [with_gaps(each) for each in moves]
            is_only_summed = not others and has_constant_total(step, index, axes, Total.SUM)
            if is_only_summed or may_be_over_nothing(step, index, axes, output):
                moves[index] = _saying_nothing(moves[index])
        return moves

    return along_lines


def masked(rule: Rule, factors: int | None = None) -> Rule:
    """A sum of products, whose factors may be constants that have zeros.

    Args:
        rule: What it does to dimensions.
        factors: See `summed`.
    """

    def with_zeros(step: Step, output: int) -> Sequence[Moves | None]:
        moves = list(rule(step, output))
        there = [known for known in step.known if known is not None]
        if not any(known.rows in (Rows.PART, Rows.GAPS) for known in there):
            return moves
        for index, each in enumerate(moves[:factors]):
            if isinstance(each, ByAxis) and leaves_out(step, index, masks.WEIGHS):
                moves[index] = replace(each, has_zeros=True)
        return moves

    return with_zeros


def leaves_lines_out(
    step: Step,
    index: int,
    axes: Collection[int],
    *,
    has_constant_sum: bool = False,
) -> bool:
    """Whether a sum of products by an input without rows may be the same whatever the rows hold.

    Args:
        step: The operator.
        index: The input.
        axes: The dimensions of it over which the sum goes.
        has_constant_sum: Whether what is multiplied by it has such a sum, as a Softmax has.
    """
    known = step.known[index]
    if known is None or not known.is_free:
        return False
    numbers = step.array(index)
    if numbers is None:
        return leaves_out(step, index, masks.WEIGHS)
    if numbers.ndim != step.rank(index):
        # All of it is this number.
        return has_constant_sum or masks.finds(masks.WEIGHS, numbers)
    along = tuple(axes)
    is_left_out = (numbers == 0).all(axis=along).any()
    if has_constant_sum and numbers.size:
        is_left_out |= (numbers.max(axis=along) == numbers.min(axis=along)).any()
    return bool(is_left_out)


def _gone(moves: Moves | None) -> list[int]:
    """The dimensions of an input over which an operator sums."""
    if not isinstance(moves, ByAxis):
        return []
    return [axis for axis, to in enumerate(moves.to) if to is GONE]


def totals_along(axes: Iterable[int], totals: Iterable[Total]) -> frozenset[ConstantTotal]:
    """Each of some totals along each of some dimensions."""
    totals = list(totals)
    return frozenset(ConstantTotal(axis, total) for axis in axes for total in totals)


def has_constant_total(step: Step, index: int, axes: Collection[int], *totals: Total) -> bool:
    """Whether a total along one of some dimensions of an input may be the same for all rows."""
    known = step.known[index]
    asked = totals_along(axes, totals)
    return known is not None and not known.constant_totals.isdisjoint(asked)


def has_silent_units(step: Step, weights: int) -> bool:
    """Whether a recurrent layer may have units of which no weight reaches its input.

    The last dimension of its weights is that of the input.
    """
    if not step.has(weights):
        return False
    return leaves_lines_out(step, weights, [step.rank(weights) - 1])


def may_be_over_nothing(step: Step, index: int, axes: Collection[int], output: int) -> bool:
    """Whether a sum along dimensions of an input may have no element, where the output has some.

    Args:
        step: The operator.
        index: The input.
        axes: Its dimensions over which the sum goes.
        output: The output.
    """
    dims = step.dims[index] or ()
    made = step.made[output] or ()
    return any(_may_be_empty(step, dims[axis]) and dims[axis] not in made for axis in axes)


def _may_be_empty(step: Step, dimension: Dimension) -> bool:
    if isinstance(dimension, int):
        return dimension < 1
    return not step.products.is_positive(dimension, step.batch)


def _saying_nothing(moves: Moves | None) -> Moves | None:
    """The same, where some elements of the output may be the same, whatever the input holds."""
    return replace(moves, may_say_nothing=True) if isinstance(moves, ByAxis) else moves


def totalled(rule: Rule, *totals: Total, is_mean: bool = False) -> Rule:
    """A sum, a norm, or the like, along dimensions of an input.

    Args:
        rule: What it does to dimensions.
        totals: What it makes of the elements.
        is_mean: Whether it is no number where there is no element.
    """

    def along_lines(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        axes = _gone(data)
        is_of_nothing = not is_mean and may_be_over_nothing(step, 0, axes, output)
        if is_of_nothing or has_constant_total(step, 0, axes, *totals):
            data = _saying_nothing(data)
        return [data, *others]

    return along_lines


def greatest(axes: rules.Axes) -> Rule:
    """A TopK along a dimension."""
    cut = rules.cut(axes)

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = cut(step, output)
        # Its second output says where they were.
        if output == 0 and has_constant_total(step, 0, axes(step), Total.EXTREMES):
            data = _saying_nothing(data)
        return [data, *others]

    return rule


def shared_out(axes: rules.Axes, totals: Iterable[Total]) -> Rule:
    """A Softmax, which is 1 where it goes along one element, whatever that is.

    That may be all that a mask leaves, or all there is.

    Args:
        axes: The dimensions along which it goes.
        totals: Those of its elements that are always the same.
    """

    def rule(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rules.looking(axes)(step, output)
        dims = step.dims[0] or ()
        known = step.known[0]
        is_masked = known is not None and known.is_masked
        are_several = any(are_several_or_rows(step, dims[axis]) for axis in axes(step))
        if isinstance(data, ByAxis):
            is_one = is_masked or not are_several
            made = totals_along(axes(step), totals)
            data = replace(data, may_say_nothing=is_one, constant_totals=made)
        return [data, *others]

    return rule


def are_several_or_rows(step: Step, dimension: Dimension) -> bool:
    """Whether a dimension has more than one element, but for a batch of one row."""
    if isinstance(dimension, int):
        return dimension > 1
    return step.products.has(dimension, step.batch)


def without_mean(rule: Rule, axes: rules.Axes, scale: int | None = None) -> Rule:
    """A normalisation that takes away the mean, which leaves nothing of one element.

    Args:
        rule: See `_normalised`.
        axes: See `_normalised`.
        scale: See `_normalised`.
    """

    def of_several(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        if not output and _are_all_one(step, axes(step)):
            data = _saying_nothing(data)
        return [data, *others]

    def totals(step: Step) -> Collection[Total]:
        dims = step.dims[0] or ()
        lengths = [dims[axis] for axis in axes(step)]
        if any(isinstance(length, int) and length > 2 for length in lengths):
            return [Total.SUM, Total.SQUARES]
        # Of two elements one is 1, and the other -1.
        return list(Total)

    return _normalised(of_several, axes, totals, scale)


def of_length_one(rule: Rule, axes: rules.Axes, scale: int | None = None) -> Rule:
    """A normalisation that divides by the length of all: the sum of squares, or of what they are.

    Args:
        rule: See `_normalised`.
        axes: See `_normalised`.
        scale: See `_normalised`.
    """

    def totals(step: Step) -> Collection[Total]:
        if _are_all_one(step, axes(step)):
            # Each is its sign.
            return [Total.SUM, Total.SQUARES]
        return [Total.SUM] if step.number("p", 2) == 1 else [Total.SQUARES]

    return _normalised(rule, axes, totals, scale)


def _are_all_one(step: Step, axes: Collection[int]) -> bool:
    """Whether dimensions of the first input have one element each."""
    dims = step.dims[0] or ()
    return bool(axes) and all(dims[axis] == 1 for axis in axes)


def _normalised(
    rule: Rule,
    axes: rules.Axes,
    totals: Callable[[Step], Collection[Total]],
    scale: int | None,
) -> Rule:
    """A normalisation, which leaves nothing of what its scale makes zero.

    Args:
        rule: What it does to dimensions.
        axes: Those along which it goes.
        totals: Those of the elements that are always the same.
        scale: The input by which it is multiplied; None where there is none.
    """

    def along_lines(step: Step, output: int) -> Sequence[Moves | None]:
        data, *others = rule(step, output)
        if output or not isinstance(data, ByAxis):
            return [data, *others]
        if scale is not None and leaves_out(step, scale, masks.WEIGHS):
            data = replace(data, has_gaps=True)
        made = totals_along(axes(step), totals(step))
        data = replace(data, constant_totals=made)
        return [data, *others]

    return along_lines
