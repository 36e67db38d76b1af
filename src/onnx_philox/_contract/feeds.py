"""The words for what a feed holds: sessions, `Pipeline` and the commands name a fault alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from onnx_philox._contract import generators
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.shown import dims

RENAME = "Leave it out, or correct its name."
OWN_VALUE = "OpenVINO computes with the file's value: leave it out, or pass runtime='onnxruntime'."
OF_THAT_TYPE = "Pass an array of that type."


def title(name: str) -> str:
    """How a refusal calls an input of a model."""
    return f"the input {name!r}"


def shape_name(shape: Iterable[int | str | None] | None) -> str:
    """A shape in words, with `?` for unknown dimensions."""
    if shape is None:
        return "any"
    return dims(shape)


def refuse_unknown(
    owner: str,
    given: str,
    known: Iterable[str],
    remedy: str = RENAME,
) -> NoReturn:
    """Refuses an input that the model does not have; `known` are those that it has."""
    listed = ", ".join(known)
    allowed = "left out, since the model takes none"
    if listed:
        allowed = f"one of {listed}"
    refuse(owner, "each input", given, allowed, remedy)


def refuse_missing(owner: str, names: Iterable[str], remedy: str) -> NoReturn:
    """Refuses a feed without these inputs."""
    shown = [repr(name) for name in names]
    if len(shown) == 1:
        what = f"the input {shown[0]}"
    else:
        what = f"the inputs {', '.join(shown)}"
    refuse(owner, what, "nothing", "in the feed", remedy)


def refuse_type(
    owner: str,
    name: str,
    given: Any,
    wanted: str,
    remedy: str = OF_THAT_TYPE,
) -> NoReturn:
    """Refuses what is not of the type that an input has, or no array."""
    refuse(owner, title(name), given, wanted, remedy, TypeError)


def refuse_shape(
    owner: str,
    name: str,
    given: str,
    wanted: str,
) -> NoReturn:
    """Refuses an array of another shape than an input has."""
    words = [shape.strip("[]").rpartition(" ")[2] for shape in (given, wanted)]
    other, own = (generators.of_words(int(n)) if n.isdigit() else None for n in words)
    remedy = "Pass an array of that shape."
    if other and own and other is not own:
        kinds = [each.state.__name__ for each in (other, own)]
        remedy = f"{words[0]} words are a {kinds[0]}: pass a {kinds[1]}."
    refuse(owner, title(name), f"shape {given}", f"of shape {wanted}", remedy)


def takes_one_number(shape: Sequence[int | str | None] | None) -> bool:
    """Whether an input of this shape takes a scalar as one element, as OpenVINO's do."""
    return (
        shape is not None and len(shape) == 1 and not (isinstance(shape[0], int) and shape[0] != 1)
    )


def with_one_element(feed: dict[str, Any], names: Iterable[str]) -> None:
    """Makes scalars of a feed arrays of one element, for inputs that take them."""
    for name in names:
        value = feed.get(name)
        if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
            feed[name] = np.reshape(value, 1)
