"""What ONNX Runtime does of its own: its rules for seeds, and the dropout that it fuses.

A session on CUDA that saves its optimised model writes BiasDropout in place of a Dropout between
additions. ONNX Runtime's CPU has no kernel for it, and no other runtime knows it.
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


DROPOUT = DropoutPlaces(ratio=1, mode=2)
"""ONNX's own, of which nothing is fused."""
BIAS_DROPOUT = DropoutPlaces(ratio=3, mode=4, bias=1, residual=2)


def fused_dropout(node: ir.Node) -> DropoutPlaces | None:
    """The inputs of a BiasDropout; None of all other nodes."""
    is_fused = node.domain == MICROSOFT and node.op_type == "BiasDropout"
    return BIAS_DROPOUT if is_fused else None


def input_at(node: ir.Node, index: int | None) -> ir.Value | None:
    """An input that may be left out."""
    if index is None or index >= len(node.inputs):
        return None
    return node.inputs[index]


MODULUS = 2**31 - 1
"""That of its generator on Linux, C++'s `minstd_rand0`, which starts from the seed itself."""
_LOWEST = -(2.0**63)
_BEHIND = 2.0**63
_RUNS = 2**32
"""More runs than a session has."""


def start_of(seed: float) -> int:
    """Where the generator of a uniform, a normal, a Bernoulli or a Multinomial starts.

    Nodes of equal starts have one seed. Measured on Linux, with every kind: the f32 is cut to an
    integer of 64 bits (a NaN, and what does not fit, to the lowest), of which the low 32 count.
    """
    cut = int(_LOWEST)
    if _LOWEST <= seed < _BEHIND:
        cut = int(seed)
    low = cut % 2**32
    return low % MODULUS or 1


def dropout_start(seed: int) -> int:
    """The start of a Dropout, which begins each run from the next seed, an unsigned 64-bit integer.

    So 0 and 1 are two seeds: they agree in the first run alone. Those just below 0 begin again at 0
    after a few runs, and are like no others.
    """
    if -_RUNS <= seed < 0:
        return seed
    return seed % 2**64 % MODULUS
