"""What the builders of `graphs` have in common: a checked model of one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsIndex

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from onnx_philox._contract import alignment, checks, choices
from onnx_philox._contract.arguments import parameter_array, shape_array
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.operators import DOMAIN, MAX_RANK, OPSET_VERSION, Input, Operator, Role
from onnx_philox._contract.types import BY_NAME, BY_ONNX, I64, U32, ElementType

# The oldest version that has all that the models need; every supported runtime reads it.
STANDARD_OPSET = 17
IR_VERSION = 8
# The first dimension of the state of each row, and of the output.
BATCH = "batch"

Shape = Sequence[SupportsIndex | None] | None


Tensor = onnx.TensorProto | onnx.ValueInfoProto | NDArray[np.int64] | None
"""An array: the model computes `shape`, as many rows as there are states, of this shape each."""


def build(op: Operator, arguments: Mapping[str, Any]) -> onnx.ModelProto:
    """Builds a model of one node.

    The arguments are the inputs and attributes by name, beside what a builder of `graphs` takes.
    One that is None, of a parameter that the operator needs or of `shape`, makes it a graph input:
    `p_type` is the type of a `p` that may have several, `per_element` says whether one that may
    hold a number for each element does, and `rank` how many dimensions `shape` has. `inputs` are
    those that may be left out and are graph inputs. A first dimension None is told by the states of
    rows (`per_row`).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    parameters, attributes = op.parted(arguments)
    per_row = arguments["per_row"]
    shape = arguments.get("shape")
    rank = arguments.get("rank")
    inputs = arguments.get("inputs", ())
    complete = checks.check_attributes(op, attributes)
    values = checks.output_type(op, complete, {})
    types = {}
    for declared in op.parameters:
        if len(declared.types) > 1:
            type_name = arguments[f"{declared.name}_type"]
            _check_type_name(op, declared.name, type_name)
            types[declared.name] = type_name
    _check_inputs(op, parameters, inputs)

    # What an array tells the size by comes first.
    tensors: dict[str, Tensor] = {}
    if op.has_shape:
        dimensions = _dimensions(op, shape, rank, per_row=per_row)
        tensors["shape"] = _shape(dimensions, shape)
    else:
        size = op.size_input
        given = parameters.get(size.name)
        of_size: list[int | str] = []
        if size.role is Role.DATA and given is None:
            sizes = _dimensions(op, None, rank, per_row=per_row)
            sizes_rows = _rows(sizes, per_row=per_row)
            of_size = _symbols(size.name, sizes, sizes_rows)
        tensor = _parameter(op, size, given, values, types, of_size)
        tensors[size.name] = tensor
        known = {size.name: _known(tensor)}
        dimensions = list(checks.output_dimensions(op, known, complete) or [])
        _check_rows(op, dimensions, per_row=per_row)
    rows = _rows(dimensions, per_row=per_row)

    for declared in op.parameters:
        name = declared.name
        if name not in tensors:
            of_each: list[int | str] = []
            if arguments.get("per_element"):
                of_each = _symbols(name, dimensions, rows)
            given = parameters.get(name)
            tensors[name] = _parameter(op, declared, given, values, types, of_each)
        if name in inputs:
            # A dimension of its own: as many as rows, or one.
            type_ = declared.types[0]
            tensors[name] = _input(name, type_, [f"{name}s"])
    # Where the state may not be left out, there is nothing to say.
    if arguments.get("stateful", True) or rows is not None:
        words = alignment.generator_of(complete).words
        state_shape = _state_shape(rows, words)
        tensors["state"] = _input("state", U32, state_shape)
    in_order = {i.name: tensors.get(i.name) for i in op.inputs}
    return _model(op, in_order, dict(attributes), dimensions, rows)


def _parameter(
    op: Operator,
    declared: Input,
    given: Any,
    values: ElementType,
    types: Mapping[str, str],
    of_each: Sequence[int | str],
) -> Tensor:
    """A parameter as an initializer, or as a graph input.

    One that is left out is what means the same, since ONNX Runtime before 1.24 refuses a node that
    leaves out an input before another one.
    """
    name = declared.name
    if given is not None:
        if name in types:
            # A Python number becomes the first of them.
            first = BY_NAME[types[name]]
            in_order = dict.fromkeys((first, *declared.types))
            declared = replace(declared, types=tuple(in_order))
        array = parameter_array(op, declared, given, values)
        return _initializer(name, array)
    if declared.absent is not None:
        type_ = declared.types[0]
        return _initializer(name, np.array(declared.absent, type_.dtype))
    if declared.optional:
        return None
    type_ = values
    if declared.types:
        first = declared.types[0]
        type_ = BY_NAME[types.get(name, first.name)]
    if declared.role is Role.LOGITS:
        return _input(name, type_, [BATCH, "classes"])
    has_several = declared.role in (Role.NUMBERS, Role.DATA)
    return _input(name, type_, of_each if has_several else [])


def _check_inputs(
    op: Operator,
    given: Mapping[str, Any],
    inputs: Sequence[str],
) -> None:
    """Refuses names of graph inputs that are no inputs to leave out, or that are given besides."""
    optional = [i.name for i in op.parameters if i.optional]
    for name in inputs:
        if name not in optional:
            allowed = f"names of inputs that may be left out, {', '.join(optional)}"
            remedy = "Remove it."
            parameters = [declared.name for declared in op.parameters]
            if name in parameters:
                remedy = "Remove it: it is always a graph input."
            checks.refuse(
                op,
                "inputs",
                repr(name),
                allowed,
                remedy,
            )
        if given.get(name) is not None:
            allowed = "left out, if it is a graph input"
            checks.refuse(
                op,
                f"input {name!r}",
                "a value",
                allowed,
                "Pass one of the two.",
            )


def _check_type_name(op: Operator, name: str, given: str) -> None:
    """Refuses a type of a graph input that the operator's input does not allow."""
    names = [type_.name for type_ in op.input(name).types]
    allowed = f"one of {', '.join(map(repr, names))}"
    choices.check_choice(
        op.name,
        f"{name}_type",
        given,
        names,
        "Choose one of these.",
        allowed,
    )


def _dimensions(
    op: Operator,
    shape: Shape,
    rank: int | None,
    *,
    per_row: bool,
) -> list[int | None]:
    """The output's dimensions; None for each that is known only at run."""
    dimensions: list[int | None]
    if shape is None:
        if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
            allowed = f"0 to {MAX_RANK} where shape is None"
            checks.refuse(op, "rank", rank, allowed, "Say how many dimensions a run will ask for.")
        dimensions = [None] * rank
    else:
        # The first dimension may be that of the rows.
        is_open = per_row and isinstance(shape, Sequence) and bool(shape) and shape[0] is None
        known = shape[1:] if is_open else shape
        dimensions = shape_array(op, known).tolist()
        if is_open:
            dimensions.insert(0, None)
        if rank is not None and rank != len(dimensions):
            allowed = f"None or {len(dimensions)}, the length of shape"
            checks.refuse(op, "rank", rank, allowed, "Leave it out.")
    _check_rows(op, dimensions, per_row=per_row)
    return dimensions


def _check_rows(op: Operator, dimensions: Sequence[int | None], *, per_row: bool) -> None:
    """Refuses states for the rows of a scalar, or for parts of a row."""
    if per_row and op.draws_rows and len(dimensions) == 1:
        allowed = "[m, n] with per_row, a row for each state"
        checks.refuse(op, "the output", "one row", allowed, "Leave per_row out, or give m.")
    if per_row and not dimensions:
        allowed = "of 1 dimension or more, the first for the rows, with per_row"
        checks.refuse(op, "the output", "a scalar", allowed, "Leave per_row out.")


def _rows(dimensions: Sequence[int | None], *, per_row: bool) -> int | str | None:
    """How many rows have a state of their own; None if there is one state for all."""
    if not per_row:
        return None
    if dimensions[0] is None:
        return BATCH
    return dimensions[0]


def _state_shape(rows: int | str | None, words: int) -> list[int | str]:
    if rows is None:
        return [words]
    return [rows, words]


def _input(name: str, element_type: ElementType, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type.onnx, shape)


def _initializer(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    # from_array writes raw_data: OpenVINO's front end misreads bfloat16 in int32_data.
    return numpy_helper.from_array(array, name)


def _shape(dimensions: Sequence[int | None], shape: Shape) -> Tensor:
    if shape is None:
        return _input("shape", I64, [len(dimensions)])
    if None in dimensions:
        return np.array(dimensions[1:], np.int64)
    known = np.array(dimensions, np.int64)
    return _initializer("shape", known)


def _model(
    op: Operator,
    inputs: dict[str, Tensor],
    given: dict[str, Any],
    dimensions: Sequence[int | None],
    rows: int | str | None,
) -> onnx.ModelProto:
    known = {name: _known(tensor) for name, tensor in inputs.items()}
    attributes = checks.check_node(op, known, given)
    values_type = checks.output_type(op, attributes, known)
    outputs = []
    for output in op.values_outputs:
        symbols = _symbols(op.outputs[0].name, dimensions, rows)
        outputs.append(_input(output.name, output.type or values_type, symbols))
    if inputs["state"] is not None:
        words = alignment.generator_of(attributes).words
        state_shape = _state_shape(rows, words)
        outputs.append(_input("next_state", U32, state_shape))
    shape = inputs.get("shape")
    nodes: list[onnx.NodeProto] = []
    initializers = [t for t in inputs.values() if isinstance(t, onnx.TensorProto)]
    if isinstance(shape, np.ndarray):
        checks.check_dimensions(op, "input 'shape'", shape.tolist(), values_type)
        rows_name = "rows" if shape.size else "shape"
        nodes = [
            helper.make_node(
                "Shape",
                ["state"],
                [rows_name],
                name=rows_name,
                start=0,
                end=1,
            )
        ]
        if shape.size:
            given_rows = [rows_name, "row"]
            nodes.append(
                helper.make_node(
                    "Concat",
                    given_rows,
                    ["shape"],
                    name="shape",
                    axis=0,
                )
            )
            initializers.insert(0, _initializer("row", shape))
    names = [name if tensor is not None else "" for name, tensor in inputs.items()]
    while not names[-1]:
        names.pop()
    node = helper.make_node(
        op.name,
        names,
        [o.name for o in outputs],
        name=op.function,
        domain=DOMAIN,
        **op.written(attributes),
    )
    graph = helper.make_graph(
        [*nodes, node],
        op.function,
        [t for t in inputs.values() if isinstance(t, onnx.ValueInfoProto)],
        outputs,
        initializer=initializers,
    )
    return helper.make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[
            helper.make_opsetid("", STANDARD_OPSET),
            helper.make_opsetid(DOMAIN, OPSET_VERSION),
        ],
        producer_name="onnx-philox",
    )


def _known(tensor: Tensor) -> Known | None:
    match tensor:
        case None:
            return None
        case onnx.TensorProto():
            return Known.array(numpy_helper.to_array(tensor))
        case np.ndarray():
            return Known(I64, (1 + tensor.size,))
        case _:
            type_ = tensor.type.tensor_type
            dimensions = []
            for d in type_.shape.dim:
                size = d.dim_value if d.HasField("dim_value") else None
                dimensions.append(size)
            return Known(BY_ONNX[type_.elem_type], tuple(dimensions))


def _symbols(
    tensor: str,
    dimensions: Sequence[int | None],
    rows: int | str | None,
) -> list[int | str]:
    """The dimensions of a tensor, named where they are known only at run; `rows` is the first."""
    symbols: list[int | str] = [
        f"{tensor}_{i}" if d is None else d for i, d in enumerate(dimensions)
    ]
    if rows is None:
        return symbols
    return [rows, *symbols[1:]]
