"""Calls an operator, from its arguments to its results: checks, allocates, fills, advances.

`copies` is how many copies of the output the caller will hold, for the check of memory.
The caller chooses what fills the memory: NumPy (`fill_numpy.fill`) or the native core
(`fill_native.fill`), with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import checks, float_environment, operators
from onnx_philox._contract.arguments import number_array, probability_array, shape_array
from onnx_philox._contract.checks import Known
from onnx_philox._contract.operators import Operator
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BOOL, U32, ElementType
from onnx_philox._numbers.draw import (
    Bernoulli,
    Bits,
    Categorical,
    Distribution,
    Draw,
    Normal,
    Uniform,
)

Fill = Callable[[Draw, NDArray[Any]], None]
"""Fills a contiguous array of rank 1 with a draw."""

Result = tuple[NDArray[Any], NDArray[np.uint32]]


@contextmanager
def _within_memory(op: Operator) -> Iterator[None]:
    """Turns a failed allocation, in the checks of inputs or in a draw, into a refusal."""
    try:
        yield
    except MemoryError:
        checks.refuse_out_of_memory(op)


@_within_memory(operators.RANDOM_GENERATOR)
def random_generator(
    fill: Fill, state: Any, shape: Any, *, copies: int = 1, **given: Any
) -> Result:
    """See `onnx_philox.reference.random_generator`."""
    op = operators.RANDOM_GENERATOR
    state = np.asarray(state)
    dimensions = _shape_array(op, shape)
    inputs = {"state": Known.array(state), "shape": Known.array(dimensions)}
    attributes = checks.check_node(op, inputs, given)
    return _draw(op, fill, state, dimensions.tolist(), attributes, U32, Bits(), copies)


@_within_memory(operators.RANDOM_UNIFORM)
@float_environment.kept()
def random_uniform(
    fill: Fill,
    shape: Any,
    minval: Any,
    maxval: Any,
    *,
    state: Any = None,
    copies: int = 1,
    **given: Any,
) -> Result:
    """See `onnx_philox.reference.random_uniform`."""
    op = operators.RANDOM_UNIFORM
    values = checks.output_type(op, checks.check_attributes(op, given))
    low = number_array(op, "minval", minval, values)
    high = number_array(op, "maxval", maxval, values)
    dimensions = _shape_array(op, shape)
    state = None if state is None else np.asarray(state)
    inputs = {
        "shape": Known.array(dimensions),
        "minval": Known.array(low),
        "maxval": Known.array(high),
        "state": None if state is None else Known.array(state),
    }
    attributes = checks.check_node(op, inputs, given)
    uniform = Uniform(low.reshape(()), high.reshape(()))
    return _draw(op, fill, state, dimensions.tolist(), attributes, values, uniform, copies)


@_within_memory(operators.RANDOM_NORMAL)
@float_environment.kept()
def random_normal(
    fill: Fill,
    shape: Any,
    mean: Any,
    scale: Any,
    *,
    state: Any = None,
    copies: int = 1,
    **given: Any,
) -> Result:
    """See `onnx_philox.reference.random_normal`."""
    op = operators.RANDOM_NORMAL
    values = checks.output_type(op, checks.check_attributes(op, given))
    mean = number_array(op, "mean", mean, values)
    scale = number_array(op, "scale", scale, values)
    dimensions = _shape_array(op, shape)
    state = None if state is None else np.asarray(state)
    inputs = {
        "shape": Known.array(dimensions),
        "mean": Known.array(mean),
        "scale": Known.array(scale),
        "state": None if state is None else Known.array(state),
    }
    attributes = checks.check_node(op, inputs, given)
    normal = Normal(mean.reshape(()), scale.reshape(()))
    return _draw(op, fill, state, dimensions.tolist(), attributes, values, normal, copies)


@_within_memory(operators.RANDOM_BERNOULLI)
@float_environment.kept()
def random_bernoulli(
    fill: Fill, shape: Any, p: Any, *, state: Any = None, copies: int = 1, **given: Any
) -> Result:
    """See `onnx_philox.reference.random_bernoulli`."""
    op = operators.RANDOM_BERNOULLI
    p = probability_array(op, p)
    dimensions = _shape_array(op, shape)
    state = None if state is None else np.asarray(state)
    inputs = {
        "shape": Known.array(dimensions),
        "p": Known.array(p),
        "state": None if state is None else Known.array(state),
    }
    attributes = checks.check_node(op, inputs, given)
    bernoulli = Bernoulli.of(p)
    return _draw(op, fill, state, dimensions.tolist(), attributes, BOOL, bernoulli, copies)


@_within_memory(operators.RANDOM_CATEGORICAL)
@float_environment.kept()
def random_categorical(
    fill: Fill, logits: Any, *, state: Any = None, copies: int = 1, **given: Any
) -> Result:
    """See `onnx_philox.reference.random_categorical`."""
    op = operators.RANDOM_CATEGORICAL
    logits = np.ascontiguousarray(logits) if np.ndim(logits) else np.asarray(logits)
    state = None if state is None else np.asarray(state)
    inputs = {
        "logits": Known.array(logits),
        "state": None if state is None else Known.array(state),
    }
    attributes = checks.check_node(op, inputs, given)
    values = checks.output_type(op, attributes)
    categorical = Categorical(logits, attributes["sample_size"])
    dimensions = (logits.shape[0], attributes["sample_size"])
    return _draw(op, fill, state, dimensions, attributes, values, categorical, copies)


def _draw(
    op: Operator,
    fill: Fill,
    state: NDArray[np.uint32] | None,
    dimensions: Sequence[int],
    attributes: dict[str, Any],
    values: ElementType,
    distribution: Distribution,
    copies: int,
) -> Result:
    shape = tuple(dimensions)
    checks.check_memory(op, shape, values, copies=copies)
    try:
        if copies > 1:
            # Reserves the caller's own copies, which the caller may not survive, and frees them at
            # once.
            np.empty(copies * math.prod(shape), values.dtype)
        output = np.empty(shape, values.dtype)
    except MemoryError:
        checks.refuse_out_of_memory(op, shape, values)
    before = PhiloxState() if state is None else PhiloxState.from_array(state)
    draw = Draw(
        values,
        before.with_seeds(attributes["global_seed"], attributes["op_seed"]),
        distribution,
    )
    fill(draw, output.reshape(-1))
    after = before.advance(draw.words(output.size)).to_array()
    return output, after if state is None else after.reshape(state.shape)


def _shape_array(op: Operator, shape: Any) -> NDArray[Any]:
    if isinstance(shape, np.ndarray):
        return shape
    return shape_array(op, shape)
