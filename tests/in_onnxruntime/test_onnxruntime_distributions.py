"""RandomNormal, RandomBernoulli and RandomCategorical in ONNX Runtime: the bits of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common.bad_calls import INPUTS
from tests.common.bad_words import MORE_BAD_CALLS, bad_model, words_of_the_reference
from tests.common.cases import SEED, assert_same_bits, parse
from tests.in_onnxruntime.test_onnxruntime import by_binding, run_text

STATE = PhiloxState(2**64 - 2, 2**64 - 12345).to_array()
InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument
NotImplementedByOrt = ort.capi.onnxruntime_pybind11_state.NotImplemented


def logits_of(rows: int, classes: int, dtype: Any = np.float32) -> np.ndarray:
    """Logits of all sizes, with classes that are never drawn."""
    random = np.random.default_rng(1)
    logits = random.normal(size=(rows, classes)) * random.choice([0.1, 3, 100], (rows, 1))
    is_never_drawn = random.random((rows, classes)) < 0.1
    logits[is_never_drawn] = -np.inf
    logits[:, 0] = np.maximum(logits[:, 0], -5)
    return logits.astype(dtype)


def run(
    model: onnx.ModelProto,
    backend: str,
    **feeds: Any,
) -> list[np.ndarray]:
    return InferenceSession(model, backend=backend).run(None, feeds)


def test_a_refused_run_writes_nothing(ort_backend: str) -> None:
    logits = logits_of(30, 7)
    logits[29, 3] = np.nan
    model = graphs.random_categorical(None, 5, stateful=True)
    session = InferenceSession(model, backend=ort_backend)
    with pytest.raises(InvalidArgument, match=r"input 'logits' must be .*: got nan in row 29"):
        by_binding(
            session,
            {"logits": logits, "state": STATE},
            (30, 5),
            np.int32,
        )


def test_types_that_only_the_nodes_before_tell_are_seen(ort_backend: str) -> None:
    """p comes from RandomUniform and logits from RandomNormal; no type is declared."""
    text = """g (uint32[6] state) => (bool[9] drawn, int64[3, 2] classes) <
            int64[1] nine = {9}, int64[2] shape = {3, 5}, double lo = {0.0}, double hi = {1.0},
            float mean = {0.0}, float scale = {2.0}> {
        u, s1 = onnx_philox.RandomUniform <output_type = "f64"> (nine, lo, hi, state)
        p = Mul (u, u)
        drawn, s2 = onnx_philox.RandomBernoulli (nine, p, s1)
        z, s3 = onnx_philox.RandomNormal <output_type = "f32"> (shape, mean, scale, s2)
        half = Cast <to = 10> (z)
        logits = Neg (half)
        wide, s4 = onnx_philox.RandomCategorical <sample_size = 2, output_type = "i64">
            (logits, s3)
        classes = Neg (wide)
    }"""
    drawn, classes = run_text(parse(text), ort_backend, state=STATE)
    u, state = reference.random_uniform([9], 0, 1, "f64", state=STATE)
    wanted, state = reference.random_bernoulli([9], u * u, state=state)
    assert_same_bits(drawn, wanted)
    z, state = reference.random_normal([3, 5], 0, 2, "f32", state=state)
    wanted, _ = reference.random_categorical(-z.astype(np.float16), 2, "i64", state=state)
    assert_same_bits(-classes, wanted)


def test_logits_of_a_rank_that_is_not_known_before_the_run(ort_backend: str) -> None:
    text = """g (float[N] x, int64[K] shape, uint32[6] state) => (int32[?, ?] y) {
        logits = Reshape (x, shape)
        i = onnx_philox.RandomCategorical <sample_size = 3> (logits, state)
        y = Neg (i)
    }"""
    x = np.linspace(-1, 1, 12, dtype=np.float32)
    for shape in ([3, 4], [6, 2]):
        (y,) = run_text(
            parse(text),
            ort_backend,
            x=x,
            shape=np.array(shape),
            state=STATE,
        )
        expected = reference.random_categorical(x.reshape(shape), 3, state=STATE)[0]
        assert_same_bits(-y, expected)
    with pytest.raises(InvalidArgument, match=r"'logits' must be 2-D.*: got shape \[12\]"):
        run_text(
            parse(text),
            ort_backend,
            x=x,
            shape=np.array([12]),
            state=STATE,
        )


def test_the_types_inside_a_loop_are_inferred(ort_backend: str) -> None:
    """The body computes logits of a type that the model does not declare."""
    text = """g (int64 n, int64[6] state, double[2, 4] x) => (int64[?, 2, 1] tokens) <
            double factor = {1.5}> {
        yes = Constant <value = bool {1}> ()
        last, tokens = Loop (n, yes, state) <
            body = l (int64 i, bool k, int64[6] s) => (bool k2, int64[6] s2, int64[2, 1] token) {
                k2 = Identity (k)
                before = Cast <to = 12> (s)
                logits = Mul (x, factor)
                token, after =
                    onnx_philox.RandomCategorical <output_type = "i64"> (logits, before)
                s2 = Cast <to = 7> (after)
            }
        >
    }"""
    x = logits_of(2, 4, np.float64)
    (tokens,) = run_text(
        parse(text),
        ort_backend,
        n=np.array(3),
        state=STATE.astype(np.int64),
        x=x,
    )
    rows = []
    state = STATE
    for _ in range(3):
        row, state = reference.random_categorical(x * 1.5, 1, "i64", state=state)
        rows.append(row)
    assert_same_bits(tokens, np.stack(rows))


def test_a_state_may_be_left_out_by_an_empty_name(ort_backend: str) -> None:
    """ONNX Runtime before 1.24 would end the process if it saw this."""
    logits = logits_of(3, 4)
    model = graphs.random_categorical(logits, **SEED)
    model.graph.node[0].input.append("")
    (values,) = run(model, ort_backend)
    assert_same_bits(values, reference.random_categorical(logits, **SEED)[0])


def test_a_type_that_the_model_does_not_tell_is_refused_by_python_ops() -> None:
    text = """g (uint32[6] state, float[3] x) => (bool[3] y) <int64[1] shape = {3}> {
        p = some.where.Else (x)
        y = onnx_philox.RandomBernoulli (shape, p, state)
    }"""
    said = r"'p' must be f32 or f64, known .*: got a type that"
    with pytest.raises(NotImplementedByOrt, match=said):
        InferenceSession(parse(text, **{"some.where": 1}), backend="python")


@pytest.mark.parametrize("number", range(len(MORE_BAD_CALLS)))
@pytest.mark.parametrize("constant", [True, False])
def test_bad_input_is_refused_in_the_words_of_the_reference(
    ort_backend: str, number: int, constant: bool
) -> None:
    operator, call = MORE_BAD_CALLS[number]
    if (ort_backend, call.get("output_type")) in {("python", "f16"), ("python", "bf16")}:
        pytest.skip("Python ops refuse the type first")
    words = words_of_the_reference(operator, call)
    feeds = {} if constant else {n: np.asarray(call[n]) for n in INPUTS[operator] if n in call}
    with pytest.raises(InvalidArgument) as raised:
        run(bad_model(operator, call, constant=constant), ort_backend, **feeds)
    if "bytes of memory" in words:
        # Free memory is another at every look, and Python ops need it twice.
        words = words.partition(" bytes of memory")[0].rpartition(" ")[0]
    assert words in str(raised.value)
