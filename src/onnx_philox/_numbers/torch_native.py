"""torch's CPU draws by the native core, if the package was installed with it: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.torch_state import TorchState
from onnx_philox._contract.types import ElementType

try:
    # As in `fill_native`, which warns of a core that does not load.
    import onnx_philox._core as _core
except ImportError:
    IS_THERE = False
else:
    IS_THERE = True

_MASK64 = 2**64 - 1


class NativeWords:
    """torch's generator in the core, while numbers are drawn from it; releases the GIL."""

    def __init__(self, state: TorchState) -> None:
        self._before = state
        self._core = _core.TorchStream(state.to_array().view(np.uint8))

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeWords, (self.state(),)

    def state(self) -> TorchState:
        """Where the generator is now."""
        array = self._before.to_array()
        self._core.write(array.view(np.uint8))
        return TorchState.from_array(array)

    def words(self, count: int) -> NDArray[np.uint32]:
        """The next words."""
        result = np.empty(count, np.uint32)
        self._core.fill(result.view(np.uint8), "uniform", "bits")
        return result

    def floats(
        self, count: int, values: ElementType, distribution: str, first: float, second: float
    ) -> NDArray[Any]:
        """Floats: uniform ones by their bounds, others by what they are named for."""
        result = np.empty(count, values.dtype)
        low, high = 0, 0
        if distribution == "uniform":
            unsigned = np.dtype(f"u{values.dtype.itemsize}")
            ends = np.array([first, second], np.float64).astype(values.dtype).view(unsigned)
            low, high = ends.tolist()
        out = result.view(np.uint8)
        self._core.fill(out, distribution, values.name, float(first), float(second), low, high)
        return result

    def integers(self, count: int, values: ElementType, minval: int, maxval: int) -> NDArray[Any]:
        """Integers in [minval, maxval)."""
        result = np.empty(count, values.dtype)
        low, high = minval & _MASK64, maxval & _MASK64
        self._core.fill(result.view(np.uint8), "uniform", values.name, low=low, high=high)
        return result

    def bernoulli(self, count: int, p: NDArray[Any]) -> NDArray[np.bool_]:
        """Booleans by one float32 or float64, or by one for each."""
        result = np.empty(count, np.bool_)
        out, is_f64 = result.view(np.uint8), p.dtype == np.float64
        if p.ndim == 0:
            self._core.fill(out, "bernoulli", "bool", float(p), is_p_f64=is_f64)
        else:
            each = np.ascontiguousarray(p, None if is_f64 else np.float32).view(np.uint8)
            self._core.fill(out, "bernoulli", "bool", p=each, is_p_f64=is_f64)
        return result

    def permutation(self, count: int) -> NDArray[np.int64]:
        """The integers below `count`, shuffled."""
        result = np.empty(count, np.int64)
        self._core.fill(result.view(np.uint8), "permutation", "i64")
        return result

    def race(self, weights: NDArray[np.float32], samples: int) -> NDArray[np.int64]:
        """The classes that win a race, the first one first, from rows of weights."""
        rows, classes = weights.shape
        result = np.empty((rows, samples), np.int64)
        given = np.ascontiguousarray(weights).reshape(-1).view(np.uint8)
        self._core.race(result.reshape(-1).view(np.uint8), given, classes, samples)
        return result
