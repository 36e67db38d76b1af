"""What the seeds of an ONNX model's nodes, or their lack, make of them in ONNX Runtime."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir

from onnx_philox._command.inspect.known.met_nodes import (
    NORMALS,
    UNIFORMS,
    Met,
    MetNodes,
    factor_of,
    is_choice,
    is_unseeded,
    reads_uniforms,
)
from onnx_philox._command.inspect.known.row import ONNXRUNTIME, Explains, KnownBehaviour
from onnx_philox._command.inspect.known.structural import Details, Structural

# A smaller correlation is no news to anybody.
_LEAST_CORRELATION = 0.01


def _is_multiple(met: Met, among: MetNodes) -> Details | None:
    return _of_its_multiple(met, among, has_choice=False)


def _falls_with_a_multiple(met: Met, among: MetNodes) -> Details | None:
    return _of_its_multiple(met, among, has_choice=True)


def _of_its_multiple(met: Met, among: MetNodes, *, has_choice: bool) -> Details | None:
    """The node that depends most on this one, of uniforms alone or of pairs with a choice."""
    if met.seed is None or not reads_uniforms(met):
        return None
    factor = factor_of(met.seed)
    best, details = _LEAST_CORRELATION, None
    for other, other_factor in among.seeded_uniforms:
        if (is_choice(met) or is_choice(other)) is not has_choice:
            continue
        found = correlation(factor, other_factor)
        if abs(found) >= best and _are_of_one_sequence(met, other):
            best = abs(found)
            details = {
                "seed": str(factor),
                "other": other.record.called,
                "other_seed": str(other_factor),
                "correlation": f"{found:.2f}",
            }
    return details


def _are_of_one_sequence(met: Met, other: Met) -> bool:
    """Whether equal seeds would give two nodes equal numbers: those of f64 are others."""
    one = met.record.seeded
    two = other.record.seeded
    if one is None or two is None:
        return True
    return one.numbers == two.numbers and one.place == two.place


def correlation(one: int, other: int) -> float:
    """Of a number times one factor and times another, modulo 1; 0 for equal factors."""
    if one == other:
        return 0
    common = math.gcd(one, other)
    return common * common / (one * other)


def _is_one_seed(met: Met, among: MetNodes) -> Details | None:
    own = met.record
    if own.seeded is None:
        return None
    for each in among.of_one_seed[own.seeded]:
        other = each.record
        if own.explicit_seed != other.explicit_seed and _is_of_one_kind(met, each):
            return {
                "other": other.called,
                "seed": str(own.explicit_seed),
                "other_seed": str(other.explicit_seed),
            }
    return None


def _reads_the_same_numbers(met: Met, among: MetNodes) -> Details | None:
    if met.record.seeded is None:
        return None
    for each in among.of_one_seed[met.record.seeded]:
        if not _is_of_one_kind(met, each):
            return {"other": each.record.called}
    return None


def _is_of_one_kind(met: Met, other: Met) -> bool:
    """Whether two nodes make the same of equal numbers."""
    if is_choice(met) or is_choice(other):
        return met.node.op_type == other.node.op_type
    return True


def _negates(met: Met, among: MetNodes) -> Details | None:
    if met.node.op_type not in NORMALS or met.seed is None:
        return None
    for other in among.seeded_normals:
        if other.seed is not None and factor_of(met.seed) == -factor_of(other.seed):
            if _are_of_one_sequence(met, other):
                return {"other": other.record.called}
    return None


def _has_one_number(met: Met, among: MetNodes) -> Details | None:
    return _of_its_number(met, among, in_branches=False)


def _repeats_the_other_branch(met: Met, among: MetNodes) -> Details | None:
    return _of_its_number(met, among, in_branches=True)


def _of_its_number(met: Met, among: MetNodes, *, in_branches: bool) -> Details | None:
    """Another node without a seed, which has the same number among the nodes of its own graph.

    Either in the other branch of an If, or in a graph that both run.
    """
    if not is_unseeded(met):
        return None
    for other in among.of_one_number(met):
        if met.node.graph is other.node.graph:
            continue
        if _are_branches(met.record.path, other.record.path) is in_branches:
            return {"other": other.record.called}
    return None


def _are_branches(path: Sequence[str], other: Sequence[str]) -> bool:
    """Whether they are the branches of one If, of which one alone is taken."""
    if not path or not other:
        return False
    *around, last = path
    *other_around, other_last = other
    owner, _, _ = last.rpartition(" ")
    other_owner, _, _ = other_last.rpartition(" ")
    return around == other_around and owner == other_owner


def _is_f64(met: Met, _: MetNodes) -> Details | None:
    is_drawn_so = met.node.op_type in UNIFORMS and met.seed is not None
    is_double = is_drawn_so and met.types(met.node.outputs[0]) is ir.DataType.DOUBLE
    return {} if is_double else None


def _is_odd(met: Met, _: MetNodes) -> Details | None:
    if met.node.op_type not in NORMALS or met.seed is None:
        return None
    shape = met.types.shape(met.node.outputs[0])
    if shape is None or not shape.is_static():
        return None
    count = math.prod(d for d in shape if isinstance(d, int))
    return {"count": str(count), "twice": str(2 * count)} if count % 2 else None


MULTIPLES = KnownBehaviour(
    "seeds that are multiples",
    ONNXRUNTIME,
    is_wrong=True,
    says="It draws what seed 1 draws, times {seed}, modulo 1, as {other} does times {other_seed}: "
    "their correlation is {correlation}.",
    met_by="the seeds of two uniforms",
    after="draws independent numbers",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
COINS = KnownBehaviour(
    "choices of seeds that are multiples",
    ONNXRUNTIME,
    is_wrong=True,
    says="Its uniforms are those of seed 1, times {seed}, modulo 1, and the uniforms of {other} "
    "are those times {other_seed}: for most probabilities the two depend on each other.",
    met_by="the seeds of two nodes, of which one is a Bernoulli or a Multinomial",
    after="draws independent numbers",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
SAME_NUMBERS = KnownBehaviour(
    "a uniform and a choice of one seed",
    ONNXRUNTIME,
    is_wrong=True,
    says="It reads the uniforms that {other} reads: a Bernoulli or a Multinomial compares them "
    "with probabilities, so the two depend on each other.",
    met_by="the seeds, types and sizes of two nodes, of which one is a Bernoulli or a Multinomial",
    after="draws numbers of its own, or the same with keep_seeds",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
NEGATED = KnownBehaviour(
    "normals of opposite seeds",
    ONNXRUNTIME,
    is_wrong=True,
    says="It draws what {other} draws, times -1: their seeds add up to 0 there.",
    met_by="the seeds of two normals",
    after="draws independent numbers",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
ONE_SEED = KnownBehaviour(
    "seeds that are one seed",
    ONNXRUNTIME,
    is_wrong=True,
    says="It repeats {other}: {seed} and {other_seed} are the same seed there.",
    met_by="the seeds, kinds, types and sizes of two nodes",
    after="draws numbers of its own, or the same with keep_seeds",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
ONE_NUMBER = KnownBehaviour(
    "nodes of one number",
    ONNXRUNTIME,
    is_wrong=True,
    says="It repeats {other}: neither has a seed, and each is seeded by its position in its own "
    "graph.",
    met_by="the positions of two nodes without seeds in two graphs",
    after="draws numbers of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
BRANCHES = KnownBehaviour(
    "branches of an If",
    ONNXRUNTIME,
    is_wrong=True,
    says="It draws what {other} draws in the other branch: neither has a seed, and each is seeded "
    "by its position in its own branch.",
    met_by="the positions of two nodes without seeds in the branches of one If",
    after="has a stream of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
F64 = KnownBehaviour(
    "every other number of f64",
    ONNXRUNTIME,
    is_wrong=False,
    says="Of f64 it draws every other number of the sequence that its seed has in f32.",
    met_by="the seed of a uniform and its type",
    after="draws f64 of its own stream",
)
ODD = KnownBehaviour(
    "odd numbers of normals",
    ONNXRUNTIME,
    is_wrong=False,
    says="It draws normals in pairs, and drops the last of {count}: two runs are not the first "
    "{twice} numbers of the seed.",
    met_by="the seed and the size of a normal",
    after="goes on where the run before it ended",
)
ROWS = (
    Structural(ONE_SEED, _is_one_seed),
    Structural(SAME_NUMBERS, _reads_the_same_numbers),
    Structural(MULTIPLES, _is_multiple),
    Structural(COINS, _falls_with_a_multiple),
    Structural(NEGATED, _negates),
    Structural(ONE_NUMBER, _has_one_number),
    Structural(BRANCHES, _repeats_the_other_branch),
    Structural(F64, _is_f64),
    Structural(ODD, _is_odd),
)
