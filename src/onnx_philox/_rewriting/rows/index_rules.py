"""What gathers and scatters do to the dimensions of their inputs, in ONNX and in OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx_philox._rewriting.rows import rules
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    ByAxis,
    Fate,
    Moves,
    UnclearError,
)


def picked(axis: Callable[[Step], int], batch_dims: Callable[[Step], int]) -> Rule:
    """A Gather: the indices stand in place of a dimension of the data."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        shared, along = batch_dims(step), rules.axis_of(step, axis(step))
        ranks = range(step.rank(0)), range(step.rank(1))
        more = len(ranks[1]) - shared - 1
        data: list[int | Fate] = [a if a < along else a + more for a in ranks[0]]
        data[along] = MOVED
        indices = [a if a < shared else a + along - shared for a in ranks[1]]
        return [ByAxis(data), ByAxis(indices), *rules.others_free(step, 2)]

    return rule


def picked_along(axes: rules.Axes) -> Rule:
    """A GatherElements: along other dimensions it takes elements of the same index."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        (along,) = axes(step)
        return [_same_index(step, 0, 1, along), rules.kept(step, 1)]

    return rule


def _same_index(
    step: Step,
    data: int,
    indices: int,
    along: int,
) -> Moves:
    """Of the data of which the indices have all, but along a dimension.

    What has no batch has its elements of the same index, too, however many there are.
    """
    known = step.known[data]
    is_of_batch = known is not None and known.is_of_batch
    sizes, chosen = step.dims[data], step.dims[indices]
    if sizes is None or chosen is None:
        raise step.shapeless(data if sizes is None else indices)
    if len(sizes) != len(chosen):
        raise UnclearError("has indices of another rank than its data")
    to: list[int | Fate] = []
    for axis, (d, e) in enumerate(zip(sizes, chosen, strict=True)):
        is_same = not is_of_batch or (d is not None and d == e)
        to.append(axis if is_same and axis != along else MOVED)
    return ByAxis(to, ones=step.ones(data))


def put_along(axes: rules.Axes) -> Rule:
    """A ScatterElements: along other dimensions it writes to the same index."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        (along,) = axes(step)
        written = [_same_index(step, i, 0, along) for i in (1, 2)]
        data = ByAxis(
            range(step.rank(0)),
            looks=[along],
            ones=step.ones(0),
            numbered=_longer_than(step, 1, along),
        )
        return [data, *written, *rules.others_free(step, 3)]

    return rule


def _longer_than(step: Step, indices: int, along: int) -> list[int]:
    """The dimensions of the first input of which indices may reach the first elements alone."""
    sizes = step.dims[0] or ()
    chosen = step.dims[indices] or ()
    pairs = enumerate(zip(sizes, chosen, strict=True))
    return [axis for axis, (d, e) in pairs if axis != along and (d is None or d != e)]


def picked_at(batch_dims: Callable[[Step], int]) -> Rule:
    """A GatherND: the last dimension of the indices is an index of several of the data's."""

    def rule(step: Step, _: int) -> Sequence[Moves | None]:
        shared, ranks = batch_dims(step), (step.rank(0), step.rank(1))
        indices = step.dims[1]
        depth = indices[-1] if indices else None
        if not isinstance(depth, int):
            raise step.shapeless(1)
        data: list[int | Fate] = []
        # Of [batch * 4] a row's number is no index of the row.
        sizes = step.dims[0] or ()
        is_of_rows = sizes[:1] == (step.batch,)
        own = 1 if not shared and is_of_rows and step.begins_with_row(1) else shared
        for axis in range(ranks[0]):
            behind = axis - shared - depth
            if axis < own:
                data.append(axis)
            else:
                data.append(MOVED if behind < 0 else ranks[1] - 1 + behind)
        of_indices: list[int | Fate] = [*range(ranks[1] - 1), GONE]
        are_own = own > shared and step.are_own_indices(1)
        return [ByAxis(data), ByAxis(of_indices, are_own_indices=are_own)]

    return rule


def put_at(step: Step, _: int) -> Sequence[Moves | None]:
    """A ScatterND: what is written comes to lie anywhere along the first dimensions."""
    indices = step.dims[1]
    depth = indices[-1] if indices else None
    if indices is None or not isinstance(depth, int):
        raise step.shapeless(1)
    before = len(indices) - 1
    of_indices: list[int | Fate] = [MOVED] * before
    behind = [axis - before + depth for axis in range(before, step.rank(2))]
    return [
        rules.kept(step, 0, range(depth)),
        ByAxis([*of_indices, GONE]),
        ByAxis([*of_indices, *behind]),
    ]
