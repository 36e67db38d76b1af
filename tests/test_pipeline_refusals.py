"""What `Pipeline` refuses: calls, feeds, states, checkpoints, options, and what it cannot run."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cases import assert_refused, assert_same_bits, table
from foreign import NOISE, batch, parse
from runtimes import RUNTIMES, OpenVino, bare_session, compiled, save_ir

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, TorchState, graphs, make_reproducible, row_states

FEED = batch(2)
X = FEED["x"]


def deep() -> list[Any]:
    """A list in a list, and so on: too deep to print."""
    inner: list[Any] = []
    for _ in range(30_000):
        inner = [inner]
    return inner


@pytest.fixture(scope="module", params=RUNTIMES)
def names(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the calls name: a pipeline of one state, two of a state for each row, and so on."""
    runtime = request.param
    one, rows, torch_rows = (
        Pipeline(NOISE, runtime=runtime, **options)
        for options in ({}, {"per_row": True}, {"per_row": True, "alignment": "pytorch"})
    )
    uniform = graphs.random_uniform([2], 0.0, 1.0, "f32", stateful=True)
    return {
        **globals(),
        **{"one": one, "rows": rows, "torch_rows": torch_rows, "copy": copy, "pickle": pickle},
        **{"row_states": row_states, "TorchState": TorchState},
        "saved": lambda **changes: one.request(seed=1).checkpoint() | changes,
        "of_another": Pipeline(uniform, runtime=runtime).request(seed=1).checkpoint(),
        "without_inputs": Pipeline(
            graphs.random_normal([2], 0.0, 1.0, "f32", stateful=True, per_row=True)
        ),
    }


CALLS = table("""
one({"x": X.astype(np.int64)}) -> TypeError: Pipeline: the input 'x' must be float32: got int64.
one({"x": X.astype(object)}) -> TypeError: the input 'x' must be float32: got object. Pass
one({"x": X.astype("M8[s]")}) -> TypeError: the input 'x' must be float32: got datetime64
one({"x": [1, [2, 3]]}) -> the input 'x' must be an array, or lists of equal lengths: got lists
one({"x": ["a", "b", "c"]}) -> TypeError: the input 'x' must be float32...: got str32
one({"x": "abc"}) -> TypeError: the input 'x' must be float32...: got str
one({"x": {}}) -> TypeError: the input 'x' must be float32...: got dict
one({"x": None}) -> TypeError: the input 'x' must be float32: got None. Pass an array of that type.
one({"x": [1, 2]}) -> the input 'x' must be of shape [..., 5]: got shape [2]. Pass an array of
one({**FEED, 3: 1}) -> each input must be one of x (float32): got 3.
one(None) -> TypeError: the feed must be a mapping of names to arrays: got NoneType. Pass the in
one([1], seed=1) -> TypeError: Pipeline: the feed must be a mapping of names to arrays: got list.
rows([1], seed=1) -> TypeError: Pipeline: the feed must be a mapping of names to arrays: got list.
next(rows.map([[1]], seed=1)) -> TypeError: Pipeline: the feed must be a mapping of names to arrays
rows({"x": [[1.0], [2.0, 3.0]]}, seed=1) -> 'x' must be an array, or lists of equal lengths: got li
rows({"x": X[0]}) -> Pipeline: the input 'x' must be of shape [n, 5]: got shape [5].
rows({"x": X[0]}, seeds=[1]) -> Pipeline: the input 'x' must be of shape [n, 5]: got shape [5].
one(FEED, seed=-1) -> seed must be an integer from 0 to 2^64-1...: got -1
one(FEED, seed=1.5) -> TypeError: seed must be an integer from 0 to 2^64-1...: got 1.5
one(FEED, seed=True) -> TypeError: seed must be an integer from 0 to ...: got True. Pass an int
rows(FEED, seed=True) -> TypeError: seed must be an integer from 0 to ...: got True. Pass an int
one(FEED, seed=(1, 2)) -> TypeError: single integer: got (1, 2). Pass seeds=
rows(FEED, seed=2**64) -> seed must be an integer from 0 to 2^64-1: got 18446744073709551616
rows(FEED, seed=[1, 2]) -> TypeError: single integer: got [1, 2]. Pass seeds=
rows(FEED, seed=1, seeds=[1, 2]) -> seed must be given without seeds: got both
one(FEED, seeds=[1, 2]) -> Pipeline: the model must be one with a state for each row, to be run
-> ...: got one with a single state for the whole batch
rows(FEED, seeds=[1, 2, 3]) -> Pipeline: the number of rows of 'x' must be 3, one for each seed or
rows(FEED, seeds=[1, -1]) -> Pipeline: seeds[1] must be an integer...: got -1
rows(FEED, seeds=[1, True]) -> TypeError: seeds[1] must be an integer from 0 to ...: got True. Pass
rows({"x": X[:1]}, seeds=np.array([True])) -> TypeError: seeds[0] must be an integer from ...True
rows(FEED, seeds="ab") -> TypeError: seeds must be an integer from 0 to 2^64-1, or a list of such
rows({}, seed=1) -> of the input 'x': got nothing. Feed it, or pass seeds.
torch_rows(FEED, seeds=[3, True]) -> TypeError: seeds[1] must be an integer ...: got True
rows.map([], seed=True) -> TypeError: seed must be an integer from 0 to ...: got True
torch_rows(FEED, seeds=[1, -1]) -> must be ...: got -1. torch takes it for 18446744073709551615
torch_rows(FEED, seeds=np.array([1, -1])) -> seeds[1] must be ...: got -1. torch takes it for
one.map([FEED], seed=1) -> Pipeline.map: ...: got one with a single state for the whole batch
rows.map([FEED], seed=2**64) -> Pipeline.map: seed must be an integer from 0 to 2^64-1...
-> : got 18446744073709551616
rows.map([], seed=1, first_row=1.5) -> TypeError: first_row must be an integer from 0 to 2^32-1
-> ...: got 1.5
rows.map([], seed=1, first_row=True) -> TypeError: first_row must be an integer from ...: got True
rows.map([], seed=1, run=True) -> TypeError: run must be an integer from 0 to 2^32-1: got True.
rows.map([], seed=1, progress="no") -> TypeError: progress must be True or False: got 'no'
rows.map(FEED, seed=1) -> TypeError: batches must be an iterable of feeds: got dict
rows.map(None, seed=1) -> TypeError: batches must be an iterable of feeds: got NoneType
rows.map([FEED], seeds=[1, 2], seed=1) -> seeds must be given alone: got seed, first_row or
rows.map([FEED], seeds=[1, 2], run=1) -> seeds must be given alone: ... Leave the others out.
list(rows.map([FEED], seeds=[1])) -> Pipeline.map: seeds must be one ...: got 1 fo
list(rows.map([FEED], seeds=[1, 2, 3])) -> Pipeline.map: seeds must be one ...: got 3 fo
list(rows.map([{}], seed=1)) -> by the first dimension of the input 'x': got nothing. Feed it.
list(without_inputs.map([{}], seed=1)) -> does: got nothing. Call the pipeline with seeds, or with
one.request(seed=True) -> TypeError: seed must be an integer from 0 to ...: got True. Pass an int
one.request(seed=1, rows=7) -> request: the model must be one with a state for each row, to be run
-> with rows: got one with a single
one.request(rows=7) -> to be run with rows
rows.request(seeds=[1], rows=7) -> rows must be given without seeds, which are one for each row: got
rows.request(seeds=[1, -1]) -> Pipeline.request: seeds[1] must be an integer
rows.request(seed=1) -> the number of rows must be given by seeds, or by rows beside the seed
rows.request(seed=1, rows=-1) -> Pipeline.request: rows must be an integer from 0 to 2^32: got -1.
rows.request(seed=1, rows=1.5) -> TypeError: rows must be an integer...: got 1.5
rows.request(seed=1, rows=True) -> TypeError: rows must be an integer from 0 to ...: got True
one.request(state=[0] * 6, seed=1) -> state must be given alone: got seed beside it. Leave
rows.request(state=row_states([1]), rows=1) -> state must be given alone: got rows beside it
one.request(state=TorchState.from_seed(1)) -> request: state must be six words of 32 bits: got Torch
rows.request(state=PhiloxState(0, 1)) -> request: state must be words of 32 bits, six for each row
one.request(state=[2**32, 0, 0, 0, 0, 0]) -> state must be six words of 32 bits: got [4294967296
one.request(state=[True, 0, 0, 0, 0, 0]) -> state must be six words of 32 bits: got [True
one.request(resume={}, seed=1) -> resume must be given alone: got seed ... Leave the others out.
one.request(state=[0] * 6, resume={}) -> resume must be given alone: got state beside it
one.request(resume="{") -> resume must be a checkpoint...: got no JSON
one.request(resume=of_another) -> resume must be ...: got one of a model with the fingerprint '
one.request(resume=saved(onnx_philox=2)) -> resume must be a checkpoint of version 1...version 2
one.request(resume=saved(onnx_philox=True)) -> must be a checkpoint of version 1...version True
one.request(resume=saved(onnx_philox=1.0)) -> must be a checkpoint of version 1...: got version 1.0
one.request(resume=saved(state=[1, 2, 3])) -> resume's state must be six words...: got [1, 2, 3]
one.request(resume=saved(state=[0, 0, 0, 0, 0, 2**32])) -> resume's state must be
one.request(resume=saved(state=[0.5] * 6)) -> resume's state must be
one.request(resume=saved(state=[[0] * 6] * 2)) -> resume's state must be
one.request(resume=saved(runs=-1)) -> resume's runs must be an integer of 0 or more: got -1
one.request(resume=saved(runs=True)) -> resume's runs must be an integer of 0 or more: got True
one.request(resume=saved(seed="abc")) -> resume's seed must be null, a seed of 0 to 2^64-1, or one
-> for each row: got 'abc'
one.request(resume=saved(seed=[1] * 6)) -> resume's seed must be null, ...: got [1, 1
one.request(resume=saved(seed=2**64)) -> resume's seed must be null, ...: got 18446744073709551616
copy.copy(one.request(seed=1)) -> TypeError: a request must be neither copied nor pickled: got a
copy.deepcopy(one.request(seed=1)) -> TypeError: must be neither copied nor pickled: ... checkpoint
pickle.dumps(one.request(seed=1)) -> TypeError: a request must be neither copied nor pickled: got
pickle.dumps(one) -> TypeError: must be one of a path or of bytes: got ... in memory
""")


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_a_call_is_refused_and_the_pipeline_answers_as_before(
    names: dict[str, Any], call: str, words: str
) -> None:
    one = names["one"]
    expected = one(FEED, seed=1)["y"]
    assert_refused(lambda: eval(call, names), words)
    assert_same_bits(one(FEED, seed=1)["y"], expected)


@pytest.mark.parametrize(
    "call",
    [
        "one.request(resume='[' * 100_000)",
        """one.request(resume='{"a":' * 100_000)""",
        "one.request(resume='7' * 4000)",
        "one.request(resume=deep())",
        *(
            f"one.request(resume=saved({key}=deep()))"
            for key in ("onnx_philox", "model", "state", "seed", "runs")
        ),
        "one(FEED, state=deep())",
        "one(FEED, seed=deep())",
        "one({'x': deep()})",
    ],
)
def test_what_is_nested_too_deep_or_long_is_refused_in_a_short_sentence(
    names: dict[str, Any], call: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=r"must be .*: got .*") as raised:
        eval(call, names)
    assert len(str(raised.value)) < 400


UNIFORM = make_reproducible(parse("g () => (float[64] y) { y = RandomUniform <shape = [64]> () }"))
REWRITTEN = make_reproducible(NOISE)
ROWS = make_reproducible(NOISE, per_row=True)
READ = OpenVino("auto").read(REWRITTEN)
NO_SEED = graphs.random_normal([2], 0.0, 1.0, "f32", op_seed=1)
FOREIGN = make_reproducible(NOISE)
FOREIGN.metadata_props.add(key="onnx_philox.standard_nodes", value="[" * 100_000)
PRECISION = "INFERENCE_PRECISION_HINT"
in_openvino = partial(Pipeline, NOISE, runtime="openvino")

OPTIONS = table("""
Pipeline(7) -> TypeError: the model must be a path...: got int
Pipeline(NOISE, runtime="tvm") -> runtime must be 'onnx...: got 'tvm'
Pipeline(make_reproducible(NOISE, seed=1)) -> the model must be one with random nodes, rewritten
-> without a seed: got one without a state as an input
Pipeline(REWRITTEN, per_row=True) -> got one rewritten for a single state
Pipeline(bare_session(REWRITTEN), device="GPU") -> TypeError: device
Pipeline(bare_session(REWRITTEN), source=UNIFORM) -> source must be the model that the session was
Pipeline(compiled(REWRITTEN), source=ROWS) -> source must be the model that the compiled model was
Pipeline(compiled(ROWS), source=REWRITTEN) -> source must be the model that the compiled model was
Pipeline(compiled(ROWS), source=READ) -> source must be the model that
Pipeline(compiled(REWRITTEN), source=UNIFORM) -> source must be the model that the compiled model
Pipeline(bare_session(REWRITTEN), runtime="openvino") -> runtime must be 'onnxruntime', in which
-> the InferenceSession is...: got 'openvino'
Pipeline(NOISE, source=REWRITTEN) -> TypeError: source must be left out for a model that is not
in_openvino(source=REWRITTEN) -> TypeError: source must be left out for a model that is not in a
-> ...: got ModelProto
Pipeline(onnx_philox.to_standard_nodes(UNIFORM), runtime="openvino")
-> must be one made for OpenVINO...: got one of standard nodes made for ONNX Runtime
Pipeline(FOREIGN, runtime="openvino") -> one of standard nodes '[
Pipeline(NOISE, prividers=["CPU"]) -> TypeError: each option must be one of sess_options, providers,
Pipeline(NOISE, provider=["CPU"]) -> TypeError: one of ..., per_row, ...'provider'. Did you mean
Pipeline(NOISE, perrow=True) -> TypeError: got 'perrow'. Did you mean 'per_row'?
Pipeline(NOISE, config={}) -> TypeError: got 'config'. Leave it out, or pass runtime='openvino'
Pipeline(NOISE, providers="CPU") -> TypeError: providers must be a list of names, ...: got 'CPU'
Pipeline(NOISE, providers=[("CPU", 3)]) -> TypeError: providers must be a list of names, ...3
Pipeline(NOISE, providers=[("CPU",)]) -> TypeError: providers must be a list of names, ...('CPU',)
Pipeline(NOISE, providers=[("CPU", {})]) -> each of providers must be one ...'CPU'. Did you mean '
Pipeline(NOISE, providers=["x"]) -> each of providers must be one ...: got 'x'. Pass one of these.
Pipeline(NOISE, provider_options=3) -> TypeError: provider_options must be a list of map
Pipeline(NOISE, disabled_optimizers=3) -> TypeError: disabled_optimizers must be a list
in_openvino(providers=["CPU"]) -> TypeError: one of config, backend, device...: got 'providers'
in_openvino(config="f32")
-> TypeError: config must be a mapping of OpenVINO's properties to their values: got 'f32'
in_openvino(config={3: "f32"})
-> TypeError: config must be a mapping of OpenVINO's properties ...{3: 'f32'}
in_openvino(config={"misspelt": 1}) -> each property of config must be one that the device CPU has:
-> got 'misspelt'. OpenVINO says: ...misspelt
in_openvino(config={PRECISION.lower(): 1})
-> got 'inference_precision_hint'. Did you mean 'INFERENCE_PRECISION_HINT'?
in_openvino(config={PRECISION: "f33"}) -> must be a value that the device CPU takes: got 'f33'.
-> OpenVINO says: Wrong value f33
in_openvino(device="NOPE") -> Pipeline: device must be one that OpenVINO finds here (...CPU
-> ...): got 'NOPE'.
in_openvino(device="") -> device must be one that OpenVINO finds here (...: got ''.
in_openvino(device=3) -> device must be one that OpenVINO finds here (...: got 3.
in_openvino(device="HETERO:CPU.1") -> device must be one that OpenVINO finds here (...'HETERO:CPU
in_openvino(device="AUTO.1") -> device must be one that OpenVINO finds here (...'AUTO.1'.
pickle.dumps(Pipeline(bare_session(REWRITTEN))) -> TypeError: must be one of a path or of bytes: got
Pipeline(b"no.xml", runtime="openvino") -> the model must be the bytes of a serialised ONNX
-> model: got b'no.xml'
""")


@pytest.mark.parametrize(("call", "words"), OPTIONS)
def test_what_cannot_be_opened_or_would_do_nothing_is_refused(call: str, words: str) -> None:
    assert len(assert_refused(lambda: eval(call), words)) < 1000


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
    made.metadata_props.add(key=entry.key, value=entry.value.replace("random_state", "step"))
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
