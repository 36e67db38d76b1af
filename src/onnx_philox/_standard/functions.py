"""The operators as functions of a model, for backends that have no kernels for them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from onnx_philox._contract import alignment, checks
from onnx_philox._contract.known import Known
from onnx_philox._contract.operators import (
    DOMAIN,
    OPERATORS,
    OPSET_VERSION,
    SEEDS,
    Input,
    Operator,
    Role,
)
from onnx_philox._contract.types import ElementType
from onnx_philox._models.emitter import Names, free_name
from onnx_philox._models.graphs import onnx_opset_of, remove, take_over
from onnx_philox._models.untouched import Originals
from onnx_philox._standard import emitting, reading
from onnx_philox._standard.builder import OPSET, Builder
from onnx_philox._standard.reading import Model
from onnx_philox._standard.targets import DrawnNode, OnnxRuntime

OWNER = "onnx_philox.rewriting.add_functions"

# The first IR version that allows overloads, several functions of one name.
_IR_VERSION_OF_OVERLOADS = 10

_SEED_NAMES = [seed.name for seed in SEEDS]


class _InFunction(OnnxRuntime):
    """The nodes of ONNX Runtime, with the seeds that a call of the function gives."""

    def seeds(self, b: Builder, draw: DrawnNode) -> ir.Value:
        del draw  # The seeds of its own are those of one call.
        axis = b.constant([0])
        given = [
            b("Unsqueeze", b("Constant", value_int=ir.RefAttr("value_int", name, _INT)), axis)
            for name in ("op_seed", "global_seed")
        ]
        joined = b("Concat", b.constant([0]), *given, axis=0)
        return b.cast(b("Reshape", joined, b.constant([3, 1])), ir.DataType.UINT64)


_INT = ir.AttributeType.INT
_TARGET = _InFunction()


def function_of(node: onnx.NodeProto, *, p_type: str = "f32") -> onnx.FunctionProto:
    """Makes the body of an operator of this package, as nodes of ONNX's own domain.

    The body is that of the node's attributes and inputs: its types, its `sample_size`, and whether
    it has a state. It serves every node that differs in its seeds only.

    Args:
        node: A node of the domain onnx_philox.
        p_type: The type of RandomBernoulli's input p, or of RandomDropout's ratio, f32 or f64; its
            data are f32. Other operators ignore it.

    Returns:
        A function of the operator's domain and name, of opset 18 and without an overload. A call
        must have all attributes and all outputs; `add_functions` sees to both.

    Raises:
        TypeError: `node` is no NodeProto, or an attribute is of a wrong type.
        ValueError: It is no such node, an attribute is out of its range, or p_type is no such type.

    Example:
        >>> from onnx_philox import graphs
        >>> node = graphs.random_normal([3], 0, 1, "f32", op_seed=7).graph.node[0]
        >>> function = function_of(node)
        >>> function.domain, function.name, {n.domain for n in function.node}
        ('onnx_philox', 'RandomNormal', {''})
    """
    owner = "onnx_philox.rewriting.function_of"
    if not isinstance(node, onnx.NodeProto):
        allowed = "an onnx.NodeProto"
        remedy = "Pass one of model.graph.node, where the model is an onnx.ModelProto."
        checks.refuse(owner, "the node", type(node).__name__, allowed, remedy, TypeError)
    op = OPERATORS.get(node.op_type) if node.domain == DOMAIN else None
    if op is None:
        given = f"{node.domain or 'ai.onnx'}::{node.op_type}"
        allowed = f"one of {', '.join(OPERATORS)} of the domain {DOMAIN}"
        remedy = "Rewrite the model first: onnx_philox.make_reproducible makes such nodes."
        checks.refuse(owner, "the node", given, allowed, remedy)
    checks.check_counts(op, len(node.input), len(node.output))
    attributes = checks.check_attributes(
        op, {a.name: _text(onnx.helper.get_attribute_value(a)) for a in node.attribute}
    )
    alignment.refuse_without_nodes(op, attributes)
    attributes = op.written(attributes)
    names = [declared.name for declared, name in zip(op.inputs, node.input, strict=False) if name]
    types: dict[str, ElementType] = {}
    for declared in _typed(op):
        if declared.role is Role.DATA:
            types[declared.name] = declared.types[0]
        else:
            allowed_types = {t.name: t for t in declared.types}
            if p_type not in allowed_types:
                remedy = "Choose the type of the node's input p."
                checks.refuse(op, "p_type", repr(p_type), " or ".join(allowed_types), remedy)
            types[declared.name] = allowed_types[p_type]
    return ir.serde.serialize_function(_function(op, attributes, names, types, OPSET, ""))


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def add_functions(model: Model) -> onnx.ModelProto:
    """Adds the bodies of this package's operators to a model, as functions.

    Its nodes stay as they are. A runtime that has our kernels uses them; ONNX Runtime without
    them, and tools such as `onnx.inliner`, expand the functions and draw the same bits.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, bytes or a path; the model given stays as
            it is. Its opset must be 18 or newer, or one that `onnx.version_converter` raises to 18.

    Returns:
        The new model, which names all attributes and outputs of these nodes. It has a function for
        each operator; where nodes of one operator need several bodies, overloads, which raise the
        IR version to 10. A model without such nodes comes back as it is.

    Raises:
        TypeError: `model`, or an input of a node, is of a wrong type.
        ValueError: A node breaks its rules, or the opset cannot be raised.

    Warns:
        UserWarning: As in `to_standard_nodes`.
    """
    return reading.each_form(model, OWNER, _with_functions)


def _with_functions(proto: onnx.ModelProto, folder: Path | None) -> onnx.ModelProto:
    originals = Originals(proto, folder, owner=OWNER)
    model = originals.model
    draws = reading.draws(model, _TARGET, OWNER)
    if not draws:
        return proto
    opset = onnx_opset_of(model.opset_imports)
    names = Names(model)
    overloads: dict[tuple[Any, ...], str] = {}
    for node, draw in draws.items():
        key = _variant(draw)
        if key not in overloads:
            is_first = all(operator != key[0] for operator, *_ in overloads)
            overloads[key] = "" if is_first else _overload(draw, overloads.values())
            function = _function(
                draw.operator,
                draw.attributes,
                list(draw.inputs),
                _types(draw),
                opset,
                overloads[key],
            )
            model.functions[function.identifier()] = function
        _complete(node, draw, overloads[key], names)
    model.opset_imports[DOMAIN] = OPSET_VERSION
    result = originals.to_proto()
    if any(overloads.values()):
        result.ir_version = max(result.ir_version, _IR_VERSION_OF_OVERLOADS)
    return result


def _types(draw: DrawnNode) -> dict[str, ElementType]:
    return {declared.name: draw.type_of(declared.name) for declared in _typed(draw.operator)}


def _typed(op: Operator) -> list[Input]:
    """The inputs that may have several types, on which a body depends."""
    roles = Role.NUMBERS, Role.DATA
    return [i for i in op.inputs if i.role in roles or i.name == op.words.by]


def _variant(draw: DrawnNode) -> tuple[Any, ...]:
    """What a body depends on."""
    attributes = {k: v for k, v in draw.attributes.items() if k not in _SEED_NAMES}
    return (
        draw.operator.name,
        tuple(attributes.items()),
        "state" in draw.inputs,
        tuple(t.name for t in _types(draw).values()),
    )


def _overload(draw: DrawnNode, taken: Any) -> str:
    _, attributes, has_state, types = _variant(draw)
    parts = [str(value) for _, value in attributes] + list(types)
    name = "_".join(parts if has_state else [*parts, "no_state"])
    return free_name(name, taken)


def _complete(node: ir.Node, draw: DrawnNode, overload: str, names: Names) -> None:
    """Writes out what a call of a function may not leave to defaults."""
    new = ir.node(
        node.op_type,
        list(node.inputs),
        dict(draw.attributes),
        domain=DOMAIN,
        overload=overload,
        num_outputs=len(draw.operator.outputs),
        name=node.name,
        doc_string=node.doc_string,
        metadata_props=dict(node.metadata_props),
    )
    for ours, theirs in itertools.zip_longest(new.outputs, node.outputs):
        if theirs is None or not theirs.name:
            ours.name = names.new("unused_state")
        else:
            take_over(ours, theirs)
    node.prepend([new])
    remove(node)


def _function(
    op: Operator,
    attributes: Mapping[str, Any],
    given: list[str],
    types: Mapping[str, ElementType],
    opset: int,
    overload: str,
) -> ir.Function:
    """The body, for inputs of which only types are known.

    Args:
        op: The operator.
        attributes: All of its attributes.
        given: The inputs that a call has.
        types: The types of inputs that may have several.
        opset: Of ONNX's own domain.
        overload: The function's.
    """
    inputs = {declared.name: ir.Value(name=declared.name) for declared in op.inputs}
    known = {name: Known(types.get(name), None) for name in inputs}
    draw = DrawnNode(
        op,
        {name: value for name, value in inputs.items() if name in given},
        known,
        attributes,
        checks.output_type(op, attributes, known),
    )
    _TARGET.check(draw, is_inexact_allowed=False)
    b = Builder(None)
    outputs = emitting.emit(b, _TARGET, draw, needs_state=True)
    defaults = {**attributes, **{seed.name: seed.default for seed in SEEDS}}
    return ir.Function(
        DOMAIN,
        op.name,
        overload,
        graph=b.graph(inputs.values(), outputs, {"": opset}),
        attributes=[ir.convenience.convert_attribute(k, v) for k, v in defaults.items()],
    )
