"""What the structure of an ONNX model shows of its random nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._command.inspect.known.merged_in_onnx import MERGED_ZEROS, is_merged
from onnx_philox._command.inspect.known.met_nodes import (
    NORMALS,
    UNIFORMS,
    Met,
    MetNodes,
    factor_of,
    is_unseeded,
)
from onnx_philox._command.inspect.known.probed import NEGATIVE
from onnx_philox._command.inspect.known.row import (
    ONNXRUNTIME,
    OPENVINO,
    Explains,
    KnownBehaviour,
    Said,
)
from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._models.constants import small_constant
from onnx_philox._models.graphs import STANDARD_DOMAINS, label
from onnx_philox._rewriting.in_onnx.inferred_types import Types

_LIKE = ("RandomUniformLike", "RandomNormalLike")
# A smaller correlation is no news to anybody.
_LEAST_CORRELATION = 0.01
# How far a walk from a node looks, and how many elements it reads of a constant.
_STEPS = 8
_MOST_NUMBERS = 2**14
_WITHOUT_KERNELS = 22
_HOLDS_31_BITS = ir.DataType.UINT32


Details = Mapping[str, str]
"""What stands in the sentence of a row."""


@dataclass(frozen=True)
class Structural:
    """A row, and how a node that meets it is recognised."""

    known: KnownBehaviour
    meets: Callable[[Met, MetNodes], Details | None]
    """The details of a node among those of its model; None where it does not meet the row."""
    of_loaded: bool = True
    """Whether it concerns a runtime that draws the node, or one that does not load it."""


def said(met: Met, among: MetNodes, runtime: str, *, is_drawn: bool) -> Iterator[Said]:
    """What to say of a node in a runtime, which draws it or does not load it."""
    if not met.is_of_onnx:
        return
    for row in _ROWS:
        if runtime in row.known.seen_in and row.of_loaded is is_drawn:
            details = row.meets(met, among)
            if details is not None:
                yield row.known.said(**details)


def _is_multiple(met: Met, among: MetNodes) -> Details | None:
    if met.node.op_type not in UNIFORMS or met.seed is None:
        return None
    factor = factor_of(met.seed)
    best, details = _LEAST_CORRELATION, None
    for other, other_factor in among.seeded_uniforms:
        correlation = _correlation(factor, other_factor)
        if abs(correlation) >= best:
            best = abs(correlation)
            details = {
                "seed": str(factor),
                "other": other.record.called,
                "other_seed": str(other_factor),
                "correlation": f"{correlation:.2f}",
            }
    return details


def _correlation(one: int, other: int) -> float:
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
        if own.explicit_seed != other.explicit_seed:
            return {
                "other": other.called,
                "seed": str(own.explicit_seed),
                "other_seed": str(other.explicit_seed),
            }
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
    if len(path) != len(other) or not path or path[:-1] != other[:-1]:
        return False
    owner, _, _ = path[-1].rpartition(" ")
    other_owner, _, _ = other[-1].rpartition(" ")
    return owner == other_owner


def _may_be_infinite(met: Met, _: MetNodes) -> Details | None:
    if met.node.op_type != "Multinomial" or not met.node.inputs:
        return None
    waiting, seen = [met.node.inputs[0]], 0
    while waiting and seen < _STEPS * _STEPS:
        value = waiting.pop(0)
        seen += 1
        if value is None:
            continue
        known = small_constant(value, _MOST_NUMBERS)
        if known is not None:
            if known.dtype.kind == "f" and np.isinf(known).any():
                return {}
            continue
        node = value.producer()
        if node is not None:
            waiting += node.inputs
    return None


def has_no_kernel(met: Met) -> bool:
    """Whether ONNX Runtime has no kernel of a node's operator at its opset."""
    is_late = met.record.version is not None and met.record.version >= _WITHOUT_KERNELS
    return is_late and met.node.op_type != "Dropout"


def _has_no_kernel(met: Met, _: MetNodes) -> Details | None:
    return {} if has_no_kernel(met) else None


def _becomes_uint32(met: Met, _: MetNodes) -> Details | None:
    if met.record.replacement != RANDOM_GENERATOR.name:
        # What it draws stays below 2^31, as far as is known.
        return None
    waiting = [*met.node.outputs]
    while waiting:
        for node, _index in waiting.pop(0).uses():
            if _is_cast_to_uint32(node):
                return {"cast": label(node)}
            if node.op_type in _KEEP_NUMBERS:
                waiting += node.outputs
    return None


_KEEP_NUMBERS = {"Add", "Ceil", "Div", "Floor", "Identity", "Mul", "Reshape", "Round", "Sub"}


def _is_cast_to_uint32(node: ir.Node) -> bool:
    to = node.attributes.get("to")
    return node.op_type == "Cast" and to is not None and to.value == int(_HOLDS_31_BITS)


def _is_in_a_function(met: Met, _: MetNodes) -> Details | None:
    return None if met.record.function is None else {}


def _is_times_negative(met: Met, _: MetNodes) -> Details | None:
    factor = negative_factor(met.node, met.types)
    return None if factor is None else {"factor": f"{factor:g}"}


def negative_factor(node: ir.Node, types: Types) -> float | None:
    """The negative number by which OpenVINO multiplies the bounds of a uniform; None for none.

    It moves a chain of sums and products with one number each into the bounds, while nothing else
    reads what is between. Of a product with -1 that is added it makes a difference instead.
    """
    if node.domain not in STANDARD_DOMAINS or node.op_type not in UNIFORMS:
        return None
    value = node.outputs[0]
    if types(value) not in _MULTIPLIED:
        return None
    for _ in range(_STEPS):
        uses = [*value.uses()]
        if len(uses) != 1 or value.is_graph_output():
            return None
        reader, index = uses[0]
        if reader.domain not in STANDARD_DOMAINS or reader.op_type not in ("Add", "Mul"):
            return None
        number = _one_number(reader.inputs[1 - index])
        if number is None:
            return None
        value = reader.outputs[0]
        if reader.op_type == "Mul" and number < 0 and not (number == -1 and _is_added(value)):
            return number
    return None


_MULTIPLIED = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE)


def _one_number(value: ir.Value | None) -> float | None:
    if value is None or not _is_constant(value):
        return None
    known = small_constant(value, 1)
    return None if known is None or known.size != 1 else float(known.item())


def _is_added(value: ir.Value) -> bool:
    return any(reader.op_type == "Add" for reader, _ in value.uses())


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
ONE_SEED = KnownBehaviour(
    "seeds that are one seed",
    ONNXRUNTIME,
    is_wrong=True,
    says="It repeats {other}: {seed} and {other_seed} are one seed there.",
    met_by="the seeds, kinds, types and sizes of two nodes",
    after="draws numbers of its own, or the same with keep_seeds",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
ONE_NUMBER = KnownBehaviour(
    "nodes of one number",
    ONNXRUNTIME,
    is_wrong=True,
    says="It repeats {other}: neither has a seed, and each is seeded by its number in its own "
    "graph.",
    met_by="the numbers of two nodes without seeds in two graphs",
    after="draws numbers of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
BRANCHES = KnownBehaviour(
    "branches of an If",
    ONNXRUNTIME,
    is_wrong=True,
    says="It draws what {other} draws in the other branch: neither has a seed, and each is seeded "
    "by its number in its own branch.",
    met_by="the numbers of two nodes without seeds in the branches of one If",
    after="has a stream of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
)
INFINITE = KnownBehaviour(
    "Multinomial of infinite logits",
    ONNXRUNTIME,
    is_wrong=True,
    says="Of a row that is -inf throughout it draws a class one past the last; a class of +inf it "
    "never draws.",
    met_by="an infinite constant above a Multinomial",
    after="refuses both",
    label="impossible classes",
)
NO_KERNEL = KnownBehaviour(
    "no kernels from opset 22 on",
    ONNXRUNTIME,
    is_wrong=False,
    says="It has kernels of this operator up to opset 21.",
    met_by="the opset, and a session that does not load the node",
    after="loads at each opset",
)
IN_FUNCTION = KnownBehaviour(
    "functions of the model",
    OPENVINO,
    is_wrong=False,
    says="It loads no model that calls functions of its own.",
    met_by="a node in a function of the model",
    after="stands in the graph, where each runtime loads it",
)
UINT32 = KnownBehaviour(
    "uint32 of 31 bits",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO's uint32 holds 31 bits: {cast} makes one number, 2^31, of half of them.",
    met_by="a uniform that a Cast makes a uint32 of 32 bits",
    after="draws the integers themselves",
    label="31 bits",
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
_ROWS = (
    Structural(ONE_SEED, _is_one_seed),
    Structural(MULTIPLES, _is_multiple),
    Structural(ONE_NUMBER, _has_one_number),
    Structural(BRANCHES, _repeats_the_other_branch),
    Structural(MERGED_ZEROS, is_merged),
    Structural(INFINITE, _may_be_infinite),
    Structural(NO_KERNEL, _has_no_kernel, of_loaded=False),
    Structural(IN_FUNCTION, _is_in_a_function, of_loaded=False),
    Structural(NEGATIVE, _is_times_negative, of_loaded=False),
    Structural(UINT32, _becomes_uint32),
    Structural(F64, _is_f64),
    Structural(ODD, _is_odd),
)
ROWS = tuple(row.known for row in _ROWS if row.known is not NEGATIVE)
"""Those that no trial shows."""


def takes_noise_from_a_subtract(node: ir.Node, types: Types) -> tuple[bool, bool]:
    """Whether a Subtract has noise of a static shape on the right, and whether others read it, too.

    The noise may go through other nodes, if they read nothing but noise and constants: OpenVINO
    writes a - b as a + b * -1, and computes b * -1 when it compiles the model. An Add of a Neg is
    one.
    """
    if not _is_static_noise(node, types):
        return False, False
    # What only noise and constants make, and whether it is negated.
    made = {node.outputs[0]: False}
    waiting = [node.outputs[0]]
    is_subtracted = is_read_elsewhere = False
    while waiting:
        value = waiting.pop(0)
        is_read_elsewhere |= value.is_graph_output()
        for reader, index in value.uses():
            if reader.op_type in _READ_SHAPES:
                continue
            if _subtracts(reader, index, is_negated=made[value]):
                is_subtracted = True
            elif reader.graph is node.graph and _reads_only_noise(reader, types):
                for output in reader.outputs:
                    made[output] = _negates(reader)
                    waiting.append(output)
            else:
                is_read_elsewhere = True
    return is_subtracted, is_subtracted and is_read_elsewhere


_READ_SHAPES = {*_LIKE, "Shape", "Size"}
_RANDOM = {*UNIFORMS, *NORMALS, "Bernoulli", "Dropout", "Multinomial"}


def _is_static_noise(node: ir.Node, types: Types) -> bool:
    if node.domain not in STANDARD_DOMAINS or node.op_type not in (*UNIFORMS, *NORMALS):
        return False
    if node.op_type not in _LIKE:
        return True
    like = node.inputs[0] if node.inputs else None
    shape = None if like is None else types.shape(like)
    return shape is not None and shape.is_static()


def _subtracts(reader: ir.Node, index: int, *, is_negated: bool) -> bool:
    if reader.domain not in STANDARD_DOMAINS:
        return False
    return (reader.op_type == "Sub" and index == 1) or (reader.op_type == "Add" and is_negated)


def _reads_only_noise(reader: ir.Node, types: Types, steps: int = _STEPS) -> bool:
    """Whether a node computes something of noise and constants alone, as far as a walk sees."""
    inputs = [value for value in reader.inputs if value is not None]
    is_computed = reader.domain in STANDARD_DOMAINS and reader.op_type not in _RANDOM
    if not (steps and inputs and is_computed):
        return False
    return all(_is_noise_or_constant(value, types, steps - 1) for value in inputs)


def _is_noise_or_constant(value: ir.Value, types: Types, steps: int) -> bool:
    node = value.producer()
    if node is None or _is_constant(value):
        return _is_constant(value)
    return _is_static_noise(node, types) or _reads_only_noise(node, types, steps)


def _is_constant(value: ir.Value) -> bool:
    """Whether a value is the same in every run, whatever it is."""
    node = value.producer()
    if node is not None:
        return node.op_type == "Constant" and node.domain in STANDARD_DOMAINS
    return value.const_value is not None and not value.is_graph_input()


def _negates(reader: ir.Node) -> bool:
    if reader.op_type == "Neg":
        return True
    known = [small_constant(v, 1) for v in reader.inputs if v is not None and _is_constant(v)]
    return reader.op_type == "Mul" and any(k is not None and (k == -1).all() for k in known)
