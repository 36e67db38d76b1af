"""Every row of the contract's table of bad input (`bad_calls`), in every place that can meet it."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import onnx_philox
from onnx_philox import PhiloxState, generate, graphs, openvino, reference, register_schemas
from tests.common import bad_calls, child
from tests.common.bad_calls import BAD, CASES, F32, call_of, kinds_of, model_of
from tests.common.cases import assert_refused
from tests.common.foreign import evaluate
from tests.common.operators import OPERATORS, every_operator, plain
from tests.common.runtimes import OpenVino, bare_session, compiled, infer, save_ir


def assert_says(
    call: Callable[[], Any],
    texts: list[str],
    *errors: type[Exception],
) -> None:
    with pytest.raises(errors or (ValueError, TypeError)) as raised:
        call()
    missing = [text for text in texts if text not in str(raised.value)]
    assert not missing, f"{missing} not in: {raised.value}"


@pytest.mark.parametrize(("operator", "what"), CASES)
def test_bad_input_is_refused_by_the_reference_in_onnx_s_and_by_its_checker(
    operator: str, what: str
) -> None:
    call, texts = call_of(operator, what)
    model = model_of(operator, call, constant=True)
    assert_says(partial(getattr(reference, OPERATORS[operator].function), **call), texts)
    assert_says(partial(evaluate, model, {}), texts)
    if what != "more than memory":
        register_schemas()
        check = partial(onnx.checker.check_model, model, full_check=True)
        assert_says(check, texts, onnx.shape_inference.InferenceError)


@every_operator
@pytest.mark.usefixtures("factories")
def test_factories_and_builders_refuse_what_the_reference_refuses(operator: str) -> None:
    for what in BAD[operator]:
        call, texts = call_of(operator, what)
        if "type" not in call:
            assert_says(partial(getattr(openvino, OPERATORS[operator].function), **call), texts)
        # Builders take neither a state nor another type, see no runtime's memory,
        # and say of a shape that is none what it should be in Python.
        if {"state", "type"} & BAD[operator][what][0].keys() or what == "more than memory":
            continue
        if "shape" in call:
            call["shape"] = call["shape"].tolist()
            texts = ["a sequence of integers"] if what.startswith("shape of") else texts
        call = {name: x for name, x in call.items() if name != "state"}
        assert_says(partial(getattr(graphs, OPERATORS[operator].function), **call), texts)


@every_operator
def test_numbers_at_their_limits_are_taken(operator: str) -> None:
    for declared in OPERATORS[operator].parameters:
        if declared.types and declared.numbers:
            for limit in declared.numbers.limits(declared.types[0]):
                call = bad_calls.GOOD[operator] | {declared.name: limit.item()}
                assert getattr(reference, OPERATORS[operator].function)(**call)


uniform, bernoulli = (
    partial(getattr(graphs, f"random_{name}"), [2], op_seed=1) for name in ("uniform", "bernoulli")
)
BF16_BOUNDS = np.zeros(1, ml_dtypes.bfloat16), np.ones(1, F32), "bf16"
REFUSED = [
    (
        lambda: graphs.random_generator([1.5]),
        "TypeError: a sequence of integers",
    ),
    (lambda: graphs.random_generator(3), "TypeError: must be a sequence of integers: got 3"),
    (
        lambda: graphs.random_generator([2**63]),
        "within int64",
    ),
    (lambda: graphs.random_generator(None), "must be 0 to 8 where shape is None: got"),
    (
        lambda: graphs.random_generator(None, rank=9),
        "where shape is None: got 9",
    ),
    (
        lambda: graphs.random_generator([], per_row=True),
        "of 1 dimension or more...: got a scalar",
    ),
    (
        lambda: graphs.random_generator([None, 3]),
        "TypeError: a sequence of integers",
    ),
    (
        lambda: graphs.random_generator([None, -3], per_row=True),
        "dimensions of 0 or more: got [-3]",
    ),
    (
        lambda: graphs.random_generator([2], rank=2),
        "rank must be None or 1, the length of shape",
    ),
    (
        lambda: uniform(0, 2**31, "i32"),
        "2147483647",
    ),
    (
        lambda: uniform(0.5, 2, "i32"),
        "TypeError: an integer",
    ),
    (
        lambda: uniform("0", 2, "i32"),
        "TypeError: an integer",
    ),
    (
        lambda: uniform(0, 1e39, "f32"),
        "within f32",
    ),
    (
        lambda: uniform(0, 7e4, "f16"),
        "within f16",
    ),
    (lambda: uniform(*BF16_BOUNDS), "TypeError: 'maxval' must be bf16, as output_type says: got"),
    (
        lambda: uniform(0, 1, "f32", op_seed=2**63),
        "op_seed",
    ),
    (
        lambda: uniform(0, 1, "f32", op_seed=1.0),
        "TypeError: op_seed",
    ),
    (
        lambda: uniform(0, math.nan, "f64"),
        "'maxval' must be a finite number: got nan",
    ),
    (lambda: bernoulli([0.5]), "TypeError: a number, or an"),
    (lambda: bernoulli(1.5), "'p' must be from 0 to 1, or at most 4 ulp above 1: got"),
    (
        lambda: bernoulli(None, p_type="f16"),
        "p_type must be one of 'f32', 'f64': got",
    ),
    (
        lambda: graphs.random_bernoulli(
            None,
            np.full(3, 0.5),
            op_seed=1,
            rank=2,
        ),
        "a scalar, 1-D of one element, or the output's shape [?, ?]: got shape [3]",
    ),
    (
        lambda: onnx_philox.to_standard_nodes(graphs.random_generator([3]), target="coreml"),
        "onnx_philox.to_standard_nodes: target must be 'onnxruntime', 'openvino' or 'web': "
        "got 'coreml'.",
    ),
    (
        lambda: onnx_philox.to_standard_nodes(graphs.random_generator([3]), inexact=True),
        "TypeError: onnx_philox.to_standard_nodes: inexact must be 'refuse' or 'allow': got True.",
    ),
    (
        lambda: graphs.random_categorical(logits_type="i32", op_seed=1),
        "logits_type must be one of 'f32', 'f16', 'f64': got 'i32'",
    ),
]


@pytest.mark.parametrize(("build", "words"), REFUSED)
def test_builders_and_to_standard_nodes_refuse_arguments_of_their_own(
    build: Callable[[], Any], words: str
) -> None:
    assert_refused(build, words)


# The runtimes, in a subprocess: it prints what each case raised, and must live to the end.


def test_onnxruntime_refuses_and_lives(ort_backend: str) -> None:
    check_outcomes("onnxruntime", ort_backend, {"InvalidArgument"})


def test_openvino_refuses_and_lives(openvino_backend: str) -> None:
    types = {"RuntimeError", "GeneralFailure", "OpConversionFailure"}
    check_outcomes("openvino", openvino_backend, types)


# The runtime refuses these itself, in its own words.
OWN_WORDS = {
    ("onnxruntime", "state of another type"),
    ("onnxruntime", "shape of another type"),
    ("onnxruntime", "minval of another type"),
    # Its front end makes a rank-0 constant of an initializer without elements.
    ("openvino", "no classes"),
    ("openvino", "no states for two rows"),
}
# Nor can this be seen: a p of rank 0 is a probability for all, and of f64 a p must be constant.
UNSEEN = {("openvino", "p that is empty", True)}
UNSEEN |= {("openvino", f"{what} p of f64 5 ulp above 1", False) for what in ("a", "each")}


def check_outcomes(runtime: str, backend: str, types: set[str]) -> None:
    done = child.forked(bad_calls.__file__, runtime, backend)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    expected = sum(len(kinds_of(backend, i)) for i, _ in enumerate(CASES))
    assert len(outcomes) == expected
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


# An attribute that an operator does not have, wherever a runtime lets it be seen.

OV_BACKENDS = ["native", "python"]
RUNTIMES = ["onnxruntime", *OV_BACKENDS]


def seeded() -> onnx.ModelProto:
    return graphs.random_uniform([3], 0, 1, "f32", global_seed=3)


def with_attribute(model: onnx.ModelProto, name: str, value: object = 7) -> onnx.ModelProto:
    other = copy.deepcopy(model)
    other.graph.node[-1].attribute.append(helper.make_attribute(name, value))
    return other


def refusal(name: str, model: onnx.ModelProto | None = None) -> str:
    """What our session says of that attribute: it sees every name."""
    given = with_attribute(model or seeded(), name)
    with pytest.raises(Exception, match=r"each attribute must be one of .*: got ") as raised:
        onnx_philox.onnxruntime.InferenceSession(given)
    return str(raised.value)


def loader(runtime: str) -> Callable[[onnx.ModelProto], object]:
    return bare_session if runtime == "onnxruntime" else OpenVino(runtime).read


# Those of ONNX's random operators, too.
ATTRIBUTES = {attribute.name for op in OPERATORS.values() for attribute in op.attributes}
ATTRIBUTES |= {"dtype", "high", "low", "mean", "ratio", "scale", "seed"}

MEANT = {
    "global_seed": "globel_seed golbal_seed global__seed globalseed globalSeed",
    "op_seed": "op-seed op_see random_seed sed seed",
    "": "sample_size high",
}


@pytest.mark.parametrize(("meant", "names"), MEANT.items())
def test_our_session_sees_every_name(meant: str, names: str) -> None:
    hint = f"Did you mean {meant}? Rename it, or remove it." if meant else "Remove it."
    rule = "each attribute must be one of output_type, global_seed, op_seed, alignment"
    for name in names.split():
        expected = f"RandomUniform: {rule}: got '{name}'. {hint}"
        assert refusal(name) == expected


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_unknown_attributes_are_refused_whatever_their_value_if_an_operator_has_the_name(
    runtime: str,
) -> None:
    load = loader(runtime)
    for value in ("f32", 2.5, [1, 2], [0.5], ["a"]):
        with pytest.raises(Exception, match=r"each attribute must be one of .*: got 'dtype'"):
            load(with_attribute(seeded(), "dtype", value))
    # A stated limit: a bare runtime shows an operator only the attributes that it asks for.
    load(with_attribute(seeded(), "globel_seed"))


@pytest.mark.parametrize("runtime", RUNTIMES)
@every_operator
def test_every_operator_refuses_those_of_others(operator: str, runtime: str) -> None:
    case = plain(operator)[0]
    model = case.model(
        case.shape(),
        case.inputs(case.shape()),
        constant=True,
    )
    load = loader(runtime)
    load(model)
    own = {attribute.name for attribute in OPERATORS[operator].attributes}
    for name in ATTRIBUTES - own:
        with pytest.raises(Exception, match="each attribute must be one of ") as raised:
            load(with_attribute(model, name))
        assert refusal(name, model) in str(raised.value)


def ir(folder: Path, name: str) -> Path:
    """A model in OpenVINO's own format, with an attribute more."""
    path = save_ir(seeded(), folder / "model.xml")
    text = path.read_text()
    assert text.count('global_seed="3"') == 1
    path.write_text(text.replace('global_seed="3"', f'global_seed="3" {name}="7"'))
    return path


# The native operators see every attribute of an IR.
OF_IRS = [(backend, name) for backend in OV_BACKENDS for name in ("globel_seed", "seed")]
OF_IRS += [("native", n) for n in ("x", "type", "GLOBAL_SEED", "o_p_s_e_e_d", "p" * 250)]


@pytest.mark.parametrize(("backend", "name"), OF_IRS)
def test_an_ir_with_an_unknown_attribute_is_refused(
    backend: str, name: str, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="RandomUniform: each attribute") as raised:
        OpenVino(backend).read(ir(tmp_path, name))
    # In C++, nobody looks for the nearest name of one that it does not know.
    said = refusal(name)
    if backend == "native" and name != "seed":
        said = said.split(". ")[0]
    assert said in str(raised.value)


@pytest.mark.parametrize("backend", OV_BACKENDS)
def test_what_the_operators_write_into_an_ir_themselves_is_read(
    backend: str, tmp_path: Path
) -> None:
    path = save_ir(seeded(), tmp_path / "model.xml")
    assert "const_minval" in path.read_text()
    infer(compiled(path, backend=backend))


DOORS_OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "generate": lambda p: generate(
        PhiloxState(0, 1),
        out=np.zeros(4, bool),
        p=p,
    ),
    "generate of an operator": lambda scale: generate(
        PhiloxState(0, 1), out=np.zeros(4, "f4"), operator="RandomExponential", scale=scale
    ),
    "reference": lambda p: reference.random_bernoulli([4], p, global_seed=1),
    "reference, of the output's type": lambda mean: reference.random_normal(
        [4], mean, 1.0, "f32", global_seed=1
    ),
    "builder": lambda bound: graphs.random_uniform([4], 0.0, bound, "f32", op_seed=1),
    "factory": lambda rate: openvino.random_poisson([4], rate, "i32", op_seed=1),
}


@pytest.mark.parametrize("text", ["0.5", b"0.5", bytearray(b"0.5")])
@pytest.mark.parametrize("door", DOORS_OF_NUMBERS)
def test_a_text_is_no_number_even_where_float_reads_one(door: str, text: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a number.*: got .*0\.5"):
        DOORS_OF_NUMBERS[door](text)
