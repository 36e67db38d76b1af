"""Models in a pipeline: seeds, carried states, checkpoints and threads, in both runtimes."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible, row_states
from tests.common import child
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.foreign import batch, parse
from tests.common.runtimes import RUNTIMES, OpenVino, bare_session, compiled, save_ir

STANDARD = parse("""g (float[n, 5] x) => (float[n, 5] a, float[n, 5] b, float[n, 5] y) {
    a = RandomNormalLike (x)  b = RandomUniformLike (x)  y = Add (x, a) }""")


def drawn_by(
    model: onnx.ModelProto,
    feed: dict[str, Any],
    state: Any,
) -> dict[str, np.ndarray]:
    session = onnx_philox.onnxruntime.InferenceSession(model)
    names = [output.name for output in session.get_outputs()]
    fed = {**feed, "random_state": state}
    return dict(zip(names, session.run(None, fed), strict=True))


def assert_same_answer(one: Any, other: Any) -> None:
    assert set(one) - {"next_random_state"} == set(other) - {"next_random_state"} == {"a", "b", "y"}
    for name in ("a", "b", "y"):
        assert_same_bits(one[name], other[name])


@pytest.fixture(scope="module", params=RUNTIMES)
def pipe(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(STANDARD, runtime=request.param)


@pytest.fixture(scope="module", params=RUNTIMES)
def rows(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(STANDARD, runtime=request.param, per_row=True)


def test_a_seed_draws_run_0_and_a_request_carries_its_state_from_run_to_run(pipe: Pipeline) -> None:
    request = pipe.request(seed=7)
    model = make_reproducible(STANDARD)
    for run in range(3):
        assert request.runs == run
        state = PhiloxState.for_run(7, run)
        expected = drawn_by(model, batch(2), state)
        assert_same_answer(request(batch(2)), expected)
    following = PhiloxState.for_run(7, 3)
    assert_same_bits(request.state, following.to_array())
    result = pipe(batch(2), seed=7)
    assert_same_answer(
        result,
        drawn_by(
            model,
            batch(2),
            PhiloxState.for_run(7),
        ),
    )
    states = [PhiloxState.for_run(7)]
    assert (result.seed, result.states) == (7, states)
    assert_same_bits(result.state, PhiloxState.for_run(7).to_array())


def test_each_runtime_goes_on_from_a_checkpoint_of_the_other() -> None:
    pipes = [Pipeline(STANDARD, runtime=name) for name in RUNTIMES]
    both_ways = ((pipes, 2**64 - 1), (pipes[::-1], 0))
    for (one, other), seed in both_ways:
        request = one.request(seed=seed)
        request(batch(2))
        saved = json.dumps(request.checkpoint())
        resumed = other.request(resume=saved)
        assert (resumed.seed, resumed.runs) == (seed, 1)
        expected = request(batch(2))
        drawn = resumed(batch(2))
        for name in ("a", "b"):
            assert_same_bits(drawn[name], expected[name])


def test_many_tasks_draw_what_one_draws(pipe: Pipeline) -> None:
    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(pipe.acall(batch(3), seed=seed) for seed in range(64)))

    for seed, result in enumerate(asyncio.run(all_at_once())):
        assert_same_answer(result, pipe(batch(3), seed=seed))


def test_many_threads_draw_the_rows_that_one_draws(rows: Pipeline) -> None:
    """Batches of changing size, which OpenVINO's requests of one model must not mix."""

    def is_right(number: int) -> bool:
        random = np.random.default_rng(number)
        size = (int(random.integers(1, 40)), 5)
        x = random.normal(size=size).astype(np.float32)
        seeds = random.integers(
            0,
            2**63,
            len(x),
            np.uint64,
        )
        before = x.copy()
        result = rows({"x": x}, seeds=seeds)
        alone = rows({"x": x[-1:]}, seeds=seeds[-1:])
        are_drawn = all((result[n][-1] == alone[n][0]).all() for n in ("a", "b"))
        draws = are_drawn
        return draws and (x == before).all() and np.allclose(result["y"], x + result["a"])

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(is_right, range(400)))


def test_a_seed_for_a_batch_numbers_its_rows(rows: Pipeline) -> None:
    result = rows(batch(3), seed=9)
    assert result.seed == 9
    assert_same_bits(result.state, row_states(9, range(3)))
    expected = row_states([3, 2**64 - 1])
    seeds = [3, 2**64 - 1]
    assert_same_bits(rows(batch(2), seeds=seeds).state, expected)
    request = rows.request(seed=9, rows=3)
    assert_same_answer(request(batch(3)), result)


def test_a_request_fixes_the_number_of_rows(rows: Pipeline) -> None:
    request = rows.request(seeds=[4, 5])
    request(batch(2))
    checkpoint = json.dumps(request.checkpoint())
    resumed = rows.request(resume=checkpoint)
    assert resumed.seed == (4, 5)
    expected = request(batch(2))
    assert_same_answer(expected, resumed(batch(2)))
    words = "request: the number of rows of 'x' must be 2, one for each seed or state: got 3"
    assert_refused(lambda: request(batch(3)), words)
    assert request.runs == 2


SEEDS = {"seeds": [9, 2**63, 0, 9, 4]}
BEGUN = [({"runtime": name}, begun) for name in RUNTIMES for begun in ({"seed": 5}, SEEDS)]


@pytest.mark.parametrize(("how", "begun"), [*BEGUN, ({"alignment": "pytorch"}, SEEDS)])
def test_a_data_set_gives_the_same_whatever_its_batches(
    how: dict[str, str],
    begun: dict[str, Any],
) -> None:
    rows = Pipeline(STANDARD, per_row=True, **how)
    x = batch(5)["x"]
    whole = rows({"x": x}, **begun)
    all_cuts = ([5], [1] * 5, [2, 0, 3])
    for cuts in all_cuts:
        edges = np.cumsum(cuts)
        feeds = [{"x": part} for part in np.split(x, edges[:-1])]
        results = list(rows.map(feeds, **begun))
        for name in ("a", "b", "y"):
            parts = [r[name] for r in results]
            assert_same_bits(np.concatenate(parts), whole[name])
        if "seeds" in begun:
            seeds = [seed for r in results for seed in r.seed]
            assert seeds == begun["seeds"]
    if "seed" in begun:
        (last,) = rows.map(
            [{"x": x[2:]}],
            seed=5,
            first_row=2,
        )
        expected = whole["a"][2:]
        assert_same_bits(last["a"], expected)


def test_a_model_is_given_in_any_form(tmp_path: Path) -> None:
    model = make_reproducible(STANDARD)
    expected = Pipeline(STANDARD)(batch(3), seed=1)
    for name, given in (("standard", STANDARD), ("rewritten", model)):
        onnx.save(given, tmp_path / f"{name}.onnx")
    ir = save_ir(model, tmp_path / "model.xml")
    loaded = compiled(model)
    for given in (
        tmp_path / "standard.onnx",
        tmp_path / "rewritten.onnx",
        str(tmp_path / "rewritten.onnx"),
        STANDARD.SerializeToString(),
        bare_session(model),
        onnx_philox.onnxruntime.InferenceSession(model),
    ):
        assert_same_answer(Pipeline(given)(batch(3), seed=1), expected)
    read = OpenVino("auto").read(model)
    sources = (model, read, model.SerializeToString(), ir)
    for pipe in (Pipeline(ir, runtime="openvino"), *(Pipeline(loaded, source=s) for s in sources)):
        result = pipe(batch(3), seed=1)
        for name in ("a", "b"):
            assert_same_bits(result[name], expected[name])
    words = "compiled model must be ...: got one that says nothing of its random nodes"
    assert_refused(lambda: Pipeline(loaded), words)
    assert_refused(lambda: Pipeline(ir), "runtime='openvino'")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_input_that_nothing_reads_has_its_type_too(runtime: str) -> None:
    model = make_reproducible(STANDARD)
    unused = onnx.helper.make_tensor_value_info("unused", 7, [2])
    model.graph.input.append(unused)
    pipe = Pipeline(model, runtime=runtime)
    numbers = np.arange(2)
    assert_same_answer(
        pipe({**batch(2), "unused": [1, 2]}, seed=1),
        pipe(batch(2) | {"unused": numbers}, seed=1),
    )
    for given in ([1.5, 2], np.zeros(2, np.float32)):
        with pytest.raises(TypeError, match=r"'unused' must be int64.*: got float\d\d"):
            pipe({**batch(2), "unused": given}, seed=1)


def test_an_input_of_bfloat16_takes_no_other_floats() -> None:
    # OpenVINO would take the first half of their bytes.
    model = make_reproducible(
        parse("""g (bfloat16[4] x) => (float[4] y) {
            c = Cast <to = 1> (x)  a = RandomNormalLike (c)  y = Sub (c, a) }""")
    )
    x = np.array([1.5, -2, 3, 0.25], np.float32)
    rounded = x.astype(ml_dtypes.bfloat16)
    expected = Pipeline(model)({"x": rounded}, seed=1)["y"]
    pipe = Pipeline(model, runtime="openvino")
    for given in (x.astype(ml_dtypes.bfloat16), x.tolist()):
        answer = pipe({"x": given}, seed=1)
        assert_same_bits(answer["y"], expected)
    for runtime in RUNTIMES:
        with pytest.raises(TypeError, match=r"'x' must be bfloat16.*: got float32"):
            Pipeline(model, runtime=runtime)({"x": x}, seed=1)


# OpenVINO calls what goes through a Dropout by its last name.
DROPOUTS = parse("""g (float[n, 5] z, float[3] unread, float[n, 5] x)
    => (float[n, 5] a, float[n, 5] w, float[n, 5] y, float[n, 5] v) {
        d, m = Dropout (z)  e = Dropout (d)  v = Dropout (e)
        a = RandomNormalLike (x)  w = Dropout (a)  y = Sub (e, x) }""")


def test_inputs_and_outputs_keep_the_names_that_openvino_changes(tmp_path: Path) -> None:
    numbers_in_a_row = np.arange(20, dtype=np.float32)
    numbers = numbers_in_a_row.reshape(2, 2, 5)
    feed = {
        "z": numbers[0] * 10,
        "unread": np.zeros(3, np.float32),
        "x": numbers[1],
    }
    model = make_reproducible(DROPOUTS)
    loaded = compiled(model)
    expected = Pipeline(model)(feed, seed=4)
    assert list(expected) == ["a", "w", "y", "v"]
    both = (Pipeline(model, runtime="openvino"), Pipeline(loaded, source=model))
    for pipe in both:
        result = pipe(feed, seed=4)
        assert list(result) == ["a", "w", "y", "v"]
        for name, values in expected.items():
            assert_same_bits(result[name], values)
        # OpenVINO's own name means the same.
        (name,) = loaded.input(0).get_names()
        renamed = {name: feed["z"], "x": feed["x"]}
        assert name != "z"
        answer = pipe(renamed, seed=4)
        assert_same_bits(answer["y"], expected["y"])
        with pytest.raises(ValueError, match=r"'z' must be in the feed: got nothing"):
            pipe({"x": feed["x"]}, seed=4)
    # Two outputs of one tensor are two in OpenVINO's own file, which has its own names.
    ir = save_ir(model, tmp_path / "model.xml")
    result = Pipeline(ir, runtime="openvino")(renamed, seed=4)
    assert list(result) == ["a", "w", "y", "v"]
    assert_same_bits(result["w"], expected["a"])


UNIFORM = make_reproducible(parse("g () => (float[64] y) { y = RandomUniform <shape = [64]> () }"))


def test_openvino_is_told_the_device() -> None:
    pipe = Pipeline(UNIFORM, runtime="openvino", device="HETERO:CPU")
    assert pipe._engine.model.compiled.get_property("MULTI_DEVICE_PRIORITIES") == "CPU"
    expected = Pipeline(UNIFORM)({}, seed=3)["y"]
    assert_same_bits(pipe({}, seed=3)["y"], expected)
    assert " on HETERO:CPU: " in repr(pipe)


@pytest.mark.parametrize("given", ["model", "IR"])
def test_standard_nodes_run_in_openvino_at_the_precision_that_they_are_made_for(
    given: str, tmp_path: Path
) -> None:
    # Where the processor has bf16 or f16, that is the default.
    model: Any = onnx_philox.to_standard_nodes(UNIFORM, target="openvino")
    if given == "IR":
        model = save_ir(model, tmp_path / "model.xml")
    expected = Pipeline(UNIFORM)({}, seed=3)["y"]
    opened = Pipeline(model, runtime="openvino")
    assert_same_bits(opened({}, seed=3)["y"], expected)
    used = opened._engine.model.compiled.get_property("INFERENCE_PRECISION_HINT")
    assert used == ov.Type.f32
    for precision in ("bf16", ov.Type.bf16):
        config = {"INFERENCE_PRECISION_HINT": precision}
        words = "must be f32: got bf16, at which standard nodes draw different"
        assert_refused(lambda: Pipeline(model, runtime="openvino", config=config), words)  # noqa: B023


def test_a_model_of_standard_nodes_has_the_fingerprint_of_its_draws() -> None:
    model = make_reproducible(STANDARD)
    standard = Pipeline(onnx_philox.to_standard_nodes(model))
    assert standard.streams == Pipeline(model).streams
    request = Pipeline(model).request(seed=2)
    request(batch(2))
    resumed = standard.request(resume=request.checkpoint())
    expected = request(batch(2))
    assert_same_answer(resumed(batch(2)), expected)


DELETED = """
import os, sys
import onnx_philox
os.mkdir("gone"), os.chdir("gone"), os.rmdir("../gone")
for call in (
    lambda: onnx_philox.Pipeline(sys.argv[1], runtime="openvino"),
    lambda: onnx_philox.onnxruntime.InferenceSession("n.onnx"),
):
    try:
        call()
    except FileNotFoundError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a working directory cannot be deleted there")
def test_a_working_directory_that_was_deleted_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(make_reproducible(STANDARD), path)
    ran = child.python("-c", DELETED, str(path), cwd=tmp_path)
    assert ran.stdout.splitlines() == [
        "Pipeline: the working directory has been deleted, and OpenVINO cannot be imported there. "
        "Change to another with os.chdir.",
        "[Errno 2] The working directory has been deleted; give an absolute path: 'n.onnx'",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_is_handled_after_pipelines_of_openvino_were_closed() -> None:
    program = Path(__file__).with_name("signal_after_closing.py")
    assert child.forked(program).stdout == "handled 15\n"


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_forked_process_draws_after_a_pipeline_of_openvino_was_closed() -> None:
    program = Path(__file__).with_name("fork_after_closing.py")
    assert child.forked(program).stdout == "child ended with 0\n"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_copied_or_pickled_pipeline_draws_the_same(tmp_path: Path, runtime: str) -> None:
    onnx.save(STANDARD, tmp_path / "model.onnx")
    for given in (STANDARD, tmp_path / "model.onnx", STANDARD.SerializeToString()):
        pipe = Pipeline(given, runtime=runtime, per_row=True)
        deep = copy.deepcopy({"a": [pipe]})
        made = [copy.copy(pipe), deep["a"][0]]
        made += [] if given is STANDARD else [pickle.loads(pickle.dumps(pipe))]
        for again in made:
            expected = (repr(pipe), True, runtime)
            assert (repr(again), again.is_per_row, again.runtime) == expected
            expected = pipe(batch(2), seed=4)["y"]
            answer = again(batch(2), seed=4)
            assert_same_bits(answer["y"], expected)


def test_a_pipeline_says_what_it_is_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(STANDARD, path)
    with Pipeline(path, runtime="openvino", device="CPU") as pipe:
        version = pipe._engine.model.version
        nodes = len(pipe.streams.nodes)
        assert repr(pipe) == (
            f"<Pipeline of {str(path)!r} in openvino {version} on CPU: {nodes} random nodes "
            "with Philox's numbers, one state>"
        )
        ports = {name: str(port) for name, port in pipe.inputs.items()}
        assert ports == {"x": "float32 of shape [n, 5]"}
        expected = list(pipe(batch(2), seed=4))
        assert pipe.outputs == expected
        request = pipe.request(seed=4)
    answer = Pipeline(path)
    expected = answer(batch(2), seed=4)["y"]
    assert_same_bits(request(batch(2))["y"], expected)
    assert repr(pipe) == "<Pipeline, closed>"
    with pytest.raises(ValueError, match=r"the pipeline must be open: got closed. Make another"):
        pipe(batch(2), seed=4)


def test_the_model_itself_says_which_random_nodes_it_has() -> None:
    plain = make_reproducible(STANDARD)
    by_rows = make_reproducible(STANDARD, per_row=True)
    prints = {Pipeline(bare_session(m)).streams.fingerprint for m in (plain, by_rows)}
    assert len(prints) == 2
    (entry,) = (p for p in plain.metadata_props if p.key == "onnx_philox.streams")
    streams = json.loads(entry.value)
    expected = [["RandomNormal", "f32", 0, 0], ["RandomUniform", "f32", 0, 1]]
    assert streams["nodes"] == expected
    assert (streams["state"], streams["batch"]) == ("random_state", None)
    # Without the metadata, the nodes are read.
    del plain.metadata_props[:]
    assert Pipeline(plain).streams.fingerprint in prints


def resident() -> int:
    words = Path("/proc/self/statm")
    pages = int(words.read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_short_soak_is_right_and_flat() -> None:
    """Requests of random size from many threads; every hundredth is checked; memory stays flat."""
    pipes = [Pipeline(STANDARD, runtime=name) for name in RUNTIMES]
    single = Pipeline(make_reproducible(STANDARD), backend="python")

    def is_right(number: int) -> bool:
        random = np.random.default_rng(number)
        rows = int(random.integers(1, 3000))
        seed = int(random.integers(2**63))
        result = pipes[number % 2](batch(rows), seed=seed)
        if number % 100 > 1:
            return True
        expected = single(batch(rows), seed=seed)
        return all(result[n].tobytes() == expected[n].tobytes() for n in ("a", "b"))

    with ThreadPoolExecutor(8) as threads:
        # When each thread has had its memory.
        assert all(threads.map(is_right, range(1000)))
        half = resident()
        assert all(threads.map(is_right, range(1000, 2000)))
    assert resident() - half < 64 * 2**20


def test_a_path_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    models = Path(__file__).parents[1] / "models"
    path.write_bytes((models / "mc_dropout.onnx").read_bytes())
    opened: list[object] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and arguments[0] == str(path):
            opened.append(arguments)

    # It stays for good, and notes this file alone.
    sys.addaudithook(note)
    Pipeline(path)
    assert len(opened) == 1


def test_a_state_of_the_users_own_stays_an_input_beside_that_of_the_rewrite() -> None:
    own = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        g (uint32[6] state, float[3] x) => (float[3] y, float[3] v, uint32[6] next_state) {
            shape = Constant <value_ints = [3]> ()
            mean = Constant <value_float = 0.0> ()
            scale = Constant <value_float = 1.0> ()
            v, next_state = onnx_philox.RandomNormal <output_type = "f32"> (
                shape, mean, scale, state)
            n = RandomNormalLike (x)
            y = Add (x, n)
        }""")
    pipe = Pipeline(own)
    assert pipe.streams.state == "random_state"
    assert list(pipe.inputs) == ["state", "x"]
