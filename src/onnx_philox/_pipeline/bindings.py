"""Runs of ONNX Runtime whose inputs and outputs are bound to memory of the user's."""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from onnx_philox import _runtime_errors
from onnx_philox._contract import given_arrays
from onnx_philox._contract.refusal import refuse
from onnx_philox._pipeline.engine import Engine, EngineRun
from onnx_philox._pipeline.fed_inputs import Feed, refuse_state
from onnx_philox._pipeline.variables import Variables

_NAME = "Pipeline"


class _Bound:
    """Memory for a state and the next, as ONNX Runtime's values and as arrays."""

    def __init__(self, state: NDArray[np.uint32]) -> None:
        self.before = np.empty_like(state)
        self.after = np.empty_like(state)
        self.given = onnxruntime.OrtValue.ortvalue_from_numpy(self.before)
        self.taken = onnxruntime.OrtValue.ortvalue_from_numpy(self.after)


class BindingEngine(Engine):
    """A session, which also runs an `onnxruntime.IOBinding` of all other inputs and outputs.

    Where a feed is expected, it takes such a binding, too.
    """

    # The key is the user's binding, which no two threads may use at once. Pipelines of one session
    # share it, so that each knows the memory that another has bound.
    _bound: ClassVar[WeakKeyDictionary[onnxruntime.IOBinding, _Bound]] = WeakKeyDictionary()

    def rows_of(self, feed: Feed) -> int | None:
        """As of any feed; a binding shows its inputs as far as ONNX Runtime tells them."""
        if not isinstance(feed, onnxruntime.IOBinding):
            return super().rows_of(feed)
        if self._rows is None:
            return None
        return self._rows.of(given_arrays.shown_inputs(feed))

    def run(self, feed: Feed, state: NDArray[np.uint32], variables: Variables = None) -> EngineRun:
        """As with any feed; the outputs of a binding stay where they are bound."""
        if isinstance(feed, onnxruntime.IOBinding):
            return self._run_bound(feed, state)
        return super().run(feed, state, variables)

    def _run_bound(self, binding: onnxruntime.IOBinding, state: NDArray[np.uint32]) -> EngineRun:
        """Binds the state and the next state, and runs."""
        # Each time, since the user may have bound other memory.
        given_arrays.check_bound(_NAME, binding)
        bound = self._bound.get(binding)
        self._check_states(binding, bound)
        if bound is None or bound.before.size != state.size:
            bound = _Bound(self._state.holding(state))
            self._bound[binding] = bound
        bound.before.reshape(-1)[:] = state.reshape(-1)
        # Each time, since the user may have cleared what was bound.
        binding.bind_ortvalue_input(self.streams.state, bound.given)
        binding.bind_ortvalue_output(self.streams.next_state, bound.taken)
        session: onnxruntime.InferenceSession = self.model.session  # type: ignore[attr-defined]
        try:
            session.run_with_iobinding(binding)
        except Exception as error:
            _runtime_errors.raise_refusal(error)
            raise
        after = bound.after.reshape(state.shape).copy()
        return EngineRun({}, after, None, values=(), fed=None)

    def _check_states(self, binding: onnxruntime.IOBinding, bound: _Bound | None) -> None:
        """Refuses memory of the user's for a state, which the pipeline would not use."""
        # Releases without these attributes do not say what is bound.
        name = self.streams.state
        inputs = getattr(binding, "_bound_inputs", {})
        if name in inputs and (bound is None or inputs[name] is not bound.given):
            refuse_state(name)
        name = self.streams.next_state
        value = getattr(binding, "_bound_outputs", {}).get(name)
        if value is not None and (bound is None or value is not bound.taken):
            allowed = "bound by the pipeline alone"
            remedy = "Leave it out: the result's next_state holds it."
            refuse(_NAME, f"the output {name!r}", "other memory", allowed, remedy)
