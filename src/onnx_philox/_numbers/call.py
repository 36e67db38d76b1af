"""Calls an operator, from its arguments to its results: checks, allocates, fills, advances.

How memory is filled with a draw is the caller's choice: by NumPy (`fill_numpy.fill`) or by
the native core (`fill_native.fill`), with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import alignment, checks, float_environment
from onnx_philox._contract.arguments import parameter_array, plain_array, shape_array
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.operators import Input, Operator, Role
from onnx_philox._contract.state import PhiloxState, rows_of_states
from onnx_philox._contract.types import U32, ElementType
from onnx_philox._numbers import rows
from onnx_philox._numbers.draw import Distribution, Draw, Fill, distribution_of

Result = tuple[NDArray[Any], ...]
"""The outputs, and the next state last."""


def run(
    op: Operator,
    fill: Fill,
    inputs: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    is_copied: bool = False,
    outs: Mapping[str, NDArray[Any]] | None = None,
) -> Result:
    """Calls an operator.

    Args:
        op: The operator.
        fill: What fills memory with a draw.
        inputs: Its inputs by name, arrays or what `onnx_philox.reference` takes; None, or not
            there, for one that is left out.
        given: Its attributes by name.
        is_copied: Whether the caller will hold a copy of the output, too, which must fit in memory.
        outs: Contiguous memory for outputs, by their names; the others are allocated.

    Returns:
        The outputs, and the next state last.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: A wrong shape or value, or an output that memory cannot hold.
    """
    # Bits need no arithmetic.
    has_bits = op.outputs[0].type is U32
    arithmetic = nullcontext() if has_bits else float_environment.kept()
    try:
        with arithmetic:
            arrays, attributes, values, shape = checked(op, inputs, given)
            distribution = distribution_of(op, arrays, attributes)
            outputs = _outputs(op, values, shape, outs or {}, is_copied=is_copied)
            before = arrays["state"]
            said = attributes
            if before is None:
                generator = alignment.generator_of(attributes)
                before, said = generator.left_out(attributes)
            seeds = (said["global_seed"], said["op_seed"])
            flat = [output.reshape(-1) for output in outputs]
            generator = alignment.generator_of(attributes)
            fill_by = generator.fill_from() or fill_from
            after = fill_by(
                before,
                seeds,
                values,
                distribution,
                fill,
                *flat,
            )
            return *outputs, after
    except MemoryError:  # in the checks of inputs or in the draw
        checks.refuse_out_of_memory(op)


def checked(
    op: Operator,
    inputs: Mapping[str, Any],
    given: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], ElementType, tuple[int, ...]]:
    """The inputs as arrays, the attributes, and the type and the shape of what is drawn."""
    arrays = _arrays(op, inputs, given)
    known = {}
    for name, array in arrays.items():
        known[name] = None if array is None else Known.array(array)
    attributes = checks.check_node(op, known, given)
    dimensions = checks.output_dimensions(op, known, attributes)
    assert dimensions is not None, "all is known"
    shape = tuple(cast("int", d) for d in dimensions)
    values = checks.output_type(op, attributes, known)
    return arrays, attributes, values, shape


def _arrays(
    op: Operator,
    inputs: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, NDArray[Any] | None]:
    """The inputs as arrays, in their declared order; None where one is left out."""
    values = None
    if any(not i.types for i in op.inputs):
        # Numbers become arrays of the type that an attribute names.
        attributes = checks.check_attributes(op, given)
        values = checks.output_type(op, attributes, {})
    # Numbers are refused before the shape.
    order = sorted(op.inputs, key=lambda i: i.role is Role.SHAPE)
    arrays = {}
    for declared in order:
        number = inputs.get(declared.name)
        arrays[declared.name] = array_of(op, declared, number, values)
    return {declared.name: arrays[declared.name] for declared in op.inputs}


def array_of(
    op: Operator,
    declared: Input,
    given: Any,
    values: ElementType | None,
) -> Any:
    """An input as an array of a type that it may have; None where it is left out."""
    what = f"input {declared.name!r}"
    match declared.role:
        case Role.STATE:
            if given is None and declared.optional:
                return None
            return plain_array(op, what, given)
        case Role.SHAPE:
            if isinstance(given, np.ndarray):
                return plain_array(op, what, given)
            return shape_array(op, given)
        case _ if given is None and declared.optional:
            return None
        case _:
            array = parameter_array(op, declared, given, values)
            if declared.optional and array.shape == (0,):
                return None
            return array


def _outputs(
    op: Operator,
    values: ElementType,
    shape: tuple[int, ...],
    outs: Mapping[str, Any],
    *,
    is_copied: bool,
) -> list[NDArray[Any]]:
    """The memory of what is drawn: that which is given, or new."""
    outputs = []
    for output in op.values_outputs:
        type_ = output.type or values
        out = outs.get(output.name)
        if out is not None:
            if out.shape != shape or out.dtype != type_.dtype:
                what = f"the memory of output {output.name!r}"
                given = f"{list(out.shape)} of {out.dtype}"
                wanted = f"{list(shape)} of {type_.dtype}"
                checks.refuse(op.name, what, given, wanted, "Pass such an array.")
            outputs.append(out)
            continue
        checks.check_memory(op, shape, type_, is_copied=is_copied)
        try:
            if is_copied:
                # Reserves the caller's copy too, which the caller may not survive, and frees both
                # at once.
                np.empty(2 * math.prod(shape), type_.dtype)
            memory = np.empty(shape, type_.dtype)
            outputs.append(memory)
        except MemoryError:
            checks.refuse_out_of_memory(op, shape, type_)
    return outputs


def fill_from(
    state: NDArray[np.uint32],
    seeds: tuple[int, int],
    values: ElementType,
    distribution: Distribution,
    fill: Fill,
    *outs: NDArray[Any],
) -> NDArray[np.uint32]:
    """Fills an array of rank 1 for each output, from a state or from a state for each row.

    `seeds` are `global_seed` and `op_seed`, which are added to each state. If each row has a state,
    the arrays hold all rows, one after the other.

    Returns:
        The next state or states, of the shape of `state`.
    """
    if rows_of_states(state.shape) is None:
        before = PhiloxState.from_array(state)
        draw = Draw(values, before.with_seeds(*seeds), distribution)
        fill(draw, *outs)
        words = draw.words(outs[0].size)
        moved = before.advance(words)
        return moved.to_array().reshape(state.shape)
    seed_state = PhiloxState.from_seeds(*seeds)
    draw = Draw(values, seed_state, distribution, np.ascontiguousarray(state))
    after = fill(draw, *outs)
    if after is not None:
        return after
    elements = draw.row_elements(outs[0].size)
    return rows.advance(state, draw.words(elements))
