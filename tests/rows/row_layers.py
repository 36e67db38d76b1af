"""Layers of chains: normalisations, products, convolutions, recurrent layers, attention."""

from __future__ import annotations

import numpy as np

from tests.rows.row_builder import (
    ONE,
    ROWS,
    Builder,
    Choices,
    Size,
    Value,
    batch_axes,
    factor_of,
    fixed_axes,
)
from tests.rows.row_steps import LARGEST


def cumulate(b: Builder, v: Value, c: Choices) -> Value:
    axis = c.below(v.rank)
    return b.kept(
        v,
        lambda: b.node("CumSum", v.name, b.int(axis), reverse=c.below(2), exclusive=0),
    )


def softmax(b: Builder, v: Value, c: Choices) -> Value:
    axis = c.below(v.rank)
    kind = c.one_of(["Softmax", "LogSoftmax", "LpNormalization"])
    return b.kept(v, lambda: b.node(kind, v.name, axis=axis))


def layer_norm(b: Builder, v: Value, _c: Choices) -> Value | None:
    size = v.dims[-1]
    if not size.is_fixed:
        return None
    return b.kept(
        v,
        lambda: b.node("LayerNormalization", v.name, b.floats(size.factor), b.floats(size.factor)),
    )


def batch_norm(b: Builder, v: Value, c: Choices) -> Value | None:
    """By channels, which are dimension 1: in inference, or by each instance."""
    if v.rank < 3 or not v.dims[1].is_fixed:
        return None
    channels = v.dims[1].factor
    kind = c.one_of(["BatchNormalization", "InstanceNormalization", "GroupNormalization"])

    def made() -> str:
        scale = b.floats(channels)
        bias = b.floats(channels)
        if kind == "BatchNormalization":
            ones = b.constant(np.ones(channels, np.float32))
            return b.node(kind, v.name, scale, bias, bias, ones)
        if kind == "GroupNormalization":
            return b.node(kind, v.name, scale, bias, num_groups=1)
        return b.node(kind, v.name, scale, bias)

    return b.kept(v, made)


def matmul(b: Builder, v: Value, c: Choices) -> Value | None:
    size = v.dims[-1]
    if v.rank < 2 or not size.is_fixed:
        return None
    width = c.one_of([4, 2, 6])
    made = b.node("MatMul", v.name, b.floats(size.factor, width))
    return Value(made, (*v.dims[:-1], Size(width)))


def matmul_left(b: Builder, v: Value, c: Choices) -> Value | None:
    """A matrix of weights before the value."""
    if v.rank < 2 or not v.dims[-2].is_fixed:
        return None
    height = c.one_of([4, 2])
    made = b.node("MatMul", b.floats(height, v.dims[-2].factor), v.name)
    return Value(made, (*v.dims[:-2], Size(height), v.dims[-1]))


def gemm(b: Builder, v: Value, c: Choices) -> Value | None:
    """A Gemm that may turn its first matrix, its second or none."""
    if v.rank != 2:
        return None
    turned = c.below(2)
    rows, inner = (v.dims[1], v.dims[0]) if turned else (v.dims[0], v.dims[1])
    if not inner.is_fixed:
        return None
    turned_weights = c.below(2)
    shape = (4, inner.factor) if turned_weights else (inner.factor, 4)
    made = b.node(
        "Gemm", v.name, b.floats(*shape), b.floats(4), transA=turned, transB=turned_weights
    )
    return Value(made, (rows, Size(4)))


def einsum(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank == 2:
        equation = c.one_of(["ab->ba", "ab,b->ab", "ab,ab->ab"])
        if equation == "ab->ba":
            return Value(b.node("Einsum", v.name, equation=equation), v.dims[::-1])
        if equation == "ab,b->ab":
            if not v.dims[1].is_fixed:
                return None
            weights = b.floats(v.dims[1].factor)
            return Value(b.node("Einsum", v.name, weights, equation=equation), v.dims)
        return Value(b.node("Einsum", v.name, v.name, equation=equation), v.dims)
    if v.rank == 3 and v.dims[2].is_fixed:
        equation = c.one_of(["abc,cd->abd", "abc,cd->bad"])
        made = b.node("Einsum", v.name, b.floats(v.dims[2].factor, 4), equation=equation)
        first, second = v.dims[:2]
        if equation == "abc,cd->bad":
            first, second = second, first
        return Value(made, (first, second, Size(4)))
    return None


def attention(b: Builder, v: Value, _c: Choices) -> Value | None:
    """By hand, over the last dimension but one: also over the batch, where it stands there."""
    if v.rank < 2:
        return None
    perm = list(range(v.rank))
    perm[-2:] = [v.rank - 1, v.rank - 2]

    def made() -> str:
        keys = b.node("Transpose", v.name, perm=perm)
        scores = b.node("MatMul", v.name, keys)
        return b.node("MatMul", b.node("Softmax", scores), v.name)

    return b.kept(v, made)


def scores(b: Builder, v: Value, _c: Choices) -> Value | None:
    """A product with itself, turned."""
    if v.rank < 2 or v.dims[-2].factor ** 2 > LARGEST:
        return None
    perm = list(range(v.rank))
    perm[-2:] = [v.rank - 1, v.rank - 2]
    made = b.node("MatMul", v.name, b.node("Transpose", v.name, perm=perm))
    return Value(made, (*v.dims[:-1], v.dims[-2]))


def convolution(b: Builder, v: Value, _c: Choices) -> Value | None:
    if v.rank not in (3, 4) or not v.dims[1].is_fixed or factor_of(v.dims) * 4 > LARGEST * 2:
        return None
    if not all(size.is_fixed for size in v.dims[2:]):
        return None
    spatial = v.rank - 2
    weights = b.floats(4, v.dims[1].factor, *[3] * spatial)
    made = b.node("Conv", v.name, weights, pads=[1] * (2 * spatial))
    return Value(made, (v.dims[0], Size(4), *v.dims[2:]))


def pool(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank not in (3, 4) or not all(size.is_fixed for size in v.dims[1:]):
        return None
    kind = c.one_of(["AveragePool", "GlobalAveragePool", "LpPool"])
    if kind == "GlobalAveragePool":
        made = b.node(kind, v.name)
        return Value(made, (*v.dims[:2], *[ONE] * (v.rank - 2)))
    if any(size.factor < 2 for size in v.dims[2:]):
        return None
    made = b.node(kind, v.name, kernel_shape=[2] * (v.rank - 2))
    return Value(made, (*v.dims[:2], *[Size(size.factor - 1) for size in v.dims[2:]]))


def resize(b: Builder, v: Value, _c: Choices) -> Value | None:
    if v.rank not in (3, 4) or factor_of(v.dims) * 4 > LARGEST:
        return None
    if not all(size.is_fixed for size in v.dims[2:]):
        return None
    scales = b.constant(np.array([1, 1, *[2] * (v.rank - 2)], np.float32))
    made = b.node(
        "Resize", v.name, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )  # fmt: skip
    return Value(made, (*v.dims[:2], *[Size(size.factor * 2) for size in v.dims[2:]]))


def space_to_depth(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank != 4:
        return None
    first, channels, height, width = v.dims
    if c.below(2):
        if channels.factor % 4 or not channels.is_fixed or height.power > 1:
            return None
        made = b.node("DepthToSpace", v.name, blocksize=2, mode=c.one_of(["DCR", "CRD"]))
        channels = Size(channels.factor // 4)
        return Value(made, (first, channels, height * Size(2), width * Size(2)))
    if height.factor % 2 or width.factor % 2:
        return None
    made = b.node("SpaceToDepth", v.name, blocksize=2)
    height = Size(height.factor // 2, height.power)
    width = Size(width.factor // 2, width.power)
    return Value(made, (first, channels * Size(4), height, width))


def space_to_batch(b: Builder, v: Value, _c: Choices) -> Value | None:
    """As TensorFlow's SpaceToBatch is written: blocks of a fixed dimension go before the batch."""
    axes = [axis for axis in fixed_axes(v.dims) if v.dims[axis].factor % 2 == 0]
    batches = batch_axes(v.dims)
    if not axes or batches != [0] or v.dims[0].power > 1:
        return None
    axis = axes[0]
    apart = [size.factor if size.is_fixed else -1 for size in v.dims]
    apart[axis : axis + 1] = [apart[axis] // 2, 2]
    wide = b.node("Reshape", v.name, b.ints(*apart))
    perm = [axis + 1, *[each for each in range(v.rank + 1) if each != axis + 1]]
    turned = b.node("Transpose", wide, perm=perm)
    dims = list(v.dims)
    dims[0] = dims[0] * Size(2)
    dims[axis] = Size(dims[axis].factor // 2)
    target = [size.factor if size.is_fixed else -1 for size in dims]
    return Value(b.node("Reshape", turned, b.ints(*target)), tuple(dims))


def recurrent(b: Builder, v: Value, c: Choices) -> Value | None:
    """LSTM, GRU or RNN over the first dimension, forwards, backwards or both."""
    if v.rank != 3 or not v.dims[2].is_fixed or v.dims[0].power + v.dims[1].power > 1:
        return None
    kind = c.one_of(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    direction = c.one_of(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    weights = b.floats(ways, gates * 3, v.dims[2].factor)
    scale = b.constant(np.array(0.1, np.float32))
    small = b.node("Mul", weights, scale)
    recurrence = b.node("Mul", b.floats(ways, gates * 3, 3), scale)
    # A gate that is rounded to 1 lets nothing of its own row through, which tracing would miss.
    bounded = b.node("Softsign", v.name)
    outputs = b.nodes(kind, bounded, small, recurrence, count=2, hidden_size=3, direction=direction)
    if c.below(3) == 0:
        return Value(outputs[1], (Size(ways), v.dims[1], Size(3)))
    turned = b.node("Transpose", outputs[0], perm=[0, 2, 1, 3])
    made = b.node("Reshape", turned, b.ints(0, 0, 3 * ways))
    return Value(made, (v.dims[0], v.dims[1], Size(3 * ways)))


def one_hot(b: Builder, v: Value, c: Choices) -> Value | None:
    """Of a value cut to integers; the depth is a constant, or as many as there are rows."""
    if v.rank > 3 or factor_of(v.dims) * 4 > LARGEST:
        return None
    index = b.node("Cast", v.name, to=7)
    values = b.constant(np.array([0, 1], np.float32))
    by_rows = c.below(4) == 0 and b.scope.kind != "Scan"
    depth = b.ints(4)
    if by_rows:
        batch = b.origin.dims.index(ROWS)
        depth = b.node("Shape", "x", start=batch, end=batch + 1)
    made = b.node("OneHot", index, depth, values, axis=-1)
    # Its numbers are whole: what follows a value is added, so that each element can be traced.
    wide = b.node("Unsqueeze", v.name, b.ints(-1))
    return Value(b.node("Add", made, wide), (*v.dims, Size(1, 1) if by_rows else Size(4)))


def sequence(b: Builder, v: Value, c: Choices) -> Value | None:
    """Two values in a sequence, of which one is taken out; or a value that is split and joined."""
    how = c.below(3)
    # OpenVINO 2026.4 loads no model that reads, in a body, the shape of what was split and joined.
    is_in_body = b.scope.kind in ("If", "Loop", "Scan")
    if how == 0 or is_in_body:
        pair = b.node("SequenceConstruct", v.name, b.node("Neg", v.name))
        return Value(b.node("SequenceAt", pair, b.int(c.below(2))), v.dims)
    axis = c.below(v.rank)
    b.has_bookless |= not v.dims[axis].is_fixed
    parts = b.node("SplitToSequence", v.name, axis=axis)
    if how == 1:
        return Value(b.node("ConcatFromSequence", parts, axis=axis), v.dims)
    taken = b.node("SequenceErase", parts, b.int(0))
    turned = b.node("SequenceInsert", taken, b.node("SequenceAt", parts, b.int(0)))
    return Value(b.node("ConcatFromSequence", turned, axis=axis), v.dims)


def trilu(b: Builder, v: Value, c: Choices) -> Value | None:
    if v.rank < 2:
        return None
    # What it keeps of a row is said by the row's number.
    is_of_rows = any(not size.is_fixed for size in v.dims[-2:])
    b.is_by_place |= b.is_on_noise and is_of_rows
    return b.kept(v, lambda: b.node("Trilu", v.name, upper=c.below(2)))


def zeros_like(b: Builder, v: Value, _c: Choices) -> Value:
    """A value of the same shape that no row's input has a part in, added."""
    zeros = b.node("ConstantOfShape", b.node("Shape", v.name))
    return Value(b.node("Add", v.name, zeros), v.dims)
