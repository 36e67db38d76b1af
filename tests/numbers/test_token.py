"""RandomToken: its rule against a plain oracle, its edges, rows, and the runtimes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import onnx_philox
from onnx_philox import graphs, reference, row_states
from tests.common.cases import assert_same_bits
from tests.common.operators import by_core, native
from tests.common.runtimes import bare_session, compiled, infer
from tests.numbers.test_distributions_bits import state_before

F32 = np.float32
RNG = np.random.default_rng(29)
TYPES = (np.float16, ml_dtypes.bfloat16, np.float32)


def oracle(
    row: np.ndarray,
    u: float,
    given: dict[str, float],
) -> int:
    """A sampler in plain NumPy: np.exp and a stable sort."""
    temperature = given.get("temperature", 1)
    if temperature == 0:
        return int(row.argmax())
    with np.errstate(all="ignore"):
        weights = np.exp((row - row.max()) / temperature)
    order = np.argsort(-weights, kind="stable")
    if 0 < given.get("top_k", 0) < row.size:
        order = order[: int(given["top_k"])]
    if given.get("top_p", 1) < 1:
        sums = np.cumsum(weights[order])
        below = sums < given["top_p"] * sums[-1]
        order = order[: 1 + int(below.sum())]
    is_kept = weights[order] >= given.get("min_p", 0)
    kept = np.sort(order[is_kept])
    sums = np.cumsum(weights[kept])
    return int(kept[(sums <= u * sums[-1]).sum()])


def random_filters(rows: int, classes: int) -> dict[str, np.ndarray]:
    """Numbers for each row; now and then a filter is left out, or one number for all."""
    temperatures = RNG.choice([0, 0.1, 0.7, 1, 1.3, 5], rows)
    counts = RNG.choice([0, 1, 2, 3, 5, classes - 1, classes, 2**40], rows)
    shares = RNG.choice([1, 0.95, 0.8, 0.5, 0.3, 1e-6], rows)
    least = RNG.choice([0, 1e-3, 0.05, 0.4, 1], rows)
    filters = {
        "temperature": temperatures.astype(F32),
        "top_k": counts,
        "top_p": shares.astype(F32),
        "min_p": least.astype(F32),
    }
    return {
        name: given[:1] if RNG.random() < 0.1 else given
        for name, given in filters.items()
        if RNG.random() < 0.7
    }


def of_row(
    filters: dict[str, np.ndarray],
    row: int,
) -> dict[str, float]:
    return {k: v[row if v.size > 1 else 0].item() for k, v in filters.items()}


def fast(logits: np.ndarray, state: np.ndarray, **filters: Any) -> np.ndarray:
    filters_of_all = {k: np.asarray(v) for k, v in filters.items()}
    inputs = filters_of_all | {"logits": logits, "state": state}
    return by_core("RandomToken", inputs)[0]


@native
@pytest.mark.parametrize(
    "trials",
    [
        range(20),
        pytest.param(
            range(20, 100),
            marks=pytest.mark.exhaustive,
        ),
    ],
    ids=str,
)
def test_rows_of_random_settings_are_those_of_a_plain_oracle(trials: range) -> None:
    wrong = []
    for trial in trials:
        rows = 1000
        classes = int(RNG.integers(2, 24))
        normal = RNG.normal(0, 2, (rows, classes))
        logits = normal.astype(TYPES[trial % 3])
        if trial % 4 == 0:
            rounded = np.round(logits.astype(F32))
            logits = rounded.astype(logits.dtype)
        if trial % 5 == 0:
            logits[:, classes // 2] = -np.inf
        filters = random_filters(rows, classes)
        states = row_states(trial, range(rows))
        tokens = fast(logits, states, **filters)
        u, _ = reference.random_uniform([rows, 1], 0, 1, "f64", state=states)
        wide = logits.astype(np.float64)
        wrong += [
            (trial, row)
            for row in range(rows)
            if oracle(
                wide[row],
                u[row, 0],
                of_row(filters, row),
            )
            != tokens[row, 0]
        ]
    assert wrong == []


@native
@pytest.mark.parametrize("classes", [1, 9, 1024, 1025, 3001])
def test_the_core_has_the_bits_of_numpy(classes: int) -> None:
    for type_ in TYPES:
        rows = 12
        normal = RNG.normal(0, 1, (rows, classes))
        scale = RNG.choice([1e-3, 1, 9])
        logits = (normal * scale).astype(type_)
        filters = random_filters(rows, classes)
        states = row_states(classes, range(rows))
        expected = reference.random_token(logits, **filters, state=states)[0]
        assert (fast(logits, states, **filters) == expected).all()


@native
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_sums_on_the_very_threshold_are_made_in_the_contract_s_order(share: float) -> None:
    # Of equal weights the running sum is top_p * the last one exactly, at a class that is kept: no
    # bound of sums in another order could tell.
    logits = np.zeros((16, 5000), F32)
    states = row_states(3, range(16))
    tokens = fast(logits, states, top_p=F32(share))
    assert tokens.max() < 5000 * share
    u, _ = reference.random_uniform([16, 1], 0, 1, "f64", state=states)
    expected = np.floor(u * 5000 * share)
    assert (tokens == expected).all()


@native
def test_a_class_is_kept_that_a_sum_without_rounding_would_leave_out() -> None:
    rare = [0.9998e-4] * 5000
    row = np.log([1, 0.25, 0.25, *rare]).astype(F32)
    for _ in range(2):
        total = np.exp(row, dtype=np.float64)
        lacks = 2 - 5e-14 - total.sum(dtype=np.longdouble)
        logarithm = F32(np.log(lacks))
        below = np.nextafter(logarithm, F32(-np.inf))
        row = np.append(row, below)
    tokens = fast(
        np.tile(row, (32, 1)),
        row_states(3, range(32)),
        top_p=F32(0.5),
    )
    assert set(tokens.flat) == {0, 1}


def test_filters_that_remove_nothing_are_no_filters() -> None:
    numbers = RNG.normal(0, 2, (50, 11))
    logits = numbers.astype(F32)
    plain = reference.random_token(logits, global_seed=4)[0]
    for filters in (
        {"temperature": 1},
        {"top_k": 0},
        {"top_k": 11},
        {"top_k": 2**62},
        {"top_p": 1},
        {"min_p": 0},
        {"temperature": np.empty(0, F32), "top_k": np.empty(0, np.int64)},
    ):
        tokens = reference.random_token(logits, **filters, global_seed=4)
        assert (tokens[0] == plain).all()
    classes = reference.random_categorical(logits, 1, "i64", global_seed=4)
    assert (classes[0] == plain).all()
    # Without top_p, top_k alone removes a class, be the others' sum the same without the first.
    least = state_before((0,) * 4).to_array()
    assert reference.random_token(F32([[-50, 0, -60]]), top_k=2, state=least)[0] == [[0]]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("logits", "Remove it: it is always a graph input."), ("heat", "Remove it.")],
)
def test_a_name_that_is_no_input_to_leave_out_is_refused(name: str, remedy: str) -> None:
    with pytest.raises(
        ValueError, match="inputs must be names of inputs that may be left out, "
    ) as e:
        onnx_philox.graphs.random_token(inputs=[name])
    assert str(e.value).endswith(f"got {name!r}. {remedy}")


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("number", [F32(0.7), np.array(0.7, F32)])
def test_a_scalar_is_one_number_for_all_rows_in_both_runtimes(backend: str, number: Any) -> None:
    """Also where the model's input is 1-D, which ONNX Runtime itself refuses."""
    logits = RNG.normal(size=(6, 9)).astype(F32)
    state = row_states(11, range(6))
    k = np.array(3)
    expected, _ = reference.random_token(logits, number, k, state=state)
    model = graphs.random_token(inputs=["temperature", "top_k"], per_row=True)
    session = onnx_philox.onnxruntime.InferenceSession(model, backend=backend)
    feed = {"logits": logits, "temperature": number, "top_k": k}
    outputs = session.run(None, {**feed, "state": state})
    results = [outputs[0]]
    for pipe in (
        onnx_philox.Pipeline(session, source=model),
        onnx_philox.Pipeline(bare_session(model), source=model),
        onnx_philox.Pipeline(model, runtime="openvino", backend=backend),
    ):
        results += [
            pipe(feed, seed=11)["token"],
            pipe({**feed, "temperature": 0.7}, seed=11)["token"],
        ]
    for tokens in results:
        assert (tokens == expected).all()
    fixed = graphs.random_token(logits, inputs=["temperature"], per_row=True)
    type_ = fixed.graph.input[0].type.tensor_type
    type_.shape.dim[0].dim_value = 6
    with pytest.raises((ValueError, RuntimeError), match=r"temperature.* must be of shape \[6\]"):
        onnx_philox.Pipeline(fixed)({"temperature": number}, state=state)


@pytest.mark.parametrize("backend", list(onnx_philox.openvino.BACKENDS))
@pytest.mark.parametrize("per_row", [False, True])
def test_a_top_k_of_a_model_input_arrives_whole_in_openvino(backend: str, per_row: bool) -> None:
    """Its low 32 bits mean a greedy choice, a refusal or no filter at all."""
    numbers = np.linspace(0, 1, 10)
    logits = numbers.astype(F32).reshape(2, 5)
    states = row_states(3, range(2)) if per_row else row_states(3, [0])[0]
    model = graphs.random_token(logits, inputs=["top_k"], stateful=True, per_row=per_row)
    loaded = compiled(model, backend=backend)
    wide = (2**32 + 1, 2**31 + 1, 2**31, 2**32, 2**62 + 2)
    for k in wide:
        forms = (np.array(k), np.array([k, 2]))
        for given in forms:
            expected = reference.random_token(logits, top_k=given, state=states)
            found = infer(loaded, {"top_k": given, "state": states})
            for index, wanted in enumerate(expected):
                assert_same_bits(found[index], wanted)
    wrapped = np.array(1 - 2**32)
    with pytest.raises(RuntimeError, match="input 'top_k' must be 0 or above: got -4294967295"):
        infer(loaded, {"top_k": wrapped, "state": states})
