"""Where a call or request begins: seeds that go back in, states, and what the next state is."""

from __future__ import annotations

import asyncio
import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

from onnx_philox import PhiloxState, Pipeline, TorchState, diffusers, row_states
from tests.common.cases import assert_same_bits
from tests.common.foreign import parse
from tests.common.runtimes import RUNTIMES

ALIGNMENTS = ("tensorflow", "pytorch")
NOISE = parse("""g (float[n, 4, 8] x) => (float[n, 4, 8] y) {
    a = RandomNormalLike (x)  y = Add (x, a) }""")


def batch(rows: int) -> dict[str, np.ndarray]:
    return {"x": np.zeros((rows, 4, 8), np.float32)}


@pytest.fixture(scope="module", params=ALIGNMENTS)
def pipe(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, alignment=request.param)


@pytest.fixture(scope="module", params=ALIGNMENTS)
def rows(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, per_row=True, alignment=request.param)


def test_the_seed_of_any_answer_goes_back_in(pipe: Pipeline, rows: Pipeline) -> None:
    by_event_loop = asyncio.run(pipe.acall(batch(2)))
    request = pipe.request()
    answers = (pipe(batch(2)), by_event_loop, request(batch(2)))
    assert len({answer.seed for answer in answers}) == 3
    for answer in answers:
        assert isinstance(answer.seed, int)
        again = pipe(batch(2), seed=answer.seed)
        assert_same_bits(again["y"], answer["y"])
    of_a_request = rows.request(rows=3)
    of_seeds = rows(batch(3), seeds=[3, 1, 2])
    for answer in (rows(batch(3)), of_a_request(batch(3)), of_seeds):
        assert isinstance(answer.seed, tuple)
        assert len(set(answer.seed)) == 3
        assert_same_bits(rows(batch(3), seeds=answer.seed)["y"], answer["y"])
        for row, seed in enumerate(answer.seed):
            alone = rows(batch(1), seeds=[seed])
            assert_same_bits(alone["y"][0], answer["y"][row])
            assert alone.seed == (seed,)
    assert rows(batch(1), seeds=np.array(3)).seed == (3,)
    of_no_seeds = rows(batch(0), seeds=())
    for none in (rows(batch(0)), of_no_seeds):
        expected = ((), (0, 4, 8))
        assert (none.seed, none["y"].shape) == expected


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FORMS = {
    "a list": [0, 7, 2**64 - 1],
    "a tuple": (2**63, 2**32, 5),
    "a list of NumPy's integers": [np.uint64(2**64 - 1), 5, np.int8(3)],
    "a range": range(5, 8),
    "as many as are packed at once": list(range(2**63, 2**63 + 256)),
    "one more": list(range(2**63, 2**63 + 257)),
    "300": list(range(300)),
} | {f"an array of {dtype}": np.array([3, 1, 2], dtype) for dtype in INTEGERS}


@pytest.mark.parametrize("seeds", FORMS.values(), ids=FORMS)
def test_seeds_in_any_form_are_the_states_of_these_seeds(rows: Pipeline, seeds: Any) -> None:
    answer = rows(batch(len(seeds)), seeds=seeds)
    assert answer.seed == tuple(map(int, seeds))
    assert {type(seed) for seed in answer.seed} == {int}
    generator = rows.streams.generator
    expected = [generator.of_seed("test", int(seed)) for seed in seeds]
    assert_same_bits(answer.state, np.array(expected))
    assert_same_bits(answer["y"], rows(batch(len(seeds)), state=expected)["y"])
    # They are the user's, and may be written to.
    answer.state[:] = 0


def test_seeds_of_the_operating_system_fit_a_signed_column(monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest that it can give.
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    monkeypatch.setattr("secrets.token_bytes", lambda count: b"\xff" * count)
    one = Pipeline(NOISE)
    rows = Pipeline(NOISE, per_row=True)
    assert one(batch(1)).seed == one.request().seed == 2**63 - 1
    assert rows(batch(2)).seed == rows.request(rows=2).seed == (2**63 - 1, 2**63 - 1)
    torch_s = Pipeline(NOISE, per_row=True, alignment="pytorch")
    expected = (2**32 - 1, 2**32 - 1)
    assert torch_s(batch(2)).seed == expected


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
        following = follow(batch(2))
        assert_same_bits(following["y"], run["y"])
    assert_same_bits(follow.state, expected[-1].next_state)
    # The next state of a call is a state of a call.
    expected_of_second = expected[1]["y"]
    assert_same_bits(pipe(batch(2), state=answer.next_state)["y"], expected_of_second)
    resumed = pipe.request(resume=follow.checkpoint())
    assert_same_bits(resumed(batch(2))["y"], request(batch(2))["y"])


STATES = {
    "tensorflow": (
        PhiloxState.for_run(7, 2),
        row_states([7, 8]),
    ),
    "pytorch": (
        TorchState.from_seed(7),
        [TorchState.from_seed(s).to_array() for s in (7, 8)],
    ),
}


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_a_request_takes_states_in_every_form(alignment: str) -> None:
    one, several = STATES[alignment]
    pipe = Pipeline(NOISE, alignment=alignment)
    words = one.to_array()
    rows = np.array(several)
    expected = pipe(batch(2), state=one)["y"]
    forms = [
        one,
        words,
        words.tolist(),
        *([words[np.newaxis]] if alignment != "pytorch" else ()),
    ]
    for state in forms:
        request = pipe.request(state=state)
        assert_same_bits(request(batch(2))["y"], expected)
        assert_same_bits(pipe(batch(2), state=state)["y"], expected)
    by_rows = Pipeline(NOISE, per_row=True, alignment=alignment)
    answer = by_rows(batch(2), seeds=[7, 8])
    for state in (rows, rows.tolist(), answer.states):
        assert_same_bits(by_rows.request(state=state)(batch(2))["y"], answer["y"])


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
    expected = pipe(batch(1), seed=3)["y"]
    assert_same_bits(result["y"], expected)
    result.next_state[:] = 9
    assert_same_bits(request.state, PhiloxState.for_run(3, 1).to_array())


def test_a_copied_or_pickled_result_keeps_its_seed_and_states() -> None:
    result = Pipeline(NOISE)(batch(1), seed=4)
    pickled = pickle.loads(pickle.dumps(result))
    together = result | {"more": 1}
    copied = copy.copy(result)
    for made in (result.copy(), together, copied, pickled):
        assert (type(made), made.seed) == (type(result), 4)
        assert_same_bits(made.next_state, PhiloxState.for_run(4, 1).to_array())
        pairs = ((made.state, result.state), (made["y"], result["y"]))
        for one, other in pairs:
            assert_same_bits(one, other)


def test_a_result_takes_attributes_and_weak_references_as_any_object_does() -> None:
    result: Any = Pipeline(NOISE)(batch(1), seed=4)
    result.request_id = "a7"
    assert vars(result) == {"request_id": "a7"}
    assert weakref.ref(result)() is result


def test_the_results_of_map_say_where_they_end() -> None:
    rows = Pipeline(NOISE, per_row=True)
    results = rows.map([batch(2), batch(1)], seed=3)
    for result in results:
        expected = np.ones(len(result["y"]), np.uint32)
        assert_same_bits(result.next_state[:, 3], expected)


@pytest.mark.parametrize("like", ["philox", "torch", "torch_cuda"])
def test_a_seed_in_an_array_of_rank_0_is_one_seed(like: Any) -> None:
    expected = diffusers.generator(3, like=like).randn(2, 3)
    generator = diffusers.generator(np.array(3), like=like)
    assert_same_bits(generator.randn(2, 3), expected)
    latents = diffusers.latents(np.array(3), (3,), like=like)
    assert_same_bits(latents, diffusers.latents([3], (3,), like=like))
