"""What ONNX Runtime's own operators do to rows, which its optimiser and its exporters write.

`com.microsoft`: only those of which it is sure; any other has no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from onnx_philox._rewriting.in_onnx.rows import node_rules
from onnx_philox._rewriting.places import Dimensions
from onnx_philox._rewriting.rows import constant_rules, gap_rules, rules
from onnx_philox._rewriting.rows.step import Rule, Step
from onnx_philox._rewriting.rows.where_dimensions_go import (
    GONE,
    MOVED,
    ByAxis,
    Fate,
    Moves,
    UnclearError,
)


def _last(step: Step) -> Collection[int]:
    return [step.rank(0) - 1]


def _skipped(step: Step, output: int) -> Sequence[Moves | None]:
    """A normalisation of the last dimension of a sum, which is the last output."""
    if output in (1, 2):
        raise UnclearError("gives statistics that are not followed")
    rank = step.rank(0)
    looks = [] if output else _last(step)
    own = step.rank(1)
    skip = ByAxis(range(rank - own, rank), [axis - rank + own for axis in looks], step.ones(1))
    return [rules.kept(step, 0, looks), skip, *rules.others_free(step, 2)]


def _embedded(step: Step, output: int) -> Sequence[Moves | None]:
    """The tokens, segments and positions [batch, places], the mask as input 7."""
    moves: list[Moves | None] = [None] * len(step.known)
    of_tokens = (7,) if output == 1 else (0, 1, 8)
    for index in range(len(step.known)):
        known = step.known[index]
        if index in of_tokens and known is not None:
            places: list[int | Fate] = [0, GONE] if output == 1 else [0, 1]
            moves[index] = ByAxis(places, ones=step.ones(index))
        elif index not in (0, 1, 7, 8) and known is not None and known.is_placed:
            raise step.of_rows(index)
    return moves


def _attention(step: Step, output: int) -> Sequence[Moves | None]:
    """An Attention of [batch, places, features] by weights, with the keys and values of before.

    Those are [2, batch, heads, places, features].
    """
    for index in (1, 2, 6):
        known = step.known[index] if index < len(step.known) else None
        if known is not None and known.is_placed:
            raise step.of_rows(index)
    batch = 1 if output else 0
    past: list[int | Fate] = [0, 1, 2, MOVED, 4] if output else [GONE, 0, MOVED, GONE, MOVED]
    moves: list[Moves | None] = []
    for index in range(len(step.known)):
        if index in (1, 2, 6) or not step.has(index):
            moves.append(None)
        elif index == 4:
            moves.append(ByAxis(past))
        else:
            places: list[int | Fate] = [batch, *[MOVED] * (step.rank(index) - 1)]
            moves.append(ByAxis(places, ones=step.ones(index)))
    return moves


def _convolved(step: Step, output: int) -> Sequence[Moves | None]:
    """A convolution, to which the fourth input is added."""
    three = node_rules.first_inputs(step, 3)
    moves = list(gap_rules.convolved(three, output))
    if step.has(3):
        moves.append(rules.kept(step, 3))
    return moves


def _quantised_product(step: Step, _: int) -> Sequence[Moves | None]:
    """The last dimension of the data, by a matrix that is a constant."""
    to: list[int | Fate] = [*range(step.rank(0) - 1), GONE]
    return [ByAxis(to, ones=step.ones(0)), *rules.others_free(step, 1)]


_PRODUCT = constant_rules.summed(rules.multiplied(node_rules.fused_turns))

ELEMENTWISE = frozenset("BiasAdd BiasGelu FastGelu Gelu QuickGelu".split())  # noqa: SIM905
"""Those whose inputs are broadcast to each other."""
RULES: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, rules.elementwise),
    "Attention": _attention,
    "BiasSoftmax": rules.normalised(rules.from_axis(1), None),
    "BiasSplitGelu": rules.first_stays(0),
    "EmbedLayerNormalization": _embedded,
    "FusedConv": _convolved,
    "FusedGemm": node_rules.GEMM,
    "FusedMatMul": _PRODUCT,
    "FusedMatMulActivation": _PRODUCT,
    "GemmFastGelu": constant_rules.summed(rules.multiplied(node_rules.plain)),
    "GroupNorm": rules.first_stays(0),
    "GroupQueryAttention": rules.first_stays(0, 1, 2, 3, 4, 5, 9, 10),
    "MatMulBnb4": _quantised_product,
    "MatMulNBits": _quantised_product,
    "MultiHeadAttention": rules.first_stays(0, 1, 2, 4, 5, 6, 7),
    "RotaryEmbedding": rules.first_stays(0, 1),
    "SkipGroupNorm": rules.first_stays(0, 3),
    "SkipLayerNormalization": _skipped,
    "SkipSimplifiedLayerNormalization": _skipped,
    "TransposeMatMul": _PRODUCT,
}
"""By their names."""

_LIKE_FIRST = frozenset(
    """
    BiasAdd BiasGelu FastGelu Gelu GroupNorm QuickGelu RotaryEmbedding SkipLayerNormalization
    SkipGroupNorm SkipSimplifiedLayerNormalization BiasSoftmax
    """.split()  # noqa: SIM905
)


_PRODUCTS = frozenset(kind for kind, rule in RULES.items() if rule is _PRODUCT)


def shape_of(
    kind: str,
    given: Sequence[Dimensions | None],
    number: Callable[[str], int],
) -> Dimensions | None:
    """The shape of the first output, where the inputs' shapes say it; None of other operators.

    Args:
        kind: The operator.
        given: The shapes of its inputs.
        number: An attribute that is an integer, 0 where it has none of this name.
    """
    first = given[0] if given else None
    second = given[1] if len(given) > 1 else None
    third = given[2] if len(given) > 2 else None
    if kind in _LIKE_FIRST or first is None:
        return first if kind in _LIKE_FIRST else None
    if kind == "EmbedLayerNormalization" and third is not None:
        return (*first, third[-1])
    if kind == "MultiHeadAttention" and third is not None and len(first) == len(third) == 3:
        return (*first[:2], third[-1])
    if second is None:
        return None
    if kind == "Attention" and isinstance(second[-1], int):
        # Of queries, keys and values of one size.
        return None if number("do_rotary") else (*first[:2], second[-1] // 3)
    if kind == "FusedConv" and len(first) > 2:
        return (first[0], second[0], *[None] * (len(first) - 2))
    if kind in _PRODUCTS or kind == "FusedGemm":
        return _shape_of_product(first, second, number)
    return None


def _shape_of_product(
    first: Dimensions,
    second: Dimensions,
    number: Callable[[str], int],
) -> Dimensions | None:
    """Of matrices [rows, columns], or as many of them in both, each of which may be turned."""
    is_one = len(second) == 2
    if len(first) < 2 or not (is_one or first[:-2] == second[:-2]) or None in first[:-2]:
        return None
    if number("transBatchA") or number("transBatchB"):
        return None
    rows = first[-1] if number("transA") else first[-2]
    columns = second[-2] if number("transB") else second[-1]
    return (*first[:-2], rows, columns)
