"""The nodes of this package in a model: what they have, and what is known of it before a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import checks, generators
from onnx_philox._contract.known_input import Known, sizes_of
from onnx_philox._contract.operators import ALIGNMENT, DOMAIN, MAX_RANK, OPERATORS, Operator
from onnx_philox._contract.streams import AWAITS_STATE
from onnx_philox._contract.types import BY_ONNX, ElementType
from onnx_philox._models import onnx_graphs


@dataclass(frozen=True)
class CheckedNode:
    """A node that breaks no rule, as far as is known before a run.

    Attributes:
        operator: The operator.
        inputs: The inputs that it has.
        known: What is known of them.
        attributes: All attributes, defaults filled in.
    """

    operator: Operator
    inputs: Mapping[str, ir.Value]
    known: Mapping[str, Known | None]
    attributes: Mapping[str, Any]

    def types(self) -> dict[str, ElementType | None]:
        """The types of the inputs; None for an input that is absent or of unknown type."""
        types = {}
        for declared in self.operator.inputs:
            known = self.known.get(declared.name)
            type_ = None if known is None else known.type
            # The check has passed, so a known type is one of ours.
            types[declared.name] = cast("ElementType | None", type_)
        return types

    @property
    def values_type(self) -> ElementType | None:
        """The type of the first output; None if it is not known yet."""
        return checks.known_output_type(
            self.operator,
            self.attributes,
            self.known,
        )

    def dimensions(self) -> list[int] | None:
        """The first output's dimensions; None if they are not known yet."""
        dimensions = checks.output_dimensions(self.operator, self.known, self.attributes)
        if dimensions is None or None in dimensions:
            return None
        return [cast("int", d) for d in dimensions]


def of_model(model: ir.Model) -> Iterator[ir.Node]:
    """The nodes of the domain, also those in branches and loops."""
    return (node for node, _ in onnx_graphs.walk(model.graph) if node.domain == DOMAIN)


def checked_node(node: ir.Node, known_of: Callable[[str, ir.Value], Known]) -> CheckedNode:
    """Checks a node with all that is known of its inputs, by their names and values.

    Raises:
        TypeError: An input or attribute of a wrong type.
        ValueError: An unknown operator, or a wrong value, shape or number of anything.
    """
    op = operator_of(node)
    checks.check_counts(op, len(node.inputs), len(node.outputs))
    inputs = inputs_of(node)
    known = {name: known_of(name, value) for name, value in inputs.items()}
    attributes = attributes_of(node)
    values = checks.check_node(op, known, attributes)
    return CheckedNode(op, inputs, known, values)


def known(
    constant: NDArray[Any] | None,
    type_: ir.DataType | None,
    shape: ir.Shape | None,
) -> Known:
    """What is known of an input that is a constant, or has a type or a shape, or none of them."""
    # More dimensions are refused whatever their values, and NumPy cannot hold many more.
    if constant is not None and constant.ndim <= MAX_RANK:
        return Known.array(constant)
    dimensions = None
    if shape is not None:
        dimensions = sizes_of(shape)
    if type_ is None:
        return Known(None, dimensions)
    dtype = BY_ONNX.get(type_.value) or np.dtype(type_.numpy())
    return Known(dtype, dimensions)


def drop_empty_end(node: ir.Node) -> bool:
    """Removes a node's absent inputs at the end; returns whether there were any."""
    count = len(node.inputs)
    while count and node.inputs[count - 1] is None:
        count -= 1
    is_changed = count < len(node.inputs)
    node.resize_inputs(count)
    return is_changed


def declare_output_types(node: ir.Node) -> None:
    """Sets the types of a node's outputs if the model does not declare them.

    Raises:
        TypeError: An attribute of a wrong type.
        ValueError: An unknown operator, or a wrong attribute.
    """
    op = operator_of(node)
    attributes = checks.check_attributes(op, attributes_of(node))
    inputs = {}
    for name, value in inputs_of(node).items():
        inputs[name] = known(None, value.dtype, None)
    values = checks.known_output_type(op, attributes, inputs)
    for output, declared in zip(node.outputs, op.outputs, strict=False):
        element_type = declared.type or values
        if output.dtype is None and element_type is not None:
            output.dtype = ir.DataType(element_type.onnx)


def operator_of(node: ir.Node) -> Operator:
    """The operator of a node.

    Raises:
        ValueError: It is unknown.
    """
    op = OPERATORS.get(node.op_type)
    if op is None:
        known = f"one of {', '.join(OPERATORS)}"
        remedy = "Upgrade onnx-philox if a newer version made the model."
        owner = f"{DOMAIN}::{node.op_type}"
        checks.refuse(owner, "the operator", node.op_type, known, remedy)
    return op


def inputs_of(node: ir.Node) -> dict[str, ir.Value]:
    """The inputs that a node has, by name; none of an unknown operator."""
    operator = OPERATORS.get(node.op_type)
    declared_inputs = operator.inputs if operator else ()
    pairs = zip(declared_inputs, node.inputs, strict=False)
    return {declared.name: value for declared, value in pairs if value is not None}


def attributes_of(node: ir.Node) -> dict[str, Any]:
    """The attributes that a node has."""
    return {name: attribute.value for name, attribute in node.attributes.items()}


def seed_of(node: ir.Node, name: str) -> int:
    """The seed of a node of this package, by its name; 0 where it has none.

    Raises:
        TypeError: The attribute is not an integer.
        ValueError: The attribute is negative.
    """
    attribute = node.attributes.get(name)
    if attribute is None or attribute.is_ref():
        return 0
    operator = OPERATORS.get(node.op_type, node.op_type)
    return checks.check_seed(operator, name, attribute.value)


def generator_of(node: ir.Node) -> generators.Generator:
    """The generator by which a node of this package says that it draws.

    For a word that no node may say it is Philox: what checks the node's attributes refuses it.
    """
    word = None
    # `get` of onnx-ir raises an error inside where there is none, as on most nodes.
    if ALIGNMENT.name in node.attributes:
        said = node.attributes[ALIGNMENT.name].value
        if said in ALIGNMENT.allowed:
            word = said
    return generators.named(word)


def awaits_state(node: ir.Node) -> bool:
    """Whether a node waits for a state."""
    return node.domain == DOMAIN and AWAITS_STATE in node.metadata_props


def lacks_state(node: ir.Node) -> bool:
    """Whether a node of this package has no state, and a rewrite gives it that of the model.

    A node by a seed of a generator that has no streams is complete, and one without outputs draws
    for nobody. One of an unknown operator has none either: who reads it refuses it by name.
    """
    if node.domain != DOMAIN:
        return False
    if not any(output.name for output in node.outputs):
        return False
    return state_of(node) is None and not draws_by_seed(node)


def draws_by_seed(node: ir.Node) -> bool:
    """Whether a node of this package draws by its own seed in every run, having no streams."""
    seed = node.attributes.get("global_seed")
    if generator_of(node).is_counter_based or state_of(node) is not None:
        return False
    return bool(seed and seed.value)


def _place_of_state(operator: Operator) -> int:
    names = [declared.name for declared in operator.inputs]
    return names.index("state")


_STATE_AT = {name: _place_of_state(operator) for name, operator in OPERATORS.items()}
"""Which input of each operator is the state."""


def own_seeds(node: ir.Node) -> tuple[int, int] | None:
    """The seeds that a node without a state keeps in a rewrite; None where it has none to keep."""
    if awaits_state(node) or not lacks_state(node):
        return None
    global_seed = seed_of(node, "global_seed")
    op_seed = seed_of(node, "op_seed")
    if not global_seed and not op_seed:
        return None
    return global_seed, op_seed


def state_of(node: ir.Node) -> ir.Value | None:
    """The state that a node reads; None for one without."""
    place = _STATE_AT.get(node.op_type)
    if place is None or place >= len(node.inputs):
        return None
    return node.inputs[place]
