"""Which nodes may compute a state: those whose words are exact in the CPU plugin (`EXACT`)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8

from onnx_philox._contract import openvino_plugin
from onnx_philox._contract import sentences as say
from onnx_philox._openvino_models import arrays, requests
from onnx_philox._openvino_models.upstream import Upstream

_INT32 = np.iinfo(np.int32)
# f32 holds every integer up to this one.
_F32_INTEGERS = 2**24


# What is inexact, and what is allowed in its place.
_Altered = tuple[str, str]


def altered_part(output: ov.Output, upstream: Upstream) -> _Altered | None:
    """What the CPU plugin would compute differently on the way to a uint32 output.

    Returns what is inexact, and what is allowed in its place; None if all is exact.
    """
    # A stack, not recursion: a state may come out of a deep network.
    stack = [output.get_node()]
    seen = {stack[0].get_name()}
    while stack:
        node = stack.pop()
        value = _constant(node, upstream)
        if value is not None:
            is_whole = len(seen) == 1
            found = _clamped(node, value, is_whole=is_whole)
        elif _is_end(node):
            continue
        else:
            found = _inexact(node, upstream)
            followed = list(_followed(node, upstream))
            for source, _ in reversed(followed):
                if source.get_name() not in seen:
                    seen.add(source.get_name())
                    stack.append(source)
        if found is not None:
            return found
    return _merged_beyond(output.get_node(), upstream)


def _is_end(node: ov.Node) -> bool:
    is_extension: bool = node.get_type_info().version_id == openvino_plugin.EXTENSION
    return is_extension or node.get_type_name() in openvino_plugin.ENDS


def _followed(node: ov.Node, upstream: Upstream) -> Iterator[tuple[ov.Node, str]]:
    """The nodes that must be exact for this one to be, and their roles."""
    exact = openvino_plugin.EXACT.get(node.get_type_name())
    if exact is None:
        return
    for index in range(node.get_input_size()):
        source = node.input_value(index).get_node()
        role = exact.role(index)
        # A constant place may be clamped, like the end of a Slice: it still lies beyond the end.
        is_place = role == "p" and upstream.value_of(source) is None
        if role == "d" or is_place:
            yield source, role


def _constant(node: ov.Node, upstream: Upstream) -> NDArray[Any] | None:
    """The value of a constant of any size, or of a node computed from small constants."""
    if node.get_type_name() == "Constant":
        return arrays.memory(node)
    return upstream.value_of(node)


def _clamped(node: ov.Node, value: NDArray[Any], *, is_whole: bool) -> _Altered | None:
    """What the plugin changes of a constant, which may be all that there is."""
    is_outside = (value < _INT32.min) | (value > _INT32.max)
    outside = value[is_outside].tolist()
    if not outside:
        return None
    kind = node.get_output_element_type(0).get_type_name()
    furthest = max(outside, key=lambda x: max(x, ~x))
    if is_whole:
        given = say.CONSTANTS_WITH.format(value.size, kind, furthest)
        allowed = say.WHOLE_CONSTANT.format(openvino_plugin.MAX_ELEMENTS)
        return given, allowed
    given = say.MERGED_FROM.format(kind, furthest)
    return given, say.CLAMPED_CONSTANTS


def _inexact(node: ov.Node, upstream: Upstream) -> _Altered | None:
    """What is inexact in a node itself, whatever its inputs."""
    name = node.get_type_name()
    exact = openvino_plugin.EXACT.get(name)
    names = ", ".join(sorted(openvino_plugin.EXACT))
    allowed = say.EXACT_NODES.format(names)
    if exact is None:
        return say.COMPUTED_BY.format(name), allowed
    kind = node.get_output_element_type(0).get_type_name()
    if name == "Convert":
        source = node.get_input_element_type(0).get_type_name()
        if kind not in exact.types or source not in openvino_plugin.INTEGERS:
            return say.CONVERTED_BY.format(name, source, kind), allowed
    elif kind not in exact.types:
        return say.COMPUTED_BY_OF.format(name, kind), allowed
    if name == "Select":
        found = _chosen_in_f32(node, upstream)
        if found is not None:
            return found
    reduction = node.get_attributes().get("reduction", "none")
    if reduction != "none":
        return say.COMPUTED_BY_WITH.format(name, reduction), allowed
    for index in range(node.get_input_size()):
        if exact.role(index) == "v":
            source = node.input_value(index).get_node()
            size = _magnitude(source, upstream)
            if size is None or size > _F32_INTEGERS:
                value = say.A_COMPUTED_VALUE if size is None else size
                return say.COMPUTED_BY_WITH.format(name, value), say.PADDING
    return None


def _chosen_in_f32(select: ov.Node, upstream: Upstream) -> _Altered | None:
    """The condition by which the plugin chooses in f32, of which it makes one node with the Select.

    What lies between the two may be a node that OpenVINO removes.
    """
    condition = select.input_value(0).get_node()
    stack = [condition]
    seen = {condition.get_name()}
    while stack:
        node = stack.pop()
        if _is_end(node) or _constant(node, upstream) is not None:
            continue
        name = node.get_type_name()
        if name in openvino_plugin.LOGICAL:
            names = ", ".join(openvino_plugin.LOGICAL)
            if _is_dynamic(node):
                return say.CHOSEN_BEHIND_DYNAMIC.format(name), say.CONDITIONS.format(names)
            if not _chooses_exactly():
                return say.CHOSEN_BEHIND.format(name), say.CONDITIONS_HERE.format(names)
        for source, role in _followed(node, upstream):
            if role == "d" and source.get_name() not in seen:
                seen.add(source.get_name())
                stack.append(source)
    return None


def _is_dynamic(node: ov.Node) -> bool:
    """Whether the plugin takes a node for one of a dynamic shape: its inputs count, too."""
    values = [*node.input_values(), *node.outputs()]
    shapes = [value.get_partial_shape() for value in values]
    return any(shape.is_dynamic for shape in shapes)


@functools.cache
def _chooses_exactly() -> bool:
    """Whether the plugin chooses integers of a static shape exactly on this processor: it tries."""
    condition = opset8.parameter([1], np.bool_)
    one = opset8.parameter([1], np.int32)
    other = opset8.parameter([1], np.int32)
    chosen = opset8.select(opset8.logical_not(condition), one, other)
    model = ov.Model([chosen], [condition, one, other], "chosen")
    try:
        settings = {"INFERENCE_PRECISION_HINT": "f32"}
        compiled = ov.Core().compile_model(model, "CPU", settings)
    except RuntimeError:
        # There is no such device.
        return True
    # f32 does not hold it.
    odd = np.array([_F32_INTEGERS + 1], np.int32)
    request = compiled.create_infer_request()
    inputs = [np.array([False]), odd, odd]
    requests.run(request, inputs)
    drawn = request.get_output_tensor().data
    return bool(drawn[0] == odd[0])


def _magnitude(node: ov.Node, upstream: Upstream) -> int | None:
    value = _constant(node, upstream)
    if value is None:
        return None
    if value.size == 0:
        return 0
    largest = int(value.max())
    smallest = int(value.min())
    return max(abs(largest), abs(smallest))


def _merged_beyond(node: ov.Node, upstream: Upstream) -> _Altered | None:
    """The constants on one path to a node that are clamped after OpenVINO merges them."""
    # For each node a bound above all sums and products of those on a path to it, and how many they
    # are.
    known: dict[str, tuple[int, int]] = {}
    stack = [node]
    while stack:
        node = stack[-1]
        is_way = _constant(node, upstream) is None and not _is_end(node)
        followed = list(_followed(node, upstream)) if is_way else []
        unknown = [source for source, _ in followed if source.get_name() not in known]
        if unknown:
            stack += unknown
            continue
        stack.pop()
        # OpenVINO does not merge a constant in an index with one in the data.
        ways = [known[source.get_name()] for source, role in followed if role == "d"]
        bound, count = max(ways, default=(1, 0))
        if is_way and node.get_type_name() in openvino_plugin.MERGED:
            for source in node.input_values():
                size = _magnitude(source.get_node(), upstream)
                if size is not None:
                    bound = bound * (size + 1)
                    count = count + 1
        if count > 1 and bound > _INT32.max:
            names = ", ".join(openvino_plugin.MERGED)
            given = say.MERGED_CONSTANTS.format(names, count)
            return given, say.ONE_CONSTANT
        known[node.get_name()] = bound, count
    return None
