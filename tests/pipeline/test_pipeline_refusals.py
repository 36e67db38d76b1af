"""What `Pipeline` refuses: calls, feeds, states, checkpoints, options, and what it cannot run."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, TorchState, graphs, make_reproducible, row_states
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.foreign import NOISE, batch, parse
from tests.common.runtimes import RUNTIMES, OpenVino, bare_session, compiled, save_ir

FEED = batch(2)
X = FEED["x"]


def deep() -> list[Any]:
    """A list in a list, and so on: too deep to print."""
    inner: list[Any] = []
    for _ in range(30_000):
        inner = [inner]
    return inner


class Pipelines:
    """What the calls are made of: pipelines of a runtime, and checkpoints of their requests."""

    def __init__(self, runtime: str) -> None:
        self.one = Pipeline(NOISE, runtime=runtime)
        self.rows = Pipeline(NOISE, runtime=runtime, per_row=True)
        self.torch_rows = Pipeline(NOISE, runtime=runtime, per_row=True, alignment="pytorch")
        uniform = graphs.random_uniform([2], 0.0, 1.0, "f32", stateful=True)
        self.of_another = Pipeline(uniform, runtime=runtime).request(seed=1).checkpoint()
        self.without_inputs = Pipeline(
            graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True, per_row=True)
        )

    def saved(self, **changes: Any) -> dict[str, Any]:
        """A checkpoint of a request, with changes."""
        return self.one.request(seed=1).checkpoint() | changes


@pytest.fixture(scope="module", params=RUNTIMES)
def of(request: pytest.FixtureRequest) -> Pipelines:
    return Pipelines(request.param)


CALLS = [
    (
        lambda of: of.one({"x": X.astype(np.int64)}),
        "TypeError: Pipeline: the input 'x' must be float32: got int64.",
    ),
    (
        lambda of: of.one({"x": X.astype(object)}),
        "TypeError: the input 'x' must be float32: got object. Pass",
    ),
    (
        lambda of: of.one({"x": X.astype("M8[s]")}),
        "TypeError: the input 'x' must be float32: got datetime64",
    ),
    (
        lambda of: of.one({"x": [1, [2, 3]]}),
        "the input 'x' must be an array, or lists of equal lengths: got lists",
    ),
    (
        lambda of: of.one({"x": ["a", "b", "c"]}),
        "TypeError: the input 'x' must be float32...: got str32",
    ),
    (
        lambda of: of.one({"x": "abc"}),
        "TypeError: the input 'x' must be float32...: got str",
    ),
    (
        lambda of: of.one({"x": {}}),
        "TypeError: the input 'x' must be float32...: got dict",
    ),
    (
        lambda of: of.one({"x": None}),
        "TypeError: the input 'x' must be float32: got None. Pass an array of that type.",
    ),
    (
        lambda of: of.one({"x": [1, 2]}),
        "the input 'x' must be of shape [..., 5]: got shape [2]. Pass an array of",
    ),
    (
        lambda of: of.one({**FEED, 3: 1}),
        "each input must be one of x (float32): got 3.",
    ),
    (
        lambda of: of.one(None),
        "TypeError: the feed must be a mapping of names to arrays: got NoneType. Pass "
        "the inputs by name",
    ),
    (
        lambda of: of.one([1], seed=1),
        "TypeError: Pipeline: the feed must be a mapping of names to arrays: got list.",
    ),
    (
        lambda of: of.rows([1], seed=1),
        "TypeError: Pipeline: the feed must be a mapping of names to arrays: got list.",
    ),
    (
        lambda of: next(of.rows.map([[1]], seed=1)),
        "TypeError: Pipeline: the feed must be a mapping of names to arrays",
    ),
    (
        lambda of: of.rows({"x": [[1.0], [2.0, 3.0]]}, seed=1),
        "'x' must be an array, or lists of equal lengths: got lists that make no array",
    ),
    (
        lambda of: of.rows({"x": X[0]}),
        "Pipeline: the input 'x' must be of shape [n, 5]: got shape [5].",
    ),
    (
        lambda of: of.rows({"x": X[0]}, seeds=[1]),
        "Pipeline: the input 'x' must be of shape [n, 5]: got shape [5].",
    ),
    (
        lambda of: of.one(FEED, seed=-1),
        "seed must be an integer from 0 to 2^64-1...: got -1",
    ),
    (
        lambda of: of.one(FEED, seed=1.5),
        "TypeError: seed must be an integer from 0 to 2^64-1...: got 1.5",
    ),
    (
        lambda of: of.one(FEED, seed=True),
        "TypeError: seed must be an integer from 0 to ...: got True. Pass an int",
    ),
    (
        lambda of: of.rows(FEED, seed=True),
        "TypeError: seed must be an integer from 0 to ...: got True. Pass an int",
    ),
    (
        lambda of: of.one(FEED, seed=(1, 2)),
        "TypeError: single integer: got (1, 2). Pass seeds=",
    ),
    (
        lambda of: of.rows(FEED, seed=2**64),
        "seed must be an integer from 0 to 2^64-1: got 18446744073709551616",
    ),
    (
        lambda of: of.rows(FEED, seed=[1, 2]),
        "TypeError: single integer: got [1, 2]. Pass seeds=",
    ),
    (
        lambda of: of.rows(FEED, seed=1, seeds=[1, 2]),
        "seed must be given without seeds: got both",
    ),
    (
        lambda of: of.one(FEED, seeds=[1, 2]),
        "Pipeline: the model must be one with a state for each row, to be run ...: got one "
        "with a single state for the whole batch",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, 2, 3]),
        "Pipeline: the number of rows of 'x' must be 3, one for each seed or",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, -1]),
        "Pipeline: seeds[1] must be an integer...: got -1",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, True]),
        "TypeError: seeds[1] must be an integer from 0 to ...: got True. Pass",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, np.True_]),
        "TypeError: Pipeline: seeds[1] must be an integer from 0 to 2^64-1: got ...True..."
        "Pass an int in that range.",
    ),
    (
        lambda of: of.rows(FEED, seeds=(2**64, 1)),
        "Pipeline: seeds[0] must be an integer from 0 to 2^64-1: got "
        "18446744073709551616. Pass an int in that range.",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, 1.0]),
        "TypeError: Pipeline: seeds[1] must be an integer from 0 to 2^64-1: got 1.0. Pass an int "
        "in that range.",
    ),
    (
        lambda of: of.rows(FEED, seeds=[1, np.int64(-1)]),
        "Pipeline: seeds[1] must be an integer from 0 to 2^64-1: got -1. Pass an int in that "
        "range.",
    ),
    (
        lambda of: of.rows(FEED, seeds=[*range(299), -1]),
        "Pipeline: seeds[299] must be an integer from 0 to 2^64-1: got -1. Pass an int in that "
        "range.",
    ),
    (
        lambda of: of.rows(FEED, seeds=[]),
        "Pipeline: the number of rows of 'x' must be 0, one for each seed or state: got 2. Feed a "
        "row for each seed or state.",
    ),
    (
        lambda of: of.rows(FEED, seeds=(seed for seed in (1, 2))),
        "TypeError: Pipeline: seeds must be an integer from 0 to 2^64-1, or a list of such "
        "integers: got <generator object",
    ),
    (
        lambda of: of.rows({"x": X[:1]}, seeds=np.array([True])),
        "TypeError: seeds[0] must be an integer from ...True",
    ),
    (
        lambda of: of.rows(FEED, seeds="ab"),
        "TypeError: seeds must be an integer from 0 to 2^64-1, or a list of such",
    ),
    (
        lambda of: of.rows({}, seed=1),
        "of the input 'x': got nothing. Feed it, or pass seeds.",
    ),
    (
        lambda of: of.torch_rows(FEED, seeds=range(2**62)),
        "rows must be small enough for the memory that is free: got 4611686018427387904",
    ),
    (
        lambda of: of.torch_rows(FEED, seeds=[3, True]),
        "TypeError: seeds[1] must be an integer ...: got True",
    ),
    (
        lambda of: of.rows.map([], seed=True),
        "TypeError: seed must be an integer from 0 to ...: got True",
    ),
    (
        lambda of: of.torch_rows(FEED, seeds=[1, -1]),
        "must be ...: got -1. torch takes it for 18446744073709551615",
    ),
    (
        lambda of: of.torch_rows(FEED, seeds=np.array([1, -1])),
        "seeds[1] must be ...: got -1. torch takes it for",
    ),
    (
        lambda of: of.one.map([FEED], seed=1),
        "Pipeline.map: ...: got one with a single state for the whole batch",
    ),
    (
        lambda of: of.rows.map([FEED], seed=2**64),
        "Pipeline.map: seed must be an integer from 0 to 2^64-1... : got 18446744073709551616",
    ),
    (
        lambda of: of.rows.map([], seed=1, first_row=1.5),
        "TypeError: first_row must be an integer from 0 to 2^32-1 ...: got 1.5",
    ),
    (
        lambda of: of.rows.map([], seed=1, first_row=True),
        "TypeError: first_row must be an integer from ...: got True",
    ),
    (
        lambda of: of.rows.map([], seed=1, run=True),
        "TypeError: run must be an integer from 0 to 2^32-1: got True.",
    ),
    (
        lambda of: of.rows.map([], seed=1, progress="no"),
        "TypeError: progress must be True or False: got 'no'",
    ),
    (
        lambda of: of.rows.map(FEED, seed=1),
        "TypeError: batches must be an iterable of feeds: got dict",
    ),
    (
        lambda of: of.rows.map(None, seed=1),
        "TypeError: batches must be an iterable of feeds: got NoneType",
    ),
    (
        lambda of: of.rows.map(
            [FEED],
            seeds=[1, 2],
            seed=1,
        ),
        "seeds must be given alone: got seed, first_row or",
    ),
    (
        lambda of: of.rows.map(
            [FEED],
            seeds=[1, 2],
            run=1,
        ),
        "seeds must be given alone: ... Leave the others out.",
    ),
    (
        lambda of: list(of.rows.map([FEED], seeds=[1])),
        "Pipeline.map: seeds must be one ...: got 1 for 2",
    ),
    (
        lambda of: list(of.rows.map([FEED], seeds=[1, 2, 3])),
        "Pipeline.map: seeds must be one ...: got 3 for 2",
    ),
    (
        lambda of: list(of.rows.map([{}], seed=1)),
        "by the first dimension of the input 'x': got nothing. Feed it.",
    ),
    (
        lambda of: list(of.without_inputs.map([{}], seed=1)),
        "does: got nothing. Call the pipeline with seeds, or with",
    ),
    (
        lambda of: of.one.request(seed=True),
        "TypeError: seed must be an integer from 0 to ...: got True. Pass an int",
    ),
    (
        lambda of: of.one.request(seed=1, rows=7),
        "request: the model must be one with a state for each row, to be run with rows: got "
        "one with a single",
    ),
    (
        lambda of: of.one.request(rows=7),
        "to be run with rows",
    ),
    (
        lambda of: of.rows.request(seeds=[1], rows=7),
        "rows must be given without seeds, which are one for each row: got",
    ),
    (
        lambda of: of.rows.request(seeds=[1, -1]),
        "Pipeline.request: seeds[1] must be an integer",
    ),
    (
        lambda of: of.rows.request(seed=1),
        "the number of rows must be given by seeds, or by rows beside the seed",
    ),
    (
        lambda of: of.rows.request(seed=1, rows=-1),
        "Pipeline.request: rows must be an integer from 0 to 2^32: got -1.",
    ),
    (
        lambda of: of.rows.request(seed=1, rows=1.5),
        "TypeError: rows must be an integer...: got 1.5",
    ),
    (
        lambda of: of.rows.request(seed=1, rows=True),
        "TypeError: rows must be an integer from 0 to ...: got True",
    ),
    (
        lambda of: of.one.request(state=[0] * 6, seed=1),
        "state must be given alone: got seed beside it. Leave",
    ),
    (
        lambda of: of.rows.request(state=row_states([1]), rows=1),
        "state must be given alone: got rows beside it",
    ),
    (
        lambda of: of.one.request(state=TorchState.from_seed(1)),
        "request: state must be six words of 32 bits: got TorchState(seed=1, left=1, next=0)",
    ),
    (
        lambda of: of.rows.request(state=PhiloxState(0, 1)),
        "request: state must be words of 32 bits, six for each row",
    ),
    (
        lambda of: of.one.request(state=[2**32, 0, 0, 0, 0, 0]),
        "state must be six words of 32 bits: got [4294967296",
    ),
    (
        lambda of: of.one.request(state=[True, 0, 0, 0, 0, 0]),
        "state must be six words of 32 bits: got [True",
    ),
    (
        lambda of: of.one.request(resume={}, seed=1),
        "resume must be given alone: got seed ... Leave the others out.",
    ),
    (
        lambda of: of.one.request(state=[0] * 6, resume={}),
        "resume must be given alone: got state beside it",
    ),
    (
        lambda of: of.one.request(resume="{"),
        "resume must be a checkpoint...: got no JSON",
    ),
    (
        lambda of: of.one.request(resume=of.of_another),
        "resume must be ...: got one of a model with the fingerprint '",
    ),
    (
        lambda of: of.one.request(resume=of.saved(onnx_philox=2)),
        "resume must be a checkpoint of version 1...version 2",
    ),
    (
        lambda of: of.one.request(resume=of.saved(onnx_philox=True)),
        "must be a checkpoint of version 1...version True",
    ),
    (
        lambda of: of.one.request(resume=of.saved(onnx_philox=1.0)),
        "must be a checkpoint of version 1...: got version 1.0",
    ),
    (
        lambda of: of.one.request(resume=of.saved(state=[1, 2, 3])),
        "resume's state must be six words...: got [1, 2, 3]",
    ),
    (
        lambda of: of.one.request(resume=of.saved(state=[0, 0, 0, 0, 0, 2**32])),
        "resume's state must be",
    ),
    (
        lambda of: of.one.request(resume=of.saved(state=[0.5] * 6)),
        "resume's state must be",
    ),
    (
        lambda of: of.one.request(resume=of.saved(state=[[0] * 6] * 2)),
        "resume's state must be",
    ),
    (
        lambda of: of.one.request(resume=of.saved(runs=-1)),
        "resume's runs must be an integer of 0 or more: got -1",
    ),
    (
        lambda of: of.one.request(resume=of.saved(runs=True)),
        "resume's runs must be an integer of 0 or more: got True",
    ),
    (
        lambda of: of.one.request(resume=of.saved(seed="abc")),
        "resume's seed must be null, a seed of 0 to 2^64-1, or one for each row: got 'abc'",
    ),
    (
        lambda of: of.one.request(resume=of.saved(seed=[1] * 6)),
        "resume's seed must be null, ...: got [1, 1",
    ),
    (
        lambda of: of.one.request(resume=of.saved(seed=2**64)),
        "resume's seed must be null, ...: got 18446744073709551616",
    ),
    (
        lambda of: copy.copy(of.one.request(seed=1)),
        "TypeError: a request must be neither copied nor pickled: got a",
    ),
    (
        lambda of: copy.deepcopy(of.one.request(seed=1)),
        "TypeError: must be neither copied nor pickled: ... checkpoint",
    ),
    (
        lambda of: pickle.dumps(of.one.request(seed=1)),
        "TypeError: a request must be neither copied nor pickled: got",
    ),
    (
        lambda of: pickle.dumps(of.one),
        "TypeError: must be one of a path or of bytes: got ... in memory",
    ),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_a_call_is_refused_and_the_pipeline_answers_as_before(
    of: Pipelines, call: Callable[[Pipelines], Any], words: str
) -> None:
    expected = of.one(FEED, seed=1)["y"]
    assert_refused(partial(call, of), words)
    assert_same_bits(of.one(FEED, seed=1)["y"], expected)


TOO_DEEP: dict[str, Callable[[Pipelines], Any]] = {
    "a checkpoint of lists": lambda of: of.one.request(resume="[" * 100_000),
    "a checkpoint of objects": lambda of: of.one.request(resume='{"a":' * 100_000),
    "a checkpoint of a long number": lambda of: of.one.request(resume="7" * 4000),
    "a checkpoint": lambda of: of.one.request(resume=deep()),
    "a checkpoint's version": lambda of: of.one.request(resume=of.saved(onnx_philox=deep())),
    "a checkpoint's model": lambda of: of.one.request(resume=of.saved(model=deep())),
    "a checkpoint's state": lambda of: of.one.request(resume=of.saved(state=deep())),
    "a checkpoint's seed": lambda of: of.one.request(resume=of.saved(seed=deep())),
    "a checkpoint's runs": lambda of: of.one.request(resume=of.saved(runs=deep())),
    "a state": lambda of: of.one(FEED, state=deep()),
    "a seed": lambda of: of.one(FEED, seed=deep()),
    "an input": lambda of: of.one({"x": deep()}),
}


@pytest.mark.parametrize("what", TOO_DEEP)
def test_what_is_nested_too_deep_or_long_is_refused_in_a_short_sentence(
    of: Pipelines, what: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=r"must be .*: got .*") as raised:
        TOO_DEEP[what](of)
    assert len(str(raised.value)) < 400


UNIFORM = make_reproducible(parse("g () => (float[64] y) { y = RandomUniform <shape = [64]> () }"))
REWRITTEN = make_reproducible(NOISE)
ROWS = make_reproducible(NOISE, per_row=True)
READ = OpenVino("auto").read(REWRITTEN)
NO_SEED = graphs.random_normal([2], 0.0, 1.0, "f32", op_seed=1)
FOREIGN = make_reproducible(NOISE)
FOREIGN.metadata_props.add(
    key="onnx_philox.standard_nodes",
    value="[" * 100_000,
)
PRECISION = "INFERENCE_PRECISION_HINT"
in_openvino = partial(Pipeline, NOISE, runtime="openvino")

OPTIONS = [
    (lambda: Pipeline(7), "TypeError: the model must be a path...: got int"),
    (
        lambda: Pipeline(NOISE, runtime="tvm"),
        "runtime must be 'onnx...: got 'tvm'",
    ),
    (
        lambda: Pipeline(make_reproducible(NOISE, seed=1)),
        "the model must be one with random nodes, rewritten without a seed: got one without "
        "a state as an input",
    ),
    (
        lambda: Pipeline(REWRITTEN, per_row=True),
        "got one rewritten for a single state",
    ),
    (
        lambda: Pipeline(bare_session(REWRITTEN), device="GPU"),
        "TypeError: device",
    ),
    (
        lambda: Pipeline(bare_session(REWRITTEN), source=UNIFORM),
        "source must be the model that the session was",
    ),
    (
        lambda: Pipeline(compiled(REWRITTEN), source=ROWS),
        "source must be the model that the compiled model was",
    ),
    (
        lambda: Pipeline(compiled(ROWS), source=REWRITTEN),
        "source must be the model that the compiled model was",
    ),
    (
        lambda: Pipeline(compiled(ROWS), source=READ),
        "source must be the model that",
    ),
    (
        lambda: Pipeline(compiled(REWRITTEN), source=UNIFORM),
        "source must be the model that the compiled model",
    ),
    (
        lambda: Pipeline(bare_session(REWRITTEN), runtime="openvino"),
        "runtime must be 'onnxruntime', in which the InferenceSession is...: got 'openvino'",
    ),
    (
        lambda: Pipeline(NOISE, source=REWRITTEN),
        "TypeError: source must be left out, unless the model is a session",
    ),
    (
        lambda: in_openvino(source=REWRITTEN),
        "TypeError: source must be left out, unless the model is a session or a compiled model: "
        "any other model says itself what it draws: got ModelProto",
    ),
    (
        lambda: Pipeline(onnx_philox.to_standard_nodes(UNIFORM), runtime="openvino"),
        "must be one made for OpenVINO...: got one of standard nodes made for ONNX Runtime",
    ),
    (
        lambda: Pipeline(FOREIGN, runtime="openvino"),
        "one of standard nodes '[",
    ),
    (
        lambda: Pipeline(NOISE, prividers=["CPU"]),
        "TypeError: each option must be one of sess_options, providers,",
    ),
    (
        lambda: Pipeline(NOISE, provider=["CPU"]),
        "TypeError: one of ..., per_row, ...'provider'. Did you mean",
    ),
    (
        lambda: Pipeline(NOISE, perrow=True),
        "TypeError: got 'perrow'. Did you mean 'per_row'?",
    ),
    (
        lambda: Pipeline(NOISE, config={}),
        "TypeError: got 'config'. Leave it out, or pass runtime='openvino'",
    ),
    (
        lambda: Pipeline(NOISE, providers="CPU"),
        "TypeError: providers must be a list of names, ...: got 'CPU'",
    ),
    (
        lambda: Pipeline(NOISE, providers=[("CPU", 3)]),
        "TypeError: providers must be a list of names, ...3",
    ),
    (
        lambda: Pipeline(NOISE, providers=[("CPU",)]),
        "TypeError: providers must be a list of names, ...('CPU',)",
    ),
    (
        lambda: Pipeline(NOISE, providers=[("CPU", {})]),
        "each of providers must be one ...'CPU'. Did you mean '",
    ),
    (
        lambda: Pipeline(NOISE, providers=["x"]),
        "each of providers must be one ...: got 'x'. Pass one of these.",
    ),
    (
        lambda: Pipeline(NOISE, provider_options=3),
        "TypeError: provider_options must be a list of mappings, one for each provider",
    ),
    (
        lambda: Pipeline(NOISE, disabled_optimizers=3),
        "TypeError: disabled_optimizers must be a list",
    ),
    (
        lambda: in_openvino(providers=["CPU"]),
        "TypeError: one of config, backend, device...: got 'providers'",
    ),
    (
        lambda: in_openvino(config="f32"),
        "TypeError: config must be a mapping of OpenVINO's properties to their values: got 'f32'",
    ),
    (
        lambda: in_openvino(config={3: "f32"}),
        "TypeError: config must be a mapping of OpenVINO's properties ...{3: 'f32'}",
    ),
    (
        lambda: in_openvino(config={"misspelt": 1}),
        "each property of config must be one that the device CPU has: got 'misspelt'. "
        "OpenVINO says: ...misspelt",
    ),
    (
        lambda: in_openvino(config={PRECISION.lower(): 1}),
        "got 'inference_precision_hint'. Did you mean 'INFERENCE_PRECISION_HINT'?",
    ),
    (
        lambda: in_openvino(config={PRECISION: "f33"}),
        "must be a value that the device CPU takes: got 'f33'. OpenVINO says: Wrong value f33",
    ),
    (
        lambda: in_openvino(device="NOPE"),
        "Pipeline: device must be one that OpenVINO finds here (...CPU ...): got 'NOPE'.",
    ),
    (lambda: in_openvino(device=""), "device must be one that OpenVINO finds here (...: got ''."),
    (lambda: in_openvino(device=3), "device must be one that OpenVINO finds here (...: got 3."),
    (
        lambda: in_openvino(device="HETERO:CPU.1"),
        "device must be one that OpenVINO finds here (...'HETERO:CPU",
    ),
    (
        lambda: in_openvino(device="AUTO.1"),
        "device must be one that OpenVINO finds here (...'AUTO.1'.",
    ),
    (
        lambda: pickle.dumps(Pipeline(bare_session(REWRITTEN))),
        "TypeError: must be one of a path or of bytes: got",
    ),
    (
        lambda: Pipeline(b"no.xml", runtime="openvino"),
        "the model must be the bytes of a serialised ONNX model: got b'no.xml'",
    ),
]


@pytest.mark.parametrize(("call", "words"), OPTIONS)
def test_what_cannot_be_opened_or_would_do_nothing_is_refused(call: str, words: str) -> None:
    assert len(assert_refused(call, words)) < 1000


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_model_that_is_not_there_is_named(runtime: str, tmp_path: Path) -> None:
    for name in ("no.onnx", *(["no.xml"] if runtime == "openvino" else [])):
        with pytest.raises(FileNotFoundError, match=rf"No such file or directory: '.*{name}'"):
            Pipeline(tmp_path / name, runtime=runtime)


# A state that no random node reads.


NO_STATE = "must be one with random nodes, rewritten without a seed: got one without a state"
UNREAD = "state must be the input that random nodes draw from: got 'step', which no random node is"


def counting(draw: str = "") -> onnx.ModelProto:
    """A model that counts its runs itself, in an input and an output named like a state's."""
    return parse(f"""g (uint32[6] step, float[n, 5] x) => (uint32[6] next_step, float[n, 5] a)
        <uint32[1] one = {{1}}, int64 twice = {{2}}> {{
            next_step = Add (step, one)
            {draw or "a = RandomNormalLike (x)"}
        }}""")


def recorded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the record that an earlier version wrote: `step` is its state."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    (entry,) = make_reproducible(counting()).metadata_props
    del made.metadata_props[:]
    value = entry.value.replace("random_state", "step")
    made.metadata_props.add(key=entry.key, value=value)
    return made


LOOP = """a = Loop (twice, , x) <body = b (int64 i, bool go, float[n, 5] z)
    => (bool on, float[n, 5] w) { on = Identity (go)  w = RandomNormalLike (z) }>"""


@pytest.mark.parametrize("draw", ["", LOOP], ids=["plain", "Loop"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_input_that_is_only_named_like_a_state_is_no_state(draw: str, runtime: str) -> None:
    model = make_reproducible(counting(draw))
    (entry,) = model.metadata_props
    assert '"state":"random_state"' in entry.value
    feed = {"x": X, "step": np.arange(6, dtype=np.uint32)}
    state = {"random_state": PhiloxState.for_run(5).to_array()}
    session = onnx_philox.onnxruntime.InferenceSession(model)
    (expected,) = session.run(["a"], feed | state)
    # The nodes say which state they read, whatever a record says.
    given = [Pipeline(each, runtime=runtime) for each in (model, recorded(model))]
    if runtime == "onnxruntime":
        given += [Pipeline(bare_session(recorded(model)), source=recorded(model))]
    for pipe in given:
        result = pipe(feed, seed=5)
        assert_same_bits(result["a"], expected)
        assert_same_bits(result["next_step"], feed["step"] + np.uint32(1))


def test_a_record_of_a_state_that_no_random_node_reads_is_refused(tmp_path: Path) -> None:
    """Neither of nodes with a seed inside nor, where nodes cannot be read, of others."""
    seeded = make_reproducible(counting(), seed=9)
    assert not seeded.metadata_props
    irs = {
        name: save_ir(recorded(model), tmp_path / f"{name}.xml")
        for name, model in (("seeded", seeded), ("free", make_reproducible(counting())))
    }
    loaded = compiled(irs["seeded"])
    standard = onnx_philox.to_standard_nodes
    plain = parse("""g (uint32[6] step, float[n, 5] x) => (uint32[6] next_step, float[n, 5] y) {
            y = Neg (x)  next_step = Identity (step) }""")
    for given, options, words in (
        (seeded, {}, f"the model {NO_STATE}"),
        (recorded(seeded), {}, f"the model {NO_STATE}"),
        (standard(seeded), {}, f"the model {NO_STATE}"),
        (standard(recorded(seeded)), {}, f"the model {NO_STATE}"),
        (loaded, {"source": recorded(seeded)}, f"source {NO_STATE}"),
        (plain, {}, NO_STATE),
        (bare_session(recorded(seeded)), {}, UNREAD),
        (bare_session(standard(recorded(seeded))), {}, UNREAD),
        (bare_session(recorded(make_reproducible(counting()))), {}, UNREAD),
        (irs["seeded"], {"runtime": "openvino"}, UNREAD),
        (irs["free"], {"runtime": "openvino"}, UNREAD),
        (loaded, {"source": irs["seeded"]}, UNREAD),
    ):
        assert_refused(lambda given=given, options=options: Pipeline(given, **options), words)
