"""A pipeline of a model with variables of its own: they are part of a request, and of no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as ops
from openvino.op.util import Variable, VariableInfo

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, graphs, make_reproducible
from tests.common import cases, cli
from tests.common import openvino_models as by_hand
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino, compiled, save_ir

WIDTH = 8
DTYPES = {name: cases.DTYPES[name] for name in ("f32", "f16", "bf16", "i32")}
DTYPES |= {"u8": np.dtype(np.uint8), "boolean": np.dtype(np.bool_)}


def variable(name: str, shape: Any, kind: str = "f32") -> Variable:
    info = VariableInfo()
    info.data_shape, info.data_type = ov.PartialShape(shape), getattr(ov.Type, kind)
    info.variable_id = name
    return Variable(info)


def walk(kind: str = "f32") -> ov.Model:
    """y = the sum of all x and noise since the variable was as at first."""
    past = variable("past", [-1, 4], kind)
    x = by_hand.parameter("x", [-1, 4])
    zeros = ops.convert(ops.broadcast(np.float32(0), ops.shape_of(x)), kind)
    noise = by_hand.uniform(
        ops.shape_of(x),
        seeds=(0, 3),
        ops=ops,
    )
    read = ops.convert(ops.read_value(zeros, past), "f32")
    total = ops.convert(ops.add(ops.add(read, x), noise), kind)
    return by_hand.model(
        {"y": ops.convert(total, "f32")},
        [x],
        [ops.assign(total, past)],
    )


def decoder() -> ov.Model:
    """A sum over all tokens so far, which are kept as optimum-intel's exports keep keys."""
    x = by_hand.parameter("x", [-1, -1, WIDTH])
    beam = by_hand.parameter("beam_idx", [-1], ov.Type.i32)
    batch = ops.gather(
        ops.shape_of(x),
        np.array([0]),
        np.int64(0),
    )
    sinks = []
    seen = []
    for name, new in (("past.key", x), ("past.value", ops.negative(x))):
        none = ops.concat(
            [
                batch,
                np.array([0]),
                np.array([WIDTH]),
            ],
            0,
        )
        past = variable(name, [-1, -1, WIDTH])
        read = ops.read_value(ops.broadcast(np.float32(0), none), past)
        grown = ops.concat([ops.gather(read, beam, np.int64(0)), new], 1)
        sinks.append(ops.assign(grown, past))
        seen.append(ops.reduce_sum(grown, np.array([1])))
    total = ops.subtract(*seen)
    noise = by_hand.uniform(
        ops.shape_of(total),
        seeds=(0, 3),
        ops=ops,
    )
    return by_hand.model(
        {"y": ops.add(total, noise)},
        [x, beam],
        sinks,
    )


def fed(rows: int = 2) -> dict[str, np.ndarray]:
    return {"x": np.ones((rows, 4), np.float32)}


def tokens(
    counts: tuple[int, ...],
    seed: int = 5,
) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    shapes = [(1, count, WIDTH) for count in counts]
    return [
        {"x": random.normal(size=s).astype(np.float32), "beam_idx": np.zeros(1, np.int32)}
        for s in shapes
    ]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_ir(make_reproducible(walk()), tmp_path_factory.mktemp("walk") / "walk.xml")


@pytest.fixture(scope="module")
def pipe(path: Path) -> Pipeline:
    return Pipeline(path, runtime="openvino")


def test_a_variable_whose_type_nobody_declares_has_that_of_its_first_value() -> None:
    past = variable("past", "...", "dynamic")
    read = ops.read_value(ops.constant(np.zeros(3, np.float32)), past)
    total = ops.add(read, by_hand.uniform([3], ops=ops))
    model = by_hand.model(
        {"y": total},
        [],
        [ops.assign(total, past)],
    )
    request = Pipeline(model, runtime="openvino").request(seed=1)
    (first,), (second,) = request({}).values(), request({}).values()
    assert (second > first).all()


@pytest.mark.parametrize("given", ["model", "compiled"])
def test_a_seed_gives_one_answer_in_any_order(given: str) -> None:
    model: Any = make_reproducible(walk())
    pipe = Pipeline(model, runtime="openvino")
    if given == "compiled":
        pipe = Pipeline(compiled(model), source=model)
    answers = [pipe(fed(), seed=seed)["y"] for seed in (1, 1, 2, 1)]
    for again in (answers[1], answers[3]):
        assert_same_bits(again, answers[0])
    assert 1 <= answers[0].min() <= answers[0].max() < 2
    # Another batch begins as at first, too.
    assert pipe(fed(5), seed=1)["y"].shape == (5, 4)


def test_a_request_carries_its_variables_and_no_other_sees_them(pipe: Pipeline) -> None:
    request = pipe.request(seed=42)
    alone = [request(fed())["y"] for _ in range(4)]
    assert all(run < sum_.min() for run, sum_ in enumerate(alone, 1))
    one = pipe.request(seed=42)
    others = [pipe.request(seed=seed) for seed in (7, 8)]
    for expected in alone:
        assert_same_bits(one(fed())["y"], expected)
        for other in others:
            other(fed())
        pipe(fed(3), seed=9)


def test_requests_of_many_threads_keep_their_variables(pipe: Pipeline) -> None:
    def answers(seed: int) -> list[np.ndarray]:
        request = pipe.request(seed=seed)
        rows = 1 + seed % 3
        return [request(fed(rows))["y"] for _ in range(5)]

    expected = [answers(seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        for got, wanted in zip(threads.map(answers, range(40)), expected, strict=True):
            assert_all_same(got, wanted)


def test_changing_batches_never_meet_variables_of_another_shape(pipe: Pipeline) -> None:
    """OpenVINO's own reset gives a variable the shape of an earlier run, once it was set."""
    random = np.random.default_rng(0)
    expected = []
    for rows in range(5):
        # A pipeline that never ran with other rows.
        alone = Pipeline(walk(), runtime="openvino").request(seed=1)
        expected.append([alone(fed(rows))["y"] for _ in range(4)])
    going: list[tuple[int, Any]] = []
    for _ in range(300):
        if going and random.integers(2):
            rows, request = going.pop(int(random.integers(len(going))))
        else:
            rows = int(random.integers(5))
            request = pipe.request(seed=1)
        run = request.runs
        assert_same_bits(request(fed(rows))["y"], expected[rows][run])
        if run < 3:
            going.append((rows, request))


def test_a_run_that_fails_or_is_cancelled_leaves_the_variables(pipe: Pipeline) -> None:
    request = pipe.request(seed=3)
    undisturbed = pipe.request(seed=3)
    for _ in range(2):
        expected = undisturbed(fed())["y"]
        assert_same_bits(request(fed())["y"], expected)
        with pytest.raises(RuntimeError):
            request(fed(3))

        async def cancelled() -> None:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(request.acall(fed()), 1e-9)

        asyncio.run(cancelled())
    expected = undisturbed(fed())["y"]
    assert_same_bits(request(fed())["y"], expected)
    assert request.runs == 3


@pytest.mark.parametrize("kind", DTYPES)
def test_a_checkpoint_carries_the_variables_bit_for_bit(kind: str) -> None:
    pipe, other = (Pipeline(walk(kind), runtime="openvino") for _ in range(2))
    assert pipe._engine.model.variables == {"past": DTYPES[kind]}
    request = pipe.request(seed=6)
    for run in range(3):
        saved = json.dumps(request.checkpoint())
        entry = json.loads(saved)["variables"]
        if run:
            expected = (DTYPES[kind].name, [2, 4])
            assert (entry["past"]["type"], entry["past"]["shape"]) == expected
        else:
            assert entry is None
        resumed = other.request(resume=saved)
        assert (resumed.runs, resumed.seed) == (run, 6)
        for _ in range(2):
            expected = pipe.request(resume=saved)(fed())["y"]
            assert_same_bits(resumed(fed())["y"], expected)
            saved = json.dumps(resumed.checkpoint())
        request(fed())


def test_a_request_that_begins_at_a_state_has_new_variables(pipe: Pipeline) -> None:
    first = pipe(fed(), seed=1)
    assert first.record()["seed"] == pipe.request(seed=1)(fed()).record()["seed"] == 1
    follow = pipe.request(state=first.next_state)(fed())
    again = pipe.request(state=PhiloxState.for_run(1, 1))(fed())
    assert_same_bits(follow["y"], again["y"])
    assert follow["y"].max() < 2


def test_run_refuses_a_later_first_run_for_a_model_with_variables(path: Path) -> None:
    command = ["run", str(path), "--fill", "--seed", "5"]
    done = cli.invoke(*command, "--first-run", "2")
    assert done.exit_code == 2
    assert "--first-run must be 0 for a model with variables of its own (past)" in done.output
    assert "--first-run N" not in cli.invoke(*command, "--runs", "2").output


def test_every_batch_of_a_data_set_has_new_variables() -> None:
    rows = Pipeline(walk(), runtime="openvino", per_row=True)
    whole = rows(fed(6), seed=4)["y"]
    for cuts in ([2, 4], [1, 2, 3]):
        parts = [part["y"] for part in rows.map([fed(cut) for cut in cuts], seed=4)]
        assert_same_bits(np.concatenate(parts), whole)


def test_a_decoder_with_a_cache_answers_each_request_as_if_alone() -> None:
    pipe = Pipeline(decoder(), runtime="openvino")
    assert set(pipe._engine.model.variables) == {"past.key", "past.value"}
    long = tokens((7, 1, 1, 1))
    short = tokens((2, 1, 1, 1), seed=6)
    request = pipe.request(seed=1)
    expected = [request(feed)["y"] for feed in long]
    # A cache alone, in one infer request of OpenVINO's own.
    bare = pipe._engine.model.compiled.create_infer_request()
    state = PhiloxState.for_run(1)
    for feed, answer in zip(long, expected, strict=True):
        inputs = {**feed, "random_state": state.to_array()}
        bare.start_async(inputs)
        bare.wait()
        np.testing.assert_allclose(bare.get_tensor("y").data, answer, atol=1e-4)
        state = PhiloxState(state.counter + 2**96, state.key)
    one = pipe.request(seed=1)
    other = pipe.request(seed=2)
    for feed, noise, answer in zip(long, short, expected, strict=True):
        assert_same_bits(one(feed)["y"], answer)
        other(noise)
    resumed = pipe.request(resume=json.dumps(one.checkpoint()))
    assert_same_bits(resumed(long[1])["y"], one(long[1])["y"])


def entry(
    shape: object,
    text: str,
    type_: str = "float32",
) -> dict[str, Any]:
    return {"type": type_, "shape": shape, "base64": text}


class Given:
    """What the refused calls are made of."""

    def __init__(self, pipe: Pipeline, folder: Path) -> None:
        self.pipe = pipe
        self.request = pipe.request(seed=1)
        self.request(fed())
        # A checkpoint after one run, and the result of the second.
        self.once = self.request.checkpoint()
        self.later = self.request(fed())
        self.plain = Pipeline(graphs.random_uniform([4], 0.0, 1.0, "f32", stateful=True))
        assert self.plain.request(seed=1).checkpoint()["onnx_philox"] == 1
        # A model that is not rewritten, and one without variables.
        self.as_it_was = Pipeline(save_ir(walk(), folder / "walk.xml"), runtime="openvino")
        self.without = parse("g (float[n, 4] x) => (float[n, 4] y) { y = RandomUniformLike (x) }")

    def past(self, given: Any) -> Any:
        """A request that goes on with this as the variable `past`."""
        resume = self.once | {"variables": {"past": given}}
        return self.pipe.request(resume=resume)


@pytest.fixture(scope="module")
def given(pipe: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Given:
    return Given(pipe, tmp_path_factory.mktemp("plain"))


REFUSED = [
    (
        lambda of: of.pipe(fed(), state=of.later.state),
        "state must be left out ...variables ...(past)",
    ),
    (
        lambda of: of.pipe.request(resume=of.request.checkpoint() | {"variables": None}),
        "variables must be those of past after 2 runs: got null",
    ),
    (
        lambda of: of.pipe.request(resume=of.once | {"variables": {}}),
        "variables must be null, or those of past: got []",
    ),
    (
        lambda of: of.pipe.request(resume=of.once | {"variables": [1]}),
        "variables must be null, or those of past: got [1]",
    ),
    (
        lambda of: of.pipe.request(resume=of.once | {"onnx_philox": 1}),
        "resume must be a checkpoint of version 2, with past: got version 1",
    ),
    (
        lambda of: of.past(None),
        "resume's variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry([2, 4], "AAAA")),
        "variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry([2, 4], "é")),
        "variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry(["1"], "AAAAAA==")),
        "variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry([1], "AAAAAA==", "int32")),
        "variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry(7, "AAAAAA==")),
        "variables['past'] must be an array of float32",
    ),
    (
        lambda of: of.past(entry([1], "AAAAAA=="))(fed()),
        "the variable 'past' must be of a shape ...: got shape",
    ),
    (
        lambda of: of.plain.request(resume=of.once | {"model": of.plain.streams.fingerprint}),
        "must be a checkpoint of version 1, since ...: got version 2",
    ),
    (
        lambda of: of.later.record(),
        "got one of a later run, which went on with the variables past",
    ),
    (
        lambda of: of.as_it_was(fed(), seed=1).record(),
        "the pipeline must be one of a rewritten model: got one",
    ),
    (
        lambda of: Pipeline(
            compiled(make_reproducible(walk())), source=make_reproducible(of.without)
        ),
        "source must be the openvino.Model ...: past. Pass that",
    ),
    (
        lambda _: Pipeline(walk("i64"), runtime="openvino"),
        "variable 'past' must be one of f32, ...: got i64.",
    ),
    (
        lambda _: Pipeline(walk("f64"), runtime="openvino"),
        "variable 'past' must be one of f32, ...: got f64.",
    ),
    (
        lambda _: Pipeline(walk("u16"), runtime="openvino"),
        "variable 'past' must be one of f32, ...: got u16.",
    ),
    (
        lambda _: Pipeline(walk("f8e4m3"), runtime="openvino"),
        "'past' must be one of f32, ...: got f8e4m3.",
    ),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_variables_do_not_allow_is_refused_by_name(
    given: Given, call: Callable[[Given], Any], words: str
) -> None:
    pipe = given.pipe
    assert_refused(partial(call, given), words)
    expected = pipe.request(seed=1)(fed())["y"]
    assert_same_bits(pipe(fed(), seed=1)["y"], expected)


@pytest.mark.parametrize("given", ["model", "file", "compiled"])
def test_a_state_that_is_a_variable_is_refused_in_one_sentence(given: str, tmp_path: Path) -> None:
    built = OpenVino("auto").read(graphs.random_generator([4]))
    for model, name in ((make_reproducible(walk()), "random_state"), (built, "state")):
        model = onnx_philox.openvino.make_stateful(model, PhiloxState.for_run(42))
        ov.save_model(model, tmp_path / f"{name}.xml")
        how: dict[str, Any] = {"runtime": "openvino"}
        what: Any = model if given == "model" else tmp_path / f"{name}.xml"
        if given == "compiled":
            what = compiled(model)
            how = {"source": model}
        words = f"must be one whose state is an input, .*: got .* the variable '{name}', as openv"
        with pytest.raises(ValueError, match=f"^Pipeline: (the .*|source) {words}"):
            Pipeline(what, **how)
