"""Builders of ONNX models with the operators of this package.

Each returns a checked `onnx.ModelProto` of one node, ready to save, to run or to merge into a
larger model with `onnx.compose`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from onnx_philox._contract import checks, operators
from onnx_philox._contract.arguments import number_array, probability_array, shape_array
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

Shape = Sequence[SupportsIndex] | None
Tensor = onnx.TensorProto | onnx.ValueInfoProto | None


def random_generator(
    shape: Shape,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    rank: int | None = None,
) -> onnx.ModelProto:
    """Builds a model that draws random bits from a state.

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph
            input "shape", of length `rank`.
        global_seed: 0 to 2^63-1, added to the state's key.
        op_seed: 0 to 2^63-1, added to the upper 64 bits of the state's counter.
        rank: How many dimensions, where `shape` is None.

    Returns:
        A model with the graph input "state" (uint32[6]), and "shape" where it is None; its
        outputs are "bits" (uint32) and "next_state" (uint32[6]).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    op = operators.RANDOM_GENERATOR
    dimensions = _dimensions(op, shape, rank)
    return _build(
        op,
        {"state": _state(True), "shape": _shape(dimensions, shape)},
        {"global_seed": global_seed, "op_seed": op_seed},
        dimensions,
        stateful=True,
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

    Returns:
        A model with the output "values", and "next_state" if stateful.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_UNIFORM
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = checks.output_type(op, checks.check_attributes(op, attributes))
    dimensions = _dimensions(op, shape, rank)
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "minval": _number(op, "minval", minval, values),
            "maxval": _number(op, "maxval", maxval, values),
            "state": _state(stateful),
        },
        attributes,
        dimensions,
        stateful=stateful,
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

    Returns:
        A model with the output "values", and "next_state" if stateful.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_NORMAL
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = checks.output_type(op, checks.check_attributes(op, attributes))
    dimensions = _dimensions(op, shape, rank)
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "mean": _number(op, "mean", mean, values),
            "scale": _number(op, "scale", scale, values),
            "state": _state(stateful),
        },
        attributes,
        dimensions,
        stateful=stateful,
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

    Returns:
        A model with the output "values" (bool), and "next_state" if stateful.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    op = operators.RANDOM_BERNOULLI
    dimensions = _dimensions(op, shape, rank)
    if p is None:
        element_type = _input_type(op, "p", p_type)
        of_input = [_symbol("p", i, d) for i, d in enumerate(dimensions)] if per_element else []
        probabilities: Tensor = _input("p", element_type, of_input)
    else:
        probabilities = _initializer("p", probability_array(op, p))
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "p": probabilities,
            "state": _state(stateful),
        },
        {"global_seed": global_seed, "op_seed": op_seed},
        dimensions,
        stateful=stateful,
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

    Returns:
        A model with the output "values" [batch, sample_size], and "next_state" if stateful.

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
        tensor = _initializer("logits", np.asarray(logits))
        batch = next(iter(tensor.dims), None)
    return _build(
        op,
        {"logits": tensor, "state": _state(stateful)},
        attributes,
        [batch, samples],
        stateful=stateful,
    )


def _dimensions(op: Operator, shape: Shape, rank: int | None) -> list[int] | list[None]:
    """The output's dimensions; None for each that is known only at run."""
    if shape is not None:
        dimensions: list[int] = shape_array(op, shape).tolist()
        if rank is not None and rank != len(dimensions):
            allowed = f"None or {len(dimensions)}, the length of shape"
            checks.refuse(op, "rank", rank, allowed, "Leave it out.")
        return dimensions
    if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
        allowed = f"0 to {MAX_RANK} where shape is None"
        checks.refuse(op, "rank", rank, allowed, "Say how many dimensions a run will ask for.")
    return [None] * rank


def _input_type(op: Operator, name: str, type_name: str) -> ElementType:
    """The type of a graph input by its name, which must be one that the operator's input allows."""
    types = op.input(name).types
    if type_name not in [t.name for t in types]:
        allowed = ", ".join(repr(t.name) for t in types)
        checks.refuse(op, f"{name}_type", repr(type_name), allowed, "Choose one of these.")
    return BY_NAME[type_name]


def _state(stateful: bool) -> Tensor:
    return _input("state", U32, [STATE_WORDS]) if stateful else None


def _input(name: str, element_type: ElementType, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type.onnx, shape)


def _initializer(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    # from_array writes raw_data: OpenVINO's front end misreads bfloat16 in int32_data.
    return numpy_helper.from_array(array, name)


def _shape(dimensions: Sequence[int | None], shape: Shape) -> Tensor:
    if shape is None:
        return _input("shape", I64, [len(dimensions)])
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
    *,
    stateful: bool,
) -> onnx.ModelProto:
    known = {name: _known(tensor) for name, tensor in inputs.items()}
    attributes = checks.check_node(op, known, given)
    values_type = checks.output_type(op, attributes)
    values = op.outputs[0].name
    outputs = [
        helper.make_tensor_value_info(
            values, values_type.onnx, [_symbol(values, i, d) for i, d in enumerate(dimensions)]
        )
    ]
    if stateful:
        outputs.append(_input("next_state", U32, [STATE_WORDS]))
    names = [name if tensor is not None else "" for name, tensor in inputs.items()]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(
        op.name, names, [o.name for o in outputs], name=op.function, domain=DOMAIN, **attributes
    )
    tensors = inputs.values()
    graph = helper.make_graph(
        [node],
        op.function,
        [t for t in tensors if isinstance(t, onnx.ValueInfoProto)],
        outputs,
        initializer=[t for t in tensors if isinstance(t, onnx.TensorProto)],
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
        case _:
            type_ = tensor.type.tensor_type
            dimensions = tuple(
                d.dim_value if d.HasField("dim_value") else None for d in type_.shape.dim
            )
            return Known(BY_ONNX[type_.elem_type], dimensions)


def _symbol(output: str, index: int, dimension: int | None) -> int | str:
    return f"{output}_{index}" if dimension is None else dimension
