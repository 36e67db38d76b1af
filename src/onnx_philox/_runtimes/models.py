"""A model loaded in a runtime: its inputs and outputs, and a way to run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import onnx
from numpy.typing import NDArray

from onnx_philox import _backends, _runtime_errors
from onnx_philox._contract.refusal import RefusalError, ValueRefusalError
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.types import ElementType
from onnx_philox._files.drawn_outputs import show_drawn
from onnx_philox._files.given import Given
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port, Titled


class RunError(Exception):
    """A runtime does not load or run a model; the text is the runtime's."""

    @classmethod
    def of(cls, runtime: str, what: str, error: Exception) -> RunError:
        """The error of a runtime, in its own words."""
        said = _runtime_errors.sentence(str(error))
        return cls(f"{runtime} does not {what}: {said or type(error).__name__}")


class SettingError(ValueRefusalError, ArgumentError):
    """An option does not suit the runtime or the model, or the runtime does not take the file."""


@dataclass(frozen=True)
class Served:
    """A model that a pipeline serves, and what it says of itself."""

    streams: Streams
    graph: onnx.GraphProto | None = None
    """Of a model of ONNX; large weights may be missing."""
    standard: str | None = None
    """For which runtime its standard nodes are made; see `onnx_philox._standard.made`."""
    model: Any = None
    """Itself: of ONNX in memory, or OpenVINO's; None for a file as it is."""
    stamp: object = ()
    """What its files were when they were read."""
    is_itself: bool = True
    """Whether it is the model that was given, and not what a rewrite made of that."""


@dataclass(frozen=True)
class ToOpen:
    """A model, and how to open it."""

    given: Given
    options: Any
    """The runtime's `Options`."""
    served: Served | None = None
    """What a pipeline serves of it, if one does."""
    shows_drawn: bool = False
    """Whether the tensors that the random nodes of the main graph draw are outputs too."""
    read: Any = None
    """An IR that OpenVINO has read, to be changed here; None of any other model."""

    @property
    def path(self) -> str:
        """The path of a file that a runtime opens.

        Raises:
            SettingError: It cannot, since the path is not UTF-8, or it is no whole IR.
        """
        try:
            return self.given.for_runtime
        except RefusalError as error:
            raise SettingError(*error.parts) from error

    def proto(self, *, weights: bool = True) -> tuple[onnx.ModelProto, dict[str, str]]:
        """The ONNX model, and which of its outputs random nodes draw; or without the weights.

        Those are the ones that lie beside a file.
        """
        given = self.given
        served = self.served
        if served is not None and served.model is not None:
            model = served.model
        elif given.is_file:
            model = onnx.ModelProto()
            with given.opened_file() as file:
                model.CopyFrom(file.proto)
                file.load_weights(model, keeps_external=not weights)
        else:
            model = given.proto
        drawn = show_drawn(model) if self.shows_drawn else {}
        return model, drawn


class LoadedModel(Titled, ABC):
    """A model in a runtime; any number of threads may run it at once."""

    runtime: str
    """Its name in the registry."""
    version: str
    """Of the runtime that is installed."""
    not_carried: Mapping[str, tuple[ElementType, ...]] = {}
    """The types that a backend may refuse; to refuse any other is an error."""
    not_carried_error: type[Exception] = NotImplementedError
    """How it refuses them."""
    has_operators: ClassVar[bool] = True
    """Whether it draws by the operators, and not by standard nodes."""

    backend: str
    inputs: list[Port]
    outputs: list[str]
    aliases: Mapping[str, str] = {}
    """Other names of inputs, and the inputs that they mean."""
    variables: Mapping[str, np.dtype[Any]] = {}
    """The types of its own variables, which go on from run to run where nobody sets them."""
    own_values: Collection[str] = ()
    """Inputs of the model for which the runtime computes with the file's own values."""
    dropped: Collection[Port] = ()
    """Inputs of the model that the runtime does not have, since nothing reads them."""
    drawn: Mapping[str, str] = {}
    """The outputs that random nodes draw, each with its operator; empty unless asked for."""
    precision: str | None = None
    """What it computes in, if the runtime says so."""
    device: str = ""
    """Where it computes, if the runtime has several."""
    how: str = ""
    """What else decides its numbers, in words."""

    @classmethod
    def may_refuse(cls, backend: str, operator: str, type: ElementType) -> bool:  # noqa: ARG003
        """Whether a backend may refuse what an operator draws of a type."""
        return type in cls.not_carried.get(backend, ())

    @staticmethod
    def devices() -> list[str]:
        """The devices that are here, of a runtime that has several."""
        return []

    @staticmethod
    @abstractmethod
    def backends() -> Mapping[str, _backends.Backend]:
        """The backends by name, best first."""

    takes_bindings: ClassVar[bool] = False
    """Whether a pipeline runs what a user has bound to memory, too."""

    @classmethod
    @abstractmethod
    def open(cls, asked: ToOpen) -> Self:
        """Opens a model; a session or compiled model of the user's as it is.

        Raises:
            ArgumentError: The runtime does not take an option, or the model. It is also a
                ValueError.
            TypeError: An option is of another type.
        """

    @staticmethod
    def metadata(model: Any, key: str) -> str | None:
        """A property of the metadata of a model that is in this runtime; None without one."""
        raise NotImplementedError

    @staticmethod
    def names_of_inputs(model: Any) -> set[str]:
        """All names that the inputs of a session or compiled model have."""
        raise NotImplementedError

    def run(self, feeds: Arrays) -> Arrays:
        """Runs it once; the caller owns the arrays that it returns.

        Raises:
            RunError: The runtime refuses an input, or fails.
        """
        try:
            return self.outputs_of(feeds)
        except Exception as error:
            raise RunError.of(self.runtime, "run the model", error) from error

    def outputs_of(self, feeds: Arrays) -> Arrays:
        """Runs it once, and raises what the runtime raises."""
        return by_name(self.outputs, self.values_of(feeds))

    @abstractmethod
    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        """Runs it once: the outputs in their order, in the runtime's own types."""

    def values_from(
        self,
        feeds: Mapping[str, Any],
        variables: Arrays | None,  # noqa: ARG002
    ) -> tuple[Sequence[Any], Arrays | None]:
        """The same with variables that hold these arrays, or with None are as at first.

        Returns:
            The outputs, and what the variables hold then: None if the model has none.
        """
        return self.values_of(feeds), None

    def taken(self, value: Any) -> Any:  # noqa: ARG002
        """What it takes in the place of a value of the runtime's own type; None for any other."""
        return None


def choose_backend(model: type[LoadedModel], requested: str) -> str:
    """The name of the backend that "auto" or a name means.

    Raises:
        SettingError: There is no such backend.
        ArgumentError: It cannot be used here.
    """
    runtime = model.runtime
    backends = model.backends()
    try:
        backend = _backends.choose(runtime, backends, requested)
    except ValueError:
        names = ", ".join((_backends.AUTO, *backends))
        allowed = f"one of {names} for {runtime}"
        remedy = "Choose one of these."
        raise SettingError(runtime, "backend", repr(requested), allowed, remedy) from None
    except ImportError as error:
        raise ArgumentError(str(error)) from error
    return next(name for name, known in backends.items() if known is backend)


def port_of(value: onnx.ValueInfoProto, is_required: bool) -> Port:
    """An input, as a model of ONNX declares it."""
    if not value.type.HasField("tensor_type"):
        return Port(value.name, None, None, is_required)
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(_size(d) for d in tensor.shape.dim)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return Port(value.name, dtype, shape, is_required)


def _size(dimension: onnx.TensorShapeProto.Dimension) -> int | str | None:
    """A dimension of a shape: its number, or its name, if it has one."""
    if dimension.HasField("dim_value"):
        return dimension.dim_value
    return dimension.dim_param or None


def by_name(names: list[str], values: Sequence[Any]) -> Arrays:
    """Outputs by name; each member of a sequence counts as an output.

    Raises:
        ValueError: A member of a sequence has the name of another output.
    """
    arrays: Arrays = {}
    for name, value in zip(names, values, strict=True):
        is_sequence = isinstance(value, list)
        named = {name: value}
        if is_sequence:
            named = {f"{name}[{i}]": member for i, member in enumerate(value)}
        for each, array in named.items():
            if each in arrays:
                raise ValueError(
                    "the names of outputs must be different, where a member of a sequence has its "
                    f"number after the name: got {each!r} twice. Rename one in the model."
                )
            arrays[each] = _array(array)
    return arrays


def _array(value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return array.astype(np.str_)
    return array
