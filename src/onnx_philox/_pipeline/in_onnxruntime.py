"""Pipelines over ONNX Runtime."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from onnx_philox._contract import arrays
from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._contract.types import BF16
from onnx_philox._pipeline.engine import Ran
from onnx_philox._pipeline.inputs import Feed, Inputs, Port

_NAME = "Pipeline"
# NumPy's names of what ONNX Runtime calls by C's names.
_NAMES = {"float": "float32", "double": "float64"}


class _Bound:
    """Memory for a state and the next, as ONNX Runtime's values and as arrays."""

    def __init__(self, state: NDArray[np.uint32]) -> None:
        self.before, self.after = np.empty_like(state), np.empty_like(state)
        self.given = onnxruntime.OrtValue.ortvalue_from_numpy(self.before)
        self.taken = onnxruntime.OrtValue.ortvalue_from_numpy(self.after)


class OnnxRuntime:
    """A session, of ONNX Runtime's own or of this package."""

    def __init__(self, session: onnxruntime.InferenceSession, streams: Streams) -> None:
        self.session = session
        self.streams = streams
        outputs = [output.name for output in session.get_outputs()]
        self._outputs = [name for name in outputs if name != streams.next_state]
        self._all = [*self._outputs, streams.next_state]
        (state,) = (i for i in session.get_inputs() if i.name == streams.state)
        ports = [
            Port(i.name, _dtype(i.type), not i.type.startswith("optional"))
            for i in session.get_inputs()
            if i is not state
        ]
        ports += [
            Port(i.name, _dtype(i.type), is_required=False)
            for i in session.get_overridable_initializers()
        ]
        self._inputs = Inputs(streams.state, ports)
        # By the binding of the user, which no two threads may use at once.
        self._bound: WeakKeyDictionary[onnxruntime.IOBinding, _Bound] = WeakKeyDictionary()
        # A state of rank 4, for instance, as DirectML has it.
        self._shape = None if streams.batch is not None else [d or 1 for d in state.shape]

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the session with a feed, or with an `onnxruntime.IOBinding` of all other inputs.

        Raises:
            TypeError: The feed is no mapping, or an input that is not optional is None or an array
                of another type.
            ValueError: An input is missing or unknown.
        """
        if isinstance(feed, onnxruntime.IOBinding):
            return self._run_bound(feed, state)
        inputs = self._inputs.of(feed)
        inputs[self.streams.state] = self._shaped(state)
        *outputs, after = self.session.run(self._all, inputs)
        return dict(zip(self._outputs, outputs, strict=True)), after.reshape(state.shape)

    def _run_bound(self, binding: onnxruntime.IOBinding, state: NDArray[np.uint32]) -> Ran:
        """Binds the state and the next state, and runs; the outputs stay where they are bound."""
        bound = self._bound.get(binding)
        if bound is None or bound.before.size != state.size:
            _check_bound(binding)
            bound = self._bound[binding] = _Bound(self._shaped(state))
        bound.before.reshape(-1)[:] = state.reshape(-1)
        # Each time, since the user may have cleared what was bound.
        binding.bind_ortvalue_input(self.streams.state, bound.given)
        binding.bind_ortvalue_output(self.streams.next_state, bound.taken)
        self.session.run_with_iobinding(binding)
        return {}, bound.after.reshape(state.shape).copy()

    def _shaped(self, state: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return state if self._shape is None or len(self._shape) == 1 else state.reshape(self._shape)


def _check_bound(binding: onnxruntime.IOBinding) -> None:
    """Refuses arrays that ONNX Runtime would misread, as far as a binding shows them.

    The sessions of this package refuse them when they are bound.
    """
    for name, array in getattr(binding, "_numpy_obj_references", {}).items():
        arrays.check_shared(_NAME, f"the input {name!r}", array)
        arrays.plain(_NAME, f"the input {name!r}", array)


def _dtype(type_: str) -> np.dtype[Any] | None:
    """The type of an input's arrays; None for what is no tensor, or has no array of its own."""
    kind, _, element = type_.rstrip(")").partition("(")
    try:
        dtype = np.dtype(_NAMES.get(element, element))
    except TypeError:
        return None
    return dtype if kind == "tensor" and (dtype.kind in "biufc" or dtype == BF16.dtype) else None


def streams_in(session: onnxruntime.InferenceSession) -> Streams | None:
    """What the model's metadata says."""
    text = session.get_modelmeta().custom_metadata_map.get(METADATA_KEY)
    return None if text is None else Streams.from_json(text)
