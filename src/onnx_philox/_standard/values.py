"""Words to values and classes in ONNX Runtime: the rules of `_numbers`, as nodes.

Words are uint32 [B, words]; values are [B, values].
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.inputs import INT64_MAX
from onnx_philox._contract.types import BF16, F16, F32, F64, I32, ElementType
from onnx_philox._models.emitter import Values
from onnx_philox._numbers.dropout import scale_of
from onnx_philox._numbers.uniform import Uniform
from onnx_philox._standard import elementary_nodes
from onnx_philox._standard.builder import Builder

Number = ir.Value | NDArray[Any]
"""A bound, mean or scale: an array where it is constant."""

_FLOAT = ir.DataType.FLOAT
_DOUBLE = ir.DataType.DOUBLE
_INT32 = ir.DataType.INT32
_UINT64 = ir.DataType.UINT64

_FRACTION_BITS = {F16: 10, BF16: 7, F32: 23}


def unit(b: Builder, words: ir.Value, values: ElementType) -> ir.Value:
    """f32 or f64 uniforms in [0, 1): an integer, scaled by a power of two, which is exact.

    Nodes:
        f32: words -> And 2^23-1 -> Cast -> Mul 2^-23
        f64: words -> pairs -> first And 2^20-1, BitShift 32, Or second -> Cast -> Mul 2^-52
    """
    if values is F64:
        return b.call("UniformF64", _unit_f64, words)[0]
    return b.call("UniformF32", _unit_f32, words)[0]


def _unit_f32(b: Builder, words: ir.Value) -> Values:
    fraction = b("BitwiseAnd", words, b.u32(2**23 - 1))
    number = b.cast(fraction, _FLOAT)
    return (b("Mul", number, b.f32(2.0**-23)),)


def _unit_f64(b: Builder, words: ir.Value) -> Values:
    first, second = _pairs(b, words)
    high = b("BitwiseAnd", first, b.u32(2**20 - 1))
    high = b.cast(high, _UINT64)
    low = b.cast(second, _UINT64)
    joined = _joined(b, high, low)
    number = b.cast(joined, _DOUBLE)
    return (b("Mul", number, b.f64(2.0**-52)),)


def _pairs(b: Builder, numbers: ir.Value) -> Values:
    """Every second number of each row, from the first on and from the second on."""
    axis = b.constant([1])
    end = b.constant([INT64_MAX])
    step = b.constant([2])
    start = b.constant([0])
    first = b("Slice", numbers, start, end, axis, step)
    start = b.constant([1])
    second = b("Slice", numbers, start, end, axis, step)
    return first, second


def _joined(b: Builder, high: ir.Value, low: ir.Value) -> ir.Value:
    """uint64 numbers of their halves."""
    shifted = b("BitShift", high, b.u64(32), direction="LEFT")
    return b("BitwiseOr", shifted, low)


def uniform(
    b: Builder,
    words: ir.Value,
    minval: Number,
    maxval: Number,
    values: ElementType,
) -> ir.Value:
    """Floats in a range.

    Nodes:
        f16, bf16:  words -> And -> Gather from a table of all values
        f32, f64:   words -> unit -> Mul (maxval - minval) -> Sum minval
    """
    if values in _TABLES:
        return _look_up(b, words, minval, maxval, values)
    u = unit(b, words, values)
    return scaled(b, u, minval, maxval)


def scaled(
    b: Builder,
    u: ir.Value,
    minval: Number,
    maxval: Number,
) -> ir.Value:
    """Uniforms in [0, 1), brought into a range."""
    width = _difference(b, maxval, minval)
    scaled = _times(b, u, width)
    if isinstance(minval, np.ndarray) and minval == 0:
        # No product is negative, or -0.
        return scaled
    return _plus(b, scaled, minval)


_TABLES = (F16, BF16)


def _look_up(
    b: Builder,
    words: ir.Value,
    minval: Number,
    maxval: Number,
    values: ElementType,
) -> ir.Value:
    """Floats of so few possible values that each is computed once."""
    count = 2 ** _FRACTION_BITS[values]
    if isinstance(minval, np.ndarray) and isinstance(maxval, np.ndarray):
        low = minval.reshape(())
        high = maxval.reshape(())
        draw = Uniform(low, high).converter(values)
        all_words = np.arange(count, dtype=np.uint32)
        made = draw(0, all_words)
        table = b.constant(made, values.dtype)
    else:
        fractions = b.f32(np.arange(count) / count)
        upper = _f32(b, maxval)
        lower = _f32(b, minval)
        width = _rounded(b, "Sub", upper, lower, values)
        product = _rounded(b, "Mul", fractions, width, values)
        total = b("Add", product, lower)
        table = _type(b, total, values)
    index = b("BitwiseAnd", words, b.u32(count - 1))
    index = b.cast(index, _INT32)
    return b("Gather", table, index)


def _f32(b: Builder, number: Number) -> ir.Value:
    if isinstance(number, np.ndarray):
        return b.f32(number.astype(np.float32))
    return b.cast(number, _FLOAT)


def _type(b: Builder, value: ir.Value, values: ElementType) -> ir.Value:
    return b.cast(value, ir.DataType(values.onnx))


def _rounded(
    b: Builder,
    op_type: str,
    x: ir.Value,
    y: ir.Value,
    values: ElementType,
) -> ir.Value:
    """An operation in f16 or bf16, its result in f32.

    Twice rounded is as good as once: f32 has more than twice as many bits, and two.
    """
    result = b(op_type, x, y)
    rounded = _type(b, result, values)
    return b.cast(rounded, _FLOAT)


def _difference(b: Builder, x: Number, y: Number) -> Number:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        upper = x.reshape(())
        lower = y.reshape(())
        difference = np.subtract(upper, lower)
        return np.asarray(difference)
    minuend = _value(b, x)
    subtrahend = _value(b, y)
    return b("Sub", minuend, subtrahend)


def _value(b: Builder, number: Number) -> ir.Value:
    if not isinstance(number, np.ndarray):
        return number
    scalar = number.reshape(())
    return b.constant(scalar, number.dtype)


def _times(b: Builder, x: ir.Value, factor: Number) -> ir.Value:
    if not isinstance(factor, np.ndarray):
        return b("Mul", x, factor)
    if factor == 1:
        return x
    with np.errstate(over="ignore"):
        is_one_in_f32 = factor.astype(np.float32) == 1
    if is_one_in_f32:
        # ONNX Runtime drops a Mul by an f64 that is 1 in f32. Halving it is exact.
        half_factor = b.constant(factor / 2, factor.dtype)
        half = b("Mul", x, half_factor)
        two = b.constant(2, factor.dtype)
        return b("Mul", half, two)
    value = _value(b, factor)
    return b("Mul", x, value)


def _plus(b: Builder, x: ir.Value, number: Number) -> ir.Value:
    """The sum with a number.

    ONNX Runtime drops an Add of a constant that is 0 in f32, an f64 of 1e-310 too. It keeps a Sum,
    where -0 + 0 is 0.
    """
    value = _value(b, number)
    return b("Sum", x, value)


def integers(
    b: Builder,
    words: ir.Value,
    minval: Number,
    maxval: Number,
    values: ElementType,
) -> ir.Value:
    """Integers in a range, by the remainder of words.

    Nodes:
        words -> (i64: pairs -> Or) -> Mod (maxval - minval) -> Add minval -> Cast
    """
    unsigned = ir.DataType.UINT32 if values is I32 else _UINT64
    dtype = unsigned.numpy()
    x = words
    if values is not I32:
        x = b.call("Words64", _words64, words)[0]
    if isinstance(minval, np.ndarray) and isinstance(maxval, np.ndarray):
        low = minval.reshape(1).view(dtype)
        high = maxval.reshape(1).view(dtype)
        divisor = b.constant(high - low, dtype)
        base = b.constant(low, dtype)
    else:
        base = _value(b, minval)
        base = b.cast(base, unsigned)
        end = _value(b, maxval)
        end = b.cast(end, unsigned)
        divisor = b("Sub", end, base)
        # Bounds in the wrong order must not divide by 0, which would end the process.
        one = b.constant(1, dtype)
        divisor = b("Max", divisor, one)
    rest = b("Mod", x, divisor)
    total = b("Add", rest, base)
    return _type(b, total, values)


def _words64(b: Builder, words: ir.Value) -> Values:
    first, second = _pairs(b, words)
    low = b.cast(first, _UINT64)
    high = b.cast(second, _UINT64)
    return (_joined(b, high, low),)


def normal(
    b: Builder,
    words: ir.Value,
    mean: Number,
    scale: Number,
    values: ElementType,
) -> ir.Value:
    """Normals; one more than asked for where that is odd.

    Nodes:
        words -> unit -> pairs -> Box and Muller -> joined -> Mul scale -> Sum mean
    """
    work = F64 if values is F64 else F32
    body = partial(_standard, values=work)
    name = f"Normal{work.name.upper()}"
    standard = b.call(name, body, words)[0]
    if values in (F32, F64):
        return moved(b, standard, mean, scale)
    rounded = _type(b, standard, values)
    standard = b.cast(rounded, _FLOAT)
    factor = _f32(b, scale)
    product = _rounded(b, "Mul", standard, factor, values)
    if isinstance(mean, np.ndarray):
        mean = mean.astype(np.float32)
    else:
        mean = _f32(b, mean)
    total = _plus(b, product, mean)
    return _type(b, total, values)


def moved(
    b: Builder,
    standard: ir.Value,
    mean: Number,
    scale: Number,
) -> ir.Value:
    """Standard normals of f32 or f64, with a mean and a scale."""
    scaled = _times(b, standard, scale)
    return _plus(b, scaled, mean)


def _standard(b: Builder, words: ir.Value, values: ElementType) -> Values:
    u = unit(b, words, values)
    # As one row: ONNX Runtime takes 20 times as long beside a last dimension of 1.
    one_row = b.constant([1, -1])
    row = b("Reshape", u, one_row)
    (drawn,) = standard_normals(b, row, values)
    shape = b("Shape", u)
    return (b("Reshape", drawn, shape, allowzero=1),)


def standard_normals(b: Builder, u: ir.Value, values: ElementType) -> Values:
    """Standard normals of uniforms [B, an even number]."""
    last = b.constant([2])
    first, second = _pairs(b, u)
    pair = elementary_nodes.normal_pairs(b, first, second, values)
    columns = [b("Unsqueeze", x, last) for x in pair]
    joined = b("Concat", *columns, axis=2)
    return (b("Flatten", joined, axis=1),)


def exponential(
    b: Builder,
    words: ir.Value,
    scale: Number,
    values: ElementType,
) -> ir.Value:
    """Exponentials of f32 or f64.

    Nodes:
        words -> middle of each step in (0, 1) -> -ln -> Mul scale
    """
    body = partial(_exponential, values=values)
    name = f"Exponential{values.name.upper()}"
    standard = b.call(name, body, words)[0]
    return _times(b, standard, scale)


def _exponential(b: Builder, words: ir.Value, values: ElementType) -> Values:
    if values is F64:
        u = unit(b, words, F64)
        middle = b("Add", u, b.f64(2.0**-53))
        return (_minus_ln(b, middle),)
    step = b.f64(2.0**-32)
    number = b.cast(words, _DOUBLE)
    middle = b("Add", number, b.f64(0.5))
    u = b("Mul", middle, step)
    drawn = _minus_ln(b, u)
    return (_type(b, drawn, F32),)


def _minus_ln(b: Builder, u: ir.Value) -> ir.Value:
    # As one row, like normals.
    one_row = b.constant([1, -1])
    row = b("Reshape", u, one_row)
    twice = elementary_nodes.minus_two_ln(b, row, F64, elementary_nodes.SHIFTS_TO_2_63)
    half = b("Mul", twice, b.f64(0.5))
    shape = b("Shape", u)
    return b("Reshape", half, shape, allowzero=1)


def factor_of(b: Builder, ratio: Number, values: ElementType) -> Number:
    """What data are multiplied by where they are not dropped; in f32 for types of 16 bits."""
    is_16_bits = values in _TABLES
    if isinstance(ratio, np.ndarray):
        scale: Number = scale_of(ratio.reshape(()), values)
        if is_16_bits:
            return _f32(b, scale)
        return scale
    work = F64 if values is F64 else F32
    one = b.constant(1, work.dtype)
    dropped = _type(b, ratio, work)
    left = b("Sub", one, dropped)
    # Not 1 / left: ONNX Runtime's optimiser divides the data themselves by that.
    two = b.constant(2, work.dtype)
    twice_left = b("Add", left, left)
    factor = b("Div", two, twice_left)
    if not is_16_bits:
        return factor
    rounded = _type(b, factor, values)
    return b.cast(rounded, _FLOAT)


def kept(
    b: Builder,
    data: ir.Value,
    dropped: ir.Value,
    factor: Number,
    values: ElementType,
) -> ir.Value:
    """Data, multiplied, with zeros where they are dropped."""
    if values in _TABLES:
        assert isinstance(factor, ir.Value), "in f32"
        wide = b.cast(data, _FLOAT)
        product = b("Mul", wide, factor)
        scaled = _type(b, product, values)
    else:
        scaled = _times(b, data, factor)
    zero = b.constant(0, values.dtype)
    if values is not BF16:
        return b("Where", dropped, zero, scaled)
    # ONNX Runtime has no Where of bf16.
    zero = b.f32(0)
    wide = b.cast(scaled, _FLOAT)
    bits = b("Where", dropped, zero, wide)
    return _type(b, bits, values)


def classes(
    b: Builder,
    words: ir.Value,
    logits: ir.Value,
    samples: int,
) -> ir.Value:
    """Indices of classes, int32 [batch, samples], by two words for each sample.

    Nodes:
        logits -> Sub ReduceMax -> exp -> CumSum, the sums -> the last one, the total
        words -> unit -> Reshape [batch, samples] -> Mul total -> thresholds
        sums LessOrEqual thresholds -> ReduceSum over the classes
    """
    u = unit(b, words, F64)
    rows = b("Shape", logits, start=0, end=1)
    columns = b.constant([samples])
    shape = b("Concat", rows, columns, axis=0)
    by_row = b("Reshape", u, shape, allowzero=1)
    return b.call("Classes", _classes, by_row, logits)[0]


def classes_once(
    b: Builder,
    words: ir.Value,
    logits: ir.Value,
    samples: int,
) -> ir.Value:
    """Indices of classes, each at most once in a row, int64 [batch, samples], by two words a class.

    Nodes:
        logits -> Sub ReduceMax -> exp -> weights
        words -> unit -> Reshape [batch, classes] -> Sub from 1 -> -2 ln -> Div weights -> times
        times -> Min, and Where weights are 0 infinity -> TopK, the smallest
    """
    u = unit(b, words, F64)
    shape = b("Shape", logits)
    by_row = b("Reshape", u, shape, allowzero=1)
    how_many = b.constant([samples])
    return b.call("ClassesOnce", _classes_once, by_row, logits, how_many)[0]


def _classes_once(
    b: Builder,
    u: ir.Value,
    logits: ir.Value,
    samples: ir.Value,
) -> Values:
    weights = _weights(b, logits)
    one = b.f64(1)
    rest = b("Sub", one, u)
    doubled = elementary_nodes.minus_two_ln(b, rest, F64, elementary_nodes.SHIFTS_TO_2_63)
    # Scaled by a power of two, times do not overflow. Those that would are equal then, and still
    # before those of classes without a weight.
    small = b("Mul", doubled, b.f64(2.0**-9))
    time = b("Div", small, weights)
    time = b("Min", time, b.f64(2.0**1016))
    is_without = b("Equal", weights, b.f64(0))
    never = b.f64(np.inf)
    time = b("Where", is_without, never, time)
    attributes = {"axis": 1, "largest": 0}
    _, first = b.node("TopK", (time, samples), attributes, outputs=2)
    return (first,)


def _weights(b: Builder, logits: ir.Value) -> ir.Value:
    wide = b.cast(logits, _DOUBLE)
    maximum = b("ReduceMax", wide, b.constant([1]))
    below = b("Sub", wide, maximum)
    return elementary_nodes.exp_nonpositive(b, below)


def _classes(b: Builder, u: ir.Value, logits: ir.Value) -> Values:
    axis = b.constant([1])
    weights = _weights(b, logits)
    sums = b("CumSum", weights, b.constant(1))
    last = b.constant([-1])
    end = b.constant([INT64_MAX])
    total = b("Slice", sums, last, end, axis)
    thresholds = b("Mul", u, total)
    last_axis = b.constant([2])
    thresholds = b("Unsqueeze", thresholds, last_axis)
    # The sums never fall, so the first greater one follows all those that are not greater.
    sums = b("Unsqueeze", sums, axis)
    is_passed = b("LessOrEqual", sums, thresholds)
    passed = b.cast(is_passed, _INT32)
    return (b("ReduceSum", passed, last_axis, keepdims=0),)
