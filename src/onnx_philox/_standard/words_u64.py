"""The generator's words in 64-bit integers, for ONNX Runtime.

Its kernels of uint64 multiply, add and shift exactly; a Scan over blocks keeps what lies between
them in the cache.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox import _philox
from onnx_philox._standard.builder import Builder, Values

# Blocks that are drawn at a time: what lies between the rounds stays in a processor's cache.
_BLOCKS_AT_ONCE = 2**13
_U32, _U64 = ir.DataType.UINT32, ir.DataType.UINT64


def words_of_one(b: Builder, state: ir.Value, count: ir.Value, seeds: ir.Value) -> Values:
    """The first words of one state, where nothing need be put in the order of rows."""
    return _words(b, state, count, seeds, is_one=True)


def words(b: Builder, state: ir.Value, count: ir.Value, seeds: ir.Value) -> Values:
    """The first words of each state.

    Args:
        b: Where the nodes go.
        state: uint32, one state, or [B, 6].
        count: int64 [1], how many words of each.
        seeds: uint64 [3, 1, 1]: what is added to the halves of the counter, and to the key.

    Returns:
        uint32 [B, count].
    """
    return _words(b, state, count, seeds, is_one=False)


def _words(
    b: Builder, state: ir.Value, count: ir.Value, seeds: ir.Value, *, is_one: bool
) -> Values:
    by_word = b("Transpose", b("Reshape", state, b.constant([-1, 6, 1])), perm=[1, 0, 2])
    shift, mask = _shift(b), _mask(b)
    pairs = b("Add", _pairs(b, by_word, axis=0), seeds)
    low, high, key = b.node("Split", (pairs,), outputs=3, axis=0, num_outputs=3)
    keys = b(
        "Concat", b("BitwiseAnd", key, mask), b("BitShift", key, shift, direction="RIGHT"), axis=0
    )
    bumps = np.outer(np.arange(10), _philox.WEYL) % 2**32
    keys = b("Tile", keys, b.constant([10, 1, 1]))
    keys = b("BitwiseAnd", b("Add", keys, b.constant(bumps.reshape(20, 1, 1), np.uint64)), mask)
    round_keys = b.node("Split", (keys,), outputs=10, axis=0, num_outputs=10)

    one = b.constant([1])
    rows = b("Shape", by_word, start=1, end=2)
    blocks = _blocks(b, count)
    chunks = b("Max", one, _ceil(b, b("Mul", rows, blocks), b.constant([_BLOCKS_AT_ONCE])))
    blocks = _ceil(b, blocks, chunks)
    zero, axis = b.constant(0), b.constant([0])
    first = b("Mul", b("Range", zero, b("Squeeze", chunks, axis), b.constant(1)), blocks)
    within = b.cast(b("Range", zero, b("Squeeze", blocks, axis), b.constant(1)), _U64)

    def draw(b: Builder, start: ir.Value) -> Values:
        low_sum = b("Add", low, b("Add", start, within))
        carry = b.cast(b("Less", low_sum, low), _U64)
        counter = b("Concat", low_sum, b("Add", high, carry), axis=0)
        even = b("BitwiseAnd", counter, mask)
        odd = b("BitShift", counter, shift, direction="RIGHT")
        multipliers = b.constant(np.reshape(_philox.MULTIPLIERS, (2, 1, 1)), np.uint64)
        for key in round_keys:
            product = b("Gather", b("Mul", even, multipliers), b.constant([1, 0]), axis=0)
            upper = b("BitShift", product, shift, direction="RIGHT")
            even = b("BitwiseXor", upper, b("BitwiseXor", odd, key))
            odd = b("BitwiseAnd", product, mask)
        axis = b.constant([1])
        pair = [b("Unsqueeze", b.cast(x, _U32), axis) for x in (even, odd)]
        return (b("Transpose", b("Concat", *pair, axis=1), perm=[2, 3, 0, 1]),)

    start = ir.Value(name="start", type=ir.TensorType(_U64), shape=ir.Shape([]))
    drawn = b(
        "Scan",
        b.cast(first, _U64),
        body=b.subgraph((start,), draw),
        num_scan_inputs=1,
    )
    per_row = b("Mul", b("Mul", chunks, blocks), b.constant([4]))
    if not is_one:
        # onnx.reference stacks along the first axis only.
        drawn = b("Transpose", drawn, perm=[1, 0, 2, 3, 4])
    flat = b("Reshape", drawn, b("Concat", rows, per_row, axis=0), allowzero=1)
    return (b("Slice", flat, b.constant([0]), count, one),)


def next_state(b: Builder, state: ir.Value, count: ir.Value) -> Values:
    """The state after so many words of it.

    Args:
        b: Where the nodes go.
        state: uint32, one state, or [B, 6].
        count: int64 [1].

    Returns:
        uint32 of the state's shape.
    """
    by_row = b("Reshape", state, b.constant([-1, 6]))
    pairs = _pairs(b, by_row, axis=1)
    low, high, key = b.node("Split", (pairs,), outputs=3, axis=1, num_outputs=3)
    low_sum = b("Add", low, b.cast(_blocks(b, count), _U64))
    high = b("Add", high, b.cast(b("Less", low_sum, low), _U64))
    pairs = b("Unsqueeze", b("Concat", low_sum, high, key, axis=1), b.constant([2]))
    halves = (
        b("BitwiseAnd", pairs, _mask(b)),
        b("BitShift", pairs, _shift(b), direction="RIGHT"),
    )
    words = b.cast(b("Concat", *halves, axis=2), _U32)
    return (b("Reshape", words, b("Shape", state), allowzero=1),)


def _pairs(b: Builder, state: ir.Value, axis: int) -> ir.Value:
    """The halves of the counter, and the key, along an axis that holds the words."""
    wide = b.cast(state, _U64)
    lower = b("Gather", wide, b.constant([0, 2, 4]), axis=axis)
    upper = b("Gather", wide, b.constant([1, 3, 5]), axis=axis)
    return b("BitwiseOr", lower, b("BitShift", upper, _shift(b), direction="LEFT"))


def _shift(b: Builder) -> ir.Value:
    return b.constant(32, np.uint64)


def _mask(b: Builder) -> ir.Value:
    return b.constant(0xFFFFFFFF, np.uint64)


def _blocks(b: Builder, count: ir.Value) -> ir.Value:
    return _ceil(b, count, b.constant([4]))


def _ceil(b: Builder, number: ir.Value, divisor: ir.Value) -> ir.Value:
    """The quotient of integers of 0 or more, rounded up."""
    return b("Div", b("Sub", b("Add", number, divisor), b.constant([1])), divisor)
