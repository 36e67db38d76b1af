"""Pipelines over OpenVINO."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox import _openvino_arrays as arrays
from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._contract.types import BF16
from onnx_philox._openvino_ports import input_names, output_names
from onnx_philox._pipeline.engine import Outputs, Ran
from onnx_philox._pipeline.inputs import Feed, Inputs, Port, check_type

if TYPE_CHECKING:
    import onnx

# Where OpenVINO keeps the metadata of an ONNX model.
_METADATA = "framework"


class OpenVino:
    """A compiled model, with an infer request for each thread that runs it.

    Args:
        compiled: The model.
        streams: Its random nodes.
        graph: Of the ONNX model that it was made from, whose names are those of the feed and of the
            result; None if there is none.
    """

    def __init__(
        self, compiled: ov.CompiledModel, streams: Streams, graph: onnx.GraphProto | None = None
    ) -> None:
        self.compiled = compiled
        self.streams = streams
        names = output_names(compiled.outputs, graph)
        self._next = names.index(streams.next_state)
        self._outputs = {i: name for i, name in enumerate(names) if i != self._next}
        names = input_names(compiled.inputs, graph)
        self._state = names.index(streams.state)
        state = compiled.inputs[self._state]
        # By position: not every input has its name here.
        self._needed = {
            i: Port(name, _dtype(port))
            for i, (name, port) in enumerate(zip(names, compiled.inputs, strict=True))
            if port is not state
        }
        # OpenVINO drops inputs that nothing reads, and those with a value in the model.
        dropped = {value.name for value in graph.input} - set(names) if graph else set()
        optional = [Port(name, is_required=False) for name in sorted(dropped)]
        aliases = {
            other: port.name
            for i, port in self._needed.items()
            for other in compiled.inputs[i].get_names() - set(names) - dropped
        }
        self._inputs = Inputs(streams.state, [*self._needed.values(), *optional], aliases)
        shape = state.get_partial_shape()
        self._shape = tuple(shape.to_shape()) if streams.batch is None else None
        self._type = np.dtype(state.get_element_type().to_dtype())
        # Appending and popping are safe from any thread.
        self._idle: deque[ov.InferRequest] = deque()

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the model in an idle infer request, a new one if there is none.

        Raises:
            TypeError: The feed is no mapping, or an input is None or of another type.
            ValueError: An input is missing or unknown.
        """
        given = self._inputs.of(feed)
        # OpenVINO copies them all: a request keeps the inputs of the run before. An array that it
        # is given to share can be written to by other requests, where a dimension is dynamic
        # (docs/troubleshooting.md).
        tensors = {i: _tensor(port, given[port.name]) for i, port in self._needed.items()}
        try:
            request = self._idle.pop()
        except IndexError:
            request = self.compiled.create_infer_request()
        try:
            words = np.ascontiguousarray(state).view(self._type)
            tensors[self._state] = words if self._shape is None else words.reshape(self._shape)
            request.infer(tensors)
            outputs: Outputs = {
                name: arrays.memory(request.get_output_tensor(index)).copy()
                for index, name in self._outputs.items()
            }
            after = request.get_output_tensor(self._next).data.view(np.uint32)
            return outputs, after.reshape(state.shape).copy()
        finally:
            self._idle.append(request)


def streams_in(model: ov.Model) -> Streams | None:
    """What the model's metadata says; a compiled model has none."""
    text = metadata(model, METADATA_KEY)
    return Streams.from_json(text) if text is not None else None


def metadata(model: ov.Model, key: str) -> str | None:
    """A property that the model had as a file of ONNX."""
    path = [_METADATA, key]
    return str(model.get_rt_info(path).value) if model.has_rt_info(path) else None


def _tensor(port: Port, value: Any) -> ov.Tensor | NDArray[np.generic]:
    """An array of the input's type, to which OpenVINO would cast others in silence."""
    if isinstance(value, ov.Tensor):
        value = arrays.memory(value)
        check_type(port, value)
    elif not isinstance(value, np.ndarray):
        value = np.asarray(value)
        if port.dtype is not None:
            if value.dtype.kind not in "biuf":
                check_type(port, value)
            value = value.astype(port.dtype)
    return arrays.tensor(value) if value.dtype == BF16.dtype else value


def _dtype(port: ov.ConstOutput) -> np.dtype[Any] | None:
    """The type of an input's arrays; None where NumPy has none of its own."""
    type_ = port.get_element_type()
    if type_ == ov.Type.string:
        return None
    return BF16.dtype if type_ == ov.Type.bf16 else np.dtype(type_.to_dtype())
