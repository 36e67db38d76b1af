"""Runs of ONNX Runtime whose inputs and outputs are bound to memory of the user's."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from onnx_philox._contract import arrays
from onnx_philox._contract.streams import Streams
from onnx_philox._pipeline.engine import Engine, Ran
from onnx_philox._pipeline.inputs import Feed
from onnx_philox._runtimes.in_onnxruntime import Model

_NAME = "Pipeline"


class _Bound:
    """Memory for a state and the next, as ONNX Runtime's values and as arrays."""

    def __init__(self, state: NDArray[np.uint32]) -> None:
        self.before, self.after = np.empty_like(state), np.empty_like(state)
        self.given = onnxruntime.OrtValue.ortvalue_from_numpy(self.before)
        self.taken = onnxruntime.OrtValue.ortvalue_from_numpy(self.after)


class BindingEngine(Engine):
    """A session, which also runs an `onnxruntime.IOBinding` of all other inputs and outputs."""

    def __init__(self, session: onnxruntime.InferenceSession, streams: Streams) -> None:
        super().__init__(Model(session), streams)
        self._session = session
        # The key is the user's binding, which no two threads may use at once.
        self._bound: WeakKeyDictionary[onnxruntime.IOBinding, _Bound] = WeakKeyDictionary()

    def run(self, feed: Feed, state: NDArray[np.uint32]) -> Ran:
        """Runs the session with a feed or a binding."""
        if isinstance(feed, onnxruntime.IOBinding):
            return self._run_bound(feed, state)
        return super().run(feed, state)

    def _run_bound(self, binding: onnxruntime.IOBinding, state: NDArray[np.uint32]) -> Ran:
        """Binds the state and the next state, and runs; the outputs stay where they are bound."""
        # Each time, since the user may have bound other memory.
        arrays.check_bound(_NAME, binding)
        bound = self._bound.get(binding)
        if bound is None or bound.before.size != state.size:
            bound = self._bound[binding] = _Bound(self._shaped(state))
        bound.before.reshape(-1)[:] = state.reshape(-1)
        # Each time, since the user may have cleared what was bound.
        binding.bind_ortvalue_input(self.streams.state, bound.given)
        binding.bind_ortvalue_output(self.streams.next_state, bound.taken)
        self._session.run_with_iobinding(binding)
        return {}, bound.after.reshape(state.shape).copy()
