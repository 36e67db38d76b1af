"""The inputs of a model, in any runtime, and which runtime that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import generators
from onnx_philox._contract.feeds import shape_name
from onnx_philox._contract.feeds import title as title_of_input
from onnx_philox._contract.known_input import sizes_of
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.state import is_one_state

Arrays = dict[str, NDArray[Any]]

STATES = {"random_state": "next_random_state", "state": "next_state"}
"""The input and the output of the state, in rewritten models and in those of `graphs`."""


class ArgumentError(ValueError):
    """An argument of the command is wrong; the text says what is allowed and what to do."""


@contextmanager
def refusing_as_argument() -> Iterator[None]:
    """A block whose refusals are of an argument of the command."""
    try:
        yield
    except RefusalError as error:
        raise ArgumentError(error.sentence) from error


@dataclass(frozen=True)
class Port:
    """An input of a model."""

    name: str
    dtype: np.dtype[Any] | None
    """None for what the runtime makes of no array, a sequence for example."""
    shape: tuple[int | str | None, ...] | None
    """A dimension that differs from run to run is its name, or None; None for any rank."""
    is_required: bool = True

    @property
    def is_state(self) -> bool:
        """Whether a state fits it."""
        known = sizes_of(self.shape or ())
        is_one = (is_one_state(known, each.words) for each in generators.registered().values())
        return self.dtype == np.uint32 and any(is_one)

    @property
    def rank(self) -> int:
        """How many dimensions it has, if that is known; else 0."""
        return len(self.shape or ())

    @property
    def has_open_batch(self) -> bool:
        """Whether its first dimension may differ from run to run."""
        if not self.shape:
            return False
        return not isinstance(self.shape[0], int)

    @property
    def is_text(self) -> bool:
        """Whether its elements are strings."""
        return self.dtype is not None and self.dtype.kind in "OU"

    @property
    def type_name(self) -> str:
        """The element type, as NumPy calls it."""
        if self.is_text:
            return "str"
        if self.dtype is None:
            return "no array"
        return self.dtype.name

    @property
    def shape_name(self) -> str:
        """The shape in words."""
        return shape_name(self.shape)

    def __str__(self) -> str:
        return f"{self.type_name} of shape {self.shape_name}"

    def check_array(self) -> None:
        """Refuses an input that no array is.

        Raises:
            ArgumentError: It is one.
        """
        if self.dtype is None:
            raise ArgumentError(
                f"{title_of_input(self.name)} must be one that an array can be: got a sequence, a "
                "map or a type that NumPy does not have. Run the model from Python: "
                "onnx_philox.Pipeline takes lists, dicts and onnxruntime.OrtValue."
            )

    @property
    def generator(self) -> generators.Generator:
        """The generator whose state it takes."""
        return generators.of_words((self.shape or (None,))[-1]) or generators.named(None)

    def holding(self, words: NDArray[Any]) -> NDArray[Any]:
        """A state, or one for each row, in its shape and type: one state may be of rank 1 to 8."""
        if words.ndim == 1 and self.shape is not None:
            words = words.reshape(*[1] * (len(self.shape) - 1), words.size)
        if words.dtype is self.dtype:
            return words
        # In OpenVINO it may be int32, with the same bits.
        return words.view(self.dtype or np.uint32)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape fits."""
        if self.shape is None:
            return True
        return len(shape) == len(self.shape) and all(
            not isinstance(wanted, int) or wanted == given
            for wanted, given in zip(self.shape, shape, strict=True)
        )


def identity(of: Any) -> dict[str, str | None]:
    """What ran in a runtime, as keys of a JSON document; `how` is what else decides the numbers."""
    names = ("runtime", "version", "backend", "how")
    return {name: getattr(of, name) or None for name in names}


class Titled:
    """What has such an identity."""

    @property
    def title(self: Any) -> str:
        """The runtime, its version and its backend, in words."""
        backend = f"backend {self.backend}" if self.backend else ""
        words = f"{self.runtime} {self.version}".strip(), backend, self.how
        return ", ".join(filter(None, words))
