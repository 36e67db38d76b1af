"""Finds what a model makes of integers that it draws: smaller integers, or uniform floats.

jax2onnx writes `jax.random.bits`, and what JAX makes of it, as nodes: a uniform number becomes all
32 bits of an integer, which a BitShift, a BitwiseOr and a BitCast turn into a uniform number again.
OpenVINO computes no uint32 beyond 31 bits, and has no BitCast. So the replacement draws what comes
out of such nodes. What is left of the 32 bits is judged by what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.operators import RANDOM_UNIFORM
from onnx_philox._contract.types import BF16, BY_ONNX, F16, F32, F64, ElementType
from onnx_philox._models.constants import constant
from onnx_philox._models.onnx_graphs import MOVES, STANDARD_DOMAINS, only_reader
from onnx_philox._rewriting.comparisons import BITS, WORDS, is_power_of_two
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import FloatReplacement

# For each type, the bits of 1.0. With random bits below them it is a number of [1, 2).
_ONE = {F32: 0x3F800000, F16: 0x3C00, BF16: 0x3F80}
# The operators that put the bits of 1.0 above others, which are 0 there.
_JOINS = ("BitwiseOr", "BitwiseXor", "Add")
_WIDEST = 64


@dataclass(frozen=True)
class RandomBits:
    """Integers from 0 to below a count, each equally likely, as a model computes them."""

    count: int
    dtype: ir.DataType
    """Their type, which holds them all."""
    nodes: tuple[ir.Node, ...]
    """What makes them, from the draw on, each node reading the one before it."""
    rank: int
    """How many dimensions they have: a constant of more would add some."""

    @property
    def value(self) -> ir.Value:
        """What the last node gives."""
        return self.nodes[-1].outputs[0]

    @property
    def width(self) -> int | None:
        """How many random bits they have; None where their count is no power of two."""
        if not is_power_of_two(Fraction(self.count)):
            return None
        return self.count.bit_length() - 1


def smaller(bits: RandomBits) -> RandomBits:
    """The integers that the nodes after them make of them, as far as these can be drawn instead."""
    known = bits
    while True:
        reader = only_reader(bits.value)
        if reader is None:
            break
        node, index = reader
        after = _after(bits, node, index)
        if after is None:
            break
        bits = after
        if node.op_type != "Cast":
            # A Cast alone is the runtime's: it is exact.
            known = bits
    return known


def _after(bits: RandomBits, node: ir.Node, index: int) -> RandomBits | None:
    """The integers after one more node; None where it makes others, or not equally likely ones."""
    width = bits.width
    nodes = (*bits.nodes, node)
    if node.op_type == "Cast":
        return _cast(bits, node)
    number = _number(node, 1 - index, bits.rank)
    is_turned = index != 0 and node.op_type != "BitwiseAnd"
    if number is None or is_turned:
        return None
    direction = node.attributes.get_string("direction") if node.op_type == "BitShift" else None
    if direction == "RIGHT":
        return _shifted(bits, number, nodes)
    if node.op_type == "Div" and is_power_of_two(Fraction(number)):
        by = number.bit_length() - 1
        return _shifted(bits, by, nodes)
    count = None
    if node.op_type == "BitwiseAnd" and is_power_of_two(Fraction(number + 1)):
        count = number + 1
    if node.op_type == "Mod" and number > 0:
        # A draw of the words has this rule: also where they are not quite equally likely.
        is_drawn_so = bits.count == WORDS and number < WORDS // 2
        if is_drawn_so or is_power_of_two(Fraction(number)):
            count = number
    if count is None or width is None or count > bits.count:
        return None
    return replace(bits, count=count, nodes=nodes)


def _shifted(
    bits: RandomBits,
    by: int,
    nodes: tuple[ir.Node, ...],
) -> RandomBits | None:
    if bits.width is None or not 0 <= by < bits.width:
        return None
    return replace(bits, count=bits.count >> by, nodes=nodes)


def _cast(bits: RandomBits, node: ir.Node) -> RandomBits | None:
    """The integers in another type: an unsigned one of fewer bits keeps the lowest of them."""
    dtype = ir.DataType(node.attributes.get_int("to"))
    if not dtype.is_integer() or dtype.bitwidth > _WIDEST:
        return None
    limits = np.iinfo(dtype.numpy())
    most = int(limits.max)
    count = bits.count
    if count - 1 > most:
        if dtype.is_signed() or bits.width is None:
            return None
        count = most + 1
    nodes = (*bits.nodes, node)
    return RandomBits(count, dtype, nodes, bits.rank)


def floats(
    bits: RandomBits,
    uniform: FloatReplacement,
) -> tuple[FloatReplacement, RandomBits] | None:
    """The uniform floats that the nodes after integers make of them; None where they make none.

    Given what draws them today; returned with the nodes that are then gone, too.
    """
    return _joined(bits, uniform) or _scaled(bits, uniform)


def _joined(
    bits: RandomBits,
    uniform: FloatReplacement,
) -> tuple[FloatReplacement, RandomBits] | None:
    """Floats whose mantissa they are: `bits | 1.0`, cast bit by bit, and mostly less 1."""
    reader = only_reader(bits.value)
    while reader is not None and reader[0].op_type == "Cast":
        cast = _cast(bits, reader[0])
        if cast is None or cast.count != bits.count:
            return None
        bits = cast
        reader = only_reader(bits.value)
    if reader is None or reader[0].op_type not in _JOINS:
        return None
    joining, index = reader
    one = _number(joining, 1 - index, bits.rank)
    reader = only_reader(joining.outputs[0])
    if reader is None or reader[0].op_type != "BitCast":
        return None
    bitcast, _ = reader
    values = BY_ONNX.get(bitcast.attributes.get_int("to", 0))
    if values is None or values not in _ONE:
        return None
    if one != _ONE[values] or bits.width != BITS[values]:
        return None
    nodes = (*bits.nodes, joining, bitcast)
    low = 1
    reader = only_reader(bitcast.outputs[0])
    if reader is not None:
        less, place = reader
        is_less = less.op_type == "Sub" and place == 0
        if is_less and _float(less, 1, bits.rank) == 1:
            nodes = (*nodes, less)
            low = 0
    drawn = _uniform(values, low, low + 1, uniform)
    return drawn, replace(bits, nodes=nodes)


def _scaled(
    bits: RandomBits,
    uniform: FloatReplacement,
) -> tuple[FloatReplacement, RandomBits] | None:
    """Floats that they are divided by their count: at least as many as a uniform number can be."""
    reader = only_reader(bits.value)
    if reader is None or reader[0].op_type != "Cast":
        return None
    cast, _ = reader
    values = BY_ONNX.get(cast.attributes.get_int("to"))
    reader = only_reader(cast.outputs[0])
    if values not in (F32, F64) or bits.width is None:
        return None
    if reader is None:
        return None
    scaling, index = reader
    number = _float(scaling, 1 - index, bits.rank)
    is_product = scaling.op_type == "Mul" and number == 1 / bits.count
    is_quotient = scaling.op_type == "Div" and index == 0 and number == bits.count
    if not (is_product or is_quotient) or bits.width < BITS[F32]:
        return None
    drawn = _uniform(values, 0, 1, uniform)
    nodes = (*bits.nodes, cast, scaling)
    return drawn, replace(bits, nodes=nodes)


def moved(
    uniform: FloatReplacement,
    value: ir.Value,
    rank: int,
) -> tuple[FloatReplacement, tuple[ir.Node, ...]]:
    """A uniform number of [0, 1) between the bounds that JAX gives it, and the nodes that do.

    `max(low, u * (high - low) + low)`, each operation rounded, is the rule of RandomUniform.
    """
    readers = _bounding(value)
    if readers is None or not _is_unit(uniform):
        return uniform, ()
    (scaling, index), *limits = readers
    factor = scaling.inputs[1 - index]
    span = None if factor is None else factor.producer()
    if span is None or span.op_type != "Sub" or span.domain not in STANDARD_DOMAINS:
        return uniform, ()
    high = _float(span, 0, rank)
    low = _float(span, 1, rank)
    if low is None or high is None or not low < high:
        return uniform, ()
    limits_of_nodes = [_float(node, 1 - index, rank) for node, index in limits]
    if any(limit != low for limit in limits_of_nodes):
        return uniform, ()
    type_ = uniform.values.dtype.type
    width = type_(high) - type_(low)
    if not np.isfinite(width):
        return uniform, ()
    nodes = tuple(node for node, _ in readers)
    if only_reader(span.outputs[0]) is not None:
        nodes = (span, *nodes)
    return _uniform(uniform.values, low, high, uniform), nodes


def _bounding(value: ir.Value) -> list[tuple[ir.Node, int]] | None:
    """The Mul, Add and Max after a value, each with the index of what it reads of them."""
    found = []
    for op_type in ("Mul", "Add", "Max"):
        reader = only_reader(value)
        if reader is None:
            return None
        node, _ = reader
        if node.op_type != op_type or len(node.inputs) != 2:
            return None
        found.append(reader)
        (value,) = node.outputs
    return found


def _is_unit(uniform: FloatReplacement) -> bool:
    low = uniform.parameters["minval"].item()
    high = uniform.parameters["maxval"].item()
    return bool(low == 0 and high == 1)


def _uniform(
    values: ElementType,
    low: float,
    high: float,
    uniform: FloatReplacement,
) -> FloatReplacement:
    """A uniform number of a type between two bounds, of the shape of another one."""
    parameters = {
        "minval": np.array(low, values.dtype),
        "maxval": np.array(high, values.dtype),
    }
    return FloatReplacement(RANDOM_UNIFORM, values, parameters, uniform.shape)


def _number(node: ir.Node, index: int, rank: int) -> int | None:
    """An input that is one constant integer."""
    number = _float(node, index, rank)
    if number is None or not number.is_integer():
        return None
    return int(number)


def _float(node: ir.Node, index: int, rank: int) -> float | None:
    """An input that is one finite constant number, and adds no dimension."""
    if not 0 <= index < len(node.inputs):
        return None
    value = node.inputs[index]
    array = None if value is None else constant(value)
    if array is None or array.size != 1 or array.ndim > rank:
        return None
    number = float(array.item())
    if not np.isfinite(number):
        return None
    return number


# What reads uint32 and is exact in OpenVINO, where a node of ours gives it: types that it casts to.
_CASTS = {ir.DataType.FLOAT}
_CUTS = {ir.DataType.INT32, ir.DataType.UINT32, ir.DataType.UINT16, ir.DataType.UINT8}
# What is exact in 32 bits, signed or not. OpenVINO's plugin has it of int32 alone.
_EXACT_IN_32_BITS = {
    "Add",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Concat",
    "Mul",
    "Sub",
}


@dataclass(frozen=True)
class Readers:
    """What reads words of uint32, as OpenVINO's CPU plugin computes it."""

    has_casts: bool
    """Whether some are cast to floats, which is exact of uint32 alone."""
    has_arithmetic: bool
    """Whether some are computed with, which is exact of the same bits as int32 alone."""
    wrong: tuple[ir.Node, ...]
    """What the plugin computes otherwise, or not at all."""

    @classmethod
    def of(cls, value: ir.Value) -> Readers:
        """Those of a value."""
        found = dict(_readers(value))
        casts = [node for node, kind in found.items() if kind == "cast"]
        arithmetic = [node for node, kind in found.items() if kind == "arithmetic"]
        wrong = [node for node, kind in found.items() if kind == "wrong"]
        if casts:
            # One of the two would be wrong.
            wrong += arithmetic
        has_arithmetic = bool(arithmetic) and not casts
        return cls(bool(casts), has_arithmetic, tuple(wrong))


def _readers(value: ir.Value) -> Iterator[tuple[ir.Node, str]]:
    for node, _ in value.uses():
        dtype = None
        if node.op_type == "Cast":
            dtype = node.attributes.get_int("to", 0)
        if node.domain not in STANDARD_DOMAINS:
            yield node, "wrong"
        elif dtype is not None:
            target = ir.DataType(dtype)
            if target in _CUTS:
                continue
            yield node, "cast" if target in _CASTS else "wrong"
        elif node.op_type in MOVES:
            for output in node.outputs:
                yield from _readers(output)
        elif node.op_type in _EXACT_IN_32_BITS and not _has_large_constant(node):
            yield node, "arithmetic"
        elif node.op_type != "Shape":
            yield node, "wrong"


def _has_large_constant(node: ir.Node) -> bool:
    """Whether a node reads a constant of uint32 that the plugin clamps."""
    for value in node.inputs:
        array = None if value is None else constant(value)
        if array is None or array.dtype.kind != "u":
            continue
        if (array >= WORDS // 2).any():
            return True
    return False
