"""Classes as nodes, in ONNX Runtime: the rule of `_numbers/categorical.py`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox._contract.types import F64
from onnx_philox._models.emitter import Values
from onnx_philox._standard import elementary, values
from onnx_philox._standard.builder import Builder


def classes(b: Builder, words: ir.Value, logits: ir.Value, samples: int) -> ir.Value:
    """Indices of classes, int32 [batch, samples], by two words for each sample.

    Nodes:
        logits -> Sub ReduceMax -> exp -> CumSum, the sums -> the last one, the total
        words -> unit -> Reshape [batch, samples] -> Mul total -> thresholds
        sums LessOrEqual thresholds -> ReduceSum over the classes
    """
    u = values.unit(b, words, F64)
    rows = b("Shape", logits, start=0, end=1)
    shape = b("Concat", rows, b.constant([samples]), axis=0)
    return b.call("Classes", _classes, b("Reshape", u, shape, allowzero=1), logits)[0]


def classes_once(b: Builder, words: ir.Value, logits: ir.Value, samples: int) -> ir.Value:
    """Indices of classes, each at most once in a row, int64 [batch, samples], by two words a class.

    Nodes:
        logits -> Sub ReduceMax -> exp -> weights
        words -> unit -> Reshape [batch, classes] -> Sub from 1 -> -2 ln -> Div weights -> times
        times -> Min, and Where weights are 0 infinity -> TopK, the smallest
    """
    u = b("Reshape", values.unit(b, words, F64), b("Shape", logits), allowzero=1)
    return b.call("ClassesOnce", _classes_once, u, logits, b.constant([samples]))[0]


def _classes_once(b: Builder, u: ir.Value, logits: ir.Value, samples: ir.Value) -> Values:
    weights = _weights(b, logits)
    one = b.constant(1, np.float64)
    doubled = elementary.minus_two_ln(b, b("Sub", one, u), F64, elementary.SHIFTS_TO_2_63)
    # Scaled by a power of two, times do not overflow. Those that would are equal then, and still
    # before those of classes without a weight.
    time = b("Div", b("Mul", doubled, b.constant(2.0**-9, np.float64)), weights)
    time = b("Min", time, b.constant(2.0**1016, np.float64))
    is_without = b("Equal", weights, b.constant(0, np.float64))
    time = b("Where", is_without, b.constant(np.inf, np.float64), time)
    _, first = b.node("TopK", (time, samples), {"axis": 1, "largest": 0}, outputs=2)
    return (first,)


def _weights(b: Builder, logits: ir.Value) -> ir.Value:
    wide = b.cast(logits, ir.DataType.DOUBLE)
    maximum = b("ReduceMax", wide, b.constant([1]))
    return elementary.exp_nonpositive(b, b("Sub", wide, maximum))


def _classes(b: Builder, u: ir.Value, logits: ir.Value) -> Values:
    axis = b.constant([1])
    sums = b("CumSum", _weights(b, logits), b.constant(1))
    total = b("Slice", sums, b.constant([-1]), b.constant([2**63 - 1]), axis)
    thresholds = b("Unsqueeze", b("Mul", u, total), b.constant([2]))
    # The sums never fall, so the first greater one follows all those that are not greater.
    is_passed = b("LessOrEqual", b("Unsqueeze", sums, axis), thresholds)
    counted = b("ReduceSum", b.cast(is_passed, ir.DataType.INT32), b.constant([2]), keepdims=0)
    return (counted,)
