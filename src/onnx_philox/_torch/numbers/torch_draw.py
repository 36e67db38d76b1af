"""Fills memory with what torch draws on a CPU: nodes of alignment pytorch.

The rule: docs/specification.md, "torch's numbers".

The native core draws if the package was installed with it, else NumPy does, the same bits: each
distribution is one call of torch's, or one for each row of permutations. See `cpu`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import _native
from onnx_philox._contract.inputs import PYTORCH
from onnx_philox._contract.state import rows_of_states
from onnx_philox._contract.types import ElementType
from onnx_philox._numbers import elementary, fill_native
from onnx_philox._numbers.bernoulli import Bernoulli
from onnx_philox._numbers.categorical import Categorical
from onnx_philox._numbers.draw import Distribution, Values
from onnx_philox._numbers.dropout import Dropout, scale_of
from onnx_philox._numbers.exponential import Exponential
from onnx_philox._numbers.normal import Normal
from onnx_philox._numbers.permutation import Permutation
from onnx_philox._numbers.uniform import Uniform
from onnx_philox._torch.numbers import cpu
from onnx_philox._torch.numbers.cpu import WordStream
from onnx_philox._torch.numbers.torch_state import TorchState

_Drawn = tuple[Values, ...]
"""The values of each output, of rank 1."""

_AS_TORCH = {"alignment": PYTORCH}


def draw_from(
    states: NDArray[np.uint32],
    values: ElementType,
    distribution: Distribution,
    *outs: NDArray[Any],
) -> NDArray[np.uint32]:
    """Fills an array of rank 1 for each output, from a state or from a state for each row.

    Returns:
        The next state or states, of the shape of `states`.
    """
    if outs[0].size == 0:
        return states.copy()
    if _native.IS_THERE:
        return fill_native.fill_by(values, distribution, states, _AS_TORCH, *outs)
    is_rows = rows_of_states(states.shape) is not None
    each_state = states.reshape(-1, states.shape[-1])
    after = np.empty_like(each_state)
    elements = outs[0].size
    if is_rows:
        elements //= len(each_state)
    # Overflow and underflow follow IEEE 754, whatever NumPy's error settings are.
    with np.errstate(all="ignore"):
        for row, words in enumerate(each_state):
            state = TorchState.from_array(words)
            stream = WordStream(state)
            part = slice(row * elements, (row + 1) * elements)
            draw = _CALLS[type(distribution)]
            drawn = draw(stream, distribution, values, part)
            for out, result in zip(outs, drawn, strict=True):
                out[part] = result
            next_state = stream.state()
            after[row] = next_state.to_array()
    return after.reshape(states.shape)


def _size(part: slice) -> int:
    return int(part.stop - part.start)


def _uniform(
    stream: WordStream,
    d: Uniform,
    values: ElementType,
    part: slice,
) -> _Drawn:
    n = _size(part)
    if values.is_float:
        minval = float(d.minval)
        maxval = float(d.maxval)
        drawn = cpu.uniform(stream, n, values, minval, maxval)
    else:
        low = int(d.minval)
        high = int(d.maxval)
        drawn = cpu.integers(stream, n, values, low, high)
    return (drawn,)


def _normal(
    stream: WordStream,
    d: Normal,
    values: ElementType,
    part: slice,
) -> _Drawn:
    n = _size(part)
    drawn = cpu.normal(stream, n, values, float(d.mean), float(d.scale))
    return (drawn,)


def _exponential(
    stream: WordStream,
    d: Exponential,
    values: ElementType,
    part: slice,
) -> _Drawn:
    rate = 1.0 / float(d.scale)
    drawn = cpu.exponential(stream, _size(part), values, rate)
    return (drawn,)


def _bernoulli(
    stream: WordStream,
    d: Bernoulli,
    values: ElementType,  # noqa: ARG001
    part: slice,
) -> _Drawn:
    p = d.p[part] if d.p.ndim else d.p
    drawn = cpu.bernoulli(stream, _size(part), p)
    return (drawn,)


def _dropout(
    stream: WordStream,
    d: Dropout,
    values: ElementType,
    part: slice,
) -> _Drawn:
    ratio = float(d.ratio)
    is_kept = cpu.dropout_keeps(stream, _size(part), ratio)
    scaled = d.data[part] * scale_of(d.ratio, values)
    zero = values.dtype.type(0)
    return np.where(is_kept, scaled, zero), is_kept


def _categorical(
    stream: WordStream,
    d: Categorical,
    values: ElementType,  # noqa: ARG001
    part: slice,
) -> _Drawn:
    first = part.start // d.sample_size
    end = part.stop // d.sample_size
    logits = d.logits[first:end].astype(np.float64)
    largest = logits.max(axis=1, keepdims=True)
    wide = elementary.exp_nonpositive(logits - largest)
    weights = wide.astype(np.float32)
    samples = cpu.race(stream, weights, d.sample_size)
    return (samples.reshape(-1),)


def _permutation(
    stream: WordStream,
    d: Permutation,
    values: ElementType,  # noqa: ARG001
    part: slice,
) -> _Drawn:
    n = int(d.shape[-1])
    count = _size(part) // n
    drawn = [cpu.permutation(stream, n) for _ in range(count)]
    return (np.concatenate(drawn),)


_CALLS: dict[type[Distribution], Callable[..., _Drawn]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    Dropout: _dropout,
    Exponential: _exponential,
    Normal: _normal,
    Permutation: _permutation,
    Uniform: _uniform,
}
