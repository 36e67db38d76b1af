"""What the structure of an OpenVINO IR shows of its random nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import openvino as ov

from onnx_philox._command.inspect.known.merged_in_ir import MERGED_ZEROS, MergedZeros
from onnx_philox._command.inspect.known.probed import NEGATIVE
from onnx_philox._command.inspect.known.row import OPENVINO, KnownBehaviour, Said
from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._openvino_models.openvino_graphs import constant
from onnx_philox._rewriting.report import RandomNode

# What i32 does not hold.
_LIMIT = 2**31
# How far a walk looks: a normal is six nodes.
_STEPS = 12
_KEEP_NUMBERS = {"Add", "Ceiling", "Floor", "Multiply", "Reshape", "Round", "Subtract"}

UNSEEDED = KnownBehaviour(
    "alignment pytorch without seeds",
    OPENVINO,
    is_wrong=True,
    says="With alignment pytorch and seeds of 0 it chooses one seed when the model is compiled.",
    met_by="the attributes of a RandomUniform of an IR",
    after="draws anew in each run",
    label="one seed",
)
UINT32 = KnownBehaviour(
    "uint32 of 31 bits in an IR",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO's uint32 holds 31 bits: the Convert {convert} makes one number, 2^31, of half "
    "of them.",
    met_by="a uniform that a Convert makes a uint32 of 32 bits",
    after="draws the integers themselves",
    label="31 bits",
)
WIDE = KnownBehaviour(
    "integers beyond 31 bits in an IR",
    OPENVINO,
    is_wrong=True,
    says="Of the integers from {low} to {high} it draws only some, or always the same one: it "
    "computes them in 31 bits.",
    met_by="the bounds of a RandomUniform of integers",
    after="draws the whole range",
    label="31 bits",
)
ROWS = (UNSEEDED, UINT32, WIDE, MERGED_ZEROS)


@dataclass(frozen=True)
class Subtracted:
    """Whether a Subtract has a node's noise on the right, and whether others read it, too."""

    is_so: bool
    is_read_elsewhere: bool


def said(node: ov.Node, record: RandomNode, among: MergedZeros) -> Iterator[Said]:
    """What to say of a node that OpenVINO draws.

    Args:
        node: It.
        record: What a search says of it.
        among: The random nodes of the model.
    """
    if node.get_type_name() != "RandomUniform":
        return
    attributes = node.get_attributes()
    has_seed = int(attributes["global_seed"]) or int(attributes["op_seed"])
    if str(attributes.get("alignment")).lower() == "pytorch" and not has_seed:
        yield UNSEEDED.said()
    wide = _wide_range(node)
    if wide is not None:
        low, high = wide
        yield WIDE.said(low=str(low), high=str(high))
    is_of_words = record.replacement == RANDOM_GENERATOR.name
    convert = _conversion_to_uint32(node) if is_of_words else ""
    if convert:
        yield UINT32.said(convert=convert)
    other = None if has_seed else among.merged_with(node)
    if other is not None:
        yield MERGED_ZEROS.said(other=other.get_friendly_name())


def _wide_range(node: ov.Node) -> tuple[int, int] | None:
    """The bounds of integers that OpenVINO's i32 does not hold, or not their distance."""
    if node.get_output_element_type(0) not in (ov.Type.i32, ov.Type.i64):
        return None
    bounds = [constant(node.input_value(index)) for index in (1, 2)]
    low, high = (
        None if known is None or known.size != 1 else int(known.item()) for known in bounds
    )
    if low is None or high is None:
        return None
    are_held = low >= -_LIMIT and high < _LIMIT
    is_distance_held = high - low < _LIMIT
    if are_held and is_distance_held:
        return None
    return low, high


def said_of_unloaded(node: ov.Node) -> Iterator[Said]:
    """What to say of a node whose trial OpenVINO does not load."""
    factor = negative_factor(node)
    if factor is not None:
        yield NEGATIVE.said(factor=f"{factor:g}")


def negative_factor(node: ov.Node) -> float | None:
    """The negative number by which OpenVINO multiplies a uniform's bounds; None for none.

    As `known_in_onnx.negative_factor`. It multiplies no bounds that are not constants.
    """
    if node.get_type_name() != "RandomUniform":
        return None
    bounds = [constant(node.input_value(index)) for index in (1, 2)]
    if any(bound is None for bound in bounds):
        return None
    if node.get_output_element_type(0) not in _MULTIPLIED:
        return None
    for _ in range(_STEPS):
        readers = [*_readers(node)]
        if len(readers) != 1 or readers[0].get_type_name() not in ("Add", "Multiply"):
            return None
        number = _one_number(readers[0], node)
        if number is None:
            return None
        node = readers[0]
        is_product = node.get_type_name() == "Multiply"
        if is_product and number < 0 and not (number == -1 and _is_added(node)):
            return number
    return None


_MULTIPLIED = (ov.Type.f32, ov.Type.f16, ov.Type.f64)


def _one_number(reader: ov.Node, drawn: ov.Node) -> float | None:
    """The constant that a node of two inputs reads beside a draw; None where it is no number."""
    for value in reader.input_values():
        known = None if value.get_node() == drawn else constant(value)
        if known is not None and known.size == 1:
            return float(known.item())
    return None


def _is_added(node: ov.Node) -> bool:
    return any(reader.get_type_name() == "Add" for reader in _readers(node))


def _conversion_to_uint32(node: ov.Node) -> str:
    waiting = [node]
    while waiting:
        for reader in _readers(waiting.pop(0)):
            is_u32 = reader.get_output_size() and reader.get_output_element_type(0) == ov.Type.u32
            if reader.get_type_name() == "Convert" and is_u32:
                return repr(reader.get_friendly_name())
            if reader.get_type_name() in _KEEP_NUMBERS:
                waiting.append(reader)
    return ""


def subtracted(node: ov.Node) -> Subtracted:
    """Whether OpenVINO computes what a Subtract has of a node when it compiles the model.

    As `known_in_onnx.takes_noise_from_a_subtract`, with what is a node of its own in an IR.
    """
    if not _is_static_noise(node):
        return Subtracted(False, False)
    waiting, seen = [node], {node.get_name()}
    is_subtracted = is_read_elsewhere = False
    while waiting:
        for output in waiting.pop(0).outputs():
            for target in output.get_target_inputs():
                reader = target.get_node()
                if reader.get_type_name() == "ShapeOf" or reader.get_name() in seen:
                    continue
                if reader.get_type_name() == "Subtract" and target.get_index() == 1:
                    is_subtracted = True
                elif _reads_only_noise(reader, _STEPS):
                    seen.add(reader.get_name())
                    waiting.append(reader)
                else:
                    is_read_elsewhere = True
    return Subtracted(is_subtracted, is_subtracted and is_read_elsewhere)


def _is_static_noise(node: ov.Node) -> bool:
    is_uniform = node.get_type_name() == "RandomUniform"
    return is_uniform and bool(node.get_output_partial_shape(0).is_static)


def _reads_only_noise(reader: ov.Node, steps: int) -> bool:
    """Whether a node computes something of noise and constants alone, as far as a walk sees."""
    if not steps or reader.get_type_name() in ("Assign", "Multinomial", "Parameter", "Result"):
        return False
    given = [value.get_node() for value in reader.input_values()]
    return bool(given) and all(
        each.get_type_name() == "Constant"
        or _is_static_noise(each)
        or _reads_only_noise(each, steps - 1)
        for each in given
    )


def _readers(node: ov.Node) -> Iterator[ov.Node]:
    for output in node.outputs():
        for target in output.get_target_inputs():
            yield target.get_node()
