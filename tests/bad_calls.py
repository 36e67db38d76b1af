"""Bad calls of every operator, and a program that makes them all in a runtime: test_bad_input.

The program prints what each call raised, and must live to the end. It imports no pytest, which
takes as long to load as a runtime.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from onnx_philox import PhiloxState
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.types import BY_NAME
from onnx_philox._contract.types import F32 as FLOAT

STATE = PhiloxState(1, 2).to_array()
F32 = np.float32

# What is wrong, the inputs and attributes that differ from a good call, and what the error says:
# the operator, what must be, what it got, what to do.
BAD_GENERATOR: dict[str, tuple[dict[str, Any], list[str]]] = {
    "state of another type": (
        {"state": STATE.astype(np.int64)},
        ["input 'state' must be ", "got i64", "must be u32", "Cast it"],
    ),
    "state of five words": (
        {"state": STATE[:5]},
        ["got shape [5]", "[6], or [1, ..., 1, 6] up to rank 8", "PhiloxState"],
    ),
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        [
            "input 'state' must be one state for all of the output, or one for each of its rows: "
            "got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3]). Pass as many states as "
            "rows, from row_states(...) for instance."
        ],
    ),
    "no states for two rows": (
        {"state": np.stack([STATE])[:0]},
        ["got 0 states (shape [0, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "two states for one row": (
        {"state": np.stack([STATE] * 2), "shape": np.array([1, 2])},
        ["got 2 states (shape [2, 6]) for 1 row (output shape [1, 2])."],
    ),
    "two states for a scalar": (
        {"state": np.stack([STATE] * 2), "shape": np.zeros(0, np.int64)},
        ["got 2 states (shape [2, 6]) for a scalar (output shape [])."],
    ),
    "states of rank 3": (
        {"state": np.stack([STATE] * 2)[None]},
        ["or [B, 6], a state for each row of the output: got shape [1, 2, 6]."],
    ),
    "state of rank 0": (
        {"state": np.uint32(3) * np.ones((), np.uint32)},
        ["got shape []", "up to rank 8"],
    ),
    "state of rank 9": ({"state": STATE.reshape((1,) * 8 + (6,))}, ["up to rank 8"]),
    "shape of another type": (
        {"shape": np.array([2.0, 3.0], F32)},
        ["input 'shape' must be ", "got f32", "must be i64 or i32"],
    ),
    "shape of rank 2": ({"shape": np.array([[2, 3]])}, ["got shape [", "must be 1-D"]),
    "shape of rank 0": ({"shape": np.array(3)}, ["got shape []", "must be 1-D"]),
    "a negative dimension": (
        {"shape": np.array([2, -1])},
        ["input 'shape' must be dimensions of 0 or more: got [2, -1]"],
    ),
    "nine dimensions": (
        {"shape": np.ones(9, np.int64)},
        ["of 0 to 8 dimensions: got 9 dimensions"],
    ),
    "elements over int64": (
        {"shape": np.array([2**31 - 1] * 4)},
        ["at most 2^63-1 bytes of u32: got [2147483647, ", "in parts"],
    ),
    "bytes over int64": (
        {"shape": np.array([2**31 - 1] * 2)},
        ["at most 2^63-1 bytes of u32: got [2147483647, "],
    ),
    "an overflow beside a 0": (
        {"shape": np.array([2**31 - 1] * 4 + [0])},
        ["at most 2^63-1 bytes of u32: got [2147483647, "],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory", "in parts"]),
    "an unknown type": (
        {"type": "mt19937"},
        ["attribute 'type' must be ", "got 'mt19937'", "must be 'philox4x32_10'"],
    ),
    "a negative seed": ({"op_seed": -1}, ["'op_seed' must be an integer from 0 to 2^63-1: got -1"]),
}
BAD_UNIFORM: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "an unknown output type": (
        {"output_type": "f8"},
        [
            "attribute 'output_type' must be 'i32', 'i64', 'f16', 'bf16', 'f32' or 'f64': got 'f8'",
        ],
    ),
    "a negative seed": (
        {"global_seed": -5},
        ["'global_seed' must be an integer from 0 to 2^63-1: got -5"],
    ),
    "neither state nor seed": (
        {"global_seed": 0, "op_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing", "PhiloxState.from_entropy()"],
    ),
    "minval of another type": (
        {"minval": np.array(0.0)},
        ["input 'minval' must be ", "got f64", "must be f32, as output_type says", "Cast it"],
    ),
    "maxval of two elements": (
        {"maxval": np.array([1, 2], F32)},
        ["input 'maxval' must be a scalar, or 1-D of one element: got shape [2]"],
    ),
    "maxval of rank 2": ({"maxval": np.ones((1, 1), F32)}, ["got shape [", "a scalar"]),
    "a bound that is NaN": (
        {"minval": F32(math.nan)},
        ["'minval' must be a finite number: got nan"],
    ),
    "a bound that is infinite": (
        {"maxval": F32(math.inf)},
        ["'maxval' must be a finite number: got inf"],
    ),
    "a difference that overflows": (
        {"minval": F32(-3e38), "maxval": F32(3e38)},
        ["so close to maxval that f32 holds their difference", "closer together"],
    ),
    "float bounds in the wrong order": (
        {"minval": F32(2), "maxval": F32(1)},
        ["'minval' must be at most maxval: got 2.0 with maxval 1.0"],
    ),
    "an empty range of integers": (
        {"minval": np.int32(5), "maxval": np.int32(5), "output_type": "i32"},
        ["'minval' must be less than maxval: got 5 with maxval 5"],
    ),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
    "a negative dimension": (
        {"shape": np.array([-3])},
        ["'shape' must be dimensions of 0 or more: got [-3]"],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory"]),
}
BAD_NORMAL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "an integer output type": (
        {"output_type": "i32"},
        ["attribute 'output_type' must be ", "got 'i32'", "must be 'f16', 'bf16', 'f32' or 'f64'"],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "mean of another type": (
        {"mean": np.array(0.0)},
        ["input 'mean' must be ", "got f64", "must be f32, as output_type says", "Cast it to f32."],
    ),
    "scale of two elements": (
        {"scale": np.array([1, 2], F32)},
        [
            "input 'scale' must be a scalar, or 1-D of one element: got shape [2]",
            "Pass one number.",
        ],
    ),
    "a mean that is NaN": (
        {"mean": F32(math.nan)},
        ["'mean' must be a finite number: got nan", "Pass a finite mean."],
    ),
    "a scale that is infinite": (
        {"scale": F32(-math.inf)},
        ["'scale' must be ", "got -inf", "must be a finite number", "Pass a finite scale."],
    ),
    "a negative dimension": (
        {"shape": np.array([-3])},
        ["'shape' must be dimensions of 0 or more: got [-3]"],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory"]),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
}
SCALE_RULE = "Pass a scale above 0"
BAD_EXPONENTIAL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "an integer output type": (
        {"output_type": "i32"},
        ["'output_type' must be 'f16', 'bf16', ", "got 'i32'."],
    ),
    "scale of another type": (
        {"scale": np.array(1.0)},
        [
            "input 'scale' must be ",
            "got f64",
            "must be f32, as output_type says",
            "Cast it to f32.",
        ],
    ),
    "scale of two elements": (
        {"scale": np.array([1, 2], F32)},
        [
            "input 'scale' must be a scalar, or 1-D of one element: got shape [2]",
            "Pass one number.",
        ],
    ),
    "a scale of 0": ({"scale": F32(0)}, ["must be a finite number above 0: got 0.0. ", SCALE_RULE]),
    "a scale of -0": (
        {"scale": F32(-0.0)},
        ["must be a finite number above 0: got -0.0. ", SCALE_RULE],
    ),
    "a negative scale": (
        {"scale": F32(-1)},
        ["must be a finite number above 0: got -1.0. ", SCALE_RULE],
    ),
    "a negative scale next to 0": (
        {"scale": F32(-1e-45)},
        ["must be a finite number above 0: got -1.401298464324817e-45. ", SCALE_RULE],
    ),
    "a scale that is NaN": (
        {"scale": F32(math.nan)},
        ["must be a finite number above 0: got nan. ", SCALE_RULE],
    ),
    "a scale that is infinite": (
        {"scale": F32(math.inf)},
        ["'scale' must be a finite number above 0: got inf. ", SCALE_RULE],
    ),
    "a negative dimension": (
        {"shape": np.array([-3])},
        ["'shape' must be dimensions of 0 or more: got [-3]"],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory"]),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
}
ALPHA_RULE = "'alpha' must be a number above 0, at most 2^50: got "
BAD_GAMMA: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "an output type of half precision": (
        {"output_type": "f16"},
        ["'output_type' must be ", "got 'f16'"],
    ),
    "alpha of another type": (
        {"alpha": np.array(1, np.float16)},
        ["'alpha' must be ", "got f16", "f32 or f64", "Cast it to f32."],
    ),
    "an alpha of 0": ({"alpha": F32(0)}, ["'alpha' must be ", "got 0.0", ALPHA_RULE]),
    "a negative alpha": ({"alpha": F32(-1)}, ["'alpha' must be ", "got -1.0", ALPHA_RULE]),
    "an alpha over 2^50": (
        {"alpha": F32(2e15)},
        ["'alpha' must be ", "got 1999999973982208.0", ALPHA_RULE],
    ),
    "an alpha that is NaN": ({"alpha": F32(math.nan)}, ["'alpha' must be ", "got nan", ALPHA_RULE]),
    "an alpha that is infinite": (
        {"alpha": F32(math.inf)},
        ["'alpha' must be ", "got inf", ALPHA_RULE],
    ),
    "one of many alphas": (
        {"alpha": np.array([[1, 1, 2], [3, 0, -1]], F32)},
        ["'alpha' must be ", "got 0.0 at [1, 1]", ALPHA_RULE],
    ),
    "alphas of another shape": ({"alpha": np.ones(3, F32)}, ["'alpha' must be ", "got shape [3]"]),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory"]),
}
RATE_RULE = "'rate' must be 0 to 2^30: got "
BAD_POISSON: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "a float output type": (
        {"output_type": "f32"},
        ["'output_type' must be 'i32' or 'i64'", "got 'f32'"],
    ),
    "a rate of another type": (
        {"rate": np.array(1, np.int32)},
        ["'rate' must be ", "got i32", "f32 or f64", "Cast it to f32."],
    ),
    "a negative rate": ({"rate": F32(-1)}, ["'rate' must be ", "got -1.0", RATE_RULE]),
    "a rate next to 0": ({"rate": F32(-1e-45)}, ["'rate' must be ", "got -1.4012984", RATE_RULE]),
    "a rate over 2^30": (
        {"rate": F32(1073741952)},
        ["'rate' must be ", "got 1073741952.0", RATE_RULE],
    ),
    "a rate that is NaN": ({"rate": F32(math.nan)}, ["'rate' must be ", "got nan", RATE_RULE]),
    "a rate that is infinite": ({"rate": F32(math.inf)}, ["'rate' must be ", "got inf", RATE_RULE]),
    "one of many rates": (
        {"rate": np.array([[1, 1, 2], [3, -2, -1]], F32)},
        ["'rate' must be ", "got -2.0 at [1, 1]", RATE_RULE],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory"]),
}
P_RULE = "a scalar, 1-D of one element, or the output's shape ["
BAD_BERNOULLI: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "p of another type": (
        {"p": np.array(1, np.int32)},
        ["input 'p' must be ", "got i32", "must be f32 or f64", "Cast it to f32."],
    ),
    "p of half precision": (
        {"p": np.array(1, np.float16)},
        ["'p' must be f32 or f64: got f16", "f32 or f64"],
    ),
    "p that is NaN": (
        {"p": F32(math.nan)},
        ["'p' must be ", "got nan", "must be from 0 to 1", "probabilities"],
    ),
    "p above 1": (
        {"p": F32(1 + 5 * 2**-23)},
        ["'p' must be from 0 to 1, or at most 4 ulp above 1: got 1.0000005960464478."],
    ),
    "p just below 0": (
        {"p": F32(-1e-45)},
        ["'p' must be from 0 to 1, or at most 4 ulp above 1: got -1.401298464324817e-45"],
    ),
    "one of many p above 1": (
        {"p": np.array([[0, 1, 0.5], [0.25, 1.5, math.nan]], F32)},
        ["'p' must be from 0 to 1, ", ": got 1.5 at [1, 1]."],
    ),
    "one of many p NaN": (
        {"p": np.array([[0, 1, math.nan], [0, 2, 0]], F32)},
        ["'p' must be from 0 to 1, ", ": got nan at [0, 2]."],
    ),
    "p of another rank": ({"p": np.full((1, 2, 3), 0.5, F32)}, [": got shape [", P_RULE]),
    "p of another length": (
        {"p": np.full(3, 0.5, F32)},
        [
            "input 'p' must be a scalar, 1-D of one element, or the output's shape [2, 3]: got "
            "shape [3]",
            P_RULE + "2, 3]",
            "expand it to that shape",
        ],
    ),
    "p to be broadcast": (
        {"p": np.full((1, 3), 0.5, F32)},
        [": got shape [1, 3].", P_RULE + "2, 3]"],
    ),
    "p that is empty": ({"p": np.zeros(0, F32)}, [": got shape [0].", P_RULE]),
    "a negative dimension": (
        {"shape": np.array([-3])},
        ["'shape' must be dimensions of 0 or more: got [-3]"],
    ),
    "more than memory": ({"shape": np.array([2**31 - 1, 2**20])}, ["memory", "bytes of bool"]),
}
ROW_RULE = "'logits' must be finite numbers or -inf, at least one of them finite in each row: "
BAD_CATEGORICAL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 1])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "a float output type": (
        {"output_type": "f32"},
        ["'output_type' must be 'i32' or 'i64': got 'f32'."],
    ),
    "logits of another type": (
        {"logits": np.zeros((2, 3), np.int32)},
        ["input 'logits' must be ", "got i32", "must be f32 or f16 or f64", "Cast it to f32."],
    ),
    "logits of rank 1": (
        {"logits": np.zeros(3, F32)},
        ["'logits' must be 2-D, [batch, classes]: got shape [", "Reshape it to 2-D."],
    ),
    "logits of rank 3": ({"logits": np.zeros((1, 2, 3), F32)}, ["got shape [", "2-D"]),
    "no classes": (
        {"logits": np.zeros((2, 0), F32)},
        ["got shape [2, 0]", "must be of at least one class"],
    ),
    "a logit that is NaN": (
        {"logits": np.array([[0, 1], [2, math.nan], [math.inf, 0]], F32)},
        [
            ROW_RULE + "got nan in row 1.",
        ],
    ),
    "a logit that is infinite": (
        {"logits": np.array([[0, 1], [-math.inf, 1], [math.inf, 0]], F32)},
        [
            ROW_RULE + "got inf in row 2.",
        ],
    ),
    "a row of -inf": (
        {"logits": np.array([[0, 1], [-math.inf] * 2], F32)},
        [ROW_RULE + "got -inf in all of row 1.", "Correct what computes the logits."],
    ),
    "no samples": (
        {"sample_size": 0},
        ["'sample_size' must be an integer from 1 to 2^63-1: got 0", "number."],
    ),
    "bytes over int64": (
        {"sample_size": 2**61},
        ["the output must be at most 2^63-1 bytes of i32: got [2, 2305843009213693952]."],
    ),
    "more than memory": (
        {"sample_size": 2**50},
        ["the output must be small enough for the ", "memory", "got [2, "],
    ),
    "state of another type": ({"state": STATE.astype(np.int64)}, ["'state' must be u32: got i64"]),
    "a replacement of 2": ({"replacement": 2}, ["'replacement' must be 0 or 1: got 2"]),
    "more samples than classes": (
        {"replacement": 0, "sample_size": 4},
        ["'sample_size' must be at most ", "got 4, more than the 3 given. Draw fewer samples"],
    ),
    "more samples than classes of a weight": (
        {
            "replacement": 0,
            "sample_size": 2,
            "logits": np.array([[0, 1, 2], [0, -math.inf, -709]], F32),
        },
        ["with replacement 0: got 2, more than the 1 in row 1. Draw fewer samples"],
    ),
}
RATIO_RULE = "input 'ratio' must be from 0 to 1: got "
BAD_DROPOUT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "data of another type": (
        {"data": np.zeros((2, 3), np.int32)},
        ["input 'data' must be f32 or f16 or bf16 or f64: got i32. Cast it to f32."],
    ),
    "ratio of two elements": (
        {"ratio": np.array([0.5, 0.5], F32)},
        ["'ratio' must be a scalar, or 1-D of one element: got shape [2]. Pass one number."],
    ),
    "a negative ratio": ({"ratio": F32(-1e-45)}, [RATIO_RULE + "-1.401298464324817e-45."]),
    "a ratio next above 1": ({"ratio": np.nextafter(F32(1), F32(2))}, [RATIO_RULE + "1.00"]),
    "a ratio that is NaN": ({"ratio": F32(math.nan)}, [RATIO_RULE + "nan. Pass the share"]),
    "a ratio that is infinite": ({"ratio": F32(math.inf)}, [RATIO_RULE + "inf. Pass the share"]),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
}
ROWS_RULE = "input 'shape' must be of 1 or 2 dimensions, [n] or [m, n]: got "
BAD_PERMUTATION: dict[str, tuple[dict[str, Any], list[str]]] = {
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3])."],
    ),
    "states for one row": (
        {"state": np.stack([STATE] * 3), "shape": np.array([3])},
        ["got 3 states (shape [3, 6]) for 1 row (output shape [3])."],
    ),
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "a scalar": ({"shape": np.array([], np.int64)}, [ROWS_RULE + "0 dimensions. Pass [n], or "]),
    "a shape of rank 3": ({"shape": np.array([2, 3, 4])}, [ROWS_RULE + "3 dimensions. Pass "]),
    "a shape of rank 9": ({"shape": np.ones(9, np.int64)}, ["of 0 to 8 dimensions: got 9"]),
    "a float output type": (
        {"output_type": "f32"},
        ["'output_type' must be 'i64' or 'i32': got 'f32'."],
    ),
    "a negative dimension": ({"shape": np.array([2, -3])}, ["got [2, -3]. Give the size itself."]),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
}
OF_ROWS_RULE = "a scalar, 1-D of one element, or 1-D with one for each row (2): got shape "
BAD_TOKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "neither state nor seed": (
        {"global_seed": 0},
        ["input 'state' must be connected", "both 0: got nothing"],
    ),
    "states for other rows": (
        {"state": np.stack([STATE] * 3)},
        ["got 3 states (shape [3, 6]) for 2 rows (output shape [2, 1])."],
    ),
    "logits of f64": (
        {"logits": np.zeros((2, 3))},
        ["input 'logits' must be f32 or f16 or bf16: got f64. Cast it to f32."],
    ),
    "logits of one dimension": ({"logits": np.zeros(3, F32)}, ["must be 2-D, [batch, classes]"]),
    "a row without a finite logit": (
        {"logits": np.array([[0, 1], [-math.inf, -math.inf]], F32)},
        ["at least one of them finite in each row: got -inf in all of row 1."],
    ),
    "an infinite logit": (
        {"logits": np.array([[0, 1], [0, math.inf]], np.float16)},
        ["in each row: got inf in row 1. Correct what computes the logits."],
    ),
    "a NaN": (
        {"logits": np.array([[0, math.nan], [0, 1]], F32)},
        ["in each row: got nan in row 0."],
    ),
    "a negative temperature": (
        {"temperature": F32([1, -0.5])},
        ["input 'temperature' must be a finite number, 0 or above: got -0.5 at [1]. Pass a temp"],
    ),
    "a temperature that is NaN": ({"temperature": F32(math.nan)}, ["0 or above: got nan."]),
    "an infinite temperature": ({"temperature": F32(math.inf)}, ["0 or above: got inf."]),
    "temperatures for other rows": (
        {"temperature": F32([1, 1, 1])},
        [
            "input 'temperature' must be "
            + OF_ROWS_RULE
            + "[3]. Pass one number, or one for each row."
        ],
    ),
    "a temperature of two dimensions": (
        {"temperature": np.ones((2, 1), F32)},
        # Where only the rank is known, it says neither the rows nor the shape.
        ["'temperature' must be " + OF_ROWS_RULE.partition(" (")[0], "Pass one number, or one for"],
    ),
    "a temperature of f64": ({"temperature": np.ones(2)}, ["must be f32: got f64. Cast it to f32"]),
    "a negative top_k": (
        {"top_k": np.int64(-1)},
        ["input 'top_k' must be 0 or above: got -1. Pass how many tokens to keep; 0 keeps all."],
    ),
    "a top_k of i32": ({"top_k": np.int32(5)}, ["input 'top_k' must be i64: got i32."]),
    "a top_p of 0": (
        {"top_p": F32([0.5, 0])},
        ["input 'top_p' must be above 0, at most 1: got 0.0 at [1]. Pass a share"],
    ),
    "a top_p above 1": ({"top_p": np.nextafter(F32(1), F32(2))}, ["at most 1: got 1.00"]),
    "a top_p that is NaN": ({"top_p": F32(math.nan)}, ["at most 1: got nan."]),
    "a negative min_p": (
        {"min_p": F32(-1e-45)},
        ["input 'min_p' must be from 0 to 1: got -1.401298464324817e-45. Pass a share"],
    ),
    "a min_p above 1": ({"min_p": F32(1.5)}, ["input 'min_p' must be from 0 to 1: got 1.5."]),
    "state of five words": ({"state": STATE[:5], "global_seed": 0}, ["got shape [5]"]),
}
BAD = {
    "RandomGenerator": BAD_GENERATOR,
    "RandomUniform": BAD_UNIFORM,
    "RandomNormal": BAD_NORMAL,
    "RandomBernoulli": BAD_BERNOULLI,
    "RandomCategorical": BAD_CATEGORICAL,
    "RandomExponential": BAD_EXPONENTIAL,
    "RandomGamma": BAD_GAMMA,
    "RandomPoisson": BAD_POISSON,
    "RandomDropout": BAD_DROPOUT,
    "RandomPermutation": BAD_PERMUTATION,
    "RandomToken": BAD_TOKEN,
}
CASES = [(operator, what) for operator, bad in BAD.items() for what in bad]

# A call that is right, for the bad part to go into.
SHAPE = np.array([2, 3])
GOOD: dict[str, dict[str, Any]] = {
    "RandomGenerator": {"state": STATE, "shape": SHAPE},
    "RandomUniform": {
        "shape": SHAPE,
        "minval": F32(0),
        "maxval": F32(1),
        "output_type": "f32",
        "global_seed": 7,
    },
    "RandomNormal": {
        "shape": SHAPE,
        "mean": F32(0),
        "scale": F32(1),
        "output_type": "f32",
        "global_seed": 7,
    },
    "RandomBernoulli": {"shape": SHAPE, "p": F32(0.5), "global_seed": 7},
    "RandomCategorical": {"logits": np.zeros((2, 3), F32), "global_seed": 7},
    "RandomExponential": {"shape": SHAPE, "scale": F32(1), "output_type": "f32", "global_seed": 7},
    "RandomGamma": {"shape": SHAPE, "alpha": F32(1), "output_type": "f32", "global_seed": 7},
    "RandomPoisson": {"shape": SHAPE, "rate": F32(1), "output_type": "i32", "global_seed": 7},
    "RandomDropout": {"data": np.zeros((2, 3), F32), "ratio": F32(0.5), "global_seed": 7},
    "RandomPermutation": {"shape": SHAPE, "global_seed": 7},
    "RandomToken": {"logits": np.zeros((2, 3), F32), "global_seed": 7},
}


def call_of(operator: str, what: str) -> tuple[dict[str, Any], list[str]]:
    """A good call of the operator with the bad parts in it, and what the error must say."""
    bad, texts = BAD[operator][what]
    return GOOD[operator] | bad, [operator, *texts]


INPUTS = {name: [i.name for i in op.inputs] for name, op in OPERATORS.items()}


def model_of(operator: str, call: dict[str, Any], *, constant: bool) -> onnx.ModelProto:
    """A model of the call, with its inputs as initializers or as graph inputs of unknown shape.

    Made by hand: the builders would refuse it.
    """
    names = INPUTS[operator]
    arrays = {name: np.asarray(call[name]) for name in names if name in call}
    # ONNX Runtime before 1.24 refuses nodes that leave out an input before another one.
    absent = {
        i.name: np.array(i.absent, i.types[0].dtype)
        for i in OPERATORS[operator].inputs
        if i.absent is not None and i.name not in call
    }
    given = [name if name in call or name in absent else "" for name in names]
    while not given[-1]:
        given.pop()
    node = onnx.helper.make_node(
        operator,
        given,
        ["values", *([""] * (operator == "RandomDropout")), "next_state"],
        domain="onnx_philox",
        **{k: v for k, v in call.items() if k not in names and v is not None},
    )
    infos = [
        # The ranks of inputs and outputs are known, since OpenVINO's CPU plugin needs them.
        onnx.helper.make_tensor_value_info(
            n,
            onnx.helper.np_dtype_to_tensor_dtype(a.dtype),
            list(a.shape) if n == "shape" else [None] * a.ndim,
        )
        for n, a in arrays.items()
    ]
    rank = arrays["shape"].size if "shape" in arrays else 2
    state_rank = arrays.get("state", STATE).ndim
    defaults = {
        "RandomCategorical": BY_NAME["i32"],
        "RandomPermutation": BY_NAME["i64"],
        "RandomToken": BY_NAME["i64"],
    }
    default = defaults.get(operator, FLOAT)
    named = BY_NAME.get(str(call.get("output_type")), default)
    values_type = OPERATORS[operator].outputs[0].type or named
    values = values_type.onnx
    outputs = [
        onnx.helper.make_tensor_value_info("values", values, [None] * rank),
        onnx.helper.make_tensor_value_info(
            "next_state", onnx.TensorProto.UINT32, [None] * state_rank
        ),
    ]
    initializers = [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = onnx.helper.make_graph(
        [node],
        "bad",
        [] if constant else infos,
        outputs,
        initializer=[
            *(initializers if constant else []),
            *(onnx.numpy_helper.from_array(array, name) for name, array in absent.items()),
        ],
    )
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


def run_in_onnxruntime(backend: str) -> Callable[[onnx.ModelProto, dict[str, Any]], None]:
    import onnx_philox

    def run(model: onnx.ModelProto, feeds: dict[str, Any]) -> None:
        session = onnx_philox.onnxruntime.InferenceSession(model, backend=backend)
        session.run(None, feeds)

    return run


def run_in_openvino(backend: str) -> Callable[[onnx.ModelProto, dict[str, Any]], None]:
    import openvino as ov
    from runtimes import DEFAULT, ONE_THREAD, infer

    import onnx_philox

    # One for all calls: a model that was refused must leave it as it was.
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)

    def run(model: onnx.ModelProto, feeds: dict[str, Any]) -> None:
        read, refusals = core.read_model(model.SerializeToString()), []
        # What is refused at run time is refused on one thread, too.
        configs = [DEFAULT, ONE_THREAD] if feeds else [DEFAULT]
        for config in configs:
            try:
                infer(core.compile_model(read, "CPU", config), feeds)
            except Exception as error:
                refusals.append(error)
        if len(refusals) == len(configs):
            raise refusals[-1]

    return run


RUN = {"onnxruntime": run_in_onnxruntime, "openvino": run_in_openvino}

PARTS = [0, 1]
"""Every other case: OpenVINO takes long, and two workers share its cases."""


def cases_of(part: int | None) -> list[tuple[str, str]]:
    """The cases of a part; all of them for None."""
    return CASES if part is None else CASES[part :: len(PARTS)]


def meet_all(runtime: str, backend: str, part: int | None) -> None:
    """Runs these cases in this process; prints a line of JSON for each."""
    run = RUN[runtime](backend)
    for operator, what in cases_of(part):
        call, _ = call_of(operator, what)
        for constant in (True, False):
            model = model_of(operator, call, constant=constant)
            feeds = (
                {} if constant else {n: np.asarray(call[n]) for n in INPUTS[operator] if n in call}
            )
            raised = None
            try:
                run(model, feeds)
            except Exception as error:
                raised = (type(error).__name__, str(error))
            print(json.dumps([operator, what, constant, raised]), flush=True)


if __name__ == "__main__":
    meet_all(*json.loads(sys.argv[1]))
