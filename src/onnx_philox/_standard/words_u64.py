"""The generator's words in 64-bit integers, for ONNX Runtime.

Its kernels of uint64 multiply, add and shift exactly; a Scan over blocks keeps what lies between
them in the cache.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox import _philox
from onnx_philox._models.emitter import Values
from onnx_philox._standard.builder import Builder

# Blocks that are drawn at a time: what lies between the rounds stays in a processor's cache.
_BLOCKS_AT_ONCE = 2**13
_SHIFT = 32
_MASK = 0xFFFFFFFF
_U32 = ir.DataType.UINT32
_U64 = ir.DataType.UINT64
_I64 = ir.DataType.INT64


def words(
    b: Builder,
    state: ir.Value,
    count: ir.Value,
    seeds: ir.Value,
) -> Values:
    """The first words of each state, uint32 [B, count].

    The state is uint32, one or [B, 6], and `count` int64 [1]. `seeds` are uint64 [3, 1]: what is
    added to the halves of the counter, and to the key.

    Nodes:
        state -> low, high, key of each row -> Add seeds -> Pad and Reshape to groups of rows
        count -> blocks -> chunks of at most 8192 of them
        groups, chunks -> Scan (Gather group -> ten rounds) -> Reshape to rows -> Slice to count
    """
    pairs = _pairs(b, state)
    pairs = b("Add", pairs, seeds)
    zero = b.constant(0)
    one = b.constant([1])
    axis = b.constant([0])

    def up_to(end: ir.Value) -> ir.Value:
        """0 to a number, which is [1]."""
        length = b("Squeeze", end, axis)
        return b("Range", zero, length, b.constant(1))

    # A step draws a chunk of one row, or several whole rows: either way the steps lie in order.
    rows = b("Shape", pairs, start=1, end=2)
    blocks = _blocks(b, count)
    most_blocks = b.constant([_BLOCKS_AT_ONCE])
    chunks, blocks_at_once = _divided(b, blocks, most_blocks)
    # This is 1 if a row has several chunks: each is then over half of the longest chunk.
    most_rows = b("Div", most_blocks, blocks_at_once)
    groups, rows_at_once = _divided(b, rows, most_rows)
    steps = b("Mul", groups, chunks)
    step = up_to(steps)
    chunk = b("Mod", step, chunks)
    first_block = b("Mul", chunk, blocks_at_once)
    start = b.cast(first_block, _U64)
    blocks_of_step = up_to(blocks_at_once)
    within = b("Reshape", blocks_of_step, b.constant([1, 1, -1]))
    within = b.cast(within, _U64)
    filled = b("Mul", groups, rows_at_once)
    nothing = b.constant([0, 0, 0])
    missing = b("Sub", filled, rows)
    padding = b("Concat", nothing, missing, axis=0)
    three = b.constant([3])
    by_group = b("Concat", three, groups, rows_at_once, one, axis=0)
    padded = b("Pad", pairs, padding)
    grouped = b("Reshape", padded, by_group, allowzero=1)

    def draw(b: Builder, group: ir.Value, start: ir.Value) -> Values:
        states = b("Gather", grouped, group, axis=1)
        position = b("Add", start, within)
        return (_drawn(b, states, position),)

    group = b("Div", step, chunks)
    inputs = (
        _scalar("group", _I64),
        _scalar("start", _U64),
    )
    body = b.subgraph(inputs, draw)
    drawn = b("Scan", group, start, body=body, num_scan_inputs=2)
    blocks_of_row = b("Mul", chunks, blocks_at_once)
    words_of_row = b("Mul", blocks_of_row, b.constant([4]))
    of_rows = b("Concat", filled, words_of_row, axis=0)
    by_row = b("Reshape", drawn, of_rows, allowzero=1)
    begins = b.constant([0, 0])
    ends = b("Concat", rows, count, axis=0)
    return (b("Slice", by_row, begins, ends),)


def _drawn(b: Builder, pairs: ir.Value, position: ir.Value) -> ir.Value:
    """The words of the blocks at these positions from each state: uint32 [B, blocks, 2, 2].

    `pairs` are the states as uint64 [3, B, 1]; positions are uint64 [1, 1, blocks].

    Nodes:
        low, high Add position -> counter -> even = And mask, odd = BitShift 32
        ten times: even Mul multipliers -> swapped -> even = upper Xor odd Xor key, odd = lower
        even, odd -> Concat -> Transpose
    """
    # Of rank 3: beside a last dimension of 1, ONNX Runtime takes 20 times as long with a scalar.
    shift = b.u64(np.reshape(_SHIFT, (1, 1, 1)))
    mask = b.u64(np.reshape(_MASK, (1, 1, 1)))
    low, high, key = b.split(pairs, 3)
    lower_key = b("BitwiseAnd", key, mask)
    upper_key = b("BitShift", key, shift, direction="RIGHT")
    keys = b("Concat", lower_key, upper_key, axis=0)
    # Each round has the key of the one before, bumped.
    bumps = np.outer(np.arange(10), _philox.WEYL) % 2**32
    keys = b("Tile", keys, b.constant([10, 1, 1]))
    keys = b("Add", keys, b.u64(bumps.reshape(20, 1, 1)))
    keys = b("BitwiseAnd", keys, mask)

    low_sum = b("Add", low, position)
    is_carried = b("Less", low_sum, low)
    carry = b.cast(is_carried, _U64)
    high_sum = b("Add", high, carry)
    counter = b("Concat", low_sum, high_sum, axis=0)
    even = b("BitwiseAnd", counter, mask)
    odd = b("BitShift", counter, shift, direction="RIGHT")
    factors = np.reshape(_philox.MULTIPLIERS, (2, 1, 1))
    multipliers = b.u64(factors)
    for key in b.split(keys, 10):
        product = b("Mul", even, multipliers)
        swap = b.constant([1, 0])
        product = b("Gather", product, swap, axis=0)
        upper = b("BitShift", product, shift, direction="RIGHT")
        changed = b("BitwiseXor", odd, key)
        even = b("BitwiseXor", upper, changed)
        odd = b("BitwiseAnd", product, mask)
    axis = b.constant([1])
    pair = []
    for half in (even, odd):
        words = b.cast(half, _U32)
        pair.append(b("Unsqueeze", words, axis))
    words = b("Concat", *pair, axis=1)
    return b("Transpose", words, perm=[2, 3, 0, 1])


def next_state(b: Builder, state: ir.Value, count: ir.Value) -> Values:
    """The state after so many words of it (int64 [1]), uint32 of its shape.

    Nodes:
        state -> low, high, key -> low Add blocks -> Less, the carry -> high Add carry
        low, high, key -> And mask and BitShift 32 -> Concat -> Transpose -> Reshape
    """
    pairs = _pairs(b, state)
    low, high, key = b.split(pairs, 3)
    blocks = _blocks(b, count)
    blocks = b.cast(blocks, _U64)
    low_sum = b("Add", low, blocks)
    is_carried = b("Less", low_sum, low)
    carry = b.cast(is_carried, _U64)
    high = b("Add", high, carry)
    pairs = b("Concat", low_sum, high, key, axis=0)
    pairs = b("Unsqueeze", pairs, b.constant([1]))
    shift = b.u64(_SHIFT)
    mask = b.u64(_MASK)
    lower = b("BitwiseAnd", pairs, mask)
    upper = b("BitShift", pairs, shift, direction="RIGHT")
    words = b("Concat", lower, upper, axis=1)
    words = b.cast(words, _U32)
    by_row = b("Transpose", words, perm=[2, 0, 1])
    shape = b("Shape", state)
    return (b("Reshape", by_row, shape, allowzero=1),)


def _pairs(b: Builder, state: ir.Value) -> ir.Value:
    """The halves of the counter, and the key, of each state: uint64 [3, B]."""
    shape = b.constant([-1, 6])
    by_row = b("Reshape", state, shape)
    by_word = b("Transpose", by_row, perm=[1, 0])
    wide = b.cast(by_word, _U64)
    evens = b.constant([0, 2, 4])
    lower = b("Gather", wide, evens, axis=0)
    odds = b.constant([1, 3, 5])
    upper = b("Gather", wide, odds, axis=0)
    shifted = b("BitShift", upper, b.u64(_SHIFT), direction="LEFT")
    return b("BitwiseOr", lower, shifted)


def _blocks(b: Builder, count: ir.Value) -> ir.Value:
    more = b("Add", count, b.constant([3]))
    return b("Div", more, b.constant([4]))


def _divided(b: Builder, number: ir.Value, most: ir.Value) -> Values:
    """Into how few parts of at most so many a number goes, and how large they are; 0 as 1."""
    number = b("Max", number, b.constant([1]))
    parts = _ceil(b, number, most)
    return parts, _ceil(b, number, parts)


def _ceil(b: Builder, number: ir.Value, divisor: ir.Value) -> ir.Value:
    """The quotient of integers of 0 or more, rounded up."""
    total = b("Add", number, divisor)
    more = b("Sub", total, b.constant([1]))
    return b("Div", more, divisor)


def _scalar(name: str, type_: ir.DataType) -> ir.Value:
    tensor = ir.TensorType(type_)
    return ir.Value(name=name, type=tensor, shape=ir.Shape([]))
