"""An original that takes its noise as an input, beside a model that draws it.

The original is fed numbers of NumPy's of the same law, others in each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox import _backends
from onnx_philox._command import refusals
from onnx_philox._contract.operators import RANDOM_BERNOULLI, RANDOM_NORMAL, RANDOM_UNIFORM
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.types import BY_DTYPE, ElementType
from onnx_philox._rewriting import drawn_inputs
from onnx_philox._rewriting.drawn_inputs import OWNER, DrawnInput
from onnx_philox._runtimes.models import LoadedModel, ToOpen
from onnx_philox._runtimes.port import ArgumentError, Port

_KEY = 20_261_129
"""Of NumPy's generator, beside the seed: its numbers are none that a model of ours draws."""


class FedModel(LoadedModel):
    """An original whose noise is fed: it takes the inputs that the rewritten model takes.

    Args:
        loaded: The original.
        draw: The inputs that are fed, and their laws; as in `onnx_philox.make_reproducible`.
        others: The inputs of the rewritten model.
        seed: Of NumPy's numbers.

    Raises:
        ArgumentError: The original has no such input, or the law cannot be drawn for it, or nothing
            says its shape.
    """

    def __init__(
        self, loaded: LoadedModel, draw: Mapping[str, str], others: Sequence[Port], seed: int
    ) -> None:
        self._loaded = loaded
        self.runtime, self.version, self.backend = loaded.runtime, loaded.version, loaded.backend
        self.outputs, self.how, self.variables = loaded.outputs, loaded.how, loaded.variables
        self._random = np.random.default_rng([_KEY, seed])
        by_name = {port.name: port for port in loaded.inputs}
        left = [port for port in loaded.inputs if port.name not in draw]
        self._noises = []
        names_of_shapes = set()
        try:
            for drawn in drawn_inputs.read_all(OWNER, draw):
                if drawn.name not in by_name:
                    drawn_inputs.refuse_unknown(drawn, [*by_name])
                noise = FedInput(drawn, by_name[drawn.name], left)
                if not noise.is_sized:
                    names_of_shapes.add(noise.name_of_shape)
                self._noises.append(noise)
        except RefusalError as error:
            raise ArgumentError(refusals.text(error)) from error
        self._shapes = [port for port in others if port.name in names_of_shapes]
        known = {port.name for port in self._shapes}
        for noise in self._noises:
            if not noise.is_sized and noise.name_of_shape not in known:
                raise ArgumentError(
                    f"--draw {noise.name} must say the shape of an input of shape "
                    f"{noise.port.shape_name} here: got {noise.drawn.text!r}. Write it in brackets "
                    f"behind the word, such as {noise.drawn.text}[1, 16]."
                )
        self.inputs = [*left, *self._shapes]

    @staticmethod
    def backends() -> Mapping[str, _backends.Backend]:
        """None of its own: the original is loaded already."""
        return {}

    @classmethod
    def open(cls, asked: ToOpen) -> Self:
        """Never called: the original is loaded already."""
        raise NotImplementedError

    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        """Runs the original once, with new noise."""
        added = {port.name for port in self._shapes}
        own = {name: array for name, array in feeds.items() if name not in added}
        for noise in self._noises:
            own[noise.name] = noise.draw(self._random, feeds)
        return self._loaded.values_of(own)


class FedInput:
    """What is fed to an input of the original.

    Args:
        drawn: The input and its law.
        port: It in the runtime.
        others: The inputs that are not drawn, which may have its dimensions.

    Raises:
        ArgumentError: The input is no array.
        TypeError: The law is not one of this type.
        ValueError: A number of the law is none of this type, or the shape is another one.
    """

    def __init__(self, drawn: DrawnInput, port: Port, others: Sequence[Port]) -> None:
        self.drawn, self.port, self.name = drawn, port, drawn.name
        self.name_of_shape = f"{drawn.name}_shape"
        port.check_array()
        assert port.dtype is not None
        self._dtype = port.dtype
        self._values: ElementType = drawn.values(BY_DTYPE.get(port.dtype), port.type_name)
        self._parameters = drawn.parameters(self._values)
        sizes = None if port.shape is None else [_size(each) for each in port.shape]
        drawn.check_shape(sizes)
        self._places: dict[str, tuple[str, int]] = {}
        """The named dimensions: another input, and the number of its dimension."""
        for other in others:
            for number, dimension in enumerate(other.shape or ()):
                if isinstance(dimension, str):
                    self._places.setdefault(dimension, (other.name, number))

    @property
    def is_sized(self) -> bool:
        """Whether its shape is known, but for what the other inputs say."""
        if self.drawn.shape is not None:
            return True
        return self.port.shape is not None and all(
            isinstance(each, int) or each in self._places for each in self.port.shape
        )

    def draw(self, random: np.random.Generator, feeds: Mapping[str, Any]) -> NDArray[Any]:
        """New noise, of the shape that the other inputs say."""
        shape = self._shape(feeds)
        law, numbers = self.drawn.law.operator, self._parameters
        values: NDArray[Any]
        if law is RANDOM_NORMAL:
            mean, scale = (float(numbers[name]) for name in ("mean", "scale"))
            values = np.asarray(random.normal(mean, scale, shape))
        elif law is RANDOM_BERNOULLI:
            values = np.asarray(random.random(shape) < float(numbers["p"]))
        elif law is RANDOM_UNIFORM and self._values.is_float:
            low, high = (float(numbers[name]) for name in ("minval", "maxval"))
            # As many numbers in [0, 1) as a mantissa has, like the operator's.
            digits: int = ml_dtypes.finfo(self._dtype).nmant  # type: ignore[no-untyped-call]
            unit = 2.0**-digits
            values = low + (high - low) * unit * np.asarray(random.integers(0, 2**digits, shape))
        elif law is RANDOM_UNIFORM:
            low, high = (int(numbers[name]) for name in ("minval", "maxval"))
            values = np.asarray(random.integers(low, high, shape))
        else:
            values = np.asarray(random.integers(0, 2**32, shape, np.uint32))
        return values.astype(self._dtype)

    def _shape(self, feeds: Mapping[str, Any]) -> tuple[int, ...]:
        if self.drawn.shape is not None:
            return self.drawn.shape
        if not self.is_sized:
            return tuple(feeds[self.name_of_shape].tolist())
        found = []
        for dimension in self.port.shape or ():
            if isinstance(dimension, int):
                found.append(dimension)
            else:
                name, number = self._places[str(dimension)]
                found.append(feeds[name].shape[number])
        return tuple(found)


def _size(dimension: int | str | None) -> int | None:
    """A constant dimension; None of another."""
    return dimension if isinstance(dimension, int) else None
