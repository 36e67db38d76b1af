"""Bad calls whose refusal must be, word for word, that of the reference: see `bad_calls`."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from onnx_philox import reference
from tests.common.bad_calls import F32, GOOD, INPUTS, STATE, model_of
from tests.common.operators import OPERATORS

Calls = list[dict[str, Any]]


def each(name: str, *values: Any) -> Calls:
    return [{name: value} for value in values]


def pairs(names: str, *values: tuple[Any, ...]) -> Calls:
    return [dict(zip(names.split(), each_, strict=True)) for each_ in values]


INT32 = np.int32
SHAPE_9 = np.ones(9, np.int64)
TWO = np.stack([STATE] * 2)
LARGE = np.array([2**31 - 1] * 4)
NAN = np.nan
INF = np.inf
HALVES = (
    (
        np.float16(-65504),
        np.float16(65504),
    ),
    (np.float16(6e-8), np.float16(0)),
)
# Kinds of attributes, how numbers are printed, and of two faults the one that is named first.
MORE_BAD: dict[str, Calls] = {
    "RandomGenerator": [
        *each(
            "state",
            np.ones(6, np.float16),
            STATE[:0],
            np.ones((6, 1), np.uint32),
        ),
        *each(
            "shape",
            np.array([True]),
            np.array([[2, 3]], INT32),
            np.array([-(2**63)]),
        ),
        *each(
            "shape",
            np.array([2, -1], INT32),
            LARGE[:2],
            np.array([2**31 - 1] * 4 + [0]),
        ),
        *each("shape", np.array([2**31 - 1] * 5, INT32)),
        *each("type", "", 'it\'s "quoted"\n\\'),
        *each("global_seed", -(2**63)),
        *each("op_seed", 1.5, "1", [1, 2], [1.5, -0.25]),
    ],
    "RandomUniform": [
        *each("output_type", "F32", 5, None),
        *each("maxval", np.array([], F32)),
        *each("minval", F32(-INF)),
        *pairs(
            "minval maxval",
            (np.array(0.0), np.array(1.0)),
            (F32(NAN), F32(NAN)),
        ),
        *pairs(
            "minval maxval",
            (F32(0.1), F32(-1e-45)),
            (F32(1e-40), F32(1e-41)),
        ),
        *pairs("minval maxval", (F32(1e16), F32(123456.78))),
        *pairs("minval maxval output_type", (F32(0), F32(1), "bf16")),
        *pairs("minval maxval output_type", (np.float64(1e308), np.float64(-1e308), "f64")),
        *pairs("minval maxval output_type", *((*halves, "f16") for halves in HALVES)),
        *pairs("minval maxval output_type", (INT32(2**31 - 1), INT32(-(2**31)), "i32")),
        *pairs("minval maxval output_type", (np.int64(2**63 - 1), np.int64(-(2**63)), "i64")),
        *pairs("state global_seed", (STATE[:5], 0)),
        *each("state", STATE.reshape(1, 6, 1)),
        *pairs("shape minval maxval", (np.array([-3]), F32(2), F32(1))),
        *pairs("shape minval maxval", (np.array([2**40]), F32(2), F32(1))),
        *pairs("minval maxval state", (F32(NAN), np.ones(2, F32), STATE[:5])),
        *pairs("minval state", (F32(3), STATE[:5])),
    ],
    "RandomNormal": [
        *each("output_type", None),
        *pairs("mean scale output_type", (np.float64(-INF), np.float64(1), "f64")),
        *pairs("shape mean scale", (np.array([-1]), F32(NAN), F32(INF))),
        *each("state", STATE.reshape(6, 1)),
        *each("shape", np.array([2, 3], F32), SHAPE_9, LARGE),
        *pairs(
            "mean scale",
            (np.float64(0), np.float64(1)),
            (F32(NAN), F32(-INF)),
        ),
        *each("scale", np.ones((1, 1), F32)),
    ],
    "RandomBernoulli": [
        *each("op_seed", 1.5),
        *each(
            "p",
            F32(-1e-45),
            F32(1 + 5 * 2.0**-23),
            np.float64(1 + 5 * 2.0**-52),
            F32(INF),
        ),
        *each(
            "p",
            F32([[0, 1, 0.5], [0.5, -0.25, 2]]),
            np.array([[0, 1, 0.5], [0.5, 1, NAN]]),
        ),
        *each(
            "p",
            F32([0.5, 0.5]),
            np.ones((1, 1), F32),
            F32([2.0]),
            F32([[2, 0.5]]),
        ),
        *pairs("shape p", (np.array([2, 2]), np.full((2, 3), NAN, F32))),
        *pairs("p state", (F32(2), STATE[:5])),
        *each(
            "shape",
            np.array(3),
            np.array([2**63 - 1, 2]),
        ),
    ],
    "RandomCategorical": [
        *each("sample_size", 1.5, "2", -1),
        *pairs("sample_size output_type", (0, "i64")),
        *each(
            "logits",
            F32([[0, 1], [INF, NAN]]),
            F32([[-INF, -INF], [0, NAN]]),
        ),
        *each(
            "logits",
            np.array([[0, INF]], np.float16),
            np.array([[0, INF]]),
            F32([[NAN]]),
        ),
        *each(
            "logits",
            np.array([[0, -INF], [-INF, -INF]], np.float16),
            np.zeros((), F32),
        ),
        *each("output_type", "i8"),
    ],
    "RandomExponential": [
        *each("output_type", None),
        *each(
            "scale",
            F32([-0.0]),
            np.ones((1, 1), F32),
        ),
        *pairs("scale output_type", (np.float64(-INF), "f64")),
    ],
    "RandomPermutation": [
        *each("output_type", "i8", 3),
        *each(
            "shape",
            np.array(3),
            np.array([2, 3], F32),
            np.array([-3]),
            np.array([], INT32),
        ),
        *each(
            "shape",
            np.array([1, -2, 3]),
            np.array([2**62, 2]),
        ),
        *pairs(
            "shape state",
            (np.array([1, 3]), TWO),
            (np.array([2]), TWO),
        ),
        *pairs("shape state", (np.array([0]), np.zeros((0, 6), np.uint32))),
    ],
    "RandomDropout": [
        *each("op_seed", -1),
        *each(
            "ratio",
            np.ones((1, 1), F32),
            np.float64(1 + 2.0**-52),
        ),
        *pairs("ratio data", (np.float64(-0.5), np.zeros(3))),
    ],
    "RandomToken": [
        *each("op_seed", -1),
        *each("output_type", "i8", "f64"),
        *each("top_k", np.int64([[1]])),
        *pairs("top_p min_p", (F32([0.5, NAN]), F32([2, 3]))),
        *each("min_p", np.zeros((3, 1), F32)),
        *each("temperature", F32([-INF])),
    ],
}
MORE_BAD_CALLS = [(name, GOOD[name] | bad) for name, calls in MORE_BAD.items() for bad in calls]


def words_of_the_reference(operator: str, call: dict[str, Any]) -> str:
    # The inputs of a node are tensors; the reference converts numbers.
    arrays = {k: np.asarray(v) for k, v in call.items() if k in INPUTS[operator]}
    with pytest.raises((ValueError, TypeError)) as raised:
        getattr(reference, OPERATORS[operator].function)(**(call | arrays))
    return str(raised.value)


def bad_model(
    operator: str,
    call: dict[str, Any],
    *,
    constant: bool,
) -> onnx.ModelProto:
    """A model of a call that declares no shapes, and only types that ONNX Runtime infers."""
    model = model_of(operator, call, constant=constant)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    values = model.graph.output[0].type.tensor_type
    for declared in OPERATORS[operator].inputs:
        # The numbers that have the type of the values.
        is_of_values = not declared.types or declared is OPERATORS[operator].type_input
        if is_of_values and declared.name in call:
            dtype = np.asarray(call[declared.name]).dtype
            values.elem_type = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    return model
