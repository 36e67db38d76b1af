"""Where a call or request begins: seeds that go back in, states, and what the next state is."""

from __future__ import annotations

import asyncio
import copy
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import assert_same_bits, each_raises
from onnx import parser
from runtimes import bare_session

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, TorchState, diffusers, make_reproducible, row_states

RUNTIMES = ("onnxruntime", "openvino")
ALIGNMENTS = ("tensorflow", "pytorch")
NOISE = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 4, 8] x) => (float[n, 4, 8] y) { a = RandomNormalLike (x)  y = Add (x, a) }""")


def batch(rows: int) -> dict[str, np.ndarray]:
    return {"x": np.zeros((rows, 4, 8), np.float32)}


@pytest.fixture(scope="module", params=ALIGNMENTS)
def pipe(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, alignment=request.param)


@pytest.fixture(scope="module", params=ALIGNMENTS)
def rows(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, per_row=True, alignment=request.param)


def test_the_seed_of_any_answer_goes_back_in(pipe: Pipeline, rows: Pipeline) -> None:
    for answer in (pipe(batch(2)), asyncio.run(pipe.acall(batch(2))), pipe.request()(batch(2))):
        assert isinstance(answer.seed, int)
        assert_same_bits(pipe(batch(2), seed=answer.seed)["y"], answer["y"])
    for answer in (rows(batch(3)), rows.request(rows=3)(batch(3)), rows(batch(3), seeds=[3, 1, 2])):
        assert isinstance(answer.seed, tuple)
        assert len(set(answer.seed)) == 3
        assert_same_bits(rows(batch(3), seeds=answer.seed)["y"], answer["y"])
        for row, seed in enumerate(answer.seed):
            alone = rows(batch(1), seeds=[seed])
            assert_same_bits(alone["y"][0], answer["y"][row])
            assert alone.seed == (seed,)


def test_a_seed_that_was_given_stays_what_it_was() -> None:
    rows = Pipeline(NOISE, per_row=True)
    for answer in (rows(batch(3), seed=9), rows.request(seed=9, rows=3)(batch(3))):
        assert answer.seed == 9
        assert_same_bits(rows(batch(3), seed=answer.seed)["y"], answer["y"])


def test_seeds_of_the_operating_system_fit_a_signed_column(monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest that it can give.
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    monkeypatch.setattr("secrets.token_bytes", lambda count: b"\xff" * count)
    one, rows = Pipeline(NOISE), Pipeline(NOISE, per_row=True)
    assert one(batch(1)).seed == one.request().seed == 2**63 - 1
    assert rows(batch(2)).seed == rows.request(rows=2).seed == (2**63 - 1, 2**63 - 1)
    torch_s = Pipeline(NOISE, per_row=True, alignment="pytorch")
    assert torch_s(batch(2)).seed == (2**32 - 1, 2**32 - 1)


def test_an_unseeded_call_of_no_rows_has_no_seeds(rows: Pipeline) -> None:
    answer = rows(batch(0))
    assert (answer.seed, answer["y"].shape) == ((), (0, 4, 8))
    assert rows(batch(0), seeds=answer.seed).seed == ()


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("per_row", [False, True])
def test_a_request_goes_on_from_the_next_state_of_any_answer(
    runtime: str, alignment: str, per_row: bool
) -> None:
    pipe = Pipeline(NOISE, runtime=runtime, alignment=alignment, per_row=per_row)
    begun: dict[str, Any] = {"seeds": [5, 6]} if per_row else {"seed": 5}
    request = pipe.request(**begun)
    expected = [request(batch(2)) for _ in range(3)]
    answer = pipe(batch(2), **begun)
    assert_same_bits(answer.next_state, expected[1].state)
    follow = pipe.request(state=answer.next_state)
    assert (follow.seed, follow.runs) == (None, 0)
    for run in expected[1:]:
        assert_same_bits(follow(batch(2))["y"], run["y"])
    assert_same_bits(follow.state, expected[-1].next_state)
    # The next state of a call is a state of a call.
    assert_same_bits(pipe(batch(2), state=answer.next_state)["y"], expected[1]["y"])
    resumed = pipe.request(resume=follow.checkpoint())
    assert_same_bits(resumed(batch(2))["y"], request(batch(2))["y"])


def test_a_request_takes_states_in_every_form() -> None:
    words = PhiloxState.for_run(7, 2)
    expected = Pipeline(NOISE)(batch(2), state=words)["y"]
    pipe = Pipeline(NOISE)
    for state in (words, words.to_array(), words.to_array().tolist(), words.to_array()[np.newaxis]):
        assert_same_bits(pipe.request(state=state)(batch(2))["y"], expected)
        assert_same_bits(pipe(batch(2), state=state)["y"], expected)
    torch_s = TorchState.from_seed(7)
    pipe = Pipeline(NOISE, alignment="pytorch")
    expected = pipe(batch(2), seed=7)["y"]
    for given in (torch_s, torch_s.to_array(), torch_s.to_array().tolist()):
        assert_same_bits(pipe.request(state=given)(batch(2))["y"], expected)
    for alignment, states in (
        ("tensorflow", row_states([7, 8])),
        ("pytorch", np.array([TorchState.from_seed(seed).to_array() for seed in (7, 8)])),
    ):
        rows = Pipeline(NOISE, per_row=True, alignment=alignment)
        expected = rows(batch(2), seeds=[7, 8])
        for given in (states, states.tolist(), expected.states):
            assert_same_bits(rows.request(state=given)(batch(2))["y"], expected["y"])


def test_noise_drawn_before_and_the_model_s_own_are_one_generator_of_torch_s() -> None:
    pipe = Pipeline(NOISE, alignment="pytorch")
    generator = diffusers.generator(42, like="torch")
    x = expected = generator.randn(1, 4, 8)
    request = pipe.request(state=generator.state)
    for _ in range(3):
        x = request({"x": x})["y"]
        expected = expected + generator.randn(1, 4, 8)
        assert_same_bits(x, expected)
    assert_same_bits(request.state, generator.state)


def test_the_state_that_a_request_was_given_may_be_written_to_afterwards() -> None:
    pipe = Pipeline(NOISE)
    state = PhiloxState.for_run(3).to_array()
    request = pipe.request(state=state)
    state[:] = 9
    result = request(batch(1))
    assert_same_bits(result["y"], pipe(batch(1), seed=3)["y"])
    result.next_state[:] = 9
    assert_same_bits(request.state, PhiloxState.for_run(3, 1).to_array())


def test_a_copied_or_pickled_result_keeps_its_next_state() -> None:
    result = Pipeline(NOISE)(batch(1), seed=4)
    pickled = pickle.loads(pickle.dumps(result))
    for made in (result.copy(), result | {"more": 1}, copy.copy(result), pickled):
        assert_same_bits(made.next_state, PhiloxState.for_run(4, 1).to_array())


def test_the_results_of_map_say_where_they_end() -> None:
    rows = Pipeline(NOISE, per_row=True)
    for result in rows.map([batch(2), batch(1)], seed=3):
        assert_same_bits(result.next_state[:, 3], np.ones(len(result["y"]), np.uint32))


WRONG = [
    *each_raises(
        ValueError,
        (
            lambda p: p.one.request(seed=1, rows=7),
            "request: the model must be one with a state for each row, to be run with rows: got "
            "one with a single",
        ),
        (lambda p: p.one.request(rows=7), "to be run with rows"),
        (
            lambda p: p.rows.request(seeds=[1], rows=7),
            "rows must be given without seeds, which are one for each row: got both. Leave rows",
        ),
        (
            lambda p: p.one.request(state=[0] * 6, seed=1),
            "state must be given alone: got seed beside it. Leave the others out",
        ),
        (
            lambda p: p.rows.request(state=row_states([1]), rows=1),
            "state must be given alone: got rows beside it",
        ),
        (
            lambda p: p.one.request(state=[0] * 6, resume={}),
            "resume must be given alone: got state beside it",
        ),
        (
            lambda p: p.one.request(state=TorchState.from_seed(1)),
            "request: state must be six words of 32 bits: got TorchState",
        ),
        (
            lambda p: p.rows.request(state=PhiloxState(0, 1)),
            "request: state must be words of 32 bits, six for each row: got PhiloxState",
        ),
        (
            lambda p: p.one.request(state=[True, 0, 0, 0, 0, 0]),
            r"state must be six words of 32 bits: got \[True",
        ),
    ),
    *(
        (
            call,
            TypeError,
            rf"{name} must be an integer from 0 to .*: got (np\.)?True_?\. Pass an int",
        )
        for name, call in (
            ("seed", lambda p: p.one(batch(1), seed=True)),
            ("seed", lambda p: p.rows(batch(1), seed=True)),
            ("seed", lambda p: p.one.request(seed=True)),
            (r"seeds\[1\]", lambda p: p.rows(batch(2), seeds=[1, True])),
            (r"seeds\[0\]", lambda p: p.rows(batch(1), seeds=np.array([True]))),
            ("rows", lambda p: p.rows.request(seed=1, rows=True)),
            ("first_row", lambda p: p.rows.map([], seed=1, first_row=True)),
            ("run", lambda p: p.rows.map([], seed=1, run=True)),
        )
    ),
    *each_raises(
        TypeError,
        (lambda p: p.rows(batch(2), seed=[1, 2]), r"single integer: got \[1, 2\]\. Pass seeds="),
        (lambda p: p.one(batch(2), seed=(1, 2)), r"single integer: got \(1, 2\)\. Pass seeds="),
        (
            lambda p: p.rows(batch(2), seeds="ab"),
            r"seeds must be an integer from 0 to 2\^64-1, or a list of such integers: got 'ab'",
        ),
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_what_would_be_dropped_or_miscounted_is_refused(
    call: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(SimpleNamespace(one=Pipeline(NOISE), rows=Pipeline(NOISE, per_row=True)))


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ([[1], [2, 3]], r"seeds\[0\] must be an integer.*: got \[1\]"),
        ([1, 2.0], r"seeds\[1\] must be an integer.*: got 2\.0"),
        ([1, True], r"seeds\[1\] must be an integer.*: got True"),
        ([1, -1], r"seeds\[1\] must be .*: got -1\. torch takes it for 18446744073709551615"),
        (np.array([1, -1]), r"seeds\[1\] must be .*: got -1\. torch takes it for"),
        ("ab", "seeds must be an integer.*, or a list of such integers: got 'ab'"),
    ],
)
def test_seeds_of_torch_s_generators_are_checked_alike(seeds: Any, words: str) -> None:
    rows = Pipeline(NOISE, per_row=True, alignment="pytorch")
    with pytest.raises((TypeError, ValueError), match=f"^Pipeline: {words}"):
        rows(batch(2), seeds=seeds)
    assert rows(batch(2), seeds=[2**64 - 1, 1]).seed == (2**64 - 1, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PhiloxState(0, True),
        lambda: PhiloxState.for_run(1, run=True),
        lambda: PhiloxState.from_seed(True),
        lambda: TorchState.from_seed(True),
        lambda: diffusers.generator(True),
        lambda: diffusers.generator([1, True]),
        lambda: diffusers.generator(True, like="torch"),
        lambda: diffusers.latents([True], (4,)),
        lambda: diffusers.generator(1, like="torch_cuda", gpu=(True, 5)),
        lambda: onnx_philox.torch_noise(True, [4]),
        lambda: onnx_philox.torch_cuda_states(1, 0, True),
    ],
)
def test_true_is_no_number(call: Any) -> None:
    with pytest.raises(TypeError, match=r"must be an integer .*: got True"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: diffusers.latents([1], (True, 4)),
        lambda: diffusers.latents([1], 4),  # type: ignore[arg-type]
        lambda: diffusers.generator(1).randn(True, 3),
        lambda: diffusers.generator(1, like="torch").randn(np.True_, 3),  # type: ignore[arg-type]
        lambda: onnx_philox.torch_noise(1, [True, 3]),
        lambda: onnx_philox.reference.random_uniform([True, 2], 0, 1, "f32", global_seed=1),
        lambda: onnx_philox.graphs.random_uniform([True, 2], 0, 1, "f32", global_seed=1),
    ],
)
def test_true_is_no_dimension(call: Any) -> None:
    with pytest.raises(TypeError, match="input 'shape' must be a sequence of integers: got "):
        call()


@pytest.mark.parametrize("like", ["philox", "torch", "torch_cuda"])
def test_a_seed_in_an_array_of_rank_0_is_one_seed(like: Any) -> None:
    expected = diffusers.generator(3, like=like).randn(2, 3)
    assert_same_bits(diffusers.generator(np.array(3), like=like).randn(2, 3), expected)
    latents = diffusers.latents(np.array(3), (3,), like=like)
    assert_same_bits(latents, diffusers.latents([3], (3,), like=like))


def test_what_a_pipeline_or_map_would_drop_is_refused() -> None:
    model = make_reproducible(NOISE)
    session = bare_session(model)
    rows = Pipeline(NOISE, per_row=True)
    calls: list[tuple[Any, str]] = [
        (lambda: Pipeline(NOISE, source=model), "source must be left out for a model that is not"),
        (
            lambda: Pipeline(NOISE.SerializeToString(), source=model, runtime="openvino"),
            "source must be left out for a model that is not in a runtime yet.*: got ModelProto",
        ),
        (
            lambda: Pipeline(session, runtime="openvino"),
            "runtime must be 'onnxruntime', in which the InferenceSession is.*: got 'openvino'",
        ),
        (lambda: rows.map([], seed=1, progress="no"), "progress must be True or False: got 'no'"),  # type: ignore[arg-type]
        (lambda: rows.map(batch(1), seed=1), "batches must be an iterable of feeds: got dict"),
        (lambda: rows.map(None, seed=1), "batches must be an iterable of feeds: got NoneType"),  # type: ignore[arg-type]
    ]
    for call, words in calls:
        with pytest.raises((TypeError, ValueError), match=words):
            call()
