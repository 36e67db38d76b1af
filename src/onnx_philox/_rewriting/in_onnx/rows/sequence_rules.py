"""What is known of sequences: of one is known what is known of each of its tensors.

A rule is given what an operator does to rows, in words. An empty sequence is no input to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows import moves
from onnx_philox._rewriting.rows.known import (
    FREE,
    Knowledge,
    each_own,
    either,
    lost,
    slices_of,
    stacked_along,
)
from onnx_philox._rewriting.rows.step import Step

Rule = Callable[[Step, str], Knowledge]


def _constructed(step: Step, _: str) -> Knowledge:
    """Of all inputs."""
    known = [each for each in step.known if each is not None]
    culprit = step.culprit("has rows in different places in its tensors")
    return either(known, culprit) if known else FREE


def _inserted(step: Step, deed: str) -> Knowledge:
    """Of a sequence and a tensor."""
    two = replace(step, known=step.known[:2])
    return _by_numbers(step, 2, _constructed(two, deed))


def _picked(step: Step, _: str) -> Knowledge:
    """One tensor of a sequence, or all but one."""
    return _by_numbers(step, 1, step.known[0] or FREE)


def _counted(step: Step, _: str) -> Knowledge:
    """How many tensors a sequence has."""
    sequence = step.known[0] or FREE
    return replace(FREE, is_of_batch=sequence.is_of_batch)


def _parted(step: Step, deed: str) -> Knowledge:
    """The parts of a tensor."""
    known = step.known[0] or FREE
    rank = len(step.dims[0] or ())
    axis = step.number("axis", 0)
    element = slices_of(known, rank, axis, step.culprit(deed))
    if known.is_of_batch and not known.is_placed and _may_stand(step, known, step.dims[0], axis):
        element = element.counted()
    has_size = step.has(1) or step.number("keepdims", 1) != 0
    if has_size and element.lost is None:
        element = replace(element, places=known.places, lines=frozenset())
    axes_of_rows = {place.axis for place in known.places}
    if element.resized is None and moves.has_size(step, 0, but=axes_of_rows):
        culprit = step.culprit("parts a dimension that is as long as the number of rows says")
        element = replace(element, resized=culprit)
    return _by_numbers(step, 1, element)


def _joined(step: Step, _: str) -> Knowledge:
    """All tensors of a sequence, one behind the other."""
    known = step.known[0] or FREE
    axis = step.number("axis", 0)
    if not known.places:
        is_longer = not step.number("new_axis", 0) and _may_stand(step, known, step.made[0], axis)
        # How many come before a row's element then depends on the batch.
        return known.counted() if known.is_of_batch and is_longer else known
    rank = len(step.made[0] or ())
    culprit = step.culprit("puts rows of several tensors one behind the other")
    if axis < 0 and not rank:
        return lost(culprit, [known])
    along = axis % rank if rank else axis
    if step.number("new_axis", 0):
        return stacked_along(known, rank, along)
    if any(place.axis == along for place in known.places):
        return lost(culprit, [known])
    return known


def _may_stand(step: Step, known: Knowledge, dims: Dimensions | None, axis: int) -> bool:
    """Whether a tensor may have as many elements as the batch says along a dimension."""
    if dims is None or axis not in range(-len(dims), len(dims)):
        return True
    along = axis % len(dims)
    if known.stands:
        return any(place.axis == along for place in known.stands)
    return step.may_have_batch((dims[along],))


def _by_numbers(step: Step, index: int, known: Knowledge) -> Knowledge:
    """The same, where an input that says which tensors, or how long, may depend on the batch."""
    numbers = step.known[index] if index < len(step.known) else None
    if numbers is None or not numbers.is_of_batch:
        return known
    culprit = step.by_place("goes by", index)
    return each_own(replace(known.counted(), resized=known.resized or culprit), culprit)


RULES: dict[str, Rule] = {
    "ConcatFromSequence": _joined,
    "OptionalHasElement": _counted,
    "SequenceAt": _picked,
    "SequenceConstruct": _constructed,
    "SequenceErase": _picked,
    "SequenceInsert": _inserted,
    "SequenceLength": _counted,
    "SplitToSequence": _parted,
}
"""By the names of ONNX's operators."""
