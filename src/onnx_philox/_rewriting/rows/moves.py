"""What an operator does to the dimensions of its inputs, and what is known of what it gives."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows.known import (
    FREE,
    OF_PLACES,
    RESIZES,
    RESIZES_BY_VALUES,
    Culprit,
    InPlace,
    Knowledge,
    Margin,
    Remedy,
    Rows,
    RowsMeetError,
    common_places,
    each_own,
    lost,
)
from onnx_philox._rewriting.rows.meetings import (
    BROADCAST,
    Meeting,
    Part,
    constant_totals_of,
    has_several_along,
    is_masked,
    lines_of,
    margins_of,
    meets_rows,
    rows_of,
)
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    UNREAD,
    Fate,
    Moves,
    UnclearError,
)

REORDERS = "puts the rows of its input into another order, or takes some of them"


def apply(
    rule: Rule,
    step: Step,
    output: int,
    meeting: Meeting,
    deed: str = REORDERS,
) -> Knowledge:
    """What is known of an output of an operator.

    Raises:
        RowsMeetError: It puts draws out of order, or mixes them, before they meet rows.
    """
    given = [known for known in step.known if known is not None]
    is_of_batch = any(known.is_of_batch for known in given)
    resized = next((known.resized for known in given if known.resized is not None), None)
    if not any(known.is_placed for known in given):
        rows = max((known.rows for known in given), default=Rows.NONE)
        if not is_of_batch and resized is None and rows is Rows.NONE:
            return FREE
        if resized is None:
            resized = _resizes(step, output, meeting)
        # A batch may make longer what is resized where it has no rows.
        made = Knowledge(rows=rows, resized=resized, is_of_batch=is_of_batch)
        if not is_of_batch or resized is not None:
            return made
        standing = _standing_alike(rule, step, output, meeting)
        return replace(made, is_alike=standing.changed is None, stands=standing.places)
    standing = _LongerOutput()
    try:
        moves = _of_all(step, rule(step, output))
        pairs = zip(step.known, moves, strict=True)
        parts = [
            Part(k, m, dims)
            for (k, m), dims in zip(pairs, step.dims, strict=True)
            if k is not None and m is not None and m is not UNREAD
        ]
        made = together(step, parts, output, meeting, deed)
        if made.rows is Rows.GAPS and _fills_gaps_by_place(step, moves):
            made = replace(made, rows=Rows.PART)
        _check_own(step, moves)
        standing = _standing(step, moves, output, meeting)
    except UnclearError as error:
        made = lost(step.culprit(str(error)), given)
    except IndexError:
        # Of a node that has fewer dimensions or inputs than its operator says.
        made = lost(step.culprit("has another shape than its operator says"), given)
    if made.lost is not None:
        return made
    resized = made.resized or resized
    if resized is None:
        resized = _resizes(step, output, meeting)
    changed = standing.changed
    of_rows = {place.axis for place in made.places}
    stands = frozenset(place for place in standing.places if place.axis not in of_rows)
    made = replace(
        made,
        resized=resized,
        is_of_batch=is_of_batch,
        is_alike=changed is None,
        stands=stands,
    )
    return made if changed is None else each_own(made, _blamed(step, changed, standing.length))


def _fills_gaps_by_place(step: Step, moves: Sequence[Moves | None]) -> bool:
    """Whether an input of which the rule says nothing may say what is in a gap, or where it is."""
    pairs = zip(step.known, moves, strict=True)
    return any(known is not None and known.is_by_place and to is None for known, to in pairs)


def _blamed(step: Step, index: int, length: str) -> Culprit:
    """What is said of an input that `_standing` has found."""
    known = step.known[index]
    if known is None or known.is_of_batch:
        return step.by_place("makes of", index)
    if length:
        deed = f"makes of {step.called(index)}, {OF_PLACES}, along {length!r}"
        return step.culprit(deed, Remedy.LENGTH)
    return step.culprit(f"makes of {step.called(index)}, {OF_PLACES}", Remedy.NUMBERS)


def _of_all(step: Step, moves: Sequence[Moves | None]) -> Sequence[Moves | None]:
    """What becomes of each input that a node has, where its rule may say less, or more.

    Raises:
        UnclearError: There are rows in an input of which the rule says nothing.
    """
    count = len(step.known)
    for index in range(len(moves), count):
        known = step.known[index]
        if known is not None and known.is_placed:
            raise step.of_rows(index)
    return [*moves[:count], *[None] * (count - len(moves))]


def _resizes(step: Step, output: int, meeting: Meeting) -> Culprit | None:
    """The operator, where the number of rows may say how long a dimension is.

    It may be said by numbers, or be made of a dimension that is as long and has no rows.
    """
    dims = step.made[output]
    made_of = step.products.made_of
    if dims is not None and all(isinstance(d, int) or made_of(d) is not None for d in dims):
        return None
    known_before = {d for each in step.dims for d in each or ()}
    for index, known in enumerate(step.known):
        # A size that all rows say by what they hold is none that was known before.
        if known is None or known.rows is Rows.NONE or not known.is_by_place:
            known_before.update(step.numbers(index) or ())
    new = [
        axis for axis, d in enumerate(dims or ()) if d not in known_before and made_of(d) is None
    ]
    if dims is not None and not new:
        return None
    if meeting in BROADCAST:
        behind = [len(dims or ()) - axis for axis in new]
        of_batch = any(has_size(step, i, axes=[-n for n in behind]) for i in range(len(step.dims)))
    else:
        there = [(i, known) for i, known in enumerate(step.known) if known is not None]
        of_batch = any(known.is_by_place and not known.is_placed for _, known in there)
        of_batch = of_batch or any(
            has_size(step, i, but={place.axis for place in known.places})
            for i, known in there
            if known.is_of_batch
        )
    if not of_batch:
        return None
    for index, known in enumerate(step.known):
        if known is not None and known.is_by_place and known.rows is not Rows.NONE:
            return step.culprit(RESIZES_BY_VALUES.format(step.called(index)), Remedy.SIZE)
    return step.culprit(RESIZES, Remedy.SIZE)


def has_size(
    step: Step,
    index: int,
    axes: Sequence[int] | None = None,
    but: Collection[int] = (),
) -> bool:
    """Whether dimensions of an input are known to be made of the batch: some, or all but some."""
    dims = step.dims[index] or ()
    asked = range(len(dims)) if axes is None else axes
    there = [axis for axis in asked if -len(dims) <= axis < len(dims) and axis not in but]
    return any(step.batch in (step.products.made_of(dims[axis]) or ()) for axis in there)


@dataclass(frozen=True)
class _LongerOutput:
    """Where a batch makes an output longer."""

    places: frozenset[InPlace] = frozenset()
    """Each of them is true."""
    changed: int | None = None
    """The first input by which a row may have something else there than it has alone."""
    length: str = ""
    """The dimension of an input of the model that may be as long as the batch, if that is why."""


def _standing_alike(
    rule: Rule,
    step: Step,
    output: int,
    meeting: Meeting,
) -> _LongerOutput:
    """Where a batch makes an output longer; by its first input where nobody knows."""
    try:
        moves = _of_all(step, rule(step, output))
        return _standing(step, moves, output, meeting)
    except (UnclearError, IndexError):
        return _LongerOutput(changed=0)


def _standing(
    step: Step,
    moves: Sequence[Moves | None],
    output: int,
    meeting: Meeting,
) -> _LongerOutput:
    """Where a batch makes an output longer, or which input makes it another one.

    What stands beside drawn elements, and is the inputs' rows, leaves these as they are. What has
    no batch along their dimension is the same for all rows, unless it has several numbers there.
    """
    own: dict[int, frozenset[InPlace]] = {}
    along = _said_by_batch(step, moves, output)
    for index, (known, to) in enumerate(zip(step.known, moves, strict=True)):
        if known is None or to is UNREAD:
            continue
        if not known.is_of_batch:
            own[index] = frozenset()
            continue
        is_apart = meeting is Meeting.SIDE_BY_SIDE and known.is_of_rows
        if to is None or not (known.is_alike or to.are_own_indices or is_apart):
            return _LongerOutput(changed=index)
        own[index] = frozenset()
        for places in _stands(step, index, known):
            if any(to.looks_along(place) or to.asks_where(place) for place in places):
                return _LongerOutput(changed=index)
            ends = _ends(to, places)
            if not ends:
                return _LongerOutput(changed=index)
            own[index] |= ends
            # Of an unknown size that may be the batch's, `Knowledge.resized` says so.
            axis = places[0].axis
            if not known.places.isdisjoint(places) or has_size(step, index, axes=[axis]):
                along.update(end.axis for end in ends)
        if common_places(own.values()) is None:
            return _LongerOutput(changed=index)
    for index, found in own.items():
        to = moves[index]
        axes = {place.axis for place in found}
        if to is not None and any(map(to.reaches, along - axes)):
            return _LongerOutput(
                changed=index, length=step.length_along(step.dims[index], to, along - axes)
            )
    return _LongerOutput(_whole(step, step.made[output], common_places(own.values())))


def _ends(to: Moves, places: Sequence[InPlace]) -> frozenset[InPlace]:
    """Where an output has what stands in those places of an input, each of which is true.

    Raises:
        UnclearError: Nobody knows of any of them.
    """
    ends = set()
    unclear = None
    for place in places:
        # Of an unknown size it may be the batch's own.
        asked = InPlace(place.axis) if place.is_anywhere else place
        try:
            end = to.of(asked)
        except UnclearError as error:
            unclear = error
            continue
        if isinstance(end, InPlace):
            ends.add(InPlace(end.axis, None, None) if place.is_anywhere else end)
    if unclear is not None and not ends:
        raise unclear
    return frozenset(ends)


def _said_by_batch(step: Step, moves: Sequence[Moves | None], output: int) -> set[int]:
    """The dimensions of an output that an input says, which depend on the batch."""
    pairs = zip(step.known, moves, strict=True)
    if not any(to is UNREAD and known is not None and known.is_of_batch for known, to in pairs):
        return set()
    made_of = step.products.made_of
    dims = step.made[output] or ()
    return {axis for axis, d in enumerate(dims) if step.batch in (made_of(d) or ())}


def _stands(step: Step, index: int, known: Knowledge) -> list[list[InPlace]]:
    """Where an input has the batch, or as many elements as the batch says, by dimensions.

    Raises:
        UnclearError: Nobody knows how many dimensions it has.
    """
    step.rank(index)
    stands = _whole(step, step.dims[index], [*known.places, *known.stands])
    axes = sorted({place.axis for place in stands})
    return [[place for place in stands if place.axis == axis] for axis in axes]


def _whole(
    step: Step,
    dims: Dimensions | None,
    places: Collection[InPlace] | None,
) -> frozenset[InPlace]:
    """Those places, and all of each other dimension of a shape that may be as long as the batch.

    Along these it is made of one element, as far as anybody knows.
    """
    found = set(places or ())
    axes = {place.axis for place in found}
    for axis, dimension in enumerate(dims or ()):
        if axis in axes or not step.may_have_batch((dimension,)):
            continue
        around = step.products.around(dimension, step.batch)
        found.update(InPlace(axis, outer, inner) for outer, inner in around or [(None, None)])
    return frozenset(found)


def together(
    step: Step,
    parts: Sequence[Part],
    output: int,
    meeting: Meeting,
    deed: str = REORDERS,
) -> Knowledge:
    """What is known of what an operator makes of its inputs.

    Raises:
        RowsMeetError: See `apply`.
        UnclearError: A shape is not known that must be.
    """
    known = [part.known for part in parts]
    blamed = next((each.lost for each in known if each.lost is not None), None)
    if blamed is not None:
        if step.made[output] == ():
            rows = max(each.rows for each in known)
            noise = frozenset[Hashable]().union(*(each.noise for each in known))
            if noise:
                raise RowsMeetError(noise, blamed)
            return Knowledge(rows=rows)
        return lost(blamed, known)
    found: list[frozenset[InPlace]] = []
    is_gone = False
    moved: Culprit | None = None
    for part in parts:
        fates = {place: part.moves.of(place) for place in part.known.places}
        places = frozenset(to for to in fates.values() if isinstance(to, InPlace))
        if part.known.noise:
            _check_noise(step, part, fates, deed)
        if MOVED in fates.values():
            moved = step.culprit(deed)
        if part.known.places and not places:
            if moved is not None:
                return lost(moved, known)
            is_gone = True
        found.append(places)
    kept = _kept(parts, found)
    if not kept:
        if any(found):
            return lost(step.culprit("brings rows together from different places"), known)
        if is_gone and step.may_have_batch(step.made[output]):
            return lost(step.culprit("looks at all rows, and gives a dimension like them"), known)
    noise = _noise(step, parts, found, kept)
    rows = rows_of(parts, meeting)
    if rows is Rows.GAPS and has_several_along(parts, kept):
        rows = Rows.PART
    lines = frozenset[int]()
    margins = frozenset[Margin]()
    if rows in (Rows.PART, Rows.GAPS):
        lines = lines_of(parts, meeting)
        margins = margins_of(parts, meeting, step.made[output])
    if meets_rows(parts, meeting, rows):
        noise = frozenset()
    if moved is None and _may_grow(step, parts, kept, output):
        moved = step.culprit("may make several rows of one")
    return Knowledge(
        kept,
        rows,
        noise,
        resized=moved,
        lines=lines,
        margins=margins,
        is_masked=is_masked(parts, meeting),
        constant_totals=constant_totals_of(parts, meeting, step.made[output]),
    )


def _may_grow(
    step: Step,
    parts: Sequence[Part],
    kept: Collection[InPlace],
    output: int,
) -> bool:
    """Whether an input without rows, broadcast to a batch of one, may make the dimension longer."""
    dims = step.made[output]
    unknown = [
        place
        for place in kept
        if dims is not None and step.products.of_inputs(dims[place.axis]) is None
    ]
    free = [part for part in parts if not part.known.is_placed]
    return any(part.moves.reaches(place.axis) for place in unknown for part in free)


def _check_noise(
    step: Step,
    part: Part,
    fates: Mapping[InPlace, InPlace | Fate],
    deed: str,
) -> None:
    """Refuses to move or mix draws along the batch."""
    for place, to in fates.items():
        if to is MOVED:
            raise RowsMeetError(part.known.noise, step.culprit(deed))
        if to is GONE or part.moves.looks_along(place):
            mixes = "mixes what was drawn for different rows"
            raise RowsMeetError(part.known.noise, step.culprit(mixes))


def _check_own(step: Step, moves: Sequence[Moves | None]) -> None:
    """Refuses to make of draws what is no longer each row's own.

    Raises:
        RowsMeetError: They meet numbers that depend on how many rows there are, or are treated by
            such numbers, or by the number of their row.
    """
    pairs = list(zip(step.known, moves, strict=True))
    drawn = [(known, to) for known, to in pairs if known is not None and to is not None]
    noise = frozenset[Hashable]().union(*(known.noise for known, to in drawn if to is not UNREAD))
    if not noise:
        return
    for index, (known, to) in enumerate(pairs):
        is_read = to is not UNREAD and not (to is not None and to.are_own_indices)
        if known is not None and known.is_by_place and is_read:
            deed = "treats them by" if to is None else "combines them with"
            raise RowsMeetError(noise, step.by_place(deed, index))
    for known, to in drawn:
        if known.noise and any(map(to.asks_where, known.places)):
            raise RowsMeetError(noise, step.culprit("keeps of each row what its number says"))


def _kept(parts: Sequence[Part], found: Sequence[frozenset[InPlace]]) -> frozenset[InPlace]:
    """The places that no input contradicts: each has it there, or is the same for all along it."""
    kept = set()
    for place in frozenset[InPlace]().union(*found):
        agree = (
            place in places or not part.known.is_placed or not part.moves.reaches(place.axis)
            for part, places in zip(parts, found, strict=True)
        )
        if all(agree):
            kept.add(place)
    return frozenset(kept)


def _noise(
    step: Step,
    parts: Sequence[Part],
    found: Sequence[frozenset[InPlace]],
    kept: frozenset[InPlace],
) -> frozenset[Hashable]:
    """The draws in the output that have met no rows of the inputs before.

    Raises:
        RowsMeetError: They meet rows elsewhere.
    """
    noise = frozenset[Hashable]().union(*(part.known.noise for part in parts))
    if not noise:
        return noise
    of_noise = [p for part, p in zip(parts, found, strict=True) if part.known.noise]
    drawn = frozenset[InPlace]().union(*of_noise)
    for part, places in zip(parts, found, strict=True):
        if part.known.is_placed and not drawn <= places:
            raise RowsMeetError(noise, step.culprit("lets them meet rows in another place"))
    if not drawn <= kept:
        raise RowsMeetError(noise, step.culprit("lets them meet rows in another place"))
    return noise
