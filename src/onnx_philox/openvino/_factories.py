"""Factories for the operators' nodes, which work like the functions of `openvino.opset8`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import openvino as ov
from openvino.utils.node_factory import NodeFactory

from onnx_philox import _openvino_arrays as arrays
from onnx_philox import _runtime_errors
from onnx_philox._contract import checks
from onnx_philox._contract.arguments import number_array, numbers_array, shape_array
from onnx_philox._contract.operators import (
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_GENERATOR,
    RANDOM_NORMAL,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.types import ElementType
from onnx_philox.openvino import _native_backend
from onnx_philox.openvino._narrowing import with_wide_shape
from onnx_philox.openvino._python_ops import OPS

__all__ = [
    "random_bernoulli",
    "random_categorical",
    "random_generator",
    "random_normal",
    "random_uniform",
]


def random_generator(
    state: Any,
    shape: Any,
    global_seed: int = 0,
    op_seed: int = 0,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws random bits.

    Args:
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others
            1, rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        global_seed: 0 to 2^63-1, added to the key.
        op_seed: 0 to 2^63-1, added to the counter's upper 64 bits.
        name: The node's friendly name.

    Returns:
        A node with the outputs bits (u32) and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    op = RANDOM_GENERATOR
    attributes = {"global_seed": global_seed, "op_seed": op_seed}
    complete = checks.check_attributes(op, attributes)
    return _make(op, [_state(op, state), _shape(op, shape)], complete, name)


def random_uniform(
    shape: Any,
    minval: Any,
    maxval: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws uniform values in [minval, maxval).

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        minval: A node or output of the output's type, or a number. It must be a constant if the
            type is f64 or i64.
        maxval: Likewise.
        output_type: One of i32, i64, f16, bf16, f32, f64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others
            1, rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = RANDOM_UNIFORM
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    complete = checks.check_attributes(op, attributes)
    values = checks.output_type(op, complete)
    inputs = [
        _shape(op, shape),
        _number(op, "minval", minval, values),
        _number(op, "maxval", maxval, values),
        *_optional_state(op, state),
    ]
    return _make(op, inputs, complete, name)


def random_normal(
    shape: Any,
    mean: Any,
    scale: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws normal values.

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        mean: A node or output of the output's type, or a finite number. It must be a constant if
            the type is f64.
        scale: Likewise.
        output_type: One of f16, bf16, f32, f64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others
            1, rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = RANDOM_NORMAL
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    complete = checks.check_attributes(op, attributes)
    values = checks.output_type(op, complete)
    inputs = [
        _shape(op, shape),
        _number(op, "mean", mean, values),
        _number(op, "scale", scale, values),
        *_optional_state(op, state),
    ]
    return _make(op, inputs, complete, name)


def random_bernoulli(
    shape: Any,
    p: Any,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws booleans, true with probability p.

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        p: A node or output of type f32 or f64, a number (which is f32), or a NumPy number or
            array; in [0, 1] or at most 4 ulp above 1, one element or one for each. f64 must be a
            constant of at most 4096 elements.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others
            1, rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values (boolean) and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = RANDOM_BERNOULLI
    attributes = {"global_seed": global_seed, "op_seed": op_seed}
    complete = checks.check_attributes(op, attributes)
    probabilities = _output(p) or arrays.constant(numbers_array(op, op.input("p"), p)).output(0)
    inputs = [_shape(op, shape), probabilities, *_optional_state(state)]
    return _make(op, inputs, complete, name)


def random_categorical(
    logits: Any,
    sample_size: int = 1,
    output_type: str = "i32",
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws indices of classes, by unnormalised log-probabilities.

    Args:
        logits: A node or output of type f16, f32 or f64, or an array, [batch, classes]. f64 must
            be a constant of at most 4096 elements.
        sample_size: How many samples of each row, 1 or more.
        output_type: i32 or i64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others
            1, rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values [batch, sample_size] and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = RANDOM_CATEGORICAL
    attributes = {
        "sample_size": sample_size,
        "output_type": output_type,
        "global_seed": global_seed,
        "op_seed": op_seed,
    }
    complete = checks.check_attributes(op, attributes)
    rows = _output(logits) or _constant(op, "logits", logits)
    return _make(op, [rows, *_optional_state(op, state)], complete, name)


def _optional_state(op: Operator, state: Any) -> list[ov.Output]:
    return [] if state is None else [_state(op, state)]


def _state(op: Operator, state: Any) -> ov.Output:
    return _output(state) or _constant(op, "state", state)


def _shape(op: Operator, shape: Any) -> ov.Output:
    output = _output(shape)
    if output is not None:
        return output
    array = shape if isinstance(shape, np.ndarray) else shape_array(op, shape)
    return _constant(op, "shape", array)


def _constant(op: Operator, name: str, given: Any) -> ov.Output:
    return arrays.constant(plain_array(op, f"input {name!r}", given)).output(0)


def _number(op: Operator, name: str, given: Any, values: ElementType) -> ov.Output:
    return _output(given) or arrays.constant(number_array(op, name, given, values)).output(0)


def _output(value: Any) -> ov.Output | None:
    """The output of a node, or the output itself; None for anything else."""
    if isinstance(value, ov.Node):
        return value.output(0)
    return value if isinstance(value, ov.Output) else None


def _make(
    op: Operator, inputs: list[ov.Output], attributes: dict[str, Any], name: str | None
) -> ov.Node:
    """A node of the native extension if it can be used, otherwise of the Python one."""
    inputs = with_wide_shape(op, inputs)
    if _native_backend.unavailable() is None:
        try:
            node = _native_factory().create(op.name, inputs, attributes)
        except RuntimeError as error:
            raise ValueError(_runtime_errors.refusal_in_openvino(error)) from error
    else:
        node = OPS[op.name](inputs, **attributes)
    if name is not None:
        node.set_friendly_name(name)
    return node


@cache
def _native_factory() -> NodeFactory:
    factory = NodeFactory()
    factory.add_extension(_native_backend.library_path())
    return factory
