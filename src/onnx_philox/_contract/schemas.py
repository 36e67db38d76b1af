"""The ONNX schemas of the operators, made from their declaration."""

from __future__ import annotations

import atexit
from typing import Any

import onnx
from onnx import defs, helper, numpy_helper

from onnx_philox._contract import alignment, checks, operators
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.state import rows_of_states
from onnx_philox._contract.types import BY_ONNX, U32

_OPTION = defs.OpSchema.FormalParameterOption
_TYPES = "T"
Shape = tuple[int | str | None, ...] | None


def register_schemas() -> None:
    """Makes the domain known to `onnx.checker` and to ONNX's shape inference.

    Importing the package does not do this, and calling it again does nothing. Afterwards, a model
    that breaks a rule of the contract fails shape inference with
    `onnx.shape_inference.InferenceError`.
    """
    # At its first import, onnx.reference collects all schemas, and refuses a name that two domains
    # share. So its import must come first.
    import onnx.reference  # noqa: F401

    for op in operators.OPERATORS.values():
        if not defs.has(op.name, operators.DOMAIN):
            defs.register_schema(make_schema(op))
            # onnx 1.19 drops schemas when Python has ended, and waits for it for ever where
            # one holds a function of Python's.
            atexit.register(
                defs.deregister_schema,
                op.name,
                operators.OPSET_VERSION,
                operators.DOMAIN,
            )


def make_schema(op: operators.Operator) -> defs.OpSchema:
    """The schema of one operator, with its type and shape inference."""
    schema = defs.OpSchema(
        op.name,
        operators.DOMAIN,
        operators.OPSET_VERSION,
        op.doc,
        inputs=[
            defs.OpSchema.FormalParameter(
                i.name,
                _type_of(op, i.name),
                i.doc,
                param_option=_option(i.optional),
            )
            for i in op.inputs
        ],
        outputs=[
            defs.OpSchema.FormalParameter(
                o.name,
                o.type.onnx_name if o.type else _type_of(op, o.type_of) if o.type_of else _TYPES,
                o.doc,
                param_option=_option(o.optional),
            )
            for o in op.outputs
        ],
        type_constraints=_type_constraints(op),
        attributes=[_attribute(a) for a in op.attributes],
    )
    schema.set_type_and_shape_inference_function(lambda context: _infer(op, context))
    return schema


def _option(optional: bool) -> defs.OpSchema.FormalParameterOption:
    if optional:
        return _OPTION.Optional
    return _OPTION.Single


def _type_of(op: operators.Operator, name: str) -> str:
    types = op.input(name).types
    if not types:
        return _TYPES
    if len(types) == 1:
        return types[0].onnx_name
    return f"T_{name}"


def _type_constraints(op: operators.Operator) -> list[tuple[str, list[str], str]]:
    constraints = [
        (f"T_{i.name}", [t.onnx_name for t in i.types], f"Type of {i.name}.")
        for i in op.inputs
        if len(i.types) > 1
    ]
    if op.outputs[0].type is None and op.type_input is None:
        names = [t.onnx_name for t in op.output_types]
        constraints.append((_TYPES, names, "The type that output_type names."))
    return constraints


def _attribute(attribute: operators.Attribute) -> defs.OpSchema.Attribute:
    if attribute.default is None:
        kind = defs.OpSchema.AttrType.INT
        if attribute.allowed:
            kind = defs.OpSchema.AttrType.STRING
        return defs.OpSchema.Attribute(attribute.name, kind, attribute.doc, required=True)
    default = helper.make_attribute(attribute.name, attribute.default)
    return defs.OpSchema.Attribute(attribute.name, default, attribute.doc)


def _infer(op: operators.Operator, context: Any) -> None:
    """Infers type and shape, and checks all that is known by then."""
    given = {}
    for attribute in op.attributes:
        proto = context.get_attribute(attribute.name)
        if proto is not None:
            given[attribute.name] = helper.get_attribute_value(proto)
    inputs = {
        i.name: _known(context, index)
        for index, i in enumerate(op.inputs)
        if index < context.get_num_inputs() and context.has_input(index)
    }
    try:
        attributes = checks.check_node(op, inputs, given)
    except (TypeError, ValueError) as error:
        raise onnx.shape_inference.InferenceError(str(error)) from error
    shape: Shape
    for index, output in enumerate(op.outputs):
        if index >= context.get_num_outputs() or not context.has_output(index):
            continue
        if output.is_state:
            index_of_state = op.inputs.index(op.input("state"))
            shape = (alignment.generator_of(attributes).words,)
            if "state" in inputs:
                shape = _shape_of(index_of_state, context)
            element_type = U32
        else:
            shape = _values_shape(op, context, inputs, attributes)
            state = inputs.get("state")
            if shape and shape[0] is None and state is not None and state.shape is not None:
                # A single state, or one of unknown shape, shows no number of rows.
                shape = (rows_of_states(state.shape), *shape[1:])
            known = output.type or checks.known_output_type(op, attributes, inputs)
            if known is None:
                continue
            element_type = known
        context.set_output_type(index, helper.make_tensor_type_proto(element_type.onnx, shape))


def _values_shape(
    op: operators.Operator,
    context: Any,
    inputs: dict[str, Known],
    attributes: dict[str, Any],
) -> Shape:
    index = op.inputs.index(op.size_input)
    if not op.has_shape:
        given = _shape_of(index, context)
        if op.size_input.role is operators.Role.DATA:
            return given
        return (None if given is None else given[0], attributes.get("sample_size", 1))
    known = inputs[op.inputs[index].name]
    if known.value is not None:
        return tuple(known.value.tolist())
    # Data propagation: dimensions from a Shape node, or arithmetic on one, may be symbolic.
    symbolic = context.get_symbolic_input(index)
    if symbolic is not None:
        return tuple(_dimension(d) for d in symbolic.dim)
    if known.shape is not None and known.shape[0] is not None:
        return (None,) * known.shape[0]
    return None


def _shape_of(index: int, context: Any) -> Shape:
    """An input's shape, with its symbols."""
    proto = context.get_input_type(index)
    if proto is None or not proto.tensor_type.HasField("shape"):
        return None
    return tuple(_dimension(d) for d in proto.tensor_type.shape.dim)


def _dimension(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def _known(context: Any, index: int) -> Known:
    data = context.get_input_data(index)
    # More dimensions are refused whatever their values, and NumPy cannot hold many more.
    if data is not None and len(data.dims) <= operators.MAX_RANK:
        return Known.array(numpy_helper.to_array(data))
    proto = context.get_input_type(index)
    if proto is None or not proto.HasField("tensor_type"):
        return UNKNOWN
    tensor = proto.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(
            int(d.dim_value) if d.HasField("dim_value") else None for d in tensor.shape.dim
        )
    element_type = BY_ONNX.get(tensor.elem_type)
    if element_type is None and tensor.elem_type != onnx.TensorProto.UNDEFINED:
        return Known(helper.tensor_dtype_to_np_dtype(tensor.elem_type), shape)
    return Known(element_type, shape)
