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
        pairs = self.words(2 * count)
        wide = pairs.astype(np.uint64)
        high = wide[0::2] << np.uint64(32)
        low = wide[1::2]
        return high | low

    def uniform_f32(self, count: int) -> F32s:
        """Multiples of 2^-24 in [0, 1), of a word each."""
        words = self.words(count)
        fraction = words & np.uint32(2**24 - 1)
        number = fraction.astype(np.float32)
        return number * np.float32(2**-24)

    def uniform_f64(self, count: int) -> F64s:
        """Multiples of 2^-53 in [0, 1), of two words each."""
        words = self.words_64(count)
        fraction = words & np.uint64(2**53 - 1)
        number = fraction.astype(np.float64)
        return number * 2.0**-53

    def state(self) -> TorchState:
        """Where the generator is now."""
        engine = None
        if self._has_drawn:
            engine = self._engine
        return state_after(self._before, engine, self.normal)


def uniform(
    stream: WordStream,
    count: int,
    values: ElementType,
    minval: float = 0.0,
    maxval: float = 1.0,
) -> Values:
    """`torch.rand` and `tensor.uniform_(minval, maxval)`, of floats."""
    result = np.empty(count, values.dtype)
    low = np.float64(minval).astype(values.dtype)
    high = np.float64(maxval).astype(values.dtype)
    for part, n in _parts(count):
        if values is F64:
            u = stream.uniform_f64(n)
            drawn: Values = multiply_add_f64(u, maxval - minval, minval)
        else:
            narrow_u = stream.uniform_f32(n)
            wide_low = np.float32(minval)
            wide_high = np.float32(maxval)
            drawn = multiply_add_f32(narrow_u, wide_high - wide_low, wide_low)
        rounded = drawn.astype(values.dtype)
        # torch turns what was rounded to the bound that is not included into the other one.
        result[part] = np.where(rounded == high, low, rounded)
    return result


def normal(
    stream: WordStream,
    count: int,
    values: ElementType,
    mean: float = 0.0,
    scale: float = 1.0,
) -> Values:
    """`torch.randn` and `tensor.normal_(mean, scale)`.

    In float64 the C library's logarithm, sine and cosine are its own: torch's values but for 2 ulp.
    """
    if count < SIXTEEN:
        drawn = _normals_one_by_one(stream, count, mean, scale)
        return _narrowed(drawn, values)
    result = np.empty(count, values.dtype)
    rest = count % SIXTEEN
    for part, n in _parts(count - rest):
        result[part] = _sixteen(stream, n, values, mean, scale)
    if rest:
        if values in (F32, F64):
            # torch draws uniforms for them, and then draws all of the last sixteen anew.
            words_of_each = 2 if values is F64 else 1
            stream.words(rest * words_of_each)
        last = _sixteen(stream, SIXTEEN, values, mean, scale)
        result[-SIXTEEN:] = last
    return result


def _sixteen(
    stream: WordStream,
    count: int,
    values: ElementType,
    mean: float,
    scale: float,
) -> Values:
    """Normals, eight pairs at a time: the first halves, then the second ones."""
    first: Values
    second: Values
    if values is F64:
        uniforms = stream.uniform_f64(count)
        u, v = _halves_of_sixteen(uniforms)
        logarithm = ln_f64(1.0 - u)
        radius = np.sqrt(logarithm * -2.0)
        sine, cosine = sin_cos_f64(v * (2 * math.pi))
        first = multiply_add_f64(radius * cosine, float(scale), float(mean))
        second = multiply_add_f64(radius * sine, float(scale), float(mean))
    else:
        narrow_uniforms = stream.uniform_f32(count)
        u, v = _halves_of_sixteen(narrow_uniforms)
        narrow_logarithm = ln_f32(np.float32(1) - u)
        narrow_radius = np.sqrt(narrow_logarithm * np.float32(-2))
        turn = np.float32(2 * math.pi)
        narrow_sine, narrow_cosine = sin_cos_f32(v * turn)
        narrow_scale = np.float32(scale)
        narrow_mean = np.float32(mean)
        first = multiply_add_f32(narrow_radius * narrow_cosine, narrow_scale, narrow_mean)
        second = multiply_add_f32(narrow_radius * narrow_sine, narrow_scale, narrow_mean)
    halves = [first.reshape(-1, 8), second.reshape(-1, 8)]
    drawn = np.stack(halves, axis=1)
    drawn = drawn.reshape(-1)
    return drawn.astype(values.dtype)


def _halves_of_sixteen(uniforms: Values) -> tuple[Values, Values]:
    halves = uniforms.reshape(-1, 2, 8)
    first = halves[:, 0].reshape(-1)
    second = halves[:, 1].reshape(-1)
    return first, second


def _normals_one_by_one(
    stream: WordStream,
    count: int,
    mean: float,
    scale: float,
) -> F64s:
    """Normals of float64 by Box and Muller, whose second one waits in the stream."""
    standard: list[float] = []
    if count and stream.normal is not None:
        standard.append(stream.normal)
        stream.normal = None
    missing = count - len(standard)
    pairs = (missing + 1) // 2
    uniforms = stream.uniform_f64(2 * pairs)
    logarithm = log1p_f64(-uniforms[1::2])
    # Adding 0 turns -0 into 0, as in torch.
    radius = np.sqrt(logarithm * -2.0 + 0.0)
    sine, cosine = sin_cos_f64(uniforms[0::2] * (2 * math.pi))
    drawn = np.stack([radius * cosine, radius * sine], axis=1)
    standard += drawn.reshape(-1).tolist()
    if len(standard) > count:
        stream.normal = standard.pop()
    normals = np.array(standard, np.float64)
    return multiply_add_f64(normals, float(scale), float(mean))


def integers(
    stream: WordStream,
    count: int,
    values: ElementType,
    minval: int,
    maxval: int,
) -> Values:
    """`torch.randint(minval, maxval, ...)` and `tensor.random_(minval, maxval)`."""
    width = maxval - minval
    result = np.empty(count, values.dtype)
    # Two's complement wraps.
    base = np.uint64(minval & (2**64 - 1))
    for part, n in _parts(count):
        if width >= TWO_WORDS_FROM:
            x = stream.words_64(n)
        else:
            x = stream.words(n).astype(np.uint64)
        rest = x % np.uint64(width)
        drawn = rest + base
        result[part] = drawn.view(np.int64)
    return result


def bernoulli(stream: WordStream, count: int, p: Values) -> NDArray[np.bool_]:
    """Booleans that are true with probability p: of rank 0, or of rank 1 one for each.

    With a p of float32 `p.bernoulli()`, with one of float64 `tensor.bernoulli_(p)`.
    """
    result = np.empty(count, np.bool_)
    is_wide = p.dtype == np.float64
    for part, n in _parts(count):
        u: Values = stream.uniform_f64(n) if is_wide else stream.uniform_f32(n)
        own_p = p[part] if p.ndim else p
        result[part] = u < own_p
    return result


def dropout_keeps(stream: WordStream, count: int, ratio: float) -> NDArray[np.bool_]:
    """Which elements `torch.nn.functional.dropout(x, ratio)` keeps."""
    if ratio in (0, 1):
        # torch draws nothing then.
        return np.full(count, ratio == 0)
    return bernoulli(stream, count, np.array(1.0 - ratio))


def exponential(
    stream: WordStream,
    count: int,
    values: ElementType,
    rate: float = 1.0,
) -> Values:
    """`tensor.exponential_(rate)`; float64 but for 2 ulp, like `normal`."""
    result = np.empty(count, values.dtype)
    for part, n in _parts(count):
        logarithm = log1p_f64(-stream.uniform_f64(n))
        drawn = logarithm * (-1.0 / rate) + 0.0
        result[part] = _narrowed(drawn, values)
    return result


def permutation(stream: WordStream, count: int) -> NDArray[np.int64]:
    """`torch.randperm(count)`, of fewer than 2^32 / 20; from there on torch has another rule."""
    order = list(range(count))
    left = np.arange(count, 1, -1, dtype=np.uint64)
    words = stream.words(left.size)
    jumps = words % left
    for i, jump in enumerate(jumps.tolist()):
        swapped = order[i + jump]
        order[i + jump] = order[i]
        order[i] = swapped
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
    clocks = exponential(stream, weights.size, F32)
    clocks = clocks.reshape(weights.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        speeds = weights / clocks
    fastest_first = np.argsort(-speeds, axis=-1, kind="stable")
    chosen = fastest_first[:, :samples]
    return chosen.astype(np.int64, copy=False)


def _narrowed(drawn: F64s, values: ElementType) -> Values:
    """Values of float64 in another type. Like torch, to 16 bits by way of float32."""
    if values is F64:
        return drawn
    narrow = drawn.astype(np.float32)
    return narrow.astype(values.dtype)


def _parts(count: int) -> Iterator[tuple[slice, int]]:
    """The parts of a draw, and how many elements each has."""
    for start in range(0, count, _AT_ONCE):
        end = min(start + _AT_ONCE, count)
        yield slice(start, end), end - start
