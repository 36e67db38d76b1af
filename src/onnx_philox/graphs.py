"""Builders of ONNX models with the operators of this package.

Each returns a checked `onnx.ModelProto` of one node, ready to save, to run or to merge into a
larger model with `onnx.compose`.

With `per_row`, the graph input "state" is [batch, 6], a state for each row of the output, and
"batch" is the output's first dimension. `shape` is still that of the whole output: its first entry
is the number of rows, or None for as many as there are states.

Examples:
    >>> from onnx_philox import graphs
    >>> model = graphs.random_uniform([None, 3], 0, 1, "f32", per_row=True)
    >>> [dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    ['batch', 6]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from onnx_philox._contract import checks, operators
from onnx_philox._contract.arguments import number_array, numbers_array, shape_array
from onnx_philox._contract.checks import Known
from onnx_philox._contract.operators import DOMAIN, MAX_RANK, OPSET_VERSION, STATE_WORDS, Operator
from onnx_philox._contract.types import BY_NAME, BY_ONNX, I64, U32, ElementType

__all__ = [
    "random_bernoulli",
    "random_categorical",
    "random_generator",
    "random_normal",
    "random_uniform",
]

# The oldest version that has all that the models need; every supported runtime reads it.
STANDARD_OPSET = 17
IR_VERSION = 8
# The first dimension of the state of each row, and of the output.
BATCH = "batch"

Shape = Sequence[SupportsIndex | None] | None


@dataclass(frozen=True)
class _RowsOf:
    """An input `shape` that a model computes: as many rows as there are states, of this shape."""

    row: NDArray[np.int64]

    def nodes(self) -> list[onnx.NodeProto]:
        """From the graph input "state" to "shape"."""
        rows = "shape" if not self.row.size else "rows"
        nodes = [helper.make_node("Shape", ["state"], [rows], name=rows, start=0, end=1)]
        if self.row.size:
            nodes.append(helper.make_node("Concat", [rows, "row"], ["shape"], name="shape", axis=0))
        return nodes

    def initializers(self) -> list[onnx.TensorProto]:
        """What the nodes need."""
        return [_initializer("row", self.row)] if self.row.size else []


Tensor = onnx.TensorProto | onnx.ValueInfoProto | _RowsOf | None


def random_generator(
    shape: Shape,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws random bits from a state.

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph
            input "shape", of length `rank`.
        global_seed: 0 to 2^63-1, added to the state's key.
        op_seed: 0 to 2^63-1, added to the upper 64 bits of the state's counter.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the graph input "state" (uint32[6]), and "shape" where it is None; its
        outputs are "bits" (uint32) and "next_state" (uint32[6]).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    op = operators.RANDOM_GENERATOR
    dimensions = _dimensions(op, shape, rank, per_row=per_row)
    rows = _rows(dimensions, per_row=per_row)
    return _build(
        op,
        {"state": _state(True, rows), "shape": _shape(dimensions, shape)},
        {"global_seed": global_seed, "op_seed": op_seed},
        dimensions,
        rows,
    )


def random_uniform(
    shape: Shape,
    minval: Any,
    maxval: Any,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws uniform values in [minval, maxval).

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph
            input "shape", of length `rank`.
        minval: A number, or an array of one element and of the output's type. None makes it the
            graph input "minval", a scalar.
        maxval: Likewise, "maxval".
        output_type: One of i32, i64, f16, bf16, f32, f64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_UNIFORM
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = checks.output_type(op, checks.check_attributes(op, attributes))
    dimensions = _dimensions(op, shape, rank, per_row=per_row)
    rows = _rows(dimensions, per_row=per_row)
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "minval": _number(op, "minval", minval, values),
            "maxval": _number(op, "maxval", maxval, values),
            "state": _state(stateful, rows),
        },
        attributes,
        dimensions,
        rows,
    )


def random_normal(
    shape: Shape,
    mean: Any,
    scale: Any,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws normal values.

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph
            input "shape", of length `rank`.
        mean: A finite number, or an array of one element and of the output's type. None makes
            it the graph input "mean", a scalar.
        scale: Likewise, "scale".
        output_type: One of f16, bf16, f32, f64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_NORMAL
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = checks.output_type(op, checks.check_attributes(op, attributes))
    dimensions = _dimensions(op, shape, rank, per_row=per_row)
    rows = _rows(dimensions, per_row=per_row)
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "mean": _number(op, "mean", mean, values),
            "scale": _number(op, "scale", scale, values),
            "state": _state(stateful, rows),
        },
        attributes,
        dimensions,
        rows,
    )


def random_bernoulli(
    shape: Shape,
    p: Any,
    *,
    p_type: str = "f32",
    per_element: bool = False,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws booleans, true with probability p.

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph
            input "shape", of length `rank`.
        p: In [0, 1], or at most 4 ulp above 1. A Python number is f32; a NumPy number or array is
            f32 or f64, as it is: one element, or an array of exactly that shape. None makes it the
            graph input "p".
        p_type: The type of that graph input, f32 or f64.
        per_element: Whether that graph input is of the output's shape, a probability for each
            element, rather than a scalar.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the output "values" (bool), and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_BERNOULLI
    dimensions = _dimensions(op, shape, rank, per_row=per_row)
    rows = _rows(dimensions, per_row=per_row)
    if p is None:
        element_type = _input_type(op, "p", p_type)
        of_input = _symbols("p", dimensions, rows) if per_element else []
        probabilities: Tensor = _input("p", element_type, of_input)
    else:
        probabilities = _initializer("p", numbers_array(op, op.input("p"), p))
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "p": probabilities,
            "state": _state(stateful, rows),
        },
        {"global_seed": global_seed, "op_seed": op_seed},
        dimensions,
        rows,
    )


def random_categorical(
    logits: Any = None,
    sample_size: int = 1,
    output_type: str = "i32",
    *,
    logits_type: str = "f32",
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws indices of classes, by unnormalised log-probabilities.

    Args:
        logits: f16, f32 or f64 of shape [batch, classes]. None makes it the graph input
            "logits", of any batch and any number of classes.
        sample_size: How many samples of each row, 1 or more.
        output_type: i32 or i64.
        logits_type: The type of that graph input, f16, f32 or f64.
        global_seed: 0 to 2^63-1.
        op_seed: 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        per_row: Whether each row has a state of its own: "state" and "next_state" are
            uint32[batch, 6].

    Returns:
        A model with the output "values" [batch, sample_size], and "next_state" if stateful or by
        rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_CATEGORICAL
    attributes = {
        "sample_size": sample_size,
        "output_type": output_type,
        "global_seed": global_seed,
        "op_seed": op_seed,
    }
    samples = checks.check_attributes(op, attributes)["sample_size"]
    batch = None
    if logits is None:
        element_type = _input_type(op, "logits", logits_type)
        tensor: Tensor = _input("logits", element_type, ["batch", "classes"])
    else:
        tensor = _initializer("logits", plain_array(op, "input 'logits'", logits))
        batch = next(iter(tensor.dims), None)
    rows = _rows([batch], per_row=per_row)
    return _build(
        op,
        {"logits": tensor, "state": _state(stateful, rows)},
        attributes,
        [batch, samples],
        rows,
    )


def _dimensions(op: Operator, shape: Shape, rank: int | None, *, per_row: bool) -> list[int | None]:
    """The output's dimensions; None for each that is known only at run."""
    dimensions: list[int | None]
    if shape is None:
        if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
            allowed = f"0 to {MAX_RANK} where shape is None"
            checks.refuse(op, "rank", rank, allowed, "Say how many dimensions a run will ask for.")
        dimensions = [None] * rank
    else:
        is_open = per_row and isinstance(shape, Sequence) and bool(shape) and shape[0] is None
        dimensions = [None] * is_open + shape_array(op, shape[1:] if is_open else shape).tolist()
        if rank is not None and rank != len(dimensions):
            allowed = f"None or {len(dimensions)}, the length of shape"
            checks.refuse(op, "rank", rank, allowed, "Leave it out.")
    if per_row and not dimensions:
        allowed = "1 dimension or more, the first for the rows, with per_row"
        checks.refuse(op, "the output", "a scalar", allowed, "Leave per_row out.")
    return dimensions


def _rows(dimensions: Sequence[int | None], *, per_row: bool) -> int | str | None:
    """How many rows have a state of their own; None if there is one state for all."""
    if not per_row:
        return None
    return BATCH if dimensions[0] is None else dimensions[0]


def _input_type(op: Operator, name: str, type_name: str) -> ElementType:
    """The type of a graph input by its name, which must be one that the operator's input allows."""
    types = op.input(name).types
    if type_name not in [t.name for t in types]:
        allowed = ", ".join(repr(t.name) for t in types)
        checks.refuse(op, f"{name}_type", repr(type_name), allowed, "Choose one of these.")
    return BY_NAME[type_name]


def _state(stateful: bool, rows: int | str | None) -> Tensor:
    return _input("state", U32, _state_shape(rows)) if stateful or rows is not None else None


def _state_shape(rows: int | str | None) -> list[int | str]:
    return [STATE_WORDS] if rows is None else [rows, STATE_WORDS]


def _input(name: str, element_type: ElementType, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type.onnx, shape)


def _initializer(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    # from_array writes raw_data: OpenVINO's front end misreads bfloat16 in int32_data.
    return numpy_helper.from_array(array, name)


def _shape(dimensions: Sequence[int | None], shape: Shape) -> Tensor:
    if shape is None:
        return _input("shape", I64, [len(dimensions)])
    if None in dimensions:
        return _RowsOf(np.array(dimensions[1:], np.int64))
    return _initializer("shape", np.array(dimensions, np.int64))


def _number(op: Operator, name: str, given: Any, values: ElementType) -> Tensor:
    if given is None:
        return _input(name, values, [])
    return _initializer(name, number_array(op, name, given, values))


def _build(
    op: Operator,
    inputs: dict[str, Tensor],
    given: dict[str, Any],
    dimensions: Sequence[int | None],
    rows: int | str | None,
) -> onnx.ModelProto:
    known = {name: _known(tensor) for name, tensor in inputs.items()}
    attributes = checks.check_node(op, known, given)
    values_type = checks.output_type(op, attributes)
    values = op.outputs[0].name
    outputs = [_input(values, values_type, _symbols(values, dimensions, rows))]
    if inputs["state"] is not None:
        outputs.append(_input("next_state", U32, _state_shape(rows)))
    shape = inputs.get("shape")
    computed = [shape] if isinstance(shape, _RowsOf) else []
    for rows_of in computed:
        checks.check_dimensions(op, "input 'shape'", rows_of.row.tolist(), values_type)
    names = [name if tensor is not None else "" for name, tensor in inputs.items()]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(
        op.name, names, [o.name for o in outputs], name=op.function, domain=DOMAIN, **attributes
    )
    tensors = inputs.values()
    graph = helper.make_graph(
        [*(n for rows_of in computed for n in rows_of.nodes()), node],
        op.function,
        [t for t in tensors if isinstance(t, onnx.ValueInfoProto)],
        outputs,
        initializer=[
            *(t for rows_of in computed for t in rows_of.initializers()),
            *(t for t in tensors if isinstance(t, onnx.TensorProto)),
        ],
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
        case _RowsOf(row):
            return Known(I64, (1 + row.size,))
        case _:
            type_ = tensor.type.tensor_type
            dimensions = tuple(
                d.dim_value if d.HasField("dim_value") else None for d in type_.shape.dim
            )
            return Known(BY_ONNX[type_.elem_type], dimensions)


def _symbols(
    tensor: str, dimensions: Sequence[int | None], rows: int | str | None
) -> list[int | str]:
    """The dimensions of a tensor, named where they are known only at run; `rows` is the first."""
    symbols: list[int | str] = [
        f"{tensor}_{i}" if d is None else d for i, d in enumerate(dimensions)
    ]
    return symbols if rows is None else [rows, *symbols[1:]]
