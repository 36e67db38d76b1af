"""What each of torch's calls means, once: a function of its name, over a writer.

A function takes the arguments of torch's schema that matter (``self`` and ``input`` as ``x``,
``from`` and ``to`` as ``low`` and ``high``), draws by operators of this package, and composes the
rest of the verbs of `Writer`. A name with an underscore at its end is the form in place, where
torch draws that by another rule.

What surrounds a draw of bf16 is computed in f32: ONNX Runtime has no such kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnx_philox._contract.operators import (
    OUTPUT_TYPE,
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_DROPOUT,
    RANDOM_EXPONENTIAL,
    RANDOM_GAMMA,
    RANDOM_NORMAL,
    RANDOM_PERMUTATION,
    RANDOM_POISSON,
    RANDOM_UNIFORM,
    Operator,
)
from onnx_philox._contract.types import BF16, BOOL, F32, F64, I32, I64, ElementType
from onnx_philox._torch.calls.table import CALLS
from onnx_philox._torch.calls.writer import Writer

# Torch's constant for alpha dropout.
_ALPHA = 1.7580993408473766


def rand(w: Writer, size: Any, dtype: Any = None) -> Any:
    return _uniform(w, w.dims(size), 0, 1, w.kind(dtype))


def rand_like(w: Writer, x: Any, dtype: Any = None) -> Any:
    return _uniform(w, w.shape(x), 0, 1, w.kind(dtype, x))


def randn(w: Writer, size: Any, dtype: Any = None) -> Any:
    return _normal(w, w.dims(size), 0, 1, w.kind(dtype))


def randn_like(w: Writer, x: Any, dtype: Any = None) -> Any:
    return _normal(w, w.shape(x), 0, 1, w.kind(dtype, x))


def randint(w: Writer, high: Any, size: Any, low: Any = 0, dtype: Any = None) -> Any:
    return _integers(w, w.dims(size), low, high, I64 if dtype is None else w.kind(dtype))


def randint_like(w: Writer, x: Any, high: Any, low: Any = 0, dtype: Any = None) -> Any:
    return _integers(w, w.shape(x), low, high, w.kind(dtype, x))


def randperm(w: Writer, n: Any, dtype: Any = None) -> Any:
    kind = I64 if dtype is None else w.kind(dtype)
    drawn_type = I32 if w.element(kind) is I32 else I64
    drawn = _drawn(w, RANDOM_PERMUTATION, drawn_type, w.dims([n]))
    return w.cast(drawn, kind)


def uniform(
    w: Writer, low: float, high: float, x: Any = None, size: Any = None, dtype: Any = None
) -> Any:
    shape = w.dims(size) if x is None else w.shape(x)
    return _uniform(w, shape, low, high, w.kind(dtype, x))


def normal(
    w: Writer, mean: Any, std: Any = 1.0, x: Any = None, size: Any = None, dtype: Any = None
) -> Any:
    if x is not None or size is not None:
        shape = w.dims(size) if x is None else w.shape(x)
        return _normal(w, shape, mean, std, w.kind(dtype, x))
    given = [each for each in (mean, std) if not _is_number(each)]
    # That of the mean, if both are tensors.
    kind = w.kind(None, given[0])
    wide = _computed(w, kind)
    mean = w.number(mean, wide) if _is_number(mean) else w.cast(mean, wide)
    std = w.number(std, wide) if _is_number(std) else w.cast(std, wide)
    # Their shapes broadcast.
    like = w.op("Add", mean, std) if len(given) == 2 else given[0]
    drawn = w.cast(_normal(w, w.shape(like), 0, 1, kind), wide)
    scaled = w.op("Mul", drawn, std)
    return w.cast(w.op("Add", scaled, mean), kind)


normal_functional = normal


def exponential(w: Writer, x: Any, lambd: float) -> Any:
    kind = w.kind(None, x)
    drawn_type = w.float_type(kind)
    scale = w.number(1 / lambd, drawn_type)
    drawn = _drawn(w, RANDOM_EXPONENTIAL, drawn_type, w.shape(x), scale)
    return w.cast(drawn, kind)


def log_normal(w: Writer, x: Any, mean: float, std: float) -> Any:
    kind = w.kind(None, x)
    drawn = _normal(w, w.shape(x), mean, std, kind)
    wide = w.cast(drawn, _computed(w, kind))
    return w.cast(w.op("Exp", wide), kind)


def cauchy(w: Writer, x: Any, median: float, sigma: float) -> Any:
    kind = w.kind(None, x)
    w.float_type(kind)
    # In f32: ONNX's Tan has no kernel of another type everywhere.
    half = w.number(0.5, F32)
    turn = w.number(math.pi, F32)
    median = w.number(median, F32)
    sigma = w.number(sigma, F32)
    centred = w.op("Sub", _uniform(w, w.shape(x), 0, 1, F32), half)
    tangent = w.op("Tan", w.op("Mul", centred, turn))
    scaled = w.op("Mul", tangent, sigma)
    return w.cast(w.op("Add", scaled, median), kind)


def poisson(w: Writer, x: Any) -> Any:
    # i32 holds all counts: a rate is at most 2^30.
    drawn = _drawn(w, RANDOM_POISSON, I32, w.shape(x), _weights(w, x))
    return w.cast(drawn, w.kind(None, x))


def _standard_gamma(w: Writer, x: Any) -> Any:
    kind = w.kind(None, x)
    wide = F64 if w.float_type(kind) is F64 else F32
    drawn = _drawn(w, RANDOM_GAMMA, wide, w.shape(x), _weights(w, x))
    return w.cast(drawn, kind)


def _sample_dirichlet(w: Writer, x: Any) -> Any:
    """Gammas of f64, none of them 0, divided by their sum: of a Beta distribution too."""
    kind = w.kind(None, x)
    w.float_type(kind)
    smallest = w.number(np.finfo(np.float64).smallest_normal, F64)
    drawn = _drawn(w, RANDOM_GAMMA, F64, w.shape(x), _weights(w, x))
    drawn = w.op("Max", drawn, smallest)
    total = w.op("ReduceSum", drawn, w.ints([-1]), keepdims=1)
    return w.cast(w.op("Div", drawn, total), kind)


def bernoulli(w: Writer, x: Any, p: Any = None) -> Any:
    shape = w.shape(x)
    if p is None:
        ready = _weights(w, x)
    elif _is_number(p):
        ready = w.number(p, F32)
    else:
        ready = w.expanded(_weights(w, p), shape, x)
    return w.cast(w.draw(RANDOM_BERNOULLI, shape, ready), w.kind(None, x))


def multinomial(w: Writer, x: Any, num_samples: int, replacement: bool) -> Any:
    if not isinstance(num_samples, int):
        remedy = _AS_MANY_ROWS if replacement else _A_RACE
        given = "one that the model computes"
        allowed = "a number that the module knows"
        CALLS["aten", "multinomial"].refuse("argument 'num_samples'", given, allowed, remedy)
    is_one_row = w.rank(x) == 1
    axis = w.ints([0])
    weights = _weights(w, w.op("Unsqueeze", x, axis) if is_one_row else x)
    attributes: dict[str, Any] = {"sample_size": num_samples}
    if not replacement and num_samples != 1:
        attributes["replacement"] = 0
    drawn = _drawn(w, RANDOM_CATEGORICAL, I64, w.op("Log", weights), **attributes)
    if is_one_row:
        drawn = w.op("Squeeze", drawn, axis)
    return drawn


def dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if train and p != 0:
        return _dropped(w, x, p, w.kind(None, x))[0]
    return w.op("Identity", x)


def dropout_(w: Writer, x: Any, p: float, train: bool) -> Any:
    return _noisy(w, x, w.shape(x), p) if train else x


def native_dropout(w: Writer, x: Any, p: float, train: bool | None = True) -> Any:
    if train is not False and p != 0:
        return _dropped(w, x, p, w.kind(None, x))
    kept = w.op("Identity", x)
    return kept, w.op("Expand", w.number(True, BOOL), w.shape(x))


def feature_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    return _noisy(w, x, w.features(x), p) if train else x


def alpha_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.shape(x), p, is_alpha=True)


def feature_alpha_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.features(x), p, is_alpha=True)


def rrelu(w: Writer, x: Any, low: float, high: float, training: bool) -> Any:
    return _sloped(w, x, low, high, training)[0]


def rrelu_with_noise_functional(
    w: Writer, x: Any, noise: Any, low: float, high: float, training: bool
) -> Any:
    values, slopes = _sloped(w, x, low, high, training)
    return values, slopes if training else w.op("Identity", noise)


def scaled_dot_product_attention(
    w: Writer,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention; where it drops, written out as torch's documentation does."""
    if dropout_p == 0:
        return w.attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    kind = w.kind(None, query)
    wide = _computed(w, kind)
    rank = w.rank(query)
    if enable_gqa:
        key = w.repeated(key, query)
        value = w.repeated(value, query)
    query = w.cast(query, wide)
    key = w.cast(key, wide)
    value = w.cast(value, wide)
    if scale is None:
        root = w.op("Sqrt", w.cast(w.width(query), wide))
        scaled = w.op("Div", query, root)
    else:
        scaled = w.op("Mul", query, w.number(scale, wide))
    scores = w.products(scaled, key, rank)
    if is_causal:
        # Torch takes no other mask then.
        attn_mask = w.triangle(query, key)
    if is_causal or (attn_mask is not None and w.element(w.kind(None, attn_mask)) is BOOL):
        scores = w.op("Where", attn_mask, scores, w.number(-math.inf, wide))
    elif attn_mask is not None:
        scores = w.op("Add", scores, w.cast(attn_mask, wide))
    weights = w.op("Softmax", scores, axis=-1)
    kept, _ = _dropped(w, weights, dropout_p, wide)
    return w.cast(w.op("MatMul", kept, value), kind)


_AS_MANY_ROWS = (
    "Draw one of each of n rows: torch.multinomial(weights.expand(n, -1), 1)[:, 0], for weights of "
    "one dimension."
)
_A_RACE = (
    "Write it as (torch.empty_like(weights).exponential_() / weights).topk(n, largest=False)"
    ".indices: the same distribution."
)


def _is_number(given: Any) -> bool:
    return isinstance(given, float | int)


def _drawn(w: Writer, operator: Operator, type_: ElementType, *inputs: Any, **more: Any) -> Any:
    return w.draw(operator, *inputs, **{OUTPUT_TYPE: type_.name}, **more)


def _uniform(w: Writer, shape: Any, low: float, high: float, kind: Any) -> Any:
    drawn_type = w.float_type(kind)
    minval = w.number(low, drawn_type)
    maxval = w.number(high, drawn_type)
    drawn = _drawn(w, RANDOM_UNIFORM, drawn_type, shape, minval, maxval)
    return w.cast(drawn, kind)


def _normal(w: Writer, shape: Any, mean: float, std: float, kind: Any) -> Any:
    drawn_type = w.float_type(kind)
    mean = w.number(mean, drawn_type)
    scale = w.number(std, drawn_type)
    drawn = _drawn(w, RANDOM_NORMAL, drawn_type, shape, mean, scale)
    return w.cast(drawn, kind)


def _integers(w: Writer, shape: Any, low: Any, high: Any, kind: Any) -> Any:
    """Integers; as i32 where they fit, since OpenVINO does not carry i64 draws everywhere."""
    is_wide = any(isinstance(n, int) and abs(n) >= 2**31 for n in (low, high))
    drawn_type = I64 if is_wide else I32
    minval = w.number(low, drawn_type)
    maxval = w.number(high, drawn_type)
    drawn = _drawn(w, RANDOM_UNIFORM, drawn_type, shape, minval, maxval)
    return w.cast(drawn, kind)


def _weights(w: Writer, x: Any) -> Any:
    """Probabilities, weights, alphas or rates, in a type that the operators take."""
    if w.element(w.kind(None, x)) is F64:
        return x
    return w.cast(x, F32)


def _computed(w: Writer, kind: Any) -> Any:
    """The type in which what surrounds a draw is computed."""
    return F32 if w.element(kind) is BF16 else kind


def _dropped(w: Writer, x: Any, p: float, kind: Any) -> tuple[Any, Any]:
    """What is kept, scaled, and the mask of it: as a rewritten Dropout computes them."""
    if w.element(kind) is not F64 or np.float32(p) == p:
        output, mask = w.draw(RANDOM_DROPOUT, x, w.number(p, F32))
        return output, mask
    # A draw takes a ratio of f32, from which the factor of f64 would be another one.
    dropped = w.draw(RANDOM_BERNOULLI, w.shape(x), w.number(p, F32))
    with np.errstate(divide="ignore"):
        factor = float(np.divide(1.0, np.subtract(1.0, p)))
    zero = w.number(0, F64)
    scaled = w.op("Mul", x, w.number(factor, F64))
    kept = w.op("Where", dropped, zero, scaled)
    return kept, w.op("Not", dropped)


def _sloped(w: Writer, x: Any, low: float, high: float, training: bool) -> tuple[Any, Any]:
    """A slope for each element, where torch draws one for each that is not above 0."""
    kind = w.kind(None, x)
    wide = _computed(w, kind)
    given = w.cast(x, wide)
    one = w.number(1, wide)
    if training:
        slope = w.cast(_uniform(w, w.shape(x), low, high, kind), wide)
    else:
        slope = w.number((low + high) / 2, wide)
    is_sloped = w.op("LessOrEqual", given, w.number(0, wide))
    slopes = w.op("Where", is_sloped, slope, one)
    values = w.op("Mul", given, slopes)
    return w.cast(values, kind), w.cast(slopes, kind)


def _noisy(w: Writer, x: Any, shape: Any, p: float, *, is_alpha: bool = False) -> Any:
    """What torch makes of a dropout by a tensor of noise."""
    kind = w.kind(None, x)
    if p == 0:
        return x
    if p == 1:
        return w.op("Mul", x, w.number(0, kind))
    kept = w.draw(RANDOM_BERNOULLI, shape, w.number(1 - p, F32))
    noise = w.cast(kept, kind)
    if not is_alpha:
        factor = w.op("Div", noise, w.number(1 - p, kind))
        return w.op("Mul", x, factor)
    a = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    dropped = w.op("Add", noise, w.number(-1, kind))
    lifted = w.op("Mul", dropped, w.number(_ALPHA * a, kind))
    moved = w.op("Add", lifted, w.number(_ALPHA * a * p, kind))
    factor = w.op("Mul", noise, w.number(a, kind))
    scaled = w.op("Mul", x, factor)
    return w.op("Add", scaled, moved)
