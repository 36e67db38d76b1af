"""An original that takes its noise as an input, beside a model that draws it.

The original is fed numbers of NumPy's of the same law, others in each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._command import refusals
from onnx_philox._command.inside_model import Inside
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.operators import RANDOM_BERNOULLI, RANDOM_NORMAL, RANDOM_UNIFORM
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.types import ElementType
from onnx_philox._rewriting import drawn_inputs
from onnx_philox._rewriting.drawn_inputs import OWNER, DrawnInput
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port

if TYPE_CHECKING:
    import openvino as ov

_KEY = 20_261_129
"""Of NumPy's generator, beside the seed: its numbers are none that a model of ours draws."""


class FedInputs:
    """The inputs of an original that are fed, and the others.

    Args:
        inputs: All inputs of the original.
        draw: The inputs that are fed, and their laws; as in `onnx_philox.make_reproducible`.
        others: The inputs of the rewritten model.
        seed: Of NumPy's numbers.

    Raises:
        ArgumentError: The original has no such input, or the law cannot be drawn for it, or nothing
            says its shape.
    """

    def __init__(
        self,
        inputs: Sequence[Port],
        draw: Mapping[str, str],
        others: Sequence[Port],
        seed: int,
    ) -> None:
        self._random = np.random.default_rng([_KEY, seed])
        self._own = [port for port in inputs if port.name not in draw]
        try:
            self._fed = _fed_inputs(inputs, draw, self._own)
        except RefusalError as error:
            raise ArgumentError(refusals.text(error)) from error
        unsized = [fed for fed in self._fed if not fed.is_sized]
        names_of_shapes = {fed.name_of_shape for fed in unsized}
        self._shapes = [port for port in others if port.name in names_of_shapes]
        known = {port.name for port in self._shapes}
        for fed in unsized:
            if fed.name_of_shape not in known:
                raise ArgumentError(
                    f"--draw {fed.name} must say the shape of an input of shape "
                    f"{fed.port.shape_name} here: got {fed.drawn.text!r}. Write it in brackets "
                    f"behind the word, such as {fed.drawn.text}[1, 16]."
                )

    @property
    def others(self) -> list[Port]:
        """The inputs that a user gives: those of the rewritten model, also of shapes of noise."""
        return [*self._own, *self._shapes]

    def feeds(self, given: Mapping[str, Any]) -> Arrays:
        """What the original is given: what a user gives, and new noise."""
        feeds = {port.name: given[port.name] for port in self._own if port.name in given}
        for fed in self._fed:
            feeds[fed.name] = fed.draw(self._random, given)
        return feeds


def with_letters(ports: Sequence[Port], original: ov.Model) -> list[Port]:
    """The inputs of an IR, whose dimensions without a size have the letters of their Layouts.

    A rewrite takes a letter that another input has, too, for the same size.
    """
    from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import letters_of

    found = []
    for port, parameter in zip(ports, original.get_parameters(), strict=True):
        shape = port.shape
        if shape is not None:
            letters = letters_of(parameter, len(shape))
            pairs = zip(shape, letters, strict=True)
            shape = tuple(letter if size is None else size for size, letter in pairs)
        found.append(replace(port, shape=shape))
    return found


def _fed_inputs(
    inputs: Sequence[Port],
    draw: Mapping[str, str],
    others: Sequence[Port],
) -> list[FedInput]:
    by_name = {port.name: port for port in inputs}
    found = []
    for drawn in drawn_inputs.read_all(OWNER, draw):
        if drawn.name not in by_name:
            drawn_inputs.refuse_unknown(drawn, [*by_name])
        found.append(FedInput(drawn, by_name[drawn.name], others))
    return found


class FedServing(Serving):
    """An original in a runtime, whose noise is fed.

    Args:
        loaded: The original.
        wanted: The runs that a user asks for.
        inside: What decides its numbers.
        noise: The inputs that are fed.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the original.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        wanted: WantedRuns,
        inside: Inside,
        noise: FedInputs,
    ) -> None:
        super().__init__(loaded, wanted, inside, ports=noise.others)
        self._noise = noise

    def feeds(self) -> Arrays:
        """What the next run is given: the same inputs, and new noise."""
        return self._noise.feeds(self.inputs)


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
        self.drawn = drawn
        self.port = port
        self.name = drawn.name
        self.name_of_shape = f"{drawn.name}_shape"
        port.check_array()
        assert port.dtype is not None
        self._dtype = port.dtype
        self._values: ElementType = drawn.values(port.dtype, port.type_name)
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
        law = self.drawn.law.operator
        numbers = self._parameters
        values: NDArray[Any]
        if law is RANDOM_NORMAL:
            mean = float(numbers["mean"])
            scale = float(numbers["scale"])
            values = np.asarray(random.normal(mean, scale, shape))
        elif law is RANDOM_BERNOULLI:
            values = np.asarray(random.random(shape) < float(numbers["p"]))
        elif law is RANDOM_UNIFORM and self._values.is_float:
            low = float(numbers["minval"])
            high = float(numbers["maxval"])
            # As many numbers in [0, 1) as a mantissa has, like the operator's.
            digits: int = ml_dtypes.finfo(self._dtype).nmant  # type: ignore[no-untyped-call]
            drawn = np.asarray(random.integers(0, 2**digits, shape))
            values = low + (high - low) * 2.0**-digits * drawn
        elif law is RANDOM_UNIFORM:
            first = int(numbers["minval"])
            end = int(numbers["maxval"])
            values = np.asarray(random.integers(first, end, shape))
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
