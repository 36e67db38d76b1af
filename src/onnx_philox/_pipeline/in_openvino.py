"""Pipelines over OpenVINO."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike, NDArray

from onnx_philox import _openvino_arrays as arrays
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._contract.types import BF16
from onnx_philox._pipeline.engine import Feed, Outputs, Ran, check_feed

_NAME = "Pipeline"
# Where OpenVINO keeps the metadata of an ONNX model.
_METADATA = "framework"


class OpenVino:
    """A compiled model, with an infer request for each thread that runs it.

    Args:
        compiled: The model.
        streams: Its random nodes.
        inputs: The inputs that the model declares; OpenVINO drops those that nothing reads.
        outputs: The outputs that the model declares, in order: OpenVINO knows some by other names.
    """

    def __init__(
        self,
        compiled: ov.CompiledModel,
        streams: Streams,
        inputs: Collection[str] = (),
        outputs: Sequence[str] = (),
    ) -> None:
        self.compiled = compiled
        self.streams = streams
        names = [_name(i, output, outputs) for i, output in enumerate(compiled.outputs)]
        self._next = next(
            i for i, o in enumerate(compiled.outputs) if streams.next_state in o.get_names()
        )
        self._outputs = {i: name for i, name in enumerate(names) if i != self._next}
        (state,) = (i for i in compiled.inputs if streams.state in i.get_names())
        self._needed = [
            (frozenset(i.get_names()), _dtype(i)) for i in compiled.inputs if i is not state
        ]
        known = {name for port in compiled.inputs for name in port.get_names()}
        self._dropped = set(inputs) - known
        shape = state.get_partial_shape()
        self._shape = tuple(shape.to_shape()) if streams.batch is None else None
        self._type = np.dtype(state.get_element_type().to_dtype())
        # Appending and popping are safe from any thread.
        self._idle: deque[ov.InferRequest] = deque()

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the model in an idle infer request, a new one if there is none.

        Raises:
            TypeError: The feed is no mapping, or an input is None or of another type.
            ValueError: An input is missing.
        """
        tensors = self._tensors(feed)
        try:
            request = self._idle.pop()
        except IndexError:
            request = self.compiled.create_infer_request()
        try:
            words = np.ascontiguousarray(state).view(self._type)
            given = words if self._shape is None else words.reshape(self._shape)
            request.infer({**tensors, self.streams.state: given})
            outputs: Outputs = {
                name: arrays.memory(request.get_output_tensor(index)).copy()
                for index, name in self._outputs.items()
            }
            after = request.get_output_tensor(self._next).data.view(np.uint32)
            return outputs, after.reshape(state.shape).copy()
        finally:
            self._idle.append(request)

    def _tensors(self, feed: Feed) -> dict[str, ov.Tensor | NDArray[np.generic]]:
        """What OpenVINO copies, of all inputs: a request keeps those of the run before.

        An array that it is given to share can be written to by other requests, where a dimension is
        dynamic (docs/troubleshooting.md).
        """
        check_feed(_NAME, feed, [name for names, _ in self._needed for name in names])
        tensors: dict[str, ov.Tensor | NDArray[np.generic]] = {
            name: value for name, value in feed.items() if name not in self._dropped
        }
        for names, dtype in self._needed:
            given_names = names & tensors.keys()
            if not given_names:
                what = f"the input {min(names)!r}"
                refuse(_NAME, what, "missing", "an array for each input", "Pass it, too.")
            for name in given_names:
                tensors[name] = _tensor(name, tensors[name], dtype)
        return tensors


def streams_in(model: ov.Model) -> Streams | None:
    """What the model's metadata says; a compiled model has none."""
    text = metadata(model, METADATA_KEY)
    return Streams.from_json(text) if text is not None else None


def metadata(model: ov.Model, key: str) -> str | None:
    """A property that the model had as a file of ONNX."""
    path = [_METADATA, key]
    return str(model.get_rt_info(path).value) if model.has_rt_info(path) else None


def _tensor(
    name: str, value: ArrayLike, dtype: np.dtype[Any] | None
) -> ov.Tensor | NDArray[np.generic]:
    """An array of the input's type, to which OpenVINO would cast others in silence."""
    array = value.data if isinstance(value, ov.Tensor) else np.asarray(value)
    if array.dtype == BF16.dtype:
        return arrays.tensor(array)
    is_typed = isinstance(value, ov.Tensor | np.ndarray | np.generic) and array.dtype.kind in "biuf"
    if is_typed and dtype is not None and array.dtype != dtype:
        given, allowed = f"of type {array.dtype.name}", dtype.name
        remedy = "Pass an array of the input's type."
        refuse(_NAME, f"the input {name!r}", given, allowed, remedy, TypeError)
    return array


def _dtype(port: ov.ConstOutput) -> np.dtype[Any] | None:
    """The type of an input's arrays; None where NumPy has none of its own."""
    type_ = port.get_element_type()
    if type_ in (ov.Type.bf16, ov.Type.string):
        return None
    dtype: np.dtype[Any] = np.dtype(type_.to_dtype())
    return dtype


def _name(index: int, output: ov.ConstOutput, declared: Sequence[str]) -> str:
    """The name of an output in the model; a tensor may have those of other values, too."""
    names: set[str] = output.get_names()
    if index < len(declared) and declared[index] in names:
        return declared[index]
    return min(names & set(declared) or names)
