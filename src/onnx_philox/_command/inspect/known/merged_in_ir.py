"""Nodes with seeds of 0 that OpenVINO makes one of, as the structure of an IR shows them.

OpenVINO takes nodes of equal attributes for one if they read the same, which it looks for from each
output that several nodes read. Constants need only be equal, if something else is read by both. It
leaves two alone that are both results of the model.
"""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterable, Iterator

import openvino as ov

from onnx_philox._command.inspect.known.probed import MERGED
from onnx_philox._command.inspect.known.row import OPENVINO, Explains, KnownBehaviour
from onnx_philox._openvino_models.graphs import constant

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
_COMPUTED = frozenset(
    "Broadcast Concat Convert Gather Reshape ShapeOf Slice Squeeze StridedSlice Unsqueeze".split()  # noqa: SIM905
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
        is_result = _is_result(node)
        read = _read_by(node)
        for other in self._alike[_what_it_is(node)]:
            is_other = other.get_name() != node.get_name()
            are_results = is_result and _is_result(other)
            if is_other and not are_results and not read.isdisjoint(_read_by(other)):
                return other
        return None


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
    return tuple(sorted((name, str(value)) for name, value in node.get_attributes().items()))


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


def _read_by(node: ov.Node) -> set[str]:
    """The names of the nodes that a node reads, and of what those are computed of."""
    return {each.get_name() for each in _sources(node, _STEPS)}


def _sources(node: ov.Node, steps: int) -> Iterator[ov.Node]:
    for value in node.input_values():
        source = value.get_node()
        yield source
        if steps and source.get_type_name() in _COMPUTED:
            yield from _sources(source, steps - 1)
