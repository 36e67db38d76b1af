"""Where a random node stands in a model of ONNX, and what it must have to be read."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from onnx.defs import OpSchema

from onnx_philox._contract.refusal import TypeRefusalError
from onnx_philox._contract.shown import listed
from onnx_philox._contract.types import ElementType
from onnx_philox._models.onnx_graphs import Owner, label, opset_of, walk
from onnx_philox._rewriting import found
from onnx_philox._rewriting.in_onnx.random_nodes.foreign import schema_of
from onnx_philox._rewriting.in_onnx.random_nodes.tensorflow_random_nodes import is_known

FUNCTION_OF_ORIGIN = "onnx_philox.function"
"""The key of a node's `meta` under which inlining notes the function that held it."""

_OPTIONAL = OpSchema.FormalParameterOption.Optional

Site = found.Site[ir.Node, Owner]


def site_of(
    node: ir.Node,
    owners: tuple[Owner, ...],
    version: int | None,
    opset: int,
) -> Site:
    """The place of a node, given what it does not say itself: see `found.Site`."""
    # Not by its alias: what makes an object of that sets a field, which a frozen class refuses.
    return found.Site(
        node,
        owners,
        label(node),
        name=node.name or "",
        op_type=node.op_type,
        domain=node.domain,
        version=version,
        outputs=tuple(value.name or "" for value in node.outputs),
        opset=opset,
        function=node.meta.get(FUNCTION_OF_ORIGIN),
        explicit_seed=_explicit_seed(node),
    )


def _explicit_seed(node: ir.Node) -> str | None:
    seeds: dict[str, float] = {}
    attributes = node.attributes
    for name in ("seed", "seed2"):
        # `get` of onnx-ir raises an error inside for each name that is not there.
        value = attributes[name].value if name in attributes else None
        if isinstance(value, int | float):
            seeds[name] = value
    if is_known(node):
        # TensorFlow's are a pair, and 0 and 0 is none.
        if not any(seeds.values()):
            return None
        seeds = {"seed": 0, "seed2": 0} | seeds
    shown = []
    for name, seed in seeds.items():
        # A float, such as 12.0, equals the integer of a Dropout.
        text = str(seed)
        if isinstance(seed, float):
            # The attribute is an f32: 3.9, not 3.9000001.
            text = str(np.float32(seed))
            if seed.is_integer():
                text = format(seed, ".9g")
        shown.append(f"{name} {text}")
    return " and ".join(shown) or None


def required_input(site: Site, index: int) -> ir.Value:
    """An input that the node must have.

    Raises:
        ValueError: It has none.
    """
    value = None
    if index < len(site.node.inputs):
        value = site.node.inputs[index]
    if value is None:
        site.refuse(f"input {index}", "nothing", "connected", "Connect it.")
    return value


def allowed_type(
    site: Site,
    dtype: ir.DataType | None,
    types: tuple[ElementType, ...],
    remedy: str,
) -> ElementType:
    """The element type of this package that a type of ONNX is; the type may be unknown.

    Raises:
        TypeError: It is not one of the allowed types.
    """
    for type in types:
        if dtype is not None and type.onnx == dtype.value:
            return type
    given = "an unknown one" if dtype is None else dtype.name
    names = listed([ir.DataType(type.onnx).name for type in types])
    return site.refuse("the element type", given, names, remedy, TypeError)


def check_schemas(model: ir.Model) -> None:
    """Refuses a model in which `check_schema` refuses a node."""
    parts: list[ir.Model | ir.Function] = [model, *model.functions.values()]
    for part in parts:
        for node, owners in walk(part.graph):
            opset = opset_of(part.opset_imports, node.domain)
            check_schema(node, owners, opset)


def check_schema(
    node: ir.Node,
    owners: tuple[Owner, ...],
    opset: int | None,
) -> None:
    """Refuses a node with other inputs, outputs or attributes than its operator declares.

    Raises:
        TypeError: An attribute has another type.
        ValueError: There are too many or too few of them, or one is missing.
    """
    schema = schema_of(node, opset)
    if schema is None:
        return
    declared = _declared(schema)
    inputs = node.inputs
    _check_number(node, owners, opset, "inputs", len(inputs), declared.inputs)
    _check_number(node, owners, opset, "outputs", len(node.outputs), declared.outputs)
    for index in declared.required_inputs:
        if index >= len(inputs) or inputs[index] is None:
            required_input(site_of(node, owners, opset, 0), index)
    attributes = node.attributes
    for name, wanted, is_required in declared.attributes:
        if name not in attributes:
            if is_required:
                site = site_of(node, owners, opset, 0)
                site.refuse(f"attribute {name!r}", "nothing", wanted, "Give it.")
            continue
        attribute = attributes[name]
        if not attribute.is_ref() and attribute.type.name != wanted:
            remedy = "Give it that type, or remove it."
            site_of(node, owners, opset, 0).refuse(
                f"attribute {name!r}",
                attribute.type.name,
                wanted,
                remedy,
                TypeError,
            )


@dataclass(frozen=True)
class _Declared:
    """What an operator declares, read once: each question to ONNX's schema takes its time."""

    inputs: tuple[int, int]
    """The least and the most of them."""
    outputs: tuple[int, int]
    required_inputs: tuple[int, ...]
    """Their indices."""
    attributes: tuple[tuple[str, str, bool], ...]
    """The name of each, its type, and whether it is required."""


@functools.cache
def _declared(schema: OpSchema) -> _Declared:
    last = len(schema.inputs) - 1
    required = []
    for index in range(schema.min_input):
        # The last one declared stands for all after it.
        if schema.inputs[min(index, last)].option is not _OPTIONAL:
            required.append(index)
    attributes = []
    for name, attribute in schema.attributes.items():
        type_name = str(attribute.type).rpartition(".")[2]
        attributes.append((name, type_name, attribute.required))
    return _Declared(
        inputs=(0, schema.max_input),
        outputs=(schema.min_output, schema.max_output),
        required_inputs=tuple(required),
        attributes=tuple(attributes),
    )


def _check_number(
    node: ir.Node,
    owners: tuple[Owner, ...],
    opset: int | None,
    what: str,
    given: int,
    allowed: tuple[int, int],
) -> None:
    least, most = allowed
    if not least <= given <= most:
        site = site_of(node, owners, opset, 0)
        numbers = f"at least {least} and at most {most}"
        site.refuse(f"the number of {what}", given, numbers, "Correct the node.")


class DeclaredTypeError(TypeRefusalError):
    """A refusal of a node whose output is declared as another type than it draws."""


def check_declared(site: Site, drawn: ir.DataType) -> None:
    """Refuses a node that draws another type than its first output is declared to have.

    Converters to float16 leave a node's `dtype` as it was beside such a declaration. Then no
    runtime loads the model, and only its author knows which of the two is meant.

    Raises:
        DeclaredTypeError: It does.
    """
    output = site.node.outputs[0]
    declared = output.dtype
    if declared in (None, ir.DataType.UNDEFINED, drawn):
        return
    op = site.node.op_type
    remedy = f"Declare it {drawn.name}"
    if op != "Dropout":
        remedy = f"Set dtype to {declared.value} ({declared.name})"
    remedy += f", or put {op!r} into the op_block_list of the float16 converter: "
    remedy += "no runtime loads the model as it is."
    what = f"the type of output {output.name!r}"
    given = f"one that is declared {declared.name}"
    allowed = f"{drawn.name}, which the node draws"
    raise DeclaredTypeError(site.title, what, given, allowed, remedy)
