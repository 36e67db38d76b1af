"""The refusal of random nodes that are not proved to draw rows of the batch."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onnx_philox._contract import checks
from onnx_philox._contract.declaration import Operator, Role
from onnx_philox._contract.operators import REJECTION_WORDS
from onnx_philox._contract.refusal import ValueRefusalError
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.places import Place, saying
from onnx_philox._rewriting.rows.known import Culprit, Remedy

ONE_STATE = "rewrite the model with one state for the whole batch"

_DYNAMIC = (
    "export or convert the module with a batch that alone is dynamic (dynamic_shapes of torch's "
    "exporters, input of openvino.convert_model)"
)

# Of a row's 2^34 words in a node.
_MOST_REJECTING = 2**34 // REJECTION_WORDS
# How many nodes of one shape a message names.
_FEW = 3


@dataclass(frozen=True)
class AskedShape:
    """An input that says the shape of a draw, which an input of the model was before."""

    name: str
    remedy: str
    """How the draw has its batch from another input."""

    def __str__(self) -> str:
        return (
            f"Its shape is the new input {self.name!r}, since nothing says which of its dimensions "
            f"another input has: {self.remedy}."
        )


class NotRowsError(ValueRefusalError):
    """A random node may draw something other than rows of the batch, which its user may rule out.

    Args:
        operator: The node.
        what: What is not proved.
        given: What is known instead.
        allowed: What it has to be.
        names: What the user calls the nodes to name, this one and any other.
        option: The option of a command that takes one name; empty for Python's `per_row`.
        remedies: What may be done about it outside of the model, where it is known where the batch
            stands, but not that its rows are in order.
        is_to_name: Whether naming the nodes helps.
        because: What may be to blame, a sentence with a space behind it; empty where nobody knows.
    """

    def __init__(
        self,
        operator: str,
        what: str,
        given: str,
        allowed: str,
        names: tuple[str, ...],
        option: str = "",
        *,
        remedies: tuple[Remedy, ...] = (),
        is_to_name: bool = True,
        because: str = "",
    ) -> None:
        draws = "it draws" if len(names) == 1 else "they draw"
        said = f"per_row={list(names)!r}"
        if option:
            said = " ".join(f"{option} {shlex.quote(name)}" for name in names)
        if remedies:
            by_place = _drawing_by_place(said, remedies) if is_to_name else ""
            remedy = f"{_one_of(remedies)}{by_place}, or {ONE_STATE}."
            because = ""
        else:
            remedy = (
                f"{because}If {draws} rows of the batch all the same, say so with {said}; or draw "
                "in the shape of a tensor that has it, as torch.rand_like(x) does, "
                f"{_DYNAMIC}, or {ONE_STATE}."
            )
        super().__init__(operator, what, given, allowed, remedy)
        self.names = names
        self.parts = (operator, what, given, allowed, names, option)
        self.remedies = remedies
        self.is_to_name = is_to_name
        self.because = because

    def naming(self, option: str) -> NotRowsError:
        """The same refusal to those who know the option by another name."""
        operator, what, given, allowed, names, _ = self.parts
        return NotRowsError(
            operator,
            what,
            given,
            allowed,
            names,
            option,
            remedies=self.remedies,
            is_to_name=self.is_to_name,
            because=self.because,
        )


def _one_of(remedies: Sequence[Remedy]) -> str:
    """What may be done, as the beginning of a sentence."""
    first, *others = [each.value for each in remedies]
    return "".join([first, *(f", or {other[:1].lower()}{other[1:]}" for other in others)])


def _drawing_by_place(said: str, remedies: Sequence[Remedy]) -> str:
    """The offer to draw by the place: it helps against all that is known to be wrong."""
    if all(each is Remedy.ORDER for each in remedies):
        return f", or draw by the place with {said}"
    return f", or draw by the place, so that a row's numbers depend on its batch, with {said}"


def of_all(errors: Sequence[NotRowsError], named: Sequence[str]) -> NotRowsError:
    """One refusal for those of several nodes, beside the nodes that the user has named already."""
    names = (*named, *(name for error in errors for name in error.names))
    operator, what, given, allowed, *_ = errors[0].parts
    because = errors[0].because if len(errors) == 1 else ""
    is_order = all(error.remedies for error in errors)
    found = [remedy for error in errors for remedy in error.remedies]
    remedies = tuple(dict.fromkeys(found)) if is_order else ()
    is_to_name = all(error.is_to_name for error in errors)
    if len(errors) > 1:
        operator = f"{len(errors)} random nodes"
        what = "the shape of what each draws"
        if is_order:
            what = "the rows of what each draws"
        by_shape: dict[str, list[str]] = {}
        for error in errors:
            by_shape.setdefault(error.given, []).append(repr(error.names[0]))
        of = " of "
        if is_order:
            of = " before " if set(remedies) == {Remedy.ORDER} else ", for "
        given = ", ".join(f"{shape}{of}{few(alike)}" for shape, alike in by_shape.items())
    return NotRowsError(
        operator,
        what,
        given,
        allowed,
        names,
        remedies=remedies,
        is_to_name=is_to_name,
        because=because,
    )


def few(names: Sequence[str]) -> str:
    """The first of many names: all of them are in the list to paste."""
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"


def of_shape(
    title: str,
    shape: Sequence[object] | None,
    batch: str,
    rivals: Sequence[str] = (),
    *,
    is_shared: bool = False,
) -> ValueRefusalError:
    """A draw that has no row for each of the batch, and what else the batch could be.

    Inputs of an IR share the batch (`is_shared`) where their Layouts say so.
    """
    is_known = not shape or None not in shape
    has = "has" if is_known else "is proved to have"
    allowed = (
        f"one that {has} {batch}, as a dimension of its own or merged by a Reshape with those "
        "behind it, and whose rows no Reshape mixes, for a state for each row"
    )
    remedy = "Draw a row for each of the batch, as torch.rand_like(x) does"
    if not is_known:
        shared = ", give each input that has the batch a Layout with an N there (set_layout)"
        first = f", or with the batch first{shared if is_shared else ''}"
        remedy = f"{_DYNAMIC[0].upper()}{_DYNAMIC[1:]}{first}"
    remedy = f"{remedy}{_others(rivals)}."
    return ValueRefusalError(title, "the shape of what it draws", written(shape), allowed, remedy)


def _others(rivals: Sequence[str]) -> str:
    """What else may be done: name another batch, or have none."""
    another = "".join(f", name another batch with {saying(rival)}" for rival in rivals[:1])
    return f"{another}, or {ONE_STATE}"


def unproved(
    title: str,
    name: str,
    shape: Sequence[object] | None,
    batch: str,
    culprit: Culprit | None = None,
    asked: AskedShape | None = None,
) -> NotRowsError:
    """A draw of which it is not known whether it has a row for each of the batch.

    What an input says of its shape (`asked`) is known by nothing else.
    """
    what = "the shape of what it draws"
    allowed = f"one that is proved to have a dimension that is {batch}, for a state for each row"
    said = "" if culprit is None else f"{culprit}. "
    if asked is not None:
        said = f"{asked} "
    because = f"{said[:1].upper()}{said[1:]}"
    return NotRowsError(title, what, written(shape), allowed, (name,), because=because)


def out_of_order(
    title: str,
    name: str,
    culprit: Culprit,
    batch: str,
    shape: Sequence[object] | None,
    place: Place,
) -> NotRowsError:
    """A draw that is put out of order, or mixed, before it meets rows of the inputs in place."""
    what = "the rows of what it draws"
    allowed = (
        f"proved to be in the order of {batch}, until they meet values that depend on rows of the "
        "inputs and have them in the same place"
    )
    return NotRowsError(
        title,
        what,
        str(culprit),
        allowed,
        (name,),
        remedies=(culprit.remedy,),
        # To name a node says that its first dimension is the batch, if that is dynamic.
        is_to_name=place.is_first or any(isinstance(d, int) for d in (shape or ())[:1]),
    )


def of_operator(
    title: str,
    operator: Operator,
    shape: Sequence[object] | None,
    places: Sequence[Place],
    batch: str,
    rivals: Sequence[str],
) -> ValueRefusalError | None:
    """What stands in the way of rows in an operator, for values of this shape and its batch."""
    what = "the shape of what it draws"
    given = written(shape)
    axis = places[0].axis if places else 0
    others = [] if shape is None else [*shape[:axis], *shape[axis + 1 :]]
    elements = [d for d in others if isinstance(d, int)]
    is_known = others and len(elements) == len(others)
    if operator.draws_rows:
        what = "what it draws"
        given = "one order for all rows together"
        allowed = "a row for each of the batch, for a state for each row"
        remedy = f"Shuffle outside the model, or {ONE_STATE}."
    elif len(places) > 1:
        allowed = f"one of which one dimension alone is {batch}, for a state for each row"
        remedy = f"Draw for each row before rows meet each other{_others(rivals)}."
    elif operator.size_input.role is Role.LOGITS and places and not places[0].is_first:
        allowed = f"[rows, classes] with rows that are {batch}, for a state for each row"
        remedy = (
            "Call torch.multinomial with weights of [batch, classes], once for each position, or "
            f"{ONE_STATE}."
        )
    elif (
        operator.words.each == REJECTION_WORDS
        and is_known
        and math.prod(elements) > _MOST_REJECTING
    ):
        allowed = "at most 2^27 elements a row, of 32 blocks each, for a state for each row"
        remedy = f"Draw them in several nodes, or {ONE_STATE}."
    else:
        return None
    return ValueRefusalError(title, what, given, allowed, remedy)


def of_count(title: str, owner: str, loop: str) -> ValueRefusalError:
    """A draw in a body that may run as often as the batch says, in a loop if it is in one."""
    inside = f" inside {loop}" if loop else ""
    return ValueRefusalError(
        title,
        "how often it draws",
        f"what {owner}{inside} says, which may depend on the batch",
        "the same for every batch, for a state for each row",
        "Draw before it, or let it depend on the iteration and on inputs that have no batch only; "
        f"or {ONE_STATE}.",
    )


def check_names(
    named: Collection[str],
    known: Collection[str],
    what: str = "a node that draws rows of the batch",
) -> None:
    """Refuses a name, given by the user, that no such node has."""
    for name in named:
        if name not in known:
            allowed = f"one of the random nodes to replace ({', '.join(sorted(known)) or 'none'})"
            remedy = "Choose one of these." if known else "Leave it out, or pass the original."
            checks.refuse(OWNER, what, repr(name), allowed, remedy)


def written(shape: Sequence[object] | None) -> str:
    """A shape as messages say it; None in it for what is not known."""
    if shape is None:
        return "not known"
    return f"[{', '.join('?' if d is None else str(d) for d in shape)}]"
