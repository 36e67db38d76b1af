"""Which nodes may compute a state: those whose words are exact in the CPU plugin.

The plugin computes u32, i64 and u64 as i32, and booleans as u8. A word is exact where its low 32
bits are right. So is an index: where it is valid, it is less than 2^31.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox import _openvino_arrays as arrays
from onnx_philox.openvino._constants import MAX_ELEMENTS, Upstream

_INT32 = np.iinfo(np.int32)
# f32 holds every integer up to this one.
_F32_INTEGERS = 2**24

_WORDS = ("i32", "i64", "u32", "u64")
# These arrive widened. They can be moved and converted, but saturate in arithmetic.
_INTEGERS = (*_WORDS, "boolean", "i8", "i16", "u8", "u16")


@dataclass(frozen=True)
class _Exact:
    """When a node is exact.

    Attributes:
        inputs: A letter for each, the last one also for all further inputs: `d` data, which must be
            exact; `p` a place (index, axis, shape, padding), which must be exact or constant; `v` a
            value that the plugin reads as an f32 constant.
        types: The types of its output.
    """

    inputs: str
    types: tuple[str, ...]

    def role(self, index: int) -> str:
        return self.inputs[min(index, len(self.inputs) - 1)]


# In C++ kExact, custom_ops/openvino/exact_words.cpp.
_EXACT = {
    # Arithmetic that is the same modulo 2^32.
    "Add": _Exact("d", _WORDS),
    "BitwiseAnd": _Exact("d", _WORDS),
    "BitwiseNot": _Exact("d", _WORDS),
    "BitwiseOr": _Exact("d", _WORDS),
    "BitwiseXor": _Exact("d", _WORDS),
    "Multiply": _Exact("d", _WORDS),
    "Subtract": _Exact("d", _WORDS),
    # Conditions. Comparisons are not exact: the plugin fuses them with a Select, in f32.
    "LogicalAnd": _Exact("d", ("boolean",)),
    "LogicalNot": _Exact("d", ("boolean",)),
    "LogicalOr": _Exact("d", ("boolean",)),
    "LogicalXor": _Exact("d", ("boolean",)),
    # Data from one place to another.
    "Broadcast": _Exact("dp", _INTEGERS),
    "Concat": _Exact("d", _INTEGERS),
    "Gather": _Exact("dp", _INTEGERS),
    "GatherElements": _Exact("dp", _INTEGERS),
    "GatherND": _Exact("dp", _INTEGERS),
    "Identity": _Exact("d", _INTEGERS),
    "Pad": _Exact("dppv", _INTEGERS),
    "Reshape": _Exact("dp", _INTEGERS),
    "Roll": _Exact("dp", _INTEGERS),
    "ScatterElementsUpdate": _Exact("dpdp", _INTEGERS),
    "ScatterNDUpdate": _Exact("dpd", _INTEGERS),
    "ScatterUpdate": _Exact("dpdp", _INTEGERS),
    "Select": _Exact("d", _INTEGERS),
    "Slice": _Exact("dp", _INTEGERS),
    "Split": _Exact("dp", _INTEGERS),
    "Squeeze": _Exact("dp", _INTEGERS),
    "StridedSlice": _Exact("dp", _INTEGERS),
    "Tile": _Exact("dp", _INTEGERS),
    "Transpose": _Exact("dp", _INTEGERS),
    "Unsqueeze": _Exact("dp", _INTEGERS),
    "VariadicSplit": _Exact("dp", _INTEGERS),
    # The plugin has no other variables of integers.
    "ReadValue": _Exact("d", ("i32",)),
    # From integers. To 8 and 16 bits, the plugin does not always truncate words.
    "Convert": _Exact("d", _WORDS),
}
# OpenVINO merges the constants on a path through these into one.
_MERGED = ("Add", "Multiply", "Subtract")
# This module does not compute these: they give dimensions, or another graph or operator checks
# them.
_ENDS = ("If", "Loop", "Parameter", "ShapeOf", "TensorIterator")

MOVING = frozenset(name for name, exact in _EXACT.items() if exact.types is _INTEGERS)
"""The nodes that hand data on as it is, and that the plugin keeps exact."""

_ALLOWED = (
    f"a constant, a model input, or what {', '.join(sorted(_EXACT))} make of them in integers, "
    "since OpenVINO's CPU plugin computes uint32 as int32"
)
_ALLOWED_WHOLE = (
    f"at most {MAX_ELEMENTS} elements, or all within int32, since OpenVINO's CPU plugin clamps "
    "others"
)
_ALLOWED_CONSTANT = "constants within int32 there, since OpenVINO's CPU plugin clamps them"
_ALLOWED_MERGED = (
    "one such constant, or several whose product is within int32, since OpenVINO merges them and "
    "its CPU plugin clamps the result"
)
_ALLOWED_PADDING = "a constant within 2^24 there, since OpenVINO's CPU plugin reads it as f32"


def altered_part(output: ov.Output, upstream: Upstream) -> tuple[str, str] | None:
    """What the CPU plugin would compute differently on the way to a uint32 output.

    Args:
        output: The output.
        upstream: What is known of the nodes upstream.

    Returns:
        What is inexact, and what is allowed in its place; None if all is exact.
    """
    # A stack, not recursion: a state may come out of a deep network.
    stack = [output.get_node()]
    seen = {stack[0].get_name()}
    while stack:
        node = stack.pop()
        if (value := _constant(node, upstream)) is not None:
            found = _clamped(node, value, is_whole=len(seen) == 1)
        elif _is_end(node):
            continue
        else:
            found = _inexact(node, upstream)
            for source, _ in reversed(list(_followed(node, upstream))):
                if source.get_name() not in seen:
                    seen.add(source.get_name())
                    stack.append(source)
        if found is not None:
            return found
    return _merged_beyond(output.get_node(), upstream)


def _is_end(node: ov.Node) -> bool:
    return node.get_type_name() in _ENDS or node.get_type_info().version_id == "extension"


def _followed(node: ov.Node, upstream: Upstream) -> Iterator[tuple[ov.Node, str]]:
    """The nodes that must be exact for this one to be, and their roles."""
    exact = _EXACT.get(node.get_type_name())
    if exact is None:
        return
    for index in range(node.get_input_size()):
        source = node.input_value(index).get_node()
        role = exact.role(index)
        # A constant place may be clamped, like the end of a Slice: it still lies beyond the end.
        if role == "d" or (role == "p" and upstream.value_of(source) is None):
            yield source, role


def _constant(node: ov.Node, upstream: Upstream) -> NDArray[Any] | None:
    """The value of a constant of any size, or of a node computed from small constants."""
    return arrays.memory(node) if node.get_type_name() == "Constant" else upstream.value_of(node)


def _clamped(node: ov.Node, value: NDArray[Any], *, is_whole: bool) -> tuple[str, str] | None:
    """What the plugin changes of a constant, which may be all that there is."""
    outside = value[(value < _INT32.min) | (value > _INT32.max)].tolist()
    if not outside:
        return None
    kind = node.get_output_element_type(0).get_type_name()
    furthest = max(outside, key=lambda x: x if x >= 0 else ~x)
    if is_whole:
        return f"a {kind} constant of {value.size} elements, one of them {furthest}", _ALLOWED_WHOLE
    return f"merged from a {kind} constant of {furthest}", _ALLOWED_CONSTANT


def _inexact(node: ov.Node, upstream: Upstream) -> tuple[str, str] | None:
    """What is inexact in a node itself, whatever its inputs."""
    name = node.get_type_name()
    given = f"computed by {name}"
    exact = _EXACT.get(name)
    if exact is None:
        return given, _ALLOWED
    kind = node.get_output_element_type(0).get_type_name()
    if name == "Convert":
        source = node.get_input_element_type(0).get_type_name()
        if kind not in exact.types or source not in _INTEGERS:
            return f"{given} from {source} to {kind}", _ALLOWED
    elif kind not in exact.types:
        return f"{given} of {kind}", _ALLOWED
    if name in ("ScatterElementsUpdate", "ScatterNDUpdate"):
        reduction = node.get_attributes().get("reduction", "none")
        if reduction != "none":
            return f"{given} with {reduction}", _ALLOWED
    for index in range(node.get_input_size()):
        if exact.role(index) == "v":
            size = _magnitude(node.input_value(index).get_node(), upstream)
            if size is None or size > _F32_INTEGERS:
                return (
                    f"{given} with {'a computed value' if size is None else size}",
                    _ALLOWED_PADDING,
                )
    return None


def _magnitude(node: ov.Node, upstream: Upstream) -> int | None:
    value = _constant(node, upstream)
    if value is None or value.size == 0:
        return None if value is None else 0
    return max(abs(int(value.max())), abs(int(value.min())))


@dataclass(frozen=True)
class _Merged:
    """What the constants on a path to a node may become when OpenVINO merges them.

    Attributes:
        bound: A bound above all their sums and products, at most 2^31.
        count: How many they are.
    """

    bound: int = 1
    count: int = 0

    def with_constant(self, size: int) -> _Merged:
        return _Merged(min(self.bound * (size + 1), _INT32.max + 1), self.count + 1)


def _merged_beyond(node: ov.Node, upstream: Upstream) -> tuple[str, str] | None:
    """The constants on one path to a node that are clamped after OpenVINO merges them."""
    known: dict[str, _Merged] = {}
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
        merged = max(ways, key=lambda way: (way.bound, way.count), default=_Merged())
        if is_way and node.get_type_name() in _MERGED:
            for source in node.input_values():
                size = _magnitude(source.get_node(), upstream)
                if size is not None and size <= _INT32.max + 1:
                    merged = merged.with_constant(size)
        if merged.count > 1 and merged.bound > _INT32.max:
            given = f"computed by {', '.join(_MERGED)} with {merged.count} constants"
            return given, _ALLOWED_MERGED
        known[node.get_name()] = merged
    return None
