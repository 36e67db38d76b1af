"""Which dimension of a model's inputs is its batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

from onnx_philox._contract import checks
from onnx_philox._rewriting.asked import OWNER
from onnx_philox._rewriting.not_rows import ONE_STATE, written
from onnx_philox._rewriting.places import Dimensions, Place, saying


class ChosenBatch(NamedTuple):
    """The dimension that gives a model its rows."""

    name: str
    input: str
    axis: int
    rivals: tuple[str, ...]
    """The others that stand in every draw too, where nobody has said which one it is."""


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
    shapes: Mapping[str, Dimensions | None], example: str | None, remedy: str
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
