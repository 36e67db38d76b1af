"""What users feed and bind: ONNX Runtime reads the bytes of an array, whatever its type says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._contract import arrays, feeds
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.state import PhiloxState

NAME = "onnx_philox.onnxruntime"
# Where the names of ONNX Runtime's element types are others.
_IN_NUMPY = {"float": "float32", "double": "float64"}


def with_arrays(feed: dict[str, Any]) -> dict[str, Any]:
    """The feed with arrays that ONNX Runtime reads aright; it takes nothing else for an array."""
    return {
        name: value
        if type(value) is np.ndarray and value.dtype.isnative
        else _readable(feeds.title(name), value)
        for name, value in feed.items()
    }


def _readable(what: str, value: Any) -> Any:
    if isinstance(value, PhiloxState):
        return value.to_array()
    if isinstance(value, list):
        # A sequence of tensors. ONNX Runtime itself makes one array of a list of numbers.
        is_sequence = all(isinstance(item, np.ndarray) for item in value[:1])
        return [_readable(what, item) for item in value] if is_sequence else value
    if isinstance(value, np.ndarray):
        with invalid_arguments():
            return arrays.plain(NAME, what, value)
    check_value(what, value)
    return value


def type_name(of_onnxruntime: str) -> str:
    """A type as NumPy calls that of a tensor: float32 for tensor(float); others as they are."""
    kind, _, element = of_onnxruntime.rstrip(")").partition("(")
    return _IN_NUMPY.get(element, element) if kind == "tensor" else f"a {of_onnxruntime}"


def check_value(what: str, value: Any) -> None:
    """Refuses an OrtValue over an array that ONNX Runtime misreads; others do not show theirs."""
    with invalid_arguments():
        arrays.check_input(NAME, what, value)


def check_binding(binding: ort.IOBinding) -> None:
    """The same of what is bound, as far as the binding shows it."""
    with invalid_arguments():
        arrays.check_bound(NAME, binding)


class IOBinding(ort.IOBinding):  # type: ignore[misc]
    """ONNX Runtime's IOBinding, which refuses arrays that it would misread."""

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """As ONNX Runtime's."""
        check_value(feeds.title(name), arr_on_cpu)
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
        super().bind_ortvalue_input(name, ortvalue)

    def bind_ortvalue_output(self, name: str, ortvalue: ort.OrtValue) -> None:
        """As ONNX Runtime's."""
        with invalid_arguments():
            arrays.check_output(NAME, f"the output {name!r}", ortvalue)
        super().bind_ortvalue_output(name, ortvalue)


def _check_type(what: str, element_type: Any) -> None:
    """Refuses a type of NumPy's in another byte order, which ONNX Runtime does not see."""
    if isinstance(element_type, np.dtype | str):
        with invalid_arguments():
            arrays.check_shared(NAME, what, np.empty(0, element_type))


@contextmanager
def invalid_arguments() -> Iterator[None]:
    """Raises a refusal as ONNX Runtime's own exception."""
    try:
        yield
    except RefusalError as error:
        raise ort_state.InvalidArgument(str(error)) from error
