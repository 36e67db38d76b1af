"""What users feed and bind: ONNX Runtime reads the bytes of an array, whatever its type says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._contract import feeds, generators, given_arrays
from onnx_philox._contract.refusal import RefusalError, shown
from onnx_philox._contract.types import BF16
from onnx_philox.onnxruntime import _values as values

NAME = "onnx_philox.onnxruntime"
RAW = object()
"""Memory that is bound by its address."""
_MAKE_A_VALUE = "Pass onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, type)."
# Where the names of ONNX Runtime's element types are others.
_IN_NUMPY = {"float": "float32", "double": "float64"}


def with_arrays(feed: dict[str, Any], of_one: Iterable[str]) -> dict[str, Any]:
    """The feed with arrays that ONNX Runtime reads aright; it takes nothing else for an array.

    Inputs `of_one` take a scalar for an array of one element.
    """
    taken = {}
    for name, value in feed.items():
        is_ready = type(value) is np.ndarray and value.dtype.isnative
        if not is_ready:
            value = _readable(feeds.title(name), value)
        taken[name] = value
    feeds.with_one_element(taken, of_one)
    return taken


def _readable(what: str, value: Any) -> Any:
    if generators.is_state(value):
        return value.to_array()
    if isinstance(value, list):
        # A sequence of tensors. ONNX Runtime itself makes one array of a list of numbers.
        is_sequence = all(isinstance(item, np.ndarray) for item in value)
        if not is_sequence:
            return value
        return [_readable(what, item) for item in value]
    if isinstance(value, np.ndarray):
        with invalid_arguments():
            return given_arrays.plain(NAME, what, value)
    check_value(what, value)
    return value


def type_name(of_onnxruntime: str) -> str:
    """A type as NumPy calls that of a tensor: float32 for tensor(float); others as they are."""
    kind, _, element = of_onnxruntime.rstrip(")").partition("(")
    if kind != "tensor":
        return f"a {of_onnxruntime}"
    return _IN_NUMPY.get(element, element)


def check_feed(
    inputs: Iterable[Any],
    optional: Iterable[Any],
    given: Mapping[str, Any],
) -> None:
    """Refuses a feed that ONNX Runtime has refused, in our words, if the fault is found.

    Args:
        inputs: What a session says of its inputs.
        optional: The same of the initializers that a feed may replace.
        given: The feed; `RAW` is memory whose contents are not known here.

    Raises:
        RefusalError: An input is missing, unknown, or of another type or shape.
    """
    inputs = list(inputs)
    check_present(inputs, given)
    known = {port.name: port for port in (*inputs, *optional)}
    for name, value in given.items():
        port = known.get(name)
        if port is None:
            feeds.refuse_unknown(NAME, repr(name), known)
        wanted = type_name(port.type)
        # ONNX Runtime makes a tensor of a list.
        if value is RAW or isinstance(value, list):
            continue
        if not isinstance(value, np.ndarray | ort.OrtValue):
            if port.type.startswith("tensor"):
                feeds.refuse_type(NAME, name, shown(value), wanted)
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind == "V" and value.dtype != BF16.dtype:
            wanted = f"a value of {wanted}, which ONNX Runtime makes of no array by itself"
            feeds.refuse_type(NAME, name, f"an array of {value.dtype}", wanted, _MAKE_A_VALUE)
        as_value = values.to_ort_value(name, value)
        if as_value.data_type() != port.type:
            feeds.refuse_type(NAME, name, type_name(as_value.data_type()), wanted)
        if as_value.is_tensor():
            _check_shape(name, as_value.shape(), port.shape)


def _check_shape(
    name: str,
    shape: list[int],
    wanted: list[int | str | None],
) -> None:
    # ONNX Runtime says nothing of a rank that is not known, as of a scalar's.
    fits = len(shape) == len(wanted) and all(
        not isinstance(w, int) or w == given for w, given in zip(wanted, shape, strict=True)
    )
    if wanted and not fits:
        feeds.refuse_shape(
            NAME,
            name,
            str(shape),
            feeds.shape_name(wanted),
        )


def check_present(inputs: Iterable[Any], given: Mapping[str, Any]) -> None:
    """Refuses a feed without an input that is not optional, or with None for one."""
    required = {i.name: i.type for i in inputs if not i.type.startswith("optional")}
    missing = [name for name in required if name not in given]
    if missing:
        names = [f"{name} ({type_name(type_)})" for name, type_ in required.items()]
        remedy = f"Pass an array for each of {', '.join(names)}."
        feeds.refuse_missing(NAME, missing, remedy)
    for name, type_ in required.items():
        if given[name] is None:
            feeds.refuse_type(NAME, name, None, type_name(type_))


def bound(binding: ort.IOBinding) -> dict[str, Any] | None:
    """What is bound as inputs; None where this release of ONNX Runtime does not say it all."""
    inputs = getattr(binding, "_bound_inputs", None)
    if inputs is None:
        return None
    arrays_ = binding._numpy_obj_references
    known = {}
    for name, value in inputs.items():
        known[name] = arrays_.get(name, RAW) if value is None else value
    return known


def bytes_of(value: Any) -> int:
    """The bytes of an array, or of a tensor of ONNX Runtime; 0 of what is not known."""
    if isinstance(value, ort.OrtValue) and value.is_tensor():
        elements: int = math.prod(value.shape())
        dtype = np.dtype(type_name(value.data_type()))
        return elements * int(dtype.itemsize)
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return 0


def check_value(what: str, value: Any) -> None:
    """Refuses an OrtValue over an array that ONNX Runtime misreads; others do not show theirs."""
    with invalid_arguments():
        given_arrays.check_input(NAME, what, value)


class IOBinding(ort.IOBinding):  # type: ignore[misc]
    """ONNX Runtime's IOBinding, which refuses arrays that it would misread."""

    def __init__(self, session: ort.InferenceSession) -> None:
        super().__init__(session)
        ports = (*session.get_inputs(), *session.get_overridable_initializers())
        self._names = [port.name for port in ports]

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """A block that binds an input, which may be none of the model's."""
        try:
            yield
        except RuntimeError as error:
            if name in self._names:
                raise
            with invalid_arguments(type(error)):
                feeds.refuse_unknown(NAME, repr(name), self._names)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """As ONNX Runtime's."""
        check_value(feeds.title(name), arr_on_cpu)
        with self._naming(name):
            super().bind_cpu_input(name, arr_on_cpu)

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Any,
        buffer_ptr: int,
    ) -> None:
        """As ONNX Runtime's."""
        _check_type(feeds.title(name), element_type)
        with self._naming(name):
            super().bind_input(name, device_type, device_id, element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """As ONNX Runtime's."""
        _check_type(f"the output {name!r}", element_type)
        super().bind_output(name, device_type, device_id, element_type, shape, buffer_ptr)

    def bind_ortvalue_input(self, name: str, ortvalue: ort.OrtValue) -> None:
        """As ONNX Runtime's."""
        check_value(feeds.title(name), ortvalue)
        with self._naming(name):
            super().bind_ortvalue_input(name, ortvalue)

    def bind_ortvalue_output(self, name: str, ortvalue: ort.OrtValue) -> None:
        """As ONNX Runtime's."""
        with invalid_arguments():
            given_arrays.check_output(NAME, f"the output {name!r}", ortvalue)
        super().bind_ortvalue_output(name, ortvalue)


def _check_type(what: str, element_type: Any) -> None:
    """Refuses a type of NumPy's in another byte order, which ONNX Runtime does not see."""
    if isinstance(element_type, np.dtype | str):
        with invalid_arguments():
            given_arrays.check_shared(NAME, what, np.empty(0, element_type))


class RefusalText(str):
    """The text of a refused input, which the callback of `run_async` gets.

    Attributes:
        error: The exception that every other kind of run raises.
    """

    error: Exception

    @classmethod
    def of(cls, error: Exception) -> RefusalText:
        """The text of a refusal."""
        text = cls(error)
        text.error = error
        return text


@contextmanager
def invalid_arguments(*kinds: type[Exception]) -> Iterator[None]:
    """Raises a refusal as ONNX Runtime's own exception, and of other kinds."""
    try:
        yield
    except RefusalError as error:
        if isinstance(error, TypeError):
            kinds = (*kinds, TypeError)
        kinds = (ort_state.InvalidArgument, *kinds)
        raise _runtime_errors.refused(str(error), *kinds) from error
