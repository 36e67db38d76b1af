"""What the structure of an ONNX model shows of its random nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from onnx_philox._command.inspect.known.row import ONNXRUNTIME, OPENVINO, KnownBehaviour, Said
from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._models.constants import small_constant
from onnx_philox._models.graphs import STANDARD_DOMAINS, label
from onnx_philox._rewriting.in_onnx.types import Types
from onnx_philox._rewriting.report import RandomNode

_UNIFORMS = ("RandomUniform", "RandomUniformLike")
_NORMALS = ("RandomNormal", "RandomNormalLike")
_LIKE = ("RandomUniformLike", "RandomNormalLike")
# A smaller correlation is no news to anybody.
_LEAST_CORRELATION = 0.01
# How far a walk from a node looks, and how many elements it reads of a constant.
_STEPS = 8
_MOST_NUMBERS = 2**14
_WITHOUT_KERNELS = 22
_HOLDS_31_BITS = ir.DataType.UINT32


@dataclass(frozen=True)
class Met:
    """A random node of a model."""

    node: ir.Node
    record: RandomNode
    types: Types

    @property
    def is_of_onnx(self) -> bool:
        """Whether the runtimes draw it themselves."""
        return self.node.domain in STANDARD_DOMAINS

    @property
    def seed(self) -> float | None:
        """The seed that it has; None without one."""
        given = self.node.attributes.get("seed")
        if given is None or given.type is not ir.AttributeType.FLOAT:
            return None
        return given.as_float()


Details = Mapping[str, str]
"""What stands in the sentence of a row."""


@dataclass(frozen=True)
class Structural:
    """A row, and how a node that meets it is recognised."""

    known: KnownBehaviour
    meets: Callable[[Met, Sequence[Met]], Details | None]
    """The details of a node among those of its model; None where it does not meet the row."""
    of_loaded: bool = True
    """Whether it concerns a runtime that draws the node, or one that does not load it."""


def said(met: Met, among: Sequence[Met], runtime: str, *, is_drawn: bool) -> Iterator[Said]:
    """What to say of a node in a runtime, which draws it or does not load it."""
    if not met.is_of_onnx:
        return
    for row in _ROWS:
        if runtime in row.known.seen_in and row.of_loaded is is_drawn:
            details = row.meets(met, among)
            if details is not None:
                yield row.known.said(**details)


def _is_multiple(met: Met, among: Sequence[Met]) -> Details | None:
    if met.node.op_type not in _UNIFORMS or _whole(met.seed) is None:
        return None
    best, details = _LEAST_CORRELATION, None
    for other in among:
        correlation = _correlation(_whole(met.seed), _whole(other.seed))
        if other.node.op_type in _UNIFORMS and correlation >= best:
            best = correlation
            details = {
                "seed": f"{met.seed:g}",
                "other": other.record.called,
                "other_seed": f"{other.seed:g}",
                "correlation": f"{correlation:.2f}",
            }
    return details


def _whole(seed: float | None) -> int | None:
    """The seed as ONNX Runtime's generator has it; None where another number is what counts."""
    if seed is None or not 1 <= seed < 2**31 - 1:
        return None
    return int(seed)


def _correlation(one: int | None, other: int | None) -> float:
    """Of a number times one seed and times another, modulo 1; 0 for equal seeds."""
    if one is None or other is None or one == other:
        return 0
    common = math.gcd(one, other)
    return common * common / (one * other)


def _may_be_infinite(met: Met, _: Sequence[Met]) -> Details | None:
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


def _has_no_kernel(met: Met, _: Sequence[Met]) -> Details | None:
    is_late = met.record.version is not None and met.record.version >= _WITHOUT_KERNELS
    return {} if is_late and met.node.op_type != "Dropout" else None


def _becomes_uint32(met: Met, _: Sequence[Met]) -> Details | None:
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


def _is_f64(met: Met, _: Sequence[Met]) -> Details | None:
    is_drawn_so = met.node.op_type in (*_UNIFORMS, *_NORMALS) and met.seed is not None
    is_double = is_drawn_so and met.types(met.node.outputs[0]) is ir.DataType.DOUBLE
    return {} if is_double else None


def _is_odd(met: Met, _: Sequence[Met]) -> Details | None:
    if met.node.op_type not in _NORMALS or met.seed is None:
        return None
    shape = met.types.shape(met.node.outputs[0])
    if shape is None or not shape.is_static():
        return None
    count = math.prod(d for d in shape if isinstance(d, int))
    return {"count": str(count), "twice": str(2 * count)} if count % 2 else None


_ROWS = (
    Structural(
        KnownBehaviour(
            "seeds that are multiples",
            ONNXRUNTIME,
            True,
            "It draws what seed 1 draws, times {seed}, modulo 1, as {other} does times "
            "{other_seed}: their correlation is {correlation}.",
            "draws independent numbers",
        ),
        _is_multiple,
    ),
    Structural(
        KnownBehaviour(
            "Multinomial of infinite logits",
            ONNXRUNTIME,
            True,
            "Of a row that is -inf throughout it draws a class one past the last; a class of +inf "
            "it never draws.",
            "refuses both",
        ),
        _may_be_infinite,
    ),
    Structural(
        KnownBehaviour(
            "no kernels from opset 22 on",
            ONNXRUNTIME,
            False,
            "It has kernels of this operator up to opset 21.",
            "loads at each opset",
        ),
        _has_no_kernel,
        of_loaded=False,
    ),
    Structural(
        KnownBehaviour(
            "uint32 of 31 bits",
            OPENVINO,
            True,
            "OpenVINO's uint32 holds 31 bits: {cast} makes one number, 2^31, of half of them.",
            "draws the integers themselves",
        ),
        _becomes_uint32,
    ),
    Structural(
        KnownBehaviour(
            "every other number of f64",
            ONNXRUNTIME,
            False,
            "Of f64 it draws every other number of the sequence that its seed has in f32.",
            "draws f64 of its own stream",
        ),
        _is_f64,
    ),
    Structural(
        KnownBehaviour(
            "odd numbers of normals",
            ONNXRUNTIME,
            False,
            "It draws normals in pairs, and drops the last of {count}: two runs are not the first "
            "{twice} numbers of the seed.",
            "goes on where the run before it ended",
        ),
        _is_odd,
    ),
)
ROWS = tuple(row.known for row in _ROWS)


def takes_noise_from_a_subtract(node: ir.Node, types: Types) -> tuple[bool, bool]:
    """Whether a Subtract has noise of a static shape on the right, and whether others read it, too.

    The noise may go through other nodes, if they read nothing but it and constants: OpenVINO writes
    a - b as a + b * -1, and computes b * -1 when it compiles the model. An Add of a Neg is one.
    """
    if node.domain not in STANDARD_DOMAINS or node.op_type not in (*_UNIFORMS, *_NORMALS):
        return False, False
    if node.op_type in _LIKE:
        like = node.inputs[0] if node.inputs else None
        shape = None if like is None else types.shape(like)
        if shape is None or not shape.is_static():
            return False, False
    # What only noise and constants make, and whether it is negated.
    made = {node.outputs[0]: False}
    waiting = [node.outputs[0]]
    is_subtracted = is_read_elsewhere = False
    while waiting:
        value = waiting.pop(0)
        is_read_elsewhere |= value.is_graph_output()
        for reader, index in value.uses():
            if _subtracts(reader, index, is_negated=made[value]):
                is_subtracted = True
            elif reader.graph is node.graph and _reads_only(reader, made):
                for output in reader.outputs:
                    made[output] = _negates(reader)
                    waiting.append(output)
            else:
                is_read_elsewhere = True
    return is_subtracted, is_subtracted and is_read_elsewhere


def _subtracts(reader: ir.Node, index: int, *, is_negated: bool) -> bool:
    if reader.domain not in STANDARD_DOMAINS:
        return False
    return (reader.op_type == "Sub" and index == 1) or (reader.op_type == "Add" and is_negated)


def _reads_only(reader: ir.Node, made: Mapping[ir.Value, bool]) -> bool:
    """Whether a node computes something of these values and constants alone."""
    inputs = [value for value in reader.inputs if value is not None]
    is_known = all(value in made or _is_constant(value) for value in inputs)
    return is_known and reader.domain in STANDARD_DOMAINS


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
