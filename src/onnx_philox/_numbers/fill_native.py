"""The native core, if the package was installed with it: fills memory at full speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _native
from onnx_philox._contract.operators import OUTPUT_TYPE, Role
from onnx_philox._contract.state import PhiloxState, rows_of_states
from onnx_philox._contract.types import BY_DTYPE, ElementType
from onnx_philox._numbers import fill_numpy
from onnx_philox._numbers.draw import Distribution, Draw, Fill

_COUNTERS = 2**128


def fill(draw: Draw, *outs: NDArray[Any]) -> NDArray[np.uint32] | None:
    """Fills arrays of rank 1 with the kernels of this processor; releases the GIL.

    What the core does not know is drawn by NumPy: the same bits, slower.

    Returns:
        The next states of a draw by rows, if the core drew.

    Raises:
        RuntimeError: ONNX_PHILOX_ISA names kernels that do not exist or cannot run here.
    """
    if outs[0].size == 0:
        return None
    if draw.distribution.operator.name not in _native.OPERATORS:
        fill_numpy.fill(draw, *outs)
        return None
    if draw.rows is None:
        state = draw.state.to_array()
        fill_by(draw.values, draw.distribution, state, {}, *outs)
        return None
    # The seeds of a draw by rows, from which its state is made.
    seeds: dict[str, int] = {
        "global_seed": draw.state.key,
        "op_seed": draw.state.counter >> 64,
    }
    return fill_by(draw.values, draw.distribution, draw.rows, seeds, *outs)


def fill_by(
    values: ElementType,
    distribution: Distribution,
    states: NDArray[np.uint32],
    attributes: Mapping[str, int | str],
    *outs: NDArray[Any],
) -> NDArray[np.uint32]:
    """Fills memory by a node's attributes, from a state or one for each row; returns the next.

    The outputs are of one dimension.
    """
    op = distribution.operator
    after = np.empty(states.shape, np.uint32)
    size = outs[0].size
    shape: tuple[int, ...] = (size,)
    if rows_of_states(states.shape) is not None:
        rows = len(states)
        shape = (rows, size // rows)
    inputs, given = arguments(values, distribution, shape)
    words = np.require(states, requirements=["C", "A"])
    inputs.append(("state", "u32", words))
    all_attributes = {**given, **attributes}
    _native.run(op.name, inputs, all_attributes, (*outs, after))
    return after


def arguments(
    values: ElementType,
    distribution: Distribution,
    shape: tuple[int, ...],
) -> tuple[list[_native.Input], dict[str, int | str]]:
    """The operator's inputs but for the state, and its attributes, for an output of a shape."""
    inputs, attributes = _parameters(values, distribution, shape)
    if distribution.operator.has_shape and "shape" not in vars(distribution):
        dimensions = np.array(shape, np.int64)
        inputs.append(("shape", "i64", dimensions))
    return inputs, attributes


Prepared = Callable[[PhiloxState, NDArray[Any]], PhiloxState]
"""Fills a contiguous array of a type from a state; returns the next state."""


def prepared(values: ElementType, distribution: Distribution) -> Prepared:
    """A draw of single numbers, which the core has looked at before.

    What it returns raises a TypeError or a ValueError for an array that is not contiguous, or is
    read-only.
    """
    inputs, attributes = _parameters(values, distribution, ())
    ready = _native.Prepared(distribution.operator.name, inputs, attributes)
    # A block holds whole pairs of elements that take less.
    words = distribution.words(values, 2) // 2
    block_bytes = 4 * values.dtype.itemsize
    # Whatever this looks up or converts costs about as much as a small draw.
    handle = ready.handle
    call = _native.fill
    pack = _native.PART.pack
    from_buffer = _native.Memory.from_buffer
    state_of = PhiloxState.of

    def fill(state: PhiloxState, out: NDArray[Any]) -> PhiloxState:
        counter = state.counter
        key = state.key
        size = out.nbytes
        try:
            memory = from_buffer(out)
        except ValueError:  # a type that Python's buffers do not have
            memory = from_buffer(out.view(np.uint16))
        part = pack(counter.to_bytes(16, "little"), key, size)
        if call(handle, part, memory, None):
            raise ValueError("onnx_philox._native: no whole elements")
        counter -= -size * words // block_bytes
        if counter >= _COUNTERS:
            counter -= _COUNTERS
        return state_of(counter, key)

    vars(fill)["ready"] = ready  # lives as long
    return fill


def _parameters(
    values: ElementType,
    distribution: Distribution,
    each: tuple[int, ...],
) -> tuple[list[_native.Input], dict[str, int | str]]:
    """The fields of a distribution, as the operator's inputs and attributes.

    Numbers for each element get the shape `each`.
    """
    op = distribution.operator
    inputs: list[_native.Input] = []
    attributes: dict[str, int | str] = {}
    if any(attribute.name == OUTPUT_TYPE for attribute in op.attributes):
        attributes[OUTPUT_TYPE] = values.name
    for name, value in vars(distribution).items():
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value, order="C")
            if array.ndim and op.input(name).role in (Role.NUMBERS, Role.DATA):
                array = array.reshape(each)
            type_ = BY_DTYPE[array.dtype]
            inputs.append((name, type_.name, array))
        elif value is not None:
            attributes[name] = value
    return inputs, attributes


fastest_fill: Fill = fill if _native.IS_THERE else fill_numpy.fill
"""By the native core where it is there, else by NumPy: the same bits."""
