"""The Python ops: one for each operator and choice of types, in their own domain.

A PyOp has one fixed type list and requires every input, output and attribute, so each operator
becomes several; `_legalise` writes the nodes for them. Importing this module declares all of them
to onnxruntime-extensions at once: it keeps pointers into its list of a domain's operators, and a
later addition would move that list.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnxruntime_extensions import PyCustomOpDef, onnx_op

from onnx_philox._contract import alignment, checks
from onnx_philox._contract.operators import MAX_RANK, OPERATORS, Input, Operator, Role
from onnx_philox._contract.state import is_state_shape
from onnx_philox._contract.types import BOOL, F32, F64, I32, I64, U32, ElementType
from onnx_philox._numbers import call
from onnx_philox._numbers.fill_native import fastest_fill

DOMAIN = "onnx_philox.python"

_PYOP_TYPES = {
    U32: PyCustomOpDef.dt_uint32,
    I32: PyCustomOpDef.dt_int32,
    I64: PyCustomOpDef.dt_int64,
    F32: PyCustomOpDef.dt_float,
    F64: PyCustomOpDef.dt_double,
    BOOL: PyCustomOpDef.dt_bool,
}
"""The types that PyOps carry; f16 and bf16 are not among them."""


def can_carry(values: ElementType) -> bool:
    """Whether PyOps have this element type."""
    return values in _PYOP_TYPES


def carried(op: Operator, values: ElementType) -> ElementType:
    """The type that goes over for values of this type: data of 16 bits go both ways in f32."""
    if can_carry(values) or op.type_input is None:
        return values
    return F32


def types_of(declared: Input, values: ElementType) -> tuple[ElementType, ...]:
    """The types that a Python op's input takes, for values of this type.

    The first type can hold every number that a node may have there in the other types.
    """
    if declared.role is Role.SHAPE:
        return (I64,)
    if declared.role is Role.DATA:
        # Its type is that of the values: see `carried`.
        return (values if can_carry(values) else F32,)
    types = declared.types or (values,)
    return tuple(type_ for type_ in types if can_carry(type_))


@dataclass(frozen=True)
class PythonOp:
    """An operator with one type for each input and output, as a PyOp requires."""

    operator: Operator
    values: ElementType
    """The type of the first output."""
    inputs: tuple[ElementType, ...]

    @property
    def name(self) -> str:
        """The operator's name with the types."""
        types = (self.values, *self.inputs)
        names = [type_.name for type_ in types]
        return "_".join([self.operator.name, *names])


def python_op(
    op: Operator,
    values: ElementType,
    given: Mapping[str, ElementType | None],
) -> PythonOp:
    """The Python op for values of this type that needs the fewest casts of the given inputs."""
    inputs = []
    for declared in op.inputs:
        types = types_of(declared, values)
        wanted = given.get(declared.name)
        inputs.append(wanted if wanted in types else types[0])
    return PythonOp(op, values, tuple(inputs))


def _python_ops(op: Operator) -> Iterator[PythonOp]:
    for values in op.output_types:
        if not can_carry(carried(op, values)):
            continue
        types = [types_of(declared, values) for declared in op.inputs]
        for inputs in itertools.product(*types):
            yield PythonOp(op, values, inputs)


class Refusals:
    """What the operators refused, by the number of the run; one object for the process."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._stops: dict[int, Callable[[], None]] = {}
        self._errors: dict[int, BaseException] = {}
        self._lock = threading.Lock()

    def open(self, stop: Callable[[], None]) -> int:
        """Returns a new run's number; calls `stop` when an operator refuses."""
        number = next(self._numbers)
        self._stops[number] = stop
        return number

    def record(self, number: int, error: BaseException) -> None:
        """Keeps the first error of a run, and stops the run."""
        with self._lock:
            self._errors.setdefault(number, error)
        self._stops[number]()

    def close(self, number: int) -> BaseException | None:
        """Ends a run and returns its first error; None if there was none."""
        del self._stops[number]
        return self._errors.pop(number, None)

    def __len__(self) -> int:
        """How many runs are open or remembered."""
        return len(self._stops) + len(self._errors)


REFUSALS = Refusals()


class _HandedOver(np.ndarray[Any, np.dtype[Any]]):
    """An array that onnxruntime-extensions copies once.

    onnxruntime-extensions calls `flatten().tolist()` on every result. With lists, a million uint32
    take over a hundred times as long.
    """

    def flatten(self, order: Any = "C") -> Any:  # noqa: ARG002
        return self

    def tolist(self) -> Any:
        return self


def _declare(python: PythonOp) -> None:
    op = python.operator
    run = PyCustomOpDef.dt_int64
    inputs = [run, *(_PYOP_TYPES[given] for given in python.inputs)]
    drawn = carried(op, python.values)
    types = [declared.type or drawn for declared in op.outputs]
    outputs = [_PYOP_TYPES[type_] for type_ in types]
    attributes = {
        a.name: PyCustomOpDef.dt_string if a.allowed else PyCustomOpDef.dt_int64
        for a in op.attributes
    }
    declare = onnx_op(
        op_type=f"{DOMAIN}::{python.name}",
        inputs=inputs,
        outputs=outputs,
        attrs=attributes,
    )
    declare(_body(python))


def _body(python: PythonOp) -> Callable[..., tuple[_HandedOver, ...]]:
    """The function that onnxruntime-extensions calls; it never raises."""
    op = python.operator

    def compute(run: Any, *inputs: Any, **attributes: Any) -> tuple[_HandedOver, ...]:
        named = {}
        for declared, value in zip(op.inputs, inputs, strict=True):
            named[declared.name] = value
        results: tuple[np.ndarray[Any, Any], ...]
        try:
            if op.type_input is None:
                results = call.run(op, fastest_fill, named, attributes, is_copied=True)
            else:
                data = named[op.type_input.name]
                wide = data.astype(python.values.dtype, copy=False)
                named[op.type_input.name] = wide
                first, *others = call.run(op, fastest_fill, named, attributes, is_copied=True)
                first = first.astype(data.dtype, copy=False)
                results = (first, *others)
            _check_room(op, results)
        except BaseException as error:
            REFUSALS.record(int(run), error)
            results = _nothing(python, named, attributes)
        return tuple(result.view(_HandedOver) for result in results)

    return compute


def leave_room(size: int) -> None:
    """Raises a MemoryError where so many bytes cannot be had, of which somebody else will fail."""
    np.empty(size, np.uint8)


def _check_room(op: Operator, results: tuple[np.ndarray[Any, Any], ...]) -> None:
    """Refuses results that ONNX Runtime has no memory for: onnxruntime-extensions cannot.

    Twice, since its arena takes memory in powers of two.
    """
    try:
        size = sum(result.nbytes for result in results)
        leave_room(2 * size)
    except MemoryError:
        checks.refuse_out_of_memory(op)


def _nothing(
    python: PythonOp,
    inputs: dict[str, Any],
    attributes: dict[str, Any],
) -> tuple[np.ndarray[Any, Any], ...]:
    """Outputs of a refused call: no values, and the state not advanced."""
    # Of the requested rank: ONNX Runtime logs a warning for any other.
    size = inputs[python.operator.size_input.name]
    rank = min(size.size, MAX_RANK) if python.operator.has_shape else size.ndim
    state = inputs["state"]
    words = alignment.generator_of(attributes).words
    if not is_state_shape(state.shape, words):
        state = np.zeros(words, np.uint32)
    nothing = [
        np.empty((0,) * rank, (o.type or carried(python.operator, python.values)).dtype)
        for o in python.operator.values_outputs
    ]
    return *nothing, state


for _op in OPERATORS.values():
    for _python_op in _python_ops(_op):
        _declare(_python_op)
