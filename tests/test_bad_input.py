"""Every row of the contract's table of bad input, in every place that can meet it.

One list of bad calls (`bad_calls`). Runtimes run in a subprocess, which must survive all of them.
"""

from __future__ import annotations

import itertools
import json
import math
from functools import partial

import bad_calls
import child
import ml_dtypes
import numpy as np
import onnx
import pytest
from bad_calls import BAD, CASES, F32, PARTS, call_of, cases_of, kinds_of, model_of
from cases import assert_refused, table
from operators import OPERATORS, every_operator

from onnx_philox import graphs, onnx_reference, openvino, reference, register_schemas


def assert_says(error: BaseException | str, texts: list[str]) -> None:
    missing = [text for text in texts if text not in str(error)]
    assert not missing, f"{missing} not in: {error}"


@pytest.mark.parametrize(("operator", "what"), CASES)
def test_the_reference_refuses_bad_input(operator: str, what: str) -> None:
    call, texts = call_of(operator, what)
    function = getattr(reference, OPERATORS[operator].function)
    with pytest.raises((ValueError, TypeError)) as raised:
        function(**call)
    assert_says(raised.value, texts)


@pytest.mark.parametrize(("operator", "what"), CASES)
def test_onnx_reference_refuses_bad_input(operator: str, what: str) -> None:
    call, texts = call_of(operator, what)
    model = model_of(operator, call, constant=True)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    with pytest.raises((ValueError, TypeError)) as raised:
        evaluator.run(None, {})
    assert_says(raised.value, texts)


@pytest.mark.parametrize(("operator", "what"), [c for c in CASES if c[1] != "more than memory"])
def test_the_checker_refuses_what_constants_show(operator: str, what: str) -> None:
    register_schemas()
    call, texts = call_of(operator, what)
    with pytest.raises(onnx.shape_inference.InferenceError) as raised:
        onnx.checker.check_model(model_of(operator, call, constant=True), full_check=True)
    assert_says(raised.value, texts)


@every_operator
def test_builders_refuse_what_the_reference_refuses(operator: str) -> None:
    for what in BAD[operator]:
        call, texts = call_of(operator, what)
        # They take neither a state nor another type, see how much memory there is in no runtime,
        # and say of a shape that is none what it should be in Python.
        if {"state", "type"} & BAD[operator][what][0].keys() or what == "more than memory":
            continue
        if "shape" in call:
            call["shape"] = call["shape"].tolist()
            texts = ["a sequence of integers"] if what.startswith("shape of") else texts
        call = {name: x for name, x in call.items() if name != "state"}
        with pytest.raises((ValueError, TypeError)) as raised:
            getattr(graphs, OPERATORS[operator].function)(**call)
        assert_says(raised.value, texts)


@every_operator
@pytest.mark.usefixtures("factories")
def test_factories_refuse_what_the_reference_refuses(operator: str) -> None:
    for what in BAD[operator]:
        call, texts = call_of(operator, what)
        if "type" not in call:
            with pytest.raises((ValueError, TypeError)) as raised:
                getattr(openvino, OPERATORS[operator].function)(**call)
            assert_says(raised.value, texts)


uniform, bernoulli = (
    partial(getattr(graphs, f"random_{name}"), [2], op_seed=1) for name in ("uniform", "bernoulli")
)
BF16_BOUNDS = np.zeros(1, ml_dtypes.bfloat16), np.ones(1, F32), "bf16"
REFUSED = table("""
graphs.random_generator([1.5]) -> TypeError: a sequence of integers
graphs.random_generator(3) -> TypeError: must be a sequence of integers: got 3
graphs.random_generator([2**63]) -> within int64
graphs.random_generator(None) -> must be 0 to 8 where shape is None: got
graphs.random_generator(None, rank=9) -> where shape is None: got 9
graphs.random_generator([2], rank=2) -> rank must be None or 1, the len
uniform(0, 2**31, "i32") -> 2147483647
uniform(0.5, 2, "i32") -> TypeError: an integer
uniform("0", 2, "i32") -> TypeError: an integer
uniform(0, 1e39, "f32") -> within f32
uniform(0, 7e4, "f16") -> within f16
uniform(*BF16_BOUNDS) -> TypeError: 'maxval' must be bf16, as output_type says: got
uniform(0, 1, "f32", op_seed=2**63) -> op_seed
uniform(0, 1, "f32", op_seed=1.0) -> TypeError: op_seed
uniform(0, math.nan, "f64") -> 'maxval' must be a finite number: got nan
bernoulli([0.5]) -> TypeError: a number, or an
bernoulli(1.5) -> 'p' must be from 0 to 1, or at most 4 ulp above 1: got
bernoulli(None, p_type="f16") -> p_type must be one of 'f32', 'f64': got
graphs.random_bernoulli(None, np.full(3, 0.5), op_seed=1, rank=2)
-> a scalar, 1-D of one element, or the output's shape [?, ?]: got shape [3]
graphs.random_categorical(logits_type="i32", op_seed=1)
-> logits_type must be one of 'f32', 'f16', 'f64': got 'i32'
""")


@pytest.mark.parametrize(("build", "words"), REFUSED)
def test_builders_refuse_arguments_of_their_own(build: str, words: str) -> None:
    assert_refused(lambda: eval(build, {**globals(), "math": math}), words)


# The runtimes, in a subprocess: it prints what each case raised, and must live to the end.


def test_onnxruntime_refuses_and_lives(ort_backend: str) -> None:
    check_outcomes("onnxruntime", ort_backend, None, {"InvalidArgument"})


@pytest.mark.parametrize(("part", "backend"), [*itertools.product(PARTS, openvino.BACKENDS)])
def test_openvino_refuses_and_lives(part: int, backend: str) -> None:
    types = {"RuntimeError", "GeneralFailure", "OpConversionFailure"}
    check_outcomes("openvino", backend, part, types)


# The runtime refuses these itself, in its own words.
OWN_WORDS = {
    ("onnxruntime", "state of another type"),
    ("onnxruntime", "shape of another type"),
    ("onnxruntime", "minval of another type"),
    # Its front end makes a rank-0 constant of an initializer without elements.
    ("openvino", "no classes"),
    ("openvino", "no states for two rows"),
}
# Nor can this be seen then: a p of rank 0 is a probability for all.
UNSEEN = {("openvino", "p that is empty", True)}


def check_outcomes(runtime: str, backend: str, part: int | None, types: set[str]) -> None:
    arguments = json.dumps([runtime, backend, part])
    done = child.python("-W", "ignore", bad_calls.__file__, arguments)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == sum(len(kinds_of(backend, i)) for i, _ in enumerate(cases_of(part)))
    wrong = []
    for operator, what, constant, raised in outcomes:
        _, texts = call_of(operator, what)
        if (runtime, what, constant) in UNSEEN:
            continue
        if raised is None:
            wrong.append(f"{operator}, {what}, constant={constant}: not refused")
        elif (runtime, what) not in OWN_WORDS and (
            raised[0] not in types or any(text not in raised[1] for text in texts)
        ):
            wrong.append(f"{operator}, {what}, constant={constant}: {raised}, not {texts}")
    assert not wrong, "\n".join(wrong)
