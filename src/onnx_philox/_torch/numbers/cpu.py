"""What torch draws with its CPU generator, from 2.13 on (docs/specification.md, "torch's numbers").

The numbers of x86-64 processors with AVX2, on every processor, without torch. Each function is one
call of torch's; it takes its words from a stream, which is then where torch's generator would be.
Values are of rank 1: torch fills a contiguous tensor in this order. NumPy draws here; see
`draw` for draws by the native core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.types import F32, F64, ElementType
from onnx_philox._numbers.draw import Values
from onnx_philox._numbers.fused import F32s, F64s, multiply_add_f32, multiply_add_f64
from onnx_philox._torch.numbers.torch_elementary import (
    ln_f32,
    ln_f64,
    log1p_f64,
    sin_cos_f32,
    sin_cos_f64,
)
from onnx_philox._torch.numbers.torch_state import TorchState, engine_of, state_after

SIXTEEN = 16
"""Fewer normals than these are drawn one by one; others sixteen at a time."""
TWO_WORDS_FROM = 2**28
"""Integers of a range this wide take two words each."""
# Working memory does not grow with a draw; a multiple of sixteen.
_AT_ONCE = 2**16


class WordStream:
    """torch's CPU generator while numbers are drawn from it, from a state on.

    Args:
        state: Where to begin.
    """

    def __init__(self, state: TorchState) -> None:
        self._before = state
        self._engine = engine_of(state)
        self._has_drawn = False
        self.normal = state.normal
        """The second of a pair of normals, for the next one that is drawn alone."""

    def words(self, count: int) -> NDArray[np.uint32]:
        """The next words, in order."""
        self._has_drawn |= count > 0
        return self._engine.draw(count)

    def words_64(self, count: int) -> NDArray[np.uint64]:
        """The next words of 64 bits, each of two: the first is the high half."""
        pairs = self.words(2 * count).astype(np.uint64)
        return pairs[0::2] << np.uint64(32) | pairs[1::2]

    def uniform_f32(self, count: int) -> F32s:
        """Multiples of 2^-24 in [0, 1), of a word each."""
        fraction = self.words(count) & np.uint32(2**24 - 1)
        return fraction.astype(np.float32) * np.float32(2**-24)

    def uniform_f64(self, count: int) -> F64s:
        """Multiples of 2^-53 in [0, 1), of two words each."""
        fraction = self.words_64(count) & np.uint64(2**53 - 1)
        return fraction.astype(np.float64) * 2.0**-53

    def state(self) -> TorchState:
        """Where the generator is now."""
        engine = None
        if self._has_drawn:
            engine = self._engine
        return state_after(self._before, engine, self.normal)


def uniform(
    stream: WordStream, count: int, values: ElementType, minval: float = 0.0, maxval: float = 1.0
) -> Values:
    """`torch.rand` and `tensor.uniform_(minval, maxval)`, of floats."""
    result = np.empty(count, values.dtype)
    low = np.array(minval, np.float64).astype(values.dtype)
    high = np.array(maxval, np.float64).astype(values.dtype)
    for start, n in _parts(count):
        if values is F64:
            drawn: Values = multiply_add_f64(stream.uniform_f64(n), maxval - minval, minval)
        else:
            wide_low = np.float32(minval)
            wide_high = np.float32(maxval)
            drawn = multiply_add_f32(stream.uniform_f32(n), wide_high - wide_low, wide_low)
        part = drawn.astype(values.dtype)
        # torch turns what was rounded to the bound that is not included into the other one.
        result[start : start + n] = np.where(part == high, low, part)
    return result


def normal(
    stream: WordStream, count: int, values: ElementType, mean: float = 0.0, scale: float = 1.0
) -> Values:
    """`torch.randn` and `tensor.normal_(mean, scale)`.

    In float64 the C library's logarithm, sine and cosine are its own: torch's values but for 2 ulp.
    """
    if count < SIXTEEN:
        return _narrowed(_normals_one_by_one(stream, count, mean, scale), values)
    result = np.empty(count, values.dtype)
    rest = count % SIXTEEN
    for start, n in _parts(count - rest):
        result[start : start + n] = _sixteen(stream, n, values, mean, scale)
    if rest:
        if values in (F32, F64):
            # torch draws uniforms for them, and then draws all of the last sixteen anew.
            stream.words(rest * (2 if values is F64 else 1))
        result[-SIXTEEN:] = _sixteen(stream, SIXTEEN, values, mean, scale)
    return result


def _sixteen(
    stream: WordStream, count: int, values: ElementType, mean: float, scale: float
) -> Values:
    """Normals, eight pairs at a time: the first halves, then the second ones."""
    first: Values
    second: Values
    if values is F64:
        u, v = _halves_of_sixteen(stream.uniform_f64(count))
        radius = np.sqrt(ln_f64(1.0 - u) * -2.0)
        sine, cosine = sin_cos_f64(v * (2 * math.pi))
        first = multiply_add_f64(radius * cosine, float(scale), float(mean))
        second = multiply_add_f64(radius * sine, float(scale), float(mean))
    else:
        u, v = _halves_of_sixteen(stream.uniform_f32(count))
        narrow_radius = np.sqrt(ln_f32(np.float32(1) - u) * np.float32(-2))
        narrow_sine, narrow_cosine = sin_cos_f32(v * np.float32(2 * math.pi))
        narrow_scale = np.float32(scale)
        narrow_mean = np.float32(mean)
        first = multiply_add_f32(narrow_radius * narrow_cosine, narrow_scale, narrow_mean)
        second = multiply_add_f32(narrow_radius * narrow_sine, narrow_scale, narrow_mean)
    halves = [first.reshape(-1, 8), second.reshape(-1, 8)]
    drawn = np.stack(halves, axis=1).reshape(-1)
    return drawn.astype(values.dtype)


def _halves_of_sixteen(uniforms: Values) -> tuple[Values, Values]:
    halves = uniforms.reshape(-1, 2, 8)
    return halves[:, 0].reshape(-1), halves[:, 1].reshape(-1)


def _normals_one_by_one(stream: WordStream, count: int, mean: float, scale: float) -> F64s:
    """Normals of float64 by Box and Muller, whose second one waits in the stream."""
    standard: list[float] = []
    if count and stream.normal is not None:
        standard.append(stream.normal)
        stream.normal = None
    pairs = (count - len(standard) + 1) // 2
    uniforms = stream.uniform_f64(2 * pairs)
    logarithm = log1p_f64(-uniforms[1::2])
    # Adding 0 turns -0 into 0, as in torch.
    radius = np.sqrt(logarithm * -2.0 + 0.0)
    sine, cosine = sin_cos_f64(uniforms[0::2] * (2 * math.pi))
    drawn = np.stack([radius * cosine, radius * sine], axis=1)
    standard += drawn.reshape(-1).tolist()
    if len(standard) > count:
        stream.normal = standard.pop()
    return multiply_add_f64(np.array(standard, np.float64), float(scale), float(mean))


def integers(
    stream: WordStream, count: int, values: ElementType, minval: int, maxval: int
) -> Values:
    """`torch.randint(minval, maxval, ...)` and `tensor.random_(minval, maxval)`."""
    width = maxval - minval
    result = np.empty(count, values.dtype)
    for start, n in _parts(count):
        if width >= TWO_WORDS_FROM:
            x = stream.words_64(n)
        else:
            x = stream.words(n).astype(np.uint64)
        # Two's complement wraps.
        drawn = x % np.uint64(width) + np.uint64(minval & (2**64 - 1))
        result[start : start + n] = drawn.view(np.int64)
    return result


def bernoulli(stream: WordStream, count: int, p: Values) -> NDArray[np.bool_]:
    """Booleans that are true with probability p: of rank 0, or of rank 1 one for each.

    With a p of float32 `p.bernoulli()`, with one of float64 `tensor.bernoulli_(p)`.
    """
    result = np.empty(count, np.bool_)
    for start, n in _parts(count):
        is_wide = p.dtype == np.float64
        u: Values = stream.uniform_f64(n) if is_wide else stream.uniform_f32(n)
        result[start : start + n] = u < (p[start : start + n] if p.ndim else p)
    return result


def dropout_keeps(stream: WordStream, count: int, ratio: float) -> NDArray[np.bool_]:
    """Which elements `torch.nn.functional.dropout(x, ratio)` keeps."""
    if ratio in (0, 1):
        return np.full(count, ratio == 0)  # torch draws nothing then
    return bernoulli(stream, count, np.array(1.0 - ratio))


def exponential(stream: WordStream, count: int, values: ElementType, rate: float = 1.0) -> Values:
    """`tensor.exponential_(rate)`; float64 but for 2 ulp, like `normal`."""
    result = np.empty(count, values.dtype)
    for start, n in _parts(count):
        drawn = log1p_f64(-stream.uniform_f64(n)) * (-1.0 / rate) + 0.0
        result[start : start + n] = _narrowed(drawn, values)
    return result


def permutation(stream: WordStream, count: int) -> NDArray[np.int64]:
    """`torch.randperm(count)`, of fewer than 2^32 / 20; from there on torch has another rule."""
    order = list(range(count))
    left = np.arange(count, 1, -1, dtype=np.uint64)
    jumps = (stream.words(left.size) % left).astype(np.int64)
    for i, jump in enumerate(jumps.tolist()):
        order[i], order[i + jump] = order[i + jump], order[i]
    return np.array(order, np.int64)


def race(stream: WordStream, weights: F32s, samples: int) -> NDArray[np.int64]:
    """`torch.multinomial(weights, samples)` of one sample, or without replacement.

    Args:
        stream: Where the numbers come from.
        weights: float32 [rows, classes], 0 or more.
        samples: How many classes of each row, the first one first.

    Returns:
        [rows, samples]. Where two classes lie within an ulp, torch may choose the other.
    """
    clocks = exponential(stream, weights.size, F32).reshape(weights.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        speeds = weights / clocks
    return np.argsort(-speeds, axis=-1, kind="stable")[:, :samples].astype(np.int64, copy=False)


def _narrowed(drawn: F64s, values: ElementType) -> Values:
    """Values of float64 in another type. Like torch, to 16 bits by way of float32."""
    if values is F64:
        return drawn
    return drawn.astype(np.float32).astype(values.dtype)


def _parts(count: int) -> Iterator[tuple[int, int]]:
    """Where each part of a draw begins, and how many elements it has."""
    return ((start, min(_AT_ONCE, count - start)) for start in range(0, count, _AT_ONCE))
