"""Bad calls of every operator, and a program that makes them all in a runtime, for test_bad_input.

It prints what each call raised. It imports no pytest, which takes as long to load as a runtime.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from onnx_philox import PhiloxState
from onnx_philox._contract.operators import OPERATORS, Input, Role
from onnx_philox._contract.types import BY_NAME
from onnx_philox._contract.types import F32 as FLOAT

STATE = PhiloxState(1, 2).to_array()
F32 = np.float32

Bad = dict[str, tuple[dict[str, Any], list[str]]]
"""What is wrong, the inputs and attributes that differ from a good call, and what the error says:
what must be, what it got, what to do; its operator, too."""


# A call that is right, for the bad part to go into.
SHAPE = np.array([2, 3])
LOGITS = np.zeros((2, 3), F32)
GOOD: dict[str, dict[str, Any]] = {
    "RandomGenerator": {"state": STATE, "shape": SHAPE},
    "RandomUniform": {
        "shape": SHAPE,
        "minval": F32(0),
        "maxval": F32(1),
        "output_type": "f32",
    },
    "RandomNormal": {
        "shape": SHAPE,
        "mean": F32(0),
        "scale": F32(1),
        "output_type": "f32",
    },
    "RandomBernoulli": {"shape": SHAPE, "p": F32(0.5)},
    "RandomCategorical": {"logits": LOGITS},
    "RandomExponential": {
        "shape": SHAPE,
        "scale": F32(1),
        "output_type": "f32",
    },
    "RandomGamma": {
        "shape": SHAPE,
        "alpha": F32(1),
        "output_type": "f32",
    },
    "RandomPoisson": {
        "shape": SHAPE,
        "rate": F32(1),
        "output_type": "i32",
    },
    "RandomDropout": {"data": LOGITS, "ratio": F32(0.5)},
    "RandomPermutation": {"shape": SHAPE},
    "RandomToken": {"logits": LOGITS},
}
GOOD |= {name: call | {"global_seed": 7} for name, call in GOOD.items() if "state" not in call}

NAN = math.nan
INF = math.inf
ABOVE_1 = float(np.nextafter(F32(1), F32(2)))
TINY = -1.401298464324817e-45
RULES: dict[tuple[str, str], tuple[str, str, list[float]]] = {
    ("RandomUniform", "minval"): ("a finite number", "Pass a finite bound.", [NAN]),
    ("RandomUniform", "maxval"): ("a finite number", "Pass a finite bound.", [INF]),
    ("RandomNormal", "mean"): ("a finite number", "Pass a finite mean.", [NAN]),
    ("RandomNormal", "scale"): ("a finite number", "Pass a finite scale.", [-INF]),
    ("RandomExponential", "scale"): (
        "a finite number above 0",
        "Pass a scale above 0: 1 / rate, ",
        [0, -0.0, -1, TINY, NAN, INF],
    ),
    ("RandomGamma", "alpha"): (
        "a number above 0, at most 2^50",
        "",
        [0, -1, 1999999973982208, NAN, INF],
    ),
    ("RandomPoisson", "rate"): (
        "0 to 2^30",
        "",
        [-1, TINY, 1073741952, NAN, INF],
    ),
    ("RandomBernoulli", "p"): (
        "from 0 to 1, or at most 4 ulp above 1",
        "Pass probabilities.",
        [NAN, 1 + 5 * 2**-23, TINY, 1.5],
    ),
    ("RandomDropout", "ratio"): ("from 0 to 1", "Pass the share", [TINY, ABOVE_1, NAN, INF]),
    ("RandomToken", "temperature"): (
        "a finite number, 0 or above",
        "Pass a temp",
        [-0.5, NAN, INF],
    ),
    ("RandomToken", "top_k"): ("0 or above", "Pass how many tokens to keep; 0 keeps all.", [-1]),
    ("RandomToken", "top_p"): ("above 0, at most 1", "Pass a share", [0, ABOVE_1, NAN]),
    ("RandomToken", "min_p"): ("from 0 to 1", "Pass a share", [TINY, 1.5]),
}
"""What each number must be, what to do, and numbers that are none of these."""
AS_TYPE = "f32, as output_type says"
ULP = "input 'p' must be from 0 to 1, or at most 4 ulp above 1: got 1.00000"
P_RULE = "a scalar, 1-D of one element, or the output's shape ["
OF_ONE_CLASS = F32([[0, 1, 2], [0, -INF, -709]])
OF_ROWS_RULE = "a scalar, 1-D of one element, or 1-D with one for each row"


def of_every_operator(operator: str) -> Bad:
    """What any operator refuses that declares such inputs and attributes."""
    op = OPERATORS[operator]
    size = "[2, 1]" if op.size_input.role is Role.LOGITS else "[2, 3]"
    bad: Bad = {
        "states for other rows": (
            {"state": np.stack([STATE] * 3)},
            [f"got 3 states (shape [3, 6]) for 2 rows (output shape {size})."],
        ),
        "state of five words": (
            {"state": STATE[:5], "global_seed": 0},
            ["got shape [5]", "[6], or [1, ..., 1, 6] up to rank 8", "PhiloxState"],
        ),
    }
    if op.input("state").optional:
        bad["neither state nor seed"] = (
            {"global_seed": 0},
            [
                "input 'state' must be connected",
                "both 0: got nothing",
                "PhiloxState.from_entropy",
            ],
        )
    if op.has_shape:
        bad["a negative dimension"] = (
            {"shape": np.array([2, -1])},
            ["input 'shape' must be dimensions of 0 or more: got [2, -1]. Give the size itself."],
        )
        bad["more than memory"] = {"shape": np.array([2**31 - 1, 2**20])}, ["memory", "in parts"]
    if any(a.name == "output_type" for a in op.attributes):
        names = [t.name for t in op.output_types]
        other = next(name for name in ("f16", "i32", "f8") if name not in names)
        listed = ", ".join(map(repr, names[:-1])) + f" or {names[-1]!r}"
        says = [f"attribute 'output_type' must be {listed}: got '{other}'."]
        bad["an output type that it lacks"] = {"output_type": other}, says
    for declared in op.parameters:
        bad |= of_input(operator, declared)
    return bad


def of_input(operator: str, declared: Input) -> Bad:
    """What an input other than shape and state may not be."""
    name = declared.name
    good = GOOD[operator].get(declared.name, F32(1))
    must = f"input '{name}' must be "
    types = " or ".join(t.name for t in declared.types)
    first = declared.types[0] if types else FLOAT
    other, rule, got = (np.int32, types, "i32") if types else (np.float64, AS_TYPE, "f64")
    says = [f"{must}{rule}: got {got}. Cast it to {first.name}."]
    bad: Bad = {f"{name} of another type": ({name: np.array(good, other)}, says)}
    dtype = first.dtype.type
    rule, remedy, numbers = RULES.get((operator, name), ("", "", []))
    for number in numbers:
        says = [f"{must}{rule}: got {dtype(number).item()}. {remedy}"]
        bad[f"{name} of {number}"] = {name: dtype(number)}, says
    many = np.full((2, 3), good)
    match declared.role:
        case Role.NUMBER:
            one = f"{must}a scalar, or 1-D of one element: got shape ["
            bad[f"{name} of two elements"] = {name: np.ones(2, F32)}, [f"{one}2]. Pass one number."]
            bad[f"{name} of rank 2"] = {name: np.ones((1, 1), F32)}, [one]
        case Role.NUMBERS:
            many[1, 1:] = numbers[:2]
            bad[f"one of many {name}"] = (
                {name: many},
                [f"{must}{rule}: got {dtype(numbers[0]).item()} at [1, 1]."],
            )
            bad[f"{name} of another rank"] = (
                {name: np.full((1, 2, 3), good)},
                [f"{must}{P_RULE}", ": got shape ["],
            )
            bad[f"{name} of another length"] = (
                {name: np.full(3, good)},
                [f"{must}{P_RULE}2, 3]: got shape [3]", "expand it to that shape"],
            )
            bad[f"{name} to be broadcast"] = (
                {name: np.full((1, 3), good)},
                [f"{must}{P_RULE}2, 3]: got shape [1, 3]."],
            )
        case Role.ROW_NUMBERS:
            # Where only the rank is known, the second says neither the rows nor the shape.
            bad[f"{name} for other rows"] = (
                {name: np.ones(3, dtype)},
                [f"{must}{OF_ROWS_RULE} (2): got shape [3]. Pass one number, or one for each"],
            )
            bad[f"{name} of two dimensions"] = (
                {name: np.ones((2, 1), dtype)},
                [f"{must}{OF_ROWS_RULE}", "Pass one number, or one for"],
            )
        case Role.LOGITS:
            bad |= of_logits(must)
    return bad


def of_logits(must: str) -> Bad:
    """What logits may not be."""
    rank = [f"{must}2-D, [batch, classes]: got shape [", "Reshape it to 2-D."]
    rule = f"{must}finite numbers or -inf, at least one of them finite in each row: got"
    remedy = "Correct what computes the logits."
    return {
        "logits of rank 1": ({"logits": np.zeros(3, F32)}, rank),
        "logits of rank 3": ({"logits": np.zeros((1, 2, 3), F32)}, rank),
        "no classes": (
            {"logits": np.zeros((2, 0), F32)},
            ["must be of at least one class: got shape [2, 0]"],
        ),
        "a logit that is NaN": (
            {
                "logits": F32(
                    [
                        [0, 1],
                        [2, NAN],
                        [INF, 0],
                    ]
                )
            },
            [f"{rule} nan in row 1. {remedy}"],
        ),
        "a logit that is infinite": (
            {
                "logits": F32(
                    [
                        [0, 1],
                        [-INF, 1],
                        [INF, 0],
                    ]
                )
            },
            [f"{rule} inf in row 2. {remedy}"],
        ),
        "a row of -inf": (
            {"logits": F32([[0, 1], [-INF] * 2])},
            [f"{rule} -inf in all of row 1. {remedy}"],
        ),
        "a NaN beside -inf": ({"logits": F32([[-INF, NAN]])}, [f"{rule} nan in row 0. {remedy}"]),
        "an infinite logit beside a NaN": (
            {"logits": F32([[INF, NAN]])},
            [f"{rule} inf in row 0. {remedy}"],
        ),
    }


OVER_INT64 = "at most 2^63-1 bytes of u32: got [2147483647, "
ROWS_RULE = "input 'shape' must be of 1 or 2 dimensions, [n] or [m, n]: got"
OF_ITS_OWN: dict[str, Bad] = {
    "RandomGenerator": {
        "state of another type": (
            {"state": STATE.astype(np.int64)},
            ["input 'state' must be u32: got i64", "Cast it"],
        ),
        "states for other rows": (
            {"state": np.stack([STATE] * 3)},
            [
                "input 'state' must be one state for all of the output, or one for each of its "
                "rows: got 3 states (shape [3, 6]) for 2 rows (output shape [2, 3]). Pass as "
                "many states as rows, from row_states(...) for instance (in C,"
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
        "state of rank 0": ({"state": np.array(3, np.uint32)}, ["got shape []", "up to rank 8"]),
        "state of rank 9": ({"state": STATE.reshape((1,) * 8 + (6,))}, ["up to rank 8"]),
        "state of rank 12": ({"state": STATE.reshape((1,) * 11 + (6,))}, ["up to rank 8"]),
        "shape of another type": (
            {"shape": F32([2, 3])},
            ["input 'shape' must be ", "got f32", "must be i64 or i32"],
        ),
        "shape of rank 2": ({"shape": np.array([[2, 3]])}, ["got shape [", "must be 1-D"]),
        "shape of rank 0": ({"shape": np.array(3)}, ["got shape []", "must be 1-D"]),
        "nine dimensions": ({"shape": np.ones(9, np.int64)}, ["of 0 to 8 dimensions: got 9 dim"]),
        "elements over int64": (
            {"shape": np.array([2**31 - 1] * 4)},
            [f"{OVER_INT64}", "in parts"],
        ),
        "bytes over int64": ({"shape": np.array([2**31 - 1] * 2)}, [f"{OVER_INT64}", "in parts"]),
        "an overflow beside a 0": (
            {"shape": np.array([2**31 - 1] * 4 + [0])},
            [f"{OVER_INT64}", "in parts"],
        ),
        "an unknown type": (
            {"type": "mt19937"},
            ["attribute 'type' must be 'philox4x32_10': got 'mt19937'"],
        ),
        "a negative seed": (
            {"op_seed": -1},
            ["'op_seed' must be an integer from 0 to 2^63-1: got -1"],
        ),
    },
    "RandomUniform": {
        "a negative seed": (
            {"global_seed": -5},
            ["'global_seed' must be an integer from 0 to 2^63-1: got -5"],
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
    },
    "RandomBernoulli": {
        "p of half precision": ({"p": np.array(1, np.float16)}, ["must be f32 or f64: got f16"]),
        "a p of f64 5 ulp above 1": (
            {"p": np.array(1 + 5 * 2**-52)},
            [f"{ULP}0000000001. Pass probabilities."],
        ),
        "each p 5 ulp above 1": (
            {
                "p": np.full(
                    (2, 3),
                    1 + 5 * 2**-23,
                    F32,
                )
            },
            [f"{ULP}", "at [0, 0]. Pass"],
        ),
        "each p of f64 5 ulp above 1": (
            {"p": np.full((2, 3), 1 + 5 * 2**-52)},
            [f"{ULP}0000000001 at [0, 0]. Pass"],
        ),
        "p that is empty": ({"p": np.zeros(0, F32)}, [": got shape [0].", f"{P_RULE}"]),
    },
    "RandomCategorical": {
        "state of another type": (
            {"state": STATE.astype(np.int64)},
            ["input 'state' must be u32: got i64", "Cast it"],
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
            ["the output must be small enough for the ", "memory", "got [2, ", "in parts"],
        ),
        "a replacement of 2": ({"replacement": 2}, ["'replacement' must be 0 or 1: got 2"]),
        "more samples than classes": (
            {"replacement": 0, "sample_size": 4},
            ["'sample_size' must be at most ", "got 4, more than the 3 given. Draw fewer samples"],
        ),
        "more samples than classes of a weight": (
            {"replacement": 0, "sample_size": 2, "logits": OF_ONE_CLASS},
            ["with replacement 0: got 2, more than the 1 in row 1. Draw fewer samples"],
        ),
    },
    "RandomPermutation": {
        "states for one row": (
            {"state": np.stack([STATE] * 3), "shape": np.array([3])},
            ["got 3 states (shape [3, 6]) for 1 row (output shape [3])."],
        ),
        "a scalar": (
            {"shape": np.array([], np.int64)},
            [f"{ROWS_RULE} 0 dimensions. Pass [n], or"],
        ),
        "a shape of rank 3": ({"shape": np.array([2, 3, 4])}, [f"{ROWS_RULE} 3 dimensions. Pass"]),
        "a shape of rank 9": ({"shape": np.ones(9, np.int64)}, ["of 0 to 8 dimensions: got 9"]),
    },
    "RandomToken": {
        "logits of f64": (
            {"logits": np.zeros((2, 3))},
            ["input 'logits' must be f32 or f16 or bf16: got f64. Cast it to f32."],
        ),
        "one of many temperature": ({"temperature": F32([1, -0.5])}, ["above: got -0.5 at [1]."]),
        "one of many top_p": ({"top_p": F32([0.5, 0])}, ["at most 1: got 0.0 at [1]. Pass a"]),
    },
}
BAD = {name: of_every_operator(name) | OF_ITS_OWN.get(name, {}) for name in GOOD}
CASES = [(operator, what) for operator, bad in BAD.items() for what in bad]


def call_of(
    operator: str,
    what: str,
) -> tuple[dict[str, Any], list[str]]:
    """A good call of the operator with the bad parts in it, and what the error must say."""
    bad, texts = BAD[operator][what]
    return GOOD[operator] | bad, [operator, *texts]


INPUTS = {name: [i.name for i in op.inputs] for name, op in OPERATORS.items()}


def model_of(
    operator: str,
    call: dict[str, Any],
    *,
    constant: bool,
) -> onnx.ModelProto:
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
    # The ranks of inputs and outputs are known, since OpenVINO's CPU plugin needs them.
    info = onnx.helper.make_tensor_value_info
    type_of = onnx.helper.np_dtype_to_tensor_dtype
    infos = [
        info(
            n,
            type_of(a.dtype),
            list(a.shape) if n == "shape" else [None] * a.ndim,
        )
        for n, a in arrays.items()
    ]
    rank = arrays["shape"].size if "shape" in arrays else 2
    declared = {a.name: a.default for a in OPERATORS[operator].attributes}
    types = (call.get("output_type"), declared.get("output_type"), "f32")
    named = next(BY_NAME[name] for name in types if name in BY_NAME)
    values_type = OPERATORS[operator].outputs[0].type or named
    after = info("next_state", 12, [None] * arrays.get("state", STATE).ndim)
    outputs = [info("values", values_type.onnx, [None] * rank), after]
    held = (arrays if constant else {}) | absent
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = onnx.helper.make_graph([node], "bad", [] if constant else infos, outputs, tensors)
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("onnx_philox", 1)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


Run = Callable[[onnx.ModelProto, dict[str, Any]], object]


def run_in_onnxruntime(backend: str) -> Run:
    import onnx_philox

    session = functools.partial(onnx_philox.onnxruntime.InferenceSession, backend=backend)
    return lambda model, feeds: session(model).run(None, feeds)


def run_in_openvino(backend: str) -> Run:
    import openvino as ov

    import onnx_philox
    from tests.common.runtimes import DEFAULT, ONE_THREAD, infer

    # One for all calls: a model that was refused must leave it as it was.
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)
    # What is refused at run time is refused on one thread, too: by every other model.
    configs = itertools.cycle([DEFAULT, ONE_THREAD])

    @functools.cache
    def loaded(model: bytes) -> ov.CompiledModel:
        return core.compile_model(core.read_model(model), "CPU", next(configs))

    return lambda model, feeds: infer(loaded(model.SerializeToString()), feeds)


RUN = {"onnxruntime": run_in_onnxruntime, "openvino": run_in_openvino}


def kinds_of(backend: str, number: int) -> list[bool]:
    """Whether the inputs are constants: both, or in turn where Python checks both alike."""
    return [True, False] if backend == "native" else [number % 2 == 0]


def meet_all(runtime: str, backend: str) -> None:
    """Runs all cases in this process; prints a line of JSON for each."""
    run = RUN[runtime](backend)
    for number, (operator, what) in enumerate(CASES):
        call, _ = call_of(operator, what)
        for constant in kinds_of(backend, number):
            model = model_of(operator, call, constant=constant)
            fed = () if constant else INPUTS[operator]
            feeds = {n: np.asarray(call[n]) for n in fed if n in call}
            raised = None
            try:
                run(model, feeds)
            except Exception as error:
                raised = (type(error).__name__, str(error))
            print(json.dumps([operator, what, constant, raised]), flush=True)


if __name__ == "__main__":
    meet_all(*sys.argv[1:])
