"""Walks through the graphs of a model of OpenVINO, and reads the nodes there.

Nodes are told apart by `get_name`, which is unique in a process: their `==` makes a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from onnx_philox._contract import alignment
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.openvino_plugin import EXTENSION
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.streams import AWAITS_STATE, STATE
from onnx_philox._contract.types import ElementType
from onnx_philox._openvino_models import arrays

# Where OpenVINO keeps the metadata of a file of ONNX.
_OF_ONNX = "framework"
_LOOPS = ("Loop", "TensorIterator")
# What stands around a draw, and gives a tensor whose shape does not depend on its numbers.
_SHAPE_WITHOUT_NUMBERS = {
    "Add",
    "Convert",
    "ConvertLike",
    "Divide",
    "Exp",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
    "LogicalNot",
    "Maximum",
    "Multiply",
    "Select",
    "Subtract",
    "Tan",
    "Concat",
    "Squeeze",
    "Unsqueeze",
}
_BRANCHES = ("then_branch", "else_branch")


@dataclass(frozen=True)
class Owner:
    """A node that holds a body."""

    node: ov.Node
    attribute: str
    index: int
    """Of an If's bodies 0 is the one that a true condition chooses."""
    body: ov.Model

    @property
    def label(self) -> str:
        """The step of a path, ``Loop 'name' body``."""
        return f"{label(self.node)} {self.attribute}"


def label(node: ov.Node) -> str:
    """The operator and the name of a node."""
    return f"{node.get_type_name()} {node.get_friendly_name()!r}"


def name_of(node: ov.Node) -> str:
    """A name of a node's tensor: that of the node, if it is among them."""
    names = node.output(0).get_names()
    friendly: str = node.get_friendly_name()
    return friendly if friendly in names or not names else min(names)


def bodies(node: ov.Node) -> list[tuple[str, ov.Model]]:
    """The bodies of a node, with what a path calls them."""
    kind = node.get_type_name()
    if kind in _LOOPS:
        return [("body", node.get_function())]
    if kind == "If":
        return [(name, node.get_function(i)) for i, name in enumerate(_BRANCHES)]
    return []


def walk(
    model: ov.Model,
    owners: tuple[Owner, ...] = (),
) -> Iterator[tuple[ov.Node, tuple[Owner, ...]]]:
    """Every node in the order of `get_ordered_ops`, depth first, with the owners of its bodies."""
    for node in model.get_ordered_ops():
        yield node, owners
        for i, (name, body) in enumerate(bodies(node)):
            owner = Owner(node, name, i, body)
            yield from walk(body, (*owners, owner))


def forget_order(model: ov.Model) -> None:
    """Makes a model, and all bodies in it, find the order of their nodes anew.

    OpenVINO does not notice when an owner of a body gets another input: a constant that only such
    an input reads would be no node of the model, and compiling it ends with "unordered_map::at".
    """
    model.add_parameters([])
    for node in model.get_ordered_ops():
        for _, body in bodies(node):
            forget_order(body)


def opset_of(node: ov.Node) -> int | None:
    """The operator set that a node is of; None for an operator of others."""
    version = str(node.get_type_info().version_id)
    number = version.removeprefix("opset")
    if number == version or not number.isdigit():
        return None
    return int(number)


def is_ours(node: ov.Node) -> bool:
    """Whether a node is one of this package."""
    is_extension = node.get_type_info().version_id == EXTENSION
    return is_extension and node.get_type_name() in OPERATORS


def state_of(ours: ov.Node) -> ov.Output | None:
    """What a node of this package reads as its state."""
    declared = OPERATORS[ours.get_type_name()].inputs
    index = next(i for i, given in enumerate(declared) if given.name == "state")
    if index >= ours.get_input_size():
        return None
    return ours.input_value(index)


def awaits_state(node: ov.Node) -> bool:
    """Whether a node is one of this package that a converter made and left without a state."""
    state = state_of(node) if is_ours(node) else None
    source = None if state is None else state.get_node()
    return (
        source is not None
        # Earlier versions wrote a Constant.
        and source.get_type_name() in ("Roll", "Constant")
        # In an IR a number follows.
        and str(source.get_friendly_name()).startswith(AWAITS_STATE)
    )


def is_shape_alone(node: ov.Node) -> bool:
    """Whether nothing is read of what a node draws but its shape: such a node takes no number."""
    left = list(node.outputs()[:-1])
    seen = set()
    while left:
        for reader in left.pop().get_target_inputs():
            by = reader.get_node()
            seen.add(by.get_type_name())
            if by.get_type_name() in _SHAPE_WITHOUT_NUMBERS:
                left += by.outputs()
            elif by.get_type_name() != "ShapeOf":
                return False
    return "ShapeOf" in seen


def lacks_state(node: ov.Node) -> bool:
    """Whether a node of this package has no state, and a rewrite gives it that of the model.

    A node by a seed of a generator that has no streams is complete.
    """
    if not is_ours(node) or not generator_of(node).is_counter_based:
        return False
    state = state_of(node)
    return state is None or _is_filled_in(node, state)


def _is_filled_in(node: ov.Node, state: ov.Output) -> bool:
    """Whether a state is what a node with a mask gives itself where it has none: zeros."""
    source = state.get_node()
    return bool(
        OPERATORS[node.get_type_name()].drawn_output
        and any(seeds_of(node))
        and source.get_type_name() == "Constant"
        and not str(source.get_friendly_name()).startswith((STATE, AWAITS_STATE))
        and len(state.get_target_inputs()) == 1
        and not arrays.memory(source).any()
    )


def generator_of(node: ov.Node) -> Generator:
    """The generator by which a node, of this package or OpenVINO's own, says that it draws."""
    return alignment.generator_of(node.get_attributes())


def seeds_of(node: ov.Node) -> tuple[int, int]:
    """The seeds of a node, the global one first; 0 for one that it does not have."""
    said = node.get_attributes()
    global_seed = said.get("global_seed", 0)
    op_seed = said.get("op_seed", 0)
    return int(global_seed), int(op_seed)


def own_seeds(node: ov.Node) -> tuple[int, int] | None:
    """The seeds that a random node has from its user; None where there are none."""
    if awaits_state(node) or not any(seeds_of(node)):
        return None
    return seeds_of(node)


def metadata(model: ov.Model, key: str) -> str | None:
    """What a rewrite wrote of this model, or of the ONNX file that it was; None for nothing."""
    for path in ([key], [_OF_ONNX, key]):
        if model.has_rt_info(path):
            return str(model.get_rt_info(path).value)
    return None


def only_reader(output: ov.Output) -> tuple[ov.Node, int] | None:
    """The only node that reads an output, and the index of that input; no result of a model."""
    readers = list(output.get_target_inputs())
    if len(readers) != 1:
        return None
    (reader,) = readers
    node = reader.get_node()
    if node.get_type_name() == "Result":
        return None
    return node, reader.get_index()


def constant(output: ov.Output) -> NDArray[Any] | None:
    """The array that an output always is; None where it is not known.

    It sees through what compression to f16 and front ends leave: a Convert, and a product.
    """
    node = output.get_node()
    kind = node.get_type_name()
    if kind == "Constant":
        return arrays.memory(node)
    if kind not in ("Convert", "Multiply"):
        return None
    known = arrays.element_type(output.get_element_type())
    given = []
    for value in node.input_values():
        array = constant(value)
        if array is not None:
            given.append(array)
    # Only floats: integers saturate or wrap.
    if not isinstance(known, ElementType) or not known.is_float:
        return None
    if not all(map(_is_float, given)):
        return None
    match kind, given:
        case "Convert", [array]:
            return array.astype(known.dtype)
        case "Multiply", [first, second]:
            product: NDArray[Any] = first * second
            return product
    return None


def _is_float(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def number(output: ov.Output) -> float | None:
    """The one finite number that an output always is; None for any other."""
    array = constant(output)
    if array is None or array.size != 1:
        return None
    known = float(array.reshape(()).item())
    if not np.isfinite(known):
        return None
    return known


def dimensions(output: ov.Output) -> tuple[int | None, ...] | None:
    """The dimensions of an output, None for each that is unknown; None if the rank is unknown."""
    return arrays.known_dimensions(output.get_partial_shape())
