"""Which classes a Multinomial can never draw, as the structure of an ONNX model shows them.

A walk upwards says of each element of the logits whether a mask makes it infinite: constants, and
what adds, chooses or moves them. What else a model computes is taken for finite: a Softmax gives
finite numbers of a masked row, and so does whatever reads that.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS

# How far the walk looks, and how many elements it reads of a constant.
_STEPS = 16
_MOST_NUMBERS = 2**14

Kinds = NDArray[np.int8]
"""The kind of each element, of a shape that broadcasts to that of the value."""


class _Kind(IntEnum):
    """What is known of an element."""

    FINITE = 0
    MAY_BE_LEAST = 1
    """-inf, if a mask that is an input says so."""
    LEAST = 2
    """-inf in every run."""
    GREATEST = 3
    """+inf in every run."""


class Masked(IntEnum):
    """What the mask above a Multinomial makes of its rows."""

    NO_ROW = 0
    PERHAPS = 1
    """An input decides whether a row has any class."""
    SURELY = 2
    """A row has no class, or a class of +inf."""


def masked(logits: ir.Value | None) -> Masked:
    """What is known of the rows of logits."""
    kinds = np.atleast_1d(_kinds(logits, _STEPS))
    has_no_class = (kinds == _Kind.LEAST).all(axis=-1)
    if has_no_class.any() or (kinds == _Kind.GREATEST).any():
        return Masked.SURELY
    may_have_none = np.isin(kinds, (_Kind.MAY_BE_LEAST, _Kind.LEAST)).all(axis=-1)
    return Masked.PERHAPS if may_have_none.any() else Masked.NO_ROW


_UNKNOWN = np.array(_Kind.FINITE, np.int8)


def _kinds(value: ir.Value | None, steps: int) -> Kinds:
    if value is None or steps == 0:
        return _UNKNOWN
    known = small_constant(value, _MOST_NUMBERS)
    if known is not None:
        return _of_constant(known)
    node = value.producer()
    if node is None or node.domain not in STANDARD_DOMAINS:
        return _UNKNOWN
    if node.op_type == "Where":
        return _chosen(node, steps - 1)
    if node.op_type not in (*_MOVES, *_KEEPS, "Add", "Max", "Min", "Sub", "Sum"):
        return _UNKNOWN
    given = [_kinds(each, steps - 1) for each in node.inputs]
    if node.op_type in _MOVES:
        return _moved(given[0])
    if node.op_type in _KEEPS:
        return given[0]
    try:
        return _combined(node.op_type, given)
    except ValueError:
        # The model is not valid: the runtimes say so.
        return _UNKNOWN


_KEEPS = ("Cast", "Div", "Identity")
"""The first input keeps its kinds: it is divided by a temperature."""
_MOVES = ("Expand", "Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def _of_constant(known: NDArray[np.generic]) -> Kinds:
    if known.dtype.kind in "biuSUO":
        return np.zeros(known.shape, np.int8)
    numbers = known.astype(np.float64)
    kinds = np.where(np.isneginf(numbers), _Kind.LEAST, _Kind.FINITE)
    return np.where(np.isposinf(numbers), _Kind.GREATEST, kinds).astype(np.int8)


def _moved(kinds: Kinds) -> Kinds:
    """Elements in another order or shape: known where all are of one kind."""
    if not kinds.size:
        return _UNKNOWN
    first = kinds.flat[0]
    is_of_one = (kinds == first).all()
    return np.array(first, np.int8) if is_of_one else _UNKNOWN


def _combined(op_type: str, given: Sequence[Kinds]) -> Kinds:
    """What a node makes of two or more inputs, element by element."""
    if op_type == "Sub":
        one, other = given
        is_greatest = other == _Kind.GREATEST
        taken = np.where(is_greatest, _Kind.LEAST, _Kind.FINITE)
        return _added([one, taken.astype(np.int8)])
    if op_type in ("Add", "Sum"):
        return _added(given)
    broadcast = np.broadcast_arrays(*given)
    are_greatest = [kinds == _Kind.GREATEST for kinds in broadcast]
    if op_type == "Min":
        of_others = [np.where(k == _Kind.GREATEST, _Kind.FINITE, k) for k in broadcast]
        found = np.maximum.reduce(of_others)
        is_greatest = np.all(are_greatest, axis=0)
    else:
        found = np.minimum.reduce(broadcast)
        is_greatest = np.any(are_greatest, axis=0)
    return np.where(is_greatest, _Kind.GREATEST, found).astype(np.int8)


def _added(given: Sequence[Kinds]) -> Kinds:
    kinds = given[0]
    for other in given[1:]:
        kinds = np.maximum(kinds, other)
    return kinds


def _chosen(node: ir.Node, steps: int) -> Kinds:
    """What a Where chooses: as its condition says where that is a constant."""
    condition, *branches = node.inputs
    chosen = None if condition is None else small_constant(condition, _MOST_NUMBERS)
    one, other = (_kinds(branch, steps) for branch in branches)
    try:
        if chosen is not None:
            return np.where(chosen, one, other).astype(np.int8)
        one, other = np.broadcast_arrays(one, other)
    except ValueError:
        return _UNKNOWN
    may_be_least = np.isin([one, other], (_Kind.LEAST, _Kind.MAY_BE_LEAST))
    both = (one == _Kind.LEAST) & (other == _Kind.LEAST)
    is_of_inputs = condition is not None and _is_of_inputs(condition, steps)
    either = may_be_least.any(axis=0) & is_of_inputs
    kinds = np.where(either, _Kind.MAY_BE_LEAST, _Kind.FINITE)
    return np.where(both, _Kind.LEAST, kinds).astype(np.int8)


_COMPARE = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_MAKE_MASKS = (*_COMPARE, *_MOVES, "And", "Cast", "Identity", "Not", "Or")


def _is_of_inputs(value: ir.Value, steps: int) -> bool:
    """Whether a mask is an input, or made of inputs and constants element by element.

    Of what a model computes, such as its k-th largest logit, a row keeps a class.
    """
    if value.is_graph_input():
        return True
    node = value.producer()
    if node is None or steps == 0 or node.op_type not in _MAKE_MASKS:
        return False
    given = node.inputs[:1] if node.op_type in _MOVES else node.inputs
    masks = [each for each in given if each is not None and not _is_known(each)]
    return bool(masks) and all(_is_of_inputs(each, steps - 1) for each in masks)


def _is_known(value: ir.Value) -> bool:
    return small_constant(value, _MOST_NUMBERS) is not None
