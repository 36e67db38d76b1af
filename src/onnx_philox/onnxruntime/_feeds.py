"""What users feed and bind: ONNX Runtime reads the bytes of an array, whatever its type says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._contract import arrays
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.state import PhiloxState

_NAME = "onnx_philox.onnxruntime"


def with_arrays(feed: dict[str, Any]) -> dict[str, Any]:
    """The feed with arrays that ONNX Runtime reads aright; it takes nothing else for an array."""
    return {
        name: value
        if type(value) is np.ndarray and value.dtype.isnative
        else _readable(f"the input {name!r}", value)
        for name, value in feed.items()
    }


def _readable(what: str, value: Any) -> Any:
    if isinstance(value, PhiloxState):
        return value.to_array()
    if isinstance(value, list):
        # A sequence of tensors. Of arrays beside numbers ONNX Runtime makes one array itself.
        is_sequence = all(isinstance(item, np.ndarray) for item in value[:1])
        return [_readable(what, item) for item in value] if is_sequence else value
    if isinstance(value, np.ndarray):
        with _invalid_arguments():
            return arrays.plain(_NAME, what, value)
    check_value(what, value)
    return value


def check_value(what: str, value: Any) -> None:
    """Refuses an OrtValue over an array that ONNX Runtime misreads; others do not show theirs."""
    array = _check_shared(what, value)
    if array is not None:
        with _invalid_arguments():
            arrays.plain(_NAME, what, array)


class IOBinding(ort.IOBinding):  # type: ignore[misc]
    """ONNX Runtime's IOBinding, which refuses arrays that it would misread."""

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """As ONNX Runtime's."""
        check_value(f"the input {name!r}", arr_on_cpu)
        super().bind_cpu_input(name, arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: ort.OrtValue) -> None:
        """As ONNX Runtime's."""
        check_value(f"the input {name!r}", ortvalue)
        super().bind_ortvalue_input(name, ortvalue)

    def bind_ortvalue_output(self, name: str, ortvalue: ort.OrtValue) -> None:
        """As ONNX Runtime's."""
        _check_shared(f"the output {name!r}", ortvalue)
        super().bind_ortvalue_output(name, ortvalue)


def _check_shared(what: str, value: Any) -> NDArray[Any] | None:
    """The array of a value, if it shows one; refuses another byte order."""
    array = getattr(value, "_numpy_obj", value)
    if not isinstance(array, np.ndarray):
        return None
    with _invalid_arguments():
        arrays.check_shared(_NAME, what, array)
    return array


@contextmanager
def _invalid_arguments() -> Iterator[None]:
    """Raises a refusal as ONNX Runtime's own exception."""
    try:
        yield
    except RefusalError as error:
        raise ort_state.InvalidArgument(str(error)) from error
