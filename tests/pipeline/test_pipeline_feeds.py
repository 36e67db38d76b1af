"""What a pipeline is fed is used or refused: states, batches that disagree, bound memory."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from openvino import opset8

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, make_reproducible, row_states
from tests.common import openvino_models as made
from tests.common.cases import assert_refused, assert_same_bits
from tests.common.foreign import NOISE, batch, parse
from tests.common.runtimes import RUNTIMES, bare_session, compiled, save_ir

# z is [3, n], so that its batch is its last dimension; w belongs to no batch. An IR keeps no names:
# what is added has the same rows.
THREE = parse("""g (float[n, 5] x, float[n, 5] y, float[3, n] z, float[m] w)
    => (float[n, 5] out, float[3, n] more, float[m] rest) {
        a = RandomNormalLike (x)  b = Add (x, a)  out = Add (b, y)
        one = Constant <value_ints = [1]> ()  sum = ReduceSum <keepdims = 0> (b, one)
        more = Add (z, sum)  rest = Neg (w) }""")


def three(
    x: int,
    y: int,
    z: int,
    w: int = 4,
) -> dict[str, np.ndarray]:
    shapes = {
        "x": (x, 5),
        "y": (y, 5),
        "z": (3, z),
        "w": (w,),
    }
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}


# Exporters kept inputs for values that the file has: a ratio, a switch, weights.
_OVERRIDDEN = {
    "ratio": ("<float ratio = {0.5}, bool on = {1}>", "d = Dropout (x, ratio, on)", 1),
    "on": ("<float ratio = {1}, bool on = {0}>", "d = Dropout (x, ratio, on)", True),
    "w": ("<float w = {1}>", "e = RandomNormalLike (x)  d = Mul (w, e)", 0),
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", ["ratio", "on", "w"])
def test_a_fed_input_that_the_file_has_a_value_for_is_computed_with_or_refused(
    runtime: str, name: str
) -> None:
    values, nodes, fed = _OVERRIDDEN[name]
    model = parse(f"""
        g (float[n, 5] x, {"bool on" if name == "on" else f"float {name}"}) => (float[n, 5] y)
        {values} {{ {nodes}  y = Identity (d) }}""")
    pipe = Pipeline(model, runtime=runtime)
    feed = {"x": np.ones((2, 5), np.float32)}
    assert pipe(feed, seed=1)["y"].any()
    feed[name] = np.array(fed, bool if name == "on" else np.float32)
    if runtime == "openvino":
        words = f"one of x (float32): got '{name}'. OpenVINO computes with the file's value: leave"
        assert_refused(lambda: pipe(feed, seed=1), words)
        return
    assert not pipe(feed, seed=1)["y"].any()
    with pytest.raises(TypeError, match=rf"the input '{name}' must be .*: got float64"):
        pipe(feed | {name: np.array(1.0)}, seed=1)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("per_row", [False, True])
def test_a_state_in_a_feed_is_refused_not_dropped(runtime: str, per_row: bool) -> None:
    pipe = Pipeline(NOISE, runtime=runtime, per_row=per_row)
    feed = {**batch(1), "random_state": PhiloxState.for_run(99).to_array()}
    begun: dict[str, Any] = {"seeds": [1]} if per_row else {"seed": 1}
    request = pipe.request(**begun)
    calls = [
        lambda: pipe(feed),
        lambda: pipe(feed, **begun),
        lambda: request(feed),
    ]
    for call in (*calls, *([lambda: list(pipe.map([feed], seed=1))] if per_row else [])):
        assert_refused(call, "'random_state' must be left out of the feed...Pass it as state=")
    assert request.runs == 0


def opened(kind: str, folder: Path) -> Pipeline:
    """THREE in a runtime, in a session or compiled model of the user's, or as an IR."""
    if kind in RUNTIMES:
        return Pipeline(THREE, runtime=kind, per_row=True)
    model = make_reproducible(THREE, per_row=True)
    if kind == "session":
        return Pipeline(bare_session(model), source=model)
    if kind == "compiled":
        return Pipeline(compiled(model), source=model)
    return Pipeline(save_ir(model, folder / "model.xml"), runtime="openvino")


@pytest.mark.parametrize("kind", [*RUNTIMES, "session", "compiled", "IR"])
@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (three(1, 2, 1), r"number of rows of 'y' must be 1, as that of 'x' is: got 2\. Feed all"),
        (three(2, 1, 2), "number of rows of 'y' must be 2, as that of 'x' is: got 1"),
        (three(2, 2, 1), "rows of dimension 1 of 'z' must be 2, as that of 'x' is: got 1"),
        (three(1, 1, 0), "rows of dimension 1 of 'z' must be 1, as that of 'x' is: got 0"),
    ],
)
def test_inputs_of_one_batch_that_disagree_are_refused(
    kind: str,
    feed: dict[str, np.ndarray],
    words: str,
    tmp_path: Path,
) -> None:
    pipe = opened(kind, tmp_path)
    rows = len(feed["x"])
    request = pipe.request(seeds=range(rows))
    for call in (
        lambda: pipe(feed),
        lambda: pipe(feed, seed=1),
        lambda: pipe(feed, seeds=range(rows)),
        lambda: pipe(feed, state=row_states(range(rows))),
        lambda: request(feed),
        lambda: list(pipe.map([feed], seed=1)),
        lambda: pipe({name: array.tolist() for name, array in feed.items()}, seed=1),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    for size in (1, 4):
        # Another dimension may have any size.
        assert pipe(three(2, 2, 2, size), seeds=[1, 2])["rest"].shape == (size,)


def of_openvino() -> ov.Model:
    """Inputs whose dimensions have no names: x and y are of one batch, w and z of none."""
    model = parse("""g (float[n, 4] x, float[n, 4] y, float[m, 4] w, float[k] z)
        => (float[n, 4] a, float[l, 4] b, float[k] c) {
            u = RandomUniformLike (x)  d = Add (x, u)  a = Add (d, y)
            b = Concat <axis = 0> (x, w)  c = Neg (z) }""")
    return ov.Core().read_model(model.SerializeToString())


@pytest.mark.parametrize("given", ["model", "file", "compiled"])
def test_where_dimensions_have_no_names_the_model_itself_says_what_the_batch_is(
    given: str, tmp_path: Path
) -> None:
    model = make_reproducible(of_openvino(), per_row=True)
    what = model
    how = {"runtime": "openvino"}
    if given == "file":
        what = tmp_path / "model.xml"
        ov.save_model(model, what)
    if given == "compiled":
        what = compiled(model)
        how = {"source": model}
    pipe = Pipeline(what, **how)

    def fed(**rows: int) -> dict[str, np.ndarray]:
        shapes = {
            "x": (2, 4),
            "y": (2, 4),
            "w": (2, 4),
            "z": (2,),
        }
        given = {name: (rows.get(name, 2), *shape[1:]) for name, shape in shapes.items()}
        return {name: np.zeros(shape, np.float32) for name, shape in given.items()}

    for rows, words in (
        ({"x": 1}, "number of rows of 'y' must be 1, as that of 'x' is: got 2"),
        ({"y": 1}, "number of rows of 'y' must be 2, as that of 'x' is: got 1"),
    ):
        with pytest.raises(ValueError, match=words):
            pipe(fed(**rows), seed=1)
    for size in (1, 2, 5):
        assert len(pipe(fed(w=size, z=size), seeds=[7, 8])) == 3


@pytest.mark.parametrize("given", ["model", "file", "compiled"])
def test_tensors_that_openvino_joins_keep_the_names_that_the_model_gave_them(
    given: str, tmp_path: Path
) -> None:
    """A Concat of one tensor goes when a model is compiled, and leaves its names to the other."""
    x = made.parameter("x", [-1, 4])
    inner = opset8.concat([x], 0)
    inner.output(0).set_names({"a"})
    drawn = opset8.add(made.uniform(opset8.shape_of(inner)), inner)
    drawn.output(0).set_names({"b"})
    original = made.model({"y": opset8.concat([drawn], 0)}, [x])
    # The parameter has a name of its own, as in a file that a converter wrote.
    x.set_friendly_name("Parameter_1")
    model = make_reproducible(original, per_row=True)
    what = model
    how = {"runtime": "openvino"}
    if given == "file":
        what = tmp_path / "model.xml"
        ov.save_model(model, what)
    if given == "compiled":
        what = compiled(model)
        how = {"source": model}
    pipe = Pipeline(what, **how)
    assert [*pipe({"x": np.zeros((2, 4), np.float32)}, seeds=[1, 2])] == ["y"]
    with pytest.raises(ValueError, match=r"number of rows of 'x' must be 1, .*: got 2"):
        pipe({"x": np.zeros((2, 4), np.float32)}, seeds=[1])


def test_the_rows_of_a_runtime_s_own_values_are_counted() -> None:
    x = batch(3)["x"]
    expected = Pipeline(NOISE, per_row=True)({"x": x}, seed=5)["y"]
    for runtime, value in (
        ("onnxruntime", onnxruntime.OrtValue.ortvalue_from_numpy(x)),
        ("openvino", ov.Tensor(x)),
    ):
        pipe = Pipeline(NOISE, runtime=runtime, per_row=True)
        assert_same_bits(pipe({"x": value}, seed=5)["y"], expected)
        with pytest.raises(ValueError, match=r"number of rows of 'x' must be 2, .*: got 3"):
            pipe({"x": value}, seeds=[1, 2])


@pytest.mark.parametrize("per_row", [False, True])
def test_bound_memory_is_used_as_it_is_and_its_rows_are_counted(per_row: bool) -> None:
    model = make_reproducible(THREE, per_row=per_row)
    session = bare_session(model)
    pipe = Pipeline(session)
    begun = {"seeds": [7, 8]} if per_row else {"seed": 7}
    request = pipe.request(**begun)
    unbound = Pipeline(model).request(**begun)
    binding = session.io_binding()
    feed = three(2, 2, 2)
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    out = np.zeros((2, 5), np.float32)
    binding.bind_ortvalue_output("out", onnxruntime.OrtValue.ortvalue_from_numpy(out))
    for name in ("more", "rest"):
        binding.bind_output(name)
    for _ in range(3):
        result = request(binding)
        assert dict(result) == {}
        assert_same_bits(out, unbound(feed)["out"])
        assert_same_bits(result.next_state, unbound.state)
    if not per_row:
        return
    with pytest.raises(ValueError, match=r"number of rows of 'x' must be 1, .*: got 2"):
        pipe(binding, seeds=[7])
    binding.bind_cpu_input("y", three(1, 1, 1)["y"])
    with pytest.raises(ValueError, match="number of rows of 'y' must be 2, as that of 'x'"):
        pipe(binding, seeds=[7, 8])


def test_memory_of_the_user_s_for_a_state_is_refused_not_dropped() -> None:
    session = bare_session(make_reproducible(NOISE))
    state = PhiloxState.for_run(99).to_array()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(state)
    words = "the input 'random_state' must be left out of the feed.*Pass it as state="
    alone = "'next_random_state' must be bound by the pipeline alone"
    for method, name, given, said in (
        ("bind_cpu_input", "random_state", state, words),
        ("bind_ortvalue_input", "random_state", value, words),
        ("bind_ortvalue_output", "next_random_state", value, alone),
    ):
        binding = session.io_binding()
        binding.bind_cpu_input("x", batch(2)["x"])
        binding.bind_output("y")
        for pipe in (Pipeline(session), Pipeline(session)):
            pipe(binding, seed=1)
        getattr(binding, method)(name, given)
        with pytest.raises(ValueError, match=said):
            Pipeline(session)(binding, seed=1)


BOTH = parse("""g (float[N] x, float[M] z) => (float[K] y) {
    n = RandomNormalLike (x)  s = Add (n, z)  y = Neg (s) }""")


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_feed_that_another_node_refuses_is_refused_as_any_other(runtime: str) -> None:
    pipe = Pipeline(BOTH, runtime=runtime)
    request = pipe.request(seed=3)
    feed = {"x": np.zeros(3, np.float32), "z": np.zeros(2, np.float32)}
    with pytest.raises(onnx_philox.RefusedInputError, match=rf"got one that {runtime} refuses \("):
        request(feed)
    # A refused feed leaves the request where it was.
    feed["z"] = feed["x"]
    expected = pipe(feed, seed=3)["y"]
    assert_same_bits(request(feed)["y"], expected)


def test_maps_that_onnx_runtime_does_not_take_are_refused_as_any_other() -> None:
    of_texts = onnx.helper.make_map_type_proto(8, onnx.helper.make_tensor_type_proto(1, None))
    maps = onnx.helper.make_sequence_type_proto(of_texts)
    model = onnx.ModelProto()
    model.CopyFrom(BOTH)
    model.graph.input.append(onnx.helper.make_value_info("maps", maps))
    x = np.zeros(3, np.float32)
    with pytest.raises(onnx_philox.RefusedInputError, match="every node of the model takes"):
        Pipeline(model)(
            {
                "x": x,
                "z": x,
                "maps": [{"a": 1.0}],
            },
            seed=3,
        )


# Requests in an event loop: runs that are cancelled, and what a request says of itself.


@pytest.fixture(scope="module", params=["onnxruntime", "openvino"])
def pipe(request: pytest.FixtureRequest) -> Pipeline:
    return Pipeline(NOISE, runtime=request.param)


class Held:
    """Holds the one thread that an event loop has for runs, so that none can begin."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.thread = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(self.thread)
        self.thread.submit(self.gate.wait)


async def cancelled(call: Any) -> None:
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("first", [batch(3), {"x": np.zeros((2, 4), np.float32)}])
def test_the_next_call_waits_for_the_run_that_a_cancelled_one_left_behind(
    pipe: Pipeline, first: dict[str, np.ndarray]
) -> None:
    """Whether that run ends well or, as with x of another shape, fails."""
    request = pipe.request(seed=3)
    undisturbed = pipe.request(seed=3)

    async def served() -> list[str]:
        held = Held()
        order = []
        await cancelled(request.acall(first))

        async def waiting() -> None:
            order.append("waits")
            answer = await request.acall(batch(2))
            order.append("answered")
            expected = undisturbed(batch(2))["y"]
            assert_same_bits(answer["y"], expected)

        task = asyncio.create_task(waiting())
        # The loop goes on meanwhile.
        for _ in range(5):
            await asyncio.sleep(0.001)
        order.append("loop")
        held.gate.set()
        await task
        # The same by a call that blocks: its thread may run again, while the loop stands still.
        blocked = threading.Event()
        held.thread.submit(blocked.wait)
        await cancelled(request.acall(first))
        threading.Timer(0.05, blocked.set).start()
        expected = undisturbed(batch(2))["y"]
        assert_same_bits(request(batch(2))["y"], expected)
        return order

    assert asyncio.run(served()) == ["waits", "loop", "answered"]
    assert request.runs == 2


def test_a_call_that_waits_may_be_cancelled_itself_and_another_event_loop_waits_too(
    pipe: Pipeline,
) -> None:
    request = pipe.request(seed=3)
    undisturbed = pipe.request(seed=3)

    async def left() -> None:
        held = Held()
        for _ in range(3):
            await cancelled(request.acall(batch(2)))
        # The end of the loop waits for its threads.
        held.gate.set()

    asyncio.run(left())
    for answer in (asyncio.run(request.acall(batch(2))), request(batch(2))):
        expected = undisturbed(batch(2))["y"]
        assert_same_bits(answer["y"], expected)
    assert request.runs == 2


def test_memory_that_is_bound_is_free_after_the_wait() -> None:
    session = bare_session(make_reproducible(NOISE))
    pipe = Pipeline(session)
    out = np.zeros((2, 5), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", batch(2)["x"])
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(out))
    request = pipe.request(seed=3)

    async def served() -> None:
        held = Held()
        await cancelled(request.acall(binding))
        threading.Timer(0.05, held.gate.set).start()
        request.wait()
        expected = pipe(batch(2), seed=3)["y"]
        assert_same_bits(out, expected)
        request.wait()

    request.wait()
    asyncio.run(served())
    assert request.runs == 0


def test_a_second_run_of_a_request_is_refused_meanwhile(pipe: Pipeline) -> None:
    async def two_at_once() -> list[Any]:
        request = pipe.request(seed=3)
        return await asyncio.gather(
            request.acall(batch(100_000)), request.acall(batch(100_000)), return_exceptions=True
        )

    first, second = asyncio.run(two_at_once())
    expected = pipe(batch(100_000), seed=3)["y"]
    assert_same_bits(first["y"], expected)
    assert isinstance(second, ValueError)
    assert "the request must be free for another run: got one in the middle of a run" in str(second)


def test_a_request_and_a_pipeline_say_whose_numbers_they_draw() -> None:
    pipe = Pipeline(NOISE)
    where = f"onnxruntime {onnxruntime.__version__}"
    what = f"{where}: 1 random node with Philox's numbers, one state"
    for each in (pipe, Pipeline(NOISE.SerializeToString())):
        assert repr(each) == f"<Pipeline in {what}>"
    request = pipe.request(seed=42)
    request(batch(1))
    assert repr(request) == f"<Request of seed 42 after 1 run: Philox's numbers in {where}>"
    torch_s = Pipeline(NOISE, alignment="pytorch", per_row=True)
    assert "1 random node with torch's numbers, a state for each row of 'x'>" in repr(torch_s)
    for seeds, said in (([1, 2, 3], "1, 2, 3"), ([1, 2, 3, 4], "1, 2, 3, ...")):
        assert repr(torch_s.request(seeds=seeds)) == (
            f"<Request of seeds {said} after 0 runs: torch's numbers in {where}>"
        )
    rows = Pipeline(NOISE, per_row=True)
    assert "no seed after 0 runs" in repr(rows.request(state=row_states([1])))
