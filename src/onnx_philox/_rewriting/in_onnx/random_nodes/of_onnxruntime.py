"""Random nodes that ONNX Runtime's training tools leave in a model: dropouts fused with others.

Its CPU has no kernel for them, and no other runtime knows them.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""


@dataclass(frozen=True)
class DropoutPlaces:
    """Where a dropout has its inputs; a fused one is Dropout(data + bias) + residual."""

    ratio: int
    mode: int
    bias: int | None = None
    residual: int | None = None
    packs_mask: bool = False
    """Whether its second output holds 32 elements of the mask in each integer."""


DROPOUT = DropoutPlaces(ratio=1, mode=2)
"""ONNX's own, of which nothing is fused."""
FUSED_DROPOUTS = {
    "BiasDropout": DropoutPlaces(ratio=3, mode=4, bias=1, residual=2),
    "BitmaskBiasDropout": DropoutPlaces(ratio=3, mode=4, bias=1, residual=2, packs_mask=True),
    "BitmaskDropout": DropoutPlaces(ratio=1, mode=2, packs_mask=True),
}


def fused_dropout(node: ir.Node) -> DropoutPlaces | None:
    """The fused dropout that a node is; None of all others."""
    return FUSED_DROPOUTS.get(node.op_type) if node.domain == MICROSOFT else None


def input_at(node: ir.Node, index: int | None) -> ir.Value | None:
    """An input that may be left out."""
    return None if index is None or index >= len(node.inputs) else node.inputs[index]
