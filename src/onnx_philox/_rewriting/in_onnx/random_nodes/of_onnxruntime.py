"""What ONNX Runtime does of its own: its rules for seeds, and dropouts fused with others.

Its training tools leave the fused dropouts in a model. Its CPU has no kernel for them, and no other
runtime knows them.
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


MODULUS = 2**31 - 1
"""That of its generator on Linux, C++'s `minstd_rand0`, which starts from the seed itself."""
_LOWEST, _BEHIND = -(2.0**63), 2.0**63
_RUNS = 2**32
"""More runs than a session has."""


def start_of(seed: float) -> int:
    """Where the generator of a uniform, a normal, a Bernoulli or a Multinomial starts.

    Nodes of equal starts have one seed. Measured on Linux, with every kind: the f32 is cut to an
    integer of 64 bits (a NaN, and what does not fit, to the lowest), of which the low 32 count.
    """
    cut = int(seed) if _LOWEST <= seed < _BEHIND else int(_LOWEST)
    return cut % 2**32 % MODULUS or 1


def dropout_start(seed: int) -> int:
    """The same of a Dropout, which starts each run from the next seed, an unsigned 64-bit integer.

    So 0 and 1 are two seeds: they agree in the first run alone. Those just below 0 begin again at 0
    after a few runs, and are like no others.
    """
    return seed if -_RUNS <= seed < 0 else seed % 2**64 % MODULUS
