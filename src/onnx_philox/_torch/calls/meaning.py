"""What each of torch's calls means: a function of its name, which a writer turns into nodes.

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
    shape = w.dims(size)
    return _uniform(w, shape, 0, 1, w.kind(dtype))


def rand_like(w: Writer, x: Any, dtype: Any = None) -> Any:
    shape = w.shape(x)
    return _uniform(w, shape, 0, 1, w.kind(dtype, x))


def randn(w: Writer, size: Any, dtype: Any = None) -> Any:
    shape = w.dims(size)
    return _normal(w, shape, 0, 1, w.kind(dtype))


def randn_like(w: Writer, x: Any, dtype: Any = None) -> Any:
    shape = w.shape(x)
    return _normal(w, shape, 0, 1, w.kind(dtype, x))


def randint(
    w: Writer,
    high: Any,
    size: Any,
    low: Any = 0,
    dtype: Any = None,
) -> Any:
    shape = w.dims(size)
    kind = I64 if dtype is None else w.kind(dtype)
    return _integers(w, shape, low, high, kind)


def randint_like(
    w: Writer,
    x: Any,
    high: Any,
    low: Any = 0,
    dtype: Any = None,
) -> Any:
    shape = w.shape(x)
    kind = w.kind(dtype, x)
    return _integers(w, shape, low, high, kind)


def randperm(w: Writer, n: Any, dtype: Any = None) -> Any:
    kind = I64 if dtype is None else w.kind(dtype)
    drawn_type = I32 if w.element(kind) is I32 else I64
    shape = w.dims([n])
    drawn = _drawn(w, RANDOM_PERMUTATION, drawn_type, shape)
    return w.cast(drawn, kind)


def uniform(
    w: Writer,
    low: float,
    high: float,
    x: Any = None,
    size: Any = None,
    dtype: Any = None,
) -> Any:
    shape = w.dims(size) if x is None else w.shape(x)
    kind = w.kind(dtype, x)
    return _uniform(w, shape, low, high, kind)


def normal(
    w: Writer,
    mean: Any,
    std: Any = 1.0,
    x: Any = None,
    size: Any = None,
    dtype: Any = None,
) -> Any:
    if x is not None or size is not None:
        shape = w.dims(size) if x is None else w.shape(x)
        kind = w.kind(dtype, x)
        return _normal(w, shape, mean, std, kind)
    tensors = [each for each in (mean, std) if not _is_number(each)]
    # That of the mean, if both are tensors.
    kind = w.kind(None, tensors[0])
    wide = _computed(w, kind)
    mean = _in_type(w, mean, wide)
    std = _in_type(w, std, wide)
    if len(tensors) == 2:
        # Their shapes broadcast.
        like = w.op("Add", mean, std)
    else:
        like = tensors[0]
    standard = _normal(w, w.shape(like), 0, 1, kind)
    drawn = w.cast(standard, wide)
    scaled = w.op("Mul", drawn, std)
    moved = w.op("Add", scaled, mean)
    return w.cast(moved, kind)


def _in_type(w: Writer, given: Any, kind: Any) -> Any:
    if _is_number(given):
        return w.number(given, kind)
    return w.cast(given, kind)


normal_functional = normal


def exponential(w: Writer, x: Any, lambd: float) -> Any:
    kind = w.kind(None, x)
    drawn_type = w.float_type(kind)
    scale = w.number(1 / lambd, drawn_type)
    shape = w.shape(x)
    drawn = _drawn(w, RANDOM_EXPONENTIAL, drawn_type, shape, scale)
    return w.cast(drawn, kind)


def log_normal(w: Writer, x: Any, mean: float, std: float) -> Any:
    kind = w.kind(None, x)
    shape = w.shape(x)
    drawn = _normal(w, shape, mean, std, kind)
    wide = w.cast(drawn, _computed(w, kind))
    powers = w.op("Exp", wide)
    return w.cast(powers, kind)


def cauchy(w: Writer, x: Any, median: float, sigma: float) -> Any:
    kind = w.kind(None, x)
    w.float_type(kind)
    # In f32: ONNX's Tan has no kernel of another type everywhere.
    half = w.number(0.5, F32)
    turn = w.number(math.pi, F32)
    median = w.number(median, F32)
    sigma = w.number(sigma, F32)
    drawn = _uniform(w, w.shape(x), 0, 1, F32)
    centred = w.op("Sub", drawn, half)
    angle = w.op("Mul", centred, turn)
    tangent = w.op("Tan", angle)
    scaled = w.op("Mul", tangent, sigma)
    moved = w.op("Add", scaled, median)
    return w.cast(moved, kind)


def poisson(w: Writer, x: Any) -> Any:
    # i32 holds all counts: a rate is at most 2^30.
    shape = w.shape(x)
    rates = _weights(w, x)
    drawn = _drawn(w, RANDOM_POISSON, I32, shape, rates)
    return w.cast(drawn, w.kind(None, x))


def _standard_gamma(w: Writer, x: Any) -> Any:
    kind = w.kind(None, x)
    wide = F64 if w.float_type(kind) is F64 else F32
    shape = w.shape(x)
    alphas = _weights(w, x)
    drawn = _drawn(w, RANDOM_GAMMA, wide, shape, alphas)
    return w.cast(drawn, kind)


def _sample_dirichlet(w: Writer, x: Any) -> Any:
    """Gammas of f64, none of them 0, divided by their sum: of a Beta distribution too."""
    kind = w.kind(None, x)
    w.float_type(kind)
    limits = np.finfo(np.float64)
    smallest = w.number(limits.smallest_normal, F64)
    shape = w.shape(x)
    alphas = _weights(w, x)
    drawn = _drawn(w, RANDOM_GAMMA, F64, shape, alphas)
    drawn = w.op("Max", drawn, smallest)
    last_axis = w.ints([-1])
    total = w.op("ReduceSum", drawn, last_axis, keepdims=1)
    shares = w.op("Div", drawn, total)
    return w.cast(shares, kind)


def bernoulli(w: Writer, x: Any, p: Any = None) -> Any:
    shape = w.shape(x)
    if p is None:
        ready = _weights(w, x)
    elif _is_number(p):
        ready = w.number(p, F32)
    else:
        weights = _weights(w, p)
        ready = w.expanded(weights, shape, x)
    drawn = w.draw(RANDOM_BERNOULLI, shape, ready)
    return w.cast(drawn, w.kind(None, x))


def multinomial(w: Writer, x: Any, num_samples: Any, replacement: bool) -> Any:
    if not isinstance(num_samples, int):
        remedy = _AS_MANY_ROWS if replacement else _A_RACE
        given = "one that the model computes"
        allowed = "a number that the module knows"
        call = CALLS["aten", "multinomial"]
        call.refuse("argument 'num_samples'", given, allowed, remedy)
    is_one_row = w.rank(x) == 1
    axis = w.ints([0])
    rows = w.op("Unsqueeze", x, axis) if is_one_row else x
    weights = _weights(w, rows)
    attributes: dict[str, Any] = {"sample_size": num_samples}
    if not replacement and num_samples != 1:
        attributes["replacement"] = 0
    logits = w.op("Log", weights)
    drawn = _drawn(w, RANDOM_CATEGORICAL, I64, logits, **attributes)
    if is_one_row:
        drawn = w.op("Squeeze", drawn, axis)
    return drawn


def dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if train and p != 0:
        kept, _ = _dropped(w, x, p, w.kind(None, x))
        return kept
    return w.op("Identity", x)


def dropout_(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.shape(x), p)


def native_dropout(w: Writer, x: Any, p: float, train: bool | None = True) -> Any:
    if train is not False and p != 0:
        return _dropped(w, x, p, w.kind(None, x))
    kept = w.op("Identity", x)
    true = w.number(True, BOOL)
    return kept, w.op("Expand", true, w.shape(x))


def feature_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.features(x), p)


def alpha_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.shape(x), p, is_alpha=True)


def feature_alpha_dropout(w: Writer, x: Any, p: float, train: bool) -> Any:
    if not train:
        return x
    return _noisy(w, x, w.features(x), p, is_alpha=True)


def rrelu(w: Writer, x: Any, low: float, high: float, training: bool) -> Any:
    values, _ = _sloped(w, x, low, high, training)
    return values


def rrelu_with_noise_functional(
    w: Writer,
    x: Any,
    noise: Any,
    low: float,
    high: float,
    training: bool,
) -> Any:
    values, slopes = _sloped(w, x, low, high, training)
    if not training:
        slopes = w.op("Identity", noise)
    return values, slopes


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
        width = w.cast(w.width(query), wide)
        root = w.op("Sqrt", width)
        scaled = w.op("Div", query, root)
    else:
        scaled = w.op("Mul", query, w.number(scale, wide))
    scores = w.products(scaled, key, rank)
    is_of_booleans = False
    if is_causal:
        # Torch takes no other mask then.
        attn_mask = w.triangle(query, key)
        is_of_booleans = True
    elif attn_mask is not None:
        is_of_booleans = w.element(w.kind(None, attn_mask)) is BOOL
    if is_of_booleans:
        never = w.number(-math.inf, wide)
        scores = w.op("Where", attn_mask, scores, never)
    elif attn_mask is not None:
        mask = w.cast(attn_mask, wide)
        scores = w.op("Add", scores, mask)
    weights = w.op("Softmax", scores, axis=-1)
    kept, _ = _dropped(w, weights, dropout_p, wide)
    attended = w.op("MatMul", kept, value)
    return w.cast(attended, kind)


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
    attributes = {OUTPUT_TYPE: type_.name} | more
    return w.draw(operator, *inputs, **attributes)


def _uniform(w: Writer, shape: Any, low: float, high: float, kind: Any) -> Any:
    return _of_two(w, RANDOM_UNIFORM, w.float_type(kind), shape, low, high, kind)


def _normal(w: Writer, shape: Any, mean: float, std: float, kind: Any) -> Any:
    return _of_two(w, RANDOM_NORMAL, w.float_type(kind), shape, mean, std, kind)


def _integers(w: Writer, shape: Any, low: Any, high: Any, kind: Any) -> Any:
    """Integers; as i32 where they fit, since OpenVINO does not carry i64 draws everywhere."""
    drawn_type = I32
    for bound in (low, high):
        if isinstance(bound, int) and abs(bound) >= 2**31:
            drawn_type = I64
    return _of_two(w, RANDOM_UNIFORM, drawn_type, shape, low, high, kind)


def _of_two(
    w: Writer,
    operator: Operator,
    drawn_type: ElementType,
    shape: Any,
    one: Any,
    other: Any,
    kind: Any,
) -> Any:
    """A draw of two numbers, such as bounds, in the type that is asked for."""
    first = w.number(one, drawn_type)
    second = w.number(other, drawn_type)
    drawn = _drawn(w, operator, drawn_type, shape, first, second)
    return w.cast(drawn, kind)


def _weights(w: Writer, x: Any) -> Any:
    """Probabilities, weights, alphas or rates, in a type that the operators take."""
    kind = w.kind(None, x)
    if w.element(kind) is F64:
        return x
    return w.cast(x, F32)


def _computed(w: Writer, kind: Any) -> Any:
    """The type in which what surrounds a draw is computed."""
    if w.element(kind) is BF16:
        return F32
    return kind


def _dropped(
    w: Writer,
    x: Any,
    p: float,
    kind: Any,
) -> tuple[Any, Any]:
    """What is kept, scaled, and the mask of it: as a rewritten Dropout computes them."""
    is_f32_ratio = np.float32(p) == p
    if w.element(kind) is not F64 or is_f32_ratio:
        ratio = w.number(p, F32)
        output, mask = w.draw(RANDOM_DROPOUT, x, ratio)
        return output, mask
    # A draw takes a ratio of f32, from which the factor of f64 would be another one.
    shape = w.shape(x)
    ratio = w.number(p, F32)
    dropped = w.draw(RANDOM_BERNOULLI, shape, ratio)
    with np.errstate(divide="ignore"):
        factor = np.divide(1.0, np.subtract(1.0, p))
    zero = w.number(0, F64)
    scaled = w.op("Mul", x, w.number(float(factor), F64))
    kept = w.op("Where", dropped, zero, scaled)
    return kept, w.op("Not", dropped)


def _sloped(
    w: Writer,
    x: Any,
    low: float,
    high: float,
    training: bool,
) -> tuple[Any, Any]:
    """A slope for each element, where torch draws one for each that is not above 0."""
    kind = w.kind(None, x)
    wide = _computed(w, kind)
    given = w.cast(x, wide)
    one = w.number(1, wide)
    if training:
        drawn = _uniform(w, w.shape(x), low, high, kind)
        slope = w.cast(drawn, wide)
    else:
        slope = w.number((low + high) / 2, wide)
    zero = w.number(0, wide)
    is_sloped = w.op("LessOrEqual", given, zero)
    slopes = w.op("Where", is_sloped, slope, one)
    values = w.op("Mul", given, slopes)
    return w.cast(values, kind), w.cast(slopes, kind)


def _noisy(w: Writer, x: Any, shape: Any, p: float, *, is_alpha: bool = False) -> Any:
    """What torch makes of a dropout by a tensor of noise."""
    kind = w.kind(None, x)
    if p == 0:
        return x
    if p == 1:
        zero = w.number(0, kind)
        return w.op("Mul", x, zero)
    share = w.number(1 - p, F32)
    kept = w.draw(RANDOM_BERNOULLI, shape, share)
    noise = w.cast(kept, kind)
    if not is_alpha:
        share = w.number(1 - p, kind)
        factor = w.op("Div", noise, share)
        return w.op("Mul", x, factor)
    variance = (_ALPHA * _ALPHA * p + 1) * (1 - p)
    a = 1 / math.sqrt(variance)
    minus_one = w.number(-1, kind)
    dropped = w.op("Add", noise, minus_one)
    lift = w.number(_ALPHA * a, kind)
    lifted = w.op("Mul", dropped, lift)
    offset = w.number(_ALPHA * a * p, kind)
    moved = w.op("Add", lifted, offset)
    scale = w.number(a, kind)
    factor = w.op("Mul", noise, scale)
    scaled = w.op("Mul", x, factor)
    return w.op("Add", scaled, moved)
