"""Which dimension of a model's inputs is its batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from onnx_philox._contract import checks
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.not_rows import ONE_STATE, few, written
from onnx_philox._rewriting.places import Dimension, Dimensions, Place, saying, written_place

_GENERATED = re.compile(
    r"""
    | \? | -1 | None
    | [su]\d+                          # torch.export, which tells dimensions apart at first
    | .*_dynamic_axes_\d+              # TorchScript, of dynamic_axes that are lists
    | unk_*\d+                         # tf2onnx
    | (p2o\.)?DynamicDimension\.\d+    # Paddle2ONNX
    """,
    re.VERBOSE,
)
"""Names of dimensions that exporters make up, each for one dimension of one input."""


class ChosenBatch(NamedTuple):
    """The dimension that gives a model its rows."""

    name: str
    input: str
    axis: int
    rivals: Sequence[str]
    """The others that stand in every draw too, where nobody has said which one it is."""


@dataclass(frozen=True)
class Beside:
    """What is taken of inputs that do not say whether they have the batch."""

    same: Sequence[tuple[str, int]] = ()
    """Inputs and dimensions without a name of their own that are taken for the batch as well."""
    names: Sequence[str] = ()
    """What symbolic shapes call these dimensions."""
    unclear: Sequence[str] = ()
    """Inputs of which nobody knows which of several dimensions is the batch."""
    apart: Sequence[tuple[str, str]] = ()
    """Inputs, and the names of their dimensions, that say that they have no batch."""

    def added(self, where: str) -> str:
        """The batch in words, with the dimensions that are taken for it as well."""
        if not self.same:
            return where
        others = few([written_place(input, axis) for input, axis in self.same])
        return f"{where}, and, since no name says otherwise, {others}"


def has_name(name: str | None) -> bool:
    """Whether a dimension of an ONNX file has a name that somebody has given it."""
    return name is not None and _GENERATED.fullmatch(name) is None


def find_beside(
    shapes: Mapping[str, Dimensions | None],
    batch: str,
    axis: int,
    is_named: Callable[[str, int], bool],
) -> Beside:
    """What is taken of the inputs that have no dimension of the batch's name.

    A dimension without a name of its own is taken for the batch: a wrong guess is then refused, or
    fails in a run, where the other one would draw by other rows in silence.

    Args:
        shapes: Those of the inputs.
        batch: The name of the dimension that has been chosen.
        axis: Which one it is of its input.
        is_named: Whether somebody has named a dimension of an input.
    """
    known = {input: shape for input, shape in shapes.items() if shape is not None}
    taken = {batch}
    others: set[Dimension] = set()
    for shape in known.values():
        if batch in shape:
            others.update(shape)
    same: list[tuple[str, int]] = []
    unclear: list[str] = []
    apart: list[tuple[str, str]] = []
    for input, shape in known.items():
        if batch in shape:
            continue
        dynamic = {a: d for a, d in enumerate(shape) if isinstance(d, str)}
        # An exporter may give several inputs a name that it has made up.
        again = [a for a, d in dynamic.items() if d in taken]
        new = [a for a, d in dynamic.items() if d not in others and d not in taken]
        named = [a for a in new if is_named(input, a)]
        nameless = [a for a in new if a not in named]
        if again:
            same += [(input, a) for a in again]
        elif len(nameless) == 1 or (nameless and nameless[0] == axis == 0):
            same.append((input, nameless[0]))
            taken.add(dynamic[nameless[0]])
            others.update(shape)
        elif nameless:
            unclear.append(input)
        elif named and (named[0] == 0 or axis):
            apart.append((input, dynamic[named[0]]))
    return Beside(same, sorted(taken - {batch}), unclear, apart)


def choose(
    shapes: Mapping[str, Dimensions | None],
    said: str | None,
    places_of: Callable[[str], list[list[Place]]],
    remedy: str,
) -> ChosenBatch:
    """Which dimension of the inputs is the batch.

    That which somebody has said, by its name or as "input:1". Else the first dimension of an input:
    the first that some node draws. Else the only dimension that has a name.

    Args:
        shapes: Those of the inputs.
        said: The name, if somebody has said it.
        places_of: Where a dimension of some name stands in each draw.
        remedy: How to give a model a batch.

    Raises:
        ValueError: There is none, or none of this name.
    """
    named = []
    for input, shape in shapes.items():
        for axis, dimension in enumerate(shape or ()):
            if isinstance(dimension, str):
                named.append((axis, dimension, input))
    # First dimensions first, in the order of the inputs.
    named.sort(key=lambda each: each[0])
    found: dict[str, tuple[str, int]] = {}
    for axis, name, input in named:
        if said in (name, f"{input}:{axis}"):
            return ChosenBatch(name, input, axis, ())
        found.setdefault(name, (input, axis))
    if said is not None:
        allowed = f"the name of a dynamic dimension of an input ({', '.join(found) or 'none'})"
        has_rank = shapes.get(said.partition(":")[0], ()) is not None
        how = "Choose one of these." if has_rank else "Give the input a rank: reshape the model."
        checks.refuse(OWNER, "batch", repr(said), allowed, how)
    candidates = [name for name, (_, axis) in found.items() if axis == 0]
    if not candidates and len(found) == 1:
        candidates = list(found)
    if not candidates:
        _refuse_without(shapes, next(iter(found), None), remedy)
    places = {name: places_of(name) for name in found}
    best = min(candidates, key=lambda name: _rank(places[name]))
    rivals = [name for name in found if name != best and all(map(_is_one, places[name]))]
    input, axis = found[best]
    return ChosenBatch(best, input, axis, tuple(rivals))


def _refuse_without(
    shapes: Mapping[str, Dimensions | None],
    example: str | None,
    remedy: str,
) -> NoReturn:
    """Refuses a model whose batch nobody knows; `example` is one of several that it could be."""
    inputs = [f"{input} {written(shape)}" for input, shape in shapes.items()]
    given = "one without inputs"
    if inputs:
        given = f"one with the inputs {', '.join(inputs)}"
    others = ""
    if example is not None:
        others = f", say which dimension it is with {saying(example)}"
    checks.refuse(
        OWNER,
        "the model",
        given,
        "one with an input whose first dimension, the batch, is dynamic",
        f"{remedy}{others}, or {ONE_STATE}.",
    )


def _is_one(places: list[Place]) -> bool:
    """Whether a draw has a dimension that is one of the inputs', and no multiple of it."""
    return len(places) == 1 and not places[0].is_factor


def _rank(places: list[list[Place]]) -> tuple[bool, bool]:
    """Draws with it first come first, then those with it anywhere."""
    standing = [place for each in places for place in each]
    return not any(place.is_first for place in standing), not standing
