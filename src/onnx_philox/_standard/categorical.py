"""Classes as nodes, in ONNX Runtime: the rule of `_numbers/categorical.py`."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract.types import F64
from onnx_philox._models.emitter import Values
from onnx_philox._standard import elementary, values
from onnx_philox._standard.builder import Builder


def classes(b: Builder, words: ir.Value, logits: ir.Value, samples: int) -> ir.Value:
    """Indices of classes, int32 [batch, samples], by two words for each sample."""
    u = values.unit(b, words, F64)
    rows = b("Shape", logits, start=0, end=1)
    shape = b("Concat", rows, b.constant([samples]), axis=0)
    return b.call("Classes", _classes, b("Reshape", u, shape, allowzero=1), logits)[0]


def _classes(b: Builder, u: ir.Value, logits: ir.Value) -> Values:
    axis = b.constant([1])
    wide = b.cast(logits, ir.DataType.DOUBLE)
    weights = elementary.exp_nonpositive(b, b("Sub", wide, b("ReduceMax", wide, axis)))
    sums = b("CumSum", weights, b.constant(1))
    total = b("Slice", sums, b.constant([-1]), b.constant([2**63 - 1]), axis)
    thresholds = b("Unsqueeze", b("Mul", u, total), b.constant([2]))
    # Sums never fall, so the first greater one comes after all that are not.
    is_passed = b("LessOrEqual", b("Unsqueeze", sums, axis), thresholds)
    counted = b("ReduceSum", b.cast(is_passed, ir.DataType.INT32), b.constant([2]), keepdims=0)
    return (counted,)
