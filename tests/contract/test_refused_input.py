"""One kind of exception for refused input, in both runtimes and from every kind of run."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from onnx_philox import PhiloxState, Pipeline, RefusedInputError, make_reproducible, row_states
from onnx_philox.onnxruntime import BACKENDS, InferenceSession, RefusalText
from tests.common.foreign import parse
from tests.common.runtimes import bare_session, compiled

BERNOULLI = parse("g (float[N, 3] p) => (float[N, 3] y) { y = Bernoulli (p) }", ir_version=9)
MODEL = make_reproducible(BERNOULLI)
GOOD = {
    "p": np.full(
        (2, 3),
        0.5,
        np.float32,
    )
}
STATE = {"random_state": PhiloxState(0, 1).to_array()}
NODE_SAYS = (
    "RandomBernoulli: input 'p' must be from 0 to 1, or at most 4 ulp above 1: got 2.0 at [0, 0]. "
    "Pass probabilities."
)
# A feed, the sentence after the name of who refuses, and whether the type of an array is wrong.
SHAPE = "the input 'p' must be of shape [N, 3]: got shape"
WRONG: dict[str, tuple[dict[str, Any], str, bool]] = {
    "type": (
        {"p": np.ones((2, 3))},
        "the input 'p' must be float32: got float64. Pass an array",
        True,
    ),
    "rank": (
        {"p": np.ones(3, np.float32)},
        f"{SHAPE} [3]. Pass an array",
        False,
    ),
    "shape": (
        {"p": np.ones((2, 4), np.float32)},
        f"{SHAPE} [2, 4]. Pass an array",
        False,
    ),
    "missing": ({}, "the input 'p' must be in the feed: got nothing. Pass an array", False),
    "unknown": (
        {**GOOD, "q": GOOD["p"]},
        "each input must be one of p",
        False,
    ),
}
RUNS = ["run", "run_with_ort_values", "run_with_iobinding", "run_async"]
OWNER = "onnx_philox.onnxruntime"
QUIET = ort.SessionOptions()
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 2  # run_async needs more than one


@pytest.fixture(scope="module", params=list(BACKENDS))
def session(request: pytest.FixtureRequest) -> InferenceSession:
    return InferenceSession(MODEL, QUIET, backend=request.param)


def run(
    session: ort.InferenceSession,
    how: str,
    feed: dict[str, Any],
) -> None:
    """Runs a session, and raises what it refuses."""
    if how == "run":
        session.run(None, feed)
    elif how == "run_with_ort_values":
        values = {n: ort.OrtValue.ortvalue_from_numpy(array) for n, array in feed.items()}
        session.run_with_ort_values(["y"], values)
    elif how == "run_with_iobinding":
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
    else:
        ended = threading.Event()
        texts = []

        def callback(_results: Any, _data: Any, error: str) -> None:
            texts.append(error)
            ended.set()

        session.run_async(None, feed, callback, None)
        assert ended.wait(30)
        if texts[0]:
            assert isinstance(texts[0], RefusalText)
            assert texts[0] == str(texts[0].error)
            raise texts[0].error


@pytest.mark.parametrize("how", RUNS)
def test_every_kind_of_run_raises_what_a_node_refuses(session: InferenceSession, how: str) -> None:
    run(session, how, {**STATE, **GOOD})
    with pytest.raises(RefusedInputError) as raised:
        run(session, how, {**STATE, "p": GOOD["p"] * 4})
    assert isinstance(raised.value, InvalidArgument)
    assert not isinstance(raised.value, TypeError)
    assert str(raised.value) == NODE_SAYS
    run(session, how, {**STATE, **GOOD})


@pytest.mark.parametrize("how", RUNS)
@pytest.mark.parametrize("what", WRONG)
def test_every_kind_of_run_refuses_a_feed_in_our_words(
    session: InferenceSession, how: str, what: str
) -> None:
    feed, says, is_type = WRONG[what]
    with pytest.raises(RefusedInputError) as raised:
        run(session, how, {**STATE, **feed})
    assert isinstance(raised.value, InvalidArgument)
    assert isinstance(raised.value, TypeError) is is_type
    # What users catch: ONNX Runtime raises RuntimeErrors of bound memory.
    assert how != "run_with_iobinding" or isinstance(raised.value, RuntimeError)
    assert str(raised.value).startswith(f"{OWNER}: {says}")


# Pipelines in each backend and of the runtimes' own classes, and what a node's refusal is.
OPENERS: dict[str, tuple[Callable[[], Pipeline], type[Exception]]] = {
    f"{runtime} {backend}": (partial(Pipeline, MODEL, runtime=runtime, backend=backend), kind)
    for runtime, kind in (("onnxruntime", InvalidArgument), ("openvino", RuntimeError))
    for backend in BACKENDS
} | {
    "a session": (
        lambda: Pipeline(bare_session(MODEL)),
        InvalidArgument,
    ),
    "a compiled model": (
        lambda: Pipeline(compiled(MODEL), source=MODEL),
        RuntimeError,
    ),
}


@pytest.mark.parametrize("opener", OPENERS)
def test_a_pipeline_raises_one_kind_in_every_runtime(opener: str) -> None:
    opened, kind = OPENERS[opener]
    pipe = opened()
    with pytest.raises(RefusedInputError) as raised:
        pipe({"p": GOOD["p"] * 4}, seed=1)
    # It goes to another process.
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert type(error) is type(raised.value)
        assert isinstance(error, kind)
        assert str(error) == NODE_SAYS
    for feed, says, is_type in WRONG.values():
        with pytest.raises(RefusedInputError) as raised:
            pipe(feed, seed=1)
        assert isinstance(raised.value, TypeError) is is_type
        assert str(raised.value).startswith(f"Pipeline: {says}")
    for seed in (-1, "one"):
        with pytest.raises(RefusedInputError, match="must be an integer from 0 to"):
            pipe(GOOD, seed=seed)


def test_a_pipeline_raises_refused_input_of_bound_memory() -> None:
    for session in (bare_session(MODEL), InferenceSession(MODEL, QUIET)):
        binding = session.io_binding()
        binding.bind_cpu_input("p", GOOD["p"] * 4)
        binding.bind_output("y")
        with pytest.raises(RefusedInputError) as raised:
            Pipeline(session)(binding, seed=1)
        assert str(raised.value) == NODE_SAYS
        assert isinstance(raised.value, RuntimeError)


def test_states_of_another_batch_are_refused_input() -> None:
    rows = make_reproducible(BERNOULLI, per_row=True)
    feed = {**GOOD, "random_state": row_states(7, [0])}
    session = InferenceSession(rows, QUIET)
    with pytest.raises(RefusedInputError, match="must_have_one_row_for_each_row_of_p: "):
        session.run(None, feed)


def test_what_a_node_of_onnx_refuses_is_of_the_feed_but_for_a_lack_of_memory() -> None:
    """A server answers the first with an error of the client's, the other with one of its own."""
    model = parse("""g (float[N, 3] p, int64[2] shape) => (float[K, L] y) {
        b = Bernoulli (p) y = Reshape (b, shape) }""")
    feed = {**GOOD, "shape": np.array([4, 4])}
    for runtime in ("onnxruntime", "openvino"):
        with pytest.raises(RefusedInputError, match=f"got one that {runtime} refuses .*eshape"):
            Pipeline(model, runtime=runtime)(feed, seed=1)
    large = parse("""g (float[1, 1] p, int64[2] shape) => (float[K, L] y) {
        b = RandomNormalLike (p) y = Expand (b, shape) }""")
    pipe = Pipeline(large)
    feed = {"p": np.zeros((1, 1), np.float32), "shape": np.array([2**22, 2**22])}
    with pytest.raises(Exception, match="Failed to allocate memory") as raised:
        pipe(feed, seed=1)
    assert not isinstance(raised.value, RefusedInputError)
