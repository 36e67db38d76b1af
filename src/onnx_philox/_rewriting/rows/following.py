"""What a walk through the rows of a model knows so far, in ONNX and in OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from onnx_philox._rewriting.places import Dimensions, Place
from onnx_philox._rewriting.rows import moves
from onnx_philox._rewriting.rows.drawing import DrawnShape, drawn_by_place
from onnx_philox._rewriting.rows.known import (
    BY_PLACE,
    FREE,
    IN_ROWS,
    OF_PLACES,
    Culprit,
    InPlace,
    Knowledge,
    Remedy,
    Rows,
    RowsMeetError,
    are_alike,
    each_own,
    lost,
)
from onnx_philox._rewriting.rows.meetings import Meeting, Part
from onnx_philox._rewriting.rows.step import Step
from onnx_philox._rewriting.rows.where_dimensions_go import ByAxis, UnclearError

_UNCLEAR = (
    "has several dimensions without a name, one of which may be the batch: name them, or give the "
    "input of an IR a Layout with an N"
)
"""What messages say of such an input."""

# What goes round in a loop settles: each round forgets something for good of one value, of which
# there is no more than so much to forget. What is known of one may wait for the one before.
_ROUNDS_FOR_EACH = 10
TOO_LONG = "changes what it hands on for more rounds than are followed"
"""What messages say of a loop, or of a variable, of which the walk does not come to an end."""

Value = TypeVar("Value", bound=Hashable)
Parts = Callable[[], Sequence[Part]]
"""The inputs that drawn numbers meet in their node.

Raises:
    UnclearError: A shape is not known that must be.
"""


class Followed(Generic[Value]):
    """What is known of each value, and which draws are out of order.

    Args:
        batch: The name of the dimension that is the batch.
        unclear: The inputs of which nobody knows where they have the batch.
    """

    def __init__(self, batch: str, unclear: Collection[str]) -> None:
        self._batch = batch
        self._unclear = unclear
        self._known: dict[Value, Knowledge] = {}
        # What an input of a function, or of a body, is whenever that runs.
        self._outside: dict[Value, Value] = {}
        self.places: dict[Hashable, list[Place]] = {}
        """Where the batch stands in what each random node draws, if anywhere."""
        self.culprits: dict[Hashable, Culprit] = {}
        """What puts draws out of order before they meet rows of the inputs."""
        # Draws that are not in place by themselves, but may be found to be by what they meet.
        self._doubtful: dict[Hashable, Culprit] = {}

    def _at_home(self, value: Value) -> Value:
        """A value, or what is given for it where a function is called, or a body is run."""
        # Functions that call each other in a circle have no end.
        for _ in range(len(self._outside)):
            if value not in self._outside:
                break
            value = self._outside[value]
        return value

    def _of(self, value: Value | None) -> Knowledge:
        return FREE if value is None else self._known.get(value, FREE)

    def _is_alike(self, value: Value) -> bool:
        """Whether a batch makes a value longer, at most."""
        return are_alike([self._of(value)])

    def _of_input(self, name: str, dims: Dimensions | None, *, is_state: bool = False) -> Knowledge:
        """What is known of an input of the model."""
        why = None
        if dims is None:
            why = "has no rank"
        elif name in self._unclear:
            why = _UNCLEAR
        if why is not None:
            culprit = Culprit(f"the input {name!r}", why)
            return Knowledge(rows=Rows.SURE, lost=culprit, resized=culprit, is_of_batch=True)
        places = frozenset(InPlace(axis) for axis, d in enumerate(dims or ()) if d == self._batch)
        if not places:
            return FREE
        rows = Rows.MAYBE if is_state else Rows.SURE
        return Knowledge(places, rows, is_of_batch=True, is_alike=True)

    def _say(self, value: Value, made: Callable[[], Knowledge]) -> None:
        """Says what is known of a value; notes the draws that are out of order by it."""
        known = self._noted(made)
        if known is FREE:
            self._known.pop(value, None)
        else:
            self._known[value] = known

    def _noted(self, made: Callable[[], Knowledge]) -> Knowledge:
        """What is known of a value; notes the draws that are out of order by it."""
        try:
            return made()
        except RowsMeetError as error:
            culprit = error.culprit
            for drawn in error.noise:
                self.culprits.setdefault(drawn, culprit)
            return Knowledge(rows=Rows.MAYBE, lost=culprit, resized=culprit, is_of_batch=True)

    def _rounds(self, carried: int) -> range:
        """The rounds after which all is known of so many values that a loop hands on."""
        return range(_ROUNDS_FOR_EACH * (carried + 1))

    def _give_up(self, label: str, values: Iterable[Value]) -> None:
        """Says that nothing is known of values that a loop hands on, since they do not settle.

        Args:
            label: What messages call the loop.
            values: The values.
        """
        culprit = Culprit(label, TOO_LONG)
        for value in values:
            self._say(value, partial(lost, culprit, [self._of(value)]))

    def _unknown(self, step: Step, *, has_bodies: bool = False) -> Knowledge:
        """What is known of what an operator makes that has no rule."""
        given = [known for known in step.known if known is not None]
        culprit = step.culprit("is an operator of which nobody knows what it does to rows")
        if has_bodies or any(known.is_placed for known in given):
            return lost(culprit, given)
        rows = max((known.rows for known in given), default=Rows.NONE)
        is_of_batch = any(known.is_of_batch for known in given)
        return Knowledge(rows=rows, resized=culprit, is_of_batch=is_of_batch)

    def _met(
        self,
        step: Step,
        noise: Knowledge,
        rank: int,
        parts: Parts,
    ) -> Knowledge:
        """What is known of numbers that have met the inputs of the node that draws them."""
        met = [noise, *(known for known in step.known if known is not None)]
        met_in_place: Sequence[Part] = ()
        try:
            met_in_place = parts()
            made_of = [Part(noise, ByAxis(range(rank))), *met_in_place]
            met = [part.known for part in made_of]
            made = moves.together(step, made_of, 0, Meeting.ELEMENTWISE)
        except UnclearError as error:
            made = lost(step.culprit(str(error)), met)
        made = replace(made, is_of_batch=True, is_alike=are_alike(met))
        for index, known in enumerate(step.known):
            if known is not None and known.is_by_place and any(known is each for each in met):
                each_own(made, step.by_place("combines them with", index))
        along = [place.axis for place in noise.places]
        for part in met_in_place:
            if not part.known.is_of_batch and any(map(part.moves.reaches, along)):
                made = replace(made, is_alike=False)
                deed = f"draws by a parameter {OF_PLACES}"
                length = step.length_along(part.dims, part.moves, along)
                remedy = Remedy.NUMBERS
                if length:
                    deed = f"{deed}, along {length!r}"
                    remedy = Remedy.LENGTH
                each_own(made, step.culprit(deed, remedy))
        return made

    def _drawn_by_states(self, step: Step, state: Knowledge, parts: Parts) -> Knowledge:
        """What is known of the numbers of a node of this package, that has a state."""
        drawn = Knowledge(rows=Rows.MAYBE, is_of_batch=True)
        if InPlace(0) in state.places:
            drawn = IN_ROWS
        made = step.made[0]
        if made is None:
            culprit = step.culprit("gives a tensor whose shape nobody knows")
            return lost(culprit, [known for known in step.known if known is not None])
        return self._met(step, drawn, len(made), parts)

    def _judge(
        self,
        drawing: DrawnShape,
        step: Step,
        like: Knowledge,
        resized: Culprit | None = None,
    ) -> list[tuple[Place, InPlace]]:
        """Where a random node has the batch: in one place, or it draws no rows.

        Args:
            drawing: The node.
            step: The same, as the rules see it.
            like: What is known of the tensor whose shape it has.
            resized: What makes its shape depend on the batch, beside the shapes of its inputs.
        """
        key, places = drawing.key, drawing.places(step, like)
        inputs = (known for known in (*step.known, like) if known is not None)
        found = next((known.resized for known in inputs if known.resized), resized)
        if not places and found is not None:
            self.culprits.setdefault(key, found)
        if len(places) == 1 and found is not None:
            is_unknown = drawing.has_unknown(places[0][0])
            of = self.culprits if is_unknown else self._doubtful
            of.setdefault(key, found)
        elif len(places) == 1 and places[0][0].is_factor and not like.places:
            deed = "draws a multiple of the batch, which may be in another order"
            self._doubtful.setdefault(key, step.culprit(deed))
        return places

    def _draws(self, drawing: DrawnShape, step: Step, numbers: Iterable[int]) -> None:
        """Notes a random node whose inputs say by numbers of the batch what it draws."""
        by_place = drawn_by_place(step, numbers)
        if by_place is not None:
            self.culprits.setdefault(drawing.key, by_place)

    def _goes_by(
        self,
        known: Knowledge,
        label: str,
        deed: str,
        values: Iterable[tuple[str, Value | None]],
    ) -> Knowledge:
        """The same knowledge, of what a node gives as numbers say that depend on the batch.

        Args:
            known: What is known of it.
            label: What messages call the node.
            deed: What it does by them.
            values: The numbers, with what messages call them: those of a batch are to blame.

        Raises:
            RowsMeetError: It is what was drawn, and has met no rows.
        """
        name = next((name for name, value in values if self._of(value).is_of_batch), "")
        numbers = f"{name!r}, {BY_PLACE}" if name else BY_PLACE
        return each_own(known, Culprit(label, f"{deed} {numbers}", Remedy.NUMBERS))

    def _leave(self, outputs: Iterable[tuple[str, Value]]) -> None:
        """Notes the draws that may not leave the model without having met a row.

        Args:
            outputs: Those of the model, with their names.
        """
        for name, value in outputs:
            known = self._of(value)
            deed = f"has them combined with {BY_PLACE}"
            culprit = Culprit(f"the output {name!r}", deed, Remedy.NUMBERS)
            self._say(value, partial(each_own, known, culprit))
            for drawn in known.noise:
                if drawn in self._doubtful:
                    self.culprits.setdefault(drawn, self._doubtful[drawn])


_NOT_IN_ROWS = "draws in another shape than rows of the batch"


def not_in_rows(step: Step) -> Knowledge:
    """What is known of numbers that are drawn, but not as rows of the batch."""
    culprit = step.culprit(_NOT_IN_ROWS)
    return Knowledge(rows=Rows.MAYBE, lost=culprit, resized=culprit, is_of_batch=True)
