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
    fraction = b("BitwiseAnd", words, b.constant(2**23 - 1, np.uint32))
    number = b.cast(fraction, ir.DataType.FLOAT)
    return (b("Mul", number, b.constant(2.0**-23, np.float32)),)


def _unit_f64(b: Builder, words: ir.Value) -> Values:
    first, second = _pairs(b, words)
    high = b("BitwiseAnd", first, b.constant(2**20 - 1, np.uint32))
    high = b.cast(high, ir.DataType.UINT64)
    low = b.cast(second, ir.DataType.UINT64)
    number = b.cast(_joined(b, high, low), ir.DataType.DOUBLE)
    return (b("Mul", number, b.constant(2.0**-52, np.float64)),)


def _pairs(b: Builder, numbers: ir.Value) -> Values:
    """Every second number of each row, from the first on and from the second on."""
    axis = b.constant([1])
    end = b.constant([INT64_MAX])
    step = b.constant([2])
    return (
        b("Slice", numbers, b.constant([0]), end, axis, step),
        b("Slice", numbers, b.constant([1]), end, axis, step),
    )


def _joined(b: Builder, high: ir.Value, low: ir.Value) -> ir.Value:
    """uint64 numbers of their halves."""
    shifted = b("BitShift", high, b.constant(32, np.uint64), direction="LEFT")
    return b("BitwiseOr", shifted, low)


def uniform(
    b: Builder, words: ir.Value, minval: Number, maxval: Number, values: ElementType
) -> ir.Value:
    """Floats in a range.

    Nodes:
        f16, bf16:  words -> And -> Gather from a table of all values
        f32, f64:   words -> unit -> Mul (maxval - minval) -> Sum minval
    """
    if values in _TABLES:
        return _look_up(b, words, minval, maxval, values)
    return scaled(b, unit(b, words, values), minval, maxval)


def scaled(b: Builder, u: ir.Value, minval: Number, maxval: Number) -> ir.Value:
    """Uniforms in [0, 1), brought into a range."""
    scaled = _times(b, u, _difference(b, maxval, minval))
    if isinstance(minval, np.ndarray) and minval == 0:
        # No product is negative, or -0.
        return scaled
    return _plus(b, scaled, minval)


_TABLES = (F16, BF16)


def _look_up(
    b: Builder, words: ir.Value, minval: Number, maxval: Number, values: ElementType
) -> ir.Value:
    """Floats of so few possible values that each is computed once."""
    count = 2 ** _FRACTION_BITS[values]
    if isinstance(minval, np.ndarray) and isinstance(maxval, np.ndarray):
        draw = Uniform(minval.reshape(()), maxval.reshape(())).converter(values)
        made = draw(0, np.arange(count, dtype=np.uint32))
        table = b.constant(made, values.dtype)
    else:
        fractions = b.constant(np.arange(count) / count, np.float32)
        upper = _f32(b, maxval)
        width = _rounded(b, "Sub", upper, _f32(b, minval), values)
        product = _rounded(b, "Mul", fractions, width, values)
        total = b("Add", product, _f32(b, minval))
        table = _type(b, total, values)
    index = b("BitwiseAnd", words, b.constant(count - 1, np.uint32))
    return b("Gather", table, b.cast(index, ir.DataType.INT32))


def _f32(b: Builder, number: Number) -> ir.Value:
    if isinstance(number, np.ndarray):
        return b.constant(number.astype(np.float32), np.float32)
    return b.cast(number, ir.DataType.FLOAT)


def _type(b: Builder, value: ir.Value, values: ElementType) -> ir.Value:
    return b.cast(value, ir.DataType(values.onnx))


def _rounded(b: Builder, op_type: str, x: ir.Value, y: ir.Value, values: ElementType) -> ir.Value:
    """An operation in f16 or bf16, its result in f32.

    Twice rounded is as good as once: f32 has more than twice as many bits, and two.
    """
    rounded = _type(b, b(op_type, x, y), values)
    return b.cast(rounded, ir.DataType.FLOAT)


def _difference(b: Builder, x: Number, y: Number) -> Number:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        difference = np.subtract(x.reshape(()), y.reshape(()))
        return np.asarray(difference)
    return b("Sub", _value(b, x), _value(b, y))


def _value(b: Builder, number: Number) -> ir.Value:
    if not isinstance(number, np.ndarray):
        return number
    return b.constant(number.reshape(()), number.dtype)


def _times(b: Builder, x: ir.Value, factor: Number) -> ir.Value:
    if not isinstance(factor, np.ndarray):
        return b("Mul", x, factor)
    if factor == 1:
        return x
    with np.errstate(over="ignore"):
        is_one_in_f32 = factor.astype(np.float32) == 1
    if is_one_in_f32:
        # ONNX Runtime drops a Mul by an f64 that is 1 in f32. Halving it is exact.
        half = b("Mul", x, b.constant(factor / 2, factor.dtype))
        return b("Mul", half, b.constant(2, factor.dtype))
    return b("Mul", x, _value(b, factor))


def _plus(b: Builder, x: ir.Value, number: Number) -> ir.Value:
    """The sum with a number.

    ONNX Runtime drops an Add of a constant that is 0 in f32, an f64 of 1e-310 too. It keeps a Sum,
    where -0 + 0 is 0.
    """
    return b("Sum", x, _value(b, number))


def integers(
    b: Builder, words: ir.Value, minval: Number, maxval: Number, values: ElementType
) -> ir.Value:
    """Integers in a range, by the remainder of words.

    Nodes:
        words -> (i64: pairs -> Or) -> Mod (maxval - minval) -> Add minval -> Cast
    """
    unsigned = ir.DataType.UINT32 if values is I32 else ir.DataType.UINT64
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
        base = b.cast(_value(b, minval), unsigned)
        end = b.cast(_value(b, maxval), unsigned)
        divisor = b("Sub", end, base)
        # Bounds in the wrong order must not divide by 0, which would end the process.
        divisor = b("Max", divisor, b.constant(1, dtype))
    rest = b("Mod", x, divisor)
    return _type(b, b("Add", rest, base), values)


def _words64(b: Builder, words: ir.Value) -> Values:
    first, second = _pairs(b, words)
    low = b.cast(first, ir.DataType.UINT64)
    high = b.cast(second, ir.DataType.UINT64)
    return (_joined(b, high, low),)


def normal(
    b: Builder, words: ir.Value, mean: Number, scale: Number, values: ElementType
) -> ir.Value:
    """Normals; one more than asked for where that is odd.

    Nodes:
        words -> unit -> pairs -> Box and Muller -> joined -> Mul scale -> Sum mean
    """
    work = F64 if values is F64 else F32
    body = partial(_standard, values=work)
    standard = b.call(f"Normal{work.name.upper()}", body, words)[0]
    if values in (F32, F64):
        return moved(b, standard, mean, scale)
    rounded = _type(b, standard, values)
    standard = b.cast(rounded, ir.DataType.FLOAT)
    product = _rounded(b, "Mul", standard, _f32(b, scale), values)
    if isinstance(mean, np.ndarray):
        mean = mean.astype(np.float32)
    else:
        mean = _f32(b, mean)
    total = _plus(b, product, mean)
    return _type(b, total, values)


def moved(b: Builder, standard: ir.Value, mean: Number, scale: Number) -> ir.Value:
    """Standard normals of f32 or f64, with a mean and a scale."""
    scaled = _times(b, standard, scale)
    return _plus(b, scaled, mean)


def _standard(b: Builder, words: ir.Value, values: ElementType) -> Values:
    u = unit(b, words, values)
    # As one row: ONNX Runtime takes 20 times as long beside a last dimension of 1.
    drawn = standard_normals(b, b("Reshape", u, b.constant([1, -1])), values)
    return (b("Reshape", *drawn, b("Shape", u), allowzero=1),)


def standard_normals(b: Builder, u: ir.Value, values: ElementType) -> Values:
    """Standard normals of uniforms [B, an even number]."""
    last = b.constant([2])
    first, second = _pairs(b, u)
    pair = elementary_nodes.normal_pairs(b, first, second, values)
    columns = [b("Unsqueeze", x, last) for x in pair]
    joined = b("Concat", *columns, axis=2)
    return (b("Flatten", joined, axis=1),)


def exponential(b: Builder, words: ir.Value, scale: Number, values: ElementType) -> ir.Value:
    """Exponentials of f32 or f64.

    Nodes:
        words -> middle of each step in (0, 1) -> -ln -> Mul scale
    """
    body = partial(_exponential, values=values)
    standard = b.call(f"Exponential{values.name.upper()}", body, words)[0]
    return _times(b, standard, scale)


def _exponential(b: Builder, words: ir.Value, values: ElementType) -> Values:
    if values is F64:
        middle = b("Add", unit(b, words, F64), b.constant(2.0**-53, np.float64))
        return (_minus_ln(b, middle),)
    step = b.constant(2.0**-32, np.float64)
    number = b.cast(words, ir.DataType.DOUBLE)
    middle = b("Add", number, b.constant(0.5, np.float64))
    drawn = _minus_ln(b, b("Mul", middle, step))
    return (_type(b, drawn, F32),)


def _minus_ln(b: Builder, u: ir.Value) -> ir.Value:
    # As one row, like normals.
    row = b("Reshape", u, b.constant([1, -1]))
    twice = elementary_nodes.minus_two_ln(b, row, F64, elementary_nodes.SHIFTS_TO_2_63)
    half = b("Mul", twice, b.constant(0.5, np.float64))
    return b("Reshape", half, b("Shape", u), allowzero=1)


def factor_of(b: Builder, ratio: Number, values: ElementType) -> Number:
    """What data are multiplied by where they are not dropped; in f32 for types of 16 bits."""
    is_16_bits = values in _TABLES
    if isinstance(ratio, np.ndarray):
        scale: Number = scale_of(ratio.reshape(()), values)
        return _f32(b, scale) if is_16_bits else scale
    work = F64 if values is F64 else F32
    left = b("Sub", b.constant(1, work.dtype), _type(b, ratio, work))
    # Not 1 / left: ONNX Runtime's optimiser divides the data themselves by that.
    factor = b("Div", b.constant(2, work.dtype), b("Add", left, left))
    if not is_16_bits:
        return factor
    return b.cast(_type(b, factor, values), ir.DataType.FLOAT)


def kept(
    b: Builder, data: ir.Value, dropped: ir.Value, factor: Number, values: ElementType
) -> ir.Value:
    """Data, multiplied, with zeros where they are dropped."""
    if values in _TABLES:
        assert isinstance(factor, ir.Value), "in f32"
        scaled = _type(b, b("Mul", b.cast(data, ir.DataType.FLOAT), factor), values)
    else:
        scaled = _times(b, data, factor)
    zero = b.constant(0, values.dtype)
    if values is not BF16:
        return b("Where", dropped, zero, scaled)
    # ONNX Runtime has no Where of bf16.
    bits = b("Where", dropped, b.constant(0, np.float32), b.cast(scaled, ir.DataType.FLOAT))
    return _type(b, bits, values)


def classes(b: Builder, words: ir.Value, logits: ir.Value, samples: int) -> ir.Value:
    """Indices of classes, int32 [batch, samples], by two words for each sample.

    Nodes:
        logits -> Sub ReduceMax -> exp -> CumSum, the sums -> the last one, the total
        words -> unit -> Reshape [batch, samples] -> Mul total -> thresholds
        sums LessOrEqual thresholds -> ReduceSum over the classes
    """
    u = unit(b, words, F64)
    rows = b("Shape", logits, start=0, end=1)
    shape = b("Concat", rows, b.constant([samples]), axis=0)
    by_row = b("Reshape", u, shape, allowzero=1)
    return b.call("Classes", _classes, by_row, logits)[0]


def classes_once(b: Builder, words: ir.Value, logits: ir.Value, samples: int) -> ir.Value:
    """Indices of classes, each at most once in a row, int64 [batch, samples], by two words a class.

    Nodes:
        logits -> Sub ReduceMax -> exp -> weights
        words -> unit -> Reshape [batch, classes] -> Sub from 1 -> -2 ln -> Div weights -> times
        times -> Min, and Where weights are 0 infinity -> TopK, the smallest
    """
    u = unit(b, words, F64)
    by_row = b("Reshape", u, b("Shape", logits), allowzero=1)
    return b.call("ClassesOnce", _classes_once, by_row, logits, b.constant([samples]))[0]


def _classes_once(b: Builder, u: ir.Value, logits: ir.Value, samples: ir.Value) -> Values:
    weights = _weights(b, logits)
    one = b.constant(1, np.float64)
    rest = b("Sub", one, u)
    doubled = elementary_nodes.minus_two_ln(b, rest, F64, elementary_nodes.SHIFTS_TO_2_63)
    # Scaled by a power of two, times do not overflow. Those that would are equal then, and still
    # before those of classes without a weight.
    small = b("Mul", doubled, b.constant(2.0**-9, np.float64))
    time = b("Div", small, weights)
    time = b("Min", time, b.constant(2.0**1016, np.float64))
    is_without = b("Equal", weights, b.constant(0, np.float64))
    never = b.constant(np.inf, np.float64)
    time = b("Where", is_without, never, time)
    _, first = b.node("TopK", (time, samples), {"axis": 1, "largest": 0}, outputs=2)
    return (first,)


def _weights(b: Builder, logits: ir.Value) -> ir.Value:
    wide = b.cast(logits, ir.DataType.DOUBLE)
    maximum = b("ReduceMax", wide, b.constant([1]))
    return elementary_nodes.exp_nonpositive(b, b("Sub", wide, maximum))


def _classes(b: Builder, u: ir.Value, logits: ir.Value) -> Values:
    axis = b.constant([1])
    weights = _weights(b, logits)
    sums = b("CumSum", weights, b.constant(1))
    last = b.constant([-1])
    end = b.constant([INT64_MAX])
    total = b("Slice", sums, last, end, axis)
    thresholds = b("Mul", u, total)
    thresholds = b("Unsqueeze", thresholds, b.constant([2]))
    # The sums never fall, so the first greater one follows all those that are not greater.
    is_passed = b("LessOrEqual", b("Unsqueeze", sums, axis), thresholds)
    passed = b.cast(is_passed, ir.DataType.INT32)
    return (b("ReduceSum", passed, b.constant([2]), keepdims=0),)
