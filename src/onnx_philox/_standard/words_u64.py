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


def words(b: Builder, state: ir.Value, count: ir.Value, seeds: ir.Value) -> Values:
    """The first words of each state, uint32 [B, count].

    The state is uint32, one or [B, 6], and `count` int64 [1]. `seeds` are uint64 [3, 1]: what is
    added to the halves of the counter, and to the key.

    Nodes:
        state -> low, high, key of each row -> Add seeds -> Pad and Reshape to groups of rows
        count -> blocks -> chunks of at most 8192 of them
        groups, chunks -> Scan (Gather group -> ten rounds) -> Reshape to rows -> Slice to count
    """
    pairs = b("Add", _pairs(b, state), seeds)
    zero = b.constant(0)
    one = b.constant([1])
    axis = b.constant([0])

    def up_to(end: ir.Value) -> ir.Value:
        return b("Range", zero, b("Squeeze", end, axis), b.constant(1))

    # A step draws a chunk of one row, or several whole rows: either way the steps lie in order.
    rows = b("Shape", pairs, start=1, end=2)
    blocks = _blocks(b, count)
    chunks, blocks_at_once = _divided(b, blocks, b.constant([_BLOCKS_AT_ONCE]))
    # This is 1 if a row has several chunks: each is then over half of the longest chunk.
    most_rows = b("Div", b.constant([_BLOCKS_AT_ONCE]), blocks_at_once)
    groups, rows_at_once = _divided(b, rows, most_rows)
    step = up_to(b("Mul", groups, chunks))
    first_block = b("Mul", b("Mod", step, chunks), blocks_at_once)
    start = b.cast(first_block, _U64)
    within = b("Reshape", up_to(blocks_at_once), b.constant([1, 1, -1]))
    within = b.cast(within, _U64)
    filled = b("Mul", groups, rows_at_once)
    nothing = b.constant([0, 0, 0])
    missing = b("Concat", nothing, b("Sub", filled, rows), axis=0)
    by_group = b("Concat", b.constant([3]), groups, rows_at_once, one, axis=0)
    padded = b("Pad", pairs, missing)
    grouped = b("Reshape", padded, by_group, allowzero=1)

    def draw(b: Builder, group: ir.Value, start: ir.Value) -> Values:
        states = b("Gather", grouped, group, axis=1)
        position = b("Add", start, within)
        return (_drawn(b, states, position),)

    group = b("Div", step, chunks)
    inputs = (_scalar("group", _I64), _scalar("start", _U64))
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
    shift = b.constant(np.reshape(_SHIFT, (1, 1, 1)), np.uint64)
    mask = b.constant(np.reshape(_MASK, (1, 1, 1)), np.uint64)
    low, high, key = b.split(pairs, 3)
    lower_key = b("BitwiseAnd", key, mask)
    upper_key = b("BitShift", key, shift, direction="RIGHT")
    keys = b("Concat", lower_key, upper_key, axis=0)
    # Each round has the key of the one before, bumped.
    bumps = np.outer(np.arange(10), _philox.WEYL) % 2**32
    keys = b("Tile", keys, b.constant([10, 1, 1]))
    keys = b("Add", keys, b.constant(bumps.reshape(20, 1, 1), np.uint64))
    keys = b("BitwiseAnd", keys, mask)

    low_sum = b("Add", low, position)
    carry = b.cast(b("Less", low_sum, low), _U64)
    high_sum = b("Add", high, carry)
    counter = b("Concat", low_sum, high_sum, axis=0)
    even = b("BitwiseAnd", counter, mask)
    odd = b("BitShift", counter, shift, direction="RIGHT")
    multipliers = b.constant(np.reshape(_philox.MULTIPLIERS, (2, 1, 1)), np.uint64)
    for key in b.split(keys, 10):
        product = b("Mul", even, multipliers)
        product = b("Gather", product, b.constant([1, 0]), axis=0)
        upper = b("BitShift", product, shift, direction="RIGHT")
        changed = b("BitwiseXor", odd, key)
        even = b("BitwiseXor", upper, changed)
        odd = b("BitwiseAnd", product, mask)
    axis = b.constant([1])
    pair = [b("Unsqueeze", b.cast(x, _U32), axis) for x in (even, odd)]
    words = b("Concat", *pair, axis=1)
    return b("Transpose", words, perm=[2, 3, 0, 1])


def next_state(b: Builder, state: ir.Value, count: ir.Value) -> Values:
    """The state after so many words of it (int64 [1]), uint32 of its shape.

    Nodes:
        state -> low, high, key -> low Add blocks -> Less, the carry -> high Add carry
        low, high, key -> And mask and BitShift 32 -> Concat -> Transpose -> Reshape
    """
    low, high, key = b.split(_pairs(b, state), 3)
    blocks = b.cast(_blocks(b, count), _U64)
    low_sum = b("Add", low, blocks)
    carry = b.cast(b("Less", low_sum, low), _U64)
    high = b("Add", high, carry)
    pairs = b("Concat", low_sum, high, key, axis=0)
    pairs = b("Unsqueeze", pairs, b.constant([1]))
    shift = b.constant(_SHIFT, np.uint64)
    mask = b.constant(_MASK, np.uint64)
    lower = b("BitwiseAnd", pairs, mask)
    upper = b("BitShift", pairs, shift, direction="RIGHT")
    words = b.cast(b("Concat", lower, upper, axis=1), _U32)
    by_row = b("Transpose", words, perm=[2, 0, 1])
    return (b("Reshape", by_row, b("Shape", state), allowzero=1),)


def _pairs(b: Builder, state: ir.Value) -> ir.Value:
    """The halves of the counter, and the key, of each state: uint64 [3, B]."""
    by_row = b("Reshape", state, b.constant([-1, 6]))
    by_word = b("Transpose", by_row, perm=[1, 0])
    wide = b.cast(by_word, _U64)
    lower = b("Gather", wide, b.constant([0, 2, 4]), axis=0)
    upper = b("Gather", wide, b.constant([1, 3, 5]), axis=0)
    shifted = b("BitShift", upper, b.constant(_SHIFT, np.uint64), direction="LEFT")
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
    more = b("Sub", b("Add", number, divisor), b.constant([1]))
    return b("Div", more, divisor)


def _scalar(name: str, type_: ir.DataType) -> ir.Value:
    return ir.Value(name=name, type=ir.TensorType(type_), shape=ir.Shape([]))
