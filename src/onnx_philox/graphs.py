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

from onnx_philox import _checks, _operators
from onnx_philox._arguments import number_array, shape_array
from onnx_philox._checks import Known
from onnx_philox._element_types import I64, U32, ElementType
from onnx_philox._operators import DOMAIN, MAX_RANK, OPSET_VERSION, STATE_WORDS, Operator

__all__ = ["random_generator", "random_uniform"]

# The oldest that has all that the models need: every runtime still supported reads it.
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
    op = _operators.RANDOM_GENERATOR
    dimensions = _dimensions(op, shape, rank)
    return _build(
        op,
        {"state": _input("state", U32, [STATE_WORDS]), "shape": _shape(dimensions, shape)},
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
    op = _operators.RANDOM_UNIFORM
    attributes = {"output_type": output_type, "global_seed": global_seed, "op_seed": op_seed}
    values = _checks.output_type(op, _checks.check_attributes(op, attributes))
    dimensions = _dimensions(op, shape, rank)
    return _build(
        op,
        {
            "shape": _shape(dimensions, shape),
            "minval": _bound(op, "minval", minval, values),
            "maxval": _bound(op, "maxval", maxval, values),
            "state": _input("state", U32, [STATE_WORDS]) if stateful else None,
        },
        attributes,
        dimensions,
        stateful=stateful,
    )


def _dimensions(op: Operator, shape: Shape, rank: int | None) -> list[int] | list[None]:
    """The output's dimensions; None for each that only a run tells."""
    if shape is not None:
        dimensions: list[int] = shape_array(op, shape).tolist()
        if rank is not None and rank != len(dimensions):
            allowed = f"None or {len(dimensions)}, the length of shape"
            _checks.refuse(op, "rank", rank, allowed, "Leave it out.")
        return dimensions
    if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
        allowed = f"0 to {MAX_RANK} where shape is None"
        _checks.refuse(op, "rank", rank, allowed, "Say how many dimensions a run will ask for.")
    return [None] * rank


def _input(name: str, element_type: ElementType, shape: Sequence[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type.onnx, shape)


def _initializer(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    # from_array writes raw_data: OpenVINO's front end misreads bfloat16 in int32_data.
    return numpy_helper.from_array(array, name)


def _shape(dimensions: Sequence[int | None], shape: Shape) -> Tensor:
    if shape is None:
        return _input("shape", I64, [len(dimensions)])
    return _initializer("shape", np.array(dimensions, np.int64))


def _bound(op: Operator, name: str, bound: Any, values: ElementType) -> Tensor:
    if bound is None:
        return _input(name, values, [])
    return _initializer(name, number_array(op, name, bound, values))


def _build(
    op: Operator,
    inputs: dict[str, Tensor],
    given: dict[str, Any],
    dimensions: Sequence[int | None],
    *,
    stateful: bool,
) -> onnx.ModelProto:
    known = {name: _known(tensor) for name, tensor in inputs.items()}
    attributes = _checks.check_node(op, known, given)
    values_type = _checks.output_type(op, attributes)
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
            # A graph input that a builder declares is right by construction.
            return _checks.UNKNOWN


def _symbol(output: str, index: int, dimension: int | None) -> int | str:
    return f"{output}_{index}" if dimension is None else dimension
