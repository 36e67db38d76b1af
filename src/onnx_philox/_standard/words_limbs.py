"""The generator's words in int32 with 16-bit limbs, and values of them, exact in OpenVINO.

Its CPU plugin computes uint64 in 32 bits, divides and shifts integers to the right in float32,
compares uint32 as int32, and clamps uint32 constants. Products, sums, And and Xor of int32 wrap
exactly, and so does the quotient of a multiple of 2^16 by 2^16.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox import _philox
from onnx_philox._models.emitter import Values
from onnx_philox._standard import counts
from onnx_philox._standard.builder import Builder
from onnx_philox._standard.counts import Count

_LOW = 0xFFFF
_LIMB = 2**16
_I32 = ir.DataType.INT32


def words(
    b: Builder,
    state: ir.Value,
    count: Count,
    seeds: NDArray[np.int32],
) -> Values:
    """The first `count` words of each state, as int32 [B, count].

    The state is uint32, one or [B, 6], or its bits as int32; `seeds` are six words, which are added
    to its counter and key.

    Nodes:
        state -> c0 c1 c2 c3 k0 k1 -> Add seeds -> Add Range(blocks) -> ten rounds -> Slice to count
    """
    *counter, k0, k1 = _by_word(b, state)
    low, high = counter[2:]
    counter[2:] = _with_seed(b, low, high, seeds[2:4])
    k0, k1 = _with_seed(b, k0, k1, seeds[4:6])
    blocks = _blocks(b, count)
    blocks = b("Squeeze", blocks, b.constant([0]))
    zero = b.constant(0)
    one = b.constant(1)
    position = b("Range", zero, blocks, one)
    position = b.cast(position, _I32)
    drawn = _drawn(b, counter, k0, k1, position)
    start = b.constant([0])
    end = counts.value(b, count)
    axis = b.constant([1])
    return (b("Slice", drawn, start, end, axis),)


def words_of_several(
    b: Builder,
    state: ir.Value,
    word_counts: Sequence[int],
    seeds: Sequence[NDArray[np.int32]],
) -> Values:
    """What `words` returns for each of several draws from the same states, by one generator.

    Not all counts are 0. The keys of all seeds are the same.

    Nodes:
        Range of each draw's blocks -> Concat -> positions
        state -> c0 c1 c2 c3 k0 k1 -> Add seeds of each draw -> Add positions -> ten rounds -> Split
    """
    *counter, k0, k1 = _by_word(b, state)
    key_seed = seeds[0][4:6]
    k0, k1 = _with_seed(b, k0, k1, key_seed)
    blocks = [-(-count // 4) for count in word_counts]
    zero = b.constant(0)
    one = b.constant(1)
    positions = []
    for size in blocks:
        if size:
            end = b.constant(size)
            positions.append(b("Range", zero, end, one))
    position = b("Concat", *positions, axis=0)
    position = b.cast(position, _I32)
    op_seeds = np.stack([seed[2:4] for seed in seeds], axis=1)
    if op_seeds.any():
        # The number of its draw for each block.
        numbers = []
        for i, size in enumerate(blocks):
            if size:
                number = b.constant(i)
                length = b.constant([size])
                numbers.append(b("Expand", number, length))
        draw = b("Concat", *numbers, axis=0)
        low, high = counter[2:]
        upper = _with_seed(b, low, high, op_seeds)
        counter[2:] = [b("Gather", word, draw, axis=2) for word in upper]
    drawn = _drawn(b, counter, k0, k1, position)
    return _parted(b, drawn, word_counts)


def _parted(b: Builder, drawn: ir.Value, word_counts: Sequence[int]) -> Values:
    """The words of each draw, of those of whole blocks."""
    lengths = []
    for count in word_counts:
        # The rest of a draw's last block goes to an output that nothing reads.
        rest = -count % 4
        for length in (count, rest):
            if length:
                lengths.append(length)
    inputs = (drawn, b.constant(lengths))
    made = b.node("Split", inputs, {"axis": 1}, outputs=len(lengths))
    left = iter(made)
    parts = []
    for count in word_counts:
        if count:
            parts.append(next(left))
        else:
            # From 1 to 1 of dimension 1 is nothing.
            one = b.constant([1])
            parts.append(b("Slice", drawn, one, one, one))
        if count % 4:
            next(left)
    return tuple(parts)


def _by_word(b: Builder, state: ir.Value) -> Values:
    """The words of states, each [1, B, 1]."""
    signed = b.cast(state, _I32)
    shape = b.constant([-1, 6, 1])
    by_row = b("Reshape", signed, shape)
    by_word = b("Transpose", by_row, perm=[1, 0, 2])
    return b.split(by_word, 6)


def _drawn(
    b: Builder,
    counter: list[ir.Value],
    k0: ir.Value,
    k1: ir.Value,
    position: ir.Value,
) -> ir.Value:
    """The words of the blocks at these positions, [B, 4 * blocks]."""
    c0, c1, c2, c3 = _advance(b, counter, position)
    even = b("Concat", c0, c2, axis=0)
    odd = b("Concat", c3, c1, axis=0)
    round_keys = _round_keys(b, k0, k1)
    for i, keys in enumerate(round_keys):
        is_odd = i % 2 == 1
        even, odd = _round(b, even, odd, keys, is_odd=is_odd)
    # After an even number of rounds: c0 and c2, c3 and c1.
    swap = b.constant([1, 0])
    odd = b("Gather", odd, swap, axis=0)
    axis = b.constant([1])
    even = b("Unsqueeze", even, axis)
    odd = b("Unsqueeze", odd, axis)
    pairs = b("Concat", even, odd, axis=1)
    by_block = b("Transpose", pairs, perm=[2, 3, 0, 1])
    return b("Flatten", by_block, axis=1)


def next_state(b: Builder, state: ir.Value, count: Count) -> Values:
    """The state after so many words of it, uint32 of its shape.

    Nodes:
        state -> c0 c1 c2 c3 k0 k1 -> Add blocks with carries -> Concat -> Transpose -> Reshape
    """
    signed = b.cast(state, _I32)
    shape = b.constant([-1, 6])
    by_row = b("Reshape", signed, shape)
    by_word = b("Transpose", by_row, perm=[1, 0])
    *counter, k0, k1 = b.split(by_word, 6)
    blocks = _blocks(b, count)
    blocks = b.cast(blocks, _I32)
    moved = _advance(b, counter, blocks)
    after = b("Concat", *moved, k0, k1, axis=0)
    words = b("Transpose", after, perm=[1, 0])
    words = b.cast(words, ir.DataType.UINT32)
    shape = b("Shape", state)
    return (b("Reshape", words, shape, allowzero=1),)


def _with_seed(
    b: Builder,
    low: ir.Value,
    high: ir.Value,
    seed: NDArray[np.int32],
) -> Values:
    """A number of two words, and a seed or several that are added to it and wrap."""
    if not seed.any():
        return low, high
    low_seed, high_seed = seed
    low, carry = _add(b, low, b.i32(low_seed))
    if high_seed.any():
        high = b("Add", high, b.i32(high_seed))
    return low, b("Add", high, carry)


def _advance(b: Builder, counter: list[ir.Value], by: ir.Value) -> Values:
    """The words of a counter, and a number of 0 or more that is added to it."""
    c0, carry = _add(b, counter[0], by)
    moved = [c0]
    for word in counter[1:3]:
        moved.append(b("Add", word, carry))
        is_full = b("Equal", word, b.i32(-1))
        is_full = b.cast(is_full, _I32)
        carry = b("Mul", is_full, carry)
    highest = b("Add", counter[3], carry)
    return (*moved, highest)


def _round_keys(b: Builder, k0: ir.Value, k1: ir.Value) -> Values:
    """The keys of each round, int32 [2, B, 1], in the order of its words; see `_round`."""
    rounds = np.arange(_philox.ROUNDS)
    bumps = np.outer(rounds, _philox.WEYL) % 2**32
    bumps = bumps.astype(np.int64)
    bumps[0::2] = bumps[0::2, ::-1]
    low_bumps = (bumps & _LOW).reshape(-1, 1, 1)
    high_bumps = (bumps >> 16).reshape(-1, 1, 1)
    keys = b("Concat", k1, k0, k0, k1, axis=0)
    times = b.constant([_philox.ROUNDS // 2, 1, 1])
    keys = b("Tile", keys, times)
    low = low16(b, keys)
    low_sum = b("Add", low, b.i32(low_bumps))
    high = high16(b, keys, low)
    high_sum = b("Add", high, b.i32(high_bumps))
    carry = high16(b, low_sum)
    high_sum = b("Add", high_sum, carry)
    upper = b("Mul", high_sum, b.i32(_LIMB))
    lower = low16(b, low_sum)
    keys = b("Add", upper, lower)
    return b.split(keys, _philox.ROUNDS)


def _round(
    b: Builder,
    even: ir.Value,
    odd: ir.Value,
    keys: ir.Value,
    *,
    is_odd: bool,
) -> Values:
    """A round of the generator: the new words, in the order of the next round.

    `even` are words 0 and 2 as [2, B, blocks], `odd` words 3 and 1, and `keys` key words 1 and 0;
    before an odd round each pair is the other way round.
    """
    multipliers = _philox.MULTIPLIERS.astype(np.int64)
    multipliers = multipliers.reshape(2, 1, 1)
    if is_odd:
        multipliers = multipliers[::-1]
    high_factor = b.i32(multipliers >> 16)
    low_factor = b.i32(multipliers & _LOW)
    low = low16(b, even)
    high = high16(b, even, low)
    # A product of two numbers of two limbs, as on paper.
    lowest = b("Mul", low, low_factor)
    lowest_low = low16(b, lowest)
    middle = b("Mul", low, high_factor)
    carry = high16(b, lowest, lowest_low)
    middle = b("Add", middle, carry)
    middle_low = low16(b, middle)
    other = b("Mul", high, low_factor)
    other = b("Add", other, middle_low)
    upper = b("Mul", high, high_factor)
    carry = high16(b, middle, middle_low)
    upper = b("Add", upper, carry)
    carry = high16(b, other)
    upper = b("Add", upper, carry)
    lower = b("Mul", other, b.i32(_LIMB))
    lower = b("Add", lower, lowest_low)
    new_even = b("BitwiseXor", upper, odd)
    new_even = b("BitwiseXor", new_even, keys)
    swap = b.constant([1, 0])
    new_odd = b("Gather", lower, swap, axis=0)
    return new_even, new_odd


def _add(b: Builder, x: ir.Value, y: ir.Value) -> Values:
    """The sum of two words that wraps, and what it carries, 0 or 1."""
    x_low = low16(b, x)
    y_low = low16(b, y)
    low_sum = b("Add", x_low, y_low)
    low_carry = _carry(b, low_sum)
    x_high = high16(b, x, x_low)
    y_high = high16(b, y, y_low)
    high_sum = b("Add", x_high, y_high)
    total = b("Add", x, y)
    high_sum = b("Add", high_sum, low_carry)
    return total, _carry(b, high_sum)


def _carry(b: Builder, total: ir.Value) -> ir.Value:
    """What a sum of two halves and a carry leaves for the next one."""
    rest = low16(b, total)
    multiple = b("Sub", total, rest)
    return b("Div", multiple, b.i32(_LIMB))


def low16(b: Builder, x: ir.Value) -> ir.Value:
    """The lower half of a word."""
    return b("BitwiseAnd", x, b.i32(_LOW))


def high16(
    b: Builder,
    x: ir.Value,
    low: ir.Value | None = None,
) -> ir.Value:
    """The upper half of a word, of whose lower half may be given."""
    if low is None:
        low = low16(b, x)
    multiple = b("Sub", x, low)
    quotient = b("Div", multiple, b.i32(_LIMB))
    return low16(b, quotient)


def _blocks(b: Builder, count: Count) -> ir.Value:
    """How many blocks that many words take.

    The plugin may round the first quotient up, but what it leaves makes up for that; the second is
    of a small number, which is exact. Bitwise operators would be exact too, but where only shapes
    are known OpenVINO must fold these nodes, and it folds no bitwise ones.
    """
    if isinstance(count, int):
        number = -(-count // 4)
        return b.constant([number])
    limb = b.constant(_LIMB)
    limb_blocks = b.constant(_LIMB // 4)
    high = b("Div", count, limb)
    whole = b("Mul", high, limb)
    rest = b("Sub", count, whole)
    rest = b("Add", rest, b.constant(_LIMB + 3))
    rest_blocks = b("Div", rest, b.constant(4))
    high_blocks = b("Mul", high, limb_blocks)
    blocks = b("Add", high_blocks, rest_blocks)
    return b("Sub", blocks, limb_blocks)


def unit(b: Builder, words: ir.Value) -> ir.Value:
    """f32 uniforms in [0, 1): an integer, scaled by a power of two, which is exact.

    Nodes:
        words -> And 2^23-1 -> Cast -> Mul 2^-23
    """
    fraction = b("BitwiseAnd", words, b.i32(2**23 - 1))
    number = b.cast(fraction, ir.DataType.FLOAT)
    return b("Mul", number, b.f32(2.0**-23))


def integers(
    b: Builder,
    words: ir.Value,
    minval: int,
    maxval: int,
) -> ir.Value:
    """i32 in a constant range: the remainder of the words, as unsigned numbers.

    Nodes:
        words -> the remainder by a power of two (And), by a large width (up to four times less it),
            or by any other (two quotients in f32) -> Add minval
    """
    rest = _remainder(b, words, maxval - minval)
    return b("Add", rest, b.i32(minval))


# Below it a remainder and its error fit in int32.
_WIDE = 2**28


def _remainder(b: Builder, x: ir.Value, width: int) -> ir.Value:
    if width & (width - 1) == 0:
        mask = np.array(width - 1, np.uint32).view(np.int32)
        return b("BitwiseAnd", x, b.i32(mask))
    low = low16(b, x)
    if width >= _WIDE:
        # It fits at most 15 times.
        for factor in (8, 4, 2, 1):
            if factor * width < 2**32:
                x = _less_by(b, x, factor * width)
        return x
    # A quotient in f32 is off by 2^-22 of itself at the most: the rest is small, but may be
    # negative. The second one is off by 1.
    high = high16(b, x, low)
    high = b.cast(high, ir.DataType.FLOAT)
    upper = b("Mul", high, b.f32(2**16))
    low = b.cast(low, ir.DataType.FLOAT)
    estimate = b("Add", upper, low)
    for _ in range(2):
        ratio = b("Mul", estimate, b.f32(1 / width))
        quotient = b("Floor", ratio)
        quotient = b.cast(quotient, _I32)
        product = b("Mul", quotient, b.i32(width))
        x = b("Sub", x, product)
        estimate = b.cast(x, ir.DataType.FLOAT)
    missing = _where_negative(b, x, width)
    x = b("Add", x, missing)
    x = b("Sub", x, b.i32(width))
    missing = _where_negative(b, x, width)
    return b("Add", x, missing)


def _where_negative(b: Builder, x: ir.Value, number: int) -> ir.Value:
    """A number where x is negative, else 0."""
    is_negative = b("Less", x, b.i32(0))
    is_negative = b.cast(is_negative, _I32)
    return b("Mul", is_negative, b.i32(number))


def _less_by(b: Builder, x: ir.Value, number: int) -> ir.Value:
    """Words less a number, where they are at least that, as unsigned numbers."""
    low = low16(b, x)
    low_rest = b("Sub", low, b.i32(number & 0xFFFF))
    is_borrowed = b("Less", low_rest, b.i32(0))
    borrow = b.cast(is_borrowed, _I32)
    high = high16(b, x, low)
    high_rest = b("Sub", high, b.i32(number >> 16))
    high_rest = b("Sub", high_rest, borrow)
    is_less = b("Less", high_rest, b.i32(0))
    is_more = b("Not", is_less)
    is_more = b.cast(is_more, _I32)
    wrapped = np.array(number, np.uint32).view(np.int32)
    taken = b("Mul", is_more, b.i32(wrapped))
    return b("Sub", x, taken)
