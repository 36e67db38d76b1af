"""Nodes with seeds of 0 that OpenVINO makes one of, as the structure of an IR shows them.

Constants need only be equal, if something else is read by both.
"""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterable

import openvino as ov

from onnx_philox._command.inspect.known.merging import merged_with
from onnx_philox._command.inspect.known.probed import MERGED
from onnx_philox._command.inspect.known.row import OPENVINO, Explains, KnownBehaviour
from onnx_philox._openvino_models.openvino_graphs import constant

MERGED_ZEROS = KnownBehaviour(
    "seeds of 0 that are merged in an IR",
    OPENVINO,
    is_wrong=True,
    says="OpenVINO draws it and {other} once, as one node: they read the same, and their seeds are "
    "0.",
    met_by="the attributes of two RandomUniforms and what they read; not both are results",
    after="draws numbers of its own",
    label="not independent",
    explains=Explains.SEVERAL_NODES,
    instead_of=MERGED.name,
)
_STEPS = 8
_COMPUTED = (
    "Broadcast",
    "Concat",
    "Convert",
    "Gather",
    "Reshape",
    "ShapeOf",
    "Slice",
    "Squeeze",
    "StridedSlice",
    "Unsqueeze",
)


class MergedZeros:
    """The random nodes of a model, and which of them are merged.

    Args:
        nodes: All of them.
    """

    def __init__(self, nodes: Iterable[ov.Node]) -> None:
        self._alike: dict[Hashable, list[ov.Node]] = collections.defaultdict(list)
        for node in nodes:
            self._alike[_what_it_is(node)].append(node)

    def merged_with(self, node: ov.Node) -> ov.Node | None:
        """Another node that OpenVINO takes for this one; None for none."""
        alike = self._alike[_what_it_is(node)]
        others = (each for each in alike if each.get_name() != node.get_name())
        return merged_with(node, others, _read_by, _is_result)


def _is_result(node: ov.Node) -> bool:
    for output in node.outputs():
        for target in output.get_target_inputs():
            if target.get_node().get_type_name() == "Result":
                return True
    return False


def _what_it_is(node: ov.Node) -> Hashable:
    """What is equal for nodes that are merged, if both read something."""
    sources = tuple(_source(value, _STEPS) for value in node.input_values())
    return node.get_type_name(), _attributes(node), sources


def _attributes(node: ov.Node) -> Hashable:
    attributes = node.get_attributes()
    said = [(name, str(value)) for name, value in attributes.items()]
    return tuple(sorted(said))


def _source(value: ov.Output, steps: int) -> Hashable:
    """What is equal for outputs that surely are: one output, or the same made of one."""
    node = value.get_node()
    known = constant(value)
    if known is not None:
        return known.dtype.str, known.shape, known.tobytes()
    if steps == 0 or node.get_type_name() not in _COMPUTED:
        return node.get_name(), value.get_index()
    read = tuple(_source(each, steps - 1) for each in node.input_values())
    return node.get_type_name(), _attributes(node), read


def _read_by(node: ov.Node, steps: int = _STEPS) -> set[str]:
    """The names of the nodes that a node reads, and of what those are computed of."""
    found = set()
    for value in node.input_values():
        source = value.get_node()
        found.add(source.get_name())
        if steps and source.get_type_name() in _COMPUTED:
            found |= _read_by(source, steps - 1)
    return found
