"""Bad calls whose refusal must be, word for word, that of the reference: see `bad_calls`."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from bad_calls import F32, GOOD, INPUTS, STATE, model_of

from onnx_philox import reference
from onnx_philox._contract.operators import OPERATORS

# Kinds of attributes, how numbers are printed, and of two faults the one that is named first.
MORE_BAD: dict[str, list[dict[str, Any]]] = {
    "RandomGenerator": [
        {"state": np.ones(6, np.float16)},
        {"state": STATE[:0]},
        {"state": np.ones((6, 1), np.uint32)},
        {"shape": np.array([True])},
        {"shape": np.array([[2, 3]], np.int32)},
        {"shape": np.array([-(2**63)])},
        {"shape": np.array([2, -1], np.int32)},
        {"shape": np.array([2**31 - 1] * 2)},
        {"shape": np.array([2**31 - 1] * 4 + [0])},
        {"shape": np.array([2**31 - 1] * 5, np.int32)},
        {"type": ""},
        {"type": 'it\'s "quoted"\n\\'},
        {"global_seed": -(2**63)},
        {"op_seed": 1.5},
        {"op_seed": "1"},
        {"op_seed": [1, 2]},
        {"op_seed": [1.5, -0.25]},
    ],
    "RandomUniform": [
        {"output_type": "F32"},
        {"output_type": 5},
        {"output_type": None},
        {"minval": np.array(0.0), "maxval": np.array(1.0)},
        {"minval": F32(0), "maxval": F32(1), "output_type": "bf16"},
        {"maxval": np.array([], F32)},
        {"minval": F32(-np.inf)},
        {"minval": F32(np.nan), "maxval": F32(np.nan)},
        {"minval": F32(0.1), "maxval": F32(-1e-45)},
        {"minval": F32(1e-40), "maxval": F32(1e-41)},
        {"minval": F32(1e16), "maxval": F32(123456.78)},
        {"minval": np.float64(1e308), "maxval": np.float64(-1e308), "output_type": "f64"},
        {"minval": np.float16(-65504), "maxval": np.float16(65504), "output_type": "f16"},
        {"minval": np.float16(6e-8), "maxval": np.float16(0), "output_type": "f16"},
        {"minval": np.int32(2**31 - 1), "maxval": np.int32(-(2**31)), "output_type": "i32"},
        {"minval": np.int64(2**63 - 1), "maxval": np.int64(-(2**63)), "output_type": "i64"},
        {"state": STATE[:5], "global_seed": 0},
        {"state": STATE.reshape(1, 6, 1)},
        {"shape": np.array([-3]), "minval": F32(2), "maxval": F32(1)},
        {"shape": np.array([2**40]), "minval": F32(2), "maxval": F32(1)},
        {"minval": F32(np.nan), "maxval": np.ones(2, F32), "state": STATE[:5]},
        {"minval": F32(3), "state": STATE[:5]},
    ],
    "RandomNormal": [
        {"output_type": None},
        {"mean": np.float64(-np.inf), "scale": np.float64(1), "output_type": "f64"},
        {"shape": np.array([-1]), "mean": F32(np.nan), "scale": F32(np.inf)},
        {"state": STATE.reshape(6, 1)},
        {"shape": np.array([2, 3], F32)},
        {"shape": np.ones(9, np.int64)},
        {"shape": np.array([2**31 - 1] * 4)},
        {"mean": np.float64(0), "scale": np.float64(1)},
        {"scale": np.ones((1, 1), F32)},
        {"scale": F32(-np.inf), "mean": F32(np.nan)},
    ],
    "RandomBernoulli": [
        {"op_seed": 1.5},
        {"p": F32(-1e-45)},
        {"p": F32(1 + 5 * 2.0**-23)},
        {"p": np.float64(1 + 5 * 2.0**-52)},
        {"p": F32([[0, 1, 0.5], [0.5, -0.25, 2]])},
        {"p": np.array([[0, 1, 0.5], [0.5, 1, np.nan]])},
        {"shape": np.array([2, 2]), "p": np.full((2, 3), np.nan, F32)},
        {"p": F32(2), "state": STATE[:5]},
        {"shape": np.array(3)},
        {"shape": np.array([2**63 - 1, 2])},
        {"p": F32(np.inf)},
        {"p": F32([0.5, 0.5])},
        {"p": np.ones((1, 1), F32)},
        {"p": F32([2.0])},
        {"p": F32([[2, 0.5]])},
    ],
    "RandomCategorical": [
        {"sample_size": 1.5},
        {"sample_size": "2"},
        {"sample_size": 0, "output_type": "i64"},
        {"logits": F32([[0, 1], [np.inf, np.nan]])},
        {"logits": F32([[-np.inf, -np.inf], [0, np.nan]])},
        {"logits": np.array([[0, np.inf]], np.float16)},
        {"logits": np.array([[0, -np.inf], [-np.inf, -np.inf]], np.float16)},
        {"output_type": "i8"},
        {"sample_size": -1},
        {"logits": np.zeros((), F32)},
        {"logits": F32([[np.nan]])},
        {"logits": np.array([[0, np.inf]])},
    ],
    "RandomExponential": [
        {"output_type": None},
        {"scale": F32([-0.0])},
        {"scale": np.ones((1, 1), F32)},
        {"scale": np.float64(-np.inf), "output_type": "f64"},
    ],
    "RandomPermutation": [
        {"output_type": "i8"},
        {"output_type": 3},
        {"shape": np.array(3)},
        {"shape": np.array([2, 3], F32)},
        {"shape": np.array([-3])},
        {"shape": np.array([], np.int32)},
        {"shape": np.array([1, -2, 3])},
        {"shape": np.array([2**62, 2])},
        {"shape": np.array([1, 3]), "state": np.stack([STATE] * 2)},
        {"shape": np.array([2]), "state": np.stack([STATE] * 2)},
        {"shape": np.array([0]), "state": np.zeros((0, 6), np.uint32)},
    ],
    "RandomDropout": [
        {"op_seed": -1},
        {"ratio": np.ones((1, 1), F32)},
        {"ratio": np.float64(1 + 2.0**-52)},
        {"ratio": np.float64(-0.5), "data": np.zeros(3)},
    ],
    "RandomToken": [
        {"op_seed": -1},
        {"output_type": "i8"},
        {"output_type": "f64"},
        {"top_k": np.int64([[1]])},
        {"top_p": F32([0.5, np.nan]), "min_p": F32([2, 3])},
        {"min_p": np.zeros((3, 1), F32)},
        {"temperature": F32([-np.inf])},
    ],
}
MORE_BAD_CALLS = [(name, GOOD[name] | bad) for name, calls in MORE_BAD.items() for bad in calls]


def words_of_the_reference(operator: str, call: dict[str, Any]) -> str:
    # The inputs of a node are tensors; the reference converts numbers.
    arrays = {k: np.asarray(v) for k, v in call.items() if k in INPUTS[operator]}
    with pytest.raises((ValueError, TypeError)) as raised:
        getattr(reference, OPERATORS[operator].function)(**(call | arrays))
    return str(raised.value)


def bad_model(operator: str, call: dict[str, Any], *, constant: bool) -> onnx.ModelProto:
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
