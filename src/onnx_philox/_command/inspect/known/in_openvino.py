"""What the structure of an OpenVINO IR shows of its random nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import openvino as ov

from onnx_philox._command.inspect.known.row import OPENVINO, KnownBehaviour, Said
from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._rewriting.report import RandomNode

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
ROWS = (UNSEEDED, UINT32)


@dataclass(frozen=True)
class Subtracted:
    """Whether a Subtract has a node's noise on the right, and whether others read it, too."""

    is_so: bool
    is_read_elsewhere: bool


def said(node: ov.Node, record: RandomNode) -> Iterator[Said]:
    """What to say of a node that OpenVINO draws."""
    if node.get_type_name() != "RandomUniform":
        return
    attributes = node.get_attributes()
    has_seed = int(attributes["global_seed"]) or int(attributes["op_seed"])
    if str(attributes.get("alignment")).lower() == "pytorch" and not has_seed:
        yield UNSEEDED.said()
    is_of_words = record.replacement == RANDOM_GENERATOR.name
    convert = _conversion_to_uint32(node) if is_of_words else ""
    if convert:
        yield UINT32.said(convert=convert)


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

    As `in_onnx.takes_noise_from_a_subtract`, with what is a node of its own in an IR.
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
