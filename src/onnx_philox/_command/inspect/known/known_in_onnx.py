"""What the structure of an ONNX model shows of its random nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx_ir as ir

from onnx_philox._command.inspect.known import known_seeds
from onnx_philox._command.inspect.known.masked import Masked, masked
from onnx_philox._command.inspect.known.merged_in_onnx import MERGED_ZEROS, is_merged
from onnx_philox._command.inspect.known.met_nodes import (
    NORMALS,
    UNIFORMS,
    Met,
    MetNodes,
    is_bernoulli,
)
from onnx_philox._command.inspect.known.probed import (
    CLOCK,
    INVERTED,
    MULTINOMIAL,
    NEGATIVE,
    REMOVED,
)
from onnx_philox._command.inspect.known.row import ONNXRUNTIME, OPENVINO, KnownBehaviour, Said
from onnx_philox._command.inspect.known.structural import Details, Structural
from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, is_wanted, label
from onnx_philox._rewriting.in_onnx.inferred_types import Types

_LIKE = ("RandomUniformLike", "RandomNormalLike")
# How far a walk from a node looks.
_STEPS = 8
_WITHOUT_KERNELS = 22
_HOLDS_31_BITS = ir.DataType.UINT32


def said(
    met: Met,
    among: MetNodes,
    runtime: str,
    *,
    is_drawn: bool,
) -> Iterator[Said]:
    """What to say of a node in a runtime, which draws it or does not load it."""
    if not met.is_of_onnx:
        return
    for row in _ROWS:
        if runtime in row.known.seen_in and row.of_loaded is is_drawn:
            details = row.meets(met, among)
            if details is not None:
                yield row.known.said(**details)


def of_a_trial(met: Met) -> Iterator[tuple[str, Said]]:
    """What a trial of a node would show: the runtimes, and what to say of the node in each.

    For `rewrite`, which tries none. What p a Bernoulli has in a trial is known.
    """
    if is_bernoulli(met):
        said = INVERTED.said(p="0.1", share="90%")
        if not has_no_kernel(met):
            yield "onnxruntime", said
        if met.seed is not None:
            yield "openvino", said
    if met.node.op_type == "Multinomial":
        # OpenVINO reads the bits of a seed, which are 0 for 0.0.
        seed = met.seed
        is_seeded = seed is not None and (seed != 0 or math.copysign(1, seed) < 0)
        known = MULTINOMIAL if is_seeded else CLOCK
        yield "openvino", known.said()
    if is_removed(met):
        yield "onnxruntime", REMOVED.said()


def is_removed(met: Met) -> bool:
    """Whether ONNX Runtime removes a Dropout: it stands between two nodes, without its mask."""
    node = met.node
    if not met.is_of_onnx or node.op_type != "Dropout":
        return False
    data = node.inputs[0]
    producer = None if data is None else data.producer()
    drawn, *masks = node.outputs
    if producer is None or producer.op_type == "Constant" or any(map(is_wanted, masks)):
        return False
    return producer.graph is node.graph and bool(drawn.uses()) and not drawn.is_graph_output()


def _has_impossible_classes(met: Met, _: MetNodes) -> Details | None:
    return {} if _masked(met) is Masked.SURELY else None


def _has_a_mask(met: Met, _: MetNodes) -> Details | None:
    return {} if _masked(met) is Masked.PERHAPS else None


def _masked(met: Met) -> Masked:
    if met.node.op_type != "Multinomial" or not met.node.inputs:
        return Masked.NO_ROW
    return masked(met.node.inputs[0])


def has_no_kernel(met: Met) -> bool:
    """Whether ONNX Runtime has no kernel of a node's operator at its opset."""
    is_late = met.record.version is not None and met.record.version >= _WITHOUT_KERNELS
    return is_late and met.node.op_type != "Dropout"


def _has_no_kernel(met: Met, _: MetNodes) -> Details | None:
    return {} if has_no_kernel(met) else None


def _is_a_bernoulli(met: Met, _: MetNodes) -> Details | None:
    return {} if is_bernoulli(met) else None


def _is_an_unseeded_bernoulli(met: Met, _: MetNodes) -> Details | None:
    return {} if is_bernoulli(met) and met.seed is None else None


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
        is_product = reader.op_type == "Mul"
        is_difference = number == -1 and _is_added(value)
        if is_product and number < 0 and not is_difference:
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


INFINITE = KnownBehaviour(
    "Multinomial of infinite logits",
    ONNXRUNTIME,
    is_wrong=True,
    says="Of a row that is -inf throughout it draws a class one past the last; a class of +inf it "
    "never draws.",
    met_by="constants that make a row of its logits -inf, or a class +inf",
    after="refuses both",
    label="impossible classes",
)
MASKED = KnownBehaviour(
    "Multinomial behind a mask",
    ONNXRUNTIME,
    is_wrong=False,
    says="Where its mask, which is an input, leaves no class of a row, it draws a class one past "
    "the last.",
    met_by="a Where of -inf above a Multinomial, whose condition is an input",
    after="refuses a row without a class",
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
UNSEEDED_BERNOULLI = KnownBehaviour(
    "Bernoulli without a seed",
    OPENVINO,
    is_wrong=False,
    says="OpenVINO loads no Bernoulli without a seed.",
    met_by="a Bernoulli without a seed, alone in a model, does not load",
    after="loads without a seed",
)
OF_A_FILE = KnownBehaviour(
    "Bernoulli of a file",
    OPENVINO,
    is_wrong=False,
    says="OpenVINO loads a Bernoulli from bytes in memory; from a file's path it does not.",
    met_by="a Bernoulli, alone in a model of bytes, loads",
    after="loads from both",
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
_ROWS = (
    *known_seeds.ROWS,
    Structural(MERGED_ZEROS, is_merged),
    Structural(INFINITE, _has_impossible_classes),
    Structural(MASKED, _has_a_mask),
    Structural(NO_KERNEL, _has_no_kernel, of_loaded=False),
    Structural(IN_FUNCTION, _is_in_a_function, of_loaded=False),
    Structural(UNSEEDED_BERNOULLI, _is_an_unseeded_bernoulli, of_loaded=False),
    Structural(NEGATIVE, _is_times_negative, of_loaded=False),
    Structural(OF_A_FILE, _is_a_bernoulli),
    Structural(UINT32, _becomes_uint32),
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
    if reader.op_type != "Mul":
        return False
    for value in reader.inputs:
        if value is None or not _is_constant(value):
            continue
        known = small_constant(value, 1)
        if known is not None and (known == -1).all():
            return True
    return False
