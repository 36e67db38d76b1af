"""The Python ops: one for each operator and output type, in a domain of their own.

A PyOp has one fixed type list and requires every input, output and attribute, so each operator
becomes several; `_legalise` writes the nodes for them. Importing this module declares them to
onnxruntime-extensions, all at once: it keeps pointers into its list of a domain's operators, which
a later addition would move.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from onnxruntime_extensions import PyCustomOpDef, onnx_op

from onnx_philox import _calls
from onnx_philox._checks import output_type
from onnx_philox._element_types import F32, F64, I32, I64, U32, ElementType
from onnx_philox._native_core import fastest_fill
from onnx_philox._operators import MAX_RANK, OPERATORS, STATE_WORDS, Operator

DOMAIN = "onnx_philox.python"

_PYOP_TYPES = {
    U32: PyCustomOpDef.dt_uint32,
    I32: PyCustomOpDef.dt_int32,
    I64: PyCustomOpDef.dt_int64,
    F32: PyCustomOpDef.dt_float,
    F64: PyCustomOpDef.dt_double,
}
"""The types that PyOps carry; f16 and bf16 are not among them."""


class Refusals:
    """What the operators have refused, by the number of the run; one for the process."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._stops: dict[int, Callable[[], None]] = {}
        self._errors: dict[int, BaseException] = {}
        self._lock = threading.Lock()

    def open(self, stop: Callable[[], None]) -> int:
        """A new run's number; `stop` is called when an operator refuses."""
        number = next(self._numbers)
        self._stops[number] = stop
        return number

    def record(self, number: int, error: BaseException) -> None:
        """Keeps the first error of a run, and stops the run."""
        with self._lock:
            self._errors.setdefault(number, error)
        self._stops[number]()

    def close(self, number: int) -> BaseException | None:
        """Ends a run, and tells its first error; None where there was none."""
        del self._stops[number]
        return self._errors.pop(number, None)

    def __len__(self) -> int:
        """How many runs are open or remembered."""
        return len(self._stops) + len(self._errors)


REFUSALS = Refusals()


class _HandedOver(np.ndarray[Any, np.dtype[Any]]):
    """An array that onnxruntime-extensions copies once.

    It calls `flatten().tolist()` on every result; with lists a million uint32 take over a
    hundred times as long.
    """

    def flatten(self, order: Any = "C") -> Any:  # noqa: ARG002
        return self

    def tolist(self) -> Any:
        return self


def can_carry(values: ElementType) -> bool:
    """Whether PyOps have this element type."""
    return values in _PYOP_TYPES


def name_of(op: Operator, values: ElementType) -> str:
    """The name of the PyOp for an operator with this output type."""
    return f"{op.name}_{values.name}"


def _declare(op: Operator, values: ElementType) -> None:
    run = PyCustomOpDef.dt_int64
    inputs = [run, *(_PYOP_TYPES[i.types[0] if i.types else values] for i in op.inputs)]
    outputs = [_PYOP_TYPES[o.type or values] for o in op.outputs]
    attributes = {
        a.name: PyCustomOpDef.dt_string if a.allowed else PyCustomOpDef.dt_int64
        for a in op.attributes
    }
    declare = onnx_op(
        op_type=f"{DOMAIN}::{name_of(op, values)}", inputs=inputs, outputs=outputs, attrs=attributes
    )
    declare(_body(op))


def _body(op: Operator) -> Callable[..., tuple[_HandedOver, ...]]:
    """The function that onnxruntime-extensions calls; it never raises."""
    function = getattr(_calls, op.function)

    def compute(run: Any, *inputs: Any, **attributes: Any) -> tuple[_HandedOver, ...]:
        named = {i.name: value for i, value in zip(op.inputs, inputs, strict=True)}
        try:
            results = function(fastest_fill, **named, **attributes, copies=2)
        except BaseException as error:
            REFUSALS.record(int(run), error)
            results = _nothing(op, named, attributes)
        return tuple(result.view(_HandedOver) for result in results)

    return compute


def _nothing(
    op: Operator, inputs: dict[str, Any], attributes: dict[str, Any]
) -> tuple[np.ndarray[Any, Any], ...]:
    """Outputs of a refused call: no values, and the state not advanced."""
    # Of the rank that was asked for: ONNX Runtime logs a warning for any other.
    values = np.empty((0,) * min(inputs["shape"].size, MAX_RANK), output_type(op, attributes).dtype)
    state = inputs["state"]
    if state.size != STATE_WORDS:
        state = np.zeros(STATE_WORDS, np.uint32)
    return values, state


for _op in OPERATORS.values():
    for _values in _op.output_types:
        if can_carry(_values):
            _declare(_op, _values)
