"""docs/specification.md in plain Python, an element at a time: what its reader would write.

Written from that page alone, and with the coefficients that it prints; it imports nothing of the
package. Floats are scalars of NumPy, whose every operation rounds once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np

PAGE = Path(__file__).parents[2] / "docs/specification.md"
F32 = np.float32
F64 = np.float64
FLOATS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": F32,
    "f64": F64,
}

Word = int


def _coefficients() -> tuple[dict[Any, dict[str, list[Any]]], str]:
    """Those of the page's table, by type and name."""
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index("## Coefficients")
    end = text.index("## Check yourself")
    table = text[begin:end]
    found: dict[Any, dict[str, list[Any]]] = {F32: {}, F64: {}}
    for name, narrow, wide in re.findall(
        r"^\| `(.+?)` \| (.*?) ?\| (.*?) \|$", table, re.MULTILINE
    ):
        for type_, cell in ((F32, narrow), (F64, wide)):
            numbers = re.findall(r"`(.+?)`", cell)
            found[type_][name] = [type_(float.fromhex(x)) for x in numbers]
    return found, text


COEFFICIENTS, TEXT = _coefficients()


def philox(counter: int, key: int) -> list[Word]:
    c0 = counter & 0xFFFFFFFF
    c1 = counter >> 32 & 0xFFFFFFFF
    c2 = counter >> 64 & 0xFFFFFFFF
    c3 = counter >> 96 & 0xFFFFFFFF
    k0 = key & 0xFFFFFFFF
    k1 = key >> 32
    for _ in range(10):
        product0 = c0 * 0xD2511F53
        h0, l0 = divmod(product0, 2**32)
        product1 = c2 * 0xCD9E8D57
        h1, l1 = divmod(product1, 2**32)
        c0 = h1 ^ c1 ^ k0
        c1 = l1
        c2 = h0 ^ c3 ^ k1
        c3 = l0
        k0 = (k0 + 0x9E3779B9) % 2**32
        k1 = (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


class Stream:
    """The words of a draw, in order."""

    def __init__(
        self,
        state: Sequence[int],
        global_seed: int = 0,
        op_seed: int = 0,
    ) -> None:
        self._state = [int(word) for word in state]
        counter = sum(word << 32 * i for i, word in enumerate(self._state[:4]))
        moved = op_seed << 64
        self.counter = (counter + (moved)) % 2**128
        low = self._state[4]
        high = self._state[5] << 32
        self.key = (low + (high) + global_seed) % 2**64
        self.used = 0

    def block(self, i: int) -> list[Word]:
        counter = (self.counter + i) % 2**128
        return philox(counter, self.key)

    def word(self) -> Word:
        block = self.block(self.used // 4)
        word = block[self.used % 4]
        self.used += 1
        return word

    def uniform(self, type_: Any) -> Any:
        count = 2 if type_ is F64 else 1
        return uniform(type_, *(self.word() for _ in range(count)))

    def next_state(self) -> list[Word]:
        before = sum(word << 32 * i for i, word in enumerate(self._state[:4]))
        blocks = -(-self.used // 4)
        after = (before + blocks) % 2**128
        return [*(after >> 32 * i & 0xFFFFFFFF for i in range(4)), *self._state[4:]]


def uniform(type_: Any, *x: Word) -> Any:
    """u of a word, or of two."""
    if type_ is F64:
        upper = x[0] & 0xFFFFF
        bits = 1023 << 52 | (upper) << 32 | x[1]
        return np.uint64(bits).view(F64) - F64(1)
    if type_ is F32:
        word = np.uint32(0x3F800000 | x[0] & 0x7FFFFF)
        return word.view(F32) - F32(1)
    if type_ is np.float16:
        half = np.uint16(0x3C00 | x[0] & 0x3FF)
        return half.view(np.float16) - np.float16(1)
    half = np.uint16(0x3F80 | x[0] & 0x7F)
    return type_(half.view(type_) - type_(1))


# Elementary functions.


def _horner(coefficients: Sequence[Any], z: Any) -> Any:
    y = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        y = y * z + coefficient
    return y


def _constant(type_: Any, name: str) -> Any:
    return COEFFICIENTS[type_][name][0]


def minus_two_ln(x: Any) -> Any:
    type_ = type(x)
    signed, bits = (np.int32, 23) if type_ is F32 else (np.int64, 52)
    m = int(_constant(type_, "sqrt half").view(signed))
    difference = int(x.view(signed)) - m
    e = type_(difference >> bits)
    fraction = difference & 2**bits - 1
    f = signed((fraction) + m).view(type_) - type_(1)
    s = f / (f + type_(2))
    z = s * s
    inner = _horner(COEFFICIENTS[type_]["P_logarithm"], z)
    series = s * (inner * z - type_(4))
    return series + e * _constant(type_, "minus_two_ln_2")


def ln(x: Any) -> Any:
    return minus_two_ln(x) * type(x)(-0.5)


def sin_cos(v: Any) -> tuple[Any, Any]:
    """Those of 2 pi v."""
    type_ = type(v)
    magic = _constant(type_, "magic")
    q = v * type_(4) + magic
    integers = np.int32 if type_ is F32 else np.int64
    n = int(q.view(integers))
    t = v - (q - magic) * type_(0.25)
    z = t * t
    of_sine = _horner(COEFFICIENTS[type_]["P_sine"], z)
    sine = t * of_sine
    of_cosine = _horner(COEFFICIENTS[type_]["P_cosine"], z)
    cosine = of_cosine * z + type_(1)
    if n & 1:
        sine, cosine = cosine, sine
    is_odd = n + 1 & 2
    return -sine if n & 2 else sine, -cosine if is_odd else cosine


def exp(x: Any) -> Any:
    """exp x, for x of at most 0."""
    if x < -708:
        return F64(0)
    magic = _constant(F64, "magic")
    q = x * _constant(F64, "log2_e") + magic
    n = q - magic
    high = _constant(F64, "ln2_low")
    low = _constant(F64, "ln2_high")
    r = (x - n * low) - n * high
    polynomial = _horner(COEFFICIENTS[F64]["P_exponential"], r)
    y = polynomial * r + F64(1)
    exponent = int(q.view(np.uint64))
    bits = int(y.view(np.uint64))
    return np.uint64((bits + (exponent << 52)) % 2**64).view(F64)


def ln_factorial(k: Any) -> Any:
    if k < 256:
        # Correctly rounded: the logarithm of an exact integer, in parts that lose nothing.
        return _rounded_ln(math.factorial(int(k)))
    r = F64(1) / k
    twelfth = F64(1) / F64(12)
    three_hundred_sixtieth = F64(1) / F64(360)
    series = twelfth - r * r * (three_hundred_sixtieth)
    factor = k + F64(0.5)
    constant = _constant(F64, "half_ln_2pi_e")
    return (factor) * (ln(k) - F64(1)) + (constant + r * series)


def _rounded_ln(x: int) -> Any:
    with mpmath.workprec(300):
        return F64(float(mpmath.log(x)))


def _box_muller(u: Any, v: Any) -> tuple[Any, Any]:
    type_ = type(u)
    least = _constant(type_, "1e-7")
    r = np.sqrt(minus_two_ln(max(u, least)))
    sine, cosine = sin_cos(v)
    return r * sine, r * cosine


# The operators. Each yields its values in order.


def random_generator(stream: Stream, n: int) -> Iterator[Any]:
    yield from (stream.word() for _ in range(n))


def random_uniform(
    stream: Stream,
    n: int,
    low: Any,
    high: Any,
    output_type: str,
) -> Iterator[Any]:
    if output_type == "i32":
        for _ in range(n):
            moved = stream.word() % (high - low)
            yield _signed((moved + low) % 2**32, 32)
    elif output_type == "i64":
        for _ in range(n):
            x0 = stream.word()
            x1 = stream.word()
            word = x1 << 32 | x0
            yield _signed(((word) % (high - low) + low) % 2**64, 64)
    else:
        type_ = FLOATS[output_type]
        low = type_(low)
        high = type_(high)
        for _ in range(n):
            fraction = stream.uniform(type_)
            width = type_(high - low)
            yield type_(type_(fraction * width) + low)


def _signed(x: int, bits: int) -> int:
    return x - 2**bits if x >= 2 ** (bits - 1) else x


def random_normal(
    stream: Stream,
    n: int,
    mean: Any,
    scale: Any,
    output_type: str,
) -> Iterator[Any]:
    type_ = FLOATS[output_type]
    wide = F64 if type_ is F64 else F32
    for first in range(0, n, 2):
        u = stream.uniform(wide)
        v = stream.uniform(wide)
        pair = _box_muller(u, v)
        for value in pair[: n - first]:
            scaled = type_(type_(value) * type_(scale))
            yield type_(scaled + type_(mean))


def random_bernoulli(stream: Stream, n: int, p: Any) -> Iterator[bool]:
    """RandomBernoulli; p is a scalar of NumPy, or an array of n."""
    for i in range(n):
        number = p[i] if np.ndim(p) else p
        u = stream.uniform(type(number))
        yield bool(u < number)


def random_categorical(
    stream: Stream, logits: Any, samples: int, *, replacement: bool = True
) -> Iterator[int]:
    for row in logits.astype(F64):
        weights = [exp(x - row.max()) for x in row]
        if replacement:
            sums = _sums(weights)
            for _ in range(samples):
                limit = stream.uniform(F64) * sums[-1]
                yield next(i for i, total in enumerate(sums) if total > limit)
        else:
            uniforms = [stream.uniform(F64) for _ in weights]
            times = [
                (minus_two_ln(F64(1) - u) * F64(0.5) / w, i)
                for i, (u, w) in enumerate(zip(uniforms, weights, strict=True))
                if w > 0
            ]
            yield from (i for _, i in sorted(times)[:samples])


def _sums(weights: Sequence[Any]) -> list[Any]:
    sums = []
    total = F64(0)
    for weight in weights:
        total = total + weight
        sums.append(total)
    return sums


def random_exponential(
    stream: Stream,
    n: int,
    scale: Any,
    output_type: str,
) -> Iterator[Any]:
    type_ = FLOATS[output_type]
    for _ in range(n):
        if type_ is F64:
            t = stream.uniform(F64) + F64(2.0**-53)
        else:
            middle = F64(stream.word()) + F64(0.5)
            t = (middle) * F64(2.0**-32)
        negative_logarithm = minus_two_ln(t)
        yield type_(_rounded(negative_logarithm * F64(0.5), type_) * type_(scale))


def _rounded(x: Any, type_: Any) -> Any:
    """An f64 number above 0 in another type, rounded once."""
    if type_ is not ml_dtypes.bfloat16:
        return type_(x)
    # NumPy has no such conversion: it would round to f32 first.
    mantissa, exponent = math.frexp(float(x))
    rounded = round(math.ldexp(mantissa, 8))
    return type_(math.ldexp(rounded, exponent - 8))


def random_gamma(
    stream: Stream, n: int, alpha: Any, output_type: str, attempts: int = 16
) -> Iterator[Any]:
    one = F64(1)
    for i in range(n):
        a = F64(alpha)
        blocks = [stream.block(32 * i + j) for j in range(32)]
        raised = a + one if a < 1 else a
        d = (raised) - one / F64(3)
        root = np.sqrt(F64(9) * d)
        c = one / root
        for t in range(attempts):
            words_u = blocks[2 * t][:2]
            u = uniform(F64, *words_u)
            words_v = blocks[2 * t][2:]
            v = uniform(F64, *words_v)
            words_w = blocks[2 * t + 1][:2]
            w = uniform(F64, *words_w)
            x = _box_muller(u, v)[1]
            z = one + c * x
            y = z * z * z
            value = d * y if y > 0 else d
            if y > 0 and ln(one - w) < x * x * F64(0.5) + d * (one - y + ln(y)):
                break
        if a < 1:
            value = value * exp(ln(one - uniform(F64, *blocks[1][2:])) / a)
        yield FLOATS[output_type](value)
    stream.used = 128 * n


def random_poisson(
    stream: Stream,
    n: int,
    rate: Any,
    attempts: int = 32,
) -> Iterator[int]:
    for i in range(n):
        yield int(
            _count(
                F64(rate),
                lambda j, i=i: stream.block(32 * i + j),
                attempts,
            )
        )
    stream.used = 128 * n


def _count(
    rate: Any,
    block: Callable[[int], list[Word]],
    attempts: int,
) -> Any:
    if rate < 10:
        u = uniform(F64, *block(0)[:2])
        p = exp(-rate)
        total, k = p, 0
        while total <= u and k < 1000:
            k += 1
            p = p * rate / F64(k)
            total = total + p
        return k
    root = np.sqrt(rate)
    b = F64(0.931) + F64(2.53) * root
    a = F64(-0.059) + F64(0.02483) * b
    inverse = F64(1.1328) / (b - F64(3.4))
    i = F64(1.1239) + inverse
    quotient = F64(3.6224) / (b - F64(2))
    q = F64(0.9277) - quotient
    for t in range(attempts):
        words = block(t)
        big_u = uniform(F64, *words[:2]) - F64(0.5)
        v = uniform(F64, *words[2:])
        big_v = F64(1) - v
        s = F64(0.5) - abs(big_u)
        with np.errstate(divide="ignore"):
            slope = F64(2) * a / s
            k = np.floor((slope + b) * big_u + rate + F64(0.43))
        if s >= 0.07 and big_v <= q:
            return k
        if k < 0 or (s < 0.013 and big_v > s):
            continue
        scale = a / (s * s) + b
        bound = ln(big_v) + ln(i) - ln(scale)
        logarithm = k * ln(rate)
        if bound <= -rate + logarithm - ln_factorial(k):
            return k
    return np.floor(rate)


def random_permutation(stream: Stream, rows: int, n: int) -> Iterator[int]:
    """RandomPermutation of shape [rows, n]."""
    for _ in range(rows):
        keys = []
        for _ in range(n):
            x0 = stream.word()
            x1 = stream.word()
            keys.append(x1 << 32 | x0)
        yield from sorted(range(n), key=keys.__getitem__)


def random_dropout(
    stream: Stream,
    data: Any,
    ratio: Any,
) -> Iterator[tuple[Any, bool]]:
    """RandomDropout: output and mask."""
    type_ = data.dtype.type
    work = F64 if type_ is F64 else F32
    rest = work(1) - work(ratio)
    scale = type_(work(1) / (rest))
    for x in data:
        keep = not stream.uniform(type(ratio)) < ratio
        yield (type_(x * scale) if keep else type_(0)), keep


def random_token(
    stream: Stream,
    logits: Any,
    temperature: Any,
    top_k: int,
    top_p: Any,
    min_p: Any,
) -> Iterator[int]:
    for row in logits.astype(F64):
        u = stream.uniform(F64)
        if temperature == 0:
            yield int(row.argmax())
            continue
        w = [exp((x - row.max()) / F64(temperature)) for x in row]
        order = sorted(range(len(w)), key=lambda i: (-w[i], i))
        if 0 < top_k < len(w):
            order = order[:top_k]
        if top_p < 1:
            sums = _sums([w[i] for i in order])
            limit = F64(top_p) * sums[-1]
            order = order[: next(i for i, s in enumerate(sums) if s >= limit) + 1]
        kept = {i for i in order if w[i] >= F64(min_p)}
        sums = _sums([x if i in kept else F64(0) for i, x in enumerate(w)])
        yield next(i for i, s in enumerate(sums) if s > u * sums[-1])
